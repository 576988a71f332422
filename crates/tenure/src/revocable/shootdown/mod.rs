//! [`Shootdown`]: nothing counts what idle local handles keep. The thread that retires an object takes it from them.
//!
//! A handle's slot has two words that matter, on a line that only its owner writes while nothing is retired:
//!
//! ```text
//!   held     the block, with a tag in its low bits         active   whether the owner uses it
//!
//!                      MARKED ──────────> null             0 ────────────────> 1
//!                     ▲   │                 ▲                enter, kept
//!      last handle    │   │ in use          │ the owner
//!      is gone        │   ▼                 │ takes the reference      1 ────────────────> 0
//!   null ──────> bare │  DONATED ───────────┘                            leave
//!        enter      (or FENCED: rule 7)
//! ```
//!
//! After the last strong handle is gone a thread becomes the object's *reclaimer*. It marks the slots that have the
//! block, passes one heavy barrier, and looks which owners use it. It takes the block from an idle slot, whose owner
//! need not run. To an active one it donates a counted reference, which the owner gives back when it leaves.
//!
//! ```text
//!   owner: kept                     owner: leave                    reclaimer
//!   active = 1                      active = 0                      held: block -> MARKED
//!   light barrier                   light barrier                   heavy barrier
//!   held is bare? use it            held is bare? done              active == 0: held: MARKED -> null
//!   else active = 0, resolve        else resolve                    else: get; held: MARKED -> DONATED, or put
//! ```
//!
//! 1. **An owner puts a block into its slot** while it has a strong reference. So the reclaimer sees it there, or sees
//!    all that the owner did before it moved on. An object that no slot has needs no barrier.
//! 2. **The owner sets `active` before it uses** a block, and clears it after its last touch. It stores another block
//!    only while it is not active, or after a compare-exchange has emptied the word.
//! 3. **The reclaimer frees a block** when every slot that had it is *settled*: marked and idle after the barrier,
//!    moved on, or with a donated reference. The last of those frees it.
//! 4. **Idle or seen.** The owner stores `active`, then looks at `held`; the reclaimer marks `held`, then looks at
//!    `active`; a light and a heavy barrier lie between. So they cannot both miss the other. An owner that finds the
//!    bare pointer is found active if it enters, idle if it leaves: any donation goes to an owner that will look again.
//! 5. **From a pointer without a reference.** Readers of an [`RcuCell`](crate::revocable::RcuCell) follow a pointer that
//!    writers replace. Its blocks are `published`: retired after the pointer has been replaced, and reclaimed with at
//!    least one barrier. A reader stores what it found in its slot, passes its barrier, and uses the block only if the
//!    pointer is unchanged. If it came before the reclaimer's barrier, the reclaimer finds the block, marks it, and
//!    passes one more barrier. Otherwise the reader sees that the pointer was replaced.
//! 6. **One side removes a tag.** From `MARKED` the reclaimer goes to null or `DONATED`, and the owner to null, each by
//!    compare-exchange. So the reclaimer notices a donation that comes too late, and still has the reference. After
//!    `DONATED` the word and the reference are the owner's. An idle owner may overwrite a mark: `active` decides what
//!    the reclaimer does then.
//! 7. **A bare word means that light barriers are free.** Where they are not, owners store their blocks as `FENCED`.
//!    The fast paths pass a barrier only where it is free, and accept only a bare word. If it is tagged they look again
//!    after a real one.
//!
//! Destructors run last: by then the caller is done with the slot, or keeps it active so that a read on the same thread
//! takes another one.
//!
//! Cost: two looks at each handle and one barrier. For a published block, each reader that was between its two looks at
//! the pointer adds one more of both, at most once per handle. No thread waits.

mod retire;
mod slot;
mod verify;

use super::destroy::destroy_all;
use super::protocol::{AtomicU32, Block, Inner, Protocol};
use super::scheme::On;
use crate::count::generic::TicketRef;
use crate::memory::{Atomic, Memory, Native, Ordering, Plain, Pointer, Threads};
use core::ptr::{self, NonNull};
use retire::{Batch, List, RetireList, Role};
use slot::{DONATED, MARKED, Settled, bare, tags};

