//! `Arc` and `Weak` with std's API, on a count without a retry loop.
//!
//! ```
//! use tenure::sync::{Arc, Weak};
//! use std::sync::Mutex;
//!
//! /// A cache that does not keep its entries alive.
//! #[derive(Default)]
//! struct Cache(Mutex<Vec<Weak<String>>>);
//!
//! impl Cache {
//!     fn add(&self, entry: &Arc<String>) {
//!         let mut entries = self.0.lock().unwrap();
//!         entries.retain(|entry| !entry.is_dead()); // a load each, no write
//!         entries.push(Arc::downgrade(entry));
//!     }
//!     fn newest(&self) -> Option<Arc<String>> {
//!         self.0.lock().unwrap().last()?.upgrade() // one add, however many threads upgrade
//!     }
//! }
//!
//! let cache = Cache::default();
//! let entry = Arc::new(String::from("payload"));
//! cache.add(&entry);
//! assert!(cache.newest().is_some());
//! drop(entry);
//! assert!(cache.newest().is_none());
//! ```
//!
//! Writes to the shared line (reads of it in parentheses):
//!
//! | operation | here | std |
//! |---|---|---|
//! | `Arc::clone` | 1 add | 1 add |
//! | `Weak::upgrade` | 1 add | 1 compare-exchange (1 load), repeated under contention |
//! | `Weak::upgrade` of a dead value | 1 add | none (1 load) |
//! | `Arc::downgrade` | 1 add | 1 compare-exchange (1 load), repeated under contention |
//! | ... where no other `Weak` exists, from then on | 1 add (1 load) | |
//! | ... the first ever of a value, and the next that finds no `Weak` | 2 (1 load) | |
//! | `Weak::clone` | 1 add | 1 add |
//! | drop, not the last | 1 subtraction | 1 subtraction |
//! | drop of the last `Arc`, never a `Weak` | 1 subtraction (2 loads) | 2 subtractions |
//! | ... `Weak`s gone | 1 subtraction, 1 compare-exchange (1 load) | 2 subtractions |
//! | ... `Weak`s left | 2 subtractions, 1 compare-exchange (1 load) | 2 subtractions |
//! | `Weak::is_dead` | none (1 load) | does not exist |
//!
//! On processors without an instruction for "add" each add is a short loop: see [`count`](crate::count). The value has
//! 16 bytes in front of it: as std's on 64-bit targets, twice that of 32-bit ones.
//!
//! # From std to here
//!
//! Replace `use std::sync::{Arc, Weak}` with `use tenure::sync::{Arc, Weak}`. All that std has on stable Rust (as of
//! 1.95) has the same name here. Types that many threads downgrade and upgrade gain; those that are only cloned do not.
//! `docs/arc.md` in the repository goes through the compiler's errors. The differences:
//!
//! | with std's `Arc` | here | because |
//! |---|---|---|
//! | `let it: Arc<dyn Trait> = Arc::new(value);` | `let it = unsize!(Arc::new(value) => dyn Trait);` (or `Arc::from` of a `Box<dyn Trait>`) | the coercion needs `CoerceUnsized`, which is not stable: see [`unsize!`](crate::unsize) |
//! | `fn share(self: &Arc<Self>)`, `fn run(self: Arc<Self>)` | `fn share(this: &Arc<Self>)`, called as `Node::share(&node)` | receivers need a trait that is not stable |
//! | `impl std::task::Wake for Task` | `impl tenure::arc::Wake for Task` | std's trait takes std's `Arc` |
//! | a function of another crate that takes std's `Arc` | keep std's there | it is another type |
//! | a trait that another crate implements for std's `Arc` | a newtype of yours implements it; serde, arc-swap and stable_deref_trait have [features](crate#features) | only that crate or this one may implement it |
//! | `std::sync::Arc::from_raw(Arc::into_raw(a))` | **compiles, and is undefined behaviour** | the layouts differ, and a raw pointer does not say whose it is |
//! | a borrow that ends before its `Arc<&T>` is dropped | declare what is borrowed first | std's drop promises to look at no borrow (`may_dangle`), which is not stable |
//! | `a == b` on one shared value returns at once if `T: Eq` | compares the value with itself; use `Arc::ptr_eq(&a, &b) \|\| a == b` if that is slow | specialisation is not stable |
//! | 2^63 references abort the program | 2^31 strong references [saturate](crate::fault): reported once, the value leaks | the count contains its own overflow |
//! | a `strong_count` of 0 is final | [`Weak::strong_count`] may read 0 before an upgrade overtakes the last drop; [`Weak::is_dead`] is final (but in `new_cyclic`) | the upgrade revives the value |
//! | [`Arc::try_unwrap`] and [`Arc::make_mut`] are wait-free | they wait for the last step of a drop that an upgrade overtook: spin a little, then (with `std`) yield | only then is the owner known to be alone |
//! | any target with pointer-sized atomics | targets with 64-bit atomics | the count has two halves |
//! | `Arc::default()` of `str`, `CStr` and `[T]` share a static | they allocate | |
//!
//! # On a nightly compiler
//!
//! With `RUSTFLAGS="--cfg tenure_nightly"` `Arc` and `Weak` implement what stable Rust keeps to std: `CoerceUnsized`,
//! `DispatchFromDyn`, the trait of receivers, and `may_dangle`. The rows about coercions, receivers and borrows no
//! longer apply.
//!
//! It is a flag and not a feature, so that no dependency can turn it on for a program on stable Rust. It follows
//! nightly-2026-10-30; the traits may change with any nightly.
//!
//! # When values are dropped
//!
//! As with std, the thread that gives up the last `Arc` drops the value before its drop returns, with one exception: if
//! an upgrade overtakes a drop that has taken the count to zero, that drop may drop the value later, before it returns.
//! So a thread that is preempted in the middle of a drop may delay the end of the value until it runs again. Likewise
//! [`Arc::into_inner`] may return `None` for the only `Arc`.
//!
//! The memory goes with the last `Weak`, also if the value's destructor panics.
//!
//! A [global allocator](crate#in-a-global-allocator) may use everything here, and a [plugin](crate#plugins) of the same compiler may
//! get an `Arc`.

#[doc(hidden)]
#[path = "unsize.rs"]
pub mod __unsize;
mod convert;
mod counts;
mod inner;
mod strong;
mod traits;
mod unique;
mod wake;
mod weak;

pub use convert::CloneToUninit;
#[doc(hidden)]
pub use counts::Counts;
pub(crate) use inner::{layout_of, with_address};
pub use strong::Arc;
pub use wake::Wake;
pub use weak::Weak;
