//! [`Context`]: a strong handle.

use super::protocol::{Block, Core, Protocol};
use super::{Scheme, Shootdown};
use crate::memory::{Memory, Native};
use crate::shared::Shared;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

/// A strong handle to an object of a [`Domain`](super::Domain): counted.
///
/// While there is one, the object exists, and seats can [enter](super::Seat::enter) it. When the last one is dropped
/// the value is, as soon as its scheme allows: see [the table](super#when-is-a-value-dropped). That may run this
/// value's destructor, and those of others of the domain, so release your locks first:
/// `let gone = table.lock().unwrap().remove(&id); drop(gone);`.
///
/// There is no weak handle: your table owns its objects, and removing one there ends it.
///
/// Cost: 8 bytes, and the object takes a cache line or two beside the value. A clone is one atomic add on the object's count,
/// a drop one subtraction (a [`TicketRef`](crate::count::TicketRef)); the count is not on the value's cache lines.
/// Dereferencing is free.
///
/// ```
/// use tenure::lazy::Domain;
///
/// let domain = Domain::new();
/// let context = domain.context(vec![1, 2, 3]);
/// let other = context.clone();
/// drop(context);
/// assert_eq!(other.len(), 3);
/// ```
pub struct Context<T, S: Scheme<M> = Shootdown, M: Memory = Native> {
    /// The value, which is first in its block. Not the block: contexts are covariant in `T`, which blocks are not, since
    /// the compiler does not look into what schemes keep. They may be, as std's `Arc` is: a context changes no value,
    /// and the domain, which takes values in, is invariant.
    value: NonNull<T>,
    of: PhantomData<fn() -> (S, M)>,
}

// SAFETY: as std's `Arc`: references to the value are shared, and any thread may be the one that drops it.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Send for Context<T, S, M> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Sync for Context<T, S, M> {}

impl<T, S: Scheme<M>, M: Memory> Context<T, S, M> {
    /// Takes over a strong reference.
    ///
    /// # Safety
    ///
    /// There is one, and nobody else takes it over.
    pub(crate) unsafe fn from_raw(block: NonNull<Block<T, S, M>>) -> Self {
        Self { value: block.cast(), of: PhantomData }
    }

    /// [`from_raw`](Self::from_raw), of what a pointer holds.
    ///
    /// # Safety
    ///
    /// As above; the pointer is not null.
    pub(crate) unsafe fn from_pointer(block: *mut Block<T, S, M>) -> Self {
        // SAFETY: the caller's.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: the caller's.
        unsafe { Self::from_raw(block) }
    }

    /// The block, whose reference the caller has to give back by [`from_raw`](Self::from_raw).
    pub(crate) fn into_raw(self) -> NonNull<Block<T, S, M>> {
        ManuallyDrop::new(self).block()
    }

    /// The block, for as long as there is a context.
    #[inline(always)]
    pub(crate) fn block(&self) -> NonNull<Block<T, S, M>> {
        self.value.cast()
    }

    /// Gives the reference back, and returns the block if that was the last one: the caller has to retire it.
    pub(crate) fn put(self) -> Option<NonNull<Block<T, S, M>>> {
        let block = self.into_raw();
        // SAFETY: up to the put there is a reference.
        unsafe { put(block) }
    }

    /// Whether this is a context of the domain with that core.
    pub(crate) fn is_of(&self, core: &Shared<Core<T, S, M>, M>) -> bool {
        // SAFETY: this is a reference.
        let header = unsafe { Block::header(self.block()) };
        core::ptr::eq(&raw const *header.core, &raw const **core)
    }

    /// Whether both are handles to one object.
    ///
    /// ```
    /// use tenure::lazy::{Context, Domain};
    ///
    /// let domain = Domain::new();
    /// let (one, other) = (domain.context(1), domain.context(1));
    /// assert!(Context::ptr_eq(&one, &one.clone()));
    /// assert!(!Context::ptr_eq(&one, &other));
    /// ```
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.value == other.value
    }
}

/// Another strong reference, if the last one is not gone.
///
/// # Safety
///
/// The block exists for the length of the call.
pub(crate) unsafe fn upgrade<T, S: Scheme<M>, M: Memory>(
    block: NonNull<Block<T, S, M>>,
) -> Option<Context<T, S, M>> {
    // SAFETY: the caller's.
    let header = unsafe { Block::header(block) };
    // SAFETY: the reference was just taken.
    header.strong.get().is_acquired().then(|| unsafe { Context::from_raw(block) })
}

/// Gives a strong reference back, and returns the block if it was the last one.
///
/// # Safety
///
/// The caller owns a reference.
unsafe fn put<T, S: Protocol<M>, M: Memory>(
    block: NonNull<Block<T, S, M>>,
) -> Option<NonNull<Block<T, S, M>>> {
    // SAFETY: the caller's reference keeps the block up to the verdict.
    let strong = &unsafe { Block::header(block) }.strong;
    strong.put().is_last().then_some(block)
}

impl<T, S: Scheme<M>, M: Memory> Deref for Context<T, S, M> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this is a reference.
        unsafe { self.value.as_ref() }
    }
}

impl<T, S: Scheme<M>, M: Memory> Clone for Context<T, S, M> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: this is a reference.
        unsafe { Block::header(self.block()) }.strong.get_held();
        Self { ..*self }
    }
}

impl<T, S: Scheme<M>, M: Memory> Drop for Context<T, S, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is a reference, and is not used again.
        unsafe { give_back(self.block()) };
    }
}

/// Gives a strong reference back, and starts the end of the block if it was the last one.
///
/// # Safety
///
/// The caller owns a reference.
#[inline]
pub(crate) unsafe fn give_back<T, S: Protocol<M>, M: Memory>(block: NonNull<Block<T, S, M>>) {
    // SAFETY: the caller's.
    if let Some(block) = unsafe { put(block) } {
        // SAFETY: that was the last one.
        unsafe { retire(block) };
    }
}

/// # Safety
///
/// The block's last strong put was told to the caller, who does not touch the block again.
#[cold]
unsafe fn retire<T, S: Protocol<M>, M: Memory>(block: NonNull<Block<T, S, M>>) {
    // The block may be gone before `retire` has done with the domain.
    // SAFETY: the block exists until it is retired.
    let core = unsafe { Block::header(block) }.core.clone();
    // SAFETY: the caller's; the block says that it is of this domain.
    unsafe { S::retire(&core, core::iter::once(block)) };
}

impl<T: fmt::Debug, S: Scheme<M>, M: Memory> fmt::Debug for Context<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display, S: Scheme<M>, M: Memory> fmt::Display for Context<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T, S: Scheme<M>, M: Memory> AsRef<T> for Context<T, S, M> {
    fn as_ref(&self) -> &T {
        self
    }
}
