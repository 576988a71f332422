use tenure_layout::knowledge::Knowledge;
use tenure_layout::lines::LayoutModel;
use tenure_layout::rules::Rules;
use tenure_layout::sharing;
use tenure_model::{Finding, Level, Sharing};
use tenure_types::model::{Kind, Qualifier, Shape, Static};

use super::{Maker, composite, findings_of, with_layouts};

fn score(findings: &[Finding], name: &str) -> f64 {
    findings.iter().find(|finding| finding.type_name == name).map_or(0.0, |finding| finding.score)
}

#[test]
fn a_count_ranks_above_a_lock_because_a_lock_guards_its_neighbours() {
    let mut maker = Maker::new();
    let (count, lock, pointer) = (maker.count, maker.lock, maker.pointer);
    maker.add("counted", 16, &[("refs", 0, count), ("next", 8, pointer)]);
    maker.add("locked", 16, &[("lock", 0, lock), ("next", 8, pointer)]);
    let found = findings_of(&maker.finish());
    assert!(score(&found, "counted") > 4.0 * score(&found, "locked"), "{found:#?}");
}

#[test]
fn where_nothing_suffers_there_is_no_finding() {
    let cold_neighbours_alone = |maker: &mut Maker| {
        let (count, pointer) = (maker.count, maker.pointer);
        let rcu = maker.add("callback_head", 16, &[("next", 0, pointer), ("func", 8, pointer)]);
        maker.add("quiet", 24, &[("refs", 0, count), ("rcu", 8, rcu)]);
    };
    let a_count_on_its_own_line = |maker: &mut Maker| {
        let (count, pointer) = (maker.count, maker.pointer);
        maker.add("apart", 128, &[("next", 0, pointer), ("refs", 64, count)]);
    };
    let alternatives_of_a_union = |maker: &mut Maker| {
        let (count, pointer) = (maker.count, maker.pointer);
        let live = maker.add("live", 16, &[("refs", 0, count)]);
        let free = maker.add("free", 16, &[("next", 8, pointer)]);
        let either = composite(Shape::Union, &[("live", 0, live), ("free", 0, free)]);
        let either = maker.builder.add("either", 16, either);
        maker.add("object", 16, &[("state", 0, either)]);
    };
    let cases: [fn(&mut Maker); 3] =
        [cold_neighbours_alone, a_count_on_its_own_line, alternatives_of_a_union];
    for case in cases {
        let mut maker = Maker::new();
        case(&mut maker);
        let found = findings_of(&maker.finish());
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn every_contended_word_of_a_line_counts() {
    let mut maker = Maker::new();
    let (count, lock, pointer) = (maker.count, maker.lock, maker.pointer);
    maker.add("one", 64, &[("refs", 0, count), ("next", 8, pointer)]);
    maker.add("two", 64, &[("refs", 0, count), ("lock", 4, lock), ("next", 8, pointer)]);
    maker.add("three", 64, &[("refs", 0, count), ("pins", 4, count), ("next", 8, pointer)]);
    // Its second half is on the line of what the count does not reach.
    let wide = maker.add("mutex", 32, &[("word", 0, pointer)]);
    maker.add("across", 128, &[("refs", 0, count), ("lock", 48, wide), ("ops", 96, pointer)]);
    let found = findings_of(&maker.finish());
    assert!(score(&found, "two") > score(&found, "one"), "{found:#?}");
    assert!(score(&found, "three") > score(&found, "two"), "{found:#?}");
    let across = found.iter().find(|finding| finding.type_name == "across").unwrap();
    assert_eq!(across.contended.path, "refs");
    let suffers = |path| across.victims.iter().any(|victim| victim.path == path);
    assert!(suffers("lock") && suffers("ops"), "{across:#?}");
}

#[test]
fn a_light_neighbour_is_told_as_well() {
    let mut maker = Maker::new();
    let lock = maker.lock;
    let link = maker.builder.reserve();
    let to = maker.builder.add("", 8, Kind::Pointer(Some(link)));
    let links = composite(Shape::Struct, &[("next", 0, to), ("prev", 8, to)]);
    maker.builder.set(link, tenure_types::model::Type::new("list_head", 16, links));
    maker.add("queue", 24, &[("lock", 0, lock), ("list", 8, link)]);
    let found = findings_of(&maker.finish());
    assert_eq!(found[0].victims[0].path, "list", "{found:#?}");
}

#[test]
fn a_struct_that_a_variable_is_ranks_with_those_that_pointers_reach() {
    let found = |is_global: bool| {
        let mut maker = Maker::new();
        let (pointer, int) = (maker.pointer, maker.int);
        let word = maker.add("atomic_t", 8, &[("word", 0, int)]);
        let words: Vec<_> = (0..8).map(|at| ("hits", 8 * at, word)).collect();
        let stats = maker.add("stats", 64, &words);
        maker.add("session", 16, &[("refs", 0, maker.count), ("next", 8, pointer)]);
        if is_global {
            let (name, section) = ("stats".into(), ".bss".into());
            let variable = Static { name, section, address: 0x1000, ty: stats, declared: None };
            maker.builder.push_static(variable);
        }
        findings_of(&maker.finish())
    };
    let (global, other) = (found(true), found(false));
    assert!(score(&global, "stats") > 2.0 * score(&other, "stats"), "{global:#?}");
    assert!(score(&global, "stats") > score(&global, "session"), "{global:#?}");
}

#[test]
fn a_type_that_a_rule_knows_as_a_whole_has_no_findings_inside() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    maker.add("crypto_alg", 16, &[("cra_refcnt", 0, count), ("next", 8, pointer)]);
    let model = maker.finish();
    assert_eq!(findings_of(&model).len(), 1);
    let rules = Rules::parse("[types]\n\"crypto_alg\" = \"cold\"", "rules.toml").unwrap();
    let roles = Knowledge::builtin().with(&rules).roles(&model);
    assert!(sharing::find(&LayoutModel::new(&model, &roles, 64)).is_empty());
}

#[test]
fn elements_of_an_array_hurt_each_other_the_more_of_them_a_line_holds() {
    let array = |stride: u64| {
        let mut maker = Maker::new();
        let (count, int) = (maker.count, maker.int);
        let worker = maker.add("worker", stride, &[("done", 0, count), ("id", 4, int)]);
        let workers = maker.builder.add("", 0, Kind::Array { element: worker, count: 8 });
        maker.add("pool", 8 * stride, &[("workers", 0, workers)]);
        let found = findings_of(&maker.finish());
        found.into_iter().find(|finding| matches!(finding.sharing, Sharing::Elements { .. }))
    };
    let finding = array(16).expect("four workers on a line");
    let Sharing::Elements { array: name, stride, count } = &finding.sharing else { unreachable!() };
    assert_eq!((&**name, *stride, *count), ("pool.workers", 16, 8));
    assert_eq!(finding.type_name, "worker");
    assert!(finding.score > 1.2 * array(32).unwrap().score);
    assert!(array(64).is_none(), "each fills its line");
}

#[test]
fn a_pair_that_only_the_embedding_brings_onto_one_line_is_told_of_the_outer_type() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    // Apart by itself; 32 bytes further on, both are on line 1.
    let inner = maker.add("inner", 72, &[("next", 32, pointer), ("refs", 64, count)]);
    maker.add("outer", 104, &[("inner", 32, inner)]);
    let found = findings_of(&maker.finish());
    let [finding] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(finding.type_name, "outer");
    let Sharing::Embedding { inner, offset, .. } = &finding.sharing else { panic!("{finding:#?}") };
    assert_eq!((&**inner, *offset), ("inner", 32));
}

