//! Buffers and objects that are used again: O(1), however many are in use.
//!
//! A server that keeps its buffers in a list, and walks the list for a free one, pays for every buffer that is in
//! use. In the SMC sockets of Linux that takes
//! [4 to 6.5 us with 200 connections](https://lore.kernel.org/netdev/20241101082342.1254-1-liqiang64@huawei.com/). One shared
//! list of the *free* buffers makes it O(1), but then every core writes the head of that list. Without a tag
//! against ABA such a list also hands one buffer to two connections. Here each thread keeps some free buffers to
//! itself, and no line is written by all:
//!
//! | room | what it is for |
//! |---|---|
//! | [`BufferPool`] | bytes in size classes, with a memory limit, zeroed before they are free |
//! | [`SlotPool`] | objects that stay constructed, and 64-bit keys to find them by |
//! | [`list`] | the free lists under both, for pools of your own: [`Magazines`] (the default), [`TaggedStack`], [`Scan`] (the baseline) |
//!
//! ```
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::new();
//! let mut buffer = pool.acquire(10_000)?; // from the smallest class, which has 16 KiB
//! buffer[..5].copy_from_slice(b"hello");
//! std::thread::spawn(move || drop(buffer)).join().unwrap(); // zeroed, and free again: on any thread
//! assert_eq!(pool.acquire(10_000)?[..5], [0; 5]);
//! # Ok::<(), tenure::pool::buffer::AcquireError>(())
//! ```
//!
//! # Words
//!
//! | word | what it means |
//! |---|---|
//! | slot | the place of one buffer or object; stays as long as the pool, whatever is in it |
//! | in use, idle | has a buffer or object that somebody holds; that waits for its next user |
//! | guard | what [`acquire`](BufferPool::acquire) returns: [`PooledBuf`], [`SlotMut`], [`SlotRef`]; its drop makes the slot idle |
//! | hoard | the idle slots that one thread keeps to itself |
//! | depot | the idle slots that are for all threads |
//! | trim | to free what is idle, in the depot and in all hoards |
//!
//! # When not to use one
//!
//! - For small things that are cheap to make: an allocator of today has stocks for each thread as well. A pool pays
//!   where contents are dear (zeroing 16 KiB, memory that a `Vec` has grown to), where there has to be a limit, or
//!   for keys.
//! - Where memory has to shrink by itself: a pool keeps what it had in use at once until somebody calls `trim`.
//! - To wait for a buffer: at its limit a pool returns an error, and wakes nobody when there is a buffer again.
//! - For buffers that grow: a [`PooledBuf`] has the capacity of its class.
//!
//! # What it costs
//!
//! An acquire and its release are a few loads and stores, on lines of the calling thread's own and on the slot's:
//! no atomic read-modify-write, and no line that another thread writes. Where one thread acquires and another
//! releases, slots travel back 32 at a time, for two compare-exchanges on either side. `tenure bench pool` measures
//! it. At the limit an acquire looks through the hoards of other threads, which takes microseconds.
//!
//! # What a refusal means
//!
//! That so much was in use at some moment of the call. Threads that together never use more than the limit are never
//! refused, whatever others keep to themselves, move or trim meanwhile. What is being acquired, released, made or, in
//! a [`SlotPool`], dropped by a trim counts as in use. For this an acquire at the limit, if it finds nothing,
//! interrupts the other CPUs that run this process, and waits for threads that are moving idle slots. It never waits for
//! a slot that is in use. (A [`Scan`] cannot say as much.)
//!
//! # What idles, and where
//!
//! | idle slots are | how many | until |
//! |---|---|---|
//! | in the hoard of a thread | at most 64 of a size class, and no more than `hoard` of the builder | the thread ends: to the depot; a `trim`, the end of the pool, or an acquire at the limit |
//! | in the depot | the rest | a `trim`, the end of the pool, or an acquire at the limit |
//!
//! Threads may come, go and sleep; there may be any number of them. The hoard of a sleeping thread can be taken
//! from it: [`Magazines`] describes how that costs its owner nothing. A process that forked goes on using its
//! pools; what other threads held at that moment is leaked in the child.
//!
//! # When a pool ends
//!
//! Pools are handles that are cloned. The last one to go closes the pool, and `close` does it earlier. Then idle
//! memory is freed, nothing is handed out any more, and what is in use stays valid until its guard is dropped, on
//! any thread. To acquire and drop a guard writes no reference count: what keeps a pool's memory alive is each slot
//! that is not empty, which is counted when its contents are made and when they are freed.
//!
//! # Limits
//!
//! - Not for signal handlers: one that uses a pool while the thread that it interrupts does would be a second owner of
//!   that thread's hoard.
//! - Closing, a trim and an acquire at the limit wait for threads that are inside of an acquire or release, and for each
//!   other: for microseconds, or until the system lets those run again. A thread of real-time priority that does one
//!   of these on the only CPU of such a thread waits for ever.
//! - The global allocator must not use a pool: memory is given back while other threads wait for that.
//! - In destructors of thread-locals that run after the thread's hoards were emptied, pools work through single slots that
//!   all threads share, and may make objects although others are idle.
//! - A process that forked while another thread closed a pool has that pool half closed, and may still be handed
//!   idle slots: close it again. If that thread was trimming, threads keep no idle slots to themselves until the child
//!   trims. What the other thread had in its hands is leaked. Without `std` forks go
//!   unnoticed, and a child may wait for ever for a thread that it does not have.
//!
//! # What the published list got wrong
//!
//! A patch for SMC in Linux replaces the walk by a lock-free list of free buffers. It was published with these traps:
//!
//! | trap | here |
//! |---|---|
//! | a pop after a test for emptiness can come back with nothing | the pop's own result decides |
//! | ABA: a pop succeeds with an old link, and two owners have one slot | removals change a tag; the published list is among the tests, where a model checker has to find its fault |
//! | a pop reads the link of a slot whose memory was freed at teardown | links and slots are type-stable: never freed before the pool |
//! | a buffer that was popped and is not marked yet is neither free nor in use to a thread that walks the buffers | nobody walks them: a trim pops what it frees, and owns it then |
//! | nothing prevents a slot from being released twice | guards own slots, and are not `Clone`, or count their clones |
//!
//! Lists are written over [`Memory`](crate::memory::Memory), so that the code that ships runs under the model
//! checker and on simulated machines (`tenure sim pool`).
//!
//! # Without `std`
//!
//! With `alloc` alone there are no thread-locals, and pools use a [`TaggedStack`] unless told otherwise: no hoards,
//! and two compare-exchanges on a shared line for an acquire and its release.

pub mod buffer;
pub mod list;
mod shelf;
pub mod slot;
mod turn;

#[doc(inline)]
pub use buffer::{BufferPool, PooledBuf};
#[doc(inline)]
pub use list::{DefaultList, FreeList, Magazines, Scan, TaggedStack};
#[doc(inline)]
pub use slot::{SlotKey, SlotMut, SlotPool, SlotRef};
