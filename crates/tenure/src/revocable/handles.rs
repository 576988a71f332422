//! What users see of [`generic`]: the scheme [`Shootdown`](generic::Shootdown).

use super::mapped::Mapped;
use super::{Stats, generic};
use core::fmt;
use core::ops::Deref;

/// The workers that share objects of type `T`, and the objects. See the [module](super).
///
/// Lasts until its last clone, [`LocalHandle`] and [`Strong`] are gone. They go from thread to thread if
/// `T: Send + Sync`, because any of them may drop a value.
pub struct Domain<T>(generic::Domain<T>);

impl<T> Domain<T> {
    /// A domain without objects.
    #[must_use]
    pub fn new() -> Self {
        Self(generic::Domain::new_in())
    }

    /// Puts `value` on the heap, and returns its first strong handle.
    #[must_use]
    pub fn strong(&self, value: T) -> Strong<T> {
        Strong(self.0.strong(value))
    }

    /// Registers a worker.
    ///
    /// Cost: a few atomic operations, and a search if handles were dropped before. A handle takes a slot of a cache
    /// line or two, which later handles reuse and the domain frees when it goes. So register workers, not requests or
    /// tasks.
    ///
    /// # Panics
    ///
    /// If there are 2^28 of them.
    #[must_use]
    pub fn register(&self) -> LocalHandle<T> {
        LocalHandle(self.0.register())
    }

    /// Drops many strong handles in one shootdown: two looks at each local handle and one barrier, where a loop over `drop`
    /// takes that for each object. The iterator is run to its end first.
    ///
    /// # Panics
    ///
    /// If a strong handle is of another domain. It and those after it are dropped one by one.
    ///
    /// ```
    /// use tenure::revocable::Domain;
    ///
    /// let domain = Domain::new();
    /// let tenants: Vec<_> = (0..100).map(|id| domain.strong(id)).collect();
    /// domain.drop_all(tenants);
    /// ```
    pub fn drop_all(&self, strongs: impl IntoIterator<Item = Strong<T>>) {
        self.0.drop_all(strongs.into_iter().map(|strong| strong.0));
    }

    /// What has happened so far. While other threads use the domain the figures are of different moments.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl<T> Default for Domain<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Domain<T> {
    /// Another handle of the same domain.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Domain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A strong, counted handle to an object of a [`Domain`](super::Domain).
///
/// The object exists while there is one. When the last is dropped the value is dropped as soon as no handle uses it:
/// see [the table](super#when-is-a-value-dropped). That may run destructors of other values of the domain too, so
/// release your locks first: `let gone = table.lock().unwrap().remove(&id); drop(gone);`.
///
/// There is no weak handle: your table owns its objects.
///
/// Cost: 8 bytes, and a cache line or two beside the value. A clone is one atomic add on the object's count, a drop one
/// subtraction (a [`TicketRef`](crate::count::TicketRef)). The count is not on the value's lines.
///
/// ```
/// use tenure::revocable::Domain;
///
/// let domain = Domain::new();
/// let strong = domain.strong(vec![1, 2, 3]);
/// let other = strong.clone();
/// drop(strong);
/// assert_eq!(other.len(), 3);
/// ```
pub struct Strong<T>(pub(crate) generic::Strong<T>);

impl<T> Strong<T> {
    /// Whether both are handles to one object.
    ///
    /// ```
    /// use tenure::revocable::{Strong, Domain};
    ///
    /// let domain = Domain::new();
    /// let (one, other) = (domain.strong(1), domain.strong(1));
    /// assert!(Strong::ptr_eq(&one, &one.clone()));
    /// assert!(!Strong::ptr_eq(&one, &other));
    /// ```
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        generic::Strong::ptr_eq(&this.0, &other.0)
    }
}

impl<T> Clone for Strong<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for Strong<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

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
pub struct LocalHandle<T>(generic::LocalHandle<T>);

impl<T> LocalHandle<T> {
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
    /// If the strong handle is of another domain.
    #[inline(always)]
    #[track_caller]
    pub fn enter<'s>(&'s mut self, strong: &Strong<T>) -> Guard<'s, T> {
        Guard(self.0.enter(&strong.0))
    }

    /// Uses the object that the handle kept.
    ///
    /// `None` if the handle never entered an object, if it was [cleared](Self::clear), or if the last strong handle is gone.
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
    pub fn kept(&mut self) -> Option<Guard<'_, T>> {
        self.0.kept().map(Guard)
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
        find: impl FnOnce() -> Option<Strong<T>>,
    ) -> Option<Guard<'_, T>> {
        self.0.kept_or(is_it, || find().map(|strong| strong.0)).map(Guard)
    }

    /// Gives up the object that the handle keeps.
    ///
    /// Call it before you drop that object's last strong handle: the drop then needs no barrier.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T> fmt::Debug for LocalHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The use of an object until the guard is dropped.
///
/// Not counted. If the last strong handle goes meanwhile the guard owns a reference from then on, and its drop may drop the
/// value. A [forgotten](super#threads-forks-panics-exits) guard may leak it. It may be held across an `.await`, if the
/// task owns the local handle.
#[must_use = "the object is in use until the guard is dropped"]
pub struct Guard<'s, T>(pub(crate) generic::Guard<'s, T>);

impl<T> Guard<'_, T> {
    /// A part of the object, to be returned from a function that has the guard, say.
    ///
    /// ```
    /// use std::ops::Deref;
    /// use tenure::rcu::RcuReader;
    /// use tenure::revocable::Guard;
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
    #[must_use]
    pub fn upgrade(this: &Self) -> Option<Strong<T>> {
        generic::Guard::upgrade(&this.0).map(Strong)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

smart_pointer! {
    T: [T] Strong<T>;
    T: [T] Guard<'_, T>;
}
