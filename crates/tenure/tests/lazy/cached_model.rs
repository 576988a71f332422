//! Random sequences of operations on a `Cached`, its readers and guards, against an obviously right model.

use crate::cases::cases;
use crate::support::Token;
use proptest::prelude::*;
use tenure::lazy::{Cached, CachedGuard, Context, Guard, Reader};

#[derive(Debug, Clone)]
enum Operation {
    Store,
    Replace,
    Update,
    Context,
    Upgrade(usize),
    DropContext(usize),
    /// Of that number, modulo how many there are; guards likewise.
    Reader,
    DropReader(usize),
    Read(usize),
    Leave(usize),
    ReadHere,
    LeaveHere(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{
        Context, DropContext, DropReader, Leave, LeaveHere, Read, ReadHere, Reader, Replace, Store,
        Update, Upgrade,
    };
    let which = || 0..64_usize;
    let operation = prop_oneof![
        8 => Just(Store),
        4 => Just(Replace),
        4 => Just(Update),
        4 => Just(Context),
        4 => which().prop_map(Upgrade),
        10 => which().prop_map(DropContext),
        4 => Just(Reader),
        3 => which().prop_map(DropReader),
        16 => which().prop_map(Read),
        8 => which().prop_map(Leave),
        12 => Just(ReadHere),
        10 => which().prop_map(LeaveHere),
    ];
    prop::collection::vec(operation, 0..150)
}

/// `number` counts values in the order in which they were made.
struct Value {
    number: usize,
    token: Token,
}

struct Eye {
    guard: Option<Guard<'static, Value>>,
    /// From a box. Borrowed by the guard.
    reader: *mut Reader<Value>,
}

impl Eye {
    fn new(cached: &Cached<Value>) -> Self {
        Self { guard: None, reader: Box::into_raw(Box::new(cached.reader())) }
    }

    fn read(&mut self) {
        self.guard = None;
        // SAFETY: lives until the drop, which comes after that of the guard; no other guard is out.
        self.guard = Some(unsafe { &mut *self.reader }.read());
    }
}

impl Drop for Eye {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: from a box, and no guard borrows it any more.
        drop(unsafe { Box::from_raw(self.reader) });
    }
}

/// A `Cached` and what came from it, each with the value that the model expects.
struct Run<'c> {
    cached: &'c Cached<Value>,
    tokens: Vec<Token>,
    current: usize,
    contexts: Vec<(Context<Value>, usize)>,
    eyes: Vec<(Eye, Option<usize>)>,
    /// Guards of this thread; whether each has the thread's own place.
    here: Vec<(CachedGuard<'c, Value>, usize, bool)>,
    has_read_here: bool,
}

impl<'c> Run<'c> {
    fn make(&mut self) -> Value {
        let token = Token::new();
        self.tokens.push(token.clone());
        Value { number: self.tokens.len() - 1, token }
    }

    fn is_current_or_held(&self, number: usize) -> bool {
        self.current == number || self.contexts.iter().any(|(_, held)| *held == number)
    }

    fn read_here(&mut self) {
        let own_is_free = self.here.iter().all(|(.., own)| !own);
        self.has_read_here = true;
        self.here.push((self.cached.read(), self.current, own_is_free));
    }

    /// A handle from a guard, by either kind.
    fn upgrade(&mut self, which: usize) {
        let upgraded = if which % 2 == 0 {
            let at = (which / 2).checked_rem(self.here.len());
            at.map(|at| (CachedGuard::upgrade(&self.here[at].0), self.here[at].1))
        } else {
            let at = (which / 2).checked_rem(self.eyes.len());
            at.and_then(|at| {
                let (eye, shown) = &self.eyes[at];
                Some((Guard::upgrade(eye.guard.as_ref()?), shown.expect("a guard is out")))
            })
        };
        if let Some((context, number)) = upgraded {
            assert_eq!(context.is_some(), self.is_current_or_held(number), "of {number}");
            self.contexts.extend(context.map(|context| (context, number)));
        }
    }

