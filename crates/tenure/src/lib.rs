//! Shared objects that stay fast when every core wants the same one.
//!
//! A program slows down when all cores take and release references to one object, or take buffers from one list. Where
//! the object is looked up first (`Weak::upgrade`, a table that holds no references), the count is a compare-exchange
//! loop, which collapses under contention. Fields that all cores read often share its cache line. The repairs:
//!
//! | module | what it is for |
//! |---|---|
//! | [`count`] | reference counts whose get and put are one unconditional atomic add |
//! | [`owner`] | a value with one owner, and pointers to it that are cloned and dropped without a shared count |
//! | [`counter`] | counters, gauges and histograms that every thread adds to on lines of its own |
//! | [`arc`] and [`sync`] | `Arc` and `Weak` with std's API on such a count: `upgrade` and `downgrade` are one add each (two for the first downgrade of a value, and for the next that finds no `Weak`) |
//! | [`pool`] | buffers and objects that are used again, in O(1) and without a line that all threads write |
//! | [`registry`](mod@registry) | one live object per key, created on first use, gone with its last reference |
//! | [`rcu`] | a value that all threads read by plain loads and stores, and that can be replaced |
//! | [`revocable`] | references that workers keep between uses without counting them, and that are taken from them in the end |
//! | [`cache_line`](mod@cache_line) | values that own their cache line, and structs whose lines the compiler checks |
//! | [`fault`] | how overflows and unbalanced puts are reported |
//! | [`process`](mod@process) | settings of the whole process: memory barriers, the hook for faults |
//!
//! # Which one do I want?
//!
//! - A profile with `Weak::upgrade` or `Arc::downgrade` on top: replace `use std::sync::{Arc, Weak}` with `use
//!   tenure::sync::{Arc, Weak}` and measure. (`Arc::clone` is one add in std already.)
//! - An `Arc<State>` that every request, task or connection clones, and that ends when the program or a tenant does:
//!   [`owner::Owner`] and [`owner::Shared`].
//! - A structure of your own with a count in it: [`count::TicketRef`] (8 bytes; works with any memory) or
//!   [`count::RcuRef`] (4 bytes; the memory must stay readable across a put).
//! - Fields that are read next to the count: [`cache_line::CachePadded`] moves one of the two to another line, and
//!   `#[derive(LineLayout)]` has the compiler check it.
//! - A list of buffers that is walked or locked, a `Mutex<Vec<_>>` or a queue of free objects: [`pool::BufferPool`] for
//!   bytes; [`pool::SlotPool`] for other objects, also to find one by a 64-bit key. [When not
//!   to](pool#when-not-to-use-one).
//! - A value that every request reads and that is sometimes replaced as a whole (configuration, routes, keys), in an
//!   `RwLock<Arc<_>>` or an `ArcSwap`: [`rcu::RcuCell`].
//! - Workers that take and give back a reference to the same tenant, snapshot or connection with each request:
//!   [`revocable::Domain`] and a [`revocable::LocalHandle`] per worker. [When not to](revocable#when-not-to-use-it).
//! - A `Mutex<HashMap<K, Weak<V>>>`, or a sharded one (peers, tenants, open files): [`registry::Registry`].
//!
//! A shared count still moves its cache line from core to core: those of [`count`] and [`arc`] remove the retries, not
//! the move. [`owner`] and [`revocable`] remove both. `tenure bench` measures them on your machine.
//!
//! # In a global allocator
//!
//! A global allocator that counts or profiles may use the library. But the library's own allocations call that allocator, in
//! the middle of operations. So each module says what the allocator may use:
//!
//! | module | in a global allocator |
//! |---|---|
//! | [`count`], [`arc`], [`cache_line`](mod@cache_line) | everything: no state of the thread is involved |
//! | [`counter`], [`owner`], [`rcu`], [`revocable`] | everything but [`Closing::wait`](owner::Closing::wait) |
//! | [`registry`](mod@registry) | look-ups, and acquires of keys that the allocator alone creates: see its [limits](mod@registry#limits) |
//! | [`pool`] | acquires and releases in a pool without a limit: see its [limits](pool#limits) |
//!
//! Whichever it uses, the allocator must
//!
//! - **guard itself against recursion**, by a thread-local flag without a destructor: what it uses here may allocate and
//!   free;
//! - **not panic**, which is undefined behaviour for any allocator;
//! - **not end an object on every free**: that would free the object's own memory, which ends the next object, without end.
//!
//! A thread's first use registers a thread-local destructor. On systems other than Linux with glibc, std before Rust 1.93 may
//! allocate to register it, and aborts if the allocator then uses the library.
//!
//! # Plugins
//!
//! A dynamic library that is linked with this crate has its own *copy* of it, with its own thread numbers and cells. Objects
//! with a part for each thread work only in the copy that made them: owners and their [`Shared`](owner::Shared), counters,
//! pools, registries, [`rcu`] cells, [`revocable`] references. No other copy may use them, even of the same version: objects
//! could be freed while in use, and additions could be lost. Instead, pass the plugin an [`Arc`](arc::Arc), or functions of the program. Owners and their
//! pointers panic where the mistake can be seen: at each use with debug assertions, else at a thread's first use.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `std` | yes | conversions from and traits of std's types, a fault hook that prints to standard error, thread numbers (idle slots of pools per thread, reads that find their place, counts per thread), `membarrier`; depends on `libc` |
//! | `alloc` | with `std` | [`arc`], [`sync`], [`owner`], [`counter`], [`pool`] and [`revocable`] |
//! | `serde` | no | `Serialize` and `Deserialize` for `Arc`, `Weak` and `Owner`, `Serialize` for `Shared` |
//! | `arc-swap` | no | `Arc` and `Weak` in `arc_swap::ArcSwapAny`; depends on `arc-swap`, and needs `std` |
//! | `stable_deref_trait` | no | `StableDeref` and `CloneStableDeref` for `Arc` |
//! | `seize` | no | seize's guards are proofs for [`count::RcuRef::put`] |
//! | `crossbeam-utils` | no | conversions between crossbeam's `CachePadded` and [`cache_line::CachePadded`] |
//! | `bytes` | no | `Buf`, `BufMut` and `freeze` for [`pool::PooledBuf`] |
//! | `metrics` | no | `metrics::CounterFn` for [`counter::Counter`]; depends on `metrics`, and needs `std` |
//! | `registry` | no | [`registry`](mod@registry); needs `std` |
//! | `derive` | no | [`#[derive(LineLayout)]`](mod@cache_line#checked-by-the-compiler) |
//!
//! Without default features the crate needs `core` alone. If your program enters a sandbox (a seccomp filter) while it
//! runs, see [`process::use_full_fences`]. With a nightly compiler `--cfg tenure_nightly` makes `Arc` coerce as std's does: see
//! [`arc`](mod@arc#on-a-nightly-compiler).

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    tenure_nightly,
    feature(
        coerce_unsized,
        dispatch_from_dyn,
        dropck_eyepatch,
        legacy_receiver_trait,
        pin_coerce_unsized_trait,
        unsize
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

/// Methods that call their namesakes: `forward! { to => fn get(&self) -> u32; }`
macro_rules! forward {
    ($to:expr => $(fn $name:ident(&$this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        #[track_caller]
        fn $name(&$this $(, $argument: $type)*) $(-> $result)? {
            $to.$name($($argument),*)
        }
    )*};
    ($to:expr => $(fn $name:ident(&mut $this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        fn $name(&mut $this $(, $argument: $type)*) $(-> $result)? {
            $to.$name($($argument),*)
        }
    )*};
}

/// What derefs to a `T` shows what that shows.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
macro_rules! shown {
    ($($target:ident: [$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> core::fmt::Display for $type
        where
            $target: core::fmt::Display,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> core::fmt::Debug for $type
        where
            $target: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

/// As above, and is an `AsRef`.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
macro_rules! smart_pointer {
    ($($target:ident: [$($generics:tt)*] $type:ty;)*) => {
        shown! { $($target: [$($generics)*] $type;)* }
        $(impl<$($generics)*> AsRef<$target> for $type {
            fn as_ref(&self) -> &$target {
                self
            }
        })*
    };
}

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod arc;
pub mod cache_line;
#[doc(hidden)]
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod cells;
pub mod count;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod counter;
pub mod fault;
#[doc(hidden)]
pub mod memory;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod owner;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod pool;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod rcu;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
pub mod registry;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod revocable;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
mod segments;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
mod shared;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
mod wake;

/// What holds for the whole process: its memory barriers, and who hears of faults.
pub mod process {
    pub use crate::fault::set_fault_hook;
    pub use crate::memory::use_full_fences;
}

/// The names of [`std::sync`](https://doc.rust-lang.org/std/sync/), so that one `use` line moves a program over.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod sync {
    pub use crate::arc::{Arc, Weak};
}

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "registry", target_has_atomic = "64"))]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// Compiles those of the page about moving from std's `Arc`.
#[cfg(all(doctest, feature = "std", target_has_atomic = "64"))]
#[doc = include_str!("../../../docs/arc.md")]
mod from_std {}
