//! [`Map`]: a lock-free hash map in which no thread waits for another: a sorted list with shortcuts into it.
//!
//! After Shalev and Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables" (JACM 53(3), 2006), and
//! Michael, "High Performance Dynamic Lock-Free Hash Tables and List-Based Sets" (SPAA 2002).
//!
//! ```text
//!  buckets   [0]──────────┐        [2]──────────┐ [1]────────────┐      [3]──────┐
//!                         ▼                     ▼                ▼               ▼
//!  list      ■ ─> element ─> element ─> ■ ─> element ─> ■ ─> ■ ─> element ─> null
//!  order     0…   0010…1     0110…1     01…  0111…1     1…   11…  1101…1
//! ```
//!
//! All elements are in one list, sorted by *order*: their hash with the lowest bit set. A bucket is a link of that
//! list, in front of the hashes whose upper bits, read backwards, are its number. Twice as many buckets split each in
//! two, with a new link in between: no element moves. So the map grows without waiting, even for a thread lost in a
//! fork.
//!
//! 1. **A link's `next`** holds the next link, and a mark if the link's own element is *removed*. A marked `next` never
//!    changes again.
//! 2. **An element is in the map** from the exchange that hangs it behind another link until its `next` is marked.
//! 3. **A thread that passes a marked link** on its way to change the list unlinks it, by one exchange of the `next`
//!    before it, and retires the element: once, as it is unlinked once.
//! 4. **Equal orders are neighbours.** A new element goes behind the last of them, after comparison with each. If
//!    another comes meanwhile, or that last one is removed, the exchange fails.
//! 5. **A bucket is used once it is ready**: its link is in the list. Until then the bucket that it splits serves.
//!    Links of buckets are never removed.
//! 6. **Lookups write nothing.** A marked link still leads on. It was in the list when the lookup began or later, and
//!    so was what is behind it: neither is freed before the lookup's guard is dropped.
//!
//! Orderings: an exchange that publishes a link, or the link before it, is Release; loads of links are Acquire. A mark
//! publishes nothing, as the pointer stays.

use super::collector::{Collector, Guard};
use crate::memory::{Atomic, Memory, Ordering, Pointer, Threads};
use crate::segments::Segments;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut};

/// What a [`Map`] holds.
///
/// # Safety
///
/// The key never changes, and the link lies at [`LINK`](Self::LINK).
pub unsafe trait Element: Sized {
    /// What the element is found by.
    type Key;
    /// The map's machine.
    type Memory: Threads;

    /// The offset of the [`Link`].
    const LINK: usize;

    /// The key.
    fn key(&self) -> &Self::Key;

    /// # Safety
    ///
    /// Once, when it is not in the map any more, and no guard is left that may have found it there.
    unsafe fn release(this: NonNull<Self>);
}

/// Elements by their keys.
pub struct Map<E: Element> {
    buckets: Segments<Bucket<E::Memory>, E::Memory>,
    /// A power of two. Read by every lookup, written when the map grows.
    size: <E::Memory as Memory>::AtomicU32,
    collector: Collector<E::Memory>,
    owns: PhantomData<E>,
}

/// The place of an element or a bucket in the list.
pub struct Link<M: Memory> {
    /// Odd for elements, even for buckets.
    order: u64,
    next: M::Pointer<Link<M>>,
}

struct Bucket<M: Memory> {
    link: Link<M>,
    state: M::AtomicU32,
}

/// Its link is not in the list.
const EMPTY: u32 = 0;
/// A thread is about to link it.
const CLAIMED: u32 = 1;
/// It is in the list.
const READY: u32 = 2;

/// The largest power of two that [`Segments`] has room for.
const MAX_BUCKETS: u32 = 1 << 27;

/// Bit of a `next`.
const REMOVED: usize = 1;

fn marked<T>(next: *mut T) -> *mut T {
    next.map_addr(|address| address | REMOVED)
}

#[inline(always)]
fn unmarked<T>(next: *mut T) -> *mut T {
    next.map_addr(|address| address & !REMOVED)
}

#[inline(always)]
fn is_marked<T>(next: *mut T) -> bool {
    next.addr() & REMOVED != 0
}

