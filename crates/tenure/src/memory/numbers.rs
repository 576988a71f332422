//! Numbers for threads: claimed, handed on, and lost in a fork.
//!
//! A number belongs to a *record*, in a list that only grows: as long as there ever were threads at once. A thread
//! claims the first free record by one compare-exchange, or adds one: no lock that a fork could leave held. Each record
//! notes the last fork that its thread lived through; those of lost threads stay claimed.
//!
//! A claimed record holds its thread's address, by which a fork finds the records that live on. A later thread may get
//! the address of a lost one, so a lost record stays lost.

use super::{Atomic, Memory, Ordering, Pointer};
use alloc::boxed::Box;
use core::ptr;

const FREE: *mut () = ptr::null_mut();

/// The numbers of a machine's threads.
#[doc(hidden)]
pub struct Numbers<M: Memory> {
    pub(super) first: M::Pointer<Record<M>>,
    pub(super) count: M::AtomicU32,
    /// See [`forks`](Self::forks).
    pub(super) forks: M::AtomicU32,
}

pub(super) struct Record<M: Memory> {
    number: u32,
    /// Its thread's address, which is not read, or [`FREE`].
    owner: M::Pointer<()>,
    /// [`Numbers::forks`] when the thread was last known to live; of a free record, the current one.
    forks: M::AtomicU32,
    next: Option<&'static Self>,
}

/// A number, the caller's until this is dropped.
#[doc(hidden)]
pub struct Claim<M: Memory>(&'static Record<M>);

impl<M: Memory> Claim<M> {
    /// The number, which no other claim has.
    pub fn number(&self) -> u32 {
        self.0.number
    }
}

impl<M: Memory> Drop for Claim<M> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `claim`: the next owner sees what this one did.
        self.0.owner.store(FREE, Ordering::Release);
    }
}

impl<M: Memory> Numbers<M> {
    /// No numbers yet.
    pub fn new_in() -> Self {
        Self { first: Pointer::new(ptr::null_mut()), count: Atomic::new(0), forks: Atomic::new(0) }
    }

