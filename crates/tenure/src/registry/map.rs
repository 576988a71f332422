//! [`LockFree`]: a map in which nobody waits for anybody: a list in the order of hashes, with ways into it.
//!
//! After Shalev and Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables" (JACM 53(3), 2006), and Michael, "High
//! Performance Dynamic Lock-Free Hash Tables and List-Based Sets" (SPAA 2002).
//!
//! ```text
//!  buckets   [0]──────────┐        [2]──────────┐ [1]────────────┐      [3]──────┐
//!                         ▼                     ▼                ▼               ▼
//!  list      ■ ─> element ─> element ─> ■ ─> element ─> ■ ─> ■ ─> element ─> null
//!  order     0…   0010…1     0110…1     01…  0111…1     1…   11…  1101…1
//! ```
//!
//! All elements are in one list, whose *order* is that of their hashes. A bucket is a link of that list where the hashes
//! begin that have its number, read backwards, in their upper bits. Twice as many buckets divide each in two, at a link that
//! is put in between: nothing moves, and nothing is copied. So a map grows without that anybody waits, also for a thread
//! that the system took off its CPU, or that a fork left behind, in the middle of it.
//!
//! 1. **A link's `next`** says where the list goes on, and by a mark whether the link's own element is *removed*. From the
//!    mark on it does not change.
//! 2. **An element is in the map** from the exchange that hangs it behind another link until its own `next` is marked: by
//!    one thread, whatever else is under its key.
//! 3. **Who passes a marked link** on the way to change the list takes it out of there, by one exchange in the link before
//!    it, and retires it. A link is marked once and taken out once, so it is retired once.
//! 4. **Equal orders are neighbours.** A new element goes behind the last of them, having been compared with all. Had
//!    another one come meanwhile, or had that last one been removed, the exchange would fail.
//! 5. **A bucket is used when it is ready**: when its link is in the list. Where another thread is about to put it there,
//!    the bucket that it divides does as well. Links of buckets are never removed.
//! 6. **Lookups write nothing.** A marked link still leads on. It was in the list when the visit began or later, and so was
//!    what is behind it: neither is freed before the visit ends.
//!
//! # Orderings
//!
//! An element is published by the Release of the exchange that puts it, or a link before it, into a `next`, and found by
//! Acquire. A mark publishes nothing: it leaves the pointer as it is.

use super::grace::{Grace, Inside};
use super::ground::{Element, Map};
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer, Threads};
use crate::segments::Segments;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut};

/// What is removed by one thread before it looks who still reads.
pub(super) const REMOVALS: usize = 64;

/// The map of [`Concurrent`](super::Concurrent).
///
/// Each thread keeps up to `BATCH` removed elements, and what it removed while others were reading, for a while.
pub struct LockFree<E, S, M = Native, const BATCH: usize = REMOVALS>
where
    E: Element<Link = Link<M>>,
    M: Threads,
{
    buckets: Segments<Bucket<M>, M>,
    /// How many buckets there are: a power of two. Read by every lookup, written when the map grows.
    size: M::AtomicU32,
    hasher: S,
    grace: Grace<M, BATCH>,
    owns: PhantomData<E>,
}

/// What the map keeps in each element: its place in the list.
pub struct Link<M: Memory> {
    /// The hash with the lowest bit set; the lowest bit of a bucket's is not.
    order: u64,
    next: M::Pointer<Link<M>>,
}

struct Bucket<M: Memory> {
    link: Link<M>,
    state: M::AtomicU32,
}

/// The bucket's link is not in the list.
const EMPTY: u32 = 0;
/// Some thread is about to put it there.
const CLAIMED: u32 = 1;
/// It is there.
const READY: u32 = 2;

/// As many as [`Segments`] has room for, as a power of two.
const MOST_BUCKETS: u32 = 1 << 27;

/// What says in a pointer to the next link that the link which has it is removed.
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

impl<M: Memory> Link<M> {
    /// A link for an element of that [hash](Map::hash).
    pub fn new(hash: u64) -> Self {
        debug_assert!(hash & 1 == 1, "the map has made the hash");
        Self { order: hash, next: Pointer::new(null_mut()) }
    }
}

