//! Thread numbers, claimed and handed on: no two threads have one at a time, and the next owner sees what the one
//! before did.

use super::memory::{Field, InOrder, Loom};
use super::stage::{ALL, Heap, passes, spawn};
use std::sync::Arc;
use tenure::memory::{Memory, Numbers, Plain};

/// Each thread accesses plainly what there is under its number.
pub(crate) fn claimed_by_threads<M: Memory>(before: u32, threads: usize) {
    let numbers = Arc::new(Numbers::<M>::new_in());
    let places = Heap::new([0; 3].map(Field::new));
    let act = {
        let (numbers, places) = (Arc::clone(&numbers), places.clone());
        move || {
            // Which thread it is only matters to a fork.
            let claim = numbers.claim(std::ptr::dangling_mut());
            // SAFETY: loom panics where another thread uses the field meanwhile.
            places[claim.number() as usize].with_mut(|place| unsafe { *place += 1 });
            drop(claim);
        }
    };
    // Records that are there already.
    (0..before).for_each(|_| act());
    let others = Vec::from_iter((1..threads).map(|_| spawn(act.clone())));
    act();
    others.into_iter().for_each(|other| other.join().unwrap());
    // SAFETY: as above.
    let used = places.iter().map(|place| unsafe { place.read() }).sum::<u32>();
    assert_eq!(used as usize, before as usize + threads);
}

tests! {
    a_number_is_handed_on_with_what_its_owner_did =>
        passes(ALL, || claimed_by_threads::<Loom>(1, 2)),
        passes(ALL, || claimed_by_threads::<InOrder>(1, 2));
    threads_that_find_no_free_number_add_one_each =>
        passes(ALL, || claimed_by_threads::<Loom>(0, 2)),
        passes(Some(2), || claimed_by_threads::<Loom>(0, 3));
}
