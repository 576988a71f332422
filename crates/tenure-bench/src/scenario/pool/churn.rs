//! Connections that come and go: each has a slot to send from and one to receive into.

use super::slots::Slots;
use crate::scenario::host::PerThread;
use crate::scenario::{Looped, Member, Place, Placed};
use std::hint::black_box;

/// Connections that each thread keeps open.
pub(super) const WINDOW: usize = 200;

/// A server's connections, those of each thread in the order in which they were opened.
pub(super) struct Churn<S: Slots> {
    slots: S,
    threads: PerThread<Window<S::Taken>>,
}

struct Window<T> {
    connections: Vec<Connection<T>>,
    /// The one that was opened first.
    oldest: usize,
}

/// To send from, and to receive into.
type Connection<T> = Option<[T; 2]>;

fn open<S: Slots>(slots: &S) -> Connection<S::Taken> {
    Some([slots.acquire(), slots.acquire()])
}

impl<T> Window<T> {
    /// Closes the oldest connection, and then opens another.
    #[inline(always)]
    fn step<S: Slots<Taken = T>>(&mut self, slots: &S) {
        let connection = &mut self.connections[self.oldest];
        if let Some([send, receive]) = connection.take() {
            slots.release(send);
            slots.release(receive);
        }
        *connection = black_box(open(slots));
        self.oldest = (self.oldest + 1) % WINDOW;
    }
}

impl<S: Slots> Placed for Churn<S> {
    fn prepare(threads: usize) -> Self {
        // A connection to spare for each thread, so that closing first is no condition.
        let free = threads * 2 * (WINDOW + 1);
        let slots = S::prepared(0, free as u32);
        let window =
            |_| Window { connections: (0..WINDOW).map(|_| open(&slots)).collect(), oldest: 0 };
        let threads = PerThread::new(threads, window);
        Self { slots, threads }
    }
}

impl<S: Slots> Looped for Churn<S> {
    #[inline(never)]
    fn run(&self, place: Place, steps: u64) -> u64 {
        self.threads.with(place.thread, |window| {
            for _ in 0..steps {
                window.step(&self.slots);
            }
        });
        0
    }

    fn settle(&self, _steps: u64) {}

    fn members(&self) -> Vec<Member> {
        self.slots.members()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{others::LockedVec, slots::Listed};
    use super::*;
    use tenure::pool::{Magazines, TaggedStack};

    fn connections_stay<S: Slots>(kept: u32) {
        let churn = Churn::<S>::prepare(2);
        let made = || churn.slots.made().expect("the pool tells");
        let prepared = made();
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let churn = &churn;
                scope.spawn(move || churn.run(Place { thread, of: 2 }, 10 * WINDOW as u64 + 7));
            }
        });
        for thread in 0..2 {
            churn.threads.with(thread, |window| {
                assert_eq!((window.connections.len(), window.oldest), (WINDOW, 7));
                assert!(window.connections.iter().all(Option::is_some));
            });
        }
        assert!(made() <= prepared + kept, "{prepared} and then {}", made());
    }

    #[test]
    fn every_thread_keeps_its_connections_and_no_slot_is_lost() {
        connections_stay::<LockedVec>(0);
        connections_stay::<Listed<TaggedStack>>(0);
        connections_stay::<Listed<Magazines>>(2 * 64);
    }
}
