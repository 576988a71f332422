//! One thread acquires slots and another releases them: a reader and a writer, or a connection that moves.
//!
//! Threads come in pairs; an odd one out takes both sides in turn. The channel is the same for all pools; `limit` is
//! that channel with a number in it, and no pool.

use super::ring::{CAPACITY, Receiver, RingChannel, Sender};
use super::slots::Slots;
use crate::scenario::{Host, Looped, NamedMember, ThreadPlace, Variant};
use std::hint::black_box;
use tenure::cache_line::CachePadded;

pub(super) struct OneWay<S: Slots, M: Host> {
    slots: S,
    rings: Vec<CachePadded<RingChannel<S::Taken, M>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairRole {
    Acquires,
    Releases,
    /// Both, in turn: without a partner.
    Both,
}

impl PairRole {
    fn of(place: ThreadPlace) -> Self {
        match place.thread {
            odd if odd % 2 == 1 => Self::Releases,
            last if last + 1 == place.of => Self::Both,
            _ => Self::Acquires,
        }
    }
}

/// How long a side waits for the other, which may be absent before and after a timed slice. After a wait in vain it
/// goes on without, until something comes through.
struct SpinPatience {
    left: u32,
}

/// Looks before the thread yields.
const SPINS: u32 = 128;
/// Below a millisecond if no other thread wants to run; otherwise so many turns of the others.
const LOOKS: u32 = SPINS + 2_048;

impl SpinPatience {
    const fn new() -> Self {
        Self { left: LOOKS }
    }

    #[inline(always)]
    fn wait_for<R, M: Host>(&mut self, mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
        loop {
            if let Some(result) = attempt() {
                self.left = LOOKS;
                return Some(result);
            }
            self.left = self.left.checked_sub(1)?;
            if self.left >= LOOKS - SPINS {
                M::spin_hint();
            } else {
                M::yield_now();
            }
        }
    }
}

impl<S: Slots, M: Host> OneWay<S, M> {
    #[inline(always)]
    fn acquire(&self, sender: &mut Sender<'_, S::Taken, M>, patience: &mut SpinPatience) {
        let mut unsent = Some(black_box(self.slots.acquire()));
        let sent = patience.wait_for::<(), M>(|| {
            let result = sender.send(unsent.take()?);
            result.map_err(|back| unsent = Some(back)).ok()
        });
        if sent.is_none()
            && let Some(back) = unsent
        {
            self.slots.release(back);
        }
    }

    #[inline(always)]
    fn release(&self, receiver: &mut Receiver<'_, S::Taken, M>, patience: &mut SpinPatience) {
        if let Some(slot) = patience.wait_for::<_, M>(|| receiver.receive()) {
            self.slots.release(black_box(slot));
        }
    }
}

impl<S: Slots, M: Host> OneWay<S, M> {
    pub(super) fn variant(name: &'static str) -> Variant {
        Variant::new(name, |threads| Box::new(Self::prepare(threads)))
    }

    fn prepare(threads: usize) -> Self {
        let pairs = threads.div_ceil(2);
        // A full ring, and what each side has in hand.
        let free = pairs * (CAPACITY + 2);
        Self {
            slots: S::prepared(0, free as u32),
            rings: (0..pairs).map(|_| CachePadded::new(RingChannel::new())).collect(),
        }
    }
}

impl<S: Slots, M: Host> Looped for OneWay<S, M> {
    #[inline(never)]
    fn run(&self, place: ThreadPlace, steps: u64) -> u64 {
        let ring = &self.rings[place.thread / 2];
        let mut patience = SpinPatience::new();
        match PairRole::of(place) {
            PairRole::Acquires => {
                let mut sender = ring.sender();
                for _ in 0..steps {
                    self.acquire(&mut sender, &mut patience);
                }
            }
            PairRole::Releases => {
                let mut receiver = ring.receiver();
                for _ in 0..steps {
                    self.release(&mut receiver, &mut patience);
                }
            }
            PairRole::Both => {
                let (mut sender, mut receiver) = (ring.sender(), ring.receiver());
                for _ in 0..steps {
                    let slot = black_box(self.slots.acquire());
                    let Err(unsent) = sender.send(slot) else { continue };
                    // As many again: each step counts one slot's whole way.
                    while let Some(slot) = receiver.receive() {
                        self.slots.release(black_box(slot));
                    }
                    sender.send(unsent).unwrap_or_else(|_| unreachable!("the ring is empty"));
                }
            }
        }
        0
    }

    fn members(&self) -> Vec<NamedMember> {
        self.slots.members()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{public::Buffers, public::PublicObjects, slots::ListedSlots};
    use super::*;
    use tenure::memory::Native;
    use tenure::pool::list::{Magazines, TaggedStack};

    type Object<S> = OneWay<S, Native>;

    /// Two threads' magazines and two crates on their way.
    const KEPT: u32 = 2 * 64 + 2 * 32;

    fn made<S: Slots>(object: &Object<S>) -> u32 {
        object.slots.made().expect("the pool counts them")
    }

    /// Slots made before the threads run, and after.
    fn run<S: Slots>(of: usize, steps: u64) -> [u32; 2] {
        let object = Object::<S>::prepare(of);
        let prepared = made(&object);
        std::thread::scope(|scope| {
            for thread in 0..of {
                let object = &object;
                scope.spawn(move || object.run(ThreadPlace { thread, of }, steps));
            }
        });
        [prepared, made(&object)]
    }

    #[test]
    fn slots_that_go_one_way_are_not_made_for_ever() {
        for run in [
            run::<ListedSlots<TaggedStack>>,
            run::<ListedSlots<Magazines>>,
            run::<PublicObjects>,
            run::<Buffers>,
        ] {
            let [prepared, made] = run(2, 100_000);
            assert!(made <= prepared + KEPT, "{prepared} and then {made}");
        }
    }

    #[test]
    fn a_side_that_is_alone_comes_back_and_keeps_no_slot() {
        let object = Object::<ListedSlots<Magazines>>::prepare(2);
        let prepared = made(&object);
        for thread in [0, 1, 1, 0, 0] {
            object.run(ThreadPlace { thread, of: 2 }, 10_000);
        }
        assert!(made(&object) <= prepared + KEPT);
    }

    #[test]
    fn threads_come_in_pairs_and_an_odd_one_does_both() {
        let roles =
            |of| (0..of).map(|thread| PairRole::of(ThreadPlace { thread, of })).collect::<Vec<_>>();
        assert_eq!(roles(1), [PairRole::Both]);
        assert_eq!(roles(2), [PairRole::Acquires, PairRole::Releases]);
        assert_eq!(roles(3), [PairRole::Acquires, PairRole::Releases, PairRole::Both]);
    }

    #[test]
    fn an_odd_number_of_threads_runs() {
        let [prepared, made] = run::<ListedSlots<TaggedStack>>(3, 20_000);
        assert_eq!(made, prepared, "there is a slot for every place on the way");
    }
}
