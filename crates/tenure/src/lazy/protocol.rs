//! What a scheme does, and what it works on: blocks (objects on the heap) and the slots of a domain.

use super::statistics::{Counters, DomainStatistics};
use crate::count::TicketRef;
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering, Pointer};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::ptr::{self, NonNull};

/// How a domain finds out that no local handle has an object any more. Not nameable outside of this crate.
///
/// 1. A *slot* belongs to one local handle. Only its owner calls the methods of [`SlotState`], one at a time.
/// 2. The caller of `resume` and `switch` has a strong reference to the block until they return.
/// 3. From one of those, or from a `lazy` that returns the block, until `leave` the block exists, even without strong
///    references.
/// 4. The last put of a strong reference is followed by one `retire`. Each block is destroyed exactly once.
///
/// # Safety
///
/// Implementors keep rules 3 and 4 if callers keep rules 1 and 2.
pub unsafe trait Protocol: Sized + 'static {
    /// For tables and reports.
    const NAME: &'static str;
    /// The machine that it runs on.
    type Memory: Memory;
    /// Per object.
    type Object<T>: Default;
    /// Per local handle.
    type State<T>: SlotState<T, Self>;
    /// Per domain.
    type Domain<T>: Default;

    /// Each block is destroyed as soon as no slot uses it.
    ///
    /// # Safety
    ///
    /// The blocks are of the domain `inner`. The caller put each one's last strong reference, and does not touch them
    /// again.
    unsafe fn retire<T>(
        inner: &Inner<T, Self>,
        blocks: impl Iterator<Item = NonNull<Block<T, Self>>>,
    );
}

/// The scheme's part of a slot. All unsafe methods ask for rule 1.
#[allow(unreachable_pub, reason = "Rust 1.85 overlooks the bound of `Protocol::State`")]
pub trait SlotState<T, S: Protocol>: Default {
    /// Whether the slot has `block`, so that [`resume`](Self::resume) will do.
    fn has(&self, block: NonNull<Block<T, S>>) -> bool;

    /// Uses `block`.
    ///
    /// # Safety
    ///
    /// Rules 1 and 2; [`has`](Self::has) has just returned true.
    unsafe fn resume(&self, block: NonNull<Block<T, S>>);

    /// Uses `block` in place of what the slot had.
    ///
    /// # Safety
    ///
    /// Rules 1 and 2; the block is of the slot's domain, and `number` is the slot's.
    unsafe fn switch(&self, number: u32, block: NonNull<Block<T, S>>);

    /// Uses what the slot has kept, if it still has it.
    ///
    /// # Safety
    ///
    /// Rule 1.
    unsafe fn lazy(&self) -> Option<NonNull<Block<T, S>>>;

    /// Ends the use of `block`. The slot keeps it if the scheme lets it.
    ///
    /// # Safety
    ///
    /// Rule 1; the slot uses this block.
    unsafe fn leave(&self, block: NonNull<Block<T, S>>);

    /// Gives up what the slot has kept.
    ///
    /// # Safety
    ///
    /// Rule 1; no guard is left (unless it was forgotten), and `number` is the slot's.
    unsafe fn clear(&self, number: u32);
}

pub(super) type AtomicU32<S> = <<S as Protocol>::Memory as Memory>::AtomicU32;
pub(super) type BlockPointer<T, S> = <<S as Protocol>::Memory as Memory>::Pointer<Block<T, S>>;
pub(super) type SharedInner<T, S> = Shared<Inner<T, S>, <S as Protocol>::Memory>;

/// An object on the heap. The value comes first, on lines that are not written when references come and go.
#[repr(C)]
pub struct Block<T, S: Protocol> {
    value: T,
    header: Isolated<Header<T, S>>,
}

pub(crate) struct Header<T, S: Protocol> {
    /// [`Context`](super::Context)s, and slots if the scheme counts those.
    pub(super) strong: TicketRef<S::Memory>,
    pub(super) object: S::Object<T>,
    /// In the list that has this block.
    pub(super) next: BlockPointer<T, S>,
    pub(super) inner: SharedInner<T, S>,
}

impl<T, S: Protocol> Block<T, S> {
    /// With one strong reference, which the caller owns.
    pub(super) fn allocate(
        inner: SharedInner<T, S>,
        object: S::Object<T>,
        value: T,
    ) -> NonNull<Self> {
        let (strong, next) = (TicketRef::new_in(), Pointer::new(ptr::null_mut()));
        let header = Isolated::new(Header { strong, object, next, inner });
        NonNull::from(Box::leak(Box::new(Self { value, header })))
    }

