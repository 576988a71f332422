//! References that nobody counts, taken back when the owner goes.
//!
//! Workers keep using the same tenant, snapshot, schema or connection state from one request to the next. If each use takes
//! and gives back a counted reference, all workers write one word. If each worker caches a reference instead, the ones
//! that sleep keep dead objects alive for hours. Here a worker *keeps* what it used last without counting it, uses it
//! again by plain loads and stores of a line of its own, and loses it when its last owner lets go, without having to run.
//!
//! ```
//! use tenure::lazy::{Context, Domain};
//!
//! struct Tenant { name: String }
//!
//! let domain = Domain::new();
//! let tenant: Context<Tenant> = domain.context(Tenant { name: "a".into() });
//!
//! let worker = {
//!     let mut seat = domain.seat(); // one for each worker
//!     let tenant = tenant.clone();  // in a server: found in a table, by the request
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
//! [`Cached`] is made of the same parts, for one value that everybody reads and that is sometimes replaced.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | [`Domain`] | the workers that share objects of one type |
//! | [`Context`] | a strong handle: counted; its object exists |
//! | [`Seat`] | a worker's place in the domain; uses one object at a time |
//! | enter, leave | begin and end to use an object; [`Active`] is the time in between |
//! | keep, lazy | after it left a seat keeps the object, uncounted; [`Seat::lazy`] uses it again ([`LazyGuard`]) |
//! | shootdown | taking an object from all seats that keep it |
//! | donation | a counted reference that a shootdown gives to a seat which is using the object |
//!
//! Strong and lazy references are different types, and neither becomes the other by itself: a strong one is
//! [entered](Seat::enter), a lazy one [upgraded](Active::upgrade).
//!
//! # What it costs
//!
//! Atomic read-modify-writes, and the lines that are written, for one enter and leave:
//!
//! | | [`Shootdown`] | [`Mask`] | [`Counted`] |
//! |---|---|---|---|
//! | the same object again | none; the seat's own line | none; none | two; the object's |
//! | another object | none; the seat's own line | two to four; both objects' | two; both objects' |
//! | [`Seat::lazy`] and leave | none; the seat's own line | none; none | none; none |
//! | the last handle goes, no seat has the object | about five, and a look at every seat | one or two | one or two |
//! | the last handle goes, some seat has it | the same, a second look, and a heavy barrier | the same | the same |
//!
//! A heavy barrier interrupts the CPUs that run other threads of this process (`membarrier` on Linux), and costs as much
//! as the slowest of them takes to answer: some microseconds. Where there is none, both sides pass full fences instead, and
//! each enter and leave has one or two. [`Domain::drop_all`], and threads that drop at the same time, share one barrier.
//!
//! # When is a value dropped?
//!
//! Exactly once; by which thread depends on who had it last:
//!
//! | after the last [`Context`] | [`Shootdown`] | [`Mask`], [`Counted`] |
//! |---|---|---|
//! | no seat has it | at once, by the thread that dropped the handle | the same |
//! | a seat keeps it, and is not using it | the same, after one barrier; the seat need not run | when the seat enters something else, is [cleared](Seat::clear) or dropped |
//! | a seat is using it | when it leaves, by the thread that leaves | as above |
//!
//! "At once" is before the drop of the handle returns, with one exception: where another thread of the domain is
//! ending objects at that moment, this one is left to it, and it ends it next, before it runs any destructor of a value but
//! not necessarily before the drop of the handle has returned. How many seats there are adds a look at each; whether
//! their workers run adds nothing. A thread that has such objects in hand and is not scheduled holds them up.
//!
//! # Which scheme?
//!
//! - [`Shootdown`], unless objects end so often that the barriers are felt.
//! - [`Mask`] where nobody must be interrupted, and a sleeping worker may keep its last object; or clears its
//!   seat first. It is fastest for workers that stay with one object.
//! - [`Counted`] as a baseline, and to rule out a fault in the others.
//!
//! # Threads, forks, panics, exits
//!
//! - **Any number of seats**, taken and dropped at any time. A seat or a guard may move to another thread.
//! - **A thread that ends without dropping its seat** (it forgot it): an object that the seat keeps is taken from it as
//!   from any other. The seat's place stays taken.
//! - **A forgotten guard** makes its seat use the object on: if that ends meanwhile it is leaked, until the seat is used
//!   again, cleared or dropped.
//! - **Panics** while an object is in use leave it as a return does. Where a value's destructor panics while several
//!   values are dropped the others are dropped all the same, and the panic goes on.
//! - **The last handle may be dropped anywhere**: while a seat of the same thread uses the object, in a destructor of
//!   another value, in a domain of contexts whose values are handles of another domain, or of this one.
//! - **A process that forked** goes on using its domains. Seats of threads that are not in the child lose what they keep
//!   as all others do; what they were using, and objects whose end they had in hand, is leaked in the child.
//! - **When the process exits** values in statics are not dropped, as ever. Handles and seats in thread-locals are; an
//!   end in there does not share barriers with others.
//!
//! # Limits
//!
//! - A seat uses one object at a time. For two at once take two seats.
//! - Not for signal handlers that use a seat of the thread they interrupt.
//! - Values are dropped by any thread that uses the domain: they are `Send` and `Sync`, or the domain stays on its thread.
//!
//! # Where this comes from
//!
//! Linux's lazy TLB. An idle CPU borrows the address space of the last program, and used to count it: on a POWER8 with
//! 192 CPUs that switch through idle, about a million switches per second, as all write one word. Without the count, and
//! with an interrupt to those that have it when an address space ends, 118 million (`MMU_LAZY_TLB_SHOOTDOWN`,
//! Linux 6.4). The [mask as the count](Mask) was proposed in its review, and the donation of references after it.
//! `tenure bench lazy` measures them here, `tenure sim lazy` on 192 simulated CPUs.

mod block;
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
pub trait Scheme<M: Memory = Native>: protocol::Protocol<M> {}
