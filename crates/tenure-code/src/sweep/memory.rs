//! What lies at fixed addresses: variables, and what is never written.

use object::{File, Object as _, ObjectSection as _, ObjectSymbol as _};
use tenure_debuginfo::model::{Format, Model, Static, TypeId};

/// Variables of no bytes may lie between an address and the variable that holds it.
const MAX_EMPTY_BETWEEN: usize = 32;

#[derive(Debug)]
pub(super) struct StaticMemory {
    /// Variables by address: the end, the place among the model's, and the type.
    variables: Vec<(u64, u64, u32, TypeId)>,
    /// Constants by address: where each ends.
    constants: Vec<(u64, u64)>,
    /// Whether instructions hold addresses, as those of programs that lie where the linker put them.
    pub(super) is_fixed: bool,
    /// A function that a kernel's functions call first, for tracing. It keeps all registers.
    hook: Option<u64>,
    /// Whether code goes on after `ud2`: a kernel's warnings are traps, from which it returns.
    pub(super) returns_from_traps: bool,
}

impl StaticMemory {
    pub(super) fn new(model: &Model, object: &File<'_>) -> Self {
        let of = |(index, one): (u32, &Static)| {
            let size = model[one.ty].size;
            (one.address, one.address.saturating_add(size), index, one.ty)
        };
        // BTF counts a variable's address from the start of its section.
        let statics = if model.format() == Format::Btf { &[] } else { model.statics() };
        let mut variables: Vec<_> =
            (0..).zip(statics).map(of).filter(|(start, end, ..)| start < end).collect();
        variables.sort_unstable();
        let constant = |section: object::Section<'_, '_>| {
            let name = section.name_bytes().unwrap_or_default();
            let is_named = |part: &[u8]| name.windows(part.len()).any(|it| it == part);
            let is_constant =
                matches!(
                    section.kind(),
                    object::SectionKind::Text
                        | object::SectionKind::ReadOnlyData
                        | object::SectionKind::ReadOnlyString
                        | object::SectionKind::ReadOnlyDataWithRel
                ) || [&b"rodata"[..], b".got", b".data.rel.ro"].into_iter().any(is_named);
            let end = section.address().saturating_add(section.size());
            (is_constant && section.address() != 0).then_some((section.address(), end))
        };
        let mut constants: Vec<_> = object.sections().filter_map(constant).collect();
        constants.sort_unstable();
        let is_fixed = object.kind() == object::ObjectKind::Executable;
        let hook = object.symbol_by_name("__fentry__").map(|symbol| symbol.address());
        Self {
            variables,
            constants,
            is_fixed,
            hook: hook.filter(|address| *address != 0),
            returns_from_traps: object.section_by_name("__bug_table").is_some(),
        }
    }

    /// Whether a call of the function at an address leaves all registers as they are.
    pub(super) fn is_hook(&self, address: u64) -> bool {
        self.hook == Some(address)
    }

    /// The variable at an address: its place among the model's, its type, and how far inside the address is.
    pub(super) fn variable(&self, address: u64) -> Option<(u32, TypeId, u64)> {
        let after = self.variables.partition_point(|(start, ..)| *start <= address);
        let near = self.variables[..after].iter().rev().take(MAX_EMPTY_BETWEEN);
        let (start, _, index, ty) = near.into_iter().find(|(_, end, ..)| address < *end)?;
        Some((*index, *ty, address - start))
    }

    pub(super) fn is_constant(&self, address: u64) -> bool {
        let after = self.constants.partition_point(|(start, _)| *start <= address);
        self.constants[..after].last().is_some_and(|(_, end)| address < *end)
    }
}
