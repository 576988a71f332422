//! Free lists under threads that come and go, trim, and close.
//!
//! A slot's owner writes to it without atomics: a second owner finds an unexpected word.

use crate::support::{Lock, THREADS, objects, on_threads};
use std::collections::VecDeque;
use std::iter::{from_fn, once};
use std::sync::{Arc, Barrier, Weak};
use std::thread;
use tenure::memory::{Atomic, Memory, Native, Ordering, Plain, PlainCell, Resident};
use tenure::pool::list::{List, Magazines, Scan, TaggedStack};

type Word = <Native as Memory>::AtomicU32;

const FREE: u64 = 0;
const HOME: u64 = u64::MAX;
/// Slots that a thread may keep.
const MAGAZINE: usize = 64;

struct Pool<L> {
    list: L,
    slots: Vec<PlainCell<u64>>,
    admitted: Word,
}

impl<L: List> Resident for Pool<L> {
    unsafe fn leave(&self, thread: usize) {
        // SAFETY: the caller's.
        unsafe { self.list.leave(thread) };
    }
}

impl<L: List> Pool<L> {
    fn new(most: u32) -> Arc<Self> {
        Arc::new_cyclic(|pool: &Weak<Self>| Self {
            list: L::new_in(MAGAZINE, pool.clone()),
            slots: (0..most).map(|_| Plain::new(FREE)).collect(),
            admitted: Atomic::new(0),
        })
    }

    fn change(&self, slot: u32, from: u64, to: u64) {
        self.slots[slot as usize].with_mut(|word| {
            // SAFETY: the list gave the slot to this thread alone, which is what the test checks.
            let found = unsafe { word.replace(to) };
            assert_eq!(found, from, "slot {slot} has two owners");
        });
    }

    /// A slot for `owner`, a new one if none is free and there may be more.
    fn take(&self, owner: u64) -> Option<u32> {
        let slot = self.list.acquire().or_else(|| {
            // Relaxed: the number alone is passed on.
            let new = self.admitted.fetch_add(1, Ordering::Relaxed);
            if new as usize >= self.slots.len() {
                self.admitted.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            self.list.admit(new);
            Some(new)
        })?;
        self.change(slot, FREE, owner);
        Some(slot)
    }

    fn give(&self, slot: u32, owner: u64) {
        self.change(slot, owner, FREE);
        // SAFETY: taken by this thread, or by one that has passed it on.
        unsafe { self.list.release(slot) }.expect("the list is open");
    }

    fn trim(&self, owner: u64) {
        let taken: Vec<u32> =
            L::gather(once(&self.list), || from_fn(|| self.list.acquire()).take(8).collect());
        taken.iter().for_each(|&slot| self.change(slot, FREE, owner));
        taken.into_iter().for_each(|slot| self.give(slot, owner));
    }

    /// Returns how many slots there were. None has an owner.
    fn end(&self) -> u32 {
        let mut home = 0;
        self.list.close(|slot| {
            self.change(slot, FREE, HOME);
            home += 1;
        });
        assert_eq!(self.list.acquire(), None);
        // Relaxed: the threads have been joined.
        assert_eq!(home, self.admitted.load(Ordering::Relaxed), "not every slot comes home once");
        home
    }
}

fn threads_come_and_go<L: List>(slots: u32) {
    let pool = Pool::<L>::new(slots);
    for generation in 0..10 {
        let each = objects(4_000);
        let pool = Arc::clone(&pool);
        on_threads(move |thread| {
            let owner =
                |turn: u32| u64::from(turn) << 16 | (generation * THREADS + thread + 1) as u64;
            let mut held = VecDeque::new();
            for turn in 0..each {
                held.extend(pool.take(owner(turn)).map(|slot| (slot, owner(turn))));
                if held.len() > turn as usize % 3 {
                    let (slot, owner) = held.pop_front().unwrap();
                    pool.give(slot, owner);
                }
                if turn % 64 == thread as u32 {
                    pool.trim(owner(turn));
                }
            }
            held.into_iter().for_each(|(slot, owner)| pool.give(slot, owner));
        });
    }
    assert!(pool.end() <= slots);
}

const UNDER_WAY: usize = 64;

fn one_way<L: List>() {
    let each = objects(100_000);
    // A producer makes a slot when its magazine and the depot are empty. The others are under way, in another thread's
    // magazine or batch, or in its hands.
    let bound = UNDER_WAY + THREADS * (MAGAZINE + 32 + 1);
    let pool = Pool::<L>::new(each * THREADS as u32);
    let queue = Arc::new(Lock::new(VecDeque::new()));
    let all = Arc::clone(&pool);
    on_threads(move |thread| {
        let mut turn = 0;
        while turn < each {
            let moved = if thread % 2 == 0 {
                queue.with(|queue| queue.len() < UNDER_WAY - THREADS) && {
                    let slot = pool.take(thread as u64 + 1).expect("there are slots for all");
                    queue.with(|queue| queue.push_back((slot, thread as u64 + 1)));
                    true
                }
            } else {
                let next = queue.with(VecDeque::pop_front);
                next.map(|(slot, owner)| pool.give(slot, owner)).is_some()
            };
            if moved { turn += 1 } else { thread::yield_now() }
        }
    });
    let admitted = all.end() as usize;
    assert!(admitted <= bound, "{admitted} slots, where {bound} are enough");
}

const CROWD: u32 = 300;

fn a_crowd_at_once<L: List>() {
    let pool = Pool::<L>::new(2 * CROWD);
    // Admitted now: a crowd of admitting threads, which keep others out of some lists, is not the subject.
    let slots = Vec::from_iter((0..CROWD).map(|_| pool.take(1).unwrap()));
    slots.into_iter().for_each(|slot| pool.give(slot, 1));
    // std's: three hundred spinning threads would leave no CPU to each other.
    let all_have_one = Arc::new(Barrier::new(CROWD as usize));
    let threads = Vec::from_iter((1..=CROWD).map(|number| {
        let (pool, all_have_one) = (Arc::clone(&pool), Arc::clone(&all_have_one));
        thread::spawn(move || {
            let slot = pool.take(u64::from(number)).unwrap();
            all_have_one.wait();
            pool.give(slot, u64::from(number));
        })
    }));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // Threads that found no slot, while some were in magazines, made new ones.
    assert!(pool.end() >= CROWD);
}

macro_rules! claims {
    ($claims:tt over $($name:ident: $list:ty;)*) => {
        $(claims! { $claims in $name: $list })*
    };
    (($($claim:ident: $act:ident($($argument:expr)?);)*) in $name:ident: $list:ty) => {
        mod $name {
            use super::*;

            $(#[test]
            fn $claim() {
                $act::<$list>($($argument)?);
            })*
        }
    };
}

claims! {
    (
        threads_that_come_and_go_share_no_slot: threads_come_and_go(1_000);
        threads_that_want_the_same_few_slots_share_none: threads_come_and_go(3);
        slots_that_go_one_way_come_back: one_way();
        three_hundred_threads_at_once_have_a_slot_each: a_crowd_at_once();
    ) over
    scan: Scan;
    scan_as_published: Scan<Native, false>;
    tagged_stack: TaggedStack;
    magazines: Magazines;
    magazines_of_one: Magazines<Native, 1>;
}
