//! Uncounted references that workers keep between requests, taken from them when the last strong handle is dropped.
//!
//! Workers use the same tenant, snapshot or schema from one request to the next. If each use counts a reference, all
//! workers write one word. If each worker caches a counted reference, sleeping workers keep dead objects alive for
//! hours.
//!
//! Here a worker *keeps* the object that it used last, without a count. Using it again takes plain loads and stores on
//! a cache line that only this worker writes. When the last strong handle is dropped the object is taken from the
//! worker, even a sleeping one.
//!
//! ```
//! use tenure::revocable::{Strong, Domain};
//!
//! struct Tenant { name: String }
//!
//! let domain = Domain::new();
//! let tenant: Strong<Tenant> = domain.strong(Tenant { name: "a".into() }); // strong: counted
//!
//! let worker = {
//!     let mut local = domain.register(); // one for each worker, for as long as it works
//!     let tenant = tenant.clone();
//!     std::thread::spawn(move || {
//!         for _request in 0..1000 {
//!             let tenant = local.enter(&tenant);
//!             assert_eq!(tenant.name, "a");
//!         }
//!         local // the worker has nothing to do, and its handle keeps the tenant
//!     })
//! };
//! let mut local = worker.join().unwrap();
//! drop(tenant); // the last strong handle: the tenant is dropped here, whatever the worker is doing
//! assert!(local.kept().is_none());
//! ```
//!
//! In a server the objects are in a locked table: see [`LocalHandle::kept_or`]. For one value that all threads read and
//! that is sometimes replaced there is [`rcu`](crate::rcu).
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | strong handle, [`Strong`] | a counted reference, which keeps its object |
//! | enter, leave | begin and end to *use* an object, by a [`Guard`] |
//! | keep | after leaving, a [`LocalHandle`] *keeps* the object without a count |
//! | have | use or keep |
//! | retire | what the drop of its last strong handle does to an object |
//! | shootdown | taking a retired object from all handles that keep it |
//! | donation | a counted reference that a shootdown gives to a handle which is using the object |
//! | light and heavy barrier | a pair of memory barriers of which one is free and the other a system call |
//!
//! # What it costs
//!
//! To enter and leave, whether the same object again, by [`LocalHandle::kept`], or another object: plain loads and stores
//! on the handle's own line, and no atomic read-modify-write.
//!
//! To retire an object, besides the destructor:
//!
//! | the last strong handle goes, and | cost |
//! |---|---|
//! | no handle ever entered the object | about 12 read-modify-writes |
//! | some handle did | the same, and one check of each handle |
//! | some handle has it | about 16, two checks of each handle, one heavy barrier |
//!
//! A heavy barrier interrupts the CPUs that run other threads of this process (`membarrier` on Linux) and returns when
//! the slowest has answered: after some microseconds, or a tenth of one if no other CPU runs the process. Where there
//! is none (other systems, a seccomp filter, no feature `std`) each use passes one or two full fences: about as much as
//! a count that no other thread writes. [`Domain::drop_all`], and threads that drop at the same time, share checks and
//! barriers.
//!
//! A check costs some nanoseconds, also at the slot of a dropped handle: register workers, not requests or tasks.
//!
//! # When is a value dropped?
//!
//! Exactly once:
//!
//! | after the last [`Strong`] | the value is dropped |
//! |---|---|
//! | no handle has it | at once, by the thread that dropped the strong handle |
//! | a handle keeps it | the same, after one barrier; its worker need not run |
//! | a handle is using it | when it leaves, by the thread that leaves |
//!
//! At once means: before the drop of the strong handle returns. There are two exceptions:
//!
//! - Another thread that is reclaiming objects of this domain takes over the object, and the drop may return first.
//!   That thread is running, and runs no destructor before the object is taken from all handles; if it loses its CPU,
//!   the objects wait. Once 256 are queued, later droppers reclaim their own.
//! - If a destructor of a value of this domain drops the strong handle, the object's value is dropped when that has
//!   returned. So lists and trees of any size, also through several domains, go without deep recursion (with the feature
//!   `std`).
//!
//! So the drop of a strong handle may run other destructors. Release your locks first, and let no destructor wait for
//! another object to go.
//!
//! # When not to use it
//!
//! - If objects that handles have are retired thousands of times a second while other CPUs are busy, or if no thread may
//!   be interrupted: each such end interrupts the CPUs that run this process.
//! - For objects that live for one request: making, entering and retiring one costs half a microsecond, and 11 to 15 us
//!   while other CPUs run the process.
//! - If workers come back to an object only after many others: a handle keeps one.
//! - If a reference is passed on more often than it is used: count ([`arc`](crate::arc)).
//!
//! # Threads, forks, panics, exits
//!
//! - **Local handles**, any number of them, readers of an [`RcuCell`] and [`Guard`]s may move to another
//!   thread; an [`RcuGuard`] may not.
//! - **A thread that ends without dropping its handle** (`mem::forget`) loses what it keeps, as others do. The slot
//!   stays taken.
//! - **A forgotten guard** leaves the handle using the object, until the handle is used again, cleared or dropped.
//! - **A panic** ends the use of an object as a return does. If a destructor panics while several values are dropped,
//!   the others are dropped all the same, and the panic goes on.
//! - **The last strong handle may be dropped anywhere**: while a handle of the same thread uses the object, or in a
//!   destructor.
//! - **A process that forked** goes on using its domains. Handles of threads that are not in the child lose what they
//!   keep. Objects that those threads were using or dropping leak in the child.
//! - **Stackful coroutines** may be suspended in a destructor. Until it has returned, the objects of its domain that end on
//!   this thread wait for it. The coroutine must resume on the same thread; otherwise the process is aborted.
//! - **When the process exits** values in statics are not dropped. Handles in thread-locals are.
//!
//! # Limits
//!
//! - A local handle uses one object at a time. For two at once register twice.
//! - Types are sized; for others use a `Box`.
//! - [`Strong`]s and guards are covariant in `T`, as std's `Arc` is; the others are not, as [`Domain`] and [`RcuCell`]
//!   take values in.
//!
//!   ```
//!   # use tenure::revocable::Strong;
//!   fn shorter<'a>(strong: Strong<&'static str>) -> Strong<&'a str> { strong }
//!   ```
//!   ```compile_fail
//!   # use tenure::revocable::Domain;
//!   fn shorter<'a>(domain: Domain<&'static str>) -> Domain<&'a str> { domain } // error: may not live long enough
//!   ```
//! - All are `UnwindSafe` and `RefUnwindSafe` if `T` is `RefUnwindSafe`, as std's `Arc`.
//! - A signal handler must not use a local handle, or an [`RcuCell`], of the thread that it interrupts.
//! - A [global allocator](crate#in-a-global-allocator) may use everything here. A value that it ends while another one is
//!   ending is dropped afterwards, as in a destructor.
//! - A [plugin](crate#plugins) must not use a domain or an [`RcuCell`] of the program.
//!
//! # Where this comes from
//!
//! [Linux's lazy TLB][piggin]. An idle CPU borrows the address space of the last program, and used to count it. On a
//! POWER8 with 192 CPUs that switch through idle, this allowed about a million switches per second, as all write one
//! word. An interrupt when an address space goes, instead of the count, allows 118 million (`MMU_LAZY_TLB_SHOOTDOWN`,
//! Linux 6.4). Donating references was proposed later. `tenure bench revocable` measures it here, beside a mask of handles in
//! place of the count, which was proposed in its review; `tenure sim revocable` simulates them on 192 CPUs.
//!
//! [`RcuCell`]: crate::rcu::RcuCell
//! [`RcuGuard`]: crate::rcu::RcuGuard
//! [piggin]: https://lkml.kernel.org/r/20210605014216.446867-1-npiggin@gmail.com

mod counting;
mod destroy;
mod domain;
mod handles;
mod local;
pub(crate) mod mapped;
mod protocol;
mod rcu_cell;
mod scheme;
mod shootdown;
mod statistics;
mod strong;
mod traits;

pub use handles::{Domain, Guard, LocalHandle, Strong};
pub use statistics::Stats;

/// The same by a scheme and on a machine: for benchmarks, models and simulators.
#[doc(hidden)]
pub mod generic {
    pub use super::counting::{Counted, Mask};
    pub use super::domain::Domain;
    pub use super::local::{Guard, LocalHandle};
    pub use super::rcu_cell::{RcuCell, RcuGuard, RcuReader};
    pub use super::scheme::{On, Scheme};
    pub use super::shootdown::{Revoking, Shootdown, Verified};
    pub use super::strong::Strong;
}
