//! Slots and buffers that are used again: O(1), whatever is in use.
//!
//! A server that keeps its buffers in a list and walks it for a free one pays for every buffer that is in
//! use: in the SMC sockets of Linux 4 to 6.5 µs with 200 connections, 30 µs with 1,000. One list of free
//! buffers makes that O(1), and one word that every core writes; published as a plain lock-free list with many
//! consumers, it also hands one buffer to two connections (ABA). Here each thread has a stock of its own:
//!
//! | room | what it is for |
//! |---|---|
//! | [`BufferPool`] | bytes in size classes, with a memory limit, zeroed before they are free |
//! | [`SlotPool`] | objects that stay constructed, and 64-bit keys to find them by |
//! | [`list`] | the free lists that both are built on, for pools of your own: [`Magazines`] (the default), [`TaggedStack`], [`Scan`] (the baseline) |
//!
//! ```
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::new();
//! let mut buffer = pool.acquire(10_000)?; // 16 KiB, the smallest class
//! buffer[..5].copy_from_slice(b"hello");
//! std::thread::spawn(move || drop(buffer)).join().unwrap(); // zeroed, and free again: on any thread
//! assert_eq!(pool.acquire(10_000)?[..5], [0; 5]);
//! # Ok::<(), tenure::pool::buffer::AcquireError>(())
//! ```
//!
//! # What it costs
//!
//! An acquire and its release are a few loads and stores on lines of the calling thread's own and on the slot's:
//! no atomic read-modify-write, and no line that another thread writes. Where one thread acquires and another
//! releases, slots travel back 32 at a time, for two compare-exchanges on either side. `tenure bench pool` measures
//! it.
//!
//! # What idles, and where
//!
//! | idle slots are | how many | until |
//! |---|---|---|
//! | in the stock of a thread | at most 64, and no more bytes than the pool was told | the thread ends, a `trim`, the end of the pool; or a buffer pool at its limit wants them |
//! | in the depot, for all threads | the rest | a `trim`, the end of the pool; or a buffer pool at its limit |
//!
//! Threads may come, go and sleep; there may be any number of them. A sleeping thread's stock can be taken from
//! it: [`Magazines`] describes how that costs its owner nothing. A process that forked goes on using its pools.
//!
//! # When a pool ends
//!
//! Pools are handles that are cloned; the last one to go closes the pool, and `close` does it earlier. Then idle
//! memory is freed, nothing is handed out any more, and what is out stays valid until its guard is dropped, on
//! any thread. Guards count nothing for that: a slot that has contents counts, and only on its way in and out
//! of existence.
//!
//! # What the published lists got wrong
//!
//! | trap | here |
//! |---|---|
//! | a pop after a test for emptiness can come back with nothing | the pop's own result decides |
//! | ABA: a pop succeeds with an old link, and two owners have one slot | removals change a tag; the published list is among the tests, where a model checker has to find its fault |
//! | a pop reads the link of a slot whose memory was freed at teardown | links and slots are type-stable: never freed before the pool |
//! | a buffer that was popped and is not marked yet is neither free nor in use to those who look | whoever looks takes: a trim owns what it frees |
//! | nothing prevents a slot from being released twice | guards own slots, and are not `Clone` |
//!
//! Lists are written over [`Memory`](crate::memory::Memory), so that the code that ships runs under the model
//! checker and on simulated machines (`tenure sim pool`).
//!
//! # Without `std`
//!
//! With `alloc` alone there are no thread-locals, and pools use a [`TaggedStack`] unless told otherwise.

pub mod buffer;
pub mod list;
mod segments;
mod shared;
mod shelf;
pub mod slot;

#[doc(inline)]
pub use buffer::{BufferPool, PooledBuf};
#[doc(inline)]
pub use list::{DefaultList, FreeList, Magazines, Scan, TaggedStack};
#[doc(inline)]
pub use slot::{SlotKey, SlotMut, SlotPool, SlotRef};
