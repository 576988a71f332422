//! A magazine of `Magazines` in its smallest form: one owner, one reclaimer, one plain field between them.

use super::super::memory::{Field, Loom};
use super::super::stage::{Heap, spawn};
use core::marker::PhantomData;
use tenure::memory::{Atomic, Memory, Ordering, Plain, Threads};

pub(crate) trait Flaw: Send + Sync + 'static {
    /// Whether the owner looks at the gate again when it has come out, to help a waiting thread.
    const LOOKS_BACK: bool = false;
    /// Whether the closer has waited, and looks at `inside` once more.
    const LOOKS_TWICE: bool = false;
}

flaws! {
    SoundMagazine {}
    LooksBack { LOOKS_BACK: bool = true }
    LooksTwice { LOOKS_TWICE: bool = true }
}

type Word = <Loom as Memory>::AtomicU32;

const SHUT: u32 = 1;

pub(crate) struct MagazineTwin<F> {
    inside: Word,
    gate: Word,
    slots: Field<u32>,
    /// What keeps the magazine: its closer, and a slot.
    references: Word,
    flaw: PhantomData<F>,
}

impl<F: Flaw> MagazineTwin<F> {
    fn new() -> Heap<Self> {
        Heap::new(Self {
            inside: Atomic::new(0),
            gate: Atomic::new(0),
            slots: Plain::new(0),
            references: Atomic::new(2),
            flaw: PhantomData,
        })
    }

    /// Puts slots in, or counts those that are there.
    fn use_slots(&self, added: u32) -> u32 {
        self.slots.with_mut(|slots| {
            // SAFETY: loom panics where another thread uses the field meanwhile.
            let slots = unsafe { &mut *slots };
            *slots += added;
            *slots
        })
    }

    /// The owner goes in, if it may, leaves a slot there, and comes out. Returns whether it left the slot.
    fn enter(&self) -> bool {
        self.inside.store(1, Ordering::Relaxed);
        Loom::<false>::light_barrier();
        let open = self.gate.load(Ordering::Acquire) == 0;
        if open {
            self.use_slots(1);
        }
        self.inside.store(0, Ordering::Release);
        if F::LOOKS_BACK {
            self.gate.load(Ordering::Relaxed);
        }
        open
    }

    fn shut(&self) {
        self.gate.fetch_or(SHUT, Ordering::Relaxed);
        Loom::<false>::heavy_barrier();
    }

    fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Acquire) != 0
    }

    fn reclaim(&self) {
        self.shut();
        while self.is_inside() {
            Loom::<false>::yield_now();
        }
        self.use_slots(0);
        self.gate.fetch_sub(SHUT, Ordering::Release);
    }

    fn close(&self) -> u32 {
        self.shut();
        while self.is_inside() {
            Loom::<false>::yield_now();
        }
        if F::LOOKS_TWICE && self.is_inside() {
            return 0;
        }
        self.use_slots(0)
    }
}

fn put<F: Flaw>(magazine: &Heap<MagazineTwin<F>>, references: u32) {
    if magazine.references.fetch_sub(references, Ordering::AcqRel) == references {
        magazine.free();
    }
}

pub(crate) fn reclaimed_under_its_owner<F: Flaw>() {
    let magazine = MagazineTwin::<F>::new();
    let owner = {
        let magazine = magazine.clone();
        spawn(move || magazine.enter())
    };
    magazine.reclaim();
    owner.join().unwrap();
}

/// The owner releases a slot, and has another one in there ‖ the list is closed. The last slot's owner frees.
pub(crate) fn closed_under_its_owner<F: Flaw>() {
    let magazine = MagazineTwin::<F>::new();
    magazine.references.fetch_add(1, Ordering::Relaxed);
    magazine.use_slots(1);
    let owner = {
        let magazine = magazine.clone();
        spawn(move || {
            if !magazine.enter() {
                put(&magazine, 1);
            }
        })
    };
    let slots = magazine.close();
    put(&magazine, slots + 1);
    owner.join().unwrap();
    assert!(magazine.is_freed(), "a slot is lost");
}
