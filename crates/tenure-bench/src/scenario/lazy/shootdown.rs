//! Objects that end: each is made, used by a seat, and loses its last handle.

use super::beside::Event;
use super::workers::Value;
use std::hint::black_box;
use tenure::lazy::{Context, Domain, Scheme, Seat};
use tenure::memory::Native;

/// A domain of which some seats are parked, each with another object.
struct Parked<S: Scheme<Native>> {
    domain: Domain<Value<Native>, S>,
    /// What the others use.
    other: Context<Value<Native>, S>,
    _seats: Vec<Seat<Value<Native>, S>>,
}

impl<S: Scheme<Native>> Parked<S> {
    fn new(seats: usize) -> Self {
        let domain = Domain::new_in();
        let other = domain.context(Value::new());
        let parked = |_| {
            let mut seat = domain.seat();
            drop(seat.enter(&other));
            seat
        };
        Self { _seats: (0..seats).map(parked).collect(), other, domain }
    }

    /// A new object, which `seat` has used.
    fn used(&self, seat: &mut Seat<Value<Native>, S>) -> Context<Value<Native>, S> {
        let object = self.domain.context(Value::new());
        black_box(seat.enter(&object).read());
        object
    }

    fn go_on(&self, seat: &mut Seat<Value<Native>, S>) -> u64 {
        seat.enter(&self.other).read()
    }
}

/// One object at a time, while so many seats are parked.
pub(super) struct One<S: Scheme<Native>, const PARKED: usize>(Parked<S>);

impl<S: Scheme<Native>, const PARKED: usize> Event for One<S, PARKED> {
    type Actor = Seat<Value<Native>, S>;
    type Other = Seat<Value<Native>, S>;

    fn prepare() -> Self {
        Self(Parked::new(PARKED))
    }
    fn actor(&self) -> Self::Actor {
        self.0.domain.seat()
    }
    fn other(&self) -> Self::Other {
        self.0.domain.seat()
    }
    fn act(&self, seat: &mut Self::Actor) {
        drop(self.0.used(seat));
    }
    #[inline(always)]
    fn go_on(&self, seat: &mut Self::Other) -> u64 {
        self.0.go_on(seat)
    }
}

/// Objects that go together.
pub(super) const BATCH: usize = 32;

/// As many objects as [`BATCH`] says, each in a seat of its own, which then lose their handles at once.
pub(super) struct Batch<S: Scheme<Native>, const PARKED: usize>(Parked<S>);

/// Seats, and the objects that they had so far.
pub(super) struct Collected<S: Scheme<Native>> {
    seats: Vec<Seat<Value<Native>, S>>,
    objects: Vec<Context<Value<Native>, S>>,
}

impl<S: Scheme<Native>, const PARKED: usize> Event for Batch<S, PARKED> {
    type Actor = Collected<S>;
    type Other = Seat<Value<Native>, S>;

    fn prepare() -> Self {
        Self(Parked::new(PARKED))
    }
    fn actor(&self) -> Self::Actor {
        let seats = (0..BATCH).map(|_| self.0.domain.seat()).collect();
        Collected { seats, objects: Vec::with_capacity(BATCH) }
    }
    fn other(&self) -> Self::Other {
        self.0.domain.seat()
    }
    /// One object; with the last one they go.
    fn act(&self, Collected { seats, objects }: &mut Self::Actor) {
        objects.push(self.0.used(&mut seats[objects.len()]));
        if objects.len() == BATCH {
            self.0.domain.drop_all(objects.drain(..));
        }
    }
    #[inline(always)]
    fn go_on(&self, seat: &mut Self::Other) -> u64 {
        self.0.go_on(seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::lazy::{Shootdown, Statistics};

    fn after<E: Event>(steps: usize, of: impl Fn(&E) -> Statistics) -> Statistics {
        let event = E::prepare();
        let mut actor = event.actor();
        (0..steps).for_each(|_| event.act(&mut actor));
        of(&event)
    }

    #[test]
    fn each_operation_is_one_object_one_barrier_and_one_seat_that_lost_it() {
        let after = after::<One<Shootdown, 64>>(10, |event| event.0.domain.statistics());
        assert_eq!((after.seats, after.ended), (64 + 1, 10));
        assert_eq!((after.barriers, after.revoked, after.donated), (10, 10, 0));
    }

    #[test]
    fn a_batch_is_one_barrier_for_all_of_its_objects() {
        let steps = 2 * BATCH + 1;
        let after = after::<Batch<Shootdown, 64>>(steps, |event| event.0.domain.statistics());
        assert_eq!(
            (after.ended, after.barriers, after.revoked),
            (2 * BATCH as u64, 2, 2 * BATCH as u64)
        );
    }
}
