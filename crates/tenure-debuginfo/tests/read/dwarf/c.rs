//! C: the kernel's routes, and one of every kind of type.

use tenure_debuginfo::model::{Format, Model, Qualifier, Scalar, Shape, TypeKind};

use super::{fixture, member, members, one, shown};

/// From all compilers and versions of DWARF, for the machine in the name.
const KINDS: [&str; 8] = [
    "kinds-gcc-2.o",
    "kinds-gcc-3.o",
    "kinds-gcc-4.o",
    "kinds-gcc-5.o",
    "kinds-clang-5.o",
    "kinds-arm.o",
    "kinds-units-4.o",
    "kinds-units-5.o",
];

#[test]
fn routes_lie_as_in_linux_6_1() {
    let model = fixture("dst.o");
    assert_eq!((model.format(), model.units()), (Format::Dwarf, 1));
    assert_eq!(one(&model, "dst_entry").1.size, 112);
    let dst = ["__refcnt", "__use", "lastuse", "lwtstate", "rcu_head", "error", "tclassid"]
        .map(|name| member(&model, "dst_entry", name).offset);
    assert_eq!(dst, [64, 68, 72, 80, 88, 104, 108]);
    assert_eq!(one(&model, "rtable").1.size, 176);
    let rtable = ["dst", "rt_genid", "rt_flags", "rt_type", "rt_iif", "rt_uncached"]
        .map(|name| member(&model, "rtable", name).offset);
    assert_eq!(rtable, [0, 112, 116, 120, 124, 152]);
    assert_eq!(member(&model, "rt6_info", "from").offset, 112);
    let declared = one(&model, "rtable").1.declared.clone().unwrap();
    assert_eq!((&*declared.file, declared.line), ("dst.c", 40));
}

#[test]
fn repaired_routes_lie_as_in_linux_6_4() {
    let model = fixture("dst_repaired.o");
    assert_eq!(one(&model, "dst_entry").1.size, 136);
    let dst = ["__rcuref", "__use", "lastuse", "rcu_head", "error", "rt_uncached", "lwtstate"]
        .map(|name| member(&model, "dst_entry", name).offset);
    assert_eq!(dst, [64, 68, 72, 80, 96, 104, 128]);
    assert_eq!(one(&model, "rtable").1.size, 176);
    assert_eq!(member(&model, "rtable", "rt_genid").offset, 136);
}

#[test]
fn bit_fields_lie_where_they_are_in_every_version() {
    for name in KINDS.into_iter().chain(["kinds-m32.o"]) {
        let model = fixture(name);
        // On i386 the wide one begins where others have a gap.
        let wide = if name == "kinds-m32.o" { "4:0+40 wide" } else { "8:0+40 wide" };
        let flag = if name == "kinds-m32.o" { "9:0+1 flag" } else { "13:0+1 flag" };
        let expected = ["0:0+3 first", "0:3+5 second", "1:4+20 third", wide, flag];
        assert_eq!(shown(&model, "bits"), expected, "{name}");
    }
}

#[test]
fn bit_fields_of_big_endian_machines_start_at_the_other_end() {
    let model = fixture("kinds-big.o");
    let expected = ["0:0+3 first", "0:3+5 second", "1:4+20 third", "8:0+40 wide", "13:0+1 flag"];
    assert_eq!(shown(&model, "bits"), expected);
    assert_eq!(shown(&model, "packed"), ["0 tag", "1 value", "9 last"]);
}

#[test]
fn unnamed_structs_and_unions_are_members_without_names() {
    for name in KINDS {
        let model = fixture(name);
        assert_eq!(shown(&model, "nested"), ["0 before", "4 ", "8 named"], "{name}");
        let union = members(&model, "nested")[1].ty;
        let TypeKind::Composite { shape: Shape::Union, members } = &model[union].kind else {
            panic!("{name}")
        };
        let names: Vec<&str> = members.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["", "whole", "inner"], "{name}");
        assert_eq!(model[union].size, 4, "{name}");
    }
}

#[test]
fn arrays_of_arrays_and_flexible_arrays_have_their_counts() {
    for name in KINDS {
        let model = fixture(name);
        let matrix = member(&model, "arrays", "matrix").ty;
        let TypeKind::Array { element, count: 2 } = model[matrix].kind else { panic!("{name}") };
        let TypeKind::Array { count: 3, .. } = model[element].kind else { panic!("{name}") };
        assert_eq!(model[matrix].size, 24, "{name}");
        let rest = member(&model, "arrays", "rest");
        assert_eq!((rest.offset, model.bytes_of(rest)), (96, 0), "{name}");
        assert_eq!(one(&model, "arrays").1.size, 96, "{name}");
    }
}

