//! Repairs of patterns: which apply, and what they give.

use super::patterns::{counters, gain, named, names, on, session, xeon};
use tenure_sim::pattern::{
    self, Copies, Operation, Pattern, PatternAccess, PatternObject, PatternRole, Repaired,
    StoredValue,
};

fn together(pattern: &Pattern, cpus: usize, applies: &dyn Fn(&Repaired) -> bool) -> Vec<Repaired> {
    let simulation = xeon().simulation(cpus).duration_ns(50_000.0);
    let mops = |pattern: &Pattern| {
        let simulated = pattern.simulate_until_settled(simulation.clone(), 200_000);
        Some(simulated.unwrap().report.mops())
    };
    pattern::together(pattern, mops, applies).unwrap()
}

#[test]
fn neighbours_in_an_array_share_falsely_until_they_are_padded() {
    let packed = counters(8);
    assert_eq!(names(&packed), ["apart"]);
    let repair = named(&packed, "apart").unwrap();
    assert_eq!((repair.bytes, repair.per_thread), (56, true));
    assert_eq!(repair.pattern, counters(64));
    assert!(gain(&packed, "apart", 8) > 5.0);
    assert_eq!(on(&repair.pattern, 8).report.transfers.all(), 0);
    assert!(names(&counters(64)).is_empty());
}

#[test]
fn what_one_thread_alone_adds_to_is_not_split_by_thread() {
    let with_share = |share| {
        let mut pattern = Pattern::new("two counters");
        let object = pattern.object(PatternObject::once("counters"));
        for offset in [0, 8] {
            let word = pattern.word(object, format!("{offset}"), offset, 8);
            pattern.words[word].value = StoredValue::Statistic;
            let role = PatternRole::single(format!("{offset}")).does(1.0, Operation::Add(word));
            pattern.role(PatternRole { share, ..role });
        }
        pattern
    };
    assert_eq!(names(&with_share(0)), ["apart"]);
    assert!(names(&with_share(1)).contains(&"cells"));
}

#[test]
fn elements_as_large_as_a_line_share_falsely_unless_they_begin_at_one() {
    let sums = |phase: usize| {
        let mut pattern = Pattern::new("sums");
        let object = PatternObject::several("args", Copies::PerThread, 64).at_phase(phase);
        let object = pattern.object(object);
        let words = [24, 56].map(|offset| pattern.word(object, format!("{offset}"), offset, 8));
        let role = PatternRole::pool("worker").does(1.0, Operation::Work(10.0));
        pattern.role(words.into_iter().fold(role, |role, word| {
            role.does(1.0, Operation::Load(word)).does(1.0, Operation::Store(word))
        }));
        pattern
    };
    let packed = sums(16);
    assert_eq!(names(&packed), ["apart"]);
    let repair = named(&packed, "apart").unwrap();
    // To align them costs nothing.
    assert_eq!((repair.bytes, &repair.pattern), (0, &sums(0)));
    let gain = gain(&packed, "apart", 8);
    assert!(gain > 1.5, "{gain}");
    assert!(names(&sums(0)).is_empty());
    assert_eq!(Pattern::from_toml(&packed.to_toml()), Ok(packed));
    assert!(sums(64).check().is_err());
}

#[test]
fn words_of_an_object_that_begins_within_a_line_go_apart_as_they_lie() {
    // Both roles' words are on one line, although byte 64 of the object is between them.
    let mut pattern = Pattern::new("two ends");
    let object = pattern.object(PatternObject::once("o").at_phase(16));
    let words = [48, 72].map(|offset| pattern.word(object, format!("{offset}"), offset, 8));
    for word in words {
        let role = PatternRole::pool(format!("of {word}")).does(1.0, Operation::Work(10.0));
        pattern.role(role.does(1.0, Operation::Add(word)));
    }
    let repair = named(&pattern, "apart").unwrap();
    assert_eq!(repair.bytes, 64);
    let line = |word: usize| repair.pattern.words[word].offset / 64;
    assert_ne!(line(words[0]), line(words[1]), "{:?}", repair.pattern.words);
    pattern.objects[0].phase = 0;
    assert_eq!(named(&pattern, "apart"), None);
}

