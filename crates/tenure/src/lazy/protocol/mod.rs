//! [`Protocol`]: what a scheme does when seats and objects come together and part.
//!
//! The trait behind the public [`Scheme`](super::Scheme), which adds nothing to it: this one cannot be named outside of
//! the crate, since its methods trust their callers.

mod block;
mod core;
mod ends;

pub(super) use self::core::Core;
pub(super) use self::core::Slot;
pub(super) use block::Block;
pub(super) use ends::{destroy, destroy_each};

use crate::memory::Memory;
use ::core::ptr::NonNull;

/// How a domain knows that nobody has an object any more.
///
/// Rules that hold for all schemes:
///
/// 1. A *slot* belongs to one seat. The seat's owner alone calls its functions, one
///    at a time.
/// 2. `resume` and `switch` are called with a strong reference to the block at hand for the length of the call.
/// 3. From one of those, or from a `lazy` that says so, to `leave` the block exists, whatever becomes of its strong
///    references.
/// 4. The last put of a strong reference is followed by one `retire`, and each block is destroyed exactly once.
///
/// # Safety
///
/// Implementors keep rules 3 and 4, if callers keep 1 and 2.
pub unsafe trait Protocol<M: Memory>: Sized + 'static {
    /// The name, for tables and reports.
    const NAME: &'static str;
    /// What each object carries.
    type Object<T>: Default;
    /// What each seat has for others to look into.
    type Slot<T>: Default;
    /// What each domain has.
    type Domain<T>: Default;

    /// Whether the slot has `block`, so that [`resume`](Self::resume) will do.
    fn has<T>(slot: &Self::Slot<T>, block: NonNull<Block<T, Self, M>>) -> bool;

    /// Uses `block`, which the slot has.
    ///
    /// # Safety
    ///
    /// Rules 1 and 2; [`has`](Self::has) has just said so.
    unsafe fn resume<T>(slot: &Self::Slot<T>, block: NonNull<Block<T, Self, M>>);

    /// Makes `block` the object of the slot, in use.
    ///
    /// # Safety
    ///
    /// Rules 1 and 2; the block is of the slot's domain. `number` is the slot's.
    unsafe fn switch<T>(slot: &Self::Slot<T>, number: u32, block: NonNull<Block<T, Self, M>>);

    /// Ends the use of `block`; the slot keeps it if it can.
    ///
    /// # Safety
    ///
    /// Rule 1; the slot's block is in use and it is this one.
    unsafe fn leave<T>(slot: &Self::Slot<T>, block: NonNull<Block<T, Self, M>>);

    /// Uses what the slot has kept, if it still does.
    ///
    /// # Safety
    ///
    /// Rule 1.
    unsafe fn lazy<T>(slot: &Self::Slot<T>) -> Option<NonNull<Block<T, Self, M>>>;

    /// Has the slot keep nothing.
    ///
    /// # Safety
    ///
    /// Rule 1; nothing is in use, although the slot says so where a guard was forgotten. `number` is the slot's.
    unsafe fn clear<T>(slot: &Self::Slot<T>, number: u32);

    /// Starts the end of those blocks, which nobody has a strong reference to.
    ///
    /// # Safety
    ///
    /// Each block's last strong put was told to the caller, who does not touch the blocks again. They are of
    /// the domain `core`.
    unsafe fn retire<T>(
        core: &Core<T, Self, M>,
        blocks: impl Iterator<Item = NonNull<Block<T, Self, M>>>,
    );
}
