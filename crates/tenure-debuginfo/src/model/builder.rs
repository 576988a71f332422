//! Making a [`Model`] from possibly hostile input.

use std::fmt;

use super::types::{Format, Member, Model, Name, Static, Type, TypeId, TypeKind};
use super::{alignment, naming};
use crate::error::one_line;

/// The deepest nesting of types by value: ten times what Rust's deepest iterators and futures need.
pub const MAX_NESTING: usize = 512;

/// Letters: names in a reason have no bound.
const LONGEST_REASON: usize = 500;

/// Why types do not make a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    /// `reason` follows "malformed: "; shown as one line, and cut if too long.
    pub fn new(reason: impl Into<String>) -> Self {
        let mut reason: String = reason.into();
        if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
            reason.replace_range(end.., "…");
        }
        Self(one_line(reason))
    }

    pub(crate) fn at(self, of: &str, offset: u64) -> Self {
        Self::new(format!("{of} offset {offset:#x}: {self}"))
    }

    /// Of a file, or a member of a library.
    pub(crate) fn within(self, name: &str) -> Self {
        if name.is_empty() { self } else { Self::new(format!("{name}: {self}")) }
    }
}

impl From<gimli::Error> for Malformed {
    fn from(error: gimli::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Malformed {}

/// Takes types in any order, with references to later ones.
///
/// ```
/// use tenure_debuginfo::model::{Builder, Format, TypeKind, Member, Scalar, Shape};
///
/// let mut builder = Builder::new();
/// let count = builder.add("atomic_t", 4, TypeKind::Scalar(Scalar::Integer));
/// let route = builder.add("route", 8, TypeKind::Composite {
///     shape: Shape::Struct,
///     members: vec![Member::new("refs", 0, count), Member::new("gateway", 4, count)],
/// });
/// let model = builder.finish(Format::Btf, 1)?;
/// assert_eq!(model[route].align, 4);
/// # Ok::<(), tenure_debuginfo::model::Malformed>(())
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    types: Vec<Type>,
    statics: Vec<Static>,
}

impl Builder {
    /// A builder without types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder without types, with room for this many.
    #[must_use]
    pub fn with_capacity(types: usize) -> Self {
        Self { types: Vec::with_capacity(types), statics: Vec::new() }
    }

    /// The id of the `index`-th type, from 0 in the order of adding, before or after it is added.
    /// [`finish`](Self::finish) finds ids without types.
    #[must_use]
    pub fn nth(index: u32) -> TypeId {
        TypeId(index)
    }

    /// Makes an id whose type comes later, by [`set`](Self::set). Until then it is opaque.
    ///
    /// # Panics
    ///
    /// For the 2^32nd type: readers have to bound their input.
    pub fn reserve(&mut self) -> TypeId {
        self.push(Type::new(Name::default(), 0, TypeKind::Opaque))
    }

    /// Sets a reserved id's type.
    ///
    /// # Panics
    ///
    /// The id is not of this builder.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.index()] = ty;
    }

    /// Adds a type.
    ///
    /// # Panics
    ///
    /// Those of [`reserve`](Self::reserve).
    pub fn push(&mut self, ty: Type) -> TypeId {
        let id = u32::try_from(self.types.len()).expect("readers bound the number of types");
        self.types.push(ty);
        TypeId(id)
    }

    /// Adds a type without a declaration or alignment.
    ///
    /// # Panics
    ///
    /// Those of [`reserve`](Self::reserve).
    pub fn add(&mut self, name: &str, size: u64, kind: TypeKind) -> TypeId {
        self.push(Type::new(name, size, kind))
    }

    /// Adds a variable.
    pub fn push_static(&mut self, variable: Static) {
        self.statics.push(variable);
    }

