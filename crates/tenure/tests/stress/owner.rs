//! Owners that go while threads clone and drop what they gave out, and threads that come and go meanwhile: what a handle
//! shows is alive, and each value is dropped once.

use crate::revocable::{Object, Tally};
use crate::support::{Lock, THREADS, objects};
use std::sync::Arc;
use std::thread;
use tenure::counter::Counter;
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure::owner::{Owner, Shared};

type Handle = Shared<Object>;

/// Where threads leave handles to each other.
type Mailboxes = [Lock<Vec<Handle>>; THREADS];

struct Stage {
    mailboxes: Mailboxes,
    is_over: <Native as Memory>::AtomicU32,
    handled: Counter,
}

impl Stage {
    fn new() -> Arc<Self> {
        let mailboxes = std::array::from_fn(|_| Lock::new(Vec::new()));
        Arc::new(Self { mailboxes, is_over: Atomic::new(0), handled: Counter::new() })
    }

    fn give(&self, thread: usize, handle: Handle) {
        self.mailboxes[thread % THREADS].with(|mailbox| mailbox.push(handle));
    }

    /// Handles what the thread is given, and passes half of it on.
    fn work(&self, thread: usize) {
        let mut turn = 0;
        loop {
            let handles = self.mailboxes[thread].with(std::mem::take);
            let is_over = handles.is_empty() && self.is_over.load(Ordering::Relaxed) == 1;
            for handle in handles {
                turn += 1;
                handle.check();
                let clones = [(); 2].map(|()| handle.clone());
                self.handled.add(1);
                if turn % 2 == 0 {
                    self.give(thread + 1, handle);
                } else {
                    drop(handle);
                }
                clones.iter().for_each(|clone| _ = clone.check());
            }
            if is_over {
                return;
            }
            thread::yield_now();
        }
    }
}

/// `drops` ends owners, of which there are up to eight at a time.
fn shared_while_owners_go(owners: u32, drops: fn(&mut Vec<Owner<Object>>)) {
    let (tally, stage) = (Tally::new(), Stage::new());
    let workers = Vec::from_iter((0..THREADS).map(|thread| {
        let stage = Arc::clone(&stage);
        thread::spawn(move || stage.work(thread))
    }));
    let mut alive = Vec::new();
    for turn in 0..owners {
        let owner = Owner::new(Object::new(&tally));
        (0..THREADS).for_each(|thread| stage.give(thread, owner.share()));
        if turn % 16 == 0 {
            let (handle, stage) = (owner.share(), Arc::clone(&stage));
            let passing = thread::spawn(move || {
                let clone = handle.clone();
                stage.give(turn as usize, handle);
                clone.check();
            });
            if turn % 32 == 0 {
                passing.join().unwrap();
            }
        }
        alive.push(owner);
        if alive.len() == 8 {
            drops(&mut alive);
        }
    }
    drop(alive);
    stage.is_over.store(1, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    // Threads that were not joined.
    while Arc::strong_count(&stage) > 1 {
        thread::yield_now();
    }
    stage.mailboxes.iter().for_each(|mailbox| mailbox.with(Vec::clear));
    tally.check(u64::from(owners));
    assert!(stage.handled.sum() >= u64::from(owners));
}

#[test]
fn owners_go_one_by_one_while_threads_share() {
    shared_while_owners_go(objects(20_000), Vec::clear);
}

#[test]
fn owners_go_together_while_threads_share() {
    shared_while_owners_go(objects(20_000), |owners| Owner::drop_all(owners.drain(..)));
}

/// As a table's do: threads share from it what others are closing.
#[test]
fn owners_in_a_table_are_closed_while_threads_share() {
    let tally = Tally::new();
    let rounds = objects(500);
    for _ in 0..rounds {
        let table = [(); 8].map(|()| Owner::new(Object::new(&tally)));
        let (mut shared, closings) = thread::scope(|scope| {
            let sharing = [(); THREADS].map(|()| {
                scope.spawn(|| {
                    let mut last = None;
                    for owner in &table {
                        while let Some(handle) = owner.try_share() {
                            handle.check();
                            last = Some(handle);
                            thread::yield_now();
                        }
                        assert!(owner.try_share().is_none(), "shared after a refusal");
                    }
                    last
                })
            });
            let closings = [(); 2].map(|()| {
                scope.spawn(|| {
                    table.each_ref().map(|owner| (owner.close(), owner.try_share().is_none()))
                })
            });
            let shared = sharing.map(|sharing| sharing.join().unwrap());
            (shared, closings.map(|closing| closing.join().unwrap()))
        });
        shared.iter_mut().for_each(|shared| drop(shared.take()));
        for (closing, is_closed) in closings.into_iter().flatten() {
            assert!(is_closed, "shared after the close");
            closing.wait();
        }
    }
    tally.check(u64::from(rounds) * 8);
}
