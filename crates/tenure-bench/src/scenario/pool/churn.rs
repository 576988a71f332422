//! Connections that come and go: each has a slot to send from and one to receive into.

use super::slots::Slots;
use crate::scenario::Member;
use crate::scenario::workers::Work;
use std::hint::black_box;

/// Connections that each thread keeps open.
const WINDOW: usize = 200;

/// A server's pool.
pub(super) struct Churn<S: Slots>(S);

/// A thread's connections, in the order in which they were opened.
pub(super) struct Window<T> {
    connections: Vec<Connection<T>>,
    /// The one that was opened first.
    oldest: usize,
}

/// To send from, and to receive into.
type Connection<T> = Option<[T; 2]>;

fn open<S: Slots>(slots: &S) -> Connection<S::Taken> {
    Some([slots.acquire(), slots.acquire()])
}

impl<S: Slots> Work for Churn<S> {
    type Own = Window<S::Taken>;

    fn prepare(threads: usize) -> Self {
        // A connection to spare for each thread, so that closing first is no condition.
        let free = threads * 2 * (WINDOW + 1);
        Self(S::prepared(0, free as u32))
    }
    fn own(&self, _thread: usize) -> Self::Own {
        Window { connections: (0..WINDOW).map(|_| open(&self.0)).collect(), oldest: 0 }
    }
    /// Closes the oldest connection, and then opens another.
    #[inline(always)]
    fn step(&self, window: &mut Self::Own) {
        let connection = &mut window.connections[window.oldest];
        if let Some([send, receive]) = connection.take() {
            self.0.release(send);
            self.0.release(receive);
        }
        *connection = black_box(open(&self.0));
        window.oldest = (window.oldest + 1) % WINDOW;
    }
    fn members(&self) -> Vec<Member> {
        self.0.members()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{others::LockedVec, slots::Listed};
    use super::*;
    use tenure::pool::{Magazines, TaggedStack};

    fn connections_stay<S: Slots>(kept: u32) {
        let churn = Churn::<S>::prepare(2);
        let made = || churn.0.made().expect("the pool tells");
        let mut windows = [0, 1].map(|thread| churn.own(thread));
        let prepared = made();
        std::thread::scope(|scope| {
            for window in &mut windows {
                let churn = &churn;
                scope.spawn(move || (0..10 * WINDOW + 7).for_each(|_| churn.step(window)));
            }
        });
        for window in windows {
            assert_eq!((window.connections.len(), window.oldest), (WINDOW, 7));
            assert!(window.connections.iter().all(Option::is_some));
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
