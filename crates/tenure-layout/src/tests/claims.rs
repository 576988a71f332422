use super::{findings_of, with_layouts};
use crate::fixtures::{Maker, structure};
use crate::knowledge::Knowledge;
use crate::lines::LayoutModel;
use crate::rules::Rules;
use crate::sharing;
use tenure_debuginfo::model::{Qualifier, Type, TypeKind};
use tenure_model::{Confidence, Finding, Level, Sharing};

fn made(make: impl FnOnce(&mut Maker)) -> Vec<Finding> {
    let mut maker = Maker::new();
    make(&mut maker);
    findings_of(&maker.finish())
}

fn of<'f>(findings: &'f [Finding], name: &str) -> &'f Finding {
    let found = findings.iter().find(|finding| finding.type_name == name);
    found.unwrap_or_else(|| panic!("no {name} in {findings:#?}"))
}

#[track_caller]
fn only(findings: &[Finding]) -> &Finding {
    let [finding] = findings else { panic!("{findings:#?}") };
    finding
}

fn victims(finding: &Finding) -> Vec<&str> {
    finding.victims.iter().map(|victim| &*victim.path).collect()
}

#[test]
fn a_count_ranks_above_a_lock_because_a_lock_guards_its_neighbours() {
    let found = made(|maker| {
        maker.add("counted", 16, &[("refs", 0, maker.count), ("next", 8, maker.pointer)]);
        maker.add("locked", 16, &[("lock", 0, maker.lock), ("next", 8, maker.pointer)]);
    });
    assert!(of(&found, "counted").score > 4.0 * of(&found, "locked").score, "{found:#?}");
}