/// The order of a key, borrowed or not.
///
/// Buckets go by the upper bits, which are poor in some hashers: the product takes them from the whole hash. The factor
/// is 2^64 divided by the golden ratio, made odd.
#[inline(always)]
pub fn order_of<Q: Hash + ?Sized>(hasher: &impl BuildHasher, key: &Q) -> u64 {
    hasher.hash_one(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

impl<M: Memory> Link<M> {
    /// A link for a key of that [order](order_of).
    pub fn new(order: u64) -> Self {
        Self { order, next: Pointer::new(null_mut()) }
    }
}

impl<M: Memory> Bucket<M> {
    fn new(index: u32) -> Self {
        Self { link: Link::new(u64::from(index).reverse_bits()), state: Atomic::new(EMPTY) }
    }
}

/// Between `before` and `at`, which is null at the end.
struct Position<'g, M: Memory> {
    before: &'g Link<M>,
    at: *mut Link<M>,
}

impl<E: Element> Map<E> {
    /// `size` buckets, a power of two. Each thread keeps up to `batch` removed elements for a while.
    pub fn new(size: u32, batch: usize) -> Self {
        let buckets = Segments::new();
        let first: &Bucket<E::Memory> = buckets.get_or_grow(0, Bucket::new);
        // Relaxed: no other thread has it yet.
        first.state.store(READY, Ordering::Relaxed);
        let size = Atomic::new(size);
        Self { buckets, size, collector: Collector::new(batch), owns: PhantomData }
    }

    /// A guard, which keeps what is found with it readable.
    ///
    /// # Safety
    ///
    /// As [`Collector::enter`].
    #[inline(always)]
    pub unsafe fn enter(&self) -> Guard<'_, E::Memory> {
        // SAFETY: the caller's.
        unsafe { self.collector.enter() }
    }

    /// The element of that key and [order](order_of), if there is one.
    #[inline(always)]
    pub fn find<Q>(&self, key: &Q, order: u64, guard: &Guard<'_, E::Memory>) -> Option<NonNull<E>>
    where
        E::Key: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        // Acquire: pairs with the Release in `hang`.
        let mut at = self.bucket_of(order, guard).next.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(unmarked(at)) {
            // SAFETY: rule 6.
            let link = unsafe { found.as_ref() };
            // Acquire: as above.
            at = link.next.load(Ordering::Acquire);
            if link.order >= order {
                if link.order > order {
                    return None;
                }
                // SAFETY: the order is odd, so it is an element's.
                let element = unsafe { element_of::<E>(found) };
                // SAFETY: rule 6.
                if !is_marked(at) && unsafe { element.as_ref() }.key().borrow() == key {
                    return Some(element);
                }
            }
        }
        None
    }

    /// Inserts an element, unless there is one of its key.
    ///
    /// # Errors
    ///
    /// The element of that key.
    ///
    /// # Safety
    ///
    /// The element is in no map, and valid until the map releases it.
    pub unsafe fn insert(
        &self,
        element: NonNull<E>,
        guard: &Guard<'_, E::Memory>,
    ) -> Result<(), NonNull<E>>
    where
        E::Key: Eq,
    {
        // SAFETY: the caller's element.
        let (link, key) = unsafe { (link_of(element), element.as_ref().key()) };
        // SAFETY: as above.
        let order = unsafe { link.as_ref() }.order;
        let start = self.bucket_of(order, guard);
        // SAFETY: rule 6.
        let has_the_key = |found: NonNull<E>| unsafe { found.as_ref() }.key() == key;
        loop {
            let position = self.search(start, order, has_the_key, guard)?;
            if hang(link, &position) {
                return Ok(());
            }
        }
    }

    /// Grows if there are more elements than buckets. Called after each insertion.
    #[inline]
    pub fn fit(&self, elements: impl FnOnce() -> u32) {
        // Relaxed: as in `bucket_of`.
        let size = self.size.load(Ordering::Relaxed);
        if elements() > size && size < MAX_BUCKETS {
            let (twice, relaxed) = (2 * size, Ordering::Relaxed);
            // Otherwise another thread has done it.
            let _ = self.size.compare_exchange(size, twice, relaxed, relaxed);
        }
    }

    /// Removes this very element, and no other of its key.
    ///
    /// # Safety
    ///
    /// The element was inserted into this map, and can be read.
    pub unsafe fn remove(&self, element: NonNull<E>, guard: &Guard<'_, E::Memory>) {
        // SAFETY: the caller's.
        let link = unsafe { link_of(element).as_ref() };
        // Relaxed: the mark publishes nothing, and the pointer stays.
        let relaxed = Ordering::Relaxed;
        let mut next = link.next.load(relaxed);
        loop {
            if is_marked(next) {
                return;
            }
            match link.next.compare_exchange(next, marked(next), relaxed, relaxed) {
                Ok(_) => break,
                Err(found) => next = found,
            }
        }
        // Unlinks it, unless another thread has.
        let _ = self.search(self.bucket_of(link.order, guard), link.order, |_| false, guard);
    }

    /// Calls `visit` with every element that is there all the time, and perhaps with some that come or go meanwhile.
    pub fn for_each(&self, _guard: &Guard<'_, E::Memory>, mut visit: impl FnMut(NonNull<E>)) {
        // SAFETY: rule 6.
        unsafe { self.walk(|element, is_removed| (!is_removed).then(|| visit(element))) };
    }

    /// Calls `visit` with every element in the list, and whether it is removed.
    ///
    /// # Safety
    ///
    /// The caller has a guard, or no other thread has the map.
    unsafe fn walk<R>(&self, mut visit: impl FnMut(NonNull<E>, bool) -> R) {
        let first = self.ready(0).expect("the first bucket is ready from the start");
        // Acquire: as in `find`.
        let mut at = first.next.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(unmarked(at)) {
            // SAFETY: the caller's.
            let link = unsafe { found.as_ref() };
            // Acquire: as in `find`.
            at = link.next.load(Ordering::Acquire);
            if link.order & 1 == 1 {
                // SAFETY: the order is odd, so it is an element's.
                visit(unsafe { element_of(found) }, is_marked(at));
            }
        }
    }

    /// Where a search for that order starts.
    #[inline(always)]
    fn bucket_of(&self, order: u64, guard: &Guard<'_, E::Memory>) -> &Link<E::Memory> {
        // Relaxed: all elements are in the list, however many buckets there are.
        let last = self.size.load(Ordering::Relaxed) - 1;
        let index = order.reverse_bits() as u32 & last;
        match self.ready(index) {
            Some(link) => link,
            None => self.split(index, guard),
        }
    }

    #[inline(always)]
    fn ready(&self, index: u32) -> Option<&Link<E::Memory>> {
        let bucket = self.buckets.get(index)?;
        // Acquire: pairs with the Release in `split`, so that the link leads on.
        (bucket.state.load(Ordering::Acquire) == READY).then_some(&bucket.link)
    }

    /// Makes the bucket ready. Returns its link, or an earlier one that leads to the same elements.
    #[cold]
    #[inline(never)]
    fn split(&self, index: u32, guard: &Guard<'_, E::Memory>) -> &Link<E::Memory> {
        let parent = index & !(1 << index.ilog2());
        let start = self.ready(parent).unwrap_or_else(|| self.split(parent, guard));
        let bucket = self.buckets.get_or_grow(index, Bucket::new);
        let relaxed = Ordering::Relaxed;
        // Relaxed: a claim publishes nothing. Acquire: as in `ready`.
        match bucket.state.compare_exchange(EMPTY, CLAIMED, relaxed, Ordering::Acquire) {
            Ok(_) => {}
            Err(READY) => return &bucket.link,
            // The thread that claimed it may be slow, or lost.
            Err(_) => return start,
        }
        loop {
            let Ok(position) = self.search(start, bucket.link.order, |_| false, guard) else {
                unreachable!("no element has the order of a bucket");
            };
            if hang(NonNull::from(&bucket.link), &position) {
                break;
            }
        }
        // Release: pairs with the Acquire in `ready`.
        bucket.state.store(READY, Ordering::Release);
        &bucket.link
    }

    /// The first element of that order that `is_match`, or the place behind that order. Unlinks what is removed.
    fn search<'g>(
        &'g self,
        start: &'g Link<E::Memory>,
        order: u64,
        mut is_match: impl FnMut(NonNull<E>) -> bool,
        guard: &'g Guard<'_, E::Memory>,
    ) -> Result<Position<'g, E::Memory>, NonNull<E>> {
        'again: loop {
            let mut before = start;
            // Acquire: pairs with the Release in `hang`.
            let mut at = before.next.load(Ordering::Acquire);
            loop {
                let Some(found) = NonNull::new(at) else {
                    return Ok(Position { before, at });
                };
                // SAFETY: rule 6, which holds for every guard.
                let link = unsafe { found.as_ref() };
                // Acquire: as above.
                let next = link.next.load(Ordering::Acquire);
                if is_marked(next) {
                    let (next, relaxed) = (unmarked(next), Ordering::Relaxed);
                    // Release: publishes what is behind it. Relaxed: the search starts again.
                    let unlinked =
                        before.next.compare_exchange(at, next, Ordering::Release, relaxed);
                    if unlinked.is_err() {
                        continue 'again;
                    }
                    // SAFETY: links of buckets are never marked, so it is an element's. Rule 3: this thread alone has
                    // unlinked it. `E::release` may run on any thread.
                    unsafe {
                        let element = element_of::<E>(found);
                        guard.retire(element.as_ptr().cast(), release_raw::<E>);
                    }
                    at = next;
                    continue;
                }
                if link.order > order {
                    return Ok(Position { before, at });
                }
                if link.order == order {
                    // SAFETY: buckets have orders of their own, so it is an element's.
                    let element = unsafe { element_of::<E>(found) };
                    if is_match(element) {
                        return Err(element);
                    }
                }
                (before, at) = (link, next);
            }
        }
    }
}

