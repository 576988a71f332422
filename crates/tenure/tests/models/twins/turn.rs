//! The turn to create of a registry's entry in its smallest form, with a switch for each rule.

use super::super::memory::{Loom, set_number};
use super::super::registry::Sleeper;
use super::super::stage::Failure::{Claim, ValueRace};
use super::super::stage::{Value, fails, passes, spawn};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Waker;
use tenure::memory::{Atomic, Memory, Ordering};

pub(crate) trait Flaw: 'static {
    /// Whether the turn is taken by an exchange, or by a look and a store.
    const EXCHANGES: bool = true;
    /// Whether a waiter is in the list before it looks for the last time.
    const LISTED_FIRST: bool = true;
    /// Whether the end of a turn wakes all, or the first.
    const WAKES_ALL: bool = true;
}

flaws! {
    Sound {}
    LooksAndStores { EXCHANGES: bool = false }
    LooksFirst { LISTED_FIRST: bool = false }
    WakesOne { WAKES_ALL: bool = false }
}

const CREATING: u32 = 1;

struct Entry<F> {
    state: <Loom as Memory>::AtomicU32,
    waiters: loom::sync::Mutex<Vec<Waker>>,
    /// Written in the turn.
    value: Value,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> Entry<F> {
    fn new(state: u32) -> Arc<Self> {
        set_number(0);
        let waiters = loom::sync::Mutex::new(Vec::new());
        Arc::new(Self {
            state: Atomic::new(state),
            waiters,
            value: Value::new(1),
            flaw: PhantomData,
        })
    }

    fn is_taken_by_caller(&self) -> bool {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if F::EXCHANGES {
            return self.state.compare_exchange(0, CREATING, acquire, relaxed).is_ok();
        }
        let is_free = self.state.load(acquire) == 0;
        if is_free {
            self.state.store(CREATING, relaxed);
        }
        is_free
    }

    fn wait(&self) {
        let sleeper = Arc::new(Sleeper::default());
        let join = || self.waiters.lock().unwrap().push(Waker::from(sleeper.clone()));
        loop {
            if F::LISTED_FIRST {
                join();
            }
            if self.is_taken_by_caller() {
                return;
            }
            if !F::LISTED_FIRST {
                join();
            }
            sleeper.sleep();
        }
    }

    fn use_turn(&self) {
        self.value.write(self.value.look() + 1);
        self.state.fetch_sub(CREATING, Ordering::Release);
        let mut waiters = self.waiters.lock().unwrap();
        let last = if F::WAKES_ALL { waiters.len() } else { waiters.len().min(1) };
        let woken = Vec::from_iter(waiters.drain(..last));
        drop(waiters);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// Two want the turn, which is free.
fn two_turns<F: Flaw>() {
    let entry = Entry::<F>::new(0);
    let other = spawn({
        let entry = entry.clone();
        move || {
            entry.wait();
            entry.use_turn();
        }
    });
    entry.wait();
    entry.use_turn();
    other.join().unwrap();
    assert_eq!(entry.value.look(), 3);
}

/// A turn ends ‖ one waits for it, behind one that does not any more.
fn a_wait_behind_one_that_gave_up<F: Flaw>() {
    let entry = Entry::<F>::new(CREATING);
    entry.waiters.lock().unwrap().push(Waker::noop().clone());
    let other = spawn({
        let entry = entry.clone();
        move || {
            entry.wait();
            entry.use_turn();
        }
    });
    entry.use_turn();
    other.join().unwrap();
}

tests! {
    the_sound_copy_of_a_turn_passes =>
        passes(Some(2), two_turns::<Sound>),
        passes(Some(2), a_wait_behind_one_that_gave_up::<Sound>);
    a_turn_that_is_taken_by_a_look_and_a_store_has_two_owners =>
        fails(Some(2), ValueRace, two_turns::<LooksAndStores>);
    a_waiter_that_looks_before_it_is_in_the_list_sleeps_for_ever =>
        fails(Some(2), Claim("deadlock"), two_turns::<LooksFirst>);
    a_turn_whose_end_wakes_one_wakes_one_that_gave_up =>
        fails(Some(2), Claim("deadlock"), a_wait_behind_one_that_gave_up::<WakesOne>);
}