#[test]
fn a_count_beside_fields_that_are_read_has_every_repair_that_helps() {
    let pattern = session(Operation::CompareExchange);
    assert_eq!(names(&pattern), ["apart", "one_add", "cells", "revocable"]);
    let apart = named(&pattern, "apart").unwrap();
    assert_eq!((apart.bytes, apart.per_thread), (64, false));
    assert!(gain(&pattern, "apart", 16) > 1.1);
    assert!(gain(&pattern, "one_add", 16) > 1.1);
    let (cells, revocable) = (gain(&pattern, "cells", 16), gain(&pattern, "revocable", 16));
    assert!(cells > 5.0 && revocable > 5.0, "{cells} {revocable}");
    let revocable = named(&pattern, "revocable").unwrap();
    assert_eq!(on(&revocable.pattern, 16).report.transfers.all(), 0);
    let best = together(&pattern, 16, &|_| true);
    assert_eq!(best.iter().map(|repair| repair.remedy.name()).collect::<Vec<_>>(), ["cells"]);
    assert_eq!(on(&best[0].pattern, 16).report.transfers.all(), 0);
}

#[test]
fn what_a_value_is_for_rules_repairs_out() {
    for (value, in_file, expected) in [
        (StoredValue::Unknown, None, &["apart", "one_add", "cells", "revocable"][..]),
        (StoredValue::Statistic, Some("value = \"statistic\""), &["apart", "one_add", "cells"]),
        (
            StoredValue::References,
            Some("value = \"references\""),
            &["apart", "one_add", "borrow", "revocable"],
        ),
        (StoredValue::Number, Some("value = \"number\""), &["apart"]),
        (StoredValue::State, Some("value = \"state\""), &["apart"]),
    ] {
        let mut pattern = session(Operation::CompareExchange);
        for word in &mut pattern.words {
            word.value = value;
        }
        assert_eq!(names(&pattern), expected);
        let text = pattern.to_toml();
        assert!(in_file.map_or(!text.contains("value"), |line| text.contains(line)), "{text}");
        assert_eq!(Pattern::from_toml(&text), Ok(pattern));
    }
    let text = session(Operation::CompareExchange).to_toml();
    let wrong = text.replacen("size = 8", "size = 8\nvalue = \"text\"", 1);
    assert!(Pattern::from_toml(&wrong).unwrap_err().to_string().contains("line"), "{wrong}");
}

#[test]
fn two_locks_on_a_line_go_apart_and_a_lock_stays_with_its_data() {
    let mut pattern = Pattern::new("locks");
    let object = pattern.object(PatternObject::once("o"));
    let words: Vec<usize> = ["lock a", "data a", "lock b", "data b"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| pattern.word(object, name, 8 * at, 8))
        .collect();
    for (name, pair) in ["a", "b"].into_iter().zip(words.chunks(2)) {
        let inside = vec![PatternAccess { times: 1.0, operation: Operation::Store(pair[1]) }];
        pattern.role(
            PatternRole::pool(name)
                .does(1.0, Operation::Lock(pair[0], inside))
                .does(1.0, Operation::Work(100.0)),
        );
    }
    let after = named(&pattern, "apart").unwrap().pattern;
    let line = |at: usize| after.words[words[at]].offset / 64;
    assert!(line(0) == line(1) && line(2) == line(3) && line(0) != line(2), "{:?}", after.words);
    let gain = gain(&pattern, "apart", 2);
    assert!(gain > 1.1, "{gain}");
}

