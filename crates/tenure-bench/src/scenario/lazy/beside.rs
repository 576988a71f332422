//! [`Beside`]: the first thread does something again and again, and the others go on meanwhile.
//!
//! On the real machine alone: what objects that are made during a simulation take depends on where the host's allocator
//! puts them, and the same request is to give the same figures everywhere.

use crate::scenario::workers::PerThread;
use crate::scenario::{Host, Looped, Place, Variant};
use std::hint::black_box;
use tenure::line::Isolated;
use tenure::memory::{Memory, Native, Ordering};

type Tally = <Native as Memory>::AtomicU64;

/// What one thread does, and what it may disturb.
pub(super) trait Event: Send + Sync + Sized + 'static {
    /// What the first thread has of its own.
    type Actor: Send;
    /// What each of the others has of its own.
    type Other: Send;

    fn prepare() -> Self;
    fn actor(&self) -> Self::Actor;
    fn other(&self) -> Self::Other;
    /// Does the operation, on the first thread.
    fn act(&self, actor: &mut Self::Actor);
    /// Uses something, on another thread.
    fn go_on(&self, other: &mut Self::Other) -> u64;
}

/// An event, and those it is beside.
///
/// An operation of the others is to go on until the first thread has done one more: so it takes as long on all
/// threads, and all but the first are in user space and at work throughout.
pub(super) struct Beside<E: Event> {
    event: Isolated<E>,
    actor: PerThread<E::Actor>,
    others: PerThread<E::Other>,
    acted: Isolated<Tally>,
}

/// What the others do between two uses.
const WORK_NS: u32 = 100;
/// Uses for which another one waits for the first thread: before and after a slice it is alone for a moment. Once it
/// has waited in vain it goes on without, until something happens.
const PATIENCE: u32 = 4_000;

impl<E: Event> Beside<E> {
    fn acted(&self) -> u64 {
        // Relaxed: a tally.
        self.acted.load(Ordering::Relaxed)
    }

    fn act(&self, actor: &mut E::Actor, steps: u64) {
        for _ in 0..steps {
            self.event.act(actor);
            // Relaxed: as above; nobody else writes it.
            self.acted.store(self.acted() + 1, Ordering::Relaxed);
        }
    }

    fn go_on(&self, other: &mut E::Other, steps: u64) {
        let mut patience = PATIENCE;
        let mut seen = self.acted();
        for _ in 0..steps {
            while self.acted() == seen {
                black_box(Native::work(self.event.go_on(other), WORK_NS));
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

impl<E: Event> Beside<E> {
    pub(super) fn variant(name: &'static str) -> Variant {
        Variant::new(name, |threads| Box::new(Self::prepare(threads)))
    }

    fn prepare(threads: usize) -> Self {
        let event = Isolated::new(E::prepare());
        Self {
            actor: PerThread::new(1, |_| event.actor()),
            others: PerThread::new(threads - 1, |_| event.other()),
            event,
            acted: Isolated::new(Tally::new(0)),
        }
    }
}

impl<E: Event> Looped for Beside<E> {
    #[inline(never)]
    fn run(&self, place: Place, steps: u64) -> u64 {
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

    /// How often either side did something.
    struct Counted(Mutex<(u64, u64)>);

    impl Event for Counted {
        type Actor = ();
        type Other = ();
        fn prepare() -> Self {
            Self(Mutex::new((0, 0)))
        }
        fn actor(&self) {}
        fn other(&self) {}
        fn act(&self, _actor: &mut ()) {
            std::thread::sleep(Duration::from_micros(20));
            self.0.lock().unwrap().0 += 1;
        }
        fn go_on(&self, _other: &mut ()) -> u64 {
            self.0.lock().unwrap().1 += 1;
            0
        }
    }

    fn place(thread: usize) -> Place {
        Place { thread, of: 2 }
    }

    #[test]
    fn the_others_go_on_for_as_long_as_the_first_acts() {
        let object = Beside::<Counted>::prepare(2);
        std::thread::scope(|scope| {
            scope.spawn(|| object.run(place(0), 500));
            object.run(place(1), 400);
        });
        let (acted, went_on) = *object.event.0.lock().unwrap();
        assert_eq!(acted, 500);
        assert!(went_on >= 400, "{went_on}");
    }

    #[test]
    fn another_one_that_is_alone_comes_back() {
        let object = Beside::<Counted>::prepare(2);
        object.run(place(1), 1_000);
        let (acted, went_on) = *object.event.0.lock().unwrap();
        assert_eq!((acted, went_on), (0, u64::from(PATIENCE) + 1_000));
    }
}
