//! [`Shootdown`]: nobody counts what idle seats keep; who ends an object takes it from them.
//!
//! Each slot has two words that matter, on a line that only its owner writes while nothing ends:
//!
//! ```text
//!   held     the block, with a tag in its low bits         active   whether the owner uses it
//!
//!                      MARKED ──────────> null             0 ────────────────> 1
//!                     ▲   │                 ▲                enter, lazy
//!      last handle    │   │ in use          │ the owner
//!      is gone        │   ▼                 │ takes the reference      1 ────────────────> 0
//!   null ──────> bare │  DONATED ───────────┘                            leave
//!        enter      (or FENCED: rule 7)
//! ```
//!
//! Whoever drops the last handle (the *ender*) marks the slots that have the block, passes one heavy barrier, and then
//! looks at who is using it. The owner of a slot that it finds idle has lost the block without having to run. The
//! owner of one in use gets a counted reference, donated by the ender, and gives it back when it leaves.
//!
//! ```text
//!   owner: lazy                     owner: leave                    ender
//!   active = 1                      active = 0                      held: block -> MARKED
//!   light barrier                   light barrier                   heavy barrier
//!   held is bare? use it            held is bare? done              active == 0: held: MARKED -> null
//!   else active = 0, resolve        else resolve                    else: get; held: MARKED -> DONATED, or put
//! ```
//!
//! 1. **A block enters a slot** by its owner, who has a strong reference meanwhile. So whoever ends the block, which
//!    comes after the last reference is gone, sees it there, or sees what the owner had done with it before it
//!    moved on. Objects that no slot has need no barrier.
//! 2. **The owner says `active` before it uses** a block, and takes it back after its last touch. It stores another
//!    block only while it is not active, or after a compare-exchange has emptied the word.
//! 3. **The ender frees a block** once every slot that had it is *settled*: the ender found it marked and idle after
//!    the barrier; or the slot has moved on; or its owner has a donated reference, the last of which frees.
//! 4. **Idle or seen.** The owner stores `active` and then looks at `held`; the ender marks `held` and then looks at
//!    `active`; a light and a heavy barrier lie between. So they cannot both miss the other. An owner that goes
//!    in and finds the bare pointer is found active. An owner that leaves and finds the bare pointer is found idle:
//!    whatever the ender would donate, it donates to an owner that will look again.
//! 5. **From a pointer without a reference.** A [`Cached`](crate::lazy::Cached) has its readers go by a pointer that
//!    others replace. Its blocks are `published`: they are ended after the pointer has been replaced, and by at least one
//!    barrier. A reader puts what it found into its slot, passes its barrier, and finds the pointer unchanged, or does
//!    not use the block. If it came before the ender's barrier the ender finds it in the slot after it; that slot is
//!    marked then, and one more barrier passed. Otherwise the reader sees that the pointer has been replaced.
//! 6. **Tags end with one of the two.** From `MARKED` the ender goes to null or to `DONATED`, the owner to null, each
//!    by compare-exchange; so a donation that comes too late is noticed by the ender, who has its reference still.
//!    After `DONATED` the word and the reference are the owner's. An owner that is not active may overwrite a mark:
//!    what the ender does after it is decided by `active`.
//! 7. **A bare word says that light barriers are free.** Where they are not, owners put their blocks in as `FENCED`. The
//!    fast paths pass a barrier that is none there, and go on with nothing but a bare word; with a tagged one they look
//!    again, after a real one.
//!
//! Destructors run last: when one does, its caller has done with the slot, or has it active so that a read of the same
//! thread takes another one.
//!
//! How long it takes: an ender passes over the seats twice and passes one barrier. For a published block there is one more of
//! each for every reader that was between its first look at the pointer and its second, at most once for each seat.
//! Nobody is waited for. An ender that finds another one at work leaves the block to it ([`dying`]), unless that one
//! has much to do already. So one ender goes round for others, a few times at most, before it calls any destructor.

mod batch;
mod dying;
mod slot;
mod verify;

use super::Scheme;
use super::protocol::{Block, Core, Protocol, destroy};
use crate::count::TicketRef;
use crate::memory::{Atomic, Ordering, Plain, Pointer, Threads};
use batch::Batch;
use core::ptr::{self, NonNull};
use dying::{Dying, Ender, List};
use slot::{bare, tagged, tags};

pub(super) use slot::{Object, Words};

