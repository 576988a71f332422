//! Group `refs`: the counts themselves.
//!
//! Every object has cache lines of its own: only the count is measured.

use super::{BenchGroup, BenchOperation, BenchScenario, Host, NamedMember, Variant};
use std::hint::black_box;
use std::marker::PhantomData;
use std::num::NonZeroU16;
use tenure::cache_line::CachePadded;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{GetResult, PutResult, Readable, RefCount};
use tenure::memory::{Atomic, Memory, Ordering};

/// Lets code that is generic over counts put: the objects outlive all threads of a measurement.
pub(crate) trait OutlivedCount: RefCount + 'static {
    /// The readable of a put.
    ///
    /// # Safety
    ///
    /// The count's memory must outlive every put that this proof is used for.
    unsafe fn readable() -> Self::Readable<'static>;

    #[inline(always)]
    fn get_counting(&self, retries: &mut u64) -> GetResult {
        let _ = retries;
        self.get()
    }
}

impl<M: Memory> OutlivedCount for IncNotZero<M> {
    unsafe fn readable() {}

    #[inline(always)]
    fn get_counting(&self, retries: &mut u64) -> GetResult {
        self.get_counting(retries)
    }
}

impl<M: Memory> OutlivedCount for TicketRef<M> {
    unsafe fn readable() {}
}

impl<M: Memory> OutlivedCount for RcuRef<M> {
    unsafe fn readable() -> Readable<'static> {
        // SAFETY: the caller promises what `assume` asks for.
        unsafe { Readable::assume() }
    }
}

/// Checks that a get succeeded by one branch, as a program would.
#[inline(always)]
pub(super) fn acquired(get: GetResult) {
    assert!(get.is_acquired(), "the operation holds a reference of its own");
}

/// Checks that others are left by one branch, as a program would.
#[inline(always)]
pub(super) fn still_held(put: PutResult) {
    assert!(!put.is_last(), "the operation holds a reference of its own");
}

#[inline(always)]
fn last(put: PutResult) {
    assert!(put.is_last(), "no other thread knows this count");
}

fn refs<T>(count: &T) -> Vec<NamedMember> {
    vec![NamedMember::of("refs", count)]
}

/// The limit: the two bare atomic operations that no shared count can do without, or the first alone.
pub(crate) struct Bare<M: Memory, const PAIR: bool = true>(CachePadded<M::AtomicU32>);

pub(crate) type BareAdd<M> = Bare<M, false>;

impl<M: Memory, const PAIR: bool> BenchOperation for Bare<M, PAIR> {
    fn prepare() -> Self {
        Self(CachePadded::new(Atomic::new(1)))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        // Relaxed and Release: as the counts. Nothing is published. The results are unused, which is cheapest.
        self.0.fetch_add(1, Ordering::Relaxed);
        if PAIR {
            self.0.fetch_sub(1, Ordering::Release);
        }
    }
    fn members(&self) -> Vec<NamedMember> {
        refs(&*self.0)
    }
}

pub(crate) struct GetPut<C>(CachePadded<C>);

impl<C: OutlivedCount> BenchOperation for GetPut<C> {
    fn prepare() -> Self {
        Self(CachePadded::new(C::new_in()))
    }
    #[inline(always)]
    fn step(&self, retries: &mut u64) {
        acquired(self.0.get_counting(retries));
        // SAFETY: the runner joins all threads before it drops the operation.
        still_held(self.0.put(unsafe { C::readable() }));
    }
    fn members(&self) -> Vec<NamedMember> {
        refs(&*self.0)
    }
}

/// A get whose put happens elsewhere.
pub(crate) struct GetOnly<C>(CachePadded<C>);

impl<C: OutlivedCount> BenchOperation for GetOnly<C> {
    fn prepare() -> Self {
        Self(CachePadded::new(C::new_in()))
    }
    #[inline(always)]
    fn step(&self, retries: &mut u64) {
        acquired(self.0.get_counting(retries));
    }
    fn settle(&self, steps: u64) {
        put_all(&*self.0, steps);
    }
    fn members(&self) -> Vec<NamedMember> {
        refs(&*self.0)
    }
}

fn put_all<C: OutlivedCount>(count: &C, references: u64) {
    let mut left = references;
    while let Some(n) = NonZeroU16::new(u16::try_from(left).unwrap_or(u16::MAX)) {
        // SAFETY: the runner joins all threads before it drops the operation.
        still_held(count.put_many(n, unsafe { C::readable() }));
        left -= u64::from(n.get());
    }
}

/// Puts the only reference of an object that the thread just made; or the put for "probably the last".
pub(crate) struct LastPut<C, const LIKELY: bool = false>(PhantomData<fn() -> C>);

impl<C: OutlivedCount, const LIKELY: bool> BenchOperation for LastPut<C, LIKELY> {
    fn prepare() -> Self {
        Self(PhantomData)
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        let count = C::new_in();
        // SAFETY: the count is a local that outlives its put.
        let readable = unsafe { C::readable() };
        let count = black_box(&count);
        last(if LIKELY { count.put_last(readable) } else { count.put(readable) });
    }
}

pub(super) fn group<M: Host>() -> BenchGroup {
    BenchGroup {
        name: "refs",
        title: "Reference counts",
        about: "Taking and releasing references to one object. The compare-exchange loop \
                (inc_not_zero, what std's Weak::upgrade does) retries when another core was faster; \
                rcuref and ticket add once, whatever happens. The limit row is the bare pair of \
                atomic operations: no count on one shared word can be faster.",
        scenarios: vec![
            BenchScenario::new(
                "refs/get-put",
                "get + put on one object",
                "One operation takes a reference and gives it back.",
                "inc_not_zero",
                vec![
                    Variant::of::<Bare<M>>("limit"),
                    Variant::counting::<GetPut<IncNotZero<M>>>("inc_not_zero"),
                    Variant::of::<GetPut<RcuRef<M>>>("rcuref"),
                    Variant::of::<GetPut<TicketRef<M>>>("ticket"),
                ],
            ),
            BenchScenario::new(
                "refs/get",
                "get alone on one object",
                "One operation takes a reference; it is given back elsewhere, unmeasured.",
                "inc_not_zero",
                vec![
                    Variant::of::<BareAdd<M>>("limit"),
                    Variant::counting::<GetOnly<IncNotZero<M>>>("inc_not_zero"),
                    Variant::of::<GetOnly<RcuRef<M>>>("rcuref"),
                    Variant::of::<GetOnly<TicketRef<M>>>("ticket"),
                ],
            ),
            BenchScenario::new(
                "refs/last-put",
                "last put",
                "One operation makes a count and puts its only reference. The rows with \
                 put_last use the put for \"probably the last\".",
                "inc_not_zero",
                vec![
                    Variant::of::<LastPut<IncNotZero<M>>>("inc_not_zero"),
                    Variant::of::<LastPut<RcuRef<M>>>("rcuref"),
                    Variant::of::<LastPut<RcuRef<M>, true>>("rcuref put_last"),
                    Variant::of::<LastPut<TicketRef<M>>>("ticket"),
                    Variant::of::<LastPut<TicketRef<M>, true>>("ticket put_last"),
                ],
            )
            .unshared(),
        ],
    }
}
