//! What a thread does with a table.

use super::tables::Table;
use crate::scenario::lazy::Work;
use std::hint::black_box;

/// Objects that are there all the time.
const OBJECTS: u64 = 1_024;
/// The keys that a thread of [`Churn`] has to itself.
const OWN_KEYS: u64 = 64;

/// A table, and references to so many objects.
fn filled<T: Table>(objects: u64) -> (T, Vec<T::Held>) {
    let table = T::new();
    let held = (0..objects).map(|key| table.acquire(key)).collect();
    (table, held)
}

/// Acquires the one key there is.
pub(super) struct Hit<T: Table> {
    table: T,
    _held: Vec<T::Held>,
}

impl<T: Table> Work for Hit<T> {
    type Own = ();

    fn prepare() -> Self {
        let (table, held) = filled(1);
        Self { table, _held: held }
    }
    fn own(&self, _thread: usize) {}
    #[inline(always)]
    fn step(&self, _own: &mut ()) {
        black_box(T::read(&self.table.acquire(black_box(0))));
    }
}

/// Acquires the next of many keys.
pub(super) struct Spread<T: Table> {
    table: T,
    _held: Vec<T::Held>,
}

impl<T: Table> Work for Spread<T> {
    /// Where the thread is.
    type Own = u64;

    fn prepare() -> Self {
        let (table, held) = filled(OBJECTS);
        Self { table, _held: held }
    }
    fn own(&self, thread: usize) -> u64 {
        // Far from the others, however many there are.
        (thread as u64 * 389) % OBJECTS
    }
    #[inline(always)]
    fn step(&self, at: &mut u64) {
        *at = (*at + 1) % OBJECTS;
        black_box(T::read(&self.table.acquire(*at)));
    }
}

/// Acquires a key that nobody holds, and drops it.
pub(super) struct Churn<T: Table> {
    table: T,
    _held: Vec<T::Held>,
}

/// The keys of a thread, and where it is.
pub(super) struct Keys {
    first: u64,
    at: u64,
}

impl<T: Table> Work for Churn<T> {
    type Own = Keys;

    fn prepare() -> Self {
        let (table, held) = filled(OBJECTS);
        Self { table, _held: held }
    }
    fn own(&self, thread: usize) -> Keys {
        Keys { first: OBJECTS + thread as u64 * OWN_KEYS, at: 0 }
    }
    #[inline(always)]
    fn step(&self, keys: &mut Keys) {
        keys.at = (keys.at + 1) % OWN_KEYS;
        black_box(T::read(&self.table.acquire(keys.first + keys.at)));
    }
}
