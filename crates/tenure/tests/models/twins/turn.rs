//! The turn of `Dying` in its smallest form: blocks are a number, and to end them is to take it.

use super::super::memory::Loom;
use super::super::stage::{JoinHandle, join_all, spawn};
use std::marker::PhantomData;
use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Ordering};

/// What is wrong with a twin. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether the turn is given back by a compare-exchange, which notices additions.
    const NOTICES: bool = true;
    /// Whether a block is pushed before the addition.
    const PUSHES_FIRST: bool = true;
    /// Whether the exchange that takes the turn acquires what others pushed before their additions.
    const ACQUIRES: bool = true;
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

pub(crate) enum TakesTheTurnRelaxed {}
impl Flaw for TakesTheTurnRelaxed {
    const ACQUIRES: bool = false;
}

pub(crate) const NEVER_ENDED: &str = "a block is never ended";

type Word = <Loom as Memory>::AtomicU32;

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
        let mut blocks = self.blocks.load(Ordering::Relaxed);
        while blocks != 0 {
            let taken =
                self.blocks.compare_exchange(blocks, 0, Ordering::Acquire, Ordering::Relaxed);
            match taken {
                Ok(_) => return,
                Err(found) => blocks = found,
            }
        }
    }

    /// Pushes a block, and ends it unless somebody else does.
    fn retire(&self) {
        if F::PUSHES_FIRST {
            self.push();
        }
        let mut turn = self.turn.fetch_add(1, Ordering::Release) + 1;
        if !F::PUSHES_FIRST {
            self.push();
        }
        loop {
            if turn >= OWNED {
                return;
            }
            let ordering = if F::ACQUIRES { Ordering::Acquire } else { Ordering::Relaxed };
            match self.turn.compare_exchange(turn, turn | OWNED, ordering, Ordering::Relaxed) {
                Ok(_) => return self.end(turn | OWNED),
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
            let given = self.turn.compare_exchange(turn, 0, Ordering::Relaxed, Ordering::Acquire);
            match given {
                Ok(_) => return,
                Err(found) => turn = found,
            }
        }
    }
}

fn thread<F: Flaw>(turn: &Arc<Turn<F>>, act: impl Fn(&Turn<F>) + 'static) -> JoinHandle<()> {
    let turn = Arc::clone(turn);
    spawn(move || act(&turn))
}

fn run<F: Flaw>(others: fn(&Arc<Turn<F>>) -> Vec<JoinHandle<()>>) {
    let turn =
        Arc::new(Turn::<F> { blocks: Atomic::new(0), turn: Atomic::new(0), flaw: PhantomData });
    let others = others(&turn);
    turn.retire();
    join_all(others);
    assert_eq!(turn.blocks.load(Ordering::Relaxed), 0, "{NEVER_ENDED}");
}

/// Two threads push a block each.
pub(crate) fn two_push<F: Flaw>() {
    run::<F>(|turn| vec![thread(turn, Turn::retire)]);
}

/// As [`two_push`], while a third one ends what it finds without the turn.
pub(crate) fn two_push_and_one_takes<F: Flaw>() {
    run::<F>(|turn| vec![thread(turn, Turn::retire), thread(turn, Turn::take)]);
}