#[test]
fn what_is_read_under_a_lock_needs_none_unless_it_is_written_there() {
    let guarded = |stores: f64, other: Option<Operation>| {
        let mut pattern = Pattern::new("settings");
        let object = pattern.object(PatternObject::once("o"));
        let lock = pattern.word(object, "lock", 0, 4);
        let value = pattern.word(object, "value", 8, 8);
        let mut inside = vec![PatternAccess { times: 1.0, operation: Operation::Load(value) }];
        if stores > 0.0 {
            inside.push(PatternAccess { times: stores, operation: Operation::Store(value) });
        }
        inside.extend(other.map(|operation| PatternAccess { times: 1.0, operation }));
        pattern.role(
            PatternRole::pool("worker")
                .does(1.0, Operation::Lock(lock, inside))
                .does(1.0, Operation::Work(100.0)),
        );
        pattern
    };
    for stores in [0.0, 0.005] {
        assert!(names(&guarded(stores, None)).contains(&"read_unlocked"), "{stores}");
    }
    let read = guarded(0.0, None);
    let repair = named(&read, "read_unlocked").unwrap();
    assert_eq!((repair.bytes, repair.per_thread), (64, true));
    assert_eq!(on(&repair.pattern, 16).report.transfers.all(), 0);
    assert!(gain(&read, "read_unlocked", 16) > 10.0);
    // Written, changed in place, or with another lock inside.
    assert!(!names(&guarded(0.5, None)).contains(&"read_unlocked"));
    for other in [Operation::Add(1), Operation::CompareExchange(1), Operation::Lock(1, Vec::new())]
    {
        assert!(!names(&guarded(0.0, Some(other.clone()))).contains(&"read_unlocked"), "{other:?}");
    }
    // It guards more than the pattern has.
    let mut wide = guarded(0.0, None);
    wide.words[0].value = StoredValue::Guard;
    assert!(!names(&wide).contains(&"read_unlocked"));
    assert_eq!(Pattern::from_toml(&wide.to_toml()), Ok(wide));
    // Nothing is known of what it guards.
    let mut empty = guarded(0.0, None);
    empty.roles[0].steps[0].operation = Operation::Lock(0, Vec::new());
    assert!(!names(&empty).contains(&"read_unlocked"));
}

#[test]
fn a_lock_beside_a_counter_needs_both_repairs() {
    let mut pattern = Pattern::new("server");
    let object = pattern.object(PatternObject::once("o"));
    let lock = pattern.word(object, "lock", 0, 4);
    let settings = pattern.word(object, "settings", 8, 8);
    let in_flight = pattern.word(object, "in flight", 16, 8);
    let inside = vec![PatternAccess { times: 1.0, operation: Operation::Load(settings) }];
    pattern.role(
        PatternRole::pool("worker")
            .does(1.0, Operation::Lock(lock, inside))
            .does(2.0, Operation::Add(in_flight))
            .does(1.0, Operation::Work(100.0)),
    );
    let mops = |pattern: &Pattern| on(pattern, 64).report.mops();
    let repairs = together(&pattern, 64, &|_| true);
    let mut both: Vec<_> = repairs.iter().map(|repair| repair.remedy.name()).collect();
    both.sort_unstable();
    assert_eq!(both, ["cells", "read_unlocked"]);
    let alone =
        ["cells", "read_unlocked"].map(|name| mops(&named(&pattern, name).unwrap().pattern));
    assert!(mops(&repairs[1].pattern) > 5.0 * alone[0].max(alone[1]), "{alone:?}");
    // One that does not apply is not among them, and one that is enough stays alone.
    let others = together(&pattern, 64, &|repair| repair.remedy.name() != "cells");
    assert!(others.iter().all(|repair| repair.remedy.name() != "cells"), "{others:?}");
    let enough = together(&counters(8), 64, &|_| true);
    assert_eq!(enough.iter().map(|repair| repair.remedy.name()).collect::<Vec<_>>(), ["apart"]);
    assert!(together(&counters(64), 64, &|_| true).is_empty());
}

#[test]
fn head_and_tail_of_a_queue_go_apart() {
    let mut pattern = Pattern::new("queue");
    let object = pattern.object(PatternObject::once("Queue"));
    let head = pattern.word(object, "head", 0, 8);
    let tail = pattern.word(object, "tail", 8, 8);
    for (name, own, other) in [("producer", tail, head), ("consumer", head, tail)] {
        pattern.role(
            PatternRole::single(name)
                .does(1.0, Operation::Load(own))
                .does(1.0, Operation::Store(own))
                .does(0.1, Operation::Load(other))
                .does(1.0, Operation::Work(10.0)),
        );
    }
    assert_eq!(names(&pattern), ["apart"]);
    assert!(gain(&pattern, "apart", 2) > 1.1);
    assert_eq!(on(&pattern, 2).report.per_thread, on(&pattern, 64).report.per_thread);
}

#[test]
fn a_word_that_is_read_mostly_leaves_the_written_ones_together() {
    let mut pattern = Pattern::new("p");
    let object = pattern.object(PatternObject::once("o"));
    let flag = pattern.word(object, "flag", 0, 8);
    let written = ["hits", "misses"].map(|name| pattern.word(object, name, 8, 8));
    pattern.words[written[1]].offset = 16;
    pattern.role(
        PatternRole::single("clock")
            .does(0.001, Operation::Store(flag))
            .does(1.0, Operation::Work(100.0)),
    );
    for (role, word) in ["a", "b"].into_iter().zip(written) {
        pattern.role(
            PatternRole::pool(role)
                .does(1.0, Operation::Load(flag))
                .does(1.0, Operation::Store(word))
                .does(1.0, Operation::Work(50.0)),
        );
    }
    let after = named(&pattern, "read_mostly_apart").unwrap().pattern;
    let line = |word: usize| after.words[word].offset / 64;
    assert!(line(written[0]) == line(written[1]) && line(flag) != line(written[0]));
}

