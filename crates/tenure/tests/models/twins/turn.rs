//! The turn of `Dying` in its smallest form: blocks are a number, and to end them is to take it.

use super::super::memory::InOrder;
use super::super::stage::spawn;
use std::marker::PhantomData;
use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Ordering};

/// What is wrong with a twin. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether the turn is given back by a compare-exchange, which notices additions.
    const NOTICES: bool = true;
    /// Whether a block is pushed before the addition.
    const PUSHES_FIRST: bool = true;
}

pub(crate) enum SoundTurn {}
impl Flaw for SoundTurn {}

pub(crate) enum GivesBackByStore {}
impl Flaw for GivesBackByStore {
    const NOTICES: bool = false;
}

pub(crate) enum AddsBeforeThePush {}
impl Flaw for AddsBeforeThePush {
    const PUSHES_FIRST: bool = false;
}

pub(crate) const NEVER_ENDED: &str = "a block is never ended";

type Word = <InOrder as Memory>::AtomicU32;

const OWNED: u32 = 1 << 16;

struct Turn<F> {
    blocks: Word,
    turn: Word,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> Turn<F> {
    fn push(&self) {
        self.blocks.fetch_add(1, Ordering::Release);
    }

    fn take(&self) {
        let blocks = self.blocks.load(Ordering::Acquire);
        self.blocks.fetch_sub(blocks, Ordering::Acquire);
    }

    /// Pushes a block, and ends it unless somebody else does.
    fn retire(&self) {
        if F::PUSHES_FIRST {
            self.push();
        }
        let mut turn = self.turn.fetch_add(1, Ordering::AcqRel) + 1;
        if !F::PUSHES_FIRST {
            self.push();
        }
        loop {
            if turn >= OWNED {
                return;
            }
            let mine = turn | OWNED;
            let taken =
                self.turn.compare_exchange(turn, mine, Ordering::Acquire, Ordering::Acquire);
            match taken {
                Ok(_) => return self.end(mine),
                Err(found) => turn = found,
            }
        }
    }

    fn end(&self, mut turn: u32) {
        loop {
            self.take();
            if !F::NOTICES {
                return self.turn.store(0, Ordering::Release);
            }
            let given = self.turn.compare_exchange(turn, 0, Ordering::Release, Ordering::Acquire);
            match given {
                Ok(_) => return,
                Err(found) => turn = found,
            }
        }
    }
}

/// Two threads push a block each.
pub(crate) fn two_push<F: Flaw>() {
    let turn =
        Arc::new(Turn::<F> { blocks: Atomic::new(0), turn: Atomic::new(0), flaw: PhantomData });
    let other = {
        let turn = Arc::clone(&turn);
        spawn(move || turn.retire())
    };
    turn.retire();
    other.join().unwrap();
    assert_eq!(turn.blocks.load(Ordering::Relaxed), 0, "{NEVER_ENDED}");
}
