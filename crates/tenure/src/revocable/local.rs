//! [`LocalHandle`], and the [`Guard`] of what it uses.

use super::mapped::Mapped;
use super::protocol::{Block, Protocol, SharedInner, SlotState};
use super::strong::upgrade;
use super::{Scheme, Shootdown, Strong};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

/// A worker's handle to a [`Domain`](super::Domain): uses one object at a time, and keeps the last one until it is
/// dropped.
///
/// It may move to another thread, also while it uses an object. A thread that ends without dropping it blocks no other.
///
/// ```
/// use tenure::revocable::Domain;
///
/// let domain = Domain::new();
/// let strong = domain.strong(String::from("tenant 7"));
///
/// let mut local = domain.register();
/// for _request in 0..1000 {
///     let tenant = local.enter(&strong); // after the first time: no line of other threads is written
///     assert_eq!(*tenant, "tenant 7");
/// } // the guard's drop leaves; the handle keeps the tenant without counting it
///
/// assert!(local.kept().is_some());
/// drop(strong); // the last strong handle: the value is dropped here, though the handle kept it
/// assert!(local.kept().is_none());
/// ```
pub struct LocalHandle<T, S: Scheme = Shootdown> {
    /// In the domain, which does not move it.
    slot: NonNull<S::State<T>>,
    number: u32,
    inner: SharedInner<T, S>,
}

// SAFETY: only the handle's owner uses the slot, and may drop the value.
unsafe impl<T: Send + Sync, S: Scheme> Send for LocalHandle<T, S> {}
// SAFETY: a shared reference to a handle gives access to nothing.
unsafe impl<T: Send + Sync, S: Scheme> Sync for LocalHandle<T, S> {}

impl<T, S: Scheme> LocalHandle<T, S> {
    pub(super) fn new(inner: SharedInner<T, S>) -> Self {
        let (number, slot) = inner.acquire_slot();
        Self { slot: NonNull::from(slot), number, inner }
    }

    #[inline(always)]
    pub(super) fn state(&self) -> &S::State<T> {
        // SAFETY: slots stay where they are as long as the domain, which `inner` keeps.
        unsafe { self.slot.as_ref() }
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Uses the object of `strong` until the guard is dropped. The handle then keeps it in place of the one before.
    ///
    /// The guard does not borrow the strong handle. So enter under the lock of your table, without a clone, and release the
    /// lock. If the last strong handle is dropped meanwhile, the value stays until the guard is gone.
    ///
    /// Cost: see [the table](super#what-it-costs). Registering a handle for a single use costs more than the count that
    /// it saves.
    ///
    /// # Panics
    ///
    /// If the strong handle is of another domain. With [`Mask`](super::Mask) also if this handle was the last to keep its old
    /// object, and that object's destructor panics.
    #[inline(always)]
    #[track_caller]
    pub fn enter<'s>(&'s mut self, strong: &Strong<T, S>) -> Guard<'s, T, S> {
        let block = strong.block();
        if self.state().has(block) {
            // SAFETY: `&mut self` is the owner, and `strong` keeps the block during the call.
            unsafe { self.state().resume(block) };
        } else {
            self.switch(strong);
        }
        // SAFETY: the slot uses the block now, and the guard borrows the handle.
        unsafe { Guard::new(self.state(), block) }
    }

    #[inline(never)]
    #[track_caller]
    fn switch(&mut self, strong: &Strong<T, S>) {
        assert!(
            strong.is_of(&self.inner),
            "this Strong is of another Domain than this LocalHandle"
        );
        // SAFETY: as in `enter`; the block is of this domain.
        unsafe { self.state().switch(self.number, strong.block()) };
    }

    /// Uses the object that the handle kept.
    ///
    /// `None` if the handle never entered an object, if it was [cleared](Self::clear), or if the last strong handle is gone.
    /// (With [`Mask`](super::Mask) an object is there as long as a handle keeps it.)
    ///
    /// `Some` means that there is a strong handle *somewhere*, perhaps not in your table. If that matters, mark removed
    /// objects.
    ///
    /// ```
    /// use tenure::revocable::Domain;
    ///
    /// let domain = Domain::new();
    /// let strong = domain.strong(1);
    /// let mut local = domain.register();
    /// assert!(local.kept().is_none());
    /// drop(local.enter(&strong));
    /// assert_eq!(*local.kept().unwrap(), 1);
    /// ```
    #[inline(always)]
    pub fn kept(&mut self) -> Option<Guard<'_, T, S>> {
        // SAFETY: `&mut self` is the owner.
        let block = unsafe { self.state().kept() }?;
        // SAFETY: as in `enter`.
        Some(unsafe { Guard::new(self.state(), block) })
    }

    /// Uses the object that the handle kept if `is_it` accepts it; otherwise enters the one that `find` returns.
    ///
    /// For workers whose next request is mostly for the same object: only another one takes a look into the table.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use tenure::revocable::{Strong, Domain, Guard, LocalHandle};
    ///
    /// struct Tenant { id: u64, name: String }
    ///
    /// struct Worker<'t> {
    ///     tenants: &'t Mutex<HashMap<u64, Strong<Tenant>>>,
    ///     local: LocalHandle<Tenant>,
    /// }
    ///
    /// impl Worker<'_> {
    ///     fn tenant(&mut self, id: u64) -> Option<Guard<'_, Tenant>> {
    ///         let find = || self.tenants.lock().unwrap().get(&id).cloned();
    ///         self.local.kept_or(|tenant| tenant.id == id, find)
    ///     }
    /// }
    ///
    /// let domain = Domain::new();
    /// let acme = domain.strong(Tenant { id: 7, name: "acme".into() });
    /// let tenants = Mutex::new(HashMap::from([(7, acme)]));
    /// let mut worker = Worker { tenants: &tenants, local: domain.register() };
    /// assert_eq!(worker.tenant(7).unwrap().name, "acme"); // locks, clones, enters
    /// assert_eq!(worker.tenant(7).unwrap().name, "acme"); // plain loads and stores
    ///
    /// let gone = tenants.lock().unwrap().remove(&7);
    /// drop(gone); // after the lock: this may run the tenant's destructor
    /// assert!(worker.tenant(7).is_none());
    /// ```
    #[inline]
    pub fn kept_or(
        &mut self,
        is_it: impl FnOnce(&T) -> bool,
        find: impl FnOnce() -> Option<Strong<T, S>>,
    ) -> Option<Guard<'_, T, S>> {
        // SAFETY: `&mut self` is the owner.
        if let Some(block) = unsafe { self.state().kept() } {
            // SAFETY: as in `enter`. The guard is returned, or dropped before the handle is used again.
            let kept = unsafe { Guard::new(self.state(), block) };
            if is_it(&kept) {
                return Some(kept);
            }
        }
        Some(self.enter(&find()?))
    }

    /// Gives up the object that the handle keeps.
    ///
    /// Call it before you drop that object's last strong handle: the drop then needs no barrier. With [`Mask`](super::Mask)
    /// call it before the worker sleeps.
    pub fn clear(&mut self) {
        // SAFETY: `&mut self` is the owner, and no guard borrows it.
        unsafe { self.state().clear(self.number) };
    }
}