#[test]
fn what_is_not_contended_needs_no_repair() {
    let mut read = Pattern::new("read only");
    let object = read.object(PatternObject::once("o"));
    let words = [0, 8].map(|offset| read.word(object, format!("w{offset}"), offset, 8));
    read.role(
        PatternRole::pool("r")
            .does(1.0, Operation::Load(words[0]))
            .does(2.0, Operation::Load(words[1])),
    );
    assert!(names(&read).is_empty());
    assert!(together(&read, 8, &|_| true).is_empty());
    assert_eq!(on(&read, 8).report.transfers.all(), 0);
}

/// A lock, what std's mutex has beside it, and what it guards.
fn guarded(guards: &[Operation], outside: &[Operation]) -> Pattern {
    let mut pattern = Pattern::new("guarded");
    let object = pattern.object(PatternObject::once("Mutex"));
    let lock = pattern.word(object, "futex", 0, 4);
    let poison = pattern.word(object, "poison", 4, 1);
    pattern.word(object, "count", 8, 8);
    pattern.word(object, "other", 16, 8);
    let once = |operation: &Operation| PatternAccess { times: 1.0, operation: operation.clone() };
    let mut inside = vec![once(&Operation::Load(poison))];
    inside.extend(guards.iter().map(once));
    let mut role = PatternRole::pool("worker").does(1.0, Operation::Lock(lock, inside));
    role.steps.extend(outside.iter().map(once));
    pattern.role(role);
    pattern
}

#[test]
fn a_lock_that_guards_a_count_alone_can_go() {
    const COUNT: usize = 2;
    const OTHER: usize = 3;
    let alone = guarded(&[Operation::Load(COUNT), Operation::Store(COUNT)], &[]);
    let one_add = named(&alone, "one_add").unwrap();
    let add = PatternAccess { times: 1.0, operation: Operation::Add(COUNT) };
    assert_eq!(one_add.pattern.roles[0].steps, std::slice::from_ref(&add));
    // What the addition itself takes stays.
    let brief = Operation::Work(5.0);
    assert!(
        named(
            &guarded(&[Operation::Work(15.0), Operation::Store(COUNT), Operation::Work(15.0)], &[]),
            "one_add"
        )
        .is_none()
    );
    let brief_too = guarded(&[brief.clone(), Operation::Store(COUNT)], &[]);
    let work = PatternAccess { times: 1.0, operation: brief };
    assert_eq!(named(&brief_too, "one_add").unwrap().pattern.roles[0].steps, [add, work]);
    // A thread's own cell needs no atomic addition.
    let cells = named(&alone, "cells").unwrap().pattern;
    let is_of_a_cell = |step: &PatternAccess| step.operation.word() == Some(cells.words.len() - 1);
    let [Operation::Load(_), Operation::Store(_)] =
        [0, 1].map(|at| cells.roles[0].steps[at].operation.clone())
    else {
        panic!("{:?}", cells.roles);
    };
    assert!(cells.roles[0].steps.iter().all(is_of_a_cell), "{:?}", cells.roles);
    let (one_add, cells) = (gain(&alone, "one_add", 16), gain(&alone, "cells", 16));
    assert!(one_add > 1.2 && cells > 5.0, "{one_add} {cells}");
    let store = Operation::Store(COUNT);
    for (guards, outside) in [
        // Two words, as a vector's length and capacity are.
        (vec![Operation::Load(OTHER), store.clone()], vec![]),
        // A value that is only read.
        (vec![Operation::Load(COUNT)], vec![]),
        // The count is also used without the lock.
        (vec![store.clone()], vec![Operation::Load(COUNT)]),
        // Work that takes the lock's time.
        (vec![store, Operation::Work(50.0)], vec![]),
    ] {
        let pattern = guarded(&guards, &outside);
        assert!(named(&pattern, "one_add").is_none(), "{guards:?} {outside:?}");
    }
}