#[test]
fn where_nothing_suffers_there_is_no_finding() {
    let cold_neighbours_alone = |maker: &mut Maker| {
        let members = [("next", 0, maker.pointer), ("func", 8, maker.pointer)];
        let rcu = maker.add("callback_head", 16, &members);
        maker.add("quiet", 24, &[("refs", 0, maker.count), ("rcu", 8, rcu)]);
    };
    let a_count_on_its_own_line = |maker: &mut Maker| {
        maker.add("apart", 128, &[("next", 0, maker.pointer), ("refs", 64, maker.count)]);
    };
    let alternatives_of_a_union = |maker: &mut Maker| {
        let live = maker.add("live", 16, &[("refs", 0, maker.count)]);
        let free = maker.add("free", 16, &[("next", 8, maker.pointer)]);
        let either = maker.union("either", 16, &[("live", 0, live), ("free", 0, free)]);
        maker.add("object", 16, &[("state", 0, either)]);
    };
    let space_that_only_fills_a_line = |maker: &mut Maker| {
        maker.add("dict", 64, &[("refs", 0, maker.count), ("cachelineFiller", 4, maker.int)]);
    };
    let cases: [fn(&mut Maker); 4] = [
        cold_neighbours_alone,
        a_count_on_its_own_line,
        alternatives_of_a_union,
        space_that_only_fills_a_line,
    ];
    for case in cases {
        let found = made(case);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn every_contended_word_of_a_line_counts() {
    let found = made(|maker| {
        let (refs, next) = (("refs", 0, maker.count), ("next", 8, maker.pointer));
        maker.add("one", 64, &[refs, next]);
        maker.add("two", 64, &[refs, ("lock", 4, maker.lock), next]);
        maker.add("three", 64, &[refs, ("pins", 4, maker.count), next]);
        // Its second half is on the line of what the count does not reach.
        let wide = maker.add("mutex", 32, &[("word", 0, maker.pointer)]);
        maker.add("across", 128, &[refs, ("lock", 48, wide), ("ops", 96, maker.pointer)]);
    });
    assert!(of(&found, "two").score > of(&found, "one").score, "{found:#?}");
    assert!(of(&found, "three").score > of(&found, "two").score, "{found:#?}");
    let across = of(&found, "across");
    assert_eq!(across.contended.path, "refs");
    let suffers = |path| victims(across).contains(&path);
    assert!(suffers("lock") && suffers("ops"), "{across:#?}");
}

#[test]
fn a_light_neighbour_is_reported_as_well_and_a_link_that_lookups_walk_weighs_more() {
    let weight = |name: &str| {
        let found = made(|maker| {
            let link = maker.links(name);
            maker.add("entry", 24, &[("refs", 0, maker.count), ("link", 8, link)]);
        });
        assert_eq!(victims(&found[0]), ["link"], "{found:#?}");
        found[0].victims[0].weight.unwrap()
    };
    assert!(weight("hlist_bl_node") > 4.0 * weight("list_head"));
}

#[test]
fn a_struct_that_a_variable_is_ranks_with_those_that_pointers_reach() {
    let found = |is_global: bool| {
        made(|maker| {
            let word = maker.add("atomic_t", 8, &[("word", 0, maker.int)]);
            let words: Vec<_> = (0..8).map(|at| ("hits", 8 * at, word)).collect();
            let stats = maker.add("stats", 64, &words);
            maker.add("session", 16, &[("refs", 0, maker.count), ("next", 8, maker.pointer)]);
            if is_global {
                maker.variable("stats", ".bss", 0x1000, stats, "");
            }
        })
    };
    let (global, other) = (found(true), found(false));
    assert!(of(&global, "stats").score > 2.0 * of(&other, "stats").score, "{global:#?}");
    assert!(of(&global, "stats").score > of(&global, "session").score, "{global:#?}");
}

#[test]
fn a_type_that_a_rule_knows_as_a_whole_has_no_findings_inside() {
    let mut maker = Maker::new();
    maker.add("crypto_alg", 16, &[("cra_refcnt", 0, maker.count), ("next", 8, maker.pointer)]);
    let model = maker.finish();
    assert_eq!(findings_of(&model).len(), 1);
    let rules = Rules::parse("[types]\n\"crypto_alg\" = \"cold\"", "rules.toml").unwrap();
    let roles = Knowledge::builtin().with(&rules).roles(&model, None);
    assert!(sharing::find(&LayoutModel::new(&model, &roles, 64)).is_empty());
}

#[test]
fn elements_of_an_array_hurt_each_other_the_more_of_them_a_line_holds() {
    let array = |stride: u64| {
        let found = made(|maker| {
            let members = [("done", 0, maker.count), ("id", 4, maker.int)];
            let worker = maker.add("worker", stride, &members);
            let workers = maker.array(worker, 8);
            maker.add("pool", 8 * stride, &[("workers", 0, workers)]);
        });
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
fn a_pair_that_only_the_embedding_brings_onto_one_line_is_reported_of_the_outer_type() {
    let found = made(|maker| {
        // Apart by itself; 32 bytes further on, both are on line 1.
        let members = [("next", 32, maker.pointer), ("refs", 64, maker.count)];
        let inner = maker.add("inner", 72, &members);
        maker.add("outer", 104, &[("inner", 32, inner)]);
    });
    let finding = only(&found);
    assert_eq!(finding.type_name, "outer");
    let Sharing::Embedding { inner, offset, .. } = &finding.sharing else { panic!("{finding:#?}") };
    assert_eq!((&**inner, *offset), ("inner", 32));
}

#[test]
fn an_array_of_bare_locks_is_reported_of_the_type_that_has_it_though_a_lock_guards_its_neighbours()
{
    let found = made(|maker| {
        // A flexible array has as many as the program allocates.
        for (name, count) in [("table", 64), ("flexible", 0)] {
            let locks = maker.array(maker.lock, count);
            maker.add(name, 4 * count, &[("locks", 0, locks)]);
        }
    });
    assert_eq!(found.len(), 2, "{found:#?}");
    for name in ["table", "flexible"] {
        let finding = of(&found, name);
        assert!(matches!(finding.sharing, Sharing::Elements { .. }) && finding.score > 5.0);
    }
}

#[test]
fn a_lock_does_not_guard_the_lock_beside_it() {
    let found = made(|maker| {
        maker.add("queue", 8, &[("head_lock", 0, maker.lock), ("tail_lock", 4, maker.lock)]);
    });
    assert!(!only(&found).victims[0].why.contains("guarded"), "{found:#?}");
}

#[test]
fn pointers_to_an_embedded_struct_reach_only_what_starts_with_it() {
    let reach = |at: u64| {
        let found = made(|maker| {
            let members = [("refs", 0, maker.count), ("next", 8, maker.pointer)];
            let inner = maker.add("inner", 16, &members);
            let to = maker.pointer_to(inner);
            for name in ["a", "b", "c"] {
                maker.add(name, 8, &[("inner", 0, to)]);
            }
            let mut members = [("inner", at, inner), ("ops", 16 - at, maker.pointer)];
            members.sort_by_key(|(_, offset, _)| *offset);
            maker.add("outer", 24, &members);
        });
        let signals = &of(&found, "outer").signals;
        signals.iter().find(|signal| signal.name == "reach").unwrap().seen.clone()
    };
    assert_eq!(reach(0), "3 types point to it");
    assert_eq!(reach(16), "no other type refers to it");
}

#[test]
fn a_union_without_a_name_is_called_by_its_first_member() {
    let found = made(|maker| {
        let either = maker.union("", 8, &[("gw4", 0, maker.int), ("gw6", 0, maker.pointer)]);
        maker.add("route", 16, &[("refs", 0, maker.count), ("", 8, either)]);
    });
    assert_eq!(found[0].victims[0].path, "{gw4, …}");
}

#[test]
fn variables_on_one_line_are_found_by_their_members_and_those_on_the_next_are_not() {
    let found = made(|maker| {
        let (pointer, count) = (maker.pointer, maker.count);
        let stats = maker.add("stats", 16, &[("start", 0, pointer), ("users", 8, count)]);
        maker.variable("stats", ".bss", 0x0ff8, stats, "");
        maker.variable("config", ".bss", 0x1008, pointer, "");
        maker.variable("far", ".bss", 0x1040, pointer, "");
    });
    let finding = found.iter().find(|one| matches!(one.sharing, Sharing::Statics { .. })).unwrap();
    assert_eq!((&*finding.contended.path, victims(finding)), ("stats.users", vec!["config"]));
    assert_eq!(finding.confidence.level, Level::High);
}

#[test]
fn a_part_without_a_name_is_called_by_the_member_that_holds_it() {
    let found = made(|maker| {
        let part = maker.add("", 8, &[("refs", 0, maker.count)]);
        maker.add("pool", 16, &[("inside", 0, part), ("next", 8, maker.pointer)]);
    });
    let Sharing::Embedding { inner, .. } = &found[0].sharing else { panic!("{found:#?}") };
    assert_eq!(inner, "pool.inside");
}

#[test]
fn of_alternatives_that_weigh_the_same_the_first_is_named() {
    let found = made(|maker| {
        // Known, and so told apart.
        let table = maker.add("file_operations", 8, &[("open", 0, maker.pointer)]);
        let ops = maker.pointer_to(table);
        let either = maker.union("", 8, &[("i_fop", 0, ops), ("free_inode", 0, ops)]);
        maker.add("inode", 16, &[("i_count", 0, maker.count), ("", 8, either)]);
    });
    assert!(found[0].victims.iter().any(|victim| victim.path.contains("i_fop")), "{found:#?}");
}

#[test]
fn in_a_kernel_objects_that_fill_lines_start_on_one() {
    let confidence = |is_kernel: bool, size: u64| -> Confidence {
        let found = made(|maker| {
            if is_kernel {
                maker.add("kmem_cache", 8, &[("size", 0, maker.pointer)]);
            }
            // No gap, or an alignment would be inferred.
            let rest = maker.array(maker.pointer, (size - 8) / 8);
            let members = [("refs", 0, maker.count), ("id", 4, maker.int), ("rest", 8, rest)];
            maker.add("object", size, &members);
        });
        found[0].confidence.clone()
    };
    assert!(confidence(true, 128).why.contains("slab"));
    assert!(!confidence(true, 136).why.contains("slab"));
    assert!(!confidence(false, 128).why.contains("slab"));
}

#[test]
fn a_lock_guards_the_variables_of_its_own_file() {
    let found = |file: &str| {
        made(|maker| {
            maker.variable("lock", ".data", 0x1000, maker.lock, "a.c");
            maker.variable("list", ".data", 0x1008, maker.pointer, file);
        })
        .remove(0)
    };
    let (own, other) = (found("a.c"), found("b.c"));
    assert!(own.victims[0].why.contains("guarded"), "{own:#?}");
    assert!(!other.victims[0].why.contains("guarded"), "{other:#?}");
    assert!(own.score < other.score / 5.0, "{own:#?}");
}

#[test]
fn a_declared_alignment_makes_it_certain() {
    let confidence = |align: u64| -> Confidence {
        let found = made(|maker| {
            let members = structure(&[("refs", 0, maker.count), ("next", 56, maker.pointer)]);
            maker.builder.push(Type { align, ..Type::new("object", 64, members) });
        });
        found[0].confidence.clone()
    };
    assert_eq!((confidence(64).level, confidence(64).placements), (Level::High, 1.0));
    assert_eq!((confidence(8).level, confidence(8).placements), (Level::Low, 0.25));
}

#[test]
fn a_struct_without_a_name_is_found_by_its_typedef_or_the_member_that_points_to_it() {
    let found = made(|maker| {
        // typedef struct { _Atomic int refcnt; void *ops; } anon_t; struct server { struct { … } *state; };
        let atomic = TypeKind::Qualified(Qualifier::Atomic, maker.int);
        let word = maker.builder.add("", 0, atomic);
        let anonymous = maker.add("", 16, &[("refcnt", 0, word), ("ops", 8, maker.pointer)]);
        maker.alias("anon_t", anonymous);
        let pointed = maker.add("", 16, &[("refs", 0, maker.count), ("ops", 8, maker.pointer)]);
        let to = maker.pointer_to(pointed);
        maker.add("server", 8, &[("state", 0, to)]);
    });
    for (name, word) in [("anon_t", "refcnt"), ("server.state", "refs")] {
        let finding = of(&found, name);
        assert_eq!((&*finding.contended.path, victims(finding)), (word, vec!["ops"]));
    }
}

#[test]
fn a_line_is_one_finding_through_however_many_embedded_types() {
    let all = made(|maker| {
        let rate = maker.add("rate", 8, &[("now", 0, maker.count), ("before", 4, maker.int)]);
        let members = [
            ("served", 0, maker.count),
            ("limit", 4, maker.int),
            ("per_second", 8, rate),
            ("per_minute", 16, rate),
            ("late", 64, rate),
            ("name", 72, maker.pointer),
        ];
        maker.add("stats", 128, &members);
    });
    let of_stats = all.iter().filter(|finding| finding.type_name == "stats");
    let mut lines: Vec<i64> = of_stats.map(|finding| finding.contended.offset / 64).collect();
    lines.sort_unstable();
    assert_eq!(lines, [0, 1], "{all:#?}");
}

#[test]
fn a_contended_word_has_a_cell_of_its_own_among_the_alternatives_of_a_union() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let links = maker.add("links", 16, &[("next", 0, pointer), ("previous", 8, pointer)]);
    let counts = [("pad", 0, pointer), ("users", 8, count), ("mapped", 12, count)];
    let counts = maker.add("counts", 16, &counts);
    let either = maker.union("either", 16, &[("links", 0, links), ("counts", 0, counts)]);
    let id = maker.add("object", 24, &[("either", 0, either), ("name", 16, pointer)]);
    let map = with_layouts(&maker.finish(), |layouts| layouts.map(id));
    let cells = map.lines.iter().flat_map(|line| &line.cells);
    let words = cells.filter(|cell| cell.role.is_contended());
    let places: Vec<_> = words.map(|cell| (&*cell.path, cell.offset, cell.size)).collect();
    let expected = [("either.counts.users", 8, 4), ("either.counts.mapped", 12, 4)];
    assert_eq!(places, expected, "{map:#?}");
}
