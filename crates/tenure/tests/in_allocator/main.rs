//! A global allocator that uses the library, also in the middle of the library's own allocations and deallocations.
//!
//! [`operations`] has every public operation, with a look at what it returns. Each runs on a thread whose allocator does
//! another one, or the same, before each allocation and on both sides of each deallocation and reallocation. The modules'
//! documentation says which may be used there; the others run outside of the allocator alone. The accounts have to be right
//! in the end: nothing lost, nothing dropped twice, nothing dropped too early. `Arc` and the counts are left out: they have
//! nothing in common but the count itself.
#![cfg(feature = "std")]
#![allow(clippy::disallowed_types, reason = "the accounts of the tests, apart from the library's")]

mod operations;
mod world;

use operations::{OPERATIONS, OUTSIDE, Operation};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;
use tenure::memory::{Native, Threads};
use world::{Kept, World};

struct Hooked;

#[global_allocator]
static HOOKED: Hooked = Hooked;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Null outside of a test.
    static INNER: Cell<*const Inner<'static>> = const { Cell::new(ptr::null()) };
}

/// What the allocator does on one thread.
struct Inner<'w> {
    world: &'w World,
    operation: Operation,
    /// Whether what it got outlives the call of the allocator.
    keeps: bool,
    /// Looks that the allocator lets pass before it acts.
    passes: u64,
    kept: RefCell<Vec<Kept<'w>>>,
    looks: AtomicU64,
    calls: AtomicU64,
}

/// The allocator acts at each of the first looks, then at some: an allocator that ends an object each time memory is freed
/// never comes to an end.
const EACH: u64 = 20;
const EVERY: u64 = 5;
const MAX_CALLS: u64 = if cfg!(miri) { 10 } else { 200 };

/// A panic must not leave an allocator.
struct Abort;

impl Drop for Abort {
    fn drop(&mut self) {
        std::process::abort();
    }
}

fn look() {
    // SAFETY: `on_a_thread` keeps it until the thread has ended, or takes it away before.
    let Some(inner) = (unsafe { INNER.get().as_ref() }) else { return };
    if INSIDE.replace(true) {
        return;
    }
    let look = inner.looks.fetch_add(1, Relaxed);
    let is_one = look >= inner.passes && (look < EACH || look % EVERY == 0);
    if !is_one || inner.calls.load(Relaxed) >= MAX_CALLS {
        return INSIDE.set(false);
    }
    let abort = Abort;
    let kept = (inner.operation.act)(inner.world);
    if inner.keeps {
        inner.kept.borrow_mut().push(kept);
    } else {
        drop(kept);
    }
    inner.calls.fetch_add(1, Relaxed);
    std::mem::forget(abort);
    INSIDE.set(false);
}

// SAFETY: `System`'s.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        look();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        look();
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) };
        look();
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        look();
        // SAFETY: the caller's.
        let memory = unsafe { System.realloc(memory, layout, size) };
        look();
        memory
    }
}

/// Two threads may have two allocators: what either creates in a registry, the other one does not.
fn is_inside() -> bool {
    INSIDE.get()
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    /// The thread may get that of one that ended, with what that kept.
    Any,
    /// New, and asked for before.
    New,
    /// New, and asked for in the operation, or by the allocator.
    NotAsked,
}

struct Sent<T>(T);
// SAFETY: the thread that gets it is joined before the next look.
unsafe impl<T> Send for Sent<T> {}

impl<'w> Inner<'w> {
    fn new(world: &'w World, operation: Operation, keeps: bool) -> Self {
        let (kept, looks, calls) = (RefCell::default(), AtomicU64::new(0), AtomicU64::new(0));
        Self { world, operation, keeps, passes: 0, kept, looks, calls }
    }

    /// Runs `outer` on a thread of its own, whose allocator does this. Returns how often it looked, and how often it acted.
    fn under(self, number: Number, outer: Operation) -> (u64, u64) {
        if number != Number::Any {
            // Never returned: it was that of the last thread that ended.
            let _: Option<usize> = Native::borrow_number();
        }
        self.world.truth.threads.fetch_add(1, SeqCst);
        let sent = Sent(&self);
        let run = move || {
            let Sent(inner) = { sent };
            if number == Number::New {
                let _: Option<usize> = Native::thread();
            }
            INNER.set(ptr::from_ref(inner).cast());
            drop((outer.act)(inner.world));
            if inner.keeps {
                INNER.set(ptr::null());
                // On this thread, which some of it never leaves. Otherwise the allocator goes on up to the thread's end.
                inner.kept.take();
            }
        };
        thread::scope(|scope| {
            if let Err(panic) = scope.spawn(run).join() {
                eprintln!("{} with {} in the allocator", outer.name, self.operation.name);
                std::panic::resume_unwind(panic);
            }
        });
        (self.looks.load(Relaxed), self.calls.load(Relaxed))
    }
}

