//! Thread numbers in their smallest form: one record, which is free or claimed.

use super::super::memory::Loom;
use super::super::numbers::GivesNumbers;
use core::marker::PhantomData;
use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Ordering};

pub(crate) trait Flaw: Send + Sync + 'static {
    /// Whether a claim is an exchange, and not a look and a store.
    const EXCHANGES: bool = true;
}

flaws! {
    SoundNumbers {}
    LooksAndStores { EXCHANGES: bool = false }
}

type Word = <Loom as Memory>::AtomicU32;

pub(crate) struct NumbersTwin<F> {
    claimed: Arc<Word>,
    flaw: PhantomData<F>,
}

/// The number 0; or, if that is taken, 1, which the model has one thread ask for.
pub(crate) struct ClaimTwin<F: Flaw> {
    record: Option<Arc<Word>>,
    flaw: PhantomData<F>,
}

impl<F: Flaw> Drop for ClaimTwin<F> {
    fn drop(&mut self) {
        if let Some(claimed) = &self.record {
            claimed.store(0, Ordering::Release);
        }
    }
}

impl<F: Flaw> GivesNumbers for NumbersTwin<F> {
    type Claim = ClaimTwin<F>;

    fn none() -> Self {
        Self { claimed: Arc::new(Atomic::new(0)), flaw: PhantomData }
    }

    fn claim(&self) -> ClaimTwin<F> {
        let claimed = if F::EXCHANGES {
            self.claimed.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        } else {
            let free = self.claimed.load(Ordering::Acquire) == 0;
            if free {
                self.claimed.store(1, Ordering::Relaxed);
            }
            free
        };
        ClaimTwin { record: claimed.then(|| Arc::clone(&self.claimed)), flaw: PhantomData }
    }

    fn number(claim: &ClaimTwin<F>) -> u32 {
        u32::from(claim.record.is_none())
    }
}