pub(super) use slot::State;

/// Counts nothing while workers enter and leave, and interrupts running threads when an object is retired: the default.
///
/// Entering the same object again and leaving are plain loads and stores on the handle's own line. Dropping the last
/// strong handle of an object that some handle has takes two looks at every handle and one heavy barrier (`membarrier` on
/// Linux, which interrupts the CPUs that run this process), for all objects that are retired at the time.
///
/// After Linux's lazy TLB without reference counts (`MMU_LAZY_TLB_SHOOTDOWN`, Linux 6.4), which interrupts the CPUs
/// that have the object, and a scheme proposed after it, which donates references to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shootdown {}

/// [`Shootdown`] for tests: ends with one more look at each handle, and aborts the process if one uses what is about to
/// be freed. Costs two stores for each use.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {}

/// A shootdown on some machine. Only such schemes can publish objects through a pointer.
pub trait Revoking: Sized + 'static {
    /// The machine that it runs on.
    type Memory: Threads;
    /// Whether shootdowns are verified.
    const VERIFY: bool;
}

impl Revoking for Shootdown {
    type Memory = Native;
    const VERIFY: bool = false;
}

impl Revoking for Verified {
    type Memory = Native;
    const VERIFY: bool = true;
}

impl<M: Threads, S: Revoking> Revoking for On<M, S> {
    type Memory = M;
    const VERIFY: bool = S::VERIFY;
}

/// What each object carries.
pub struct ObjectState<T, S: Revoking> {
    /// References after the last strong one: the reclaimer's, and those that it donated.
    holders: TicketRef<S::Memory>,
    /// The next block in a bucket of its batch.
    chain: <S::Memory as Memory>::Plain<*mut Block<T, S>>,
    /// Set by owners, who have a strong reference.
    entered: AtomicU32<S>,
    /// Rule 5.
    published: bool,
}

impl<T, S: Revoking> ObjectState<T, S> {
    fn new(published: bool) -> Self {
        let chain = Plain::new(ptr::null_mut());
        Self { holders: TicketRef::new_in(), chain, entered: Atomic::new(0), published }
    }

    pub(super) fn published() -> Self {
        Self::new(true)
    }

    /// Before a slot has the object.
    fn transition_to_entered(&self) {
        // Relaxed, here and below: the owner's reference goes before the last one does. The load comes first so that
        // the line, on which the strong count is too, is not written again and again.
        if self.entered.load(Ordering::Relaxed) == 0 {
            self.entered.store(1, Ordering::Relaxed);
        }
    }

    /// Asked of an object without strong references.
    fn may_be_in_a_slot(&self) -> bool {
        self.published || self.entered.load(Ordering::Relaxed) != 0
    }
}

impl<T, S: Revoking> Default for ObjectState<T, S> {
    fn default() -> Self {
        Self::new(false)
    }
}

// SAFETY: no thread destroys a block that is in use: the reclaimer finds the slot active (rules 1, 4, 5) and donates
// (rule 3). Each is destroyed once: one last put pushes it, one thread takes it from the list, `holders` has one last
// put.
unsafe impl<S: Revoking> Protocol for S {
    const NAME: &'static str = "shootdown";
    type Memory = S::Memory;
    type Object<T> = ObjectState<T, S>;
    type State<T> = State<T, S>;
    type Domain<T> = RetireList<T, S>;

    unsafe fn retire<T>(
        inner: &Inner<T, Self>,
        blocks: impl Iterator<Item = NonNull<Block<T, Self>>>,
    ) {
        // Also if the iterator panics, which may be a user's.
        let mut at_drop = ReclaimAtDrop { inner, pushed: false };
        for block in blocks {
            // SAFETY: the caller put the last reference, and gives the block away.
            unsafe { inner.scheme.push(block) };
            at_drop.pushed = true;
        }
    }
}

struct ReclaimAtDrop<'i, T, S: Revoking> {
    inner: &'i Inner<T, S>,
    pushed: bool,
}

