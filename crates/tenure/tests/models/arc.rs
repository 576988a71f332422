//! [`Counts`]: an `Arc` and its `Weak`s, down to the allocation.
//!
//! The value is destroyed once, after every look at it; the allocation is freed once, after the last touch of either
//! count.
//!
//! These models drive [`Counts`], not `Arc`, whose counts are the real machine's. [`handles`](super::handles) does what
//! `Arc` does around them: each operation is one call of `Counts`, and a drop or a deallocation by its answer. There is
//! no atomic operation outside `Counts`, so an interleaving of two `Arc`s is one of two `Counts`. That `Arc` acts on
//! the answers as `handles` does is tested by `arc/threads.rs`, under AddressSanitizer too.

use super::handles::{Allocation, Inner, Strong, Weak};
use super::memory::{InOrder, Loom};
use super::stage::{ALL, Heap, JoinHandle, Value, join_all, passes, slow, spawn};
use tenure::arc::Counts;
use tenure::memory::Threads;

/// After Weaks that came and went: the first published the strong count, the second found it published.
fn after_weaks<M: Threads>(count: usize) -> (Strong<M>, Allocation<M>) {
    let (strong, allocation) = Strong::<M>::new();
    (0..count).for_each(|_| strong.downgrade().drop());
    (strong, allocation)
}

/// The end of every model: the last `Arc` of this thread goes ‖ `threads`.
fn end<M: Threads, R>(
    strong: Strong<M>,
    threads: impl IntoIterator<Item = JoinHandle<R>>,
    allocation: &Allocation<M>,
) {
    strong.drop();
    join_all(threads);
    allocation.assert_gone();
}

pub(crate) fn drop_upgrade_drop_weak<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let visitor = strong.downgrade();
    let other = strong.downgrade();
    let threads = [spawn(move || visitor.visit_and_drop()), spawn(move || other.drop())];
    end(strong, threads, &allocation);
}

pub(crate) fn drop_upgrade_upgrade<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let threads = [(); 2].map(|()| {
        let visitor = strong.downgrade();
        spawn(move || visitor.visit_and_drop())
    });
    end(strong, threads, &allocation);
}

/// The upgrade makes a second `Weak` and drops the first.
fn drop_upgrade_downgrade<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let first = strong.downgrade();
    let thread = spawn(move || {
        let second = first.upgrade().map(|strong| {
            let second = strong.downgrade();
            strong.drop();
            second
        });
        first.drop();
        second.into_iter().for_each(Weak::visit_and_drop);
    });
    end(strong, [thread], &allocation);
}

/// Without a `Weak` the last drop only loads.
pub(crate) fn clones_drop<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let threads = [(); 2].map(|()| {
        let clone = strong.clone();
        spawn(move || clone.drop())
    });
    end(strong, threads, &allocation);
}

/// Each of the first `Weak`s publishes the strong count, or finds it published, or relies on the other to do so before it
/// goes ‖ drop of a third `Arc`.
pub(crate) fn first_downgrades<M: Threads>(earlier: usize) {
    let (strong, allocation) = after_weaks::<M>(earlier);
    let threads = [(); 2].map(|()| {
        let clone = strong.clone();
        spawn(move || clone.go_and_come_back())
    });
    end(strong, threads, &allocation);
}

/// Each visits before the other may have published.
fn first_downgrades_of_a_borrowed_arc<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let threads = [(); 2].map(|()| {
        let borrowed = strong.0.clone();
        spawn(move || {
            borrowed.counts.downgrade();
            let weak = Weak(borrowed);
            weak.visit();
            weak
        })
    });
    let weaks = join_all(threads).into_iter();
    let threads = Vec::from_iter(weaks.map(|weak| spawn(move || weak.visit_and_drop())));
    end(strong, threads, &allocation);
}

/// get_mut, try_unwrap ‖ an `Arc` whose first `Weak` goes before it makes a second.
fn unique_and_take_under_weaks_that_come_and_go<M: Threads>() {
    let (mut strong, allocation) = Strong::<M>::new();
    let other = strong.clone();
    let thread = spawn(move || {
        other.downgrade().drop();
        other.go_and_come_back();
    });
    strong.write_if_unique();
    strong.take_or_drop();
    thread.join().unwrap();
    allocation.assert_gone();
}

/// make_mut as `Arc` does it, step by step ‖ an `Arc` that makes a `Weak`, goes, and comes back.
fn make_mut_under_downgrade(earlier: usize) {
    let (strong, allocation) = after_weaks::<Loom>(earlier);
    let other = strong.clone();
    let thread = spawn(move || other.go_and_come_back());
    let Inner { counts, value } = &*strong.0;
    if counts.is_unshared() {
        value.write(2);
        strong.drop();
    } else if !counts.try_take() {
        strong.drop();
    } else if counts.weak_count() == 0 {
        counts.born();
        value.write(2);
        strong.drop();
    } else {
        // The value moves out, and this allocation is the Weaks'.
        value.destroy();
        if counts.drop_common() {
            strong.0.free();
        }
    }
    thread.join().unwrap();
    allocation.assert_gone();
}

