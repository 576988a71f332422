//! Whether the code after a call, or after an atomic instruction, uses the result.
//!
//! The module of an architecture says which registers hold the result, and what each instruction reads, overwrites and
//! leads to. The instructions after the call are followed here until they read the result, overwrite it or leave the
//! function.

mod x86_64;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::{
    Architecture, File, Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _,
    RelocationTarget, SectionKind,
};
use tenure_debuginfo::read::file::MappedFile;

/// Instructions that are followed for one call.
const MAX_INSTRUCTIONS: usize = 200;

/// A longer function is not decoded.
const MAX_FUNCTION_BYTES: usize = 1 << 20;

/// The instructions of a module.
#[derive(Debug)]
pub(super) struct CodeText {
    file: MappedFile,
    /// The first address of each section, and where it lies in the file.
    sections: Vec<(u64, Range<usize>)>,
    /// Functions of other modules, by the place of the pointer through which they are called.
    imports: HashMap<u64, String>,
}

impl CodeText {
    /// `None` for a file that is not for x86-64.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = MappedFile::open(path).ok()?;
        let object = File::parse(file.bytes()).ok()?;
        if object.architecture() != Architecture::X86_64 {
            return None;
        }
        let text = object.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = text.filter_map(|section| {
            let (start, length) = section.file_range()?;
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            Some((section.address(), start..end))
        });
        let sections = sections.collect();
        let symbols = object.dynamic_symbol_table();
        let import = |(place, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
            Some((place, symbol.name().ok()?.to_owned()))
        };
        let imports =
            object.dynamic_relocations().into_iter().flatten().filter_map(import).collect();
        Some(Self { file, sections, imports })
    }

    /// Bytes of code.
    pub(super) fn length(&self) -> usize {
        self.sections.iter().map(|(_, range)| range.len()).sum()
    }

    /// The bytes from an address to the end of its section.
    pub(super) fn from(&self, address: u64) -> Option<&[u8]> {
        self.sections.iter().find_map(|(start, range)| {
            let inside = usize::try_from(address.checked_sub(*start)?).ok()?;
            let bytes = self.file.bytes().get(range.clone())?.get(inside..)?;
            (!bytes.is_empty()).then_some(bytes)
        })
    }

    /// The instructions from an address to another where one ends; `None` if none does.
    pub(super) fn instructions(&self, from: u64, to: u64) -> Option<Vec<Instruction>> {
        let length =
            usize::try_from(to.checked_sub(from)?).ok().filter(|it| *it < MAX_FUNCTION_BYTES)?;
        let bytes = self.from(from)?.get(..length)?;
        let decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        let all: Vec<_> = decoder.into_iter().collect();
        let is_whole = all.last().is_some_and(|it| !it.is_invalid() && it.next_ip() == to);
        is_whole.then_some(all)
    }

    /// Some instructions from an address on.
    pub(super) fn next(&self, address: u64) -> Vec<Instruction> {
        const MAX: usize = 8;
        let bytes = self.from(address).unwrap_or_default();
        let all = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter();
        all.take(MAX).take_while(|it| !it.is_invalid()).collect()
    }

    /// The function of another module that a call calls, if it does: through a pointer, or code that jumps through one.
    pub(super) fn import(&self, call: &Instruction) -> Option<&str> {
        let pointer = match call.flow_control() {
            FlowControl::IndirectCall => call,
            FlowControl::Call => {
                let target = call.near_branch_target();
                let code = Decoder::with_ip(64, self.from(target)?, target, DecoderOptions::NONE);
                // Where jumps are guarded, an `endbr64` comes first.
                let mut first = code.into_iter().take(2);
                &first.find(|it| it.flow_control() == FlowControl::IndirectBranch)?
            }
            _ => return None,
        };
        let is_fixed = pointer.is_ip_rel_memory_operand();
        let place = is_fixed.then(|| pointer.ip_rel_memory_address())?;
        self.imports.get(&place).map(String::as_str)
    }

    /// What becomes of the result of the call or the atomic instruction that ends at this address.
    pub(super) fn fate(&self, address: u64) -> Fate {
        fate(&|address| self.from(address), address)
    }
}

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// An instruction reads it.
    Used,
    /// It is overwritten on all paths.
    Lost,
    /// The function ends with it in the first register for what functions return (0) or in the second (1), so it is what
    /// the function returns, if that returns anything there.
    Returned { register: u64 },
    /// The code cannot be followed.
    Unknown,
}

/// Gives the bytes from an address on.
type CodeBytes<'f, 'a> = &'f dyn Fn(u64) -> Option<&'a [u8]>;

/// Registers and flags, a bit for each. The architecture's module says which bit is which.
type RegisterSet = u64;

/// What one instruction does to the registers.
#[derive(Debug)]
struct Step {
    /// Bytes.
    length: u64,
    reads: RegisterSet,
    /// Those of whose value nothing is left.
    overwrites: RegisterSet,
    left: Left,
}

/// Where an instruction leads, other than on.
#[derive(Debug)]
enum Left {
    No,
    To { target: u64, falls: bool },
    ByReturn,
    Nowhere,
}

/// `code` has the bytes from an address on.
fn fate(code: CodeBytes<'_, '_>, address: u64) -> Fate {
    let Some(held) = x86_64::held(code, address) else { return Fate::Unknown };
    // Where paths begin, and what is left of the result there.
    let (mut begun, mut next) = (vec![(address, held)], vec![(address, held)]);
    let mut left = MAX_INSTRUCTIONS;
    let mut returned = 0;
    while let Some((mut at, mut held)) = next.pop() {
        loop {
            if left == 0 {
                return Fate::Unknown;
            }
            left -= 1;
            let Some(step) = x86_64::step(code, at) else { return Fate::Unknown };
            if step.reads & held != 0 {
                return Fate::Used;
            }
            held &= !step.overwrites;
            if held == 0 {
                break;
            }
            match step.left {
                Left::To { target, falls } => {
                    let is_begun =
                        |(begin, its): &(u64, RegisterSet)| *begin == target && held & !its == 0;
                    if !begun.iter().any(is_begun) {
                        begun.push((target, held));
                        next.push((target, held));
                    }
                    if !falls {
                        break;
                    }
                }
                Left::No => {}
                Left::ByReturn => {
                    returned |= held;
                    break;
                }
                Left::Nowhere => return Fate::Unknown,
            }
            at = at.wrapping_add(step.length);
        }
    }
    match x86_64::RETURNED.map(|register| returned & register != 0) {
        [true, _] => Fate::Returned { register: 0 },
        [_, true] => Fate::Returned { register: 1 },
        _ => Fate::Lost,
    }
}
