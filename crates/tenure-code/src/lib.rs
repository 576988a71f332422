//! What machine code does to the objects that debugging information describes.
//!
//! [`MachineCode`] answers for one instruction of a [`Program`]: what it accesses, and whether what it returns is used.
//! [`sweep`] reads all code once and counts by function and member.
//!
//! Code is read for x86-64. Of aarch64 only [`MachineCode::uses_result`] is known, and of others nothing.

mod pointed;
mod result;
mod stored;
pub mod sweep;

use std::sync::OnceLock;

use iced_x86::{FlowControl, Instruction};
use tenure_debuginfo::model::{TypeId, TypeKind};
use tenure_debuginfo::program::types::ProgramTypes;
use tenure_debuginfo::program::{
    AllocatedBlock, AllocationAccess, MAX_CODE, Object, Program, is_plain, located, member,
};

use crate::result::{CodeText, Fate};
pub use crate::stored::StoredConstant;

/// The code of one module, with its debugging information.
#[derive(Debug)]
pub struct MachineCode {
    program: Program,
    text: OnceLock<Option<CodeText>>,
}

/// An object that an instruction accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointed {
    /// Its type and size; its address is not known.
    pub object: Object,
    /// Where in it the access begins.
    pub offset: u64,
    /// Whether the instruction is a call: then this is what its first argument points to.
    pub is_argument: bool,
}

impl From<Program> for MachineCode {
    fn from(program: Program) -> Self {
        Self { program, text: OnceLock::new() }
    }
}

impl MachineCode {
    /// What the module's file says.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    fn text(&self) -> Option<&CodeText> {
        self.text.get_or_init(|| CodeText::open(self.program.path())).as_ref()
    }

    /// Whether the code after a call or an atomic instruction uses the result. What a function returns is used. `None`
    /// where that cannot be told, as on other processors than x86-64 and aarch64.
    ///
    /// On aarch64 an atomic operation may be a loop of several instructions. Its address is the end of the first one.
    #[must_use]
    pub fn uses_result(&self, return_address: u64) -> Option<bool> {
        match self.text()?.fate(return_address) {
            Fate::Used => Some(true),
            Fate::Lost => Some(false),
            Fate::Returned { register } => {
                self.program.returns(return_address.checked_sub(1)?, register)
            }
            Fate::Unknown => None,
        }
    }

    /// The function of another module that the call before a return address calls; `None` for one of this module, and on
    /// other processors than x86-64.
    #[must_use]
    pub fn called(&self, return_address: u64) -> Option<&str> {
        let code = self.until(return_address)?;
        let call = code.last()?;
        self.text()?.import(call)
    }

    /// The constant that the instruction before an address stores, or that the call there stores (`is_atomic`) or announces;
    /// on x86-64 alone.
    #[must_use]
    pub fn stored(&self, end: u64, is_atomic: bool) -> Option<StoredConstant> {
        let code = self.until(end)?;
        let (last, before) = code.split_last()?;
        let is_call = matches!(last.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        if is_call && is_atomic {
            return stored::by_call(before);
        }
        let value = match is_call {
            true => stored::announced(&self.text()?.next(end)),
            false => stored::by_instruction(&code),
        };
        // An instrumented program says which of its stores are atomic. Others may be what a release store became.
        value.map(|value| StoredConstant { value, publishes: !is_call })
    }

    /// The instructions of the function before an address where one ends.
    fn until(&self, end: u64) -> Option<Vec<Instruction>> {
        let reader = self.program.reader();
        let function = located::LocatedFunction::at(&reader, end.checked_sub(1)?)?;
        self.text()?.instructions(function.code.begin, end)
    }

    /// The type of an allocation, by what accesses it and the call that made it. Addresses of other modules find nothing:
    /// leave them out, or ask those as well.
    #[must_use]
    pub fn allocation(
        &self,
        accesses: &[AllocationAccess],
        block: &AllocatedBlock<'_>,
    ) -> Option<Object> {
        let types = self.program.types()?;
        let mut pointed = Vec::new();
        let mut asked = Vec::new();
        for access in accesses {
            if asked.len() < MAX_CODE && !asked.contains(&access.code) {
                asked.push(access.code);
                let (found, _) = self.accessed(types, access.code).unwrap_or_default();
                pointed.extend(found.into_iter().map(|(ty, offset)| (access.offset, ty, offset)));
            }
        }
        self.program.allocation(accesses, &pointed, block)
    }

    /// What the instruction that ends at an address accesses, by the variables that its base register came from: of
    /// functions inlined into each other there may be several. Of a call it is what the first argument points to. Only
    /// what has several members is found, and on x86-64 alone.
    #[must_use]
    pub fn pointed(&self, end: u64) -> Vec<Pointed> {
        let Some(types) = self.program.types() else { return Vec::new() };
        let (accessed, is_argument) = self.accessed(types, end).unwrap_or_default();
        let pointed = |(ty, offset)| {
            let object = self.program.accessed(types, ty);
            Pointed { object, offset, is_argument }
        };
        accessed.into_iter().map(pointed).collect()
    }

    /// The types that the instruction which ends at an address accesses, each with the offset in it, and whether they are
    /// what a call's first argument points to.
    fn accessed(&self, types: &ProgramTypes, end: u64) -> Option<(Vec<(TypeId, u64)>, bool)> {
        let text = self.text()?;
        let reader = self.program.reader();
        let function = located::LocatedFunction::at(&reader, end.checked_sub(1)?)?;
        let code = text.instructions(function.code.begin, end)?;
        let traced = pointed::Traced { reader: &reader, types, function, code };
        let model = &types.model;
        let mut found = Vec::new();
        for (ty, offset) in traced.accessed() {
            let Ok(offset) = u64::try_from(offset) else { continue };
            let is_inside = offset < model[ty].size || member::tail(model, ty).is_some();
            let is_composite = matches!(model[ty].kind, TypeKind::Composite { .. });
            // A number is what it is, however wrapped: it says nothing of what it is a part of.
            if is_composite && is_inside && !is_plain(model, ty) && !found.contains(&(ty, offset)) {
                found.push((ty, offset));
            }
        }
        Some((found, traced.is_call()))
    }
}