/// One load decides.
pub(crate) fn unshared_after_a_clone<M: Threads>() {
    let (mut strong, allocation) = Strong::<M>::new();
    let clone = strong.clone();
    let thread = spawn(move || clone.drop());
    strong.write_if_unique();
    end(strong, [thread], &allocation);
}

/// The `Weak` is older than the value, which its maker writes ‖ upgrades.
pub(crate) fn born_under_upgrades<M: Threads>(visitors: usize) {
    let inner = Heap::new(Inner { counts: Counts::<M>::unborn_in(), value: Value::unborn() });
    let allocation = Allocation(inner.clone());
    // As `new_cyclic`: the closure gets a Weak, which it may clone.
    let threads = Vec::from_iter((0..visitors).map(|_| {
        inner.counts.downgrade();
        let visitor = Weak(inner.clone());
        spawn(move || visitor.visit_and_drop())
    }));
    inner.value.write(1);
    inner.counts.born();
    end(Strong(inner), threads, &allocation);
}

/// The `Arc` makes a `Weak`, goes, and comes back through it.
pub(crate) fn unique_under_downgrade<M: Threads>(earlier: usize) {
    let (mut strong, allocation) = after_weaks::<M>(earlier);
    let other = strong.clone();
    let thread = spawn(move || other.go_and_come_back());
    strong.write_if_unique();
    end(strong, [thread], &allocation);
}

/// The race that the lock prevents: the `Weak` becomes an `Arc`.
pub(crate) fn unique_under_upgrade<M: Threads>(earlier: usize) {
    let (mut strong, allocation) = after_weaks::<M>(earlier);
    let weak = strong.downgrade();
    let thread = spawn(move || {
        let upgraded = weak.upgrade();
        weak.drop();
        upgraded.into_iter().for_each(Strong::drop);
    });
    strong.write_if_unique();
    end(strong, [thread], &allocation);
}

/// drop ‖ get_mut by an upgraded `Arc`, which may have overtaken the drop, after its `Weak` is gone.
fn unique_by_an_upgrade<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let weak = strong.downgrade();
    let thread = spawn(move || {
        let upgraded = weak.upgrade();
        weak.drop();
        if let Some(mut upgraded) = upgraded {
            upgraded.write_if_unique();
            upgraded.drop();
        }
    });
    end(strong, [thread], &allocation);
}

/// ‖ a `Weak` that becomes a third `Arc`.
fn two_unique<M: Threads>() {
    let (mut strong, allocation) = Strong::<M>::new();
    let mut clone = strong.clone();
    let weak = strong.downgrade();
    let threads = [
        spawn(move || {
            clone.write_if_unique();
            clone.drop();
        }),
        spawn(move || weak.visit_and_drop()),
    ];
    strong.write_if_unique();
    end(strong, threads, &allocation);
}

fn unique_in_the_end<M: Threads>(earlier: usize) {
    let (mut strong, allocation) = after_weaks::<M>(earlier);
    let clone = strong.clone();
    let weak = strong.downgrade();
    let threads = [spawn(move || clone.drop()), spawn(move || weak.visit_and_drop())];
    join_all(threads);
    assert!(strong.write_if_unique(), "get_mut refuses the only owner");
    assert!(strong.take_or_drop(), "try_unwrap refuses the only owner");
    allocation.assert_gone();
}

pub(crate) fn take_under_upgrade_and_drop<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let clone = strong.clone();
    let weak = strong.downgrade();
    let threads = [spawn(move || clone.drop()), spawn(move || weak.visit_and_drop())];
    strong.take_or_drop();
    join_all(threads);
    allocation.assert_gone();
}

fn two_takes<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let clone = strong.clone();
    let thread = spawn(move || clone.take_or_drop());
    let taken = [strong.take_or_drop(), thread.join().unwrap()];
    assert_ne!(taken, [true, true], "two take one value");
    allocation.assert_gone();
}

/// The upgrade may have revived the value under its last drop.
fn take_by_an_upgrade() {
    let (strong, allocation) = Strong::<Loom>::new();
    let weak = strong.downgrade();
    let thread = spawn(move || {
        if let Some(upgraded) = weak.upgrade() {
            let is_only = upgraded.0.counts.strong_count() == 1;
            let taken = upgraded.take_or_drop();
            assert!(taken || !is_only, "try_unwrap refuses the only Arc while a drop ends");
        }
        weak.drop();
    });
    end(strong, [thread], &allocation);
}

/// As make_mut: takes the value, changes it, puts it back ‖ upgrades.
fn take_and_put_back_under_upgrades<M: Threads>(visitors: usize) {
    let (strong, allocation) = Strong::<M>::new();
    let threads = Vec::from_iter((0..visitors).map(|_| {
        let visitor = strong.downgrade();
        spawn(move || visitor.visit_and_drop())
    }));
    if strong.0.counts.try_take() {
        strong.0.value.write(2);
        strong.0.counts.born();
    }
    end(strong, threads, &allocation);
}

