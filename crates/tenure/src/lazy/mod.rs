//! Uncounted references that workers keep between requests, taken away when the last strong handle is dropped.
//!
//! Workers keep using the same tenant, snapshot, schema or connection state from one request to the next. If each use takes
//! and gives back a counted reference, all workers write one word. If each worker caches a counted reference instead, the
//! ones that sleep keep dead objects alive for hours.
//!
//! Here a worker *keeps* what it used last, without a count. Using it again takes plain loads and stores, on a cache line
//! that only this worker writes. When the last strong handle is dropped the object is taken from the worker, even if the
//! worker sleeps.
//!
//! ```
//! use tenure::lazy::{Context, Domain};
//!
//! struct Tenant { name: String }
//!
//! let domain = Domain::new();
//! let tenant: Context<Tenant> = domain.context(Tenant { name: "a".into() }); // strong: counted
//!
//! let worker = {
//!     let mut seat = domain.seat(); // one for each worker, for as long as it works
//!     let tenant = tenant.clone();
//!     std::thread::spawn(move || {
//!         for _request in 0..1000 {
//!             let tenant = seat.enter(&tenant);
//!             assert_eq!(tenant.name, "a");
//!         }
//!         seat // the worker has nothing to do, and its seat keeps the tenant
//!     })
//! };
//! let mut seat = worker.join().unwrap();
//! drop(tenant); // the last handle: the tenant is dropped here, whatever the worker is doing
//! assert!(seat.lazy().is_none());
//! ```
//!
//! In a server the objects are in a table under a lock: [`Seat::lazy_or`] shows how a worker asks its seat first, and the
//! table only for another object. For one value that everybody reads and that is sometimes replaced there is [`Cached`],
//! made of the same parts.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | [`Domain`] | the workers that share objects of one type |
//! | [`Context`], strong handle | a counted reference; while there is one its object exists |
//! | [`Seat`] | a worker's place in the domain; uses one object at a time |
//! | enter, leave | begin and end to *use* an object; [`Active`] is the guard in between |
//! | keep, lazy | after it left, a seat *keeps* the object, without a count; [`Seat::lazy`] uses it again ([`LazyGuard`]) |
//! | have | a seat has an object that it uses or keeps |
//! | end | an object ends when its last context is dropped; its value is dropped then or later |
//! | scheme | how a domain finds out that nobody has an object: [`Shootdown`], [`Mask`] or [`Counted`] |
//! | shootdown | taking an object that ends from all seats that keep it |
//! | donation | a counted reference that a shootdown gives to a seat which is using the object |
//! | light and heavy barrier | a pair of memory barriers of which one costs nothing and the other a system call |
//!
//! Strong and lazy references are different types. You turn one into the other: [`enter`](Seat::enter) makes a use of a
//! context, [`upgrade`](Active::upgrade) a context of a use.
//!
//! # What it costs
//!
//! To use an object, enter and leave together: atomic read-modify-writes, and whose cache lines are written.
//!
//! | | [`Shootdown`] | [`Mask`] | [`Counted`] |
//! |---|---|---|---|
//! | the same object again | none, on the seat's line | none, on no line | 2, on the object's |
//! | another object | none, on the seat's line | 2 to 4, on both objects' | 2, on both objects' |
//! | [`Seat::lazy`] | none, on the seat's line | none, on no line | none, on no line |
//!
//! To end one, besides the destructor:
//!
//! | the last context goes, and | [`Shootdown`] | [`Mask`], [`Counted`] |
//! |---|---|---|
//! | no seat ever entered the object | about 12 read-modify-writes | about 6 |
//! | some seat did | the same, and a look at each seat | about 6 |
//! | some seat has it | about 16, two looks at each seat, one heavy barrier | 1, and about 6 when the last seat lets go |
//!
//! A heavy barrier interrupts the CPUs that run other threads of this process (`membarrier` on Linux), and returns when the
//! slowest has answered: after some microseconds, or a tenth of one if no other CPU runs the process. Where there is none
//! (other systems, a seccomp filter, no feature `std`) both sides pass full fences, and each use costs one or two of them:
//! about as much as a count that nobody else writes, and it still scales. [`Domain::drop_all`], and threads that drop
//! at the same time, share looks and barriers.
//!
//! A look costs some nanoseconds. Places of seats that were dropped are looked at as well, until other seats have taken
//! them: take seats for workers, not for requests or tasks.
//!
//! # When is a value dropped?
//!
//! Exactly once; by which thread depends on who had it last:
//!
//! | after the last [`Context`] | [`Shootdown`] | [`Mask`], [`Counted`] |
//! |---|---|---|
//! | no seat has it | at once, by the thread that dropped the context | the same |
//! | a seat keeps it, and is not using it | the same, after one barrier; the seat need not run | when the seat enters something else, is [cleared](Seat::clear) or dropped |
//! | a seat is using it | when it leaves, by the thread that leaves | as above |
//!
//! At once means: before the drop of the context returns. There are two exceptions:
//!
//! - If another thread is ending objects of this domain at that moment, the object is handed to that thread, and the drop of
//!   the context may return first. The other thread takes it from all seats before it runs any destructor. If it loses its
//!   CPU meanwhile, the objects that were handed to it wait until it runs again. That thread is running, never asleep. Once
//!   256 objects are handed to it, later droppers end their own objects.
//! - If the context is dropped by the destructor of another value of this domain, its value is dropped when that destructor
//!   has returned. So lists and trees of any size end without deep recursion: those of one domain, and those that go
//!   through a few. (Not without the feature `std`. There the destructors call each other.)
//!
//! So the drop of a context may run destructors of other objects too. Release your locks first, and have no destructor
//! wait for the end of another object.
//!
//! How long it takes: each seat adds two looks. Whether its worker is running makes no difference.
//!
//! # Which scheme?
//!
//! - [`Shootdown`], unless objects that seats have end thousands of times a second while other CPUs are busy.
//! - [`Mask`], if no thread may be interrupted. It is fastest for workers that stay with one object. A sleeping worker
//!   keeps its last object alive, unless it calls [`clear`](Seat::clear) first.
//! - [`Counted`], as a baseline, and to find out whether a bug is in the other schemes.
//!
//! # When not to use it
//!
//! - For objects that live for one request: making, entering and ending one costs half a microsecond, and about 11 us while
//!   other CPUs run the process.
//! - If workers come back to an object only after many others: a seat keeps one.
//! - If a reference is passed on more often than it is used: that is what counts are for ([`arc`](crate::arc)).
//!
//! # Threads, forks, panics, exits
//!
//! - **Any number of seats**, taken and dropped at any time. Seats, [`Reader`]s and their guards may move to another
//!   thread, the guard of [`Cached::read`] may not.
//! - **A thread that ends without dropping its seat** (`mem::forget`): an object that the seat keeps is taken from it as
//!   from any other. The seat's place stays taken as long as the domain lasts.
//! - **A forgotten guard** leaves the seat using the object. If the object ends meanwhile, its value is dropped only when
//!   the seat is used again, cleared or dropped; never, if the seat is forgotten too.
//! - **Panics** while an object is in use leave it as a return does. Where a value's destructor panics while several
//!   values are dropped the others are dropped all the same, and the panic goes on.
//! - **The last context may be dropped anywhere**: while a seat of the same thread uses the object, in a destructor of
//!   another value, also if values hold contexts themselves, of this domain or of another one.
//! - **A process that forked** goes on using its domains. Seats of threads that are not in the child lose what they keep
//!   as all others do. What those threads were using, and objects that they were about to drop, are leaked in the child.
//! - **When the process exits** values in statics are not dropped, as ever. Contexts and seats in thread-locals are.
//!
//! # Limits
//!
//! - A seat uses one object at a time. For two at once take two seats.
//! - Types are sized; for others use a `Box`.
//! - [`Context`]s and guards are covariant in `T`, as std's `Arc` is. [`Domain`] and [`Cached`] are not: they take values in,
//!   as a `Mutex` does. Nor are [`Seat`] and [`Reader`], which are used through `&mut` anyway.
//!
//!   ```
//!   # use tenure::lazy::Context;
//!   fn shorter<'a>(context: Context<&'static str>) -> Context<&'a str> { context }
//!   ```
//!   ```compile_fail
//!   # use tenure::lazy::Domain;
//!   fn shorter<'a>(domain: Domain<&'static str>) -> Domain<&'a str> { domain } // error: may not live long enough
//!   ```
//! - All are `UnwindSafe` and `RefUnwindSafe` if `T` is `RefUnwindSafe`, as std's `Arc`: what a panic interrupts leaves
//!   them in order, and only the value can be left in disorder.
//! - A signal handler must not use a seat, or a [`Cached`], of the thread that it interrupts.
//! - Any thread of the domain may drop a value. So domains, contexts and seats go from thread to thread only if
//!   `T: Send + Sync`.
//!
//! # Where this comes from
//!
//! [Linux's lazy TLB][piggin]. An idle CPU borrows the address space of the last program, and used to count it: on a POWER8 with
//! 192 CPUs that switch through idle, about a million switches per second, as all write one word. Without the count, and
//! with an interrupt to those that have it when an address space ends, 118 million (`MMU_LAZY_TLB_SHOOTDOWN`,
//! Linux 6.4). [`Mask`] was proposed in its review; donating references was proposed later. `tenure bench lazy` measures
//! them here, `tenure sim lazy` on 192 simulated CPUs.
//!
//! [piggin]: https://lkml.kernel.org/r/20210605014216.446867-1-npiggin@gmail.com

