use std::ops::Index;
use std::sync::Arc;

/// Shared by all that have the name. Empty for none.
pub type Name = Arc<str>;

/// A type of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(super) u32);

impl TypeId {
    /// The index in [`Model::types`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A type's name, layout and parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// With its path, as the language writes it (`std::atomic<int>`, `alloc::sync::Arc<T>`), without `struct`. Empty
    /// for none.
    pub name: Name,
    /// Bytes of a value; 0 for what has no values (`void`, functions, incomplete types). The builder computes it for
    /// arrays and aliases.
    pub size: u64,
    /// The alignment of every value's address: as declared or, where the reader says 0, inferred from members.
    pub align: u64,
    /// The source declares `align` (`__attribute__((aligned))`, `alignas`, `repr(align)`).
    pub align_declared: bool,
    /// Its parts.
    pub kind: TypeKind,
    /// The declaration, if known.
    pub declared: Option<Declared>,
}

/// A place in the sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// The file, as the compiler noted it.
    pub file: Name,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
}

/// A type's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// A number, a character, a truth value, an enumeration.
    Scalar(Scalar),
    /// `None` for `void *`.
    Pointer(Option<TypeId>),
    /// `count` values; 0 for a flexible array member.
    Array {
        /// The type of each.
        element: TypeId,
        /// How many.
        count: u64,
    },
    /// A struct, a class, a union, an enum with data.
    Composite {
        /// How the members lie.
        shape: Shape,
        /// Its members, in the order of offsets.
        members: Vec<Member>,
    },
    /// Another name of a type.
    Alias(TypeId),
    /// A type with a qualifier.
    Qualified(Qualifier, TypeId),
    /// The code that a function pointer points to.
    Function,
    /// Only a name, or nothing: `void`, `struct x;`.
    Opaque,
}

/// A kind of scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// A whole number, a character.
    Integer,
    /// A floating-point number.
    Float,
    /// A truth value.
    Boolean,
    /// One of a list of names.
    Enumeration,
}

impl TypeKind {
    /// The members of a composite; none of other types.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let Self::Composite { members, .. } = self { members } else { &[] }
    }

    /// Whether it is a struct, a class, a union or an enum with data.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        matches!(self, Self::Composite { .. })
    }
}

/// A type qualifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Qualifier {
    /// `const`.
    Const,
    /// `volatile`.
    Volatile,
    /// C11's `_Atomic`.
    Atomic,
    /// `restrict`, a BTF type tag, and others that change no layout.
    Other,
}

/// How a composite's members lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Members in sequence: `struct`, `class`, a tuple, a closure.
    Struct,
    /// Overlapping: `union`.
    Union,
    /// Overlapping, beside a discriminant: Rust's `enum` with data.
    Variants,
}

/// A member of a composite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Empty for an anonymous struct or union.
    pub name: Name,
    /// Bytes from the start of the composite; of a bit field, those of the first byte it touches.
    pub offset: u64,
    /// The type.
    pub ty: TypeId,
    /// If it is a bit field.
    pub bits: Option<BitField>,
    /// A base class, or something else that the source does not spell as a member.
    pub inherited: bool,
    /// Its `btf_decl_tag` attributes.
    pub tags: Vec<Name>,
}

/// The bits of a bit field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitField {
    /// The first bit, from the start of the member's first byte: below 8.
    pub first: u8,
    /// How many.
    pub count: u32,
}

impl BitField {
    /// Bytes that the field touches.
    #[must_use]
    pub fn bytes(self) -> u64 {
        (u64::from(self.first) + u64::from(self.count)).div_ceil(8)
    }
}

/// A variable with a fixed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Static {
    /// Its name, with its path.
    pub name: Name,
    /// Statics are neighbours only within one section.
    pub section: Name,
    /// Its address in memory or, in a relocatable file, from the start of the section.
    pub address: u64,
    /// The type.
    pub ty: TypeId,
    /// The declaration, if known.
    pub declared: Option<Declared>,
}