#[test]
fn adjacent_locks_in_an_array_are_found_though_a_lock_guards_its_neighbours() {
    let mut maker = Maker::new();
    let lock = maker.lock;
    let locks = maker.builder.add("", 0, Kind::Array { element: lock, count: 64 });
    maker.add("table", 256, &[("locks", 0, locks)]);
    let found = findings_of(&maker.finish());
    let elements = |finding: &&Finding| matches!(finding.sharing, Sharing::Elements { .. });
    let finding = found.iter().find(elements).unwrap();
    assert!(finding.score > 5.0, "{finding:#?}");
}

#[test]
fn an_array_of_bare_locks_is_told_of_the_type_that_has_it() {
    let mut maker = Maker::new();
    let lock = maker.lock;
    // A flexible array has as many as the program allocates.
    for (name, count) in [("table", 64), ("flexible", 0)] {
        let locks = maker.builder.add("", 0, Kind::Array { element: lock, count });
        maker.add(name, 4 * count, &[("locks", 0, locks)]);
    }
    let found = findings_of(&maker.finish());
    let mut names: Vec<_> = found.iter().map(|finding| &*finding.type_name).collect();
    names.sort_unstable();
    assert_eq!(names, ["flexible", "table"]);
}

#[test]
fn a_lock_does_not_guard_the_lock_beside_it() {
    let mut maker = Maker::new();
    let lock = maker.lock;
    maker.add("queue", 8, &[("head_lock", 0, lock), ("tail_lock", 4, lock)]);
    let found = findings_of(&maker.finish());
    let [finding] = found.as_slice() else { panic!("{found:#?}") };
    assert!(!finding.victims[0].why.contains("guarded"), "{finding:#?}");
}

