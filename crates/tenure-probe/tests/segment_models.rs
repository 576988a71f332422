//! The words of a line, model-checked: the file that the runtime is compiled from, on loom's atomics.
//!
//! Each claim is explored over all interleavings. For each rule that it rests on there is a twin that breaks the rule, and
//! has to fail.
#![cfg(all(target_pointer_width = "64", not(any(miri, sanitized))))]

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::hint::black_box;
use std::panic::catch_unwind;

use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
// What `words` is compiled with.
use large_stack::on_a_large_stack;
use line_words::{
    CONTENDED, EXCLUSIVE, LineWords, READ_SHARED, Records, STATE, User, before_use, exclusive,
};
use loom::sync::atomic;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread::JoinHandle;

#[path = "../../tenure/tests/models/large_stack.rs"]
mod large_stack;
#[path = "../src/runtime/line_words.rs"]
mod line_words;

/// How often the record of each number was made and released.
type Book = RefCell<Vec<(u32, u32)>>;

/// A line, the clock, and all that is known of threads.
struct World {
    words: LineWords,
    clock: AtomicU32,
    book: Mutex<Book>,
    /// What an observer reads of the line's record.
    record: AtomicU32,
    /// Thread 2, which thread 1 creates, has ended.
    ended: AtomicBool,
}

/// A thread, by its number.
struct Thread<'a>(&'a World, u32);

impl<'a> Records for Thread<'a> {
    type Locked = MutexGuard<'a, Book>;

    fn lock(&self) -> Self::Locked {
        self.0.book.lock().unwrap()
    }

    fn has_ended(&self, thread: u32) -> bool {
        (thread, self.1) == (2, 1) && self.0.ended.load(Relaxed)
    }

    fn make(&self, lock: &Self::Locked, _: u32, _: u32) -> Option<u32> {
        self.0.record.store(1, Relaxed);
        let mut book = lock.borrow_mut();
        book.push((1, 0));
        Some(book.len() as u32 - 1)
    }

    fn release(&self, lock: &Self::Locked, index: u32) {
        lock.borrow_mut()[index as usize].1 += 1;
    }
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            words: LineWords { who: AtomicU32::new(0), how: AtomicU32::new(0) },
            clock: AtomicU32::new(0),
            book: Mutex::default(),
            record: AtomicU32::new(0),
            ended: AtomicBool::new(false),
        })
    }

    fn own(&self, thread: u32) -> u32 {
        exclusive(thread) | self.clock.load(Relaxed)
    }

    /// What the runtime does for an access: its quick way, and the other.
    fn access(&self, thread: u32, birth: u32, writes: bool) -> u32 {
        let own = self.own(thread);
        let who = self.words.who.load(Relaxed);
        if who == own {
            self.words.note(0, writes, 1);
            who
        } else if who == READ_SHARED && !writes {
            who
        } else {
            let user = User { own, birth };
            self.words.change(user, who, 0, writes, &Thread(self, thread))
        }
    }

    fn write(&self, thread: u32, birth: u32) -> u32 {
        self.access(thread, birth, true)
    }

    /// How the line is used at the end.
    fn state(&self) -> u32 {
        self.words.who.load(Relaxed) & STATE
    }

    /// How often records were made and released: of one line, so at most one is there at the end.
    fn records(&self) -> (u32, u32) {
        let book = self.book.lock().unwrap();
        let book = book.borrow();
        assert!(book.iter().all(|(made, released)| released <= made), "released twice: {book:?}");
        book.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

fn model(model: impl Fn() + Send + Sync + 'static) {
    let model = std::sync::Arc::new(model);
    loom::model(move || {
        let model = model.clone();
        on_a_large_stack(move || model());
    });
}

fn spawn<R: 'static>(thread: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    loom::thread::spawn(|| on_a_large_stack(thread))
}

/// Runs both, one of them on another thread.
fn side_by_side<R: 'static>(
    world: &Arc<World>,
    other: impl FnOnce(&World) -> R + 'static,
    one: impl FnOnce(&World),
) -> R {
    let other = spawn({
        let world = world.clone();
        move || other(&world)
    });
    one(world);
    other.join().unwrap()
}

