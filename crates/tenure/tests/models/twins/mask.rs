//! One word of a `Mask` in its smallest form: its bits are slots, and together they have one reference.

use super::super::memory::Loom;
use super::super::stage::{Heap, Value, spawn};
use std::marker::PhantomData;
use tenure::count::TicketRef;
use tenure::memory::{Atomic, Memory, Ordering};

/// What is wrong with a twin. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether the addition that sets a bit says whether it was the first, and not a look before it.
    const SAYS: bool = true;
}

flaws! {
    SoundMask {}
    LooksFirst { SAYS: bool = false }
}

struct MaskTwin<F> {
    bits: <Loom as Memory>::AtomicU64,
    strong: TicketRef<Loom>,
    value: Value,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> MaskTwin<F> {
    fn put(this: &Heap<Self>) {
        if this.strong.put().is_last() {
            this.value.destroy();
            this.free();
        }
    }

    /// A local handle enters with a handle, which it gives back inside, uses the object, and is cleared.
    fn come_and_go(this: &Heap<Self>, bit: u64) {
        let is_first = this.bits.load(Ordering::Relaxed) == 0;
        let before = this.bits.fetch_or(bit, Ordering::Relaxed);
        if if F::SAYS { before == 0 } else { is_first } {
            this.strong.get_held();
        }
        Self::put(this);
        this.value.look();
        if this.bits.fetch_sub(bit, Ordering::AcqRel) == bit {
            Self::put(this);
        }
    }
}

/// Two local handles with a context each come and go.
pub(crate) fn two_handles<F: Flaw>() {
    let mask = Heap::new(MaskTwin::<F> {
        bits: Atomic::new(0),
        strong: TicketRef::new_in(),
        value: Value::new(1),
        flaw: PhantomData,
    });
    mask.strong.get_held();
    let other = {
        let mask = mask.clone();
        spawn(move || MaskTwin::come_and_go(&mask, 2))
    };
    MaskTwin::come_and_go(&mask, 1);
    other.join().unwrap();
    assert!(mask.is_freed(), "{}", super::shootdown::LEAKS);
}