/// The source of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Versions 2 to 5.
    Dwarf,
    /// The kernel's BPF Type Format.
    Btf,
}

/// Types and variables of a program: see the [module](super).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub(super) format: Format,
    pub(super) units: u64,
    pub(super) types: Vec<Type>,
    pub(super) statics: Vec<Static>,
    pub(super) skipped: Vec<String>,
    pub(super) crates: Vec<(String, String)>,
}

impl Model {
    /// The format that it was read from.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Translation units; 1 for BTF.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// What is wrong with the units that were left out.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Rust's crates with units of their own: the name, and the path of the crate's root.
    #[must_use]
    pub fn crates(&self) -> &[(String, String)] {
        &self.crates
    }

    pub(crate) fn with(self, skipped: Vec<String>, crates: Vec<(String, String)>) -> Self {
        Self { skipped, crates, ..self }
    }

    /// Each once.
    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// All types, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0..).map(TypeId).zip(&self.types)
    }

    /// The types that have members, with their ids.
    pub fn composites(&self) -> impl Iterator<Item = (TypeId, &Type, &[Member])> {
        let composites = self.iter().filter(|(_, ty)| ty.kind.is_composite());
        composites.map(|(id, ty)| (id, ty, ty.kind.members()))
    }

    /// Variables with fixed addresses, by section and address.
    #[must_use]
    pub fn statics(&self) -> &[Static] {
        &self.statics
    }

    /// The type under aliases and qualifiers.
    #[must_use]
    pub fn resolved(&self, mut id: TypeId) -> TypeId {
        // Ends: rule 2 of the module.
        while let TypeKind::Alias(of) | TypeKind::Qualified(_, of) = self[id].kind {
            id = of;
        }
        id
    }

    /// Those that its bits touch, or its type's size.
    #[must_use]
    pub fn bytes_of(&self, member: &Member) -> u64 {
        member.bits.map_or_else(|| self[member.ty].size, BitField::bytes)
    }

    /// A type's name for people, made up if it has none: `int *`, `[u8; 16]`, `{anonymous}`.
    #[must_use]
    pub fn spelled(&self, id: TypeId) -> String {
        let ty = &self[id];
        if !ty.name.is_empty() {
            return ty.name.to_string();
        }
        match &ty.kind {
            TypeKind::Pointer(None) => "void *".to_owned(),
            TypeKind::Pointer(Some(to)) => format!("{} *", self.pointee(*to)),
            TypeKind::Array { .. } => {
                let (mut at, mut counts) = (id, String::new());
                while let TypeKind::Array { element, count } = self[at].kind
                    && self[at].name.is_empty()
                {
                    counts += &format!("[{count}]");
                    at = element;
                }
                self.spelled(at) + &counts
            }
            TypeKind::Alias(of) | TypeKind::Qualified(Qualifier::Other, of) => self.spelled(*of),
            TypeKind::Qualified(qualifier, of) => {
                format!("{} {}", qualifier.word(), self.spelled(*of))
            }
            TypeKind::Composite { shape: Shape::Union, .. } => "{anonymous union}".to_owned(),
            TypeKind::Composite { .. } => "{anonymous struct}".to_owned(),
            TypeKind::Scalar(_) => "{number}".to_owned(),
            TypeKind::Function => "{function}".to_owned(),
            TypeKind::Opaque => "void".to_owned(),
        }
    }
}

impl Model {
    /// A pointer may lead back to where it is: no further than its target.
    fn pointee(&self, id: TypeId) -> String {
        let ty = &self[id];
        match ty.kind {
            _ if !ty.name.is_empty() => ty.name.to_string(),
            TypeKind::Alias(of) | TypeKind::Qualified(Qualifier::Other, of) => self.pointee(of),
            TypeKind::Qualified(qualifier, of) => {
                format!("{} {}", qualifier.word(), self.pointee(of))
            }
            TypeKind::Pointer(_) => "(pointer)".to_owned(),
            TypeKind::Function => "(function)".to_owned(),
            TypeKind::Opaque => "void".to_owned(),
            _ => "(…)".to_owned(),
        }
    }
}

