//! Random sequences of operations on a `SlotPool`, against an obviously right model.

use crate::cases::cases;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use tenure::pool::list::Scan;
use tenure::pool::{
    AcquireError, FreeList, Magazines, SlotKey, SlotMut, SlotPool, SlotRef, TaggedStack,
};

const LIMIT: usize = 6;

#[derive(Debug, Clone)]
enum Operation {
    Acquire,
    /// Of the guard of that number, modulo how many there are.
    Write(usize, u32),
    Share(usize),
    Clone(usize),
    IntoMut(usize),
    Drop(usize),
    Discard(usize),
    /// By the key of that number, of all that ever were.
    Get(usize),
    GetForged(u64),
    Trim,
    Close,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{
        Acquire, Clone, Close, Discard, Drop, Get, GetForged, IntoMut, Share, Trim, Write,
    };
    let which = || 0..64_usize;
    // Keys near those that there are: few indices, few generations.
    let near = (0..10_u64, 0..10_u64).prop_map(|(generation, index)| generation << 28 | index);
    let operation = prop_oneof![
        12 => Just(Acquire),
        4 => (which(), any::<u32>()).prop_map(|(guard, value)| Write(guard, value)),
        8 => which().prop_map(Share),
        4 => which().prop_map(Clone),
        4 => which().prop_map(IntoMut),
        12 => which().prop_map(Drop),
        1 => which().prop_map(Discard),
        12 => which().prop_map(Get),
        2 => prop_oneof![near, any::<u64>()].prop_map(GetForged),
        1 => Just(Trim),
    ];
    let closing = prop_oneof![100 => operation.clone(), 1 => Just(Close)];
    prop_oneof![
        3 => prop::collection::vec(operation, 0..200),
        1 => prop::collection::vec(closing, 0..200),
    ]
}

/// What was written to an object, and a token of its existence.
struct Object {
    value: u32,
    _token: Arc<()>,
}

enum Guard<L: FreeList> {
    Mut(SlotMut<Object, L>),
    Ref(SlotRef<Object, L>),
}

impl<L: FreeList> Guard<L> {
    fn key(&self) -> SlotKey {
        match self {
            Self::Mut(guard) => SlotMut::key(guard),
            Self::Ref(guard) => SlotRef::key(guard),
        }
    }

