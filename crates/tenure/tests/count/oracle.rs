//! Random operations on each count, against an obviously right model of it.

use crate::cases::cases;
use crate::faults::recorded;
use proptest::prelude::*;
use std::num::NonZeroU16;
use tenure::count::{
    DEAD, Get, IncNotZero, NOREF, Put, RcuRef, Readable, RefCount, SATURATED, TicketRef,
};
use tenure::fault::FaultKind::{self, ImbalancedPut, Overflow};

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Live(u64),
    /// No reference, and the verdict is open. For `RcuRef` alone: a `TicketRef` in this state has a candidate on
    /// another thread, which has a say in what follows; see `revival.rs`.
    Pending,
    Saturated,
    Dead,
}

#[derive(Debug)]
struct Model {
    state: State,
    most: u64,
}

impl Model {
    fn get(&mut self, n: u64) -> (Get, Option<FaultKind>) {
        let held = match self.state {
            State::Live(held) => held,
            State::Pending => 0,
            State::Saturated => return (Get::Acquired, None),
            State::Dead => return (Get::Dead, None),
        };
        if held + n > self.most {
            self.state = State::Saturated;
            (Get::Acquired, Some(Overflow))
        } else {
            self.state = State::Live(held + n);
            (Get::Acquired, None)
        }
    }

    fn put(&mut self, n: u64) -> (Put, Option<FaultKind>) {
        match self.state {
            State::Saturated => (Put::StillHeld, None),
            State::Live(held) if held > n => {
                self.state = State::Live(held - n);
                (Put::StillHeld, None)
            }
            State::Live(held) if held == n => {
                self.state = State::Dead;
                (Put::Last, None)
            }
            State::Live(_) | State::Pending | State::Dead => {
                self.state = State::Dead;
                (Put::StillHeld, Some(ImbalancedPut))
            }
        }
    }

    fn read(&self) -> Option<u64> {
        match self.state {
            State::Live(held) => Some(held),
            State::Pending | State::Dead => Some(0),
            State::Saturated => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Get,
    GetAcquire,
    GetMany(NonZeroU16),
    Put,
    PutMany(NonZeroU16),
    PutLast,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Get(Get),
    Put(Put),
}

fn apply_to_model(model: &mut Model, op: Op) -> (Outcome, Option<FaultKind>) {
    let got = |(outcome, fault)| (Outcome::Get(outcome), fault);
    let did_put = |(outcome, fault)| (Outcome::Put(outcome), fault);
    match op {
        Op::Get | Op::GetAcquire => got(model.get(1)),
        Op::GetMany(n) => got(model.get(n.get().into())),
        Op::Put | Op::PutLast => did_put(model.put(1)),
        Op::PutMany(n) => did_put(model.put(n.get().into())),
    }
}

fn apply_to_count<C: Modelled>(count: &C, op: Op) -> (Outcome, Option<FaultKind>) {
    let witness = C::witness();
    let (outcome, faults) = recorded(|| match op {
        Op::Get => Outcome::Get(count.get()),
        Op::GetAcquire => Outcome::Get(count.get_acquire()),
        Op::GetMany(n) => Outcome::Get(count.get_many(n)),
        Op::Put => Outcome::Put(count.put(witness)),
        Op::PutMany(n) => Outcome::Put(count.put_many(n, witness)),
        Op::PutLast => Outcome::Put(count.put_last(witness)),
    });
    assert!(faults.len() <= 1, "{faults:?}");
    (outcome, faults.first().map(|fault| fault.kind))
}

trait Modelled: RefCount {
    const MOST: u64;
    /// `offset` away from the middle of the zone, where the state has one.
    fn in_state(state: State, offset: i32) -> Self;
    fn witness() -> Self::Witness<'static>;
}

impl Modelled for IncNotZero {
    const MOST: u64 = (1 << 31) - 1;
    fn in_state(state: State, offset: i32) -> Self {
        Self::from_raw(match state {
            State::Live(held) => u32::try_from(held).unwrap(),
            State::Pending | State::Dead => 0,
            State::Saturated => SATURATED.wrapping_add_signed(offset),
        })
    }
    fn witness() {}
}

/// The word of `RcuRef`, and the upper half of that of `TicketRef`.
fn zoned(state: State, offset: i32) -> u32 {
    match state {
        State::Live(held) => u32::try_from(held - 1).unwrap(),
        State::Pending => NOREF,
        State::Saturated => SATURATED.wrapping_add_signed(offset),
        State::Dead => DEAD.wrapping_add_signed(offset),
    }
}

impl Modelled for RcuRef {
    const MOST: u64 = 1 << 31;
    fn in_state(state: State, offset: i32) -> Self {
        Self::from_raw(zoned(state, offset))
    }
    fn witness() -> Readable<'static> {
        // SAFETY: every count of this file outlives its uses.
        unsafe { Readable::assume() }
    }
}

impl Modelled for TicketRef {
    const MOST: u64 = 1 << 31;
    fn in_state(state: State, offset: i32) -> Self {
        Self::from_raw(u64::from(zoned(state, offset)) << 32 | 1 << 31)
    }
    fn witness() {}
}

fn does_as_the_model_does<C: Modelled>(
    state: State,
    offset: i32,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let (count, mut model) = (C::in_state(state, offset), Model { state, most: C::MOST });
    for (step, &op) in ops.iter().enumerate() {
        let before = model.state;
        let expected = apply_to_model(&mut model, op);
        let seen = apply_to_count(&count, op);
        prop_assert_eq!(seen, expected, "step {}: {:?} on {:?}", step, op, before);
        prop_assert_eq!(count.is_dead(), model.state == State::Dead, "after {:?}", op);
        match model.read() {
            Some(held) => prop_assert_eq!(u64::from(count.read()), held, "after {:?}", op),
            None => prop_assert!(u64::from(count.read()) > C::MOST, "saturated after {:?}", op),
        }
    }
    Ok(())
}

fn many() -> impl Strategy<Value = NonZeroU16> {
    prop_oneof![(1..6_u16), (1..=u16::MAX)].prop_map(|n| NonZeroU16::new(n).unwrap())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::Get),
        1 => Just(Op::GetAcquire),
        2 => many().prop_map(Op::GetMany),
        4 => Just(Op::Put),
        2 => many().prop_map(Op::PutMany),
        2 => Just(Op::PutLast),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..80)
}

