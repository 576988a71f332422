//! Buffers and objects that are used again: O(1), however many are in use.
//!
//! A server that walks a list of buffers for a free one pays for every buffer in use: [4 to 6.5 us with 200
//! connections](https://lore.kernel.org/netdev/20241101082342.1254-1-liqiang64@huawei.com/) in the SMC sockets of
//! Linux. A shared list of the *free* buffers is O(1), but every core writes its head. Here each thread keeps some
//! free buffers to itself, and no line is written by all threads:
//!
//! | type | what it is for |
//! |---|---|
//! | [`BufferPool`] | bytes in size classes, with a memory limit, zeroed before they are free |
//! | [`SlotPool`] | objects that stay constructed, and 64-bit keys to find them by |
//! | [`FreeList`] | which list of idle slots a pool has: [`Magazines`] (the default) or [`TaggedStack`] |
//!
//! ```
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::new();
//! let mut buffer = pool.acquire(10_000)?; // from the smallest class, which has 16 KiB
//! buffer[..5].copy_from_slice(b"hello");
//! std::thread::spawn(move || drop(buffer)).join().unwrap(); // zeroed, and free again: on any thread
//! assert_eq!(pool.acquire(10_000)?[..5], [0; 5]);
//! # Ok::<(), tenure::pool::AcquireError>(())
//! ```
//!
//! # Words
//!
//! | word | what it means |
//! |---|---|
//! | slot | the place of one buffer or object; it exists as long as the pool, filled or vacant |
//! | in use, idle | a guard holds its buffer or object; it waits for its next user |
//! | guard | what [`acquire`](BufferPool::acquire) returns: [`PooledBuf`], [`SlotMut`], [`SlotRef`]; its drop makes the slot idle |
//! | magazine | the idle slots that one thread keeps to itself |
//! | depot | the idle slots that all threads share |
//! | trim | free all idle buffers or objects, in the depot and in every magazine |
//!
//! # When not to use one
//!
//! - For small things that are cheap to make: allocators keep a stock for each thread, too. A pool pays off if
//!   contents are expensive (16 KiB to zero, a `Vec` that has grown), if memory needs a limit, or if you need keys.
//! - If memory has to shrink by itself: a pool keeps its largest number of slots until you call `trim`.
//! - To wait for a buffer: at its limit a pool returns an error.
//! - For buffers that grow: a [`PooledBuf`] has the capacity of its class.
//!
//! # What it costs
//!
//! An acquire and its release are a few loads and stores on lines of the calling thread and of the slot: no atomic
//! read-modify-write. If another thread releases, slots travel back 32 at a time, for two compare-exchanges on
//! either side. At the limit an acquire searches the magazines of other threads, which takes microseconds. `tenure
//! bench pool` measures all of it.
//!
//! # What a refusal means
//!
//! An acquire is refused only if as much as the limit was in use at some moment of the call. Threads that together
//! stay within the limit are never refused, whatever other threads keep, move or trim meanwhile. Slots that are
//! being acquired, released, made or (in a [`SlotPool`]) dropped by a trim count as in use.
//!
//! For that, an acquire that finds nothing at the limit interrupts the other CPUs that run this process, and waits for
//! threads that are moving idle slots. It never waits for a slot in use.
//!
//! # Where idle slots are
//!
//! | idle slots are | how many | until |
//! |---|---|---|
//! | in the magazine of a thread | at most 64 of a size class, and the builder's magazine size | the thread ends: to the depot; a `trim`, the end of the pool, or an acquire at the limit |
//! | in the depot | the rest | a `trim`, the end of the pool, or an acquire at the limit |
//!
//! Any number of threads may come, go and sleep. A pool can empty the magazine of a sleeping thread. A process that
//! forked goes on using its pools; slots that other threads held at that moment leak in the child.
//!
//! # When a pool ends
//!
//! A pool is a handle; clones are the same pool. The drop of the last handle closes the pool, or an earlier
//! `close`: idle memory is freed, and later acquires fail. Guards stay valid until they are dropped, on any thread.
//! Guards count no references: each slot with contents keeps the pool's memory, and is counted when its contents
//! are made or freed.
//!
//! # Limits
//!
//! - **Signal handlers** must not use a pool: one that interrupts an acquire would be a second owner of the magazine.
//! - **Close, trim and an acquire at the limit** wait for threads inside an acquire or release, and for each other:
//!   for microseconds, or until the system runs those threads again. A real-time thread on the only CPU of such a
//!   thread waits forever.
//! - **The global allocator** must not use a pool: a pool frees memory while other threads wait.
//! - **Late destructors of thread-locals**, which run after the thread's magazines were emptied, use the depot
//!   alone, and may make objects although others are idle.
//! - **A fork while another thread closes a pool** leaves the pool half closed in the child: close it again. After
//!   a fork while another thread trims, no thread of the child keeps slots until the child trims. Slots in that
//!   thread's hands leak. Without `std` forks go unnoticed, and a child may wait forever for a thread that exists
//!   only in the parent.
//!
//! # What the published list got wrong
//!
//! A patch proposed for SMC in Linux replaced the walk with a lock-free list of free buffers, with these traps:
//!
//! | trap | here |
//! |---|---|
//! | a pop after a test for emptiness can return nothing | the pop's own result decides |
//! | ABA: a pop succeeds with an old link, and two owners have one slot | removals change a tag; a model checker has to find the fault in the published list |
//! | a pop reads the link of a slot whose memory was freed at teardown | links and slots live as long as the pool |
//! | a popped buffer that is not marked yet looks neither free nor in use to a thread that walks the buffers | no thread walks them: a trim pops what it frees |
//! | nothing prevents a slot from being released twice | guards own slots, and are not `Clone`, or count their clones |
//!
//! # Without `std`
//!
//! With `alloc` alone there are no thread-locals: pools use a [`TaggedStack`] unless you choose otherwise.