    fn step(&mut self, operation: &Operation) {
        match *operation {
            Operation::Store => {
                let new = self.make();
                self.current = new.number;
                self.cached.store(new);
            }
            Operation::Replace => {
                let (new, old) = (self.make(), self.current);
                self.current = new.number;
                self.contexts.push((self.cached.replace(new), old));
            }
            Operation::Update => {
                let (new, old) = (self.make(), self.current);
                self.current = new.number;
                let mut new = Some(new);
                self.cached.update(|current| {
                    assert_eq!(current.number, old);
                    new.take().expect("no other thread writes")
                });
            }
            Operation::Context => {
                // Reads by this thread.
                self.has_read_here = true;
                self.contexts.push((self.cached.context(), self.current));
            }
            Operation::Upgrade(which) => self.upgrade(which),
            Operation::DropContext(which) => {
                if let Some(at) = which.checked_rem(self.contexts.len()) {
                    self.contexts.swap_remove(at);
                }
            }
            Operation::Reader => self.eyes.push((Eye::new(self.cached), None)),
            Operation::DropReader(which) => {
                if let Some(at) = which.checked_rem(self.eyes.len()) {
                    self.eyes.swap_remove(at);
                }
            }
            Operation::Read(which) => {
                if let Some(at) = which.checked_rem(self.eyes.len()) {
                    self.eyes[at].0.read();
                    self.eyes[at].1 = Some(self.current);
                }
            }
            Operation::Leave(which) => {
                if let Some(at) = which.checked_rem(self.eyes.len()) {
                    self.eyes[at].0.guard = None;
                    self.eyes[at].1 = None;
                }
            }
            Operation::ReadHere => self.read_here(),
            Operation::LeaveHere(which) => {
                if let Some(at) = which.checked_rem(self.here.len()) {
                    drop(self.here.swap_remove(at));
                }
            }
        }
    }

    fn check(&self) {
        for (number, token) in self.tokens.iter().enumerate() {
            let is_read = self.here.iter().any(|(_, shown, _)| *shown == number)
                || self.eyes.iter().any(|(_, shown)| *shown == Some(number));
            let is_there = is_read || self.is_current_or_held(number);
            assert_eq!(token.objects(), usize::from(is_there), "value {number}");
        }
        for (guard, number, _) in &self.here {
            guard.token.check();
            assert_eq!(guard.number, *number);
        }
        for (eye, number) in &self.eyes {
            assert_eq!(eye.guard.as_ref().map(|guard| guard.number), *number);
        }
        for (context, number) in &self.contexts {
            assert_eq!(context.number, *number);
        }
        let nested = self.here.iter().filter(|(.., own)| !own).count();
        let locals = self.eyes.len() + nested + usize::from(self.has_read_here);
        assert_eq!(self.cached.statistics().local_handles, locals);
    }
}

/// What outlives the handle.
type Left = (Vec<Token>, Vec<(Context<Value>, usize)>, Vec<(Eye, Option<usize>)>);

fn run_with(cached: &Cached<Value>, first: Token, operations: &[Operation]) -> Left {
    let mut run = Run {
        cached,
        tokens: vec![first],
        current: 0,
        contexts: Vec::new(),
        eyes: Vec::new(),
        here: Vec::new(),
        has_read_here: false,
    };
    for operation in operations {
        run.step(operation);
        run.check();
    }
    (run.tokens, run.contexts, run.eyes)
}

fn run(operations: &[Operation]) {
    let first = Token::new();
    let cached = Cached::new(Value { number: 0, token: first.clone() });
    let (tokens, contexts, eyes) = run_with(&cached, first, operations);
    drop(cached);
    drop(contexts);
    drop(eyes);
    assert!(tokens.iter().all(|token| token.objects() == 0), "values leak");
}

proptest! {
    #![proptest_config(cases(256, 4))]

    #[test]
    fn cached_is_what_the_model_is(operations in operations()) {
        run(&operations);
    }
}