/// Counts nothing while seats come and go, and interrupts who runs when an object ends: the default.
///
/// Entering the same object again, using what the seat kept, and leaving are plain loads and stores of the seat's own line.
/// The price is paid by whoever drops the last context of an object that some seat has: two looks at every seat and one
/// heavy barrier (`membarrier` on Linux, which interrupts the CPUs that run this process), for all objects that end at
/// the time.
///
/// With `VERIFY`, as in `Domain::<T, Shootdown<true>>::new_in()`, every shootdown ends with one more look at each seat, and
/// the process is aborted if one of them uses what is about to be freed: for tests, at the cost of two stores for each use.
///
/// After Linux's lazy TLB without reference counts (`MMU_LAZY_TLB_SHOOTDOWN`, Linux 6.4), which interrupts the CPUs that
/// have the object, and a scheme that was proposed after it, which donates references to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shootdown<const VERIFY: bool = false> {}

/// Tags of a held word, one at a time.
const MARKED: usize = 1;
const DONATED: usize = 2;
const FENCED: usize = 4;
const TAGS: usize = MARKED | DONATED | FENCED;

/// How often whoever has the turn goes round for others.
const ROUNDS: usize = 8;

/// What each object carries.
pub struct Ending<T, M: Threads, const VERIFY: bool> {
    /// From the last strong reference on: the ender's, and those that were donated.
    holders: TicketRef<M>,
    /// In a bucket of the batch it ends with.
    chain: M::Plain<*mut Object<T, M, VERIFY>>,
    /// Whether a seat ever entered it: those that none did are not looked for. Set by owners, who have a strong reference.
    entered: M::AtomicU32,
    /// Rule 5.
    published: bool,
}

impl<T, M: Threads, const VERIFY: bool> Ending<T, M, VERIFY> {
    fn new(published: bool) -> Self {
        Self {
            holders: TicketRef::new_in(),
            chain: Plain::new(ptr::null_mut()),
            entered: Atomic::new(0),
            published,
        }
    }

    /// A slot is about to have the object.
    fn enter(&self) {
        // Relaxed, here and in `may_be_in_a_slot`: the owner's reference goes before the last one does. The load keeps
        // the line, which the strong count is on, from being written again and again.
        if self.entered.load(Ordering::Relaxed) == 0 {
            self.entered.store(1, Ordering::Relaxed);
        }
    }

    /// Of an object without strong references.
    fn may_be_in_a_slot(&self) -> bool {
        self.published || self.entered.load(Ordering::Relaxed) != 0
    }

    /// For objects that are found through a pointer.
    pub(crate) fn published() -> Self {
        Self::new(true)
    }
}

impl<T, M: Threads, const VERIFY: bool> Default for Ending<T, M, VERIFY> {
    fn default() -> Self {
        Self::new(false)
    }
}

impl<M: Threads, const VERIFY: bool> Scheme<M> for Shootdown<VERIFY> {}

// SAFETY: a block in use is destroyed by nobody: the ender finds the slot active (rules 1, 4, 5) and donates (rule 3).
// Whoever is told the last put of a strong reference pushes the block, one thread takes it from the stack, and `holders`
// says "last" once.
unsafe impl<M: Threads, const VERIFY: bool> Protocol<M> for Shootdown<VERIFY> {
    const NAME: &'static str = "shootdown";
    type Object<T> = Ending<T, M, VERIFY>;
    type Slot<T> = Words<T, M, VERIFY>;
    type Domain<T> = Dying<T, M, VERIFY>;

    #[inline(always)]
    fn has<T>(slot: &Words<T, M, VERIFY>, block: NonNull<Object<T, M, VERIFY>>) -> bool {
        slot.has(block)
    }

    #[inline(always)]
    unsafe fn resume<T>(slot: &Words<T, M, VERIFY>, block: NonNull<Object<T, M, VERIFY>>) {
        slot.resume(block);
    }

    unsafe fn switch<T>(
        slot: &Words<T, M, VERIFY>,
        _number: u32,
        block: NonNull<Object<T, M, VERIFY>>,
    ) {
        // SAFETY: the caller's.
        unsafe { slot.switch(block) };
    }

    #[inline(always)]
    unsafe fn leave<T>(slot: &Words<T, M, VERIFY>, block: NonNull<Object<T, M, VERIFY>>) {
        // SAFETY: the caller's.
        unsafe { slot.leave(block) };
    }

    #[inline(always)]
    unsafe fn lazy<T>(slot: &Words<T, M, VERIFY>) -> Option<NonNull<Object<T, M, VERIFY>>> {
        // SAFETY: the caller's.
        unsafe { slot.lazy() }
    }

