//! [`Block`]: an object of a domain on the heap.

use super::Protocol;
use super::core::Core;
use crate::count::TicketRef;
use crate::line::Isolated;
use crate::memory::{Memory, Pointer};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::ptr::{self, NonNull};

/// A value, and what it takes to know who has it.
///
/// The value is first to go, and on lines that nobody writes when references come and go.
#[repr(C)]
pub struct Block<T, S: Protocol<M>, M: Memory> {
    value: T,
    header: Isolated<Header<T, S, M>>,
}

pub(crate) struct Header<T, S: Protocol<M>, M: Memory> {
    /// How many [`Context`](crate::lazy::Context)s there are. With schemes that count holders, those as well.
    pub(crate) strong: TicketRef<M>,
    /// What the scheme keeps with each object.
    pub(crate) object: S::Object<T>,
    /// In a list of those that end.
    pub(crate) next: M::Pointer<Block<T, S, M>>,
    pub(crate) core: Shared<Core<T, S, M>, M>,
}

impl<T, S: Protocol<M>, M: Memory> Block<T, S, M> {
    /// A block with one strong reference, which the caller owns.
    pub(crate) fn allocate(
        core: Shared<Core<T, S, M>, M>,
        object: S::Object<T>,
        value: T,
    ) -> NonNull<Self> {
        let (strong, next) = (TicketRef::new_in(), Pointer::new(ptr::null_mut()));
        let header = Isolated::new(Header { strong, object, next, core });
        NonNull::from(Box::leak(Box::new(Self { value, header })))
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
}
