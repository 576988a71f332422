//! What every model is made of: memory that is freed, a value that is destroyed, and the two ways to run a model,
//! [`passes`] and [`fails`].

use super::large_stack::{self, on_a_large_stack};
use super::memory::{Access, Field, Loom, last_access};
use super::{clocks, quarantine};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{GetResult, PutResult, Readable, RefCount};
use tenure::memory::Plain;
use tenure::process::set_fault_hook;

/// A pointer to an object that one thread frees while others may still believe in it. [`free`](Heap::free) drops the
/// object; its bytes, and those of what it has on the heap, stay until all pointers of this execution are gone, so that
/// a use after free meets the remains of a `Word`, which complain.
pub(crate) struct Heap<T>(Arc<Block<T>>);

struct Block<T> {
    object: UnsafeCell<ManuallyDrop<T>>,
    freed: Mutex<bool>,
}

// SAFETY: loom runs all threads of a model on one thread of the system, one at a time.
unsafe impl<T> Send for Block<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Block<T> {}

impl<T> Heap<T> {
    pub(crate) fn new(object: T) -> Self {
        // In place: a coroutine's stack has no room for many copies of a list.
        let mut block = Arc::<Block<T>>::new_uninit();
        let place = Arc::get_mut(&mut block).expect("it is new").as_mut_ptr();
        // SAFETY: `place` is allocated for a block, whose fields are all written; the object's wrappers are
        // transparent.
        unsafe {
            (&raw mut (*place).object).cast::<T>().write(object);
            (&raw mut (*place).freed).write(Mutex::new(false));
            Self(block.assume_init())
        }
    }

    /// A second free is a panic of the words in the object.
    pub(crate) fn free(&self) {
        *self.0.freed.lock().unwrap() = true;
        quarantine::keep();
        // SAFETY: dropping leaves the bytes alone (`memory.rs` asserts it of the only type with a destructor), and what
        // a model does with them afterwards ends in a panic.
        unsafe { std::ptr::drop_in_place(self.0.object.get().cast::<T>()) };
    }

    /// To be asked when all threads have ended.
    pub(crate) fn is_freed(&self) -> bool {
        *self.0.freed.lock().unwrap()
    }
}

impl<T> Clone for Heap<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Heap<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the block is allocated and initialised as long as `self` exists; see `free`.
        unsafe { &*self.0.object.get() }
    }
}

/// What is counted: holders read it plainly, and one of them destroys it by a plain write, so loom demands that every
/// look happens before.
pub(crate) struct Value(Field<u32>);

const DESTROYED: u32 = 0;

impl Value {
    pub(crate) fn new(value: u32) -> Self {
        Self(Field::holding(value, Access::Value))
    }

    pub(crate) fn unborn() -> Self {
        Self::new(DESTROYED)
    }

    pub(crate) fn look(&self) -> u32 {
        // SAFETY: loom panics if another thread writes meanwhile.
        let value = unsafe { self.0.read() };
        assert_ne!(value, DESTROYED, "a holder sees no value");
        value
    }

    pub(crate) fn write(&self, value: u32) {
        // SAFETY: loom panics if another thread reads or writes meanwhile.
        self.0.with_mut(|field| unsafe { *field = value });
    }

    pub(crate) fn destroy(&self) {
        assert_ne!(self.look(), DESTROYED);
        self.write(DESTROYED);
    }

    /// To be asked when all threads have ended.
    pub(crate) fn is_destroyed(&self) -> bool {
        // SAFETY: loom panics if another thread writes meanwhile.
        unsafe { self.0.read() == DESTROYED }
    }
}

/// What a model needs of a count, shipping or the twin of one.
pub(crate) trait Count: Send + Sync + 'static {
    fn one() -> Self;
    fn take(&self) -> GetResult;
    fn give(&self) -> PutResult;
}

pub(crate) trait Shipped: RefCount + 'static {
    fn witness<'w>() -> Self::Readable<'w>;
}

impl<const S: bool> Shipped for IncNotZero<Loom<S>> {
    fn witness<'w>() -> Self::Readable<'w> {}
}

impl<const S: bool> Shipped for TicketRef<Loom<S>> {
    fn witness<'w>() -> Self::Readable<'w> {}
}

impl<const S: bool> Shipped for RcuRef<Loom<S>> {
    fn witness<'w>() -> Self::Readable<'w> {
        // SAFETY: the bytes of a `Heap` outlive every thread of the model. Whether the *model* frees the object under a
        // put is for loom to find out.
        unsafe { Readable::assume() }
    }
}

impl<C: Shipped> Count for C {
    fn one() -> Self {
        C::new_in()
    }
    fn take(&self) -> GetResult {
        self.get()
    }
    fn give(&self) -> PutResult {
        self.put(C::witness())
    }
}