    fn records(&self) -> impl Iterator<Item = &'static Record<M>> {
        // Acquire: pairs with the Release in `claim`: the records are initialised.
        let first = self.first.load(Ordering::Acquire).cast_const();
        // SAFETY: records are never freed, and not written plainly once published.
        core::iter::successors(unsafe { first.as_ref() }, |record| record.next)
    }

    /// Claims a free number, or a new one, for the thread at that address, which is not null.
    pub fn claim(&self, owner: *mut ()) -> Claim<M> {
        debug_assert!(owner != FREE);
        let claimed = |record: &&Record<M>| {
            // Acquire: pairs with the Release in the drop of the claim before. Relaxed: another thread's record says
            // nothing.
            let claim =
                record.owner.compare_exchange(FREE, owner, Ordering::Acquire, Ordering::Relaxed);
            claim.is_ok()
        };
        if let Some(record) = self.records().find(claimed) {
            return Claim(record);
        }
        let record = Box::leak(Box::new(Record {
            // Relaxed: only the number is passed on.
            number: self.count.fetch_add(1, Ordering::Relaxed),
            owner: Pointer::new(owner),
            forks: Atomic::new(self.forks()),
            next: None,
        }));
        // Acquire, here and on failure: pairs with the Release below: the next record is initialised.
        let mut first = self.first.load(Ordering::Acquire);
        loop {
            // SAFETY: as in `records`.
            record.next = unsafe { first.cast_const().as_ref() };
            let record = ptr::from_mut(record);
            // Release: pairs with the Acquire in `records`, and above.
            match self.first.compare_exchange(first, record, Ordering::Release, Ordering::Acquire) {
                // SAFETY: it is published, and from now on only shared.
                Ok(_) => return Claim(unsafe { &*record }),
                Err(found) => first = found,
            }
        }
    }

    /// The forgotten claim of that number.
    ///
    /// # Safety
    ///
    /// The caller has claimed it, and forgotten the claim.
    pub unsafe fn claim_of(&self, number: u32) -> Claim<M> {
        Claim(self.records().find(|record| record.number == number).expect("records stay"))
    }

    /// Forks between the first process and this one.
    pub fn forks(&self) -> u32 {
        // Relaxed: forks are counted while there is one thread.
        self.forks.load(Ordering::Relaxed)
    }

    /// Whether a fork left the thread of that number behind.
    pub fn is_lost(&self, number: u32) -> bool {
        let forks = self.forks();
        // Relaxed: as in `forks`.
        let lost = |record: &Record<M>| record.forks.load(Ordering::Relaxed) != forks;
        forks != 0 && self.records().any(|record| record.number == number && lost(record))
    }

    /// Counts a fork: in the child, while its only thread is the one at that address. Neither allocates nor locks.
    pub fn fork(&self, own: *mut ()) {
        // Relaxed, here and below: there is no other thread.
        let before = self.forks.fetch_add(1, Ordering::Relaxed);
        let lives_on = |record: &&Record<M>| {
            let owner = record.owner.load(Ordering::Relaxed);
            // Free records live on too, or their next owners would look lost. A record that was lost before does not:
            // its owner only had the same address.
            owner == FREE || (owner == own && record.forks.load(Ordering::Relaxed) == before)
        };
        self.records()
            .filter(lives_on)
            .for_each(|record| record.forks.store(before.wrapping_add(1), Ordering::Relaxed));
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::memory::Native;
    use std::sync::LazyLock;

    // Statics, because records are never freed: leak checkers ask what points to them.

    fn thread(nth: usize) -> *mut () {
        ptr::without_provenance_mut(nth)
    }

    #[test]
    fn a_number_is_claimed_again_when_it_is_free_and_not_before() {
        static NUMBERS: LazyLock<Numbers<Native>> = LazyLock::new(Numbers::new_in);
        let numbers = &*NUMBERS;
        let (first, second) = (numbers.claim(thread(1)), numbers.claim(thread(2)));
        assert_eq!([first.number(), second.number()], [0, 1]);
        drop(first);
        let (again, third) = (numbers.claim(thread(3)), numbers.claim(thread(4)));
        assert_eq!([again.number(), third.number()], [0, 2]);
    }

    #[test]
    fn after_a_fork_other_threads_are_lost_and_their_numbers_stay_taken() {
        static NUMBERS: LazyLock<Numbers<Native>> = LazyLock::new(Numbers::new_in);
        let numbers = &*NUMBERS;
        let [own, theirs, ended] = [1, 2, 3].map(|nth| numbers.claim(thread(nth)));
        drop(ended);
        let are_lost = || [0, 1, 2, 3].map(|number| numbers.is_lost(number));
        assert_eq!(are_lost(), [false; 4]);

        numbers.fork(thread(1));
        assert_eq!(are_lost(), [false, true, false, false]);
        let (again, new) = (numbers.claim(thread(4)), numbers.claim(thread(5)));
        assert_eq!([again.number(), new.number()], [2, 3], "a lost thread's number is given out");
        assert_eq!(are_lost(), [false, true, false, false], "a thread of the child is lost");

        // By a thread of the child that has no number.
        drop(new);
        numbers.fork(thread(6));
        assert_eq!(are_lost(), [true, true, true, false]);
        assert_eq!(numbers.claim(thread(6)).number(), 3);
        drop((own, theirs, again));
    }

    #[test]
    fn every_number_of_the_thread_that_forks_lives_on() {
        static NUMBERS: LazyLock<Numbers<Native>> = LazyLock::new(Numbers::new_in);
        let numbers = &*NUMBERS;
        let [own, theirs, borrowed] = [1, 2, 1].map(|nth| numbers.claim(thread(nth)));
        // As the C library does where a program registered several hooks.
        (0..2).for_each(|_| numbers.fork(thread(1)));
        assert_eq!([0, 1, 2].map(|number| numbers.is_lost(number)), [false, true, false]);

        drop(borrowed);
        let next = numbers.claim(thread(3));
        assert_eq!(next.number(), 2);
        assert!(!numbers.is_lost(2), "the next owner is lost");
        drop((own, theirs, next));
    }

    #[test]
    fn a_lost_number_stays_lost_when_a_thread_at_the_same_address_forks() {
        static NUMBERS: LazyLock<Numbers<Native>> = LazyLock::new(Numbers::new_in);
        let numbers = &*NUMBERS;
        let [own, lost] = [1, 2].map(|nth| numbers.claim(thread(nth)));
        numbers.fork(thread(1));
        let new = numbers.claim(thread(2));
        numbers.fork(thread(2));
        assert_eq!([0, 1, 2].map(|number| numbers.is_lost(number)), [true, true, false]);
        drop((own, lost, new));
    }
}