/// Hangs a link that is in no list between the two of the position. Fails if they are not neighbours any more.
#[must_use]
fn hang<M: Memory>(link: NonNull<Link<M>>, position: &Position<'_, M>) -> bool {
    let (next, relaxed) = (position.at, Ordering::Relaxed);
    // Relaxed: published below.
    // SAFETY: the caller's, in no list.
    unsafe { link.as_ref() }.next.store(next, relaxed);
    // Release: pairs with the Acquire of every load of a `next`.
    position.before.next.compare_exchange(next, link.as_ptr(), Ordering::Release, relaxed).is_ok()
}

/// # Safety
///
/// The element exists.
#[inline(always)]
unsafe fn link_of<E: Element>(element: NonNull<E>) -> NonNull<Link<E::Memory>> {
    // SAFETY: the link lies there, in the element.
    unsafe { element.byte_add(E::LINK) }.cast()
}

/// # Safety
///
/// The link is that of an element, which exists.
#[inline(always)]
unsafe fn element_of<E: Element>(link: NonNull<Link<E::Memory>>) -> NonNull<E> {
    // SAFETY: the element begins there. Pointers in the list come from `link_of`, which are good for all of it.
    unsafe { link.byte_sub(E::LINK) }.cast()
}

/// # Safety
///
/// As [`Element::release`].
unsafe fn release_raw<E: Element>(element: *mut ()) {
    // SAFETY: it was a `NonNull`, and the rest is the caller's.
    unsafe { E::release(NonNull::new_unchecked(element.cast::<E>())) };
}

impl<E: Element> Drop for Map<E> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`. What is in the list was not retired, and is left with the map. `walk` is past it by
        // then.
        unsafe { self.walk(|element, _| E::release(element)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Registry;
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_map_has_a_bucket_for_each_element_and_not_many_more() {
        const ELEMENTS: u32 = if cfg!(miri) { 50 } else { 1_000 };
        let objects: Registry<u32, u32> = Registry::new();
        let size = || objects.core.map.size.load(Ordering::Relaxed);
        let before = size();
        let held = Vec::from_iter((0..ELEMENTS).map(|key| objects.acquire(&key, || key)));
        assert!((ELEMENTS..=2 * ELEMENTS).contains(&size()), "{} buckets", size());
        drop((held, objects.acquire(&0, || 0)));
        assert!(before < size(), "it does not shrink");
    }
}
