//! Changes that depend on what a word is: which apply, and what they give.

use super::patterns::{gain, named, names};
use tenure_sim::pattern::{
    Operation, Pattern, PatternAccess, PatternObject, PatternRole, StoredValue,
};

fn step(times: f64, operation: Operation) -> PatternAccess {
    PatternAccess { times, operation }
}

/// Threads that lock a word twice in an iteration, and store to another one under it.
fn locked(value: StoredValue) -> Pattern {
    let mut pattern = Pattern::new("locked");
    let object = pattern.object(PatternObject::once("Pool"));
    let lock = pattern.word(object, "lock", 0, 4);
    let len = pattern.word(object, "len", 8, 8);
    pattern.words[lock].value = value;
    let inside = vec![step(1.0, Operation::Work(10.0)), step(1.0, Operation::Store(len))];
    let role = PatternRole::pool("worker").does(2.0, Operation::Lock(lock, inside));
    pattern.role(role.does(1.0, Operation::Work(100.0)));
    pattern
}

#[test]
fn what_a_lock_is_for_says_what_takes_its_place() {
    for (value, name, least) in [
        (StoredValue::Pool, "own_object", 10.0),
        (StoredValue::Table, "shard", 3.0),
        (StoredValue::ReadGuard, "shared_lock", 1.5),
        (StoredValue::ReadLock, "shared_lock", 1.5),
    ] {
        let pattern = locked(value);
        assert_eq!(names(&pattern), [name], "{value:?}");
        let gain = gain(&pattern, name, 16);
        assert!(gain > least, "{name}: {gain}");
        assert_eq!(named(&pattern, name).unwrap().words, [0]);
        assert_eq!(Pattern::from_toml(&pattern.to_toml()), Ok(pattern));
    }
    // Nothing says that the store under it is a count, or that holders do not write elsewhere.
    assert!(names(&locked(StoredValue::Guard)).is_empty());
    assert!(!names(&locked(StoredValue::Unknown)).contains(&"own_object"));
}

#[test]
fn a_list_of_a_pool_is_each_threads_own() {
    let mut pattern = Pattern::new("bits");
    let object = pattern.object(PatternObject::once("Page"));
    let bits = pattern.word(object, "bits", 0, 4);
    pattern.words[bits].value = StoredValue::Pool;
    let role = PatternRole::pool("worker")
        .does(1.0, Operation::Load(bits))
        .does(1.0, Operation::CompareExchange(bits));
    pattern.role(role.does(1.0, Operation::Add(bits)).does(1.0, Operation::Work(10.0)));
    assert_eq!(names(&pattern), ["own_object"]);
    assert!(gain(&pattern, "own_object", 16) > 20.0);
}

#[test]
fn a_reference_that_is_held_for_a_moment_is_borrowed_and_one_held_for_long_is_not() {
    let held = |nanoseconds| {
        let mut pattern = Pattern::new("counted");
        let object = pattern.object(PatternObject::once("App"));
        let refs = pattern.word(object, "refs", 0, 8);
        pattern.words[refs].value = StoredValue::References;
        let role = PatternRole::pool("worker").does(1.0, Operation::Add(refs));
        let role = role.does(1.0, Operation::Work(nanoseconds));
        pattern.role(role.does(1.0, Operation::Add(refs)).does(1.0, Operation::Work(50.0)));
        pattern
    };
    assert_eq!(names(&held(100.0)), ["borrow", "revocable"]);
    assert!(gain(&held(100.0), "borrow", 16) > 5.0);
    assert_eq!(names(&held(20_000.0)), ["revocable"]);
}

#[test]
fn a_count_that_others_watch_is_added_to_in_batches_unless_a_thread_follows_its_own() {
    let watched = |follows: bool| {
        let mut pattern = Pattern::new("progress");
        let object = pattern.object(PatternObject::once("Progress"));
        let pages = pattern.word(object, "pages", 0, 8);
        pattern.words[pages].value = StoredValue::Statistic;
        let role = PatternRole::pool("worker").does(1.0, Operation::Add(pages));
        let role = if follows { role.does(0.5, Operation::Load(pages)) } else { role };
        pattern.role(role.does(1.0, Operation::Work(50.0)));
        let show = PatternRole::single("show").does(1.0, Operation::Load(pages));
        pattern.role(show.does(1.0, Operation::Work(1000.0)));
        pattern
    };
    assert_eq!(names(&watched(false)), ["batch"]);
    assert!(gain(&watched(false), "batch", 16) > 5.0);
    assert!(names(&watched(true)).is_empty());
}

#[test]
fn a_flag_that_is_stored_again_and_again_is_tested_first() {
    let flag = |value| {
        let mut pattern = Pattern::new("flag");
        let object = pattern.object(PatternObject::once("State"));
        let seen = pattern.word(object, "seen", 0, 1);
        let limit = pattern.word(object, "limit", 8, 8);
        pattern.words[seen].value = value;
        let role = PatternRole::pool("worker")
            .does(1.0, Operation::Store(seen))
            .does(1.0, Operation::Load(limit));
        pattern.role(role.does(1.0, Operation::Work(50.0)));
        pattern
    };
    assert_eq!(names(&flag(StoredValue::Flag)), ["apart", "test_before_store"]);
    assert!(gain(&flag(StoredValue::Flag), "test_before_store", 16) > 2.0);
    assert_eq!(names(&flag(StoredValue::Unknown)), ["apart"]);
}