pub(crate) fn spawn<R: 'static>(thread: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    let clock = clocks::spawning();
    JoinHandle(loom::thread::spawn(move || {
        on_a_large_stack(move || {
            clocks::spawned(clock);
            let result = thread();
            (result, clocks::spawning())
        })
    }))
}

pub(crate) struct JoinHandle<R>(loom::thread::JoinHandle<(R, clocks::Clock)>);

impl<R> JoinHandle<R> {
    pub(crate) fn join(self) -> std::thread::Result<R> {
        let (result, clock) = self.0.join()?;
        clocks::joined(clock);
        Ok(result)
    }
}

pub(crate) fn join_all<R>(threads: impl IntoIterator<Item = JoinHandle<R>>) -> Vec<R> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// How many switches to another thread that nothing forces an execution may have.
pub(crate) type Preemptions = Option<usize>;

pub(crate) const ALL: Preemptions = None;

/// The bound of a model whose executions take seconds. Plain `cargo test` explores it with one preemption fewer, or with
/// four where the bound is [`ALL`]. `TENURE_MODELS=all`, as in ci/nightly, explores it up to its bound.
pub(crate) fn slow(bound: Preemptions) -> Preemptions {
    if std::env::var("TENURE_MODELS").is_ok_and(|value| value == "all") {
        return bound;
    }
    Some(bound.map_or(4, |preemptions| preemptions - 1))
}

/// Explores `model`: nothing may go wrong in any execution. Prints how many there were.
pub(crate) fn passes(preemptions: Preemptions, model: impl Fn() + Send + Sync + 'static) {
    let began = Instant::now();
    let executions = Arc::new(Mutex::new(0_u64));
    let counter = Arc::clone(&executions);
    explore(preemptions, move || {
        *counter.lock().unwrap() += 1;
        model();
    });
    let executions = *executions.lock().unwrap();
    let name = std::thread::current().name().unwrap_or("model").to_owned();
    let bound = preemptions.map_or("all".to_owned(), |n| format!("at most {n}"));
    println!("{name}: {executions} executions, {bound} preemptions, {:.1?}", began.elapsed());
}

fn explore(preemptions: Preemptions, model: impl Fn() + Send + Sync + 'static) {
    // No model misuses a count.
    set_fault_hook(Some(|fault| panic!("reported: {fault}")));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    // Looking through two lists' magazines takes more steps than loom's thousand. A loop without end has no bound.
    builder.max_branches = 5_000;
    let _flush_at_the_end = Flush;
    let model = Arc::new(model);
    builder.check(move || {
        // What the execution before this one left.
        quarantine::flush();
        clocks::begin();
        let model = Arc::clone(&model);
        on_a_large_stack(move || model());
    });
}

struct Flush;

impl Drop for Flush {
    fn drop(&mut self) {
        quarantine::flush();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing orders a look at a [`Value`] and a write of it.
    ValueRace,
    /// Nothing orders two accesses to a plain field of a protocol.
    FieldRace,
    /// Nothing orders a use of a count and the free of its memory.
    MemoryRace,
    /// A count was used after its memory was freed, or freed twice, one after the other.
    UseAfterFree,
    /// The model's claim with this text does not hold.
    Claim(&'static str),
}

impl Failure {
    fn is(self, message: &str) -> bool {
        let is_race = message.contains("Causality violation: Concurrent");
        match self {
            Self::ValueRace => is_race && last_access() == Access::Value,
            Self::FieldRace => is_race && last_access() == Access::Field,
            Self::MemoryRace => is_race && last_access() == Access::Memory,
            Self::UseAfterFree => {
                message.contains("use after free of a count")
                    || message.contains("double free of a count")
            }
            Self::Claim(text) => message.contains(text),
        }
    }
}

/// Explores `model`, which has to fail in this way and in no other.
pub(crate) fn fails(
    preemptions: Preemptions,
    expected: Failure,
    model: impl Fn() + Send + Sync + 'static,
) {
    let failure = catch_unwind(AssertUnwindSafe(|| explore(preemptions, model)))
        .expect_err("the model passes: it is blind to the flaw");
    let message = failure
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| failure.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    assert!(
        expected.is(message),
        "expected {expected:?}, but the model failed at a {:?} with: {message}",
        last_access()
    );
}

#[test]
fn every_thread_of_a_model_has_room_for_a_panic_and_its_backtrace() {
    fn takes_half_and_panics() {
        let bytes = [1_u8; large_stack::BYTES / 2];
        assert_eq!(std::hint::black_box(&bytes)[large_stack::BYTES / 4], 1);
        // It reads debugging information, whatever RUST_BACKTRACE says.
        let trace = std::backtrace::Backtrace::force_capture().to_string();
        assert!(trace.contains("models"), "{trace}");
        std::panic::catch_unwind(|| panic!("on purpose")).unwrap_err();
    }
    passes(Some(1), || {
        let other = spawn(takes_half_and_panics);
        takes_half_and_panics();
        other.join().unwrap();
    });
}
