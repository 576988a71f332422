use std::collections::HashMap;

use super::content::VOID;
use super::digest::{Digest, DigestMap};
use super::kept::EntryTypes;
use super::store::{Derived, Root, Sharded, Store, StoredEntry, StoredText};
use super::table::EntryKind;
use crate::model::{
    Builder, Declared, Malformed, Member, Name, Qualifier, Scalar, Shape, Static, Type, TypeId,
    TypeKind,
};

/// Ids would not fit beyond this.
const MAX_TYPES: usize = 1 << 31;

/// The names of types and members may take this, or four times the input: they may share bytes of the file, so a
/// hostile one could ask for far more.
const SMALL_NAMES: u64 = 1 << 26;

/// Merges units in the order of the file; `length` is the bytes read.
pub(super) fn merge(
    mut found: Vec<StoredEntry<'_>>,
    store: Store<'_>,
    length: u64,
) -> Result<(Builder, EntryTypes), Malformed> {
    let mut store = store;
    let numbers = store.take_numbers();
    found.sort_unstable_by_key(|one| one.order);
    let (firsts, derived) = store.into_parts();
    if firsts.len().saturating_add(derived.len()) > MAX_TYPES {
        return Err(Malformed::new("it holds more than 2^31 types"));
    }
    let mut merge = Merge {
        builder: Builder::with_capacity(firsts.len()),
        derived: &derived,
        ids: DigestMap::default(),
        definitions: DigestMap::default(),
        made: HashMap::new(),
        names: Names {
            known: HashMap::new(),
            left: length.saturating_mul(4).max(SMALL_NAMES),
            whole: Vec::new(),
        },
    };
    let mut kept: Vec<(TypeId, &Root<'_>)> = Vec::with_capacity(firsts.len());
    for one in &found {
        for root in &one.roots {
            if firsts.get(root.content) == Some(&one.order) {
                let id = merge.define(root);
                kept.push((id, root));
            }
        }
    }
    for (id, root) in kept {
        let ty = merge.root(root)?;
        merge.builder.set(id, ty);
    }
    for one in &found {
        for variable in &one.statics {
            let variable = Static {
                name: merge.names.path(&variable.name)?,
                section: variable.section.clone(),
                address: variable.address,
                ty: merge.id(variable.ty)?,
                declared: merge.declared(variable.declared.as_ref())?,
            };
            merge.builder.push_static(variable);
        }
    }
    let mut types = Vec::new();
    for (identity, number) in numbers {
        let at = number as usize;
        if types.len() <= at {
            types.resize(at + 1, None);
        }
        types[at] = Some(merge.id(identity)?);
    }
    let units = found.into_iter().map(|one| one.entries);
    Ok((merge.builder, EntryTypes::new(units, &types)))
}

struct Merge<'m, 'd> {
    builder: Builder,
    derived: &'m Sharded<Derived<'d>>,
    ids: DigestMap<TypeId>,
    /// A name's only definition; none if there are several.
    definitions: DigestMap<Option<TypeId>>,
    /// Derived types by their parts: two identities may turn out to be one type.
    made: HashMap<Made, TypeId>,
    names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Made {
    Pointer(Option<TypeId>, u64),
    Array(TypeId, u64),
    Qualified(Qualifier, TypeId),
    Function,
}

impl<'m, 'd> Merge<'m, 'd> {
    fn define(&mut self, root: &Root<'d>) -> TypeId {
        let id = self.builder.reserve();
        self.ids.insert(root.content, id);
        let can_be_declared = root.what.is_composite() || root.what == EntryKind::Enumeration;
        if root.key != 0 && can_be_declared {
            self.definitions.entry(root.key).and_modify(|one| *one = None).or_insert(Some(id));
        }
        id
    }

    fn root(&mut self, root: &Root<'d>) -> Result<Type, Malformed> {
        let kind = match root.what {
            EntryKind::Struct => self.composite(Shape::Struct, root)?,
            EntryKind::Union => self.composite(Shape::Union, root)?,
            EntryKind::Variants => self.composite(Shape::Variants, root)?,
            EntryKind::Enumeration => TypeKind::Scalar(Scalar::Enumeration),
            EntryKind::Scalar(scalar) => TypeKind::Scalar(scalar),
            EntryKind::Alias => TypeKind::Alias(self.id(root.target)?),
            _ => TypeKind::Opaque,
        };
        let mut ty = Type::new(self.names.path(&root.name)?, root.size, kind);
        // The builder refuses an impossible alignment, and infers a missing one.
        ty.align = root.align;
        ty.declared = self.declared(root.declared.as_ref())?;
        Ok(ty)
    }

    fn composite(&mut self, shape: Shape, root: &Root<'d>) -> Result<TypeKind, Malformed> {
        let mut members = Vec::with_capacity(root.members.len());
        for member in &root.members {
            members.push(Member {
                name: self.names.get(member.name)?,
                offset: member.offset,
                ty: self.id(member.ty)?,
                bits: member.bits,
                inherited: member.inherited,
                tags: Vec::new(),
            });
        }
        Ok(TypeKind::Composite { shape, members })
    }

    fn declared(&mut self, declared: Option<&(Name, u32)>) -> Result<Option<Declared>, Malformed> {
        declared
            .map(|(file, line)| {
                let file = self.names.get(file.as_bytes())?;
                Ok(Declared { file, line: *line })
            })
            .transpose()
    }

    fn id(&mut self, identity: Digest) -> Result<TypeId, Malformed> {
        if let Some(id) = self.ids.get(&identity) {
            return Ok(*id);
        }
        let derived = self.derived;
        // Its part may be derived too, as many steps as identities look through.
        let mut chain = Vec::new();
        let mut inner = identity;
        let mut id = loop {
            if let Some(id) = self.ids.get(&inner) {
                break *id;
            }
            match derived.get(inner) {
                Some(Derived::Pointer { to: VOID, size }) => {
                    break self.make(inner, Made::Pointer(None, *size));
                }
                Some(Derived::Function) => break self.make(inner, Made::Function),
                Some(Derived::Opaque { key, name, size }) => {
                    break match self.definitions.get(key) {
                        Some(Some(definition)) => *definition,
                        _ => {
                            let name = self.names.path(name)?;
                            self.builder.push(Type::new(name, *size, TypeKind::Opaque))
                        }
                    };
                }
                Some(one) => {
                    let of = match one {
                        Derived::Pointer { to, .. } => *to,
                        Derived::Array { of, .. } | Derived::Qualified { of, .. } => *of,
                        Derived::Function | Derived::Opaque { .. } => VOID,
                    };
                    chain.push((inner, one));
                    inner = of;
                }
                // `void`, and references to what is no type.
                None => break self.builder.push(Type::new("", 0, TypeKind::Opaque)),
            }
        };
        self.ids.insert(inner, id);
        for (identity, one) in chain.into_iter().rev() {
            let made = match one {
                Derived::Pointer { size, .. } => Made::Pointer(Some(id), *size),
                Derived::Array { count, .. } => Made::Array(id, *count),
                Derived::Qualified { qualifier, .. } => Made::Qualified(*qualifier, id),
                Derived::Function | Derived::Opaque { .. } => Made::Function,
            };
            id = self.make(identity, made);
        }
        Ok(id)
    }

    fn make(&mut self, identity: Digest, made: Made) -> TypeId {
        let builder = &mut self.builder;
        let id = *self.made.entry(made).or_insert_with(|| {
            let (size, kind) = match made {
                Made::Pointer(to, size) => (size, TypeKind::Pointer(to)),
                Made::Array(element, count) => (0, TypeKind::Array { element, count }),
                Made::Qualified(qualifier, of) => (0, TypeKind::Qualified(qualifier, of)),
                Made::Function => (0, TypeKind::Function),
            };
            builder.push(Type::new("", size, kind))
        });
        self.ids.insert(identity, id);
        id
    }
}

struct Names {
    known: HashMap<Box<[u8]>, Name>,
    left: u64,
    whole: Vec<u8>,
}

impl Names {
    fn path(&mut self, text: &StoredText<'_>) -> Result<Name, Malformed> {
        if text.path.is_empty() {
            return self.get(text.name);
        }
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.extend_from_slice(&text.path);
        whole.extend_from_slice(text.name);
        let name = self.get(&whole);
        self.whole = whole;
        name
    }

    fn get(&mut self, bytes: &[u8]) -> Result<Name, Malformed> {
        if let Some(name) = self.known.get(bytes) {
            return Ok(name.clone());
        }
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            Malformed::new("the names of its types are longer than a compiler writes")
        })?;
        let name: Name = String::from_utf8_lossy(bytes).into();
        self.known.insert(bytes.into(), name.clone());
        Ok(name)
    }
}
