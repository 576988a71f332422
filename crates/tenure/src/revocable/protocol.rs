//! What a scheme does, and what it works on: blocks (objects on the heap) and the slots of a domain.

use super::statistics::{Counters, Stats};
use crate::cache_line::CachePadded;
use crate::count::generic::TicketRef;
use crate::memory::{Atomic, Memory, Ordering, Pointer};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::ptr::{self, NonNull};

/// How a domain finds out that no local handle has an object any more. Not nameable outside of this crate.
///
/// 1. A *slot* belongs to one local handle. Only its owner calls the methods of [`SlotState`], one at a time.
/// 2. The caller of `resume` and `switch` has a strong reference to the block until they return.
/// 3. From one of those, or from a `kept` that returns the block, until `leave` the block exists, even without strong
///    references.
/// 4. The last put of a strong reference is followed by one `retire`. Each block is destroyed exactly once.
///
/// # Safety
///
/// Implementors keep rules 3 and 4 if callers keep rules 1 and 2.
pub unsafe trait Protocol: Sized + 'static {
    /// The name in tables and reports.
    const NAME: &'static str;
    /// The machine that it runs on.
    type Memory: Memory;
    /// What each object carries.
    type Object<T>: Default;
    /// What each local handle has.
    type State<T>: SlotState<T, Self>;
    /// What each domain has.
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
    unsafe fn kept(&self) -> Option<NonNull<Block<T, S>>>;

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

type AtomicU64<S> = <<S as Protocol>::Memory as Memory>::AtomicU64;
pub(super) type AtomicU32<S> = <<S as Protocol>::Memory as Memory>::AtomicU32;
pub(super) type BlockPointer<T, S> = <<S as Protocol>::Memory as Memory>::Pointer<Block<T, S>>;
pub(super) type SharedInner<T, S> = Shared<Inner<T, S>, <S as Protocol>::Memory>;

/// An object on the heap. The value comes first, on lines that are not written when references come and go.
#[repr(C)]
pub struct Block<T, S: Protocol> {
    value: T,
    header: CachePadded<Header<T, S>>,
}

pub(crate) struct Header<T, S: Protocol> {
    /// [`Strong`](super::Strong)s, and slots if the scheme counts those.
    pub(super) strong: TicketRef<S::Memory>,
    pub(super) object: S::Object<T>,
    /// The next block of the list that has this one.
    pub(super) next: BlockPointer<T, S>,
    pub(super) inner: SharedInner<T, S>,
}

impl<T, S: Protocol> Block<T, S> {
    /// A block with one strong reference, which the caller owns.
    pub(super) fn allocate(
        inner: SharedInner<T, S>,
        object: S::Object<T>,
        value: T,
    ) -> NonNull<Self> {
        let (strong, next) = (TicketRef::new_in(), Pointer::new(ptr::null_mut()));
        let header = CachePadded::new(Header { strong, object, next, inner });
        NonNull::from(Box::leak(Box::new(Self { value, header })))
    }