mod buffer;
mod error;
mod lifecycle;
#[cfg(not(feature = "raw"))]
mod list;
#[cfg(feature = "raw")]
pub mod list;
mod lock;
mod slot;
mod statistics;
mod table;

pub use buffer::{BufferPool, BufferPoolBuilder, PooledBuf};
pub use error::{AcquireError, ConfigError};
pub use slot::{SlotKey, SlotMut, SlotPool, SlotPoolBuilder, SlotRef};
pub use statistics::{BufferCounts, BufferStatistics, SlotStatistics};

/// The list of a pool's idle slots: [`Magazines`] or [`TaggedStack`].
///
/// | list | acquire and release | shared lines written | use it |
/// |---|---|---|---|
/// | [`Magazines`] | O(1), on lines of the calling thread | none; two for every 32 operations if other threads release what this one acquires; one for each slot that is used the first time after a trim or a refusal | by default |
/// | [`TaggedStack`] | O(1): two compare-exchanges on one word | one, by all threads | without `std`; or if no thread is to keep idle slots to itself |
///
/// Chosen by the builders: `builder().list::<TaggedStack>()`. This trait is sealed.
pub trait FreeList: list::List {}

impl<L: list::List> FreeList for L {}

/// Each thread keeps a *magazine* of idle slots to itself, and a *depot* evens them out: the default.
///
/// Acquire and release cost a few loads and stores on lines of the calling thread, and no atomic read-modify-write. If
/// slots are acquired on one thread and released on another, two of them for every 32 slots are added.
pub type Magazines = list::Magazines;

/// One lock-free stack of all idle slots: index and tag in one 64-bit word.
///
/// Acquire and release are one compare-exchange each, on a word that all threads write: as slow as the line moves
/// when all cores want it. It needs no thread-locals, so it works without `std`.
///
/// A plain lock-free list with many consumers, as published for the SMC buffers of Linux, hands one slot to two
/// owners (ABA). Here every removal changes a tag of 35 bits: only a pop that stands still for an exact multiple of
/// 2^35 removals (six minutes at 10 ns each), while the same slot is on top, goes wrong.
pub type TaggedStack = list::TaggedStack;

/// The list of pools unless you choose another: [`Magazines`], or [`TaggedStack`] without the feature `std`, which has
/// no thread-locals.
#[cfg_attr(not(feature = "raw"), doc(hidden))]
#[cfg(feature = "std")]
pub type DefaultList = Magazines;
/// The list of pools unless you choose another: [`Magazines`] with the feature `std`, and [`TaggedStack`] without,
/// which has no thread-locals.
#[cfg_attr(not(feature = "raw"), doc(hidden))]
#[cfg(not(feature = "std"))]
pub type DefaultList = TaggedStack;
