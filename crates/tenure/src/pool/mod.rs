//! Slots and buffers that are used again: O(1), whatever is in use.

pub mod buffer;
pub mod list;
mod segments;
mod shared;
mod shelf;

#[doc(inline)]
pub use buffer::{BufferPool, PooledBuf};
#[doc(inline)]
pub use list::{DefaultList, FreeList, Magazines, Scan, TaggedStack};
