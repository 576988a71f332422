//! [`Relaxed`]: a number that threads share and that publishes nothing else.

use tenure::memory::{Atomic, Memory, Native, Ordering};

/// An integer that has an atomic.
pub(crate) trait Word: Copy {
    type Atomic: Atomic<Self>;
}

impl Word for u32 {
    type Atomic = <Native as Memory>::AtomicU32;
}

impl Word for u64 {
    type Atomic = <Native as Memory>::AtomicU64;
}

/// A statistic, setting, hint, or field that a lock guards: no thread reads other memory on the strength of its value,
/// so every operation is Relaxed.
pub(crate) struct Relaxed<T: Word>(T::Atomic);

impl<T: Word> Relaxed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(T::Atomic::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> T {
        self.0.load(Ordering::Relaxed) // Relaxed: see `Relaxed`; so in all methods.
    }

    #[inline]
    pub(crate) fn set(&self, value: T) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the value from before.
    #[inline]
    pub(crate) fn fetch_add(&self, more: T) -> T {
        self.0.fetch_add(more, Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn sub(&self, less: T) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn set_bits(&self, bits: T) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// Applies `change` until no thread interferes, and returns the value from before.
    pub(crate) fn update(&self, change: impl Fn(T) -> T) -> T {
        let mut old = self.get();
        loop {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.0.compare_exchange_weak(old, change(old), success, failure) {
                Ok(old) => return old,
                Err(found) => old = found,
            }
        }
    }

    /// Writes `new` if the value is `old`, and returns whether it was.
    pub(crate) fn replace(&self, old: T, new: T) -> bool {
        self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl<T: Word + PartialEq> Relaxed<T> {
    /// Writes only a new value: where it is the same, the line stays shared.
    #[inline]
    pub(crate) fn note(&self, value: T) {
        if self.get() != value {
            self.set(value);
        }
    }
}

impl Relaxed<u64> {
    /// Adds without locking the line: only one thread at a time may write.
    #[inline]
    pub(crate) fn count(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}

impl<T: Word + Default> Default for Relaxed<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