    unsafe fn clear<T>(slot: &Words<T, M, VERIFY>, _number: u32) {
        // SAFETY: the caller's.
        unsafe { slot.clear() };
    }

    unsafe fn retire<T>(
        core: &Core<T, Self, M>,
        blocks: impl Iterator<Item = NonNull<Object<T, M, VERIFY>>>,
    ) {
        // Also if the iterator panics, which is the user's.
        let mut ending = EndAtDrop { core, pushed: false };
        for block in blocks {
            // SAFETY: the last put was told to the caller, who gives the block to the stack.
            unsafe { core.scheme.push(block) };
            ending.pushed = true;
        }
    }
}

/// Ends what has been pushed, when it is dropped.
struct EndAtDrop<'c, T, M: Threads, const VERIFY: bool> {
    core: &'c Core<T, Shootdown<VERIFY>, M>,
    pushed: bool,
}

impl<T, M: Threads, const VERIFY: bool> Drop for EndAtDrop<'_, T, M, VERIFY> {
    fn drop(&mut self) {
        if !self.pushed {
            return;
        }
        let dying = &self.core.scheme;
        let mut ended = Ended(List::new());
        // A thread without a number could not be told from one that a fork has left behind.
        match M::thread().map_or(Ender::Both, |thread| dying.begin(thread)) {
            Ender::Other => return,
            Ender::Both => {}
            Ender::Turn(mut turn) => {
                for round in 1.. {
                    end(self.core, dying.take(), &mut ended);
                    match dying.end(turn) {
                        Ok(()) => return,
                        Err(again) => turn = again,
                    }
                    if round == ROUNDS {
                        dying.give_up(turn);
                        break;
                    }
                }
            }
        }
        end(self.core, dying.take(), &mut ended);
    }
}

/// Blocks that nobody has, to be destroyed when no turn is taken any more: destructors are the user's.
struct Ended<T, M: Threads, const VERIFY: bool>(List<T, M, VERIFY>);

impl<T, M: Threads, const VERIFY: bool> Ended<T, M, VERIFY> {
    fn destroy(&mut self) {
        while let Some(block) = self.0.pop() {
            // SAFETY: rule 3.
            unsafe { destroy(block) };
        }
    }
}

impl<T, M: Threads, const VERIFY: bool> Drop for Ended<T, M, VERIFY> {
    fn drop(&mut self) {
        /// If a destructor panics the others run all the same, as those of a vector do.
        struct IfOnePanics<'e, T, M: Threads, const VERIFY: bool>(&'e mut Ended<T, M, VERIFY>);
        impl<T, M: Threads, const VERIFY: bool> Drop for IfOnePanics<'_, T, M, VERIFY> {
            fn drop(&mut self) {
                self.0.destroy();
            }
        }
        IfOnePanics(self).0.destroy();
    }
}

/// Rule 6: the owner of a donated reference gives it back.
///
/// # Safety
///
/// There is one, and it is the caller's.
unsafe fn give_back<T, M: Threads, const VERIFY: bool>(block: NonNull<Object<T, M, VERIFY>>) {
    // SAFETY: the reference keeps the block up to the verdict.
    let holders = &unsafe { Block::header(block) }.object.holders;
    if holders.put().is_last() {
        // SAFETY: rule 3: the ender has settled all slots, and all donations are back.
        unsafe { destroy(block) };
    }
}

/// Takes the blocks of `list` from all slots, and moves those that nobody has to `ended`.
fn end<T, M: Threads, const VERIFY: bool>(
    core: &Core<T, Shootdown<VERIFY>, M>,
    mut list: List<T, M, VERIFY>,
    ended: &mut Ended<T, M, VERIFY>,
) {
    // SAFETY: the list, and then the batch, own their blocks.
    let object = |block| &unsafe { Block::header(block) }.object;
    let mut batch = Batch::new();
    let mut published = false;
    let mut count = 0;
    while let Some(block) = list.pop() {
        count += 1;
        let object = object(block);
        published |= object.published;
        if object.may_be_in_a_slot() {
            // SAFETY: it was the list's.
            unsafe { batch.push(block) };
        } else {
            // SAFETY: it was the list's, and no slot has it.
            unsafe { ended.0.push(block) };
        }
    }
    core.counters.ended.add(count);
    if batch.is_empty() {
        return;
    }
    // Of a block that no slot has, only a published one may come into one now.
    let mut unsettled = mark(core, &batch) | published;
    while unsettled {
        // Rules 4 and 5. Pairs with the light barriers of the slots' owners.
        M::heavy_barrier();
        core.counters.barriers.add(1);
        unsettled = settle(core, &batch);
    }
    if VERIFY {
        verify::verify(core, &batch);
    }
    for block in batch.into_blocks() {
        if object(block).holders.put_last().is_last() {
            // SAFETY: nobody has it.
            unsafe { ended.0.push(block) };
        }
    }
}