/// Two threads write a line that a third has used, each as `write` does.
fn two_write(write: fn(&World, u32)) {
    model(move || {
        let world = World::new();
        world.write(3, 0);
        side_by_side(&world, move |world| write(world, 2), |world| write(world, 1));
        assert_eq!(world.state(), CONTENDED);
        assert_eq!(world.records(), (1, 0), "records made and released");
    });
}

#[test]
fn a_line_that_threads_write_has_one_record() {
    two_write(|world, thread| {
        assert_eq!(world.write(thread, 0) & STATE, CONTENDED);
        assert_eq!(world.write(thread, 0) & STATE, CONTENDED);
    });
}

#[test]
#[should_panic(expected = "records made and released")]
fn a_word_that_is_not_read_again_under_the_lock_has_two_records() {
    two_write(|world, thread| {
        if world.words.who.load(Relaxed) & STATE != CONTENDED {
            let records = Thread(world, thread);
            let lock = records.lock();
            let index = records.make(&lock, 0, 0).unwrap();
            world.words.who.store(CONTENDED | index, Release);
        }
    });
}

#[test]
fn a_new_line_that_two_threads_write_is_contended() {
    model(|| {
        let world = World::new();
        side_by_side(&world, |world| _ = world.write(2, 0), |world| _ = world.write(1, 0));
        assert_eq!((world.state(), world.records()), (CONTENDED, (1, 0)));
    });
}

#[test]
fn readers_share_a_line_until_one_writes() {
    model(|| {
        let world = World::new();
        let read = |thread| move |world: &World| _ = world.access(thread, 0, false);
        side_by_side(&world, read(2), read(1));
        assert_eq!((world.state(), world.records()), (READ_SHARED, (0, 0)));
        side_by_side(&world, read(2), |world| _ = world.write(1, 0));
        assert_eq!((world.state(), world.records()), (CONTENDED, (1, 0)));
    });
}

#[test]
fn what_is_handed_over_to_a_thread_and_back_has_no_record() {
    model(|| {
        let world = World::new();
        world.write(1, 0);
        let birth = world.clock.fetch_add(1, Relaxed) + 1;
        side_by_side(
            &world,
            move |world| {
                world.write(2, birth);
                world.write(2, birth);
                world.ended.store(true, Relaxed);
            },
            |_| {},
        );
        assert_eq!(before_use(world.words.how.load(Relaxed)) & 0xffff, 2, "thread 2's");
        world.write(1, 0);
        assert_eq!((world.state(), world.records()), (EXCLUSIVE, (0, 0)));
        assert_eq!(before_use(world.words.how.load(Relaxed)) & 0xffff, 1, "thread 1's");
    });
}

/// Thread 2 has a line. Thread 1 creates thread 3, lets thread 2 know, and both use the line: 3 writes it, 2 does `again`.
fn used_again_after_a_thread_was_created(again: fn(&World)) {
    model(move || {
        let world = World::new();
        world.write(2, 0);
        let created = Arc::new(AtomicBool::new(false));
        let second = spawn({
            let (world, created) = (world.clone(), created.clone());
            move || {
                let knows = created.load(Acquire);
                if knows {
                    again(&world);
                }
                knows
            }
        });
        // Relaxed: as in `shadow::tick`.
        let birth = world.clock.fetch_add(1, Relaxed) + 1;
        created.store(true, Release);
        side_by_side(&world, move |world| _ = world.write(3, birth), |_| {});
        if second.join().unwrap() {
            assert_eq!(world.state(), CONTENDED, "both used it while both lived");
        }
    });
}

#[test]
fn a_line_that_is_used_after_a_thread_was_created_was_not_handed_over_to_it() {
    used_again_after_a_thread_was_created(|world| _ = world.write(2, 0));
}

#[test]
#[should_panic(expected = "both used it while both lived")]
fn a_word_that_keeps_its_old_time_looks_handed_over() {
    used_again_after_a_thread_was_created(|world| {
        // Does not read the clock: the line is this thread's already.
        let who = world.words.who.load(Relaxed);
        if line_words::thread(who) != 2 || who & STATE != EXCLUSIVE {
            world.write(2, 0);
        }
    });
}

