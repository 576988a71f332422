use tenure_debuginfo::model::{Member, Model, Qualifier, Scalar, Shape, Type, TypeKind};
use tenure_debuginfo::read::btf;

use super::encoder::*;

/// In either byte order.
fn read(make: impl Fn(&mut Encoder)) -> Model {
    let [little, big] = [false, true].map(|big| {
        let mut encoder = Encoder::new(big);
        make(&mut encoder);
        btf::parse(&encoder.finish(), None).unwrap()
    });
    assert_eq!(little, big);
    little
}

fn named<'m>(model: &'m Model, name: &str) -> &'m Type {
    let mut all = model.types().iter().filter(|ty| &*ty.name == name);
    let one = all.next().unwrap();
    assert_eq!(all.next(), None);
    one
}

fn members<'m>(model: &'m Model, name: &str) -> &'m [Member] {
    match &named(model, name).kind {
        TypeKind::Composite { members, .. } => members,
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_have_their_sizes_and_kinds() {
    let model = read(|file| {
        file.int("int", 4);
        file.add("_Bool", INT << 24, 1, &[BOOLEAN | 8]);
        file.plain(FLOAT, "double", 8);
        file.add("colour", ENUM << 24 | 2, 4, &[0, 1, 0, 2]);
        file.add("flags", ENUM64 << 24 | 1, 8, &[0, 1, 2]);
    });
    let found = ["int", "_Bool", "double", "colour", "flags"].map(|name| {
        let ty = named(&model, name);
        (ty.size, ty.align, ty.kind.clone())
    });
    let scalar = |size, scalar| (size, size, TypeKind::Scalar(scalar));
    assert_eq!(
        found,
        [
            scalar(4, Scalar::Integer),
            scalar(1, Scalar::Boolean),
            scalar(8, Scalar::Float),
            scalar(4, Scalar::Enumeration),
            scalar(8, Scalar::Enumeration),
        ]
    );
}

#[test]
fn a_pointer_has_the_size_of_long_and_8_bytes_without_one() {
    for (name, size, pointer) in [
        ("long", 4, 4),
        ("unsigned long", 4, 4),
        ("long unsigned int", 4, 4),
        ("long int", 8, 8),
        ("long long", 4, 8),
        ("longer", 4, 8),
        ("int", 4, 8),
    ] {
        let model = read(|file| {
            file.plain(PTR, "", 0);
            file.int(name, size);
        });
        let found = model.types().iter().find(|ty| ty.kind == TypeKind::Pointer(None)).unwrap();
        assert_eq!(found.size, pointer, "{name}");
    }
}

#[test]
fn a_struct_has_its_members_where_they_are() {
    let model = read(|file| {
        let int = file.int("int", 4);
        let array = file.array(int, int, 3);
        file.structure("s", 16, &[("a", int, 0), ("b", array, 32)]);
        file.composite(UNION << 24, "u", 12, &[("a", int, 0), ("b", array, 0)]);
    });
    let found: Vec<_> =
        members(&model, "s").iter().map(|m| (&*m.name, m.offset, model.bytes_of(m))).collect();
    assert_eq!(found, [("a", 0, 4), ("b", 4, 12)]);
    assert_eq!(members(&model, "u").len(), 2);
    assert!(matches!(named(&model, "u").kind, TypeKind::Composite { shape: Shape::Union, .. }));
}

#[test]
fn qualifiers_and_aliases_keep_what_they_stand_for() {
    let model = read(|file| {
        let int = file.int("int", 4);
        let alias = file.plain(TYPEDEF, "counter", int);
        let constant = file.plain(CONST, "", alias);
        let volatile = file.plain(VOLATILE, "", constant);
        let tagged = file.plain(TYPE_TAG, "user", volatile);
        let restrict = file.plain(RESTRICT, "", tagged);
        file.structure("s", 4, &[("m", restrict, 0)]);
    });
    let mut id = members(&model, "s")[0].ty;
    for qualifier in [Qualifier::Other, Qualifier::Other, Qualifier::Volatile, Qualifier::Const] {
        let TypeKind::Qualified(found, of) = model[id].kind else { panic!() };
        assert_eq!((found, &*model[id].name, model[id].size), (qualifier, "", 4));
        id = of;
    }
    assert_eq!(&*model[id].name, "counter");
    assert_eq!(&*model[model.resolved(id)].name, "int");
}

#[test]
fn what_is_only_declared_is_opaque_and_functions_are_functions() {
    let model = read(|file| {
        let forward = file.plain(FWD, "hidden", 0);
        let proto = file.add("", FUNC_PROTO << 24 | 1, 0, &[0, forward]);
        file.plain(FUNC, "call", proto);
        let to_forward = file.plain(PTR, "", forward);
        let to_function = file.plain(PTR, "", proto);
        file.structure("s", 16, &[("hidden", to_forward, 0), ("call", to_function, 64)]);
    });
    assert_eq!(named(&model, "hidden").kind, TypeKind::Opaque);
    let TypeKind::Pointer(Some(to)) = model[members(&model, "s")[1].ty].kind else { panic!() };
    assert_eq!(model[to].kind, TypeKind::Function);
}

#[test]
fn variables_lie_in_their_sections_and_each_cpus_do_not() {
    let model = read(|file| {
        let int = file.int("int", 4);
        let [a, b, there, each] = ["a", "b", "there", "each"]
            .map(|name| file.add(name, VAR << 24, int, &[if name == "there" { 2 } else { 1 }]));
        file.section(".bss", 64, &[[b, 8, 4], [a, 4, 4], [there, 16, 4]]);
        file.section(".data..percpu", 64, &[[each, 0, 4]]);
        file.section(".data", 0, &[[a, 0, 4]]);
    });
    let found: Vec<_> =
        model.statics().iter().map(|v| (&*v.name, &*v.section, v.address)).collect();
    assert_eq!(found, [("a", ".bss", 4), ("b", ".bss", 8)]);
}

#[test]
fn tags_stay_with_their_members() {
    let model = read(|file| {
        file.add("early", DECL_TAG << 24, 3, &[1]);
        let int = file.int("int", 4);
        let id = file.structure("s", 12, &[("a", int, 0), ("b", int, 32), ("c", int, 64)]);
        assert_eq!(id, 3);
        file.add("late", DECL_TAG << 24, id, &[1]);
        file.add("other", DECL_TAG << 24, id, &[0]);
        file.add("whole", DECL_TAG << 24, id, &[u32::MAX]);
        file.add("parameter", DECL_TAG << 24, int, &[7]);
    });
    let tags: Vec<Vec<&str>> = members(&model, "s")
        .iter()
        .map(|member| member.tags.iter().map(|tag| &**tag).collect())
        .collect();
    assert_eq!(tags, [vec!["other"], vec!["early", "late"], vec![]]);
}

#[test]
fn a_newer_kind_is_skipped_by_the_layout_section() {
    let layout = [(0, 0); 21].into_iter().chain([(4, 8)]).collect();
    let mut file = Encoder::new(false).with_layout(layout);
    let newer = file.add("new", 21 << 24 | 2, 0, &[1, 2, 3, 4, 5]);
    let pointer = file.plain(PTR, "", newer);
    file.structure("s", 8, &[("m", pointer, 0)]);
    let model = btf::parse(&file.finish(), None).unwrap();
    assert_eq!(named(&model, "new").kind, TypeKind::Opaque);
    assert_eq!(members(&model, "s").len(), 1);
}

#[test]
fn a_newer_kind_without_its_length_is_refused_by_its_number() {
    let mut file = Encoder::new(false);
    file.plain(20, "new", 0);
    let error = btf::parse(&file.finish(), None).unwrap_err().to_string();
    assert!(error.contains("type 1 has kind 20"), "{error}");
}

#[test]
fn a_longer_header_is_skipped() {
    let mut file = Encoder::new(true).with_more_header(40);
    file.int("int", 4);
    let model = btf::parse(&file.finish(), None).unwrap();
    assert_eq!(named(&model, "int").size, 4);
}

#[test]
fn a_count_of_members_may_need_more_than_16_bits() {
    let mut file = Encoder::new(false);
    let int = file.int("int", 4);
    let many = vec![("m", int, 0); 70_000];
    file.composite(UNION << 24, "u", 4, &many);
    let model = btf::parse(&file.finish(), None).unwrap();
    assert_eq!(members(&model, "u").len(), 70_000);
}
