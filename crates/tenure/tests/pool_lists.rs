//! Every free list keeps the promises of `FreeList`.
#![cfg(feature = "std")]

use std::collections::HashSet;
use std::iter::{from_fn, once};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use tenure::memory::{Native, Resident};
use tenure::pool::{FreeList, Magazines, Scan, TaggedStack};

/// The owner of a list.
struct Owner<L>(L);

impl<L: FreeList> Resident for Owner<L> {
    unsafe fn leave(&self, thread: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.leave(thread) };
    }
}

/// More than a hoard has room for.
const SLOTS: u32 = if cfg!(miri) { 70 } else { 1_000 };

fn list<L: FreeList>(hoard: usize) -> Arc<Owner<L>> {
    Arc::new_cyclic(|owner: &Weak<Owner<L>>| Owner(L::new_in(hoard, owner.clone())))
}

fn not_closed(slot: u32) {
    panic!("slot {slot} comes home although the list is open");
}

fn admit_free<L: FreeList>(list: &L, slots: u32) {
    for slot in 0..slots {
        list.admit(slot);
        // SAFETY: admitted above.
        unsafe { list.release(slot, not_closed) };
    }
}

/// Takes what is free, for `take`.
fn reclaim<L: FreeList>(list: &L, take: impl FnMut(u32)) {
    L::gather(once(list), || from_fn(|| list.acquire(not_closed)).for_each(take));
}

fn all_of<L: FreeList>(list: &L) -> HashSet<u32> {
    let mut found = HashSet::new();
    while let Some(slot) = list.acquire(not_closed) {
        assert!(found.insert(slot), "slot {slot} has two owners");
    }
    found
}

macro_rules! claims {
    ($($room:ident: $list:ty,)*) => {$(
        mod $room {
            use super::*;

            #[test]
            fn what_is_released_is_acquired_once() {
                let list = list::<$list>(64);
                assert_eq!(list.0.acquire(not_closed), None);
                admit_free(&list.0, SLOTS);
                assert_eq!(all_of(&list.0), (0..SLOTS).collect());
            }

            #[test]
            fn slots_of_threads_that_ended_are_for_all() {
                let list = list::<$list>(64);
                std::thread::scope(|scope| {
                    // Joined by hand: a scope alone does not wait for the end of thread-locals.
                    scope.spawn(|| admit_free(&list.0, SLOTS)).join().unwrap();
                });
                assert_eq!(all_of(&list.0), (0..SLOTS).collect());
            }

            #[test]
            fn what_sleeping_threads_hoard_is_gathered() {
                let list = list::<$list>(64);
                let (released, go_on) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        admit_free(&list.0, SLOTS);
                        released.wait();
                        go_on.wait();
                    });
                    released.wait();
                    let mut found = HashSet::new();
                    reclaim(&list.0, |slot| assert!(found.insert(slot)));
                    assert_eq!(found, (0..SLOTS).collect());
                    go_on.wait();
                });
            }

            #[test]
            fn a_closed_list_gives_all_back_and_keeps_nothing() {
                let list = list::<$list>(64);
                admit_free(&list.0, SLOTS);
                let mine = list.0.acquire(not_closed).unwrap();
                let mut home = HashSet::new();
                list.0.close(|slot| assert!(home.insert(slot)));
                assert!(!home.contains(&mine));
                assert_eq!(list.0.acquire(not_closed), None);
                // SAFETY: acquired above.
                unsafe { list.0.release(mine, |slot| assert!(home.insert(slot))) };
                assert_eq!(home, (0..SLOTS).collect());
            }

            #[test]
            fn a_slot_that_is_admitted_after_closing_comes_home() {
                let list = list::<$list>(64);
                admit_free(&list.0, 1);
                list.0.close(|slot| assert_eq!(slot, 0));
                list.0.admit(1);
                let mut home = Vec::new();
                // SAFETY: admitted above.
                unsafe { list.0.release(1, |slot| home.push(slot)) };
                assert_eq!(home, [1]);
                assert_eq!(list.0.acquire(not_closed), None);
                list.0.close(not_closed);
            }

            #[test]
            fn a_slot_that_came_home_comes_home_whenever_it_is_released_again() {
                let list = list::<$list>(64);
                admit_free(&list.0, 2);
                let mine = list.0.acquire(not_closed).unwrap();
                let mut home = vec![mine];
                list.0.close(|slot| home.push(slot));
                assert_eq!(home.len(), 2);
                for slot in home {
                    for time in 1..=3 {
                        let mut released = Vec::new();
                        // SAFETY: acquired above, or came home.
                        unsafe { list.0.release(slot, |slot| released.push(slot)) };
                        assert_eq!(released, [slot], "time {time}");
                        assert_eq!(list.0.acquire(not_closed), None);
                    }
                }
                list.0.close(not_closed);
            }

            #[test]
            fn a_list_that_is_gathered_may_be_used() {
                let list = list::<$list>(64);
                admit_free(&list.0, 3);
                let mut next = 3;
                reclaim(&list.0, |_| {
                    if next < 10 {
                        list.0.admit(next);
                        // SAFETY: admitted above, or acquired.
                        unsafe { list.0.release(next, not_closed) };
                        let other = list.0.acquire(not_closed).expect("one was released");
                        // SAFETY: as above.
                        unsafe { list.0.release(other, not_closed) };
                        next += 1;
                    }
                });
                assert_eq!(next, 10, "the list has a slot as often as one was released");
            }

            #[test]
            fn a_look_that_panics_leaves_a_list_that_can_be_used() {
                let list = list::<$list>(64);
                admit_free(&list.0, 1);
                let trim = || reclaim(&list.0, |_| panic!("on purpose"));
                assert!(catch_unwind(AssertUnwindSafe(trim)).is_err());
                list.0.admit(1);
                // SAFETY: admitted above.
                unsafe { list.0.release(1, not_closed) };
                assert_eq!(all_of(&list.0), HashSet::from([1]));
                reclaim(&list.0, |slot| panic!("slot {slot} is in use"));
                list.0.close(not_closed);
            }

            #[test]
            fn emptiness_says_whether_a_slot_is_free() {
                let list = list::<$list>(64);
                let emptiness = || FreeList::gather(once(&list.0), || list.0.emptiness());
                assert!(emptiness().is_some());
                admit_free(&list.0, 2);
                assert_eq!(emptiness(), None);
                let mine = list.0.acquire(not_closed).unwrap();
                assert_eq!(emptiness(), None);
                assert!(list.0.acquire(not_closed).is_some());
                assert!(emptiness().is_some());
                // SAFETY: acquired above.
                unsafe { list.0.release(mine, not_closed) };
                assert_eq!(emptiness(), None);
            }

            #[test]
            fn lists_that_are_gathered_together_are_empty_at_one_moment() {
                let lists = [list::<$list>(64), list::<$list>(64)];
                let both = || lists.iter().map(|list| &list.0);
                admit_free(&lists[1].0, 40);
                let found = FreeList::gather(both(), || both().map(all_of).map(|all| all.len()).sum::<usize>());
                assert_eq!(found, 40);
            }
        }
    )*};
}

claims! {
    scan: Scan,
    scan_as_published: Scan<Native, false>,
    tagged_stack: TaggedStack,
    magazines: Magazines,
    magazines_of_one: Magazines<Native, 1>,
}