impl<M: Memory> Bucket<M> {
    fn new(index: u32) -> Self {
        let order = u64::from(index).reverse_bits();
        Self { link: Link { order, next: Pointer::new(null_mut()) }, state: Atomic::new(EMPTY) }
    }
}

/// A place in the list.
struct Position<'g, M: Memory> {
    before: &'g Link<M>,
    /// The link that follows, which comes later in the order, or is what was looked for; or null.
    at: *mut Link<M>,
}

impl<E: Element<Link = Link<M>>, S: BuildHasher, M: Threads, const BATCH: usize>
    LockFree<E, S, M, BATCH>
{
    /// A map without elements, whose keys are hashed by `hasher`.
    pub fn new(hasher: S) -> Self {
        let buckets = Segments::new();
        let first: &Bucket<M> = buckets.get_or_grow(0, Bucket::new);
        // Relaxed: nobody else has it.
        first.state.store(READY, Ordering::Relaxed);
        Self { buckets, size: Atomic::new(1), hasher, grace: Grace::new(), owns: PhantomData }
    }

    /// The way into the list for that order.
    #[inline(always)]
    fn way(&self, order: u64, guard: &Inside<'_, M, BATCH>) -> &Link<M> {
        // Relaxed: the list has all elements, however many buckets there are.
        let last = self.size.load(Ordering::Relaxed) - 1;
        let index = order.reverse_bits() as u32 & last;
        match self.ready(index) {
            Some(link) => link,
            None => self.divide(index, guard),
        }
    }

    #[inline(always)]
    fn ready(&self, index: u32) -> Option<&Link<M>> {
        let bucket = self.buckets.get(index)?;
        // Acquire: pairs with the Release in `divide`, so that the link leads on.
        (bucket.state.load(Ordering::Acquire) == READY).then_some(&bucket.link)
    }

    /// Makes the bucket ready, or finds another way to where it begins.
    #[cold]
    #[inline(never)]
    fn divide(&self, index: u32, guard: &Inside<'_, M, BATCH>) -> &Link<M> {
        let divided = index & !(1 << index.ilog2());
        let way = match self.ready(divided) {
            Some(link) => link,
            None => self.divide(divided, guard),
        };
        let bucket = self.buckets.get_or_grow(index, Bucket::new);
        let (relaxed, acquire) = (Ordering::Relaxed, Ordering::Acquire);
        // Relaxed: a claim passes nothing on. Acquire: as in `ready`.
        match bucket.state.compare_exchange(EMPTY, CLAIMED, relaxed, acquire) {
            Ok(_) => {}
            Err(READY) => return &bucket.link,
            // Who has claimed it may be long about it, or lost.
            Err(_) => return way,
        }
        let link = NonNull::from(&bucket.link);
        loop {
            let Ok(position) = self.search(way, bucket.link.order, |_| false, guard) else {
                unreachable!("nothing was looked for");
            };
            if Self::hang(link, &position) {
                break;
            }
        }
        // Release: pairs with the Acquire in `ready`.
        bucket.state.store(READY, Ordering::Release);
        &bucket.link
    }

    /// Hangs a link that is in no list between the two of the position, if they are neighbours still.
    #[must_use]
    fn hang(link: NonNull<Link<M>>, position: &Position<'_, M>) -> bool {
        // SAFETY: the caller's, in no list.
        let next = unsafe { &link.as_ref().next };
        // Relaxed: published below.
        next.store(position.at, Ordering::Relaxed);
        // Release: pairs with the Acquire of who finds it.
        let hung = position.before.next.compare_exchange(
            position.at,
            link.as_ptr(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        hung.is_ok()
    }

    /// The first link of that order that `is_it`, or the place behind all of that order. Takes out what is removed.
    fn search<'g>(
        &'g self,
        way: &'g Link<M>,
        order: u64,
        mut is_it: impl FnMut(NonNull<Link<M>>) -> bool,
        guard: &'g Inside<'_, M, BATCH>,
    ) -> Result<Position<'g, M>, NonNull<Link<M>>> {
        'again: loop {
            let mut before = way;
            // Acquire: pairs with the Release of who put the link there.
            let mut at = before.next.load(Ordering::Acquire);
            loop {
                let Some(found) = NonNull::new(at) else {
                    return Ok(Position { before, at });
                };
                // SAFETY: it was in the list during this visit.
                let link = unsafe { found.as_ref() };
                // Acquire: as above.
                let next = link.next.load(Ordering::Acquire);
                if is_marked(next) {
                    let next = unmarked(next);
                    // Release: passes on what is behind it. Acquire: not asked for, as the search begins anew.
                    let taken_out = before.next.compare_exchange(
                        at,
                        next,
                        Ordering::Release,
                        Ordering::Relaxed,
                    );
                    if taken_out.is_err() {
                        continue 'again;
                    }
                    // SAFETY: links of buckets are never marked, so it is an element's.
                    let element = unsafe { element_of::<E>(found) };
                    // SAFETY: rule 3: it is in the list no more, and this thread alone has taken it out.
                    unsafe { guard.retire(element.as_ptr().cast(), release::<E>) };
                    at = next;
                    continue;
                }
                if link.order > order {
                    return Ok(Position { before, at });
                }
                if link.order == order && is_it(found) {
                    return Err(found);
                }
                (before, at) = (link, next);
            }
        }
    }

    /// Calls `visit` with every element that is not removed.
    fn walk(&self, mut visit: impl FnMut(NonNull<E>)) {
        let first = self.ready(0).expect("the first bucket is ready from the start");
        let mut at = first.next.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(unmarked(at)) {
            // SAFETY: it was in the list during the caller's visit, or nobody else has the map.
            let link = unsafe { found.as_ref() };
            // Acquire: as in `search`.
            at = link.next.load(Ordering::Acquire);
            if link.order & 1 == 1 && !is_marked(at) {
                // SAFETY: only elements have an odd order.
                visit(unsafe { element_of(found) });
            }
        }
    }
}

