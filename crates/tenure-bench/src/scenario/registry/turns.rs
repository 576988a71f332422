//! What a thread does with a table.

use super::tables::Table;
use crate::scenario::workers::Work;
use std::hint::black_box;

/// Objects that are there all the time, where there are many.
const OBJECTS: u64 = 1_024;

/// Acquires the next of `KEYS` keys, reads the object and drops it, beside `THERE` objects that are held all the time.
/// The keys are theirs, and all threads share them; unless `OWN`: then each thread has keys that no other one holds.
pub(super) struct Turn<T: Table, const THERE: u64, const KEYS: u64, const OWN: bool> {
    table: T,
    _held: Vec<T::Held>,
}

/// The one key there is.
pub(super) type Hit<T> = Turn<T, 1, 1, false>;
/// Many keys.
pub(super) type Spread<T> = Turn<T, OBJECTS, OBJECTS, false>;
/// Objects that come and go.
pub(super) type Churn<T> = Turn<T, OBJECTS, 64, true>;

/// The keys of a thread, and where it is.
pub(super) struct Keys {
    first: u64,
    at: u64,
}

impl<T: Table, const THERE: u64, const KEYS: u64, const OWN: bool> Work
    for Turn<T, THERE, KEYS, OWN>
{
    type Own = Keys;

    fn prepare(_threads: usize) -> Self {
        let table = T::new();
        let held = (0..THERE).map(|key| table.acquire(key)).collect();
        Self { table, _held: held }
    }
    fn own(&self, thread: usize) -> Keys {
        let thread = thread as u64;
        // Keys that threads share are begun far from each other, however many threads there are.
        if OWN {
            Keys { first: THERE + thread * KEYS, at: 0 }
        } else {
            Keys { first: 0, at: (thread * 389) % KEYS }
        }
    }
    #[inline(always)]
    fn step(&self, keys: &mut Keys) {
        keys.at = (keys.at + 1) % KEYS;
        let key = keys.first + keys.at;
        // That it is always the same key must not help.
        let key = if KEYS == 1 { black_box(key) } else { key };
        black_box(T::read(&self.table.acquire(key)));
    }
}