pub(crate) fn into_inner_by_all<M: Threads>() {
    let (strong, allocation) = Strong::<M>::new();
    let threads = [(); 2].map(|()| {
        let clone = strong.clone();
        spawn(move || clone.into_inner())
    });
    let won_here = strong.into_inner();
    let mut won = join_all(threads);
    won.push(won_here);
    assert_eq!(won.iter().filter(|won| **won).count(), 1, "not exactly one clone gets the value");
    allocation.assert_gone();
}

/// By `Weak::weak_count`, of one of two `Weak`s.
pub(crate) fn weaks_counted_under_the_last_drop() {
    let (strong, allocation) = Strong::<Loom>::new();
    let weaks = [(); 2].map(|()| strong.downgrade());
    let inner = allocation.0.clone();
    let thread = spawn(move || {
        let weak = inner.counts.weak_count();
        let shown = if inner.counts.is_dead() { 0 } else { weak };
        assert!(matches!(shown, 0 | 2), "neither both Weaks nor none");
    });
    strong.drop();
    thread.join().unwrap();
    weaks.into_iter().for_each(Weak::drop);
    allocation.assert_gone();
}

tests! {
    the_value_and_the_allocation_go_once_under_upgrade_and_drop_of_weak =>
        passes(Some(5), drop_upgrade_drop_weak::<Loom>);
    two_upgrades_may_revive_a_value_whose_last_arc_goes =>
        passes(Some(5), drop_upgrade_upgrade::<Loom>);
    a_weak_made_by_an_upgraded_arc_keeps_the_allocation =>
        passes(ALL, drop_upgrade_downgrade::<Loom>);
    the_last_clone_frees_after_all_touches => passes(ALL, clones_drop::<Loom>);
    of_two_first_weaks_each_can_rely_on_the_other_to_publish =>
        passes(Some(3), || first_downgrades::<Loom>(0));
    a_weak_that_finds_the_strong_count_published_says_so_to_all =>
        passes(Some(3), || first_downgrades::<Loom>(1)),
        passes(Some(3), || first_downgrades::<Loom>(2));
    first_weaks_of_a_borrowed_arc_can_be_used_before_the_other_is_published =>
        passes(Some(3), first_downgrades_of_a_borrowed_arc::<Loom>);
    weaks_that_come_and_go_never_let_two_have_the_value =>
        passes(Some(4), unique_and_take_under_weaks_that_come_and_go::<Loom>);
    make_mut_writes_or_moves_what_no_other_reaches =>
        passes(Some(4), || make_mut_under_downgrade(0)),
        passes(Some(3), || make_mut_under_downgrade(1)),
        passes(Some(3), || make_mut_under_downgrade(2));
    get_mut_of_what_never_had_a_weak_comes_after_every_clone =>
        passes(ALL, unshared_after_a_clone::<Loom>);
    an_upgrade_that_succeeds_sees_the_value_that_was_born =>
        passes(ALL, || born_under_upgrades::<InOrder>(1));
    two_upgrades_that_succeed_see_the_value_that_was_born =>
        passes(Some(4), || born_under_upgrades::<InOrder>(2));
    get_mut_is_alone_although_another_arc_makes_a_weak_and_goes =>
        passes(ALL, || unique_under_downgrade::<Loom>(0)),
        passes(ALL, || unique_under_downgrade::<Loom>(1)),
        passes(ALL, || unique_under_downgrade::<Loom>(2));
    get_mut_is_alone_although_a_weak_becomes_an_arc =>
        passes(ALL, || unique_under_upgrade::<Loom>(0)),
        passes(ALL, || unique_under_upgrade::<Loom>(2));
    get_mut_is_alone_although_a_drop_that_it_overtook_has_not_ended =>
        passes(ALL, unique_by_an_upgrade::<Loom>);
    of_two_get_muts_none_is_given_what_the_other_shares => passes(slow(Some(4)), two_unique::<Loom>);
    the_only_owner_left_gets_the_value =>
        passes(ALL, || unique_in_the_end::<Loom>(0)),
        passes(Some(4), || unique_in_the_end::<Loom>(2));
    try_unwrap_takes_from_no_other => passes(Some(5), take_under_upgrade_and_drop::<Loom>);
    two_try_unwraps_do_not_wait_for_each_other => passes(ALL, two_takes::<Loom>);
    try_unwrap_waits_for_the_drop_that_its_upgrade_overtook => passes(ALL, take_by_an_upgrade);
    a_value_that_is_taken_and_put_back_is_seen_whole_or_not_at_all =>
        passes(ALL, || take_and_put_back_under_upgrades::<InOrder>(1)),
        passes(Some(3), || take_and_put_back_under_upgrades::<InOrder>(2));
    one_of_many_into_inners_gets_the_value => passes(ALL, into_inner_by_all::<Loom>);
    a_weak_counts_all_weaks_or_knows_that_the_value_is_dead => passes(ALL, weaks_counted_under_the_last_drop);
}