/// Two threads free the two objects of a contended line, each with `forget_edge`.
fn both_objects_are_freed(
    forget_edge: fn(&LineWords, &dyn Fn() -> bool) -> bool,
    release: fn(&World, &Thread<'_>, u32),
) {
    model(move || {
        let world = World::new();
        world.write(1, 0);
        let who = world.write(2, 0);
        let objects = Arc::new([AtomicBool::new(true), AtomicBool::new(true)]);
        let free = |own: usize| {
            let objects = objects.clone();
            move |world: &World| {
                objects[own].store(false, Relaxed);
                let is_vacant = || objects.iter().all(|object| !object.load(Relaxed));
                if !forget_edge(&world.words, &is_vacant) {
                    release(world, &Thread(world, own as u32 + 1), who);
                }
            }
        };
        side_by_side(&world, free(1), free(0));
        assert_eq!((world.state(), world.records()), (0, (1, 1)), "released once");
    });
}

fn shipped(words: &LineWords, is_vacant: &dyn Fn() -> bool) -> bool {
    words.forget_edge(is_vacant)
}

#[test]
fn the_last_object_of_a_line_takes_its_record_along() {
    both_objects_are_freed(shipped, |world, thread, _| world.words.release(thread));
}

#[test]
#[should_panic(expected = "released once")]
fn without_a_fence_neither_is_the_last() {
    both_objects_are_freed(
        |_, is_vacant| !is_vacant(),
        |world, thread, _| world.words.release(thread),
    );
}

#[test]
#[should_panic(expected = "released twice")]
fn a_word_that_is_not_swapped_under_the_lock_is_released_twice() {
    both_objects_are_freed(shipped, |world, thread, who| {
        let lock = thread.lock();
        world.words.who.store(0, Relaxed);
        thread.release(&lock, who & !STATE);
    });
}

/// A use after free costs a record at most: none is released twice, and a contended word names one that is there.
#[test]
fn an_access_that_is_too_late_names_no_released_record() {
    for was_contended in [false, true] {
        model(move || {
            let world = World::new();
            world.write(1, 0);
            if was_contended {
                world.write(2, 0);
            }
            side_by_side(
                &world,
                |world| _ = world.write(2, 0),
                |world| {
                    if !world.words.forget() {
                        world.words.release(&Thread(world, 1));
                    }
                },
            );
            let (made, released) = world.records();
            if world.state() == CONTENDED {
                let index = world.words.who.load(Relaxed) & !STATE;
                let book = world.book.lock().unwrap();
                assert_eq!(
                    book.borrow()[index as usize],
                    (1, 0),
                    "{made} made, {released} released"
                );
            }
        });
    }
}

/// One thread contends for a line, another counts an access to it, and an observer reads both.
fn an_entry_is_seen(fence: fn()) {
    model(move || {
        let world = World::new();
        let entry = Arc::new(AtomicU32::new(0));
        world.write(3, 0);
        let counting = spawn({
            let (world, entry) = (world.clone(), entry.clone());
            move || {
                if world.words.who.load(Relaxed) & STATE == CONTENDED {
                    fence();
                    entry.store(1, Release);
                }
            }
        });
        let observer = spawn({
            let world = world.clone();
            move || {
                if entry.load(Acquire) == 1 {
                    assert_eq!(world.record.load(Relaxed), 1, "the entry's line has no record");
                }
            }
        });
        world.write(1, 0);
        counting.join().unwrap();
        observer.join().unwrap();
    });
}

#[test]
fn an_entry_has_its_record() {
    an_entry_is_seen(|| atomic::fence(Acquire));
}

#[test]
#[should_panic(expected = "the entry's line has no record")]
fn an_entry_without_a_fence_comes_before_its_record() {
    an_entry_is_seen(|| {});
}

#[test]
fn every_thread_has_room_for_a_panic_and_its_backtrace() {
    let panics = |_: &World| {
        let bytes = [1_u8; large_stack::BYTES / 2];
        assert_eq!(black_box(&bytes)[0], 1);
        // It reads debugging information, whatever RUST_BACKTRACE says.
        let trace = Backtrace::force_capture().to_string();
        assert!(trace.contains("models"), "{trace}");
        catch_unwind(|| panic!("on purpose")).unwrap_err();
    };
    model(move || side_by_side(&World::new(), panics, panics));
}
