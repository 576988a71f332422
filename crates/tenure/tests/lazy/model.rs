//! Random operations on local handles and handles, against an obviously right model of each scheme.

use crate::cases::cases;
use crate::support::{Kind, Token, Worker, figures};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tenure::lazy::{Context, Counted, Domain, Mask, Shootdown, Verified};

#[derive(Debug, Clone)]
enum Operation {
    Make,
    /// Of that number, modulo how many there are; local handles likewise.
    Clone(usize),
    Drop(usize),
    /// So many, from that one.
    DropMany(usize, usize),
    Register,
    Unregister(usize),
    Enter(usize, usize),
    /// The handle goes while the guard is out.
    EnterAndDrop(usize, usize),
    Lazy(usize),
    Leave(usize),
    Forget(usize),
    Clear(usize),
    Upgrade(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{
        Clear, Clone, Drop, DropMany, Enter, EnterAndDrop, Forget, Lazy, Leave, Make, Register,
        Unregister, Upgrade,
    };
    let which = || 0..64_usize;
    let operation = prop_oneof![
        8 => Just(Make),
        4 => which().prop_map(Clone),
        12 => which().prop_map(Drop),
        2 => (which(), 0..6_usize).prop_map(|(first, n)| DropMany(first, n)),
        3 => Just(Register),
        2 => which().prop_map(Unregister),
        16 => (which(), which()).prop_map(|(local, handle)| Enter(local, handle)),
        6 => (which(), which()).prop_map(|(local, handle)| EnterAndDrop(local, handle)),
        12 => which().prop_map(Lazy),
        12 => which().prop_map(Leave),
        4 => which().prop_map(Forget),
        3 => which().prop_map(Clear),
        4 => which().prop_map(Upgrade),
    ];
    prop::collection::vec(operation, 0..200)
}

/// In the order in which they were made.
type Id = usize;

#[derive(Debug, Clone, Default)]
struct Local {
    has: Option<Id>,
    /// A guard is out, or was forgotten.
    active: bool,
    guarded: bool,
    /// Shootdown: what it uses has ended.
    owns: bool,
}

/// What ends when, and who has it still.
#[derive(Debug, Default)]
struct Model {
    /// Shootdown's rules; otherwise local handles keep what they have.
    takes: bool,
    workers: Vec<Local>,
    handles: Vec<Id>,
    made: usize,
    ended: BTreeSet<Id>,
    barriers: u64,
    revoked: u64,
    donated: u64,
}

impl Model {
    fn is_alive(&self, id: Id) -> bool {
        self.handles.contains(&id)
            || self.workers.iter().any(|local| local.has == Some(id) && (!self.takes || local.owns))
    }

    fn handles_went(&mut self, gone: &[Id]) {
        let ending: BTreeSet<Id> =
            gone.iter().copied().filter(|id| !self.handles.contains(id)).collect();
        if self.takes {
            let mut barrier = false;
            for local in &mut self.workers {
                if local.has.is_some_and(|id| ending.contains(&id)) {
                    barrier = true;
                    if local.active {
                        (local.owns, self.donated) = (true, self.donated + 1);
                    } else {
                        (local.has, self.revoked) = (None, self.revoked + 1);
                    }
                }
            }
            self.barriers += u64::from(barrier);
            self.ended.extend(ending);
        } else {
            self.end_what_is_lost();
        }
    }

    /// Where local handles keep objects: those that are neither held nor kept end.
    fn end_what_is_lost(&mut self) {
        if !self.takes {
            let dead = (0..self.made).filter(|&id| !self.is_alive(id));
            self.ended = dead.collect();
        }
    }

    /// The guard goes, or what it forgot is given back.
    fn leave(&mut self, at: usize) {
        let local = &mut self.workers[at];
        (local.active, local.guarded) = (false, false);
        if local.owns {
            (local.owns, local.has) = (false, None);
        }
    }

    fn enter(&mut self, at: usize, id: Id) {
        if self.workers[at].has != Some(id) || self.workers[at].owns {
            self.leave(at);
        }
        self.workers[at] = Local { has: Some(id), active: true, guarded: true, owns: false };
        self.end_what_is_lost();
    }

    fn lazy(&mut self, at: usize) -> bool {
        if self.workers[at].owns {
            self.leave(at);
        }
        let local = &mut self.workers[at];
        let found = local.has.is_some();
        (local.active, local.guarded) = (found, found);
        found
    }

    fn clear(&mut self, at: usize) {
        self.leave(at);
        self.workers[at].has = None;
        self.end_what_is_lost();
    }
}

struct Object {
    id: Id,
    token: Token,
}

struct Run<S: Kind> {
    domain: Domain<Object, S>,
    tokens: Vec<Token>,
    handles: Vec<Context<Object, S>>,
    workers: Vec<Worker<Object, S>>,
    model: Model,
}

impl<S: Kind> Run<S> {
    fn new() -> Self {
        let model = Model { takes: !S::KEEPS, ..Model::default() };
        let domain = Domain::new_in();
        Self { domain, tokens: Vec::new(), handles: Vec::new(), workers: Vec::new(), model }
    }

    fn handle(&self, which: usize) -> Option<usize> {
        which.checked_rem(self.handles.len())
    }

