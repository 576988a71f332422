//! Models for tests: a type or a variable a line.

use tenure_debuginfo::model::{
    Builder, Declared, Format, Member, Model, Scalar, Shape, Static, Type, TypeId, TypeKind,
};

pub(crate) struct Maker {
    pub(crate) builder: Builder,
    pub(crate) int: TypeId,
    pub(crate) pointer: TypeId,
    pub(crate) count: TypeId,
    pub(crate) lock: TypeId,
}

impl Maker {
    pub(crate) fn new() -> Self {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
        let pointer = builder.add("", 8, TypeKind::Pointer(None));
        let count = builder.add("refcount_t", 4, structure(&[("refs", 0, int)]));
        let lock = builder.add("spinlock_t", 4, structure(&[("word", 0, int)]));
        Self { builder, int, pointer, count, lock }
    }

    pub(crate) fn add(&mut self, name: &str, size: u64, members: &[(&str, u64, TypeId)]) -> TypeId {
        self.builder.add(name, size, structure(members))
    }

    pub(crate) fn add_declared(
        &mut self,
        name: &str,
        size: u64,
        members: &[(&str, u64, TypeId)],
        file: &str,
        line: u32,
    ) -> TypeId {
        let ty = Type::new(name, size, structure(members));
        self.builder.push(Type { declared: declared(file, line), ..ty })
    }

    pub(crate) fn union(
        &mut self,
        name: &str,
        size: u64,
        members: &[(&str, u64, TypeId)],
    ) -> TypeId {
        self.builder.add(name, size, composite(Shape::Union, members))
    }

    pub(crate) fn number(&mut self, name: &str, size: u64) -> TypeId {
        self.builder.add(name, size, TypeKind::Scalar(Scalar::Integer))
    }

    pub(crate) fn array(&mut self, element: TypeId, count: u64) -> TypeId {
        self.builder.add("", 0, TypeKind::Array { element, count })
    }

    pub(crate) fn pointer_to(&mut self, ty: TypeId) -> TypeId {
        self.builder.add("", 8, TypeKind::Pointer(Some(ty)))
    }

    /// A struct of two pointers to its own type.
    pub(crate) fn links(&mut self, name: &str) -> TypeId {
        let link = self.builder.reserve();
        let to = self.pointer_to(link);
        self.builder.set(link, Type::new(name, 16, structure(&[("next", 0, to), ("prev", 8, to)])));
        link
    }

    pub(crate) fn alias(&mut self, name: &str, of: TypeId) -> TypeId {
        self.builder.add(name, 0, TypeKind::Alias(of))
    }

    pub(crate) fn variable(
        &mut self,
        name: &str,
        section: &str,
        address: u64,
        ty: TypeId,
        file: &str,
    ) {
        let (name, section, declared) = (name.into(), section.into(), declared(file, 1));
        self.builder.push_static(Static { name, section, address, ty, declared });
    }

    pub(crate) fn finish(self) -> Model {
        self.builder.finish(Format::Btf, 1).unwrap()
    }

    pub(crate) fn finish_dwarf(self) -> Model {
        self.builder.finish(Format::Dwarf, 1).unwrap()
    }
}

/// None of an empty name.
fn declared(file: &str, line: u32) -> Option<Declared> {
    (!file.is_empty()).then(|| Declared { file: file.into(), line })
}

pub(crate) fn structure(members: &[(&str, u64, TypeId)]) -> TypeKind {
    composite(Shape::Struct, members)
}

pub(crate) fn composite(shape: Shape, members: &[(&str, u64, TypeId)]) -> TypeKind {
    let members = members.iter().map(|&(name, offset, ty)| Member::new(name, offset, ty)).collect();
    TypeKind::Composite { shape, members }
}