/// # Safety
///
/// The element exists.
#[inline(always)]
unsafe fn link_of<E: Element>(element: NonNull<E>) -> NonNull<E::Link> {
    // SAFETY: the link lies there, in the element.
    unsafe { element.byte_add(E::LINK) }.cast()
}

/// # Safety
///
/// The link is that of an element, which exists.
#[inline(always)]
unsafe fn element_of<E: Element>(link: NonNull<E::Link>) -> NonNull<E> {
    // SAFETY: the element begins there; the list has pointers from `link_of`, which are good for all of it.
    unsafe { link.byte_sub(E::LINK) }.cast()
}

/// # Safety
///
/// As [`Element::release`].
unsafe fn release<E: Element>(element: *mut ()) {
    // SAFETY: elements are not null.
    let element = unsafe { NonNull::new_unchecked(element.cast::<E>()) };
    // SAFETY: the caller's.
    unsafe { E::release(element) };
}

// SAFETY: rules 1 to 6: elements are published with Release and found with Acquire, and released a grace period after they
// were taken out.
unsafe impl<E: Element<Link = Link<M>>, S: BuildHasher, M: Threads, const BATCH: usize> Map<E>
    for LockFree<E, S, M, BATCH>
{
    type Guard<'m>
        = Inside<'m, M, BATCH>
    where
        Self: 'm;

    #[inline(always)]
    unsafe fn enter(&self) -> Inside<'_, M, BATCH> {
        // SAFETY: the caller's.
        unsafe { self.grace.enter() }
    }

    #[inline(always)]
    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        // Buckets go by the upper bits, which a product has from all of the hash: there are hashers whose own are poor. The
        // factor is 2^64 divided by the golden ratio, made odd.
        self.hasher.hash_one(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    #[inline(always)]
    fn find<Q>(&self, key: &Q, hash: u64, guard: &Inside<'_, M, BATCH>) -> Option<NonNull<E>>
    where
        E::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // Acquire: pairs with the Release of who put the link there.
        let mut at = self.way(hash, guard).next.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(unmarked(at)) {
            // SAFETY: rule 6.
            let link = unsafe { found.as_ref() };
            // Acquire: as above.
            at = link.next.load(Ordering::Acquire);
            if link.order >= hash {
                if link.order > hash {
                    return None;
                }
                // SAFETY: only elements have an odd order, as `hash` is.
                let element = unsafe { element_of::<E>(found) };
                // SAFETY: rule 6.
                if !is_marked(at) && unsafe { element.as_ref() }.key().borrow() == key {
                    return Some(element);
                }
            }
        }
        None
    }

    unsafe fn insert(
        &self,
        element: NonNull<E>,
        guard: &Inside<'_, M, BATCH>,
    ) -> Result<(), NonNull<E>> {
        // SAFETY: the caller's.
        let link = unsafe { link_of(element) };
        // SAFETY: the caller's.
        let order = unsafe { link.as_ref() }.order;
        // SAFETY: the caller's.
        let key = unsafe { element.as_ref() }.key();
        let way = self.way(order, guard);
        let has_the_key = |link| {
            // SAFETY: only elements have an odd order, as this one has.
            let found = unsafe { element_of::<E>(link) };
            // SAFETY: rule 6.
            unsafe { found.as_ref() }.key() == key
        };
        loop {
            match self.search(way, order, has_the_key, guard) {
                // SAFETY: as above.
                Err(found) => return Err(unsafe { element_of(found) }),
                Ok(position) if Self::hang(link, &position) => return Ok(()),
                Ok(_) => {}
            }
        }
    }

    #[inline]
    fn fit(&self, elements: impl FnOnce() -> u32) {
        // Relaxed: as in `way`.
        let size = self.size.load(Ordering::Relaxed);
        if elements() > size && size < MOST_BUCKETS {
            // Relaxed: as above. If it fails, another thread has done it.
            let (twice, relaxed) = (2 * size, Ordering::Relaxed);
            let _ = self.size.compare_exchange(size, twice, relaxed, relaxed);
        }
    }

    unsafe fn remove(&self, element: NonNull<E>, guard: &Inside<'_, M, BATCH>) {
        // SAFETY: the caller's.
        let link = unsafe { link_of(element) };
        // SAFETY: the caller's.
        let link = unsafe { link.as_ref() };
        let order = link.order;
        // Relaxed: the mark passes nothing on, and leaves what the pointer publishes as it is.
        let mut next = link.next.load(Ordering::Relaxed);
        loop {
            if is_marked(next) {
                return;
            }
            // Relaxed: as above.
            let (relaxed, new) = (Ordering::Relaxed, marked(next));
            match link.next.compare_exchange(next, new, relaxed, relaxed) {
                Ok(_) => break,
                Err(found) => next = found,
            }
        }
        // Passes it, unless another thread has taken it out.
        let _ = self.search(self.way(order, guard), order, |_| false, guard);
    }

    fn for_each(&self, _guard: &Inside<'_, M, BATCH>, visit: impl FnMut(NonNull<E>)) {
        self.walk(visit);
    }
}

impl<E: Element<Link = Link<M>>, S, M: Threads, const BATCH: usize> Drop
    for LockFree<E, S, M, BATCH>
{
    fn drop(&mut self) {
        let first = self.buckets.get(0).expect("the first bucket is there from the start");
        // Relaxed: nobody else has the map.
        let mut at = first.link.next.load(Ordering::Relaxed);
        while let Some(found) = NonNull::new(unmarked(at)) {
            // SAFETY: what is in the list is not released.
            let link = unsafe { found.as_ref() };
            // Relaxed: as above.
            at = link.next.load(Ordering::Relaxed);
            if link.order & 1 == 1 {
                // SAFETY: only elements have an odd order.
                let element = unsafe { element_of::<E>(found) };
                // SAFETY: it leaves the map with the map.
                unsafe { E::release(element) };
            }
        }
    }
}
