//! Moving a program from std's `Arc` to this one, by the errors that the compiler shows.
//!
//! Start with `use tenure::sync::{Arc, Weak}` in place of `use std::sync::{Arc, Weak}`. Of 39 libraries that were
//! tried, 18 compiled after that, and 10 more with [`unsize!`](crate::unsize). The rest shows one of these errors:
//!
//! | error | what the line does | section |
//! |---|---|---|
//! | E0308, "expected `Arc<dyn ..>`"; E0605 | lets an `Arc<T>` become an `Arc<dyn Trait>` or an `Arc<[T]>`; with `as` | [coercions](#e0308-and-e0605-a-coercion) |
//! | E0282 | has a closure find out its argument types from the `dyn Fn` that it becomes | [closures](#e0282-a-closure) |
//! | E0658 (older compilers: E0307) | takes `self: &Arc<Self>` or `self: Arc<Self>` | [receivers](#e0658-and-e0307-a-receiver) |
//! | E0599, E0038 | calls such a method, on a value or on a `dyn Trait` | [receivers](#e0658-and-e0307-a-receiver) |
//! | E0053 | implements `std::task::Wake` | [wakers](#e0053-a-waker) |
//! | E0308, "distinct types" | gives the `Arc` to a crate that takes std's | [borders](#e0308-again-and-e0277-the-border-to-another-crate) |
//! | E0277 | uses a trait that another crate implements for std's `Arc` | [borders](#e0308-again-and-e0277-the-border-to-another-crate) |
//! | E0597 | drops what an `Arc<&T>` borrows before the `Arc` | [borrows](#e0597-a-borrow) |
//! | **none** | gives a raw pointer from here to std's `Arc::from_raw`, or the other way round | [raw pointers](#no-error-raw-pointers) |
//!
//! The [table of differences](super#from-std-to-here) has the reasons. With [`--cfg
//! tenure_nightly`](super#on-a-nightly-compiler) the errors from E0308 to E0038 and E0597 do not come up.
//!
//! # Whether it is worth it
//!
//! [Downgrades](super::Arc::downgrade) and [upgrades](super::Weak::upgrade) by many threads gain; `Arc::clone` and the
//! drop are one operation in both. Of the 39 libraries 17 call `downgrade` at all. Both `Arc`s can live in one program,
//! so move the types with `Weak`s first.
//!
//! # E0308 and E0605: a coercion
//!
//! ```compile_fail,E0308
//! use std::fmt::Display;
//! use tenure::sync::Arc;
//!
//! let shown: Arc<dyn Display> = Arc::new(5);
//! ```
//!
//! ```compile_fail,E0605
//! # use std::fmt::Display;
//! # use tenure::sync::Arc;
//! let shown = Arc::new(5) as Arc<dyn Display>;
//! ```
//!
//! Name the type that it becomes, in [`unsize!`](crate::unsize):
//!
//! ```
//! use std::fmt::Display;
//! use tenure::sync::Arc;
//! use tenure::unsize;
//!
//! let shown = unsize!(Arc::new(5) => dyn Display);
//! let slice = unsize!(Arc::new([1_u8, 2, 3]) => [u8]);
//! assert_eq!((shown.to_string().as_str(), slice.len()), ("5", 3));
//! ```
//!
//! The macro takes the `Arc` by value. Given a reference (E0277), give it a clone:
//!
//! ```compile_fail,E0277
//! # use std::fmt::Display;
//! # use tenure::sync::Arc;
//! # let number = Arc::new(5);
//! let shown = tenure::unsize!(&number => dyn Display);
//! ```
//!
//! ```
//! # use std::fmt::Display;
//! # use tenure::sync::Arc;
//! # let number = Arc::new(5);
//! let shown = tenure::unsize!(Arc::clone(&number) => dyn Display);
//! # assert_eq!(*number, 5);
//! ```
//!
//! # E0282: a closure
//!
//! ```compile_fail,E0282
//! use tenure::sync::Arc;
//! use tenure::unsize;
//!
//! let len = Arc::new(|text| text.len());
//! let len = unsize!(len => dyn Fn(&str) -> usize);
//! ```
//!
//! Write the closure inside the macro, or give its arguments types:
//!
//! ```
//! use tenure::sync::Arc;
//! use tenure::unsize;
//!
//! let len = unsize!(Arc::new(|text| text.len()) => dyn Fn(&str) -> usize);
//! let also = Arc::new(|text: &str| text.len());
//! assert_eq!(len("four"), also("four"));
//! ```
//!
//! # E0658 and E0307: a receiver
//!
//! ```compile_fail,E0658
//! use tenure::sync::Arc;
//!
//! struct Node;
//!
//! impl Node {
//!     fn share(self: &Arc<Self>) -> Arc<Self> {
//!         Arc::clone(self)
//!     }
//! }
//! ```
//!
//! Make it an argument, and call it by the type's name (`node.share()` would be E0599):
//!
//! ```
//! use tenure::sync::Arc;
//!
//! struct Node;
//!
//! impl Node {
//!     fn share(this: &Arc<Self>) -> Arc<Self> {
//!         Arc::clone(this)
//!     }
//! }
//!
//! let node = Arc::new(Node);
//! let same = Node::share(&node);
//! # assert!(Arc::ptr_eq(&node, &same));
//! ```
//!
//! A trait with such a function makes no trait objects (E0038). Let it take the object and its `Arc`, or keep a
//! [`Weak`](super::Weak) in the object ([`Arc::new_cyclic`](super::Arc::new_cyclic)):
//!
//! ```
//! use tenure::sync::Arc;
//! use tenure::unsize;
//!
//! trait Task {
//!     fn run(&self, this: &Arc<dyn Task>) -> usize;
//! }
//!
//! struct Job;
//!
//! impl Task for Job {
//!     fn run(&self, this: &Arc<dyn Task>) -> usize {
//!         Arc::strong_count(this)
//!     }
//! }
//!
//! let job = unsize!(Arc::new(Job) => dyn Task);
//! assert_eq!(job.run(&job), 1);
//! ```
//!
//! # E0053: a waker
//!
//! ```compile_fail,E0053
//! use tenure::sync::Arc;
//!
//! struct Task;
//!
//! impl std::task::Wake for Task {
//!     fn wake(self: Arc<Self>) {}
//! }
//! ```
//!
//! [`tenure::arc::Wake`](super::Wake) has the same two functions, with the `Arc` as an argument:
//!
//! ```
//! use std::task::Waker;
//! use tenure::arc::Wake;
//! use tenure::sync::Arc;
//!
//! struct Task;
//!
//! impl Wake for Task {
//!     fn wake(this: Arc<Self>) {}
//! }
//!
//! Waker::from(Arc::new(Task)).wake();
//! ```
//!
//! # E0308 again, and E0277: the border to another crate
//!
//! ```compile_fail,E0308
//! use tenure::sync::Arc;
//!
//! /// Of another crate.
//! fn install(config: std::sync::Arc<String>) {}
//!
//! install(Arc::new(String::new()));
//! ```
//!
//! ```compile_fail,E0277
//! use tenure::sync::Arc;
//!
//! trait Layer {}
//! impl<T> Layer for std::sync::Arc<T> {} // of another crate, as the trait is
//!
//! fn add(layer: impl Layer) {}
//! add(Arc::new(5));
//! ```
//!
//! What crosses the border stays std's `Arc`. If yours has to be on both sides, wrap it: a
//! `std::sync::Arc<tenure::sync::Arc<T>>` costs an allocation and no copy, and a newtype can implement the other
//! crate's trait. The features `serde`, `arc-swap` and `stable_deref_trait` do that for those crates.
//!
//! ```
//! use tenure::sync::Arc;
//!
//! trait Layer {}
//!
//! struct Shared<T>(Arc<T>);
//! impl<T> Layer for Shared<T> {}
//!
//! fn add(layer: impl Layer) {}
//! add(Shared(Arc::new(5)));
//! ```
//!
//! # E0597: a borrow
//!
//! ```compile_fail,E0597
//! use tenure::sync::Arc;
//!
//! let shared;
//! let local = String::new(); // declared last, dropped first
//! shared = Arc::new(&local); // std's Arc compiles here
//! ```
//!
//! Declare what is borrowed first:
//!
//! ```
//! use tenure::sync::Arc;
//!
//! let local = String::new();
//! let shared = Arc::new(&local);
//! # assert!(shared.is_empty());
//! ```
//!
//! # No error: raw pointers
//!
//! This compiles, and is undefined behaviour:
//!
//! ```no_run
//! let raw = tenure::sync::Arc::into_raw(tenure::sync::Arc::new(5));
//! // SAFETY: none! std takes the words in front of the value for its own two counts.
//! let wrong = unsafe { std::sync::Arc::from_raw(raw) };
//! ```
//!
//! So search for `into_raw`, `from_raw`, `increment_strong_count` and `decrement_strong_count` before the `use` lines
//! change: both ends of each pointer have to change together, also if one is in another crate or in C.