/// Near its borders more often than not.
fn state(most: u64) -> impl Strategy<Value = State> {
    prop_oneof![
        4 => (1..8_u64).prop_map(State::Live),
        2 => (most - 200_000..=most).prop_map(State::Live),
        2 => (most - 4..=most).prop_map(State::Live),
        1 => (1..=most).prop_map(State::Live),
        1 => Just(State::Saturated),
        1 => Just(State::Dead),
    ]
}

/// Not so far from the middle of a zone that one operation leaves it: see `zones.rs`.
fn offset() -> impl Strategy<Value = i32> {
    prop_oneof![Just(0), -70_000..70_000_i32, -(1 << 28)..(1 << 28)]
}

proptest! {
    #![proptest_config(cases(1_000, 1_000))]

    #[test]
    fn inc_not_zero_does_as_its_model(state in state(IncNotZero::MOST), offset in offset(), ops in ops()) {
        does_as_the_model_does::<IncNotZero>(state, offset, &ops)?;
    }

    #[test]
    fn rcuref_does_as_its_model(
        state in prop_oneof![8 => state(RcuRef::MOST), 1 => Just(State::Pending)],
        offset in offset(),
        ops in ops(),
    ) {
        does_as_the_model_does::<RcuRef>(state, offset, &ops)?;
    }

    #[test]
    fn ticketref_does_as_its_model(state in state(TicketRef::MOST), offset in offset(), ops in ops()) {
        does_as_the_model_does::<TicketRef>(state, offset, &ops)?;
    }

    /// No model in between: what one says, all say, from birth to long after death.
    #[test]
    fn all_three_counts_agree_from_birth_to_death_and_beyond(held in 1..300_000_u64, ops in ops()) {
        let state = State::Live(held);
        let baseline = IncNotZero::in_state(state, 0);
        let (rcuref, ticket) = (RcuRef::in_state(state, 0), TicketRef::in_state(state, 0));
        for op in ops {
            let expected = apply_to_count(&baseline, op);
            prop_assert_eq!(&apply_to_count(&rcuref, op), &expected, "{:?}", op);
            prop_assert_eq!(&apply_to_count(&ticket, op), &expected, "{:?}", op);
            prop_assert_eq!(rcuref.read(), baseline.read());
            prop_assert_eq!(ticket.read(), baseline.read());
            prop_assert_eq!(rcuref.is_dead(), baseline.is_dead());
            prop_assert_eq!(ticket.is_dead(), baseline.is_dead());
        }
    }

    #[test]
    fn exactly_the_last_put_is_told(takes in prop::collection::vec(many(), 0..20)) {
        fn check<C: Modelled>(takes: &[NonZeroU16]) -> Result<(), TestCaseError> {
            let count = C::new_in();
            for &n in takes {
                prop_assert_eq!(count.get_many(n), Get::Acquired);
            }
            let (told, faults) = recorded(|| {
                takes.iter().map(|&n| count.put_many(n, C::witness())).collect::<Vec<_>>()
            });
            prop_assert!(told.iter().all(|put| *put == Put::StillHeld));
            prop_assert_eq!(count.read(), 1);
            prop_assert_eq!(count.put(C::witness()), Put::Last);
            prop_assert!(count.is_dead() && faults.is_empty());
            Ok(())
        }
        check::<IncNotZero>(&takes)?;
        check::<RcuRef>(&takes)?;
        check::<TicketRef>(&takes)?;
    }
}
