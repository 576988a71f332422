//! Slots and buffers that are used again: O(1), whatever is in use.

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
