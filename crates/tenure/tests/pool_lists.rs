//! Every free list keeps the promises of `FreeList`.
#![cfg(feature = "std")]

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use tenure::memory::{Native, Resident};
use tenure::pool::{FreeList, Magazines, Scan, TaggedStack};

/// The owner of a list.
struct Owner<L>(L);

impl<L: FreeList> Resident for Owner<L> {
    fn leave(&self, thread: usize) {
        self.0.leave(thread);
    }
}

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
                admit_free(&list.0, 1_000);
                assert_eq!(all_of(&list.0), (0..1_000).collect());
            }

            #[test]
            fn slots_of_threads_that_ended_are_for_all() {
                let list = list::<$list>(64);
                std::thread::scope(|scope| {
                    // Joined by hand: a scope alone does not wait for the end of thread-locals.
                    scope.spawn(|| admit_free(&list.0, 1_000)).join().unwrap();
                });
                assert_eq!(all_of(&list.0), (0..1_000).collect());
            }

            #[test]
            fn reclaiming_finds_what_sleeping_threads_hoard() {
                let list = list::<$list>(64);
                let (released, go_on) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        admit_free(&list.0, 1_000);
                        released.wait();
                        go_on.wait();
                    });
                    released.wait();
                    let mut found = HashSet::new();
                    list.0.reclaim(|slot| {
                        assert!(found.insert(slot));
                        ControlFlow::Continue(())
                    });
                    assert_eq!(found, (0..1_000).collect());
                    go_on.wait();
                });
            }

            #[test]
            fn a_closed_list_gives_all_back_and_keeps_nothing() {
                let list = list::<$list>(64);
                admit_free(&list.0, 1_000);
                let mine = list.0.acquire(not_closed).unwrap();
                let mut home = HashSet::new();
                list.0.close(|slot| assert!(home.insert(slot)));
                assert!(!home.contains(&mine));
                assert_eq!(list.0.acquire(not_closed), None);
                // SAFETY: acquired above.
                unsafe { list.0.release(mine, |slot| assert!(home.insert(slot))) };
                assert_eq!(home, (0..1_000).collect());
            }

            #[test]
            fn a_slot_that_a_closed_list_admits_comes_home_when_it_is_released() {
                let list = list::<$list>(64);
                list.0.close(not_closed);
                list.0.admit(0);
                let mut home = Vec::new();
                // SAFETY: admitted above.
                unsafe { list.0.release(0, |slot| home.push(slot)) };
                assert_eq!(home, [0]);
                assert_eq!(list.0.acquire(not_closed), None);
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
