//! Fibers: simulated threads on one thread of the host.
//!
//! A simulated thread is a coroutine. It reaches its simulator through a variable of the host's
//! thread ([`current`]), as it may be deep in code that knows nothing of simulation, and gives the host's
//! thread back by [`Context::suspend`].

use super::{Engine, Plan, Status, Step};
use crate::cpu::Cpu;
use crate::error::Error;
use crate::heat::Kind;
use crate::machine::LINE_BYTES;
use crate::report::Report;
use crate::watch::Beat;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Fiber = Coroutine<(), (), ()>;

/// A simulation that runs on this thread.
pub(crate) struct Context {
    engine: RefCell<Engine>,
    /// Each fiber's way back, once it has begun.
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
    /// The CPU whose fiber runs.
    running: Cell<usize>,
    /// The simulation is over, and fibers that have not finished are unwound: what their destructors do to
    /// simulated memory happens, and takes no time.
    over: Cell<bool>,
    beat: Beat,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Context>>> = const { RefCell::new(None) };
}

/// The simulation of which a fiber runs on this thread, if one does.
pub(crate) fn current() -> Option<Rc<Context>> {
    CURRENT.with_borrow(|current| current.as_ref().filter(|it| !it.over.get()).cloned())
}

/// An end of the simulation: its threads are unwound, and this thread is as before.
struct Over(Rc<Context>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.set(true);
        CURRENT.set(None);
    }
}

/// Runs `thread` on every CPU of the plan, to the end.
pub(crate) fn run<F: Fn(&Cpu) + 'static>(
    plan: Plan,
    beat: Beat,
    thread: F,
) -> Result<Report, Error> {
    let (threads, stack_bytes) = (plan.threads, plan.stack_bytes);
    let context = Rc::new(Context {
        engine: RefCell::new(Engine::new(plan)),
        yielders: (0..threads).map(|_| Cell::new(std::ptr::null())).collect(),
        running: Cell::new(0),
        over: Cell::new(false),
        beat,
    });
    let thread = Rc::new(thread);
    // Dropped after `over`: unwinding a fiber must not simulate.
    let mut fibers = Vec::with_capacity(threads);
    for index in 0..threads {
        let stack = DefaultStack::new(stack_bytes).map_err(|error| Error::Stack {
            threads,
            bytes: stack_bytes,
            what: error.to_string(),
        })?;
        let (context, thread) = (Rc::clone(&context), Rc::clone(&thread));
        fibers.push(Fiber::with_stack(stack, move |yielder, ()| {
            context.yielders[index].set(yielder);
            thread(&Cpu::new(Rc::clone(&context), index));
        }));
    }
    CURRENT.set(Some(Rc::clone(&context)));
    let over = Over(Rc::clone(&context));
    let result = context.drive(&mut fibers);
    drop(over);
    drop(fibers);
    result.map(|()| context.engine.borrow().report())
}

impl Context {
    fn drive(&self, fibers: &mut [Fiber]) -> Result<(), Error> {
        loop {
            self.beat.tick();
            let next = self.engine.borrow_mut().advance();
            let Some(cpu) = next else { break };
            self.running.set(cpu);
            self.beat.runs(cpu);
            if let CoroutineResult::Return(()) = fibers[cpu].resume(()) {
                self.engine.borrow_mut().cpus[cpu].status = Status::Finished;
            }
            self.engine.borrow().check_limit()?;
        }
        self.engine.borrow().check_finished()
    }

    /// Gives the thread back until an event concerns the CPU that runs.
    fn suspend(&self) {
        let yielder = self.yielders[self.running.get()].get();
        // SAFETY: the fiber that runs has stored its yielder when it began, and the yielder lives as
        // long as the fiber's function, from within which this is called: `current` hides the
        // context as soon as no fiber is resumed any more.
        unsafe { (*yielder).suspend(()) }
    }

    /// The CPU that runs.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Changes the engine's state, at once.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Engine) -> R) -> R {
        change(&mut self.engine.borrow_mut())
    }

    /// Waits, in simulated time, until an access takes effect; then it must happen at once.
    pub(crate) fn access(&self, address: usize, bytes: usize, kind: Kind) {
        let cpu = self.running.get();
        let mut from = address;
        let end = address + bytes.max(1);
        while from < end {
            let to = end.min((from / LINE_BYTES + 1) * LINE_BYTES);
            self.beat.tick();
            loop {
                let step = self.engine.borrow_mut().step(cpu, from, to - from, kind);
                match step {
                    Step::Done => break,
                    Step::Wait => self.suspend(),
                    Step::Again => {}
                }
            }
            from = to;
        }
    }

    /// Sleeps on an address until woken.
    pub(crate) fn block(&self, address: usize) {
        self.with(|engine| engine.block(self.running.get(), address));
        self.suspend();
    }
}
