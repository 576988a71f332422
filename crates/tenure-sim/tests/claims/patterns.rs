//! Patterns: what they cost, and which are refused.

use super::machine;
use tenure_sim::Machine;
use tenure_sim::pattern::{
    self, Copies, Operation, Pattern, PatternAccess, PatternObject, PatternRole, Prediction,
    Repaired,
};

pub(super) fn xeon() -> Machine {
    Machine::preset("xeon-2s-112").unwrap()
}

pub(super) fn on(pattern: &Pattern, cpus: usize) -> Prediction {
    pattern.simulate(xeon().simulation(cpus).duration_ns(50_000.0)).unwrap()
}

pub(super) fn named(pattern: &Pattern, name: &str) -> Option<Repaired> {
    pattern::repairs(pattern).into_iter().find(|repair| repair.remedy.name() == name)
}

pub(super) fn names(pattern: &Pattern) -> Vec<&'static str> {
    pattern::repairs(pattern).iter().map(|repair| repair.remedy.name()).collect()
}

pub(super) fn gain(pattern: &Pattern, name: &str, cpus: usize) -> f64 {
    let repair = named(pattern, name).unwrap();
    on(&repair.pattern, cpus).report.mops() / on(pattern, cpus).report.mops()
}

pub(super) fn session(count: fn(usize) -> Operation) -> Pattern {
    let mut pattern = Pattern::new("session");
    let object = pattern.object(PatternObject::once("Session"));
    let refs = pattern.word(object, "refs", 0, 4);
    let limits = pattern.word(object, "limits", 16, 8);
    pattern.role(
        PatternRole::pool("worker")
            .does(1.0, count(refs))
            .does(3.0, Operation::Load(limits))
            .does(1.0, Operation::Work(100.0))
            .does(1.0, count(refs)),
    );
    pattern
}

pub(super) fn counters(stride: usize) -> Pattern {
    let mut pattern = Pattern::new("counters");
    let object = pattern.object(PatternObject::several("COUNTERS", Copies::PerThread, stride));
    let word = pattern.word(object, "count", 0, 8);
    pattern.role(
        PatternRole::pool("worker")
            .does(1.0, Operation::Add(word))
            .does(1.0, Operation::Work(20.0)),
    );
    pattern
}

#[test]
fn an_iteration_costs_what_its_steps_cost() {
    let mut pattern = Pattern::new("p");
    let object = pattern.object(PatternObject::once("o"));
    let word = pattern.word(object, "w", 0, 8);
    let lock = pattern.word(object, "lock", 8, 4);
    let inside = vec![PatternAccess { times: 2.0, operation: Operation::Store(word) }];
    pattern.role(
        PatternRole::single("r")
            .does(3.0, Operation::Load(word)) // 3 hits: 3 ns
            .does(0.5, Operation::Add(word)) // 3 ns
            .does(1.0, Operation::CompareExchange(word)) // 7 ns
            .does(0.25, Operation::Lock(lock, inside)), // (6 + 2 + 6) / 4: 3.5 ns
    );
    let predicted = pattern.simulate(machine().simulation(1)).unwrap();
    assert!((predicted.roles[0].ns_per_iteration - 16.5).abs() < 0.05, "{:?}", predicted.roles);
    assert_eq!(predicted.report.transfers.all(), 0);
}

#[test]
fn pools_share_the_cpus_and_more_cpus_only_add_threads() {
    let mut pattern = counters(64);
    let mut busy = pattern.roles[0].clone();
    (busy.name, busy.share) = ("busy".into(), 3);
    pattern.role(busy);
    let mut single = pattern.roles[0].clone();
    (single.name, single.share) = ("single".into(), 0);
    pattern.role(single);
    let threads =
        |cpus| on(&pattern, cpus).roles.iter().map(|role| role.threads).collect::<Vec<_>>();
    assert_eq!(threads(3), [1, 1, 1]);
    assert_eq!(threads(5), [1, 3, 1]);
    assert_eq!(threads(41), [10, 30, 1]);
    let few = pattern.simulate(xeon().simulation(2)).unwrap_err().to_string();
    assert!(few.contains("3 roles") && few.contains("not 2"), "{few}");
}

