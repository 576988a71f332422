//! Fibers: simulated threads on one thread of the host.
//!
//! A simulated thread is a coroutine. Its code reaches the simulator through a thread-local ([`current`]), and gives
//! the host's thread back by [`FiberContext::suspend`].
//!
//! # Ends
//!
//! If all threads return, nothing is left. Otherwise (no thread can go on, time is up, a thread panicked) the
//! unfinished fibers are unwound, one after the other: an exception is thrown where each was suspended, and drops what
//! its thread owns. From then on there is no [`current`] simulation: destructors' accesses to simulated memory happen
//! at once.
//!
//! So they do while a thread panics, before any other thread knows. Suspended in a destructor, the thread would show
//! its panic to others (`std::thread::panicking` is the host thread's), and could not be unwound: an exception that
//! leaves a destructor during a panic ends the process.

use super::{Engine, EnginePlan, FiberStep, Status};
use crate::error::SimulationError;
use crate::heat::HeatKind;
use crate::machine::LINE_BYTES;
use crate::report::SimulationReport;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Native, Ordering};

type Fiber = Coroutine<(), (), ()>;
type WayBack = *const Yielder<(), ()>;

pub(crate) struct FiberContext {
    engine: RefCell<Engine>,
    /// Way back into each fiber that has begun.
    ways_back: Vec<Cell<WayBack>>,
    /// Way back from the running fiber; null while none can be suspended.
    way_back: Cell<WayBack>,
    running: Cell<usize>,
    beat: Beat,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<FiberContext>>> = const { RefCell::new(None) };
}

/// The simulation of the fiber that runs on this thread and can be suspended.
pub(crate) fn current() -> Option<Rc<FiberContext>> {
    let find = |current: &RefCell<Option<Rc<FiberContext>>>| {
        current.borrow().as_ref().filter(|it| it.is_on()).cloned()
    };
    // Another thread-local's destructor may ask when this one is gone.
    CURRENT.try_with(find).ok().flatten()
}

/// Runs `thread` on every CPU of the plan, to the end. Passes on its panic.
pub(crate) fn run<F: Fn(Rc<FiberContext>) + 'static>(
    plan: EnginePlan,
    beat: Beat,
    thread: F,
) -> Result<SimulationReport, SimulationError> {
    let (threads, stack_bytes) = (plan.threads, plan.stack_bytes);
    let context = Rc::new(FiberContext {
        engine: RefCell::new(Engine::new(plan)),
        ways_back: (0..threads).map(|_| Cell::new(ptr::null())).collect(),
        way_back: Cell::new(ptr::null()),
        running: Cell::new(0),
        beat,
    });
    let thread = Rc::new(thread);
    let mut fibers = Vec::with_capacity(threads);
    for index in 0..threads {
        // More than half of all memory does not exist, and cannot be rounded up to whole pages.
        let bytes = stack_bytes.min(isize::MAX as usize);
        let stack = DefaultStack::new(bytes).map_err(|error| SimulationError::Stack {
            threads,
            bytes: stack_bytes,
            what: error.to_string(),
        })?;
        let (context, thread) = (Rc::clone(&context), Rc::clone(&thread));
        fibers.push(Fiber::with_stack(stack, move |yielder, ()| {
            context.ways_back[index].set(yielder);
            context.way_back.set(yielder);
            thread(context);
        }));
    }
    CURRENT.set(Some(Rc::clone(&context)));
    let end = panic::catch_unwind(AssertUnwindSafe(|| context.drive(&mut fibers)));
    context.way_back.set(ptr::null());
    CURRENT.set(None);
    context.unwind(fibers);
    match end {
        Ok(end) => end.map(|()| context.engine.borrow().report()),
        Err(panic) => panic::resume_unwind(panic),
    }
}

