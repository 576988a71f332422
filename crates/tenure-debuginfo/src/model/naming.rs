//! Names for anonymous structs and unions.
//!
//! Much C code writes every struct as `typedef struct { … } session_t;`. Findings, checks and rules need names, so such
//! a type takes one from its use, the first of:
//!
//! | used as | its name |
//! |---|---|
//! | `typedef struct { … } session_t;` | `session_t` |
//! | `struct server { struct { … } *sessions; };` | `server.sessions` |
//! | `static struct { … } sessions[8];` | `sessions` |
//!
//! A type that lies by value in a composite stays without: its members count as the outer type's.

use std::collections::HashMap;

use super::types::{Model, Name, TypeId, TypeKind};

/// Bytes. A small file could ask for any amount of memory.
const MAX_NAME_BYTES: usize = 256;

type Given = HashMap<TypeId, Name>;

pub(super) fn name(model: &mut Model) {
    let mut given = Given::new();
    for ty in model.types() {
        if let TypeKind::Alias(of) = ty.kind
            && !matches!(model[of].kind, TypeKind::Alias(_) | TypeKind::Array { .. })
            && let Some(id) = composite(model, of)
        {
            given.entry(id).or_insert_with(|| ty.name.clone());
        }
    }
    give(model, given);

    let mut given = Given::new();
    for (_, ty, members) in model.composites().filter(|(_, ty, _)| !ty.name.is_empty()) {
        for member in members {
            if let TypeKind::Pointer(Some(to)) = model[element(model, member.ty)].kind
                && let Some(id) = composite(model, to)
                && ty.name.len() + member.name.len() < MAX_NAME_BYTES
            {
                given.entry(id).or_insert_with(|| format!("{}.{}", ty.name, member.name).into());
            }
        }
    }
    for variable in model.statics() {
        if let Some(id) = composite(model, variable.ty) {
            given.entry(id).or_insert_with(|| variable.name.clone());
        }
    }
    for (_, _, members) in model.composites() {
        for id in members.iter().filter_map(|member| composite(model, member.ty)) {
            given.remove(&id);
        }
    }
    give(model, given);
}

fn give(model: &mut Model, names: Given) {
    for (id, name) in names {
        model.types[id.index()].name = name;
    }
}

/// An array's innermost element; else the type itself.
fn element(model: &Model, id: TypeId) -> TypeId {
    let mut at = model.resolved(id);
    // Ends: rule 2 of the module.
    while let TypeKind::Array { element, .. } = model[at].kind {
        at = model.resolved(element);
    }
    at
}

/// The composite without a name that a type, or its elements, is.
fn composite(model: &Model, id: TypeId) -> Option<TypeId> {
    let at = element(model, id);
    (model[at].name.is_empty() && matches!(model[at].kind, TypeKind::Composite { .. }))
        .then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Format, Member, Qualifier, Scalar, Shape, Static};
    use super::*;

    struct Program {
        builder: Builder,
        int: TypeId,
    }

    impl Program {
        fn new() -> Self {
            let mut builder = Builder::new();
            let int = builder.add("int", 4, TypeKind::Scalar(Scalar::Integer));
            Self { builder, int }
        }

        fn composite(&mut self, name: &str, members: &[(&str, TypeId)]) -> TypeId {
            let members =
                (0..).zip(members).map(|(at, (name, ty))| Member::new(*name, at * 8, *ty));
            let kind = TypeKind::Composite { shape: Shape::Struct, members: members.collect() };
            self.builder.add(name, 64, kind)
        }

        fn nameless(&mut self) -> TypeId {
            let int = self.int;
            self.composite("", &[("refs", int)])
        }

        fn pointer(&mut self, to: TypeId) -> TypeId {
            self.builder.add("", 8, TypeKind::Pointer(Some(to)))
        }

        fn names<const N: usize>(self, ids: [TypeId; N]) -> [String; N] {
            let model = self.builder.finish(Format::Dwarf, 1).unwrap();
            ids.map(|id| model[id].name.to_string())
        }
    }

    #[test]
    fn a_struct_without_a_name_is_called_by_its_first_typedef() {
        let mut program = Program::new();
        let (plain, constant) = (program.nameless(), program.nameless());
        program.builder.add("anon_t", 0, TypeKind::Alias(plain));
        program.builder.add("other_t", 0, TypeKind::Alias(plain));
        let qualified = program.builder.add("", 0, TypeKind::Qualified(Qualifier::Const, constant));
        program.builder.add("fixed_t", 0, TypeKind::Alias(qualified));
        assert_eq!(program.names([plain, constant]), ["anon_t", "fixed_t"]);
    }

    #[test]
    fn a_struct_that_only_a_pointer_leads_to_is_called_by_the_member_that_points_to_it() {
        let mut program = Program::new();
        let (one, many) = (program.nameless(), program.nameless());
        let to_one = program.pointer(one);
        let to_many = program.pointer(many);
        let table = program.builder.add("", 0, TypeKind::Array { element: to_many, count: 4 });
        program.composite("server", &[("state", to_one), ("shards", table)]);
        assert_eq!(program.names([one, many]), ["server.state", "server.shards"]);
    }

    #[test]
    fn a_struct_that_only_a_variable_has_is_called_by_the_variable() {
        let mut program = Program::new();
        let element = program.nameless();
        let ty = program.builder.add("", 0, TypeKind::Array { element, count: 8 });
        let (name, section) = ("workers".into(), ".bss".into());
        let variable = Static { name, section, address: 64, ty, declared: None };
        program.builder.push_static(variable);
        assert_eq!(program.names([element]), ["workers"]);
    }

    #[test]
    fn a_part_of_another_type_stays_without_a_name() {
        let mut program = Program::new();
        let part = program.nameless();
        let pointer = program.pointer(part);
        program.composite("session", &[("counts", part), ("at", pointer)]);
        assert_eq!(program.names([part]), [""]);
    }

    #[test]
    fn a_name_of_any_length_is_not_put_together() {
        let mut program = Program::new();
        let one = program.nameless();
        let pointer = program.pointer(one);
        program.composite(&"s".repeat(MAX_NAME_BYTES), &[("state", pointer)]);
        assert_eq!(program.names([one]), [""]);
    }
}
