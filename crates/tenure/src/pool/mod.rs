//! Buffers and objects that are used again: O(1), however many are in use.
//!
//! A server that walks a list for a free buffer pays for every buffer in use: [4 to 6.5 us with 200
//! connections](https://lore.kernel.org/netdev/20241101082342.1254-1-liqiang64@huawei.com/) in Linux's SMC sockets. A
//! shared list of the *free* buffers is O(1), but every core writes its head. Here each thread keeps some to itself,
//! and no line is written by all threads:
//!
//! | type | what it is for |
//! |---|---|
//! | [`BufferPool`] | bytes in size classes, with a memory limit, zeroed before they are free |
//! | [`SlotPool`] | objects that stay constructed, and 64-bit keys to find them by |
//!
//! ```
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::new();
//! let mut buffer = pool.acquire(10_000)?; // empty, of the smallest class: 16 KiB
//! buffer.extend_from_slice(b"hello");
//! std::thread::spawn(move || drop(buffer)).join().unwrap(); // on any thread: zeroed, and free again
//! assert_eq!(pool.acquire_zeroed(10_000)?[..5], [0; 5]);
//! # Ok::<(), tenure::pool::AcquireError>(())
//! ```
//!
//! # Words
//!
//! | word | what it means |
//! |---|---|
//! | slot | the place of one buffer or object, filled or vacant; it exists as long as the pool |
//! | in use, idle | a guard holds the slot's contents; they wait for their next user |
//! | guard | what [`acquire`](BufferPool::acquire) returns: [`PooledBuf`], [`SlotMut`], [`SlotRef`]; its drop makes the slot idle |
//! | magazine | the idle slots that one thread keeps to itself, at most 64 of a size class, up to its end |
//! | depot | the idle slots that all threads share |
//! | wait | at the limit [`acquire_async`](BufferPool::acquire_async) and `acquire_timeout` take turns, first come, first served |
//! | trim | free all idle buffers or objects, in the depot and in every magazine |
//!
//! # When not to use one
//!
//! - For small things that are cheap to make: allocators also keep a stock for each thread. A pool pays off for
//!   expensive contents (16 KiB to zero, a `Vec` that has grown), for a memory limit, or for keys.
//! - For memory that shrinks by itself: a pool keeps its largest number of slots until a `trim`.
//! - For buffers that grow: their capacity is fixed.
//!
//! # What it costs
//!
//! An acquire and its release are a few loads and stores on lines of the calling thread and of the slot. The lines of the
//! depot are written twice for every 32 operations if other threads release, and once for each slot's first use after a
//! trim or a refusal. At the limit an acquire searches the magazines of other threads, in microseconds.
//!
//! If no thread is to keep idle slots, build the pool with magazines of size 0
//! ([bytes](BufferPoolBuilder::magazine_bytes), [objects](SlotPoolBuilder::magazine_size)): then an acquire and a release
//! are two compare-exchanges each on one word that all threads write. Its tag, against ABA, has 35 bits. It misleads a pop
//! only if that stalls while an exact multiple of 2^35 removals happen (six minutes at 10 ns each), and the same slot is on
//! top again.
//!
//! # What a refusal means
//!
//! An acquire is refused only if the whole limit was in use at some moment of the call, or if another acquire
//! [waits](BufferPool::acquire_async) for room. Threads that together stay within the limit are never
//! refused, whatever other threads keep, move or trim meanwhile. Slots that are being acquired, released, made or (in a
//! [`SlotPool`]) dropped by a trim count as in use.
//!
//! For that, an acquire that finds nothing at the limit interrupts the other CPUs that run this process, and waits for
//! threads that are moving idle slots, never for a slot in use.
//!
//! # Threads, forks and the end
//!
//! Any number of threads may come, go and sleep: an acquire at the limit, a trim and the end of the pool empty the
//! magazines of sleeping threads too. A forked child goes on using its pools, but leaks slots that other threads held.
//!
//! The drop of a pool's last handle, or an earlier `close`, closes it: idle memory is freed, and later acquires fail.
//! Guards stay valid until they are dropped, on any thread. They count no references: each slot with contents keeps the
//! pool's memory.
//!
//! # Limits
//!
//! - **Signal handlers** must not use a pool: one that interrupts an acquire would be a second owner of the magazine.
//! - **A [global allocator](crate#in-a-global-allocator)** may acquire and release in a pool without a limit. It must not use a pool
//!   with a limit, nor trim or close a pool, drop its last handle, or wait: pools hold a lock while they allocate and free,
//!   and the allocator would wait for that lock for ever.
//! - **A [plugin](crate#plugins)** must not use a pool of the program.
//! - **Close, trim and an acquire at the limit** wait for threads inside an acquire or release, and for each other: for
//!   microseconds, or until the system runs those threads again. A real-time thread that keeps the only CPU from one
//!   waits forever.
//! - **Late destructors of thread-locals** run after the thread's magazines were emptied. They use the depot alone, and
//!   may make objects although others are idle.
//! - **A fork while another thread closes a pool** leaves it half closed in the child: close it again. After a fork
//!   during a trim, no thread of the child keeps slots until the child trims, and slots in the trimming thread's hands
//!   leak. Acquires that wait in the parent have no turn in the child; a future that the child has must be polled again, and
//!   what it was given but had not been polled for leaks.
//!   Without `std` forks go unnoticed: a child may wait forever for a thread of the parent.
//!
//! # What the published list got wrong
//!
//! A lock-free list that was proposed for SMC in Linux gives one slot to two owners (ABA), lets a pop fail after a test
//! for emptiness, reads links of slots that were freed at teardown, shows a popped but unmarked buffer as neither free
//! nor in use, and lets a slot be released twice. Here removals change a tag (a model checker has to find the fault in
//! the published list), the pop's own result decides, slots live as long as the pool, a trim pops what it frees, and
//! guards own slots.
//!
//! # Without `std`
//!
//! With `alloc` alone there are no thread-locals: pools are as with magazines of size 0.

mod buffer;
mod buffers;
mod error;
mod lifecycle;
#[doc(hidden)]
pub mod list;
mod lock;
mod objects;
mod slot;
mod statistics;
mod table;

pub use buffers::{BufferPool, BufferPoolBuilder, PooledBuf, PooledBytes};
pub use error::{AcquireError, ConfigError};
pub use objects::{SlotMut, SlotPool, SlotPoolBuilder, SlotRef};
pub use slot::SlotKey;
pub use statistics::Stats;

/// The same with any list of idle slots, on any machine: for benchmarks, models and simulators.
#[doc(hidden)]
pub mod generic {
    pub use super::buffer::{BufferPool, BufferPoolBuilder, PooledBuf, PooledBytes};
    pub use super::slot::{SlotMut, SlotPool, SlotPoolBuilder, SlotRef};
}