impl<T, S: Scheme> Drop for LocalHandle<T, S> {
    fn drop(&mut self) {
        /// Releases the slot even if a destructor panics.
        struct Release<'s, T, S: Scheme>(&'s LocalHandle<T, S>);
        impl<T, S: Scheme> Drop for Release<'_, T, S> {
            fn drop(&mut self) {
                self.0.inner.release_slot(self.0.number);
            }
        }
        let Release(this) = &Release(self);
        // SAFETY: as in `clear`.
        unsafe { this.state().clear(this.number) };
    }
}

impl<T, S: Scheme> fmt::Debug for LocalHandle<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalHandle").field("number", &self.number).finish_non_exhaustive()
    }
}

/// The use of an object until the guard is dropped.
///
/// Not counted. If the last strong handle goes meanwhile the guard owns a reference from then on, and its drop may drop the
/// value. A [forgotten](super#threads-forks-panics-exits) guard may leak it. It may be held across an `.await`, if the
/// task owns the local handle.
#[must_use = "the object is in use until the guard is dropped"]
pub struct Guard<'s, T, S: Scheme = Shootdown> {
    /// An `S::State<T>`, without its type: guards are covariant in `T`, as [`Strong`]s are.
    state: NonNull<()>,
    /// First in its block.
    value: NonNull<T>,
    local: PhantomData<&'s mut ()>,
    scheme: PhantomData<fn() -> S>,
}

// SAFETY: the guard borrows the handle, so its owner alone uses the slot. Its drop may drop the value.
unsafe impl<T: Send + Sync, S: Scheme> Send for Guard<'_, T, S> {}
// SAFETY: a shared reference to a guard shares the value, and gives strong handles.
unsafe impl<T: Send + Sync, S: Scheme> Sync for Guard<'_, T, S> {}

impl<'s, T, S: Scheme> Guard<'s, T, S> {
    /// # Safety
    ///
    /// The slot uses the block. For `'s` the slot exists, and its owner does not use it otherwise.
    #[inline(always)]
    pub(super) unsafe fn new(state: &S::State<T>, block: NonNull<Block<T, S>>) -> Self {
        let (state, value) = (NonNull::from(state).cast(), block.cast());
        Self { state, value, local: PhantomData, scheme: PhantomData }
    }

    #[inline(always)]
    fn state(&self) -> &'s <S as Protocol>::State<T> {
        // SAFETY: `new` asks for a slot that exists for `'s`.
        unsafe { self.state.cast().as_ref() }
    }

    pub(super) fn block(&self) -> NonNull<Block<T, S>> {
        self.value.cast()
    }

    pub(super) fn into_state(self) -> &'s <S as Protocol>::State<T> {
        ManuallyDrop::new(self).state()
    }

    /// A part of the object, to be returned from a function that has the guard, say.
    ///
    /// ```
    /// use std::ops::Deref;
    /// use tenure::revocable::{Guard, RcuReader};
    ///
    /// struct Config { routes: Vec<String> }
    ///
    /// fn routes(reader: &mut RcuReader<Config>) -> impl Deref<Target = [String]> {
    ///     Guard::map(reader.load(), |config| &config.routes[..])
    /// }
    /// ```
    #[inline]
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> impl Deref<Target = U> {
        // SAFETY: the object is on the heap, and the guard keeps it.
        unsafe { Mapped::new(this, part) }
    }

    /// A [`Strong`] of the object, unless the last one is gone. One atomic add on its count.
    ///
    /// With [`Mask`](super::Mask) never `None`: the local handle itself keeps the object.
    #[must_use]
    pub fn upgrade(this: &Self) -> Option<Strong<T, S>> {
        // SAFETY: rule 3 of `Protocol`: the block is in use.
        unsafe { upgrade(this.block()) }
    }
}

impl<T, S: Scheme> Deref for Guard<'_, T, S> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: rule 3 of `Protocol`: the block is in use.
        unsafe { self.value.as_ref() }
    }
}

impl<T, S: Scheme> Drop for Guard<'_, T, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the slot's use of this block.
        unsafe { self.state().leave(self.block()) };
    }
}