    fn value(&self) -> u32 {
        match self {
            Self::Mut(guard) => guard.value,
            Self::Ref(guard) => guard.value,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Use {
    value: u32,
    /// 0 while there is a `SlotMut`.
    references: u32,
}

#[derive(Default)]
struct Model {
    in_use: HashMap<SlotKey, Use>,
    idle: usize,
    closed: bool,
}

impl Model {
    fn end(&mut self, key: SlotKey) {
        self.in_use.remove(&key).expect("in use");
        self.idle += usize::from(!self.closed);
    }

    fn shared(&mut self, key: SlotKey) -> Option<&mut Use> {
        let shared = self.in_use.get_mut(&key).filter(|found| found.references > 0)?;
        (!self.closed).then_some(shared)
    }
}

struct Run<L: FreeList> {
    pool: SlotPool<Object, L>,
    token: Arc<()>,
    model: Model,
    guards: Vec<Guard<L>>,
    /// All keys ever given: each once.
    keys: Vec<SlotKey>,
}

impl<L: FreeList> Run<L> {
    fn new() -> Self {
        let token = Arc::new(());
        let original = Arc::clone(&token);
        let make = move || Object { value: 0, _token: Arc::clone(&original) };
        let pool =
            SlotPool::builder(make).reset(|object| object.value = 0).limit(LIMIT).list().build();
        Self { pool, token, model: Model::default(), guards: Vec::new(), keys: Vec::new() }
    }

    fn take(&mut self, which: usize) -> Option<Guard<L>> {
        let at = which.checked_rem(self.guards.len())?;
        Some(self.guards.swap_remove(at))
    }

    fn acquire(&mut self) {
        let in_use = self.model.in_use.len();
        match self.pool.acquire() {
            Ok(guard) => {
                assert!(!self.model.closed && in_use < LIMIT);
                assert_eq!(guard.value, 0, "an object is handed out as it was left");
                let key = SlotMut::key(&guard);
                assert!(!self.keys.contains(&key), "a key names two uses");
                self.model.idle = self.model.idle.saturating_sub(1);
                self.model.in_use.insert(key, Use { value: 0, references: 0 });
                self.keys.push(key);
                self.guards.push(Guard::Mut(guard));
            }
            Err(AcquireError::Closed) => assert!(self.model.closed),
            Err(error) => {
                assert_eq!(error, AcquireError::Exhausted { limit: LIMIT });
                assert!(!self.model.closed && in_use == LIMIT);
            }
        }
    }

    fn look_up(&mut self, key: SlotKey) {
        let found = self.pool.get(key);
        let expected = self.model.shared(key);
        assert_eq!(
            found.as_ref().map(|found| found.value),
            expected.as_ref().map(|use_| use_.value)
        );
        if let (Some(found), Some(use_)) = (found, expected) {
            use_.references += 1;
            self.guards.push(Guard::Ref(found));
        }
    }

    /// What becomes of a guard; `None` if it ends.
    fn change(&mut self, guard: Guard<L>, operation: &Operation) -> Option<Guard<L>> {
        let key = guard.key();
        let use_ = self.model.in_use.get_mut(&key).expect("in use");
        match (guard, operation) {
            (Guard::Mut(mut guard), &Operation::Write(_, value)) => {
                (guard.value, use_.value) = (value, value);
                return Some(Guard::Mut(guard));
            }
            (Guard::Mut(guard), Operation::Share(_)) => {
                use_.references = 1;
                return Some(Guard::Ref(SlotMut::share(guard)));
            }
            (Guard::Ref(guard), Operation::Clone(_)) => {
                use_.references += 1;
                self.guards.push(Guard::Ref(guard.clone()));
                return Some(Guard::Ref(guard));
            }
            (Guard::Ref(guard), Operation::IntoMut(_)) => {
                let changed = SlotRef::into_mut(guard);
                assert_eq!(changed.is_ok(), use_.references == 1);
                return Some(changed.map_or_else(Guard::Ref, |guard| {
                    use_.references = 0;
                    Guard::Mut(guard)
                }));
            }
            (Guard::Mut(guard), Operation::Drop(_)) => {
                drop(guard);
                self.model.end(key);
            }
            (Guard::Ref(guard), Operation::Drop(_)) => {
                drop(guard);
                use_.references -= 1;
                if use_.references == 0 {
                    self.model.end(key);
                }
            }
            (Guard::Mut(guard), Operation::Discard(_)) => {
                SlotMut::discard(guard);
                self.model.in_use.remove(&key);
            }
            (guard, _) => return Some(guard),
        }
        None
    }

    fn step(&mut self, operation: &Operation) {
        match operation {
            Operation::Acquire => self.acquire(),
            Operation::Get(which) => {
                if let Some(at) = which.checked_rem(self.keys.len()) {
                    self.look_up(self.keys[at]);
                }
            }
            Operation::GetForged(bits) => self.look_up(SlotKey::from_bits(*bits)),
            Operation::Trim => {
                self.pool.trim();
                self.model.idle = 0;
            }
            Operation::Close => {
                self.pool.close();
                (self.model.idle, self.model.closed) = (0, true);
            }
            Operation::Write(which, _)
            | Operation::Share(which)
            | Operation::Clone(which)
            | Operation::IntoMut(which)
            | Operation::Drop(which)
            | Operation::Discard(which) => {
                if let Some(guard) = self.take(*which) {
                    let left = self.change(guard, operation);
                    self.guards.extend(left);
                }
            }
        }
    }

    fn check(&self) {
        for guard in &self.guards {
            assert_eq!(guard.value(), self.model.in_use[&guard.key()].value);
        }
        let (in_use, idle) = (self.model.in_use.len(), self.model.idle);
        let said = self.pool.statistics();
        assert_eq!((said.in_use, said.idle), (in_use as u64, idle as u64));
        assert_eq!(said.made + said.reused, self.keys.len() as u64);
        assert_eq!(self.pool.len(), in_use + idle);
        // The run's own, and that of the pool's `make`.
        assert_eq!(Arc::strong_count(&self.token), 2 + in_use + idle);
    }
}

fn run<L: FreeList>(operations: &[Operation]) {
    let mut run = Run::<L>::new();
    for operation in operations {
        run.step(operation);
        run.check();
    }
    let Run { pool, token, guards, model, .. } = run;
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 1 + model.in_use.len() + usize::from(!guards.is_empty()));
    drop(guards);
    assert_eq!(Arc::strong_count(&token), 1, "objects or the block leak");
}

proptest! {
    #![proptest_config(cases(256, 4))]

    #[test]
    fn a_pool_over_a_scan_is_what_the_model_is(operations in operations()) {
        run::<Scan>(&operations);
    }

    #[test]
    fn a_pool_over_a_tagged_stack_is_what_the_model_is(operations in operations()) {
        run::<TaggedStack>(&operations);
    }

    #[test]
    fn a_pool_over_magazines_is_what_the_model_is(operations in operations()) {
        run::<Magazines>(&operations);
    }
}
