//! The types of a module by name and by size, and its variables by address.

use std::path::Path;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::entries::{Entries, Unit};
use super::units::Reader;
use crate::model::{Model, Name, Static, TypeId, TypeKind};
use crate::read::{Input, Options, read};

/// How far a type is followed to one that has a name.
const MAX_HOPS: usize = 32;

/// The model of a module, with what is asked of it.
#[derive(Debug)]
pub struct ProgramTypes {
    /// All of them.
    pub model: Model,
    by_name: FxHashMap<Name, Vec<TypeId>>,
    by_size: FxHashMap<u64, Vec<TypeId>>,
    /// Variables by address.
    statics: Vec<Static>,
}

impl ProgramTypes {
    /// None where the file holds no types.
    pub fn read(path: &Path) -> Option<Self> {
        let model = read(&Input::File(path.to_owned()), &Options::default(), &()).ok()?;
        let mut by_name: FxHashMap<Name, Vec<TypeId>> = FxHashMap::default();
        let mut by_size: FxHashMap<u64, Vec<TypeId>> = FxHashMap::default();
        for (id, ty) in model.iter().filter(|(_, ty)| !ty.name.is_empty()) {
            if !matches!(ty.kind, TypeKind::Opaque | TypeKind::Pointer(_)) {
                by_name.entry(ty.name.clone()).or_default().push(id);
            }
            if matches!(ty.kind, TypeKind::Composite { .. }) {
                by_size.entry(ty.size).or_default().push(id);
            }
        }
        let mut statics = model.statics().to_vec();
        statics.sort_by_key(|one| one.address);
        Some(Self { model, by_name, by_size, statics })
    }

    /// Those of a name, with its path.
    pub fn named(&self, name: &str) -> &[TypeId] {
        self.by_name.get(name).map_or(&[], |all| all)
    }

    /// The composites of a size that have names.
    pub fn of_size(&self, size: u64) -> &[TypeId] {
        self.by_size.get(&size).map_or(&[], |all| all)
    }

    /// The variable that an address lies in.
    pub fn variable(&self, address: u64) -> Option<&Static> {
        let after = self.statics.partition_point(|one| one.address <= address);
        // Those of no bytes may lie between.
        let near = self.statics[..after].iter().rev().take(MAX_HOPS);
        near.into_iter().find(|one| address - one.address < self.model[one.ty].size)
    }

    /// The type of the entry at a place in `.debug_info`, and how many pointers lead to it.
    pub fn of_entry(&self, reader: &Reader<'_>, mut at: usize) -> Option<(TypeId, usize)> {
        let mut pointers = 0;
        for _ in 0..MAX_HOPS {
            let which = reader.unit_of(at)?;
            let unit = reader.unit(which)?;
            let types = reader.kept(which).types.get_or_init(|| self.of_unit(reader, &unit));
            let start = unit.header.offset().0;
            if let Ok(place) = types.binary_search_by_key(&(at - start), |(offset, _)| *offset) {
                return Some((types[place].1, pointers));
            }
            let mut entry = Entries::from(&unit, Some(at - start))?;
            if !entry.advance() {
                return None;
            }
            match entry.tag {
                gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_reference_type
                | gimli::DW_TAG_rvalue_reference_type => pointers += 1,
                gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_array_type => {}
                _ => return None,
            }
            at = Reader::target(&unit, entry.get(gimli::DW_AT_type)?)?;
        }
        None
    }

    /// The types of a unit that have names: with their paths, as the model spells them.
    fn of_unit<'a>(&self, reader: &Reader<'a>, unit: &Rc<Unit<'a>>) -> Vec<(usize, TypeId)> {
        let mut found = Vec::new();
        let Some(mut entries) = Entries::from(unit, None) else { return found };
        let mut path = String::new();
        // Depths of open scopes, and how long the path is without them.
        let mut scopes: Vec<(isize, usize)> = Vec::new();
        while entries.advance() {
            while let Some((depth, length)) = scopes.last().copied()
                && depth >= entries.depth
            {
                path.truncate(length);
                scopes.pop();
            }
            let is_scope = matches!(entries.tag, gimli::DW_TAG_namespace | gimli::DW_TAG_module);
            let is_type = matches!(
                entries.tag,
                gimli::DW_TAG_structure_type
                    | gimli::DW_TAG_class_type
                    | gimli::DW_TAG_union_type
                    | gimli::DW_TAG_enumeration_type
                    | gimli::DW_TAG_base_type
                    | gimli::DW_TAG_typedef
            );
            if !is_scope && !is_type {
                continue;
            }
            let name = entries.get(gimli::DW_AT_name).and_then(|name| reader.text(unit, name));
            let name = match name {
                Some(name) => name,
                None if is_scope => "(anonymous namespace)".to_owned(),
                None => continue,
            };
            let length = path.len();
            path.push_str(&name);
            if is_type {
                let size = entries.number(gimli::DW_AT_byte_size);
                let all = self.named(&path);
                let same = |id: &&TypeId| size.is_none_or(|size| self.model[**id].size == size);
                if let Some(id) = all.iter().find(same) {
                    found.push((entries.offset, *id));
                }
            }
            match entries.has_children {
                true => {
                    path.push_str("::");
                    scopes.push((entries.depth, length));
                }
                false => path.truncate(length),
            }
        }
        found
    }
}
