//! Variants whose first thread repeats something while the others go on.
//!
//! For the real machine alone: a simulation's objects would lie where the host's allocator puts them, and its figures
//! have to be the same everywhere.

use crate::scenario::workers::PerThread;
use crate::scenario::{Host, Looped, ThreadPlace, Variant};
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::{Memory, Native, Ordering};

type ThreadTally = <Native as Memory>::AtomicU64;

/// The first thread does `act` with its part, the others do `go_on` with theirs.
///
/// An operation of the others lasts until the first thread has done one more: so it takes as long on all threads, and
/// all others are in user space and busy.
struct Beside<T, A, O, Act, GoOn> {
    shared: CachePadded<T>,
    actor: PerThread<A>,
    others: PerThread<O>,
    acted: CachePadded<ThreadTally>,
    act: Act,
    go_on: GoOn,
}

/// Make the first thread's part, and another's.
pub(super) type Sides<T, A, O> = (fn(&T) -> A, fn(&T) -> O);

impl Variant {
    /// The first thread does `act`, the others `go_on`, on what `shared` makes; `actor` or `other` makes each thread's
    /// part.
    pub(super) fn beside<T: Send + Sync + 'static, A: Send + 'static, O: Send + 'static>(
        name: &'static str,
        shared: impl Fn() -> T + Send + Sync + 'static,
        (actor, other): Sides<T, A, O>,
        act: impl Fn(&T, &mut A) + Copy + Send + Sync + 'static,
        go_on: impl Fn(&T, &mut O) -> u64 + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, move |threads| {
            Box::new(Beside::new(threads, shared(), (actor, other), act, go_on))
        })
    }
}

const WORK_NS: u32 = 100;
/// Waits of a thread for the first one, which is alone for a moment before and after a slice. After a wait in vain the
/// thread goes on without, until something happens.
const PATIENCE: u32 = 4_000;

impl<T, A, O, Act: Fn(&T, &mut A), GoOn: Fn(&T, &mut O) -> u64> Beside<T, A, O, Act, GoOn> {
    fn new(
        threads: usize,
        shared: T,
        (actor, other): Sides<T, A, O>,
        act: Act,
        go_on: GoOn,
    ) -> Self {
        let actor = PerThread::new(1, |_| actor(&shared));
        let others = PerThread::new(threads - 1, |_| other(&shared));
        let (shared, acted) = (CachePadded::new(shared), CachePadded::new(ThreadTally::new(0)));
        Self { shared, actor, others, acted, act, go_on }
    }

    fn acted(&self) -> u64 {
        // Relaxed: a tally.
        self.acted.load(Ordering::Relaxed)
    }

    fn act(&self, actor: &mut A, steps: u64) {
        for _ in 0..steps {
            (self.act)(&self.shared, actor);
            // Relaxed: no other thread writes it.
            self.acted.store(self.acted() + 1, Ordering::Relaxed);
        }
    }

    fn go_on(&self, other: &mut O, steps: u64) {
        let mut patience = PATIENCE;
        let mut seen = self.acted();
        for _ in 0..steps {
            while self.acted() == seen {
                black_box(Native::work((self.go_on)(&self.shared, other), WORK_NS));
                let Some(left) = patience.checked_sub(1) else { break };
                patience = left;
            }
            if self.acted() != seen {
                seen += 1;
                patience = PATIENCE;
            }
        }
    }
}

impl<T, A, O, Act, GoOn> Looped for Beside<T, A, O, Act, GoOn>
where
    T: Send + Sync,
    A: Send,
    O: Send,
    Act: Fn(&T, &mut A) + Send + Sync,
    GoOn: Fn(&T, &mut O) -> u64 + Send + Sync,
{
    #[inline(never)]
    fn run(&self, place: ThreadPlace, steps: u64) -> u64 {
        match place.thread.checked_sub(1) {
            None => self.actor.with(0, |actor| self.act(actor, steps)),
            Some(other) => self.others.with(other, |other| self.go_on(other, steps)),
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    /// Both sides count what they do.
    fn counted() -> Beside<Mutex<(u64, u64)>, (), (), Act, GoOn> {
        let act: Act = |counts, ()| {
            std::thread::sleep(Duration::from_micros(20));
            counts.lock().unwrap().0 += 1;
        };
        let go_on: GoOn = |counts, ()| {
            counts.lock().unwrap().1 += 1;
            0
        };
        Beside::new(2, Mutex::default(), (|_| (), |_| ()), act, go_on)
    }

    type Act = fn(&Mutex<(u64, u64)>, &mut ());
    type GoOn = fn(&Mutex<(u64, u64)>, &mut ()) -> u64;

    fn place(thread: usize) -> ThreadPlace {
        ThreadPlace { thread, of: 2 }
    }

    #[test]
    fn the_others_go_on_for_as_long_as_the_first_acts() {
        let object = counted();
        std::thread::scope(|scope| {
            scope.spawn(|| object.run(place(0), 500));
            object.run(place(1), 400);
        });
        let (acted, went_on) = *object.shared.lock().unwrap();
        assert_eq!(acted, 500);
        assert!(went_on >= 400, "{went_on}");
    }

    #[test]
    fn another_one_that_is_alone_comes_back() {
        let object = counted();
        object.run(place(1), 1_000);
        let (acted, went_on) = *object.shared.lock().unwrap();
        assert_eq!((acted, went_on), (0, u64::from(PATIENCE) + 1_000));
    }
}
