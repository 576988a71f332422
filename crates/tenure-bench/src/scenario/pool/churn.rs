use super::slots::Slots;
use crate::scenario::Variant;
use std::hint::black_box;

/// Open ones, of each thread.
const WINDOW: usize = 200;

struct Window<T> {
    connections: Vec<Connection<T>>,
    oldest: usize,
}

/// The two slots of a connection: one to send from, one to receive into.
type Connection<T> = Option<[T; 2]>;

fn open<S: Slots>(slots: &S) -> Connection<S::Taken> {
    Some([slots.acquire(), slots.acquire()])
}

impl<T> Window<T> {
    fn new<S: Slots<Taken = T>>(slots: &S) -> Self {
        Self { connections: (0..WINDOW).map(|_| open(slots)).collect(), oldest: 0 }
    }

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

/// One spare connection for each thread, so that closing first is no condition.
fn prepared<S: Slots>(threads: usize) -> S {
    let free = threads * 2 * (WINDOW + 1);
    S::prepared(0, free as u32)
}

pub(super) fn churn<S: Slots>(name: &'static str) -> Variant {
    let step = |slots: &S, window: &mut Window<S::Taken>| window.step(slots);
    Variant::workers(name, prepared::<S>, |slots, _| Window::new(slots), step, S::members)
}

#[cfg(test)]
mod tests {
    use super::super::{others::LockedVec, slots::ListedSlots};
    use super::*;
    use tenure::pool::list::{Magazines, TaggedStack};

    fn connections_stay<S: Slots>(kept: u32) {
        let slots = &prepared::<S>(2);
        let made = || slots.made().expect("the pool counts them");
        let mut windows = [(); 2].map(|()| Window::new(slots));
        let prepared = made();
        std::thread::scope(|scope| {
            for window in &mut windows {
                scope.spawn(move || (0..10 * WINDOW + 7).for_each(|_| window.step(slots)));
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
        connections_stay::<ListedSlots<TaggedStack>>(0);
        connections_stay::<ListedSlots<Magazines>>(2 * 64);
    }
}