fn all() -> impl Iterator<Item = Operation> + Clone {
    OPERATIONS.iter().copied()
}

fn operation(name: &str) -> Operation {
    all().find(|operation| operation.name == name).expect("it is in the list")
}

/// From one operation outside of the allocator to the next.
const STEP: usize = if cfg!(miri) { 6 } else { 1 };

/// Sanitizers take a third of them, Miri a few.
fn some<T>(all: impl Iterator<Item = T>, first: usize) -> impl Iterator<Item = T> {
    let every = match (cfg!(miri), cfg!(sanitized)) {
        (true, _) => 25,
        (false, sanitized) => 1 + 2 * usize::from(sanitized),
    };
    all.skip(first % every).step_by(every)
}

/// Those that look at what the caller has, or change it, and no more.
const PLAIN: &[&str] = &["strong_count", "weak_count", "limit", "largest", "from_bits", "to_bits"];

#[test]
fn every_public_operation_is_in_the_list() {
    let used = concat!(include_str!("operations.rs"), include_str!("world.rs"));
    let rooms = ["counter", "owner", "pool", "rcu", "registry", "revocable"];
    let mut missing = Vec::new();
    for line in include_str!("../../public-api.txt").lines() {
        let Some((path, item)) = line.split_once(": ") else { continue };
        let path = Vec::from_iter(path.split("::"));
        let [_, room, .., name] = path[..] else { continue };
        let is_used = || {
            [".", "::"].iter().any(|before| {
                ["(", "::<", ")", ",", ";"]
                    .iter()
                    .any(|after| used.contains(&format!("{before}{name}{after}")))
            })
        };
        let is_method = path.len() == 4 && item.starts_with("pub ") && item.contains("fn ");
        if is_method && rooms.contains(&room) && !PLAIN.contains(&name) && !is_used() {
            missing.push(path.join("::"));
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn an_operation_may_be_in_the_middle_of_any_other() {
    let outers = all().chain(OUTSIDE.iter().copied());
    for (at, outer) in outers.step_by(STEP).enumerate() {
        let mut calls = 0;
        for (nth, inner) in some(all().enumerate(), at) {
            let world = World::new();
            let inner = Inner::new(&world, inner, (at + nth) % 2 == 0);
            calls += inner.under(Number::Any, outer).1;
            world.end();
        }
        assert!(calls > 0, "{} did not allocate", outer.name);
    }
}

/// From each of the first allocations on: the allocator is the first to use something there, and the operation was about to.
#[test]
fn an_operation_may_be_in_the_middle_of_the_first_one_of_a_thread() {
    const MAX_PASSES: u64 = if cfg!(miri) { 3 } else { 12 };
    for (at, outer) in all().step_by(STEP).enumerate() {
        let others = some(all().filter(|inner| inner.is_by_thread), at);
        for (nth, operation) in [outer].into_iter().chain(others).enumerate() {
            for passes in 0..MAX_PASSES {
                let number = match (nth, passes % 2) {
                    (0, 0) => Number::NotAsked,
                    (0, _) => Number::New,
                    _ => Number::Any,
                };
                let world = World::new();
                let inner = Inner { passes, ..Inner::new(&world, operation, true) };
                let (looks, _) = inner.under(number, outer);
                world.end();
                if looks <= passes {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_thread_whose_allocator_uses_a_pool_first_keeps_idle_objects_to_itself() {
    let take = operation("take_an_object");
    fn act(world: &World) -> Kept<'_> {
        drop((operation("take_an_object").act)(world));
        INNER.set(ptr::null());
        world.objects.trim();
        drop(world.objects.acquire().unwrap());
        let before = world.objects.stats().made;
        thread::scope(|scope| scope.spawn(|| drop(world.objects.acquire())).join().unwrap());
        let made = world.objects.stats().made - before;
        assert_eq!(made, 1, "another thread has found the idle object");
        Box::new(())
    }
    for passes in 0..6 {
        let world = World::new();
        let inner = Inner { passes, ..Inner::new(&world, take, false) };
        inner.under(Number::New, Operation { act, ..take });
        world.end();
    }
}

#[test]
fn threads_whose_allocators_use_the_same_objects_lose_nothing() {
    let rounds = if cfg!(miri) { 4 } else { 300 };
    for seed in 0..if cfg!(miri) { 1 } else { 4 } {
        let world = World::new();
        thread::scope(|scope| {
            for nth in 0..3_usize {
                let world = &world;
                scope.spawn(move || {
                    let mut random = 1 + nth + 10 * seed;
                    let mut any = || {
                        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        OPERATIONS[(random >> 8) % OPERATIONS.len()]
                    };
                    for round in 0..rounds {
                        Inner::new(world, any(), round % 2 == 0).under(Number::Any, any());
                    }
                });
            }
        });
        world.end();
    }
}