#[test]
fn copies_spread_contention_and_a_reader_of_all_meets_every_writer() {
    let cost = |copies| {
        let mut pattern = Pattern::new("objects");
        let object = pattern.object(match copies {
            1 => PatternObject::once("o"),
            _ => PatternObject::several("o", Copies::Random(copies), 64),
        });
        let word = pattern.word(object, "refs", 0, 8);
        pattern.role(PatternRole::pool("worker").does(2.0, Operation::Add(word)));
        on(&pattern, 16).report.ns_per_op()
    };
    assert!(cost(1) > 5.0 * cost(256), "{} {}", cost(1), cost(256));
    let mut pattern = counters(64);
    pattern.role(PatternRole::single("reader").does(1.0, Operation::LoadAll(0)));
    let predicted = on(&pattern, 8);
    assert!(predicted.roles[1].ns_per_iteration > 7.0 * 40.0, "{:?}", predicted.roles);
    // Each thread begins elsewhere, and all go round.
    let mut ring = Pattern::new("ring");
    let object = ring.object(PatternObject::several("slot", Copies::InTurn(1024), 64));
    let word = ring.word(object, "state", 0, 8);
    ring.role(PatternRole::pool("worker").does(1.0, Operation::Store(word)));
    assert_eq!(on(&ring, 8).report.lines.len(), 1024);
}

#[test]
fn a_lock_admits_one_at_a_time_and_its_waiters_wake_up() {
    let mut pattern = Pattern::new("mutex");
    let object = pattern.object(PatternObject::once("o"));
    let lock = pattern.word(object, "lock", 0, 4);
    let hold = vec![PatternAccess { times: 1.0, operation: Operation::Work(1000.0) }];
    pattern.role(PatternRole::pool("worker").does(1.0, Operation::Lock(lock, hold)));
    let mops = |cpus| on(&pattern, cpus).report.mops();
    // A microsecond each, whichever holds it; sleepers begin some microseconds later.
    assert!((0.9..=1.0).contains(&mops(1)), "{}", mops(1));
    assert!(mops(8) > 0.1 && mops(8) < 1.0, "{}", mops(8));
    let fair = on(&pattern, 8).report.per_thread;
    assert!(fair.iter().all(|&count| count > 0) || mops(8) > 0.5, "{fair:?}");
}

#[test]
fn a_job_of_equal_parts_ends_with_its_slowest_thread() {
    let pattern = counters(64);
    let job = |pattern: &Pattern| pattern.job_ns(xeon().simulation(4), 1000).unwrap();
    // Work of 20 ns, an add of 6; threads begin within 100 ns.
    let alone = job(&pattern);
    assert!((26_000.0..27_000.0).contains(&alone), "{alone}");
    let slowest = job(&counters(8));
    let mean = 1000.0 * on(&counters(8), 4).report.ns_per_op();
    assert!(slowest > 0.9 * mean && slowest < 2.0 * mean, "{slowest} {mean}");
}

#[test]
fn an_iteration_that_is_longer_than_the_run_makes_it_longer() {
    let mut pattern = counters(64);
    pattern.roles[0].steps[1].operation = Operation::Work(1e6);
    let predicted = on(&pattern, 4);
    assert!((predicted.roles[0].ns_per_iteration / 1e6 - 1.0).abs() < 0.1, "{:?}", predicted.roles);
}