impl Qualifier {
    fn word(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Volatile => "volatile",
            Self::Atomic => "_Atomic",
            Self::Other => "",
        }
    }
}

impl Index<TypeId> for Model {
    type Output = Type;

    fn index(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }
}

impl Model {
    /// The holes between a composite's members, as offsets and bytes: whole bytes that no member touches and that a
    /// later member follows. Excludes padding after the last member. Empty without members.
    ///
    /// Overlapping members count together; one of no bytes, such as a flexible array, ends a hole like any other.
    ///
    /// ```
    /// use tenure_debuginfo::model::{Builder, Format, TypeKind, Member, Scalar, Shape};
    ///
    /// let mut builder = Builder::new();
    /// let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
    /// let members = vec![Member::new("a", 0, int), Member::new("b", 8, int)];
    /// let id = builder.add("s", 16, TypeKind::Composite { shape: Shape::Struct, members });
    /// let model = builder.finish(Format::Btf, 1)?;
    /// assert_eq!(model.holes(id), [(4, 4)]);
    /// # Ok::<(), tenure_debuginfo::model::Malformed>(())
    /// ```
    #[must_use]
    pub fn holes(&self, id: TypeId) -> Vec<(u64, u64)> {
        let TypeKind::Composite { members, .. } = &self[id].kind else { return Vec::new() };
        let mut holes = Vec::new();
        let mut end = 0;
        // In the order of their offsets: rule 3 of the module.
        for member in members {
            if member.offset > end {
                holes.push((end, member.offset - end));
            }
            end = end.max(member.offset.saturating_add(self.bytes_of(member)));
        }
        holes
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;

    #[test]
    fn arrays_of_arrays_are_spelled_from_the_outside_in() {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        let row = builder.add("", 0, TypeKind::Array { element: int, count: 3 });
        let rows = builder.add("", 0, TypeKind::Array { element: row, count: 2 });
        let constant = builder.add("", 0, TypeKind::Qualified(Qualifier::Const, rows));
        let model = builder.finish(Format::Btf, 1).unwrap();
        assert_eq!(model.spelled(rows), "int[2][3]");
        assert_eq!(model.spelled(constant), "const int[2][3]");
    }

    #[test]
    fn pointers_are_spelled_with_the_qualifiers_of_their_targets() {
        let mut builder = Builder::new();
        let void = builder.add("", 0, TypeKind::Opaque);
        let byte = builder.add("char", 1, TypeKind::Scalar(Scalar::Integer));
        let pointer = |builder: &mut Builder, qualifier, to| {
            let to = builder.add("", 0, TypeKind::Qualified(qualifier, to));
            builder.add("", 8, TypeKind::Pointer(Some(to)))
        };
        let all = [
            pointer(&mut builder, Qualifier::Const, void),
            pointer(&mut builder, Qualifier::Volatile, byte),
            pointer(&mut builder, Qualifier::Other, byte),
        ];
        let model = builder.finish(Format::Btf, 1).unwrap();
        let spelled = all.map(|id| model.spelled(id));
        assert_eq!(spelled, ["const void *", "volatile char *", "char *"]);
    }

    #[test]
    fn members_over_each_other_make_no_hole_and_empty_ones_end_one() {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        let empty = builder.add("", 0, TypeKind::Array { element: int, count: 0 });
        let bits = |offset, first, count| Member {
            bits: Some(BitField { first, count }),
            ..Member::new("bits", offset, int)
        };
        let members = vec![
            Member::new("a", 0, int),
            Member::new("over a", 2, int),
            Member::new("mark", 7, empty),
            bits(8, 0, 4),
            bits(8, 4, 5),
            Member::new("b", 12, int),
        ];
        let kind = TypeKind::Composite { shape: Shape::Struct, members };
        let id = builder.add("s", 24, kind);
        let model = builder.finish(Format::Btf, 1).unwrap();
        assert_eq!(model.holes(id), [(6, 1), (7, 1), (10, 2)]);
        assert_eq!(model.holes(int), []);
    }
}