/// Marks the slots that have a block of the batch. Returns whether there were any.
fn mark<T, M: Threads, const VERIFY: bool>(
    core: &Core<T, Shootdown<VERIFY>, M>,
    batch: &Batch<T, M, VERIFY>,
) -> bool {
    let mut marked = false;
    for (_, slot) in core.slots() {
        // Acquire: where the owner has moved on from a block of the batch it has done with it. Pairs with its Release.
        let held = slot.scheme.held.load(Ordering::Acquire);
        if let Some(block) = batch.find(bare(held)) {
            marked |= slot.scheme.mark(block, held);
        }
    }
    marked
}

/// Settles the slots that have a block of the batch. Returns whether another barrier is asked for.
fn settle<T, M: Threads, const VERIFY: bool>(
    core: &Core<T, Shootdown<VERIFY>, M>,
    batch: &Batch<T, M, VERIFY>,
) -> bool {
    let (mut revoked, mut donated, mut marked) = (0, 0, false);
    for (_, slot) in core.slots() {
        // Acquire: as in `mark`.
        let held = slot.scheme.held.load(Ordering::Acquire);
        let Some(block) = batch.find(bare(held)) else { continue };
        match tags(held) {
            MARKED => match slot.scheme.settle(block) {
                Settled::Revoked => revoked += 1,
                Settled::Donated => donated += 1,
                Settled::MovedOn => {}
            },
            DONATED => {}
            // Rule 5: it came before the barrier, and was not seen then.
            _ => marked |= slot.scheme.mark(block, held),
        }
    }
    core.counters.revoked.add(revoked);
    core.counters.donated.add(donated);
    marked
}

/// How a marked slot came to have its block no more, or to own a reference.
enum Settled {
    Revoked,
    Donated,
    MovedOn,
}

/// What enders do with a slot.
impl<T, M: Threads, const VERIFY: bool> Words<T, M, VERIFY> {
    /// Marks the slot, which had `block` as `held`, if it still does. Returns whether it did.
    fn mark(&self, block: NonNull<Object<T, M, VERIFY>>, held: *mut Object<T, M, VERIFY>) -> bool {
        let marked = tagged(block.as_ptr(), MARKED);
        // Relaxed: nothing is passed on to the owner. Acquire on failure: the owner has moved on, as in `mark`.
        self.held.compare_exchange(held, marked, Ordering::Relaxed, Ordering::Acquire).is_ok()
    }

    /// After the barrier: takes `block`, whose mark the slot had, from it if the owner is idle.
    fn settle(&self, block: NonNull<Object<T, M, VERIFY>>) -> Settled {
        // SAFETY: the ender has a reference until all slots are settled.
        let holders = &unsafe { Block::header(block) }.object.holders;
        let block = block.as_ptr();
        let marked = tagged(block, MARKED);
        // Rule 4. Acquire: pairs with the Release in `deactivate`: the owner has done with the block; and with the
        // one in `activate`: an owner that is active for another block has overwritten the mark.
        if self.active.load(Ordering::Acquire) == 0 {
            // Relaxed: the owner has lost it, and needs to see nothing. If it was the owner who took the mark away
            // that says the same.
            let taken = self.held.compare_exchange(
                marked,
                ptr::null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            return if taken.is_ok() { Settled::Revoked } else { Settled::MovedOn };
        }
        holders.get_held();
        // Release: pairs with the Acquire in `resolve`: the reference was taken. Acquire on failure: the owner has
        // done with the block.
        let donated = self.held.compare_exchange(
            marked,
            tagged(block, DONATED),
            Ordering::Release,
            Ordering::Acquire,
        );
        if donated.is_ok() {
            return Settled::Donated;
        }
        let still = holders.put();
        debug_assert!(!still.is_last(), "the ender has a reference");
        Settled::MovedOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_fit_below_the_alignment_of_blocks() {
        const { assert!(TAGS < align_of::<Object<u8, crate::memory::Native, false>>()) };
    }
}