#[test]
fn pointers_to_an_embedded_struct_reach_only_what_starts_with_it() {
    let reach = |at: u64| {
        let mut maker = Maker::new();
        let (count, pointer) = (maker.count, maker.pointer);
        let inner = maker.add("inner", 16, &[("refs", 0, count), ("next", 8, pointer)]);
        let to = maker.builder.add("", 8, Kind::Pointer(Some(inner)));
        for name in ["a", "b", "c"] {
            maker.add(name, 8, &[("inner", 0, to)]);
        }
        let mut members = [("inner", at, inner), ("ops", 16 - at, pointer)];
        members.sort_by_key(|(_, offset, _)| *offset);
        maker.add("outer", 24, &members);
        let found = findings_of(&maker.finish());
        let finding = found.iter().find(|one| one.type_name == "outer").unwrap();
        finding.signals.iter().find(|signal| signal.name == "reach").unwrap().seen.clone()
    };
    assert_eq!(reach(0), "3 types point to it");
    assert_eq!(reach(16), "no other type refers to it");
}

#[test]
fn a_union_without_a_name_is_called_by_its_first_member() {
    let mut maker = Maker::new();
    let (count, int, pointer) = (maker.count, maker.int, maker.pointer);
    let either = composite(Shape::Union, &[("gw4", 0, int), ("gw6", 0, pointer)]);
    let either = maker.builder.add("", 8, either);
    maker.add("route", 16, &[("refs", 0, count), ("", 8, either)]);
    let found = findings_of(&maker.finish());
    assert_eq!(found[0].victims[0].path, "{gw4, …}");
}

#[test]
fn of_a_variable_the_member_is_named() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let stats = maker.add("stats", 64, &[("start", 0, pointer), ("users", 56, count)]);
    for (name, address, ty) in [("stats", 0x1000, stats), ("config", 0x1038 + 8, pointer)] {
        let (name, section) = (name.into(), ".bss".into());
        maker.builder.push_static(Static {
            name,
            section,
            address: address - 8,
            ty,
            declared: None,
        });
    }
    let found = findings_of(&maker.finish());
    let between = |one: &&Finding| matches!(one.sharing, Sharing::Statics { .. });
    let finding = found.iter().find(between).unwrap();
    assert_eq!(finding.contended.path, "stats.users");
}

#[test]
fn variables_on_one_line_are_found_and_those_on_the_next_are_not() {
    let mut maker = Maker::new();
    let variable = |name: &str, address: u64, ty| Static {
        name: name.into(),
        section: ".bss".into(),
        address,
        ty,
        declared: None,
    };
    maker.builder.push_static(variable("hits", 0x1000, maker.count));
    maker.builder.push_static(variable("config", 0x1008, maker.pointer));
    maker.builder.push_static(variable("far", 0x1040, maker.pointer));
    let found = findings_of(&maker.finish());
    let [finding] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(finding.contended.path, "hits");
    let names: Vec<_> = finding.victims.iter().map(|victim| &*victim.path).collect();
    assert_eq!(names, ["config"]);
    assert_eq!(finding.confidence.level, Level::High);
}