    /// Frees the block, but not its value.
    ///
    /// # Safety
    ///
    /// The block is from [`allocate`](Self::allocate), and the caller has its only reference. No slot ever had it.
    pub(super) unsafe fn into_value(block: NonNull<Self>) -> T {
        // SAFETY: from a box, and no other thread knows it.
        unsafe { Box::from_raw(block.as_ptr()) }.value
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
    slots: Segments<CachePadded<S::State<T>>, S::Memory>,
    /// A bit for each slot that a handle has: a look at 64 that none has is one load.
    taken: Segments<AtomicU64<S>, S::Memory>,
    /// More than the number of any word of `taken` that ever had a bit.
    known: AtomicU32<S>,
    /// No word before this one has room, but for those that a race has left out.
    cursor: AtomicU32<S>,
    pub(super) scheme: S::Domain<T>,
    pub(super) counters: Counters<S::Memory>,
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
            taken: Segments::new(),
            known: Atomic::new(0),
            cursor: Atomic::new(0),
            scheme: S::Domain::default(),
            counters: Counters::new(),
        }
    }

    /// The first vacant slot, so that those in use lie together.
    pub(super) fn acquire_slot(&self) -> (u32, &S::State<T>) {
        // Relaxed, here and below: a hint.
        let first = self.cursor.load(Ordering::Relaxed);
        let (number, index) = (first..)
            .find_map(|index| Some((self.acquire_in(index)?, index)))
            .expect("a word has room, or it panics");
        if index > first {
            // Otherwise a slot before it became vacant.
            let relaxed = Ordering::Relaxed;
            let _ = self.cursor.compare_exchange(first, index, relaxed, relaxed);
        }
        (number, self.slots.get_or_grow(number, |_| CachePadded::new(S::State::default())))
    }

    /// A vacant slot of a word of `taken`.
    fn acquire_in(&self, index: u32) -> Option<u32> {
        let word = self.taken.get_or_grow(index, |_| Atomic::new(0));
        loop {
            // Relaxed: only decides what to try.
            let bit = word.load(Ordering::Relaxed).trailing_ones();
            let number = index * u64::BITS + bit;
            if bit == u64::BITS {
                return None;
            }
            assert!(number < CAPACITY, "a domain has at most {CAPACITY} local handles");
            // Before the bit. Relaxed: see `slots`.
            let relaxed = Ordering::Relaxed;
            let mut known = self.known.load(relaxed);
            while known <= index {
                match self.known.compare_exchange(known, index + 1, relaxed, relaxed) {
                    Ok(_) => break,
                    Err(found) => known = found,
                }
            }
            // Acquire: pairs with the Release in `release_slot`: the slot as its last owner left it.
            if word.fetch_or(1 << bit, Ordering::Acquire) & 1 << bit == 0 {
                return Some(number);
            }
        }
    }

    /// Releases a slot that the caller has acquired and cleared.
    pub(super) fn release_slot(&self, number: u32) {
        let (index, bit) = (number / u64::BITS, number % u64::BITS);
        let word = self.taken.get(index).expect("it has this slot's bit");
        // The bit is set, and only its owner clears it. Release: pairs with the Acquire in `acquire_in`, and in `slots`:
        // the owner is done with all that it had.
        word.fetch_sub(1 << bit, Ordering::Release);
        // Relaxed: a hint.
        let mut cursor = self.cursor.load(Ordering::Relaxed);
        while index < cursor {
            let relaxed = Ordering::Relaxed;
            match self.cursor.compare_exchange(cursor, index, relaxed, relaxed) {
                Ok(_) => return,
                Err(found) => cursor = found,
            }
        }
    }

    pub(super) fn stats(&self) -> Stats {
        self.counters.read(self.slots().count())
    }

    /// All slots that may have a block of the caller's.
    ///
    /// A handle acquires its slot before it first meets the block. The thread that retires the block has seen the
    /// outcome, and so the slot's bit and segment; or it finds that the slot was released since, by an owner that is
    /// done with the block. Slots of new handles do no harm.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, &S::State<T>)> {
        // Relaxed: see above.
        let known = self.known.load(Ordering::Relaxed);
        (0..known).flat_map(|index| {
            // Acquire: pairs with the Release in `release_slot`.
            let mut bits = self.taken.get(index).map_or(0, |word| word.load(Ordering::Acquire));
            core::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits = bits.checked_sub(1)? & bits;
                Some(index * u64::BITS + bit)
            })
            .filter_map(|number| Some((number, &**self.slots.get(number)?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::revocable::generic::{Domain, LocalHandle};
    use std::vec::Vec;

    fn looked_at<T>(domain: &Domain<T>) -> Vec<u32> {
        domain.inner().slots().map(|(number, _)| number).collect()
    }

    #[test]
    fn a_look_at_all_slots_passes_over_those_of_handles_that_are_gone() {
        let domain = Domain::<u8>::new_in();
        let mut handles = Vec::from_iter((0..1_000).map(|_| Some(domain.register())));
        assert_eq!(looked_at(&domain), Vec::from_iter(0..1_000));
        for gone in handles
            .iter_mut()
            .filter(|handle| !matches!(handle, Some(last) if last.number() == 999))
        {
            *gone = None;
        }
        assert_eq!(looked_at(&domain), [999]);
        handles.clear();
        assert_eq!(looked_at(&domain), [0_u32; 0]);
    }

    #[test]
    fn the_next_handle_has_the_first_vacant_slot() {
        let domain = Domain::<u8>::new_in();
        let mut handles = Vec::from_iter((0..300).map(|_| domain.register()));
        for number in [250, 70, 3] {
            drop(handles.swap_remove(handles.iter().position(|h| h.number() == number).unwrap()));
        }
        let next = [(); 4].map(|()| domain.register());
        assert_eq!(next.each_ref().map(LocalHandle::number), [3, 70, 250, 300]);
    }
}