    /// How many types there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are no types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Checks and completes the types: sorts members, computes sizes of arrays and aliases, and alignments, and names
    /// what has no name.
    ///
    /// # Errors
    ///
    /// An unknown id, a type that contains itself, types nested deeper than [`MAX_NESTING`], an alignment that is not
    /// a power of two.
    pub fn finish(self, format: Format, units: u64) -> Result<Model, Malformed> {
        let Self { mut types, mut statics } = self;
        complete_inner_first(&mut types)?;
        if let Some(one) = statics.iter().find(|one| one.ty.index() >= types.len()) {
            return Err(nowhere(one.ty));
        }
        statics.sort_by(|a, b| {
            (&a.section, a.address, &a.name).cmp(&(&b.section, b.address, &b.name))
        });
        statics
            .dedup_by(|a, b| a.section == b.section && a.address == b.address && a.name == b.name);
        types.shrink_to_fit();
        let mut model =
            Model { format, units, types, statics, skipped: Vec::new(), crates: Vec::new() };
        naming::name(&mut model);
        Ok(model)
    }
}

impl Type {
    /// A type without a declared alignment.
    pub fn new(name: impl Into<Name>, size: u64, kind: TypeKind) -> Self {
        Self { name: name.into(), size, align: 0, align_declared: false, kind, declared: None }
    }

    /// The `which`th type that a value contains.
    fn part(&self, which: usize) -> Option<TypeId> {
        match &self.kind {
            TypeKind::Array { element: id, .. }
            | TypeKind::Alias(id)
            | TypeKind::Qualified(_, id) => (which == 0).then_some(*id),
            TypeKind::Composite { members, .. } => members.get(which).map(|member| member.ty),
            TypeKind::Scalar(_) | TypeKind::Pointer(_) | TypeKind::Function | TypeKind::Opaque => {
                None
            }
        }
    }
}

impl Member {
    /// No bit field, and without other attributes.
    pub fn new(name: impl Into<Name>, offset: u64, ty: TypeId) -> Self {
        Self { name: name.into(), offset, ty, bits: None, inherited: false, tags: Vec::new() }
    }
}

/// Checks every type's references, and completes each after all that it contains. One pass: a large program's types
/// exceed the caches.
fn complete_inner_first(types: &mut [Type]) -> Result<(), Malformed> {
    struct OpenParent {
        ty: usize,
        /// Its next part.
        next: usize,
        /// The depth of the parts before that.
        depth: u16,
    }
    const NEW: u16 = 0;
    const OPEN: u16 = u16::MAX;
    let mut depths = vec![NEW; types.len()];
    // Not recursive: a hostile chain would overflow the stack.
    let mut stack = Vec::new();
    for root in 0..types.len() {
        if depths[root] != NEW {
            continue;
        }
        depths[root] = OPEN;
        stack.push(OpenParent { ty: root, next: 0, depth: 0 });
        while let Some(top) = stack.last_mut() {
            let Some(part) = types[top.ty].part(top.next) else {
                let (ty, depth) = (top.ty, top.depth);
                stack.pop();
                if usize::from(depth) > MAX_NESTING {
                    let name = &types[ty].name;
                    return Err(Malformed::new(format!(
                        "types are nested more than {MAX_NESTING} deep at `{name}`"
                    )));
                }
                complete(types, ty)?;
                depths[ty] = depth + 1;
                continue;
            };
            match depths.get(part.index()).copied() {
                None => return Err(nowhere(part)),
                Some(OPEN) => {
                    let name = &types[part.index()].name;
                    return Err(Malformed::new(format!("type `{name}` contains itself")));
                }
                Some(NEW) => {
                    depths[part.index()] = OPEN;
                    stack.push(OpenParent { ty: part.index(), next: 0, depth: 0 });
                }
                Some(depth) => {
                    top.depth = top.depth.max(depth);
                    top.next += 1;
                }
            }
        }
    }
    Ok(())
}

fn nowhere(id: TypeId) -> Malformed {
    Malformed::new(format!("type {} is referred to and is not there", id.0))
}