#[test]
fn a_part_without_a_name_is_called_by_the_member_that_holds_it() {
    let mut maker = Maker::new();
    let part = maker.add("", 8, &[("refs", 0, maker.count)]);
    maker.add("pool", 16, &[("inside", 0, part), ("next", 8, maker.pointer)]);
    let found = findings_of(&maker.finish());
    let Sharing::Embedding { inner, .. } = &found[0].sharing else { panic!("{found:#?}") };
    assert_eq!(inner, "pool.inside");
}

#[test]
fn of_alternatives_that_weigh_the_same_the_first_is_named() {
    let mut maker = Maker::new();
    let count = maker.count;
    // Known, and so told apart.
    let table = maker.add("file_operations", 8, &[("open", 0, maker.pointer)]);
    let ops = maker.builder.add("", 8, Kind::Pointer(Some(table)));
    let either = composite(Shape::Union, &[("i_fop", 0, ops), ("free_inode", 0, ops)]);
    let either = maker.builder.add("", 8, either);
    maker.add("inode", 16, &[("i_count", 0, count), ("", 8, either)]);
    let found = findings_of(&maker.finish());
    assert!(found[0].victims.iter().any(|victim| victim.path.contains("i_fop")), "{found:#?}");
}

#[test]
fn a_link_that_lookups_walk_weighs_more_than_one_of_a_list() {
    let weight = |name: &str| {
        let mut maker = Maker::new();
        let count = maker.count;
        let link = maker.builder.reserve();
        let to = maker.builder.add("", 8, Kind::Pointer(Some(link)));
        let links = composite(Shape::Struct, &[("next", 0, to), ("pprev", 8, to)]);
        maker.builder.set(link, tenure_types::model::Type::new(name, 16, links));
        maker.add("entry", 24, &[("refs", 0, count), ("link", 8, link)]);
        findings_of(&maker.finish())[0].victims[0].weight.unwrap()
    };
    assert!(weight("hlist_bl_node") > 4.0 * weight("list_head"));
}

#[test]
fn in_a_kernel_objects_that_fill_lines_start_on_one() {
    let confidence = |is_kernel: bool, size: u64| {
        let mut maker = Maker::new();
        let (count, pointer) = (maker.count, maker.pointer);
        if is_kernel {
            maker.add("kmem_cache", 8, &[("size", 0, pointer)]);
        }
        // No gap, or an alignment would be inferred.
        let count_of = (size - 8) / 8;
        let rest = maker.builder.add("", 0, Kind::Array { element: pointer, count: count_of });
        let rest = [("refs", 0, count), ("id", 4, maker.int), ("rest", 8, rest)];
        maker.add("object", size, &rest);
        findings_of(&maker.finish())[0].confidence.clone()
    };
    assert!(confidence(true, 128).why.contains("slab"));
    assert!(!confidence(true, 136).why.contains("slab"));
    assert!(!confidence(false, 128).why.contains("slab"));
}

#[test]
fn space_that_only_fills_a_line_suffers_nothing() {
    let mut maker = Maker::new();
    let (count, int) = (maker.count, maker.int);
    maker.add("dict", 64, &[("refs", 0, count), ("cachelineFiller", 4, int)]);
    assert!(findings_of(&maker.finish()).is_empty());
}

#[test]
fn a_lock_guards_the_variables_of_its_own_file() {
    let found = |file: &str| {
        let mut maker = Maker::new();
        let declared = |file: &str| {
            let file = file.into();
            Some(tenure_types::model::Declared { file, line: 1 })
        };
        for (name, address, ty, file) in
            [("lock", 0x1000, maker.lock, "a.c"), ("list", 0x1008, maker.pointer, file)]
        {
            let (name, section, declared) = (name.into(), ".data".into(), declared(file));
            maker.builder.push_static(Static { name, section, address, ty, declared });
        }
        findings_of(&maker.finish()).remove(0)
    };
    let (own, other) = (found("a.c"), found("b.c"));
    assert!(own.victims[0].why.contains("guarded"), "{own:#?}");
    assert!(!other.victims[0].why.contains("guarded"), "{other:#?}");
    assert!(own.score < other.score / 5.0, "{own:#?}");
}

