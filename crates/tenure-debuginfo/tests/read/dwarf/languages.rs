use tenure_debuginfo::model::{Model, Shape, TypeKind};

use super::{fixture, member, members, one, shown};

fn cpp(claim: impl Fn(&str, &Model)) {
    for name in ["shapes-gcc.so", "shapes-clang.so"] {
        claim(name, &fixture(name));
    }
}

#[test]
fn bases_are_inherited_members_and_virtual_ones_are_left_out() {
    cpp(|name, model| {
        let inherited: Vec<_> = members(model, "geometry::Circle")
            .iter()
            .filter(|one| one.inherited)
            .map(|one| (one.offset, model.spelled(one.ty)))
            .collect();
        let expected = [(0, "Shape"), (0, "Empty"), (12, "Named")]
            .map(|(offset, base)| (offset, format!("geometry::{base}")));
        assert_eq!(inherited, expected, "{name}");
        assert_eq!(shown(model, "geometry::Virtual")[1], "8 own", "{name}");
        assert_eq!(members(model, "geometry::Virtual").len(), 2, "{name}");
    });
}

#[test]
fn the_pointer_to_virtual_functions_is_a_member_and_static_members_are_variables() {
    cpp(|name, model| {
        let shape = shown(model, "geometry::Shape");
        assert!(shape[0].starts_with("0 _vptr"), "{name}: {shape:?}");
        assert_eq!(shape[1..], ["8 id"], "{name}");
        let made = model.statics().iter().find(|one| *one.name == *"geometry::Shape::made");
        assert!(made.is_some(), "{name}");
        let hidden = "geometry::(anonymous namespace)::hidden";
        assert!(model.statics().iter().any(|one| *one.name == *hidden), "{name}");
    });
}

#[test]
fn pointers_to_members_take_a_word_and_those_to_functions_two() {
    cpp(|name, model| {
        let size = |of: &str| model.bytes_of(member(model, "geometry::Circle", of));
        assert_eq!((size("axis"), size("measure"), size("reference")), (8, 16, 8), "{name}");
        assert_eq!(model.holes(one(model, "geometry::Circle").0), [], "{name}");
    });
}

#[test]
fn types_have_their_paths_and_template_arguments() {
    cpp(|name, model| {
        assert_eq!(one(model, "geometry::Circle::Centre").1.size, 8, "{name}");
        let grid = if name.contains("gcc") { "short int" } else { "short" };
        assert_eq!(one(model, &format!("geometry::Grid<{grid}, 6>")).1.size, 12, "{name}");
        assert_eq!(one(model, "geometry::(anonymous namespace)::Hidden").1.size, 8, "{name}");
    });
}

#[test]
fn the_librarys_atomics_and_locks_are_found_by_name() {
    cpp(|name, model| {
        assert_eq!(
            model.spelled(member(model, "Shared", "count").ty),
            "std::atomic<int>",
            "{name}"
        );
        assert_eq!(model.spelled(member(model, "Shared", "lock").ty), "std::mutex", "{name}");
        assert_eq!(
            model.spelled(member(model, "Shared", "shape").ty),
            "std::shared_ptr<geometry::Shape>",
            "{name}"
        );
        let (_, shared) = one(model, "Shared");
        assert_eq!((shared.size, shared.align, shared.align_declared), (128, 64, true), "{name}");
    });
}

#[test]
fn rust_enums_have_a_discriminant_and_their_variants() {
    let model = fixture("shapes-rust.so");
    let (_, state) = one(&model, "shapes::state::State");
    let TypeKind::Composite { shape: Shape::Variants, members } = &state.kind else { panic!() };
    let names: Vec<&str> = members.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["", "Idle", "Running", "Failed"]);
    assert!(members[0].inherited && members[1..].iter().all(|one| !one.inherited));
    let running = one(&model, "shapes::state::State::Running").0;
    assert_eq!(members[2].ty, running);
    let option = member(&model, "shapes::Pool", "next").ty;
    assert!(matches!(model[option].kind, TypeKind::Composite { shape: Shape::Variants, .. }));
    assert_eq!(model[option].size, 8, "the null pointer is the other variant");
}

#[test]
fn rust_types_have_their_paths_alignments_and_variables() {
    let model = fixture("shapes-rust.so");
    let (_, padded) = one(&model, "shapes::Padded");
    assert_eq!((padded.size, padded.align, padded.align_declared), (128, 128, true));
    assert_eq!(one(&model, "shapes::state::Wrapped<u16>").1.size, 4);
    let shared = model.spelled(member(&model, "shapes::Pool", "shared").ty);
    assert!(shared.starts_with("alloc::sync::Arc<") && shared.contains("Mutex<u64>"), "{shared}");
    let mut names: Vec<&str> = model.statics().iter().map(|one| &*one.name).collect();
    names.retain(|name| name.starts_with("shapes::"));
    names.sort_unstable();
    assert_eq!(names, ["shapes::READS", "shapes::WRITES", "shapes::touch::CALLS"]);
}