/// Sorts members and computes size and alignment; the type's parts are complete.
fn complete(types: &mut [Type], id: usize) -> Result<(), Malformed> {
    let ty = &types[id];
    if let TypeKind::Pointer(Some(to)) = ty.kind
        && to.index() >= types.len()
    {
        return Err(nowhere(to));
    }
    if ty.align != 0 && !ty.align.is_power_of_two() {
        let (name, align) = (&ty.name, ty.align);
        return Err(Malformed::new(format!("type `{name}` is aligned to {align} bytes")));
    }
    let size = match ty.kind {
        TypeKind::Array { element, count } => types[element.index()].size.saturating_mul(count),
        TypeKind::Alias(of) | TypeKind::Qualified(_, of) => types[of.index()].size,
        _ => ty.size,
    };
    if let TypeKind::Composite { members, .. } = &mut types[id].kind {
        // Stable: a zero-sized marker stays before its member.
        members.sort_by_key(|member| (member.offset, member.bits.map(|bits| bits.first)));
    }
    let ty = &types[id];
    let (align, align_declared) = match ty.align {
        0 => alignment::of(types, ty, size),
        align => (align, true),
    };
    let ty = &mut types[id];
    (ty.size, ty.align, ty.align_declared) = (size, align, align_declared);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Scalar, Shape};

    fn composite(members: Vec<Member>) -> TypeKind {
        TypeKind::Composite { shape: Shape::Struct, members }
    }

    #[test]
    fn a_type_that_contains_itself_is_refused_and_one_that_points_to_itself_is_not() {
        let mut builder = Builder::new();
        let node = builder.reserve();
        let pointer = builder.add("", 8, TypeKind::Pointer(Some(node)));
        builder.set(node, Type::new("node", 8, composite(vec![Member::new("next", 0, pointer)])));
        assert!(builder.finish(Format::Btf, 1).is_ok());

        let mut builder = Builder::new();
        let node = builder.reserve();
        let alias = builder.add("node_t", 0, TypeKind::Alias(node));
        builder.set(node, Type::new("node", 8, composite(vec![Member::new("next", 0, alias)])));
        let error = builder.finish(Format::Btf, 1).unwrap_err().to_string();
        assert!(error.contains("contains itself"), "{error}");
    }

    #[test]
    fn a_reason_is_one_line_of_a_length_to_read() {
        let mut builder = Builder::new();
        let name = format!("a\nb\x1b[31m{}", "c".repeat(10_000));
        builder.add(&name, 8, TypeKind::Alias(Builder::nth(0)));
        let line = builder.finish(Format::Btf, 1).unwrap_err().to_string();
        assert!(line.len() < 2000 && !line.contains(char::is_control), "{line}");
        assert!(line.starts_with("type `a\u{fffd}b\u{fffd}[31mccc"), "{line}");
    }

    #[test]
    fn a_reference_to_nowhere_is_refused() {
        for kind in [TypeKind::Alias(TypeId(7)), TypeKind::Pointer(Some(TypeId(7)))] {
            let mut builder = Builder::new();
            builder.add("x", 0, kind);
            assert!(builder.finish(Format::Btf, 1).is_err());
        }
    }

    #[test]
    fn a_chain_of_a_million_aliases_is_refused_without_ending_the_stack() {
        let mut builder = Builder::new();
        let mut last = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        for _ in 0..1_000_000 {
            last = builder.add("alias", 0, TypeKind::Alias(last));
        }
        let error = builder.finish(Format::Btf, 1).unwrap_err().to_string();
        assert!(error.contains("nested"), "{error}");
    }

    #[test]
    fn sizes_of_arrays_saturate() {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        let huge = builder.add("", 0, TypeKind::Array { element: int, count: u64::MAX });
        let model = builder.finish(Format::Btf, 1).unwrap();
        assert_eq!(model[huge].size, u64::MAX);
        assert_eq!(model[huge].align, 4);
    }

    #[test]
    fn members_are_sorted_and_zero_sized_markers_stay_in_front() {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        let mark = builder.add("", 0, TypeKind::Array { element: int, count: 0 });
        let members =
            vec![Member::new("b", 4, int), Member::new("mark", 0, mark), Member::new("a", 0, int)];
        let id = builder.add("s", 8, composite(members));
        let model = builder.finish(Format::Btf, 1).unwrap();
        let TypeKind::Composite { members, .. } = &model[id].kind else { panic!() };
        let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
        assert_eq!(names, ["mark", "a", "b"]);
    }
}
