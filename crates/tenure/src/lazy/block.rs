//! [`Block`]: an object of a domain on the heap.

use super::core::Core;
use super::protocol::Protocol;
use crate::count::TicketRef;
use crate::line::Isolated;
use crate::memory::Memory;
use crate::shared::Shared;
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A value, and what it takes to know who has it.
///
/// The value is first to go, and on lines that nobody writes when references come and go.
#[repr(C)]
pub struct Block<T, S: Protocol<M>, M: Memory> {
    value: T,
    header: Isolated<Header<T, S, M>>,
}

pub(crate) struct Header<T, S: Protocol<M>, M: Memory> {
    /// How many [`Context`](super::Context)s there are. With schemes that count holders, those as well.
    pub(crate) strong: TicketRef<M>,
    /// What the scheme keeps with each object.
    pub(crate) object: S::Object<T>,
    pub(crate) core: Shared<Core<T, S, M>, M>,
}

impl<T, S: Protocol<M>, M: Memory> Block<T, S, M> {
    /// A block with one strong reference, which the caller owns.
    pub(crate) fn allocate(
        core: Shared<Core<T, S, M>, M>,
        object: S::Object<T>,
        value: T,
    ) -> NonNull<Self> {
        let header = Isolated::new(Header { strong: TicketRef::new_in(), object, core });
        NonNull::from(Box::leak(Box::new(Self { value, header })))
    }

    /// Drops the value and frees the block.
    ///
    /// # Safety
    ///
    /// Nobody has the block, and all that anybody did with it happened before.
    pub(crate) unsafe fn destroy(block: NonNull<Self>) {
        // SAFETY: allocated by `allocate`; the caller's for the rest. Where the value's drop panics the box is
        // freed all the same.
        drop(unsafe { Box::from_raw(block.as_ptr()) });
    }

    /// [`destroy`](Self::destroy), of those that nobody has without a strong reference, and counts them.
    ///
    /// # Safety
    ///
    /// The blocks' last strong puts were told to the caller, and whoever has a block has such a reference.
    pub(crate) unsafe fn destroy_each(
        core: &Core<T, S, M>,
        blocks: impl Iterator<Item = NonNull<Self>>,
    ) {
        for block in blocks {
            core.counters.ended.add(1);
            // SAFETY: the caller's.
            unsafe { Self::destroy(block) };
        }
    }

    /// The header.
    ///
    /// # Safety
    ///
    /// Somebody keeps the block for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn header<'a>(block: NonNull<Self>) -> &'a Header<T, S, M> {
        // SAFETY: the caller's.
        unsafe { &(*block.as_ptr()).header }
    }

    /// The value.
    ///
    /// # Safety
    ///
    /// Somebody keeps the block for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn value<'a>(block: NonNull<Self>) -> &'a T {
        // SAFETY: the caller's.
        unsafe { &(*block.as_ptr()).value }
    }
}