#[test]
fn packed_structs_and_declared_alignments_show() {
    for name in KINDS {
        let model = fixture(name);
        let (_, packed) = one(&model, "packed");
        assert_eq!((packed.size, packed.align), (11, 1), "{name}");
        for on_lines in ["lines", "holds_lines", "member_on_a_line"] {
            let (_, ty) = one(&model, on_lines);
            assert_eq!((ty.align, ty.align_declared), (64, true), "{name} {on_lines}");
        }
        assert_eq!(member(&model, "member_on_a_line", "contended").offset, 64, "{name}");
    }
}

#[test]
fn atomic_qualifiers_show() {
    for name in ["kinds-gcc-5.o", "kinds-clang-5.o", "kinds-units-5.o"] {
        let model = fixture(name);
        for atomic in ["a", "b", "c"] {
            let mut id = member(&model, "atomics", atomic).ty;
            while let TypeKind::Alias(of) = model[id].kind {
                id = of;
            }
            let is_atomic = matches!(model[id].kind, TypeKind::Qualified(Qualifier::Atomic, _));
            assert!(is_atomic, "{name} {atomic}");
        }
    }
}

#[test]
fn scalars_are_told_apart() {
    for name in KINDS {
        let model = fixture(name);
        let kind =
            |name: &str| model[model.resolved(member(&model, "scalars", name).ty)].kind.clone();
        assert_eq!(kind("truth"), TypeKind::Scalar(Scalar::Boolean), "{name}");
        assert_eq!(kind("letter"), TypeKind::Scalar(Scalar::Integer), "{name}");
        assert_eq!(kind("longest"), TypeKind::Scalar(Scalar::Float), "{name}");
        assert_eq!(kind("colour"), TypeKind::Scalar(Scalar::Enumeration), "{name}");
        assert_eq!(kind("alias"), TypeKind::Scalar(Scalar::Integer), "{name}");
        assert_eq!(kind("anything"), TypeKind::Pointer(None), "{name}");
    }
}

#[test]
fn pointers_lead_to_what_is_defined_and_to_names_of_what_is_not() {
    let model = fixture("kinds-gcc-5.o");
    let target = |name: &str| match model[model.resolved(member(&model, "scalars", name).ty)].kind {
        TypeKind::Pointer(Some(to)) => model.resolved(to),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(target("self"), one(&model, "scalars").0);
    assert_eq!(model[target("code")].kind, TypeKind::Function);
    let opaque = target("opaque");
    assert_eq!((&*model[opaque].name, &model[opaque].kind), ("declared_only", &TypeKind::Opaque));
}

#[test]
fn variables_have_their_sections_and_addresses() {
    for name in KINDS.into_iter().chain(["kinds-m32.o", "kinds-big.o", "kinds-zlib.o"]) {
        let model = fixture(name);
        let section = |variable: &str| section_of(&model, variable);
        assert_eq!(section("declared_first").as_deref(), Some(".data"), "{name}");
        assert_eq!(section("counter").as_deref(), Some(".bss"), "{name}");
        assert_eq!(section("calls").as_deref(), Some(".bss"), "{name}: inside a function");
        assert_eq!(section("each_threads_own"), None, "{name}: no fixed address");
    }
}

fn section_of(model: &Model, variable: &str) -> Option<String> {
    let mut all = model.statics().iter().filter(|one| *one.name == *variable);
    let found = all.next().map(|one| one.section.to_string());
    assert!(all.next().is_none(), "{variable} is there once");
    found
}

#[test]
fn linked_variables_have_their_addresses_in_memory() {
    let model = fixture("linked.so");
    let address = |name: &str| {
        let found = model.statics().iter().find(|one| *one.name == *name);
        found.map(|one| (one.section.to_string(), one.address)).unwrap()
    };
    let (section, first) = address("a_route");
    assert_eq!(section, ".bss");
    assert!(first > 0 && address("a_route6").1 != first);
    let ty = model.statics().iter().find(|one| *one.name == *"a_route").unwrap().ty;
    assert_eq!(ty, one(&model, "rtable").0);
}
