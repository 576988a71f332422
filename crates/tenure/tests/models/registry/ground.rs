//! [`Checked`]: a map of one key, a lock and grace periods, out of loom's words.
//!
//! The map does as little as it may: it publishes with Release, finds with Acquire, and removes Relaxed.
//! A grace period is as short as it can be: what was removed is released by the last of those to leave who were inside
//! then. A thread says that it enters and leaves in a word of its own, which whoever removes something reads, so that no
//! more is ordered than that takes.

use super::super::memory::Loom;
use std::borrow::Borrow;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::Mutex;
use tenure::count::ReadSide;
use tenure::memory::{Atomic, Memory, Ordering, Pointer, Threads};
use tenure::registry::ground::{Element, Ground, Lock, Map};

/// What is wrong with a ground. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether a removal looks which element is there.
    const REMOVES_BY_IDENTITY: bool = true;
    /// Whether what was removed is released after a grace period.
    const LOOKUPS_ARE_WAITED_FOR: bool = true;
    /// Whether an element is freed after another one, if its count asks for that.
    const PUTS_ARE_WAITED_FOR: bool = true;
    /// Whether the lock keeps others out.
    const LOCKS: bool = true;
}

pub(crate) enum Sound {}
impl Flaw for Sound {}

pub(crate) struct Checked<F = Sound>(PhantomData<F>);

/// At most so many threads are in a model.
const THREADS: usize = 3;

type Flag = <Loom as Memory>::AtomicU32;

/// Something to be done when those who are inside have left.
struct Deferred {
    /// A bit for each thread that has not left.
    waits_for: u32,
    act: Box<dyn FnOnce()>,
}

/// Who is inside.
pub(crate) struct Scheme {
    inside: [Flag; THREADS],
    // Not loom's: what the model knows. It is looked at between operations of loom's only.
    deferred: Mutex<Vec<Deferred>>,
}

// SAFETY: loom runs all threads of a model on one thread of the system.
unsafe impl Send for Scheme {}
// SAFETY: as above.
unsafe impl Sync for Scheme {}

fn me() -> usize {
    Loom::<false>::thread().expect("every thread of these models has a number")
}

impl Scheme {
    fn new() -> Self {
        let inside = std::array::from_fn(|_| Flag::new(0));
        Self { inside, deferred: Mutex::default() }
    }

    fn enter(&self) {
        // Acquire: pairs with the Release of whoever found this thread outside, so that what it removed is gone here.
        self.inside[me()].fetch_add(1, Ordering::Acquire);
    }

    fn leave(&self) {
        // Release: what was done inside comes before what waits for that.
        if self.inside[me()].fetch_sub(1, Ordering::Release) > 1 {
            return;
        }
        let mut due = Vec::new();
        self.deferred.lock().unwrap().retain_mut(|deferred| {
            deferred.waits_for &= !(1 << me());
            if deferred.waits_for > 0 {
                return true;
            }
            due.push(std::mem::replace(&mut deferred.act, Box::new(|| ())));
            false
        });
        for act in due {
            self.insiders();
            act();
        }
    }

    /// Who is inside, with all that those did who are not.
    fn insiders(&self) -> u32 {
        // AcqRel: pairs with `enter` and `leave`.
        let is_inside = |thread: &usize| self.inside[*thread].fetch_add(0, Ordering::AcqRel) > 0;
        (0..THREADS).filter(is_inside).fold(0, |all, thread| all | 1 << thread)
    }

    /// Calls `act` when all who are inside have left.
    fn defer(&self, act: impl FnOnce() + 'static) {
        let waits_for = self.insiders();
        if waits_for == 0 {
            act();
        } else {
            self.deferred.lock().unwrap().push(Deferred { waits_for, act: Box::new(act) });
        }
    }
}

impl Drop for Scheme {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for deferred in std::mem::take(self.deferred.get_mut().unwrap()) {
                (deferred.act)();
            }
        }
    }
}

loom::lazy_static! {
    static ref PUTS: Scheme = Scheme::new();
}

/// Inside of a scheme.
pub(crate) struct Inside<S: std::ops::Deref<Target = Scheme>>(S);

impl<S: std::ops::Deref<Target = Scheme>> Drop for Inside<S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.leave();
        }
    }
}

pub(crate) struct PutsScheme;

impl std::ops::Deref for PutsScheme {
    type Target = Scheme;
    fn deref(&self) -> &Scheme {
        &PUTS
    }
}

// SAFETY: see `Ground::defer_free`.
unsafe impl ReadSide for Inside<PutsScheme> {}

// SAFETY: see each; where it has no flaw.
unsafe impl<F: Flaw> Ground for Checked<F> {
    type Memory = Loom;
    type Lock = Mutual<F>;
    type Guard = Inside<PutsScheme>;
    type Hasher = ();
    type Link = ();
    type Map<E: Element<Link = ()>> = OneKey<E, F>;

