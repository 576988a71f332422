//! Who uses a line: its two words in the shadow, and when they change.
//!
//! The first word, *who*, is one of
//!
//! - 0: no access yet, or none since the memory was freed;
//! - *exclusive* to the thread that accessed it last, with the time;
//! - *read-shared*: threads have read it, one after the other;
//! - *contended*, with the number of its record. It stays so until the memory is freed.
//!
//! The second, *how*, says what the thread did that has the line to itself. One access of 32 is noted there.
//!
//! ```text
//!          first access             read by another
//!     0 ────────────────> exclusive ───────────────> read-shared
//!     ^                    │  ^   │                       │
//!     │             handed │  │   │ written, by it        │ written
//!     │               over └──┘   │ or by another         │
//!     │ freed                     v                       v
//!     └──────────────────────── contended <───────────────┘
//! ```
//!
//! Whether two accesses could have been simultaneous does not depend on how the threads happened to run, which differs
//! from run to run. Exclusive words are stamped with a clock that ticks whenever a thread is created. Memory that was last
//! used before a thread was created has been *handed over* to it, and what a thread has used that has ended, to its
//! creator. So what a thread does to an object that it makes and hands over to others is not recorded.
//!
//! # Rules
//!
//! 1. A word becomes contended, and ceases to be, under the lock of the records alone. So a line has one record, which is
//!    released once.
//! 2. Every other change is a compare-exchange, but for the line of an object that is freed and has it alone.
//! 3. `how` is written by the thread that `who` names, with plain stores. The two are never one access, so a thread that has
//!    just lost the line may still write it: then accesses are attributed to the wrong thread. Nothing else follows from it.
//!
//! The words publish nothing but themselves, so their accesses are Relaxed. All threads agree on the order of the changes
//! of one word: of two threads that use a line one sees the other's change. `tests/models.rs` has the claims.

use super::atomic::Ordering::{Relaxed, Release, SeqCst};
use super::atomic::{AtomicU32, fence};

/// The bits of the first word that say what it is: 0, or one of the next three.
pub(super) const STATE: u32 = 3 << 30;
/// One thread has the line, and its number and stamp follow.
pub(super) const EXCLUSIVE: u32 = 1 << 30;
/// Threads have read the line since the last write.
pub(super) const READ_SHARED: u32 = 2 << 30;
/// Threads contend for the line, and the number of its record follows.
pub(super) const CONTENDED: u32 = 3 << 30;

/// Threads that words tell apart.
pub(super) const THREADS: u32 = 1 << 15;
/// Times that they tell apart.
pub(super) const STAMPS: u32 = 1 << STAMP_BITS;
const STAMP_BITS: u32 = 15;

/// The logarithm of the bytes of a line: a constant, because every access needs it.
pub(super) const SHIFT: u32 = if cfg!(tenure_line = "128") { 7 } else { 6 };

/// The lowest bit of the count in `how`.
const ONE: u32 = 1 << 16;

/// What is known of a line.
#[repr(C)]
pub(super) struct LineWords {
    /// Who uses it.
    pub(super) who: AtomicU32,
    /// How the thread that has it to itself has used it: a bit for each eighth that was read, eight more for those that
    /// were written, and accesses, up to 65,535, in the high half.
    pub(super) how: AtomicU32,
}

/// The records of contended lines.
pub(super) trait Records {
    /// Held while a line becomes contended, or ceases to be.
    type Locked;

    fn lock(&self) -> Self::Locked;

    /// Whether the thread of this number has ended, and was created by the one that accesses the line.
    fn has_ended(&self, thread: u32) -> bool;

    /// A record for a line that had been this thread's alone, and how: see [`before_use`]. `None` if there is no room.
    fn make(&self, lock: &Self::Locked, thread: u32, before_use: u32) -> Option<u32>;

    /// Takes the record back.
    fn release(&self, lock: &Self::Locked, index: u32);
}

/// A thread that uses a line.
#[derive(Clone, Copy)]
pub(super) struct User {
    /// Its [`exclusive`] word with the present time.
    pub(super) own: u32,
    /// When it was created.
    pub(super) birth: u32,
}

impl LineWords {
    /// Notes an access of the thread that has the line to itself. It stands for as many as `times` says.
    pub(super) fn note(&self, address: usize, writes: bool, times: u32) {
        let how = self.how.load(Relaxed);
        let eighth = (address >> (SHIFT - 3)) as u32 & 7;
        let bit = 1 << (eighth | if writes { 8 } else { 0 });
        let count = (how / ONE + times).min(u32::MAX / ONE);
        self.how.store((how % ONE) | bit | (count * ONE), Relaxed);
    }

