//! The combiner of the retire list in its smallest form: blocks are a number, and to reclaim them is to take it.

use super::super::memory::Loom;
use super::super::stage::{JoinHandle, join_all, spawn};
use std::marker::PhantomData;
use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Ordering};

/// What is wrong with a twin. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether the combiner resigns by a compare-exchange, which notices requests.
    const NOTICES: bool = true;
    /// Whether a block is pushed before the request.
    const PUSHES_FIRST: bool = true;
}

flaws! {
    SoundCombiner {}
    ResignsByStore { NOTICES: bool = false }
    RequestsBeforeThePush { PUSHES_FIRST: bool = false }
}

pub(crate) const NEVER_RECLAIMED: &str = "a block is never reclaimed";

type Word = <Loom as Memory>::AtomicU32;

const COMBINER: u32 = 1 << 16;

struct List<F> {
    blocks: Word,
    word: Word,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> List<F> {
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

    fn retire(&self) {
        if F::PUSHES_FIRST {
            self.push();
        }
        let mut word = self.word.fetch_add(1, Ordering::Release) + 1;
        if !F::PUSHES_FIRST {
            self.push();
        }
        loop {
            if word >= COMBINER {
                return;
            }
            let mine = word | COMBINER;
            match self.word.compare_exchange(word, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return self.combine(mine),
                Err(found) => word = found,
            }
        }
    }

    fn combine(&self, mut word: u32) {
        loop {
            self.take();
            if !F::NOTICES {
                return self.word.store(0, Ordering::Release);
            }
            let given = self.word.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Acquire);
            match given {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }
}

fn thread<F: Flaw>(list: &Arc<List<F>>, act: impl Fn(&List<F>) + 'static) -> JoinHandle<()> {
    let list = Arc::clone(list);
    spawn(move || act(&list))
}

fn run<F: Flaw>(others: fn(&Arc<List<F>>) -> Vec<JoinHandle<()>>) {
    let list =
        Arc::new(List::<F> { blocks: Atomic::new(0), word: Atomic::new(0), flaw: PhantomData });
    let others = others(&list);
    list.retire();
    join_all(others);
    assert_eq!(list.blocks.load(Ordering::Relaxed), 0, "{NEVER_RECLAIMED}");
}

/// Two threads push a block each.
pub(crate) fn two_push<F: Flaw>() {
    run::<F>(|list| vec![thread(list, List::retire)]);
}