#[test]
fn a_declared_alignment_makes_it_certain() {
    let confidence = |align: u64| {
        let mut maker = Maker::new();
        let members = [("refs", 0, maker.count), ("next", 56, maker.pointer)];
        let id = maker.builder.add("object", 64, composite(Shape::Struct, &[]));
        let mut ty =
            tenure_types::model::Type::new("object", 64, composite(Shape::Struct, &members));
        ty.align = align;
        maker.builder.set(id, ty);
        findings_of(&maker.finish())[0].confidence.clone()
    };
    assert_eq!((confidence(64).level, confidence(64).placements), (Level::High, 1.0));
    let loose = confidence(8);
    assert_eq!((loose.level, loose.placements), (Level::Low, 0.25));
}

#[test]
fn a_struct_without_a_name_is_found_by_its_typedef() {
    // typedef struct { _Atomic int refcnt; void *ops; } anon_t;
    let mut maker = Maker::new();
    let word = maker.builder.add("", 0, Kind::Qualified(Qualifier::Atomic, maker.int));
    let pointer = maker.pointer;
    let anonymous = maker.add("", 16, &[("refcnt", 0, word), ("ops", 8, pointer)]);
    maker.builder.add("anon_t", 0, Kind::Alias(anonymous));
    let findings = findings_of(&maker.finish());
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((&*finding.type_name, &*finding.contended.path), ("anon_t", "refcnt"));
    assert_eq!(finding.victims.iter().map(|one| &*one.path).collect::<Vec<_>>(), ["ops"]);
}

#[test]
fn a_struct_without_a_name_behind_a_pointer_is_found_by_the_member_that_points_to_it() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let anonymous = maker.add("", 16, &[("refs", 0, count), ("ops", 8, pointer)]);
    let to = maker.builder.add("", 8, Kind::Pointer(Some(anonymous)));
    maker.add("server", 8, &[("state", 0, to)]);
    let findings = findings_of(&maker.finish());
    assert!(findings.iter().any(|one| one.type_name == "server.state"), "{findings:?}");
}

#[test]
fn a_line_is_one_finding_through_however_many_embedded_types() {
    let mut maker = Maker::new();
    let (count, int) = (maker.count, maker.int);
    let rate = maker.add("rate", 8, &[("now", 0, count), ("before", 4, int)]);
    let members = [
        ("served", 0, count),
        ("limit", 4, int),
        ("per_second", 8, rate),
        ("per_minute", 16, rate),
        ("late", 64, rate),
        ("name", 72, maker.pointer),
    ];
    maker.add("stats", 128, &members);
    let all = findings_of(&maker.finish());
    let lines: Vec<i64> = all
        .iter()
        .filter(|finding| finding.type_name == "stats")
        .map(|finding| finding.contended.offset / 64)
        .collect();
    assert_eq!(lines.len(), 2, "{all:#?}");
    assert!(lines.contains(&0) && lines.contains(&1), "{lines:?}");
}

#[test]
fn a_contended_word_has_a_cell_of_its_own_among_the_alternatives_of_a_union() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let links = maker.add("links", 16, &[("next", 0, pointer), ("previous", 8, pointer)]);
    let counts = [("pad", 0, pointer), ("users", 8, count), ("mapped", 12, count)];
    let counts = maker.add("counts", 16, &counts);
    let members = [("links", 0, links), ("counts", 0, counts)];
    let either = maker.builder.add("either", 16, composite(Shape::Union, &members));
    let id = maker.add("object", 24, &[("either", 0, either), ("name", 16, pointer)]);
    let model = maker.finish();
    let map = with_layouts(&model, |layouts| layouts.map(id));
    let cells: Vec<_> = map.lines.iter().flat_map(|line| &line.cells).collect();
    let words: Vec<_> = cells.iter().filter(|cell| cell.role.is_contended()).collect();
    let places: Vec<_> = words.iter().map(|cell| (&*cell.path, cell.offset, cell.size)).collect();
    let expected = [("either.counts.users", 8, 4), ("either.counts.mapped", 12, 4)];
    assert_eq!(places, expected, "{cells:#?}");
    let ends =
        cells.iter().scan(0, |end, cell| Some(std::mem::replace(end, cell.offset + cell.size)));
    assert!(cells.iter().zip(ends).all(|(cell, end)| cell.offset == end), "{cells:#?}");
}