impl<T, S: Revoking> Drop for ReclaimAtDrop<'_, T, S> {
    fn drop(&mut self) {
        if self.pushed {
            reclaim_or_delegate(self.inner);
        }
    }
}

/// How often a combiner goes round for other threads.
const ROUNDS: usize = 8;

fn reclaim_or_delegate<T, S: Revoking>(inner: &Inner<T, S>) {
    let list = &inner.scheme;
    // A thread without a number could not be told from one that a fork left behind.
    let mut combiner = match S::Memory::thread().map_or(Role::Alone, |thread| list.request(thread))
    {
        Role::Delegated => return,
        Role::Alone => None,
        Role::Combiner(combiner) => Some(combiner),
    };
    let mut unused = List::new();
    for round in 1.. {
        reclaim(inner, list.take(), &mut unused);
        let Some(before) = combiner.take() else { break };
        match list.finish(before) {
            Ok(()) => break,
            Err(again) if round < ROUNDS => combiner = Some(again),
            Err(again) => list.resign(again),
        }
    }
    // Now that this thread is not the combiner: destructors are the user's.
    // SAFETY: rule 3.
    unsafe { destroy_all(inner, unused) };
}

/// Takes the blocks of `list` from all slots, and moves unused ones to `unused`.
fn reclaim<T, S: Revoking>(inner: &Inner<T, S>, list: List<T, S>, unused: &mut List<T, S>) {
    // SAFETY: the list, and then the batch, own their blocks.
    let object = |block| &unsafe { Block::header(block) }.object;
    let mut batch = Batch::new();
    let (mut published, mut count) = (false, 0);
    for block in list {
        count += 1;
        let object: &ObjectState<T, S> = object(block);
        published |= object.published;
        if object.may_be_in_a_slot() {
            // SAFETY: it was the list's.
            unsafe { batch.push(block) };
        } else {
            // SAFETY: as above.
            unsafe { unused.push(block) };
        }
    }
    inner.counters.retired.add(count);
    if batch.is_empty() {
        return;
    }
    // If no slot has a block, only a published one may come into a slot now.
    let mut unsettled = mark(inner, &batch) | published;
    while unsettled {
        // Rules 4 and 5. Pairs with the light barriers of the slots' owners.
        S::Memory::heavy_barrier();
        inner.counters.barriers.add(1);
        unsettled = settle(inner, &batch);
    }
    if S::VERIFY {
        verify::verify(inner, &batch);
    }
    for block in batch.into_blocks() {
        if object(block).holders.put_last().is_last() {
            // SAFETY: it was the batch's, and no donation is out.
            unsafe { unused.push(block) };
        }
    }
}

/// Marks the slots that have a block of the batch. Returns whether there were any.
fn mark<T, S: Revoking>(inner: &Inner<T, S>, batch: &Batch<T, S>) -> bool {
    let mut marked = false;
    for (_, slot) in inner.slots() {
        // Acquire: pairs with the owner's Release: if it has moved on from a block of the batch, it is done with it.
        let held = slot.held.load(Ordering::Acquire);
        if let Some(block) = batch.find(bare(held)) {
            marked |= slot.transition_to_marked(block, held);
        }
    }
    marked
}

/// Settles the slots that have a block of the batch. Returns whether that takes another barrier.
fn settle<T, S: Revoking>(inner: &Inner<T, S>, batch: &Batch<T, S>) -> bool {
    let (mut revoked, mut donated, mut marked) = (0, 0, false);
    for (_, slot) in inner.slots() {
        // Acquire: as in `mark`.
        let held = slot.held.load(Ordering::Acquire);
        let Some(block) = batch.find(bare(held)) else { continue };
        match tags(held) {
            MARKED => match slot.settle(block) {
                Settled::Revoked => revoked += 1,
                Settled::Donated => donated += 1,
                Settled::MovedOn => {}
            },
            DONATED => {}
            // Rule 5: the reader came before the barrier, and was not seen then.
            _ => marked |= slot.transition_to_marked(block, held),
        }
    }
    inner.counters.revoked.add(revoked);
    inner.counters.donated.add(donated);
    marked
}
