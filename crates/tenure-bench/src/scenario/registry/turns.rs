use super::tables::KeyedTable;
use crate::scenario::Variant;
use crate::scenario::workers::nameless;
use std::hint::black_box;

/// There all the time, in scenarios with many keys.
const OBJECTS: u64 = 1_024;

pub(super) fn hit<T: KeyedTable>(name: &'static str) -> Variant {
    turn::<T, 1, 1, false>(name)
}

pub(super) fn spread<T: KeyedTable>(name: &'static str) -> Variant {
    turn::<T, OBJECTS, OBJECTS, false>(name)
}

pub(super) fn churn<T: KeyedTable>(name: &'static str) -> Variant {
    turn::<T, OBJECTS, 64, true>(name)
}

/// Acquires the next of `KEYS` keys, reads the object and drops it, beside `THERE` objects that are held all the time.
/// Threads share the keys, or with `OWN` have keys that no other one holds.
fn turn<T: KeyedTable, const THERE: u64, const KEYS: u64, const OWN: bool>(
    name: &'static str,
) -> Variant {
    let shared = |_| {
        let table = T::new();
        let held: Vec<T::Held> = (0..THERE).map(|key| table.acquire(key)).collect();
        (table, held)
    };
    // The first key, and its place. Threads begin far apart on shared keys.
    let own = |_: &_, thread| match thread as u64 {
        thread if OWN => (THERE + thread * KEYS, 0),
        thread => (0, (thread * 389) % KEYS),
    };
    let step = |(table, _): &(T, Vec<T::Held>), (first, at): &mut (u64, u64)| {
        *at = (*at + 1) % KEYS;
        let key = *first + *at;
        // The compiler must not know that the key is always the same.
        let key = if KEYS == 1 { black_box(key) } else { key };
        black_box(T::read(&table.acquire(key)));
    };
    Variant::workers(name, shared, own, step, nameless)
}