pub mod cached;
mod context;
mod counted;
mod domain;
mod guard;
mod mask;
mod protocol;
mod seat;
mod shootdown;
mod statistics;
mod unwind;

#[doc(inline)]
pub use cached::{Cached, CachedGuard, ReadGuard, Reader};
pub use context::Context;
pub use counted::Counted;
pub use domain::Domain;
pub use mask::Mask;
pub use seat::{Active, LazyGuard, Seat};
pub use shootdown::Shootdown;
pub use statistics::Statistics;

use crate::memory::{Memory, Native};

/// How a domain knows that nobody has an object any more: [`Shootdown`], [`Counted`] or [`Mask`].
///
/// Sealed: there is nothing in it to call, and no other type implements it.
///
/// ```
/// use tenure::lazy::{Counted, Domain, Mask, Scheme, Shootdown};
///
/// fn longest<S: Scheme>() -> usize {
///     let domain = Domain::<String, S>::new_in();
///     let context = domain.context("hello".into());
///     domain.seat().enter(&context).len()
/// }
///
/// assert_eq!([longest::<Shootdown>(), longest::<Mask>(), longest::<Counted>()], [5; 3]);
/// ```
/// ```compile_fail,E0277
/// enum Mine {}
/// impl tenure::lazy::Scheme for Mine {} // error: `Mine` is no scheme of this crate
/// ```
pub trait Scheme<M: Memory = Native>: protocol::Protocol<M> {}