    /// # Safety
    ///
    /// The block exists for `'a`.
    #[inline(always)]
    pub(super) unsafe fn header<'a>(block: NonNull<Self>) -> &'a Header<T, S> {
        // SAFETY: the caller keeps the block for `'a`. The value, which may be going, is not part of the reference.
        unsafe { &(*block.as_ptr()).header }
    }
}

/// What the handles of a domain share.
pub struct Inner<T, S: Protocol> {
    slots: Segments<Isolated<Slot<T, S>>, S::Memory>,
    /// More than the number of any slot that was ever taken.
    known: AtomicU32<S>,
    /// About how many slots are vacant.
    vacant: AtomicU32<S>,
    /// Where the search for a vacant slot begins.
    cursor: AtomicU32<S>,
    pub(super) scheme: S::Domain<T>,
    pub(super) counters: Counters<S::Memory>,
}

/// Local handles take it one after another.
pub(super) struct Slot<T, S: Protocol> {
    taken: AtomicU32<S>,
    pub(super) state: S::State<T>,
}

// SAFETY: a domain leads from any thread to values, which threads share (`T: Sync`) and any of them drops (`T: Send`).
// Each scheme's rules say who may touch a slot or a list, and when.
unsafe impl<T: Send + Sync, S: Protocol> Send for Inner<T, S> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, S: Protocol> Sync for Inner<T, S> {}

impl<T, S: Protocol> Inner<T, S> {
    pub(super) fn new() -> Self {
        Self {
            slots: Segments::new(),
            known: Atomic::new(0),
            vacant: Atomic::new(0),
            cursor: Atomic::new(0),
            scheme: S::Domain::default(),
            counters: Counters::new(),
        }
    }

    pub(super) fn acquire_slot(&self) -> (u32, &Slot<T, S>) {
        // Relaxed, here and below: hints.
        if self.vacant.load(Ordering::Relaxed) > 0 {
            let first = self.cursor.load(Ordering::Relaxed);
            let mut slots = self.slots_in(first, u32::MAX).chain(self.slots_in(0, first));
            // Acquire: pairs with the Release in `release_slot`: the slot as its last owner left it. The load comes
            // first to spare the lines of taken slots.
            let vacant = slots.find(|(_, slot)| {
                let taken = &slot.taken;
                taken.load(Ordering::Relaxed) == 0
                    && taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            });
            if let Some((number, slot)) = vacant {
                self.vacant.fetch_sub(1, Ordering::Relaxed);
                self.cursor.store(number + 1, Ordering::Relaxed);
                return (number, slot);
            }
        }
        // Checked before the addition, so that it never wraps around.
        let known = self.known.load(Ordering::Relaxed);
        assert!(known < CAPACITY, "a domain has at most {CAPACITY} local handles");
        // Relaxed: a thread that needs this slot has seen the number: see `slots`.
        let number = self.known.fetch_add(1, Ordering::Relaxed);
        let new = |_| Isolated::new(Slot { taken: Atomic::new(1), state: S::State::default() });
        (number, self.slots.get_or_grow(number, new))
    }

    /// Releases a slot that the caller has acquired and cleared.
    pub(super) fn release_slot(&self, number: u32, slot: &Slot<T, S>) {
        // Release: pairs with the Acquire in `acquire_slot`.
        slot.taken.store(0, Ordering::Release);
        // Relaxed: hints.
        self.cursor.store(number, Ordering::Relaxed);
        self.vacant.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn statistics(&self) -> DomainStatistics {
        // Relaxed: a statistic.
        let is_taken = |slot: &Slot<T, S>| slot.taken.load(Ordering::Relaxed) != 0;
        self.counters.read(self.slots().filter(|(_, slot)| is_taken(slot)).count())
    }

    /// All slots that may have a block of the caller's.
    ///
    /// A handle acquires its slot before it first meets the block. The thread that retires the block has seen the
    /// outcome, and so the slot's number and its segment.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, &Slot<T, S>)> {
        self.slots_in(0, u32::MAX)
    }

    fn slots_in(&self, first: u32, end: u32) -> impl Iterator<Item = (u32, &Slot<T, S>)> {
        // Relaxed: see `slots`.
        let known = self.known.load(Ordering::Relaxed);
        (first..end.min(known)).filter_map(|number| Some((number, &**self.slots.get(number)?)))
    }
}
