//! Words that each thread has to itself, and what is made of them: a reference count, a counter.
//!
//! A *cell* is a 64-bit word that one thread writes, by plain loads and stores, and that others read when they want the
//! sum. A count has an *index*, and each thread a cell for it:
//!
//! ```text
//!             index 0   1   2   3   4 ...
//!            ┌───────┬───┬───┬───┬───
//!   thread 0 │   3   │ 0 │ -2│ 1 │          a thread's cells lie together, on lines that it alone writes
//!            ├───────┼───┼───┼───┼───
//!   thread 1 │   -1  │ 7 │ 4 │   │
//!            └───────┴───┴───┴───┴───
//! ```
//!
//! Row and cells are allocated when a thread first uses them, and grow without moving. The index of a count that died
//! goes to the next one, so the memory is 8 bytes by threads at a time and counts at a time, at most doubled. It is
//! used again, and not returned to the system.
//!
//! **Threads that end** leave their cells as they are: the next thread of that number goes on with them, and sees all
//! that the last one did ([`Threads`](crate::memory::Threads)). A thread without a number (its thread-locals are being
//! destroyed, or there is no `std`) uses a shared word of the count instead. What a fork's lost threads had in their
//! cells still counts, and no cell needs its thread to run.
//!
//! **Not by CPU**, as in kernels: a thread may be moved before it stores, so there each change is an atomic one, which
//! takes 3 to 6 times as long (`tenure bench owner`). Fewer cells would be summed.

mod reference;
mod sum;
mod table;

pub use reference::ThreadRef;
pub use sum::ThreadSum;
pub(crate) use table::CELLS;
pub use table::Table;