#[test]
fn a_throughput_that_has_settled_takes_few_accesses() {
    const MAX_ACCESSES: u64 = 200_000;
    // On a line of its own each thread does an access every six nanoseconds; on one line they wait for each other.
    let patterns = [8, 64].map(|stride| {
        let mut pattern = counters(stride);
        pattern.roles[0].steps[1].operation = Operation::Work(1.0);
        pattern
    });
    for pattern in patterns.iter().chain([&session(Operation::Add)]) {
        for cpus in [2, 16, 112] {
            let of = || xeon().simulation(cpus).warm_up_ns(25_000.0).duration_ns(100_000.0);
            let short = pattern.simulate_until_settled(of(), MAX_ACCESSES).unwrap().report;
            let whole = pattern.simulate(of()).unwrap().report;
            assert!(
                short.simulated <= MAX_ACCESSES,
                "{}: {} on {cpus}",
                pattern.name,
                short.simulated
            );
            let off = short.mops() / whole.mops() - 1.0;
            assert!(off.abs() < 0.02, "{}: {off} on {cpus}", pattern.name);
        }
    }
    let settled = xeon().simulation(112).duration_ns(1e6);
    let short = patterns[1].simulate_until_settled(settled, MAX_ACCESSES).unwrap().report;
    assert!(short.ns < 0.1e6 && short.simulated <= MAX_ACCESSES, "{} ns", short.ns);
}

#[test]
fn in_warm_caches_many_objects_take_no_time_to_settle() {
    let mut pattern = Pattern::new("table");
    let object = pattern.object(PatternObject::several("entry", Copies::Random(1024), 64));
    let hits = pattern.word(object, "hits", 0, 8);
    let value = pattern.word(object, "value", 8, 8);
    pattern.role(
        PatternRole::pool("worker")
            .does(0.01, Operation::Add(hits))
            .does(5.0, Operation::Load(value))
            .does(1.0, Operation::Work(20.0)),
    );
    let of = || xeon().simulation(4).warm_up_ns(10_000.0).duration_ns(100_000.0);
    let long = pattern.simulate(of().duration_ns(2e6)).unwrap().report.mops();
    let part = |simulation| {
        pattern.simulate_until_settled(simulation, 200_000).unwrap().report.mops() / long
    };
    assert!((part(of().warm()) - 1.0).abs() < 0.05, "{}", part(of().warm()));
    // Most reads of the first hundred microseconds find nothing in their cache.
    assert!(part(of()) < 0.9, "{}", part(of()));
}

#[test]
fn threads_whose_iteration_is_long_end_one_before_they_have_settled() {
    let mut pattern = counters(64);
    pattern.roles[0].steps[1].operation = Operation::Work(1e6);
    let short = pattern.simulate_until_settled(xeon().simulation(4), 1).unwrap();
    let off = short.roles[0].ns_per_iteration / 1e6 - 1.0;
    assert!(off.abs() < 0.5 && short.report.operations >= 4, "{:?}", short.roles);
}

#[test]
fn a_throughput_has_not_settled_before_a_rare_role_has_begun() {
    // Readers have much to do before the writer changes the word for the first time.
    let with_writer_after = |ns: f64| {
        let mut pattern = Pattern::new("p");
        let object = pattern.object(PatternObject::once("o"));
        let word = pattern.word(object, "w", 0, 8);
        let reader = PatternRole::pool("reader").does(1.0, Operation::Load(word));
        pattern.role(reader.does(1.0, Operation::Work(20.0)));
        let writer = PatternRole::single("writer").does(1.0, Operation::Work(ns));
        pattern.role(writer.does(100.0, Operation::Add(word)));
        pattern.simulate_until_settled(xeon().simulation(4), 200_000).unwrap()
    };
    let found = with_writer_after(4e5);
    assert!(found.roles[1].iterations > 0, "{:?}", found.roles);
    // Even in the longest time it does not begin.
    let found = with_writer_after(1e8);
    assert!(found.report.simulated <= 200_000, "{}", found.report.simulated);
}

fn example() -> String {
    let page = include_str!("../../../../docs/patterns.md");
    let start = page.find("```toml\n").unwrap() + 8;
    page[start..start + page[start..].find("```").unwrap()].to_owned()
}

