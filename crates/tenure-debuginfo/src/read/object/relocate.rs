//! Relocations of relocatable files: what a linker would have written into debugging information.

use std::borrow::Cow;
use std::collections::HashMap;

use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationKind, RelocationTarget,
    SectionIndex,
};

use super::malformed;
use crate::model::Malformed;

/// Where sections lie that were appended to others of their name.
#[derive(Debug, Default)]
pub(super) struct Bases(HashMap<SectionIndex, u64>);

impl Bases {
    pub(super) fn set(&mut self, section: SectionIndex, base: u64) {
        if base != 0 {
            self.0.insert(section, base);
        }
    }

    pub(super) fn get(&self, section: SectionIndex) -> u64 {
        self.0.get(&section).copied().unwrap_or(0)
    }
}

/// Sections by the offset of each relocated value: in relocatable files all sections start at address 0.
#[derive(Debug, Default)]
pub(in crate::read) struct RelocationOrigins(Vec<(u64, SectionIndex)>);

impl RelocationOrigins {
    pub(in crate::read) fn at(&self, offset: u64) -> Option<SectionIndex> {
        let place = self.0.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        Some(self.0[place].1)
    }
}

/// Relocates the sections in `bytes`. Only whole values that are a symbol plus a number: debugging information holds no
/// others on the supported machines. `budget` is how many the file can hold.
pub(super) fn apply(
    object: &object::File<'_>,
    indices: &[SectionIndex],
    bases: &Bases,
    bytes: &mut Cow<'_, [u8]>,
    budget: &mut usize,
) -> Result<RelocationOrigins, Malformed> {
    let mut origins = Vec::new();
    for index in indices {
        let section =
            object.section_by_index(*index).map_err(|error| malformed("a section", &error))?;
        for (offset, relocation) in section.relocations() {
            // Every relocation takes bytes of the file, unless several sections share them.
            *budget =
                budget.checked_sub(1).ok_or_else(|| Malformed::new("its relocations overlap"))?;
            if relocation.kind() != RelocationKind::Absolute {
                continue;
            }
            let (address, of) = match relocation.target() {
                RelocationTarget::Symbol(symbol) => {
                    let symbol = object
                        .symbol_by_index(symbol)
                        .map_err(|error| malformed("a relocation", &error))?;
                    (symbol.address(), symbol.section_index())
                }
                RelocationTarget::Section(section) => (0, Some(section)),
                _ => (0, None),
            };
            let at = bases.get(*index).saturating_add(offset);
            let length = usize::from(relocation.size() / 8);
            let place = usize::try_from(at)
                .ok()
                .and_then(|at| bytes.to_mut().get_mut(at..at.checked_add(length)?));
            let Some(place) = place else {
                return Err(Malformed::new("a relocation lies outside its section"));
            };
            let value = address
                .wrapping_add_signed(relocation.addend())
                .wrapping_add(of.map_or(0, |of| bases.get(of)));
            write(place, value, relocation.has_implicit_addend(), object.is_little_endian());
            if let Some(of) = of {
                origins.push((at, of));
            }
        }
    }
    origins.sort_unstable_by_key(|(at, _)| *at);
    Ok(RelocationOrigins(origins))
}

fn write(place: &mut [u8], mut value: u64, add: bool, little: bool) {
    let Some(length @ 1..=8) = Some(place.len()) else { return };
    let mut word = [0; 8];
    if add {
        match little {
            true => word[..length].copy_from_slice(place),
            false => word[8 - length..].copy_from_slice(place),
        }
        let old = if little { u64::from_le_bytes(word) } else { u64::from_be_bytes(word) };
        value = value.wrapping_add(old);
    }
    match little {
        true => place.copy_from_slice(&value.to_le_bytes()[..length]),
        false => place.copy_from_slice(&value.to_be_bytes()[8 - length..]),
    }
}
