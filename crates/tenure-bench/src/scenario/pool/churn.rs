//! Connections that come and go: each has a slot to send from and one to receive into.

use super::slots::Slots;
use crate::scenario::{Looped, Member, Place, Placed};
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use tenure::line::Isolated;

/// Connections that each thread keeps open.
pub(super) const WINDOW: usize = 200;

/// A server's connections, those of each thread in the order in which they were opened.
pub(super) struct Churn<S: Slots> {
    slots: S,
    threads: Vec<Isolated<Mutex<Window<S::Taken>>>>,
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
        let threads = (0..threads).map(|at| Isolated::new(Mutex::new(window(at)))).collect();
        Self { slots, threads }
    }
}

impl<S: Slots> Looped for Churn<S> {
    #[inline(never)]
    fn run(&self, place: Place, steps: u64) -> u64 {
        let window = self.threads[place.thread].lock();
        let mut window = window.unwrap_or_else(PoisonError::into_inner);
        for _ in 0..steps {
            window.step(&self.slots);
        }
        0
    }

    fn settle(&self, _steps: u64) {}

    fn members(&self) -> Vec<Member> {
        self.slots.members()
    }
}