    unsafe fn enter() -> Self::Guard {
        PUTS.enter();
        Inside(PutsScheme)
    }

    unsafe fn defer_free<E: Element>(element: NonNull<E>) {
        // SAFETY: the caller's.
        let free = move || unsafe { E::free(element) };
        if F::PUTS_ARE_WAITED_FOR {
            // What is deferred does not outlive its execution.
            // SAFETY: only the lifetime changes.
            let free = unsafe {
                std::mem::transmute::<Box<dyn FnOnce()>, Box<dyn FnOnce() + 'static>>(Box::new(
                    free,
                ))
            };
            PUTS.defer(free);
        } else {
            free();
        }
    }

    fn map<E: Element<Link = ()>>((): ()) -> OneKey<E, F> {
        OneKey { place: Pointer::<E>::new(null_mut()), lookups: Scheme::new(), flaw: PhantomData }
    }

    fn link(_hash: u64) {}
}

/// A map with a place for one element.
pub(crate) struct OneKey<E, F> {
    place: <Loom as Memory>::Pointer<E>,
    lookups: Scheme,
    flaw: PhantomData<fn() -> F>,
}

impl<E, F> OneKey<E, F> {
    fn there(&self) -> Option<NonNull<E>> {
        // Acquire: pairs with the Release in `insert`.
        NonNull::new(Pointer::<E>::load(&self.place, Ordering::Acquire))
    }
}

// SAFETY: the map's rules, over one place; where it has no flaw.
unsafe impl<E: Element, F: Flaw> Map<E> for OneKey<E, F> {
    type Guard<'m>
        = Inside<&'m Scheme>
    where
        Self: 'm;

    unsafe fn enter(&self) -> Inside<&Scheme> {
        self.lookups.enter();
        Inside(&self.lookups)
    }

    fn hash<Q: Hash + ?Sized>(&self, _key: &Q) -> u64 {
        0
    }

    fn find<Q>(&self, key: &Q, _hash: u64, _guard: &Inside<&Scheme>) -> Option<NonNull<E>>
    where
        E::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let found = self.there()?;
        // SAFETY: the guard keeps it.
        let there = unsafe { found.as_ref() }.key();
        assert!(*there.borrow() == *key, "these models have one key");
        Some(found)
    }

    unsafe fn insert(
        &self,
        element: NonNull<E>,
        _guard: &Inside<&Scheme>,
    ) -> Result<(), NonNull<E>> {
        // Release: pairs with the Acquire of who finds it; which one that is there is, too.
        let (new, success, failure) = (element.as_ptr(), Ordering::Release, Ordering::Acquire);
        match self.place.compare_exchange(null_mut(), new, success, failure) {
            Ok(_) => Ok(()),
            Err(there) => Err(NonNull::new(there).expect("a strong exchange fails with another")),
        }
    }

    fn fit(&self, _elements: impl FnOnce() -> u32) {}

    unsafe fn remove(&self, element: NonNull<E>, _guard: &Inside<&Scheme>) {
        // Relaxed: no removal has to order anything.
        let mut there = element.as_ptr();
        while let Err(other) =
            self.place.compare_exchange(there, null_mut(), Ordering::Relaxed, Ordering::Relaxed)
        {
            if F::REMOVES_BY_IDENTITY || other.is_null() {
                return;
            }
            there = other;
        }
        let removed = NonNull::new(there).expect("it was there");
        // SAFETY: it is there no more, and nobody who saw it there is inside.
        let release = move || unsafe { E::release(removed) };
        if F::LOOKUPS_ARE_WAITED_FOR {
            // SAFETY: only the lifetime changes; the map's drop comes before the end of what it holds.
            let release = unsafe {
                std::mem::transmute::<Box<dyn FnOnce()>, Box<dyn FnOnce() + 'static>>(Box::new(
                    release,
                ))
            };
            self.lookups.defer(release);
        } else {
            release();
        }
    }

    fn for_each(&self, _guard: &Inside<&Scheme>, mut visit: impl FnMut(NonNull<E>)) {
        if let Some(found) = self.there() {
            visit(found);
        }
    }
}

impl<E, F> Drop for OneKey<E, F> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.there().is_none(), "an entry is left in the map");
        }
    }
}

/// loom's mutex.
pub(crate) struct Mutual<F>(loom::sync::Mutex<()>, PhantomData<fn() -> F>);

// SAFETY: a mutex; where it has no flaw.
unsafe impl<F: Flaw> Lock for Mutual<F> {
    type Held<'l> = Option<loom::sync::MutexGuard<'l, ()>>;

    fn new() -> Self {
        Self(loom::sync::Mutex::new(()), PhantomData)
    }

    fn lock(&self) -> Self::Held<'_> {
        F::LOCKS.then(|| self.0.lock().unwrap())
    }

    fn is_lost(&self) -> bool {
        false
    }
}