    fn worker(&self, which: usize) -> Option<usize> {
        which.checked_rem(self.workers.len())
    }

    fn drop_handle(&mut self, at: usize) {
        drop(self.handles.swap_remove(at));
        let id = self.model.handles.swap_remove(at);
        self.model.handles_went(&[id]);
    }

    fn enter(&mut self, local: usize, handle: usize) {
        // `Worker` leaves first.
        if self.model.workers[local].guarded {
            self.model.leave(local);
        }
        self.workers[local].enter(&self.handles[handle]);
        self.model.enter(local, self.model.handles[handle]);
    }

    fn on_handles(&mut self, operation: &Operation) -> Option<()> {
        match *operation {
            Operation::Make => {
                let (id, token) = (self.model.made, Token::new());
                self.handles.push(self.domain.context(Object { id, token: token.clone() }));
                self.tokens.push(token);
                self.model.handles.push(id);
                self.model.made += 1;
            }
            Operation::Clone(which) => {
                let at = self.handle(which)?;
                self.handles.push(self.handles[at].clone());
                self.model.handles.push(self.model.handles[at]);
            }
            Operation::Drop(which) => {
                let at = self.handle(which)?;
                self.drop_handle(at);
            }
            Operation::DropMany(first, n) => {
                let first = self.handle(first)?;
                let range = first..(first + n).min(self.handles.len());
                self.domain.drop_all(self.handles.drain(range.clone()));
                let gone = Vec::from_iter(self.model.handles.drain(range));
                self.model.handles_went(&gone);
            }
            _ => return None,
        }
        Some(())
    }

    fn on_workers(&mut self, operation: &Operation) -> Option<()> {
        match *operation {
            Operation::Register => {
                self.workers.push(Worker::new(&self.domain));
                self.model.workers.push(Local::default());
            }
            Operation::Unregister(which) => {
                let at = self.worker(which)?;
                drop(self.workers.swap_remove(at));
                self.model.clear(at);
                self.model.workers.swap_remove(at);
            }
            Operation::Enter(which, handle) => {
                self.enter(self.worker(which)?, self.handle(handle)?);
            }
            Operation::EnterAndDrop(which, handle) => {
                let at = self.handle(handle)?;
                self.enter(self.worker(which)?, at);
                self.drop_handle(at);
            }
            Operation::Lazy(which) => {
                let at = self.worker(which)?;
                if self.model.workers[at].guarded {
                    self.model.leave(at);
                }
                assert_eq!(self.workers[at].lazy(), self.model.lazy(at));
            }
            Operation::Leave(which) => {
                let at = self.worker(which)?;
                self.workers[at].leave();
                if self.model.workers[at].guarded {
                    self.model.leave(at);
                }
            }
            Operation::Forget(which) => {
                let at = self.worker(which)?;
                self.workers[at].forget();
                self.model.workers[at].guarded = false;
            }
            Operation::Clear(which) => {
                let at = self.worker(which)?;
                self.workers[at].local().clear();
                self.model.clear(at);
            }
            Operation::Upgrade(which) => {
                let at = self.worker(which)?;
                let upgraded = self.workers[at].upgrade();
                let local = &self.model.workers[at];
                assert_eq!(upgraded.is_some(), local.guarded && !local.owns);
                if let Some(handle) = upgraded {
                    assert_eq!(Some(handle.id), local.has);
                    self.model.handles.push(handle.id);
                    self.handles.push(handle);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn check(&self) {
        let Self { model, .. } = self;
        for (id, token) in self.tokens.iter().enumerate() {
            assert_eq!(token.objects(), usize::from(model.is_alive(id)), "object {id}");
        }
        for (worker, local) in self.workers.iter().zip(&model.workers) {
            let shown = worker.value().map(|object| object.id);
            assert_eq!(shown, local.has.filter(|_| local.guarded));
            worker.value().inspect(|object| object.token.check());
        }
        for (handle, id) in self.handles.iter().zip(&model.handles) {
            assert_eq!(handle.id, *id);
        }
        let said = self.domain.statistics();
        assert_eq!(said.local_handles, model.workers.len());
        let ended = model.ended.len() as u64;
        assert_eq!(figures(&said), [ended, model.barriers, model.revoked, model.donated]);
    }
}

fn run<S: Kind>(operations: &[Operation]) {
    let mut run = Run::<S>::new();
    for operation in operations {
        let _ = run.on_handles(operation).or_else(|| run.on_workers(operation));
        run.check();
    }
    let Run { domain, tokens, handles, workers, .. } = run;
    if operations.len() % 2 == 0 {
        domain.drop_all(handles);
        drop(workers);
    } else {
        drop(workers);
        drop(handles);
    }
    assert!(tokens.iter().all(|token| token.objects() == 0), "objects leak");
    assert_eq!(domain.statistics().retired, tokens.len() as u64);
}

proptest! {
    #![proptest_config(cases(256, 4))]

    #[test]
    fn shootdown_is_what_the_model_is(operations in operations()) {
        run::<Shootdown>(&operations);
        run::<Verified>(&operations);
    }

    #[test]
    fn counted_is_what_the_model_is(operations in operations()) {
        run::<Counted>(&operations);
    }

    #[test]
    fn mask_is_what_the_model_is(operations in operations()) {
        run::<Mask>(&operations);
    }
}