#[test]
fn the_example_of_the_page_is_simulated_and_survives_being_written() {
    let pattern = Pattern::from_toml(&example()).unwrap();
    assert_eq!(Pattern::from_toml(&pattern.to_toml()).unwrap(), pattern);
    assert_eq!(names(&pattern), ["apart", "read_mostly_apart", "one_add", "cells", "revocable"]);
    for repair in pattern::repairs(&pattern) {
        assert_eq!(Pattern::from_toml(&repair.pattern.to_toml()).unwrap(), repair.pattern);
    }
    let predicted = on(&pattern, 16);
    assert_eq!(predicted, on(&pattern, 16), "the same every time");
    assert_eq!(predicted.roles.iter().map(|role| role.threads).collect::<Vec<_>>(), [15, 1]);
    for (repair, least) in [("apart", 1.01), ("one_add", 1.1), ("revocable", 2.0)] {
        let gain = gain(&pattern, repair, 16);
        assert!(gain > least, "{repair}: {gain}");
    }
}

#[test]
fn a_faulty_file_is_refused_with_its_line() {
    let text = example();
    let refused = |old: &str, new: &str, said: &[&str]| {
        assert!(text.contains(old), "{old}");
        let error = Pattern::from_toml(&text.replacen(old, new, 1)).unwrap_err().to_string();
        assert!(error.lines().count() == 1 && error.len() < 300, "{error}");
        for said in said {
            assert!(error.contains(said), "{new}: {error}");
        }
    };
    let line = |old: &str| {
        let before = &text[..text.find(old).unwrap()];
        format!("line {}:", before.lines().count() + usize::from(before.ends_with('\n')))
    };
    refused("offset = 0 ", "ofset = 0 ", &["unknown field `ofset`", &line("offset = 0 ")]);
    refused(
        "stride = 8",
        "stride = 0",
        &["'STATS'", "stride", &line("[[object]]\nname = \"STATS\"")],
    );
    refused("stride = 8", "copies = 3", &["neither copies nor pick"]);
    refused("per_thread = true", "copies = 8", &["pick = \"random\""]);
    refused("per_thread = true", "pick = \"last\"\ncopies = 8", &["`last`", "`in_turn`"]);
    refused("per_thread = true", "copies = 1000000000000000000\npick = 'random'", &["1 to 65536"]);
    refused("per_thread = true", "copies = 0\npick = 'random'", &["no copies"]);
    refused(
        "offset = 16",
        "offset = 3",
        &["'refs' and 'limits' overlap", &line("[[word]]\nname = \"limits\"")],
    );
    refused("offset = 16", "offset = 99999999999", &["'limits'", "ends beyond byte 65536"]);
    refused("offset = 16", "offset = -1", &[&line("offset = 16")]);
    refused("size = 4", "size = 0", &["0 bytes; it can have 1 to 64"]);
    refused("name = \"admin\"", "name = \"worker\"", &["another 'worker'"]);
    refused("object = \"STATS\"", "object = \"S\"", &["there is no object 'S'"]);
    refused("threads = 1", "threads = 0", &["threads is 1 or \"cpus\", not 0"]);
    refused(
        "threads = 1",
        "threads = \"all\"",
        &["not \"all\"", &line("[[role]]\nname = \"admin\"")],
    );
    refused("threads = 1", "threads = 1\nshare = 2", &["no share"]);
    refused("threads = \"cpus\"", "threads = \"cpus\"\nshare = 0", &["0 shares"]);
    refused("threads = \"cpus\"", "threads = \"cpus\"\nshare = 1000000", &["1 to 1024"]);
    refused("times = 3", "times = 1e18", &["1e18 times", &line("{ op = \"load\"")]);
    refused("times = 3", "times = 0", &["0e0 times"]);
    refused("times = 3", "times = nan", &["times per iteration"]);
    refused(
        "times = 3",
        "times = 3, steps = [{ op = 'work', ns = 1 }]",
        &["only a lock has steps"],
    );
    refused("times = 3", "ns = 3", &["only work takes ns"]);
    refused("word = \"limits\", times = 3", "times = 3", &["a step needs a word"]);
    refused("\"load\", word = \"limits\"", "\"load\", word = \"x\"", &["there is no word 'x'"]);
    refused("\"load\"", "\"read\"", &["`read`", "`load_all`", &line("{ op = \"load\"")]);
    refused("\"work\", ns = 200", "\"work\"", &["work needs ns"]);
    refused("ns = 200", "ns = 1e300", &["1e300 ns"]);
    refused("name = \"session\"", "name = \"\"", &["its name has 1 to 200 bytes"]);
    refused("name = \"session\"", "nam = \"session\"", &["nam", "line 1:"]);
    for text in ["", "name = ", "\u{0}", "name = 'x'", "name = 'x'\nobject = 3"] {
        let error = Pattern::from_toml(text).unwrap_err().to_string();
        assert!(error.starts_with("not a pattern: ") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn hostile_patterns_are_refused_or_end_soon() {
    let refused = |change: &dyn Fn(&mut Pattern), said: &str| {
        let mut pattern = session(Operation::Add);
        change(&mut pattern);
        let error = pattern.check().unwrap_err().to_string();
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
        assert_eq!(pattern.simulate(xeon().simulation(1)).unwrap_err().to_string(), error);
        assert!(pattern::repairs(&pattern).is_empty());
    };
    refused(&|it| it.roles.clear(), "0 roles");
    refused(&|it| it.words = vec![it.words[0].clone(); 10_000], "10000 words");
    refused(&|it| it.words[0].object = 7, "object 7, which does not exist");
    refused(&|it| it.words[0].offset = usize::MAX, "ends beyond");
    refused(&|it| it.roles[0].steps[0].operation = Operation::Load(9), "word 9");
    refused(&|it| it.roles[0].steps.clear(), "does nothing");
    refused(&|it| it.roles[0].steps[0].times = f64::INFINITY, "inf times");
    refused(
        &|it| it.roles[0].steps = vec![it.roles[0].steps[0].clone(); 100_001],
        "100001 accesses",
    );
    refused(
        &|it| {
            it.roles[0].steps.truncate(1);
            it.roles[0].steps[0].times = 1e-6;
        },
        "does nothing",
    );
    refused(
        &|it| {
            let inside =
                vec![PatternAccess { times: 1.0, operation: Operation::Lock(0, Vec::new()) }];
            it.roles[0].steps[0].operation = Operation::Lock(0, inside);
        },
        "'refs' is locked while it is held",
    );
    refused(&|it| it.objects[0].copies = Copies::InTurn(usize::MAX), "copies");

    let mut wide = Pattern::new("wide");
    let object = wide.object(PatternObject::several("o", Copies::Random(65_536), 65_536));
    let mut role = PatternRole::pool("r");
    for at in 0..1024 {
        let word = wide.word(object, format!("w{at}"), 64 * at, 64);
        role = role.does(90.0, Operation::CompareExchange(word));
    }
    role.steps.truncate(500);
    wide.role(role);
    let began = std::time::Instant::now();
    let end = wide.simulate(xeon().simulation(112).duration_ns(1e4));
    assert!(end.is_ok() && began.elapsed().as_secs() < 60, "{:?}", began.elapsed());

    let mut embrace = Pattern::new("embrace");
    let object = embrace.object(PatternObject::once("o"));
    let locks = ["a", "b"].map(|name| embrace.word(object, name, 64 * usize::from(name == "b"), 4));
    for (name, first, second) in [("one", locks[0], locks[1]), ("other", locks[1], locks[0])] {
        let inner = vec![PatternAccess { times: 1.0, operation: Operation::Work(100.0) }];
        let inside = vec![PatternAccess { times: 1.0, operation: Operation::Lock(second, inner) }];
        embrace.role(PatternRole::single(name).does(1.0, Operation::Lock(first, inside)));
    }
    let error = embrace.simulate(xeon().simulation(2)).unwrap_err().to_string();
    assert!(error.contains("deadlock") && error.contains("sleeps on"), "{error}");
}

mod random {
    use super::*;
    use proptest::prelude::*;

    fn operation(words: usize) -> impl Strategy<Value = Operation> {
        (0..words, 0..8_u8).prop_map(|(word, kind)| match kind {
            0..3 => Operation::Load(word),
            3 | 4 => Operation::Store(word),
            5 => Operation::Add(word),
            6 => Operation::CompareExchange(word),
            _ => {
                let access = PatternAccess { times: 1.0, operation: Operation::Work(20.0) };
                Operation::Lock(word, vec![access])
            }
        })
    }

    fn copies() -> impl Strategy<Value = Copies> {
        prop_oneof![
            3 => Just(Copies::Once),
            1 => Just(Copies::PerThread),
            1 => (1..9_usize).prop_map(Copies::Random),
            1 => (1..9_usize).prop_map(Copies::InTurn),
        ]
    }

    prop_compose! {
        fn object()(
            copies in copies(),
            stride in 40..130_usize,
            phase in prop::sample::select(vec![0, 0, 16, 40]),
            gaps in prop::collection::vec(0..3_usize, 1..4),
        ) -> (Copies, usize, usize, Vec<usize>) {
            (copies, stride, phase, gaps)
        }
    }

    prop_compose! {
        fn pattern(roles: usize)(
            objects in prop::collection::vec(object(), 1..3),
        )(
            steps in prop::collection::vec(
                prop::collection::vec(
                    (
                        operation(objects.iter().map(|(.., gaps)| gaps.len()).sum()),
                        prop::sample::select(vec![0.1, 0.5, 1.0, 1.0, 2.0]),
                    ),
                    1..6,
                ),
                1..=roles,
            ),
            work in 1..200_u32,
            objects in Just(objects),
        ) -> Pattern {
            let mut pattern = Pattern::new("random");
            for (at, (copies, stride, phase, gaps)) in objects.into_iter().enumerate() {
                let object = match copies {
                    Copies::Once => PatternObject::once(format!("o{at}")),
                    _ => PatternObject::several(format!("o{at}"), copies, stride),
                };
                let object = pattern.object(object.at_phase(phase));
                let mut offset = 0;
                for (word, gap) in gaps.into_iter().enumerate() {
                    offset += 4 * gap;
                    pattern.word(object, format!("w{at}.{word}"), offset, 8);
                    offset += 8;
                }
            }
            for (at, steps) in steps.into_iter().enumerate() {
                let role = PatternRole::pool(format!("r{at}")).does(1.0, Operation::Work(work.into()));
                pattern.role(steps.into_iter().fold(role, |role, (operation, times)| {
                    role.does(times, operation)
                }));
            }
            pattern
        }
    }

    proptest! {
        // The same cases each time: a simulation's chance is worth a percent.
        #![proptest_config(ProptestConfig {
            cases: 48,
            failure_persistence: None,
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            ..ProptestConfig::default()
        })]

        #[test]
        fn one_thread_alone_moves_no_line(pattern in pattern(1)) {
            // Until every copy has been used.
            let simulation = xeon().simulation(1).warm_up_ns(400_000.0).duration_ns(20_000.0);
            prop_assert_eq!(pattern.simulate(simulation).unwrap().report.transfers.all(), 0);
        }

        #[test]
        fn a_pattern_is_read_as_it_was_written(pattern in pattern(3)) {
            prop_assert_eq!(Pattern::from_toml(&pattern.to_toml()), Ok(pattern));
        }

        #[test]
        fn words_apart_are_never_slower(pattern in pattern(3)) {
            // A store buffer drains in order: two words that others want are written faster on one line than on two.
            let stored = |role: &PatternRole| {
                let stored = role.steps.iter().filter_map(|step| match step.operation {
                    Operation::Store(word) => Some(word),
                    _ => None,
                });
                stored.collect::<std::collections::BTreeSet<_>>().len()
            };
            let in_order = pattern.roles.iter().any(|role| stored(role) > 1);
            if let Some(repair) = named(&pattern, "apart").filter(|_| !in_order) {
                let mops = |pattern: &Pattern| {
                    let simulation = xeon().simulation(12).duration_ns(400_000.0);
                    pattern.simulate(simulation).unwrap().report.mops()
                };
                let (before, after) = (mops(&pattern), mops(&repair.pattern));
                prop_assert!(after >= 0.98 * before, "{before} -> {after}\n{}", pattern.to_toml());
            }
        }
    }
}