    /// Changes who uses the line for an access, and returns the new word. `who` is what the caller has read.
    pub(super) fn change(
        &self,
        user: User,
        mut who: u32,
        address: usize,
        writes: bool,
        records: &impl Records,
    ) -> u32 {
        loop {
            let new = match who & STATE {
                CONTENDED => return who,
                READ_SHARED if !writes => return who,
                READ_SHARED => return self.contend(records),
                EXCLUSIVE if !was_handed_over(user, who, records) => {
                    if writes || is_in_use(self.how.load(Relaxed)) {
                        return self.contend(records);
                    }
                    READ_SHARED
                }
                _ => user.own,
            };
            match self.who.compare_exchange(who, new, Relaxed, Relaxed) {
                Ok(_) if new == READ_SHARED => return new,
                Ok(_) => {
                    // The same thread at a later time goes on counting.
                    if who & STATE != EXCLUSIVE || thread(who) != thread(new) {
                        self.how.store(0, Relaxed);
                    }
                    self.note(address, writes, 1);
                    return new;
                }
                Err(now) => who = now,
            }
        }
    }

    /// Gives the line a record, unless it has one, and returns its new word.
    #[cold]
    fn contend(&self, records: &impl Records) -> u32 {
        let lock = records.lock();
        let now = self.who.load(Relaxed);
        if now & STATE == CONTENDED {
            return now;
        }
        let (thread, before_use) = match now & STATE {
            EXCLUSIVE => (thread(now), before_use(self.how.load(Relaxed))),
            _ => (0, 0),
        };
        let Some(index) = records.make(&lock, thread, before_use) else { return now };
        // Release: pairs with the Acquire fence before a thread's entry for this record is published. An observer that
        // sees the entry sees the record.
        self.who.store(CONTENDED | index, Release);
        CONTENDED | index
    }

    /// Forgets the line of an object that is being freed, and has it alone. `false` if it has a record to [`release`].
    ///
    /// A plain store: only a use after free comes in between, and costs a record.
    ///
    /// [`release`]: Self::release
    #[inline]
    pub(super) fn forget(&self) -> bool {
        let who = self.who.load(Relaxed);
        if who != 0 && who & STATE != CONTENDED {
            self.who.store(0, Relaxed);
        }
        who & STATE != CONTENDED
    }

    /// The same for a line that other objects may be on. Those that are read together by several threads stay so.
    pub(super) fn forget_edge(&self, is_vacant: impl FnOnce() -> bool) -> bool {
        let who = self.who.load(Relaxed);
        match who & STATE {
            EXCLUSIVE => _ = self.who.compare_exchange(who, 0, Relaxed, Relaxed),
            CONTENDED => {
                // SeqCst: pairs with the same fence of a thread that frees another object of the line. Each has forgotten
                // its own object before, so one of them sees that the line is vacant.
                fence(SeqCst);
                return !is_vacant();
            }
            _ => {}
        }
        true
    }

    /// Releases the line's record, if it still has one, and forgets the line.
    #[cold]
    pub(super) fn release(&self, records: &impl Records) {
        let lock = records.lock();
        let who = self.who.swap(0, Relaxed);
        if who & STATE == CONTENDED {
            records.release(&lock, who & !STATE);
        }
    }
}

/// The word of lines that a thread has to itself, without the time.
pub(super) const fn exclusive(thread: u32) -> u32 {
    EXCLUSIVE | (thread % THREADS) << STAMP_BITS
}

/// The thread of an exclusive word.
pub(super) const fn thread(word: u32) -> u32 {
    (word >> STAMP_BITS) % THREADS
}

/// Whether an exclusive word was stamped before that time.
pub(super) const fn is_before(word: u32, time: u32) -> bool {
    // Stamps wrap: of two, that one is earlier from which it is less than half of the way round to the other.
    let since = time.wrapping_sub(word) % STAMPS;
    since != 0 && since < STAMPS / 2
}

/// Whether the thread in an exclusive word has used the line before this one could, or is this one.
fn was_handed_over(user: User, who: u32, records: &impl Records) -> bool {
    thread(who) == thread(user.own) || is_before(who, user.birth) || records.has_ended(thread(who))
}

/// Whether a thread that has used a line like this has done more than initialise it. Tables that one thread fills and
/// others only read need no records.
const fn is_in_use(how: u32) -> bool {
    const TO_INITIALISE: u32 = 64;
    how >> 8 & 0xff != 0 && how / ONE > TO_INITIALISE
}

/// `how` as [`crate::segment::Line::before_use`] has it: accesses in the low half.
pub(super) const fn before_use(how: u32) -> u32 {
    how.rotate_left(16)
}