impl FiberContext {
    fn drive(&self, fibers: &mut [Fiber]) -> Result<(), SimulationError> {
        loop {
            self.beat.tick();
            let next = self.engine.borrow_mut().advance();
            let Some(cpu) = next else { break };
            self.running.set(cpu);
            self.beat.runs(cpu);
            self.way_back.set(self.ways_back[cpu].get());
            let ran = fibers[cpu].resume(());
            self.way_back.set(ptr::null());
            if let CoroutineResult::Return(()) = ran {
                self.engine.borrow_mut().cpus[cpu].status = Status::Finished;
            }
            self.engine.borrow().check_limit()?;
        }
        self.engine.borrow().check_finished()
    }

    fn unwind(&self, fibers: Vec<Fiber>) {
        for (cpu, mut fiber) in fibers.into_iter().enumerate() {
            if cfg!(not(panic = "unwind")) && fiber.started() && !fiber.done() {
                std::mem::forget(fiber);
                continue;
            }
            self.running.set(cpu);
            self.beat.tick();
            // A thread that catches the exception may panic afterwards. Its message is printed, and the simulation has
            // its result.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| fiber.force_unwind()));
        }
    }

    /// Whether the running fiber can be suspended.
    pub(crate) fn is_on(&self) -> bool {
        !self.way_back.get().is_null() && !std::thread::panicking()
    }

    /// Until an event concerns the running CPU.
    fn suspend(&self) {
        let way_back = self.way_back.get();
        assert!(!way_back.is_null(), "only a simulated thread can be suspended");
        // SAFETY: it is not null, so the fiber calls this between `drive`'s resuming of it and its suspension, which
        // both write it. Its yielder lies on its stack, below the calling function, and so lives at least as long.
        unsafe { (*way_back).suspend(()) }
    }

    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Engine) -> R) -> R {
        change(&mut self.engine.borrow_mut())
    }

    /// Waits, in simulated time, until an access takes effect, which must happen right after.
    pub(crate) fn access(&self, address: usize, bytes: usize, kind: HeatKind) {
        let cpu = self.running.get();
        let mut from = address;
        let end = address + bytes.max(1);
        while from < end {
            let to = end.min((from / LINE_BYTES + 1) * LINE_BYTES);
            self.beat.tick();
            loop {
                let step = self.engine.borrow_mut().step(cpu, from, to - from, kind);
                match step {
                    FiberStep::Done => break,
                    FiberStep::Wait => self.suspend(),
                    FiberStep::Again => {}
                }
            }
            from = to;
        }
    }

    /// Waits until everything earlier has happened, or returns at once where nothing can be waited for.
    pub(crate) fn take_turn(&self) {
        let cpu = self.running.get();
        while self.is_on() && !self.engine.borrow_mut().is_in_turn(cpu) {
            self.suspend();
        }
    }

    /// As [`Cpu::membarrier`](crate::Cpu::membarrier).
    pub(crate) fn membarrier(&self) -> usize {
        self.take_turn();
        self.with(|engine| engine.interrupt_others(self.running.get()))
    }

    pub(crate) fn block(&self, address: usize) {
        self.with(|engine| engine.block(self.running.get(), address));
        self.suspend();
    }
}

/// A sign of life for the thread that waits for the simulation.
type NativeWord = <Native as Memory>::AtomicU64;

#[derive(Debug, Clone)]
pub(crate) struct Beat(Arc<(NativeWord, NativeWord)>);

impl Beat {
    pub(crate) fn new() -> Self {
        Self(Arc::new((Atomic::new(0), Atomic::new(0))))
    }

    #[inline]
    pub(crate) fn tick(&self) {
        // Relaxed, here and below: a statistic with one writer; nothing is published.
        self.0.0.store(self.0.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// This CPU has the simulator's thread.
    pub(crate) fn runs(&self, cpu: usize) {
        self.0.1.store(cpu as u64, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.0.load(Ordering::Relaxed)
    }

    #[allow(clippy::cast_possible_truncation, reason = "it was a usize")]
    pub(crate) fn cpu(&self) -> usize {
        self.0.1.load(Ordering::Relaxed) as usize
    }
}
