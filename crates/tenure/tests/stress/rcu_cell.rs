//! A `RcuCell` with readers and writers: what is read is alive and not older than the thread's last read; each value is
//! dropped once.

use crate::revocable::{Object, Tally};
use crate::support::{THREADS, objects};
use std::sync::Arc;
use std::thread;
use tenure::rcu::{RcuCell, RcuGuard};
use tenure::revocable::Guard;

struct Version {
    number: u64,
    object: Object,
}

impl Version {
    fn first(tally: &Arc<Tally>) -> Self {
        Self { number: 0, object: Object::new(tally) }
    }

    fn check(&self) -> u64 {
        self.object.check();
        self.number
    }
}

/// Reads in all ways, each of which has to see at least what was read before.
struct Eyes(u64);

impl Eyes {
    fn see(&mut self, version: &Version) {
        let number = version.check();
        assert!(number >= self.0, "{number} is older than {}, which this thread has read", self.0);
        self.0 = number;
    }
}

/// Half of the threads write now and then, all read; threads come and go.
fn read_while_others_write(
    turns_per_thread: u32,
    write: fn(&RcuCell<Version>, &Arc<Tally>),
) -> u64 {
    let (tally, turns) = (Tally::new(), u64::from(turns_per_thread));
    let cached = RcuCell::new(Version::first(&tally));
    let generations = if cfg!(miri) { 2 } else { 8 };
    let mut last = 0;
    for _ in 0..generations {
        let threads = Vec::from_iter((0..THREADS).map(|thread| {
            let (cached, tally) = (cached.clone(), Arc::clone(&tally));
            thread::spawn(move || {
                let (mut reader, mut eyes) = (cached.reader(), Eyes(0));
                for turn in 0..turns / generations {
                    let mine = reader.load();
                    eyes.see(&mine);
                    if turn % 8 == 0 {
                        let outer = cached.load();
                        eyes.see(&outer);
                        if turn % 16 == 0 {
                            write(&cached, &tally);
                        }
                        let nested = cached.load();
                        eyes.see(&nested);
                        // The other way round than they were made.
                        drop(outer);
                        nested.check();
                        if let Some(handle) = RcuGuard::upgrade(&nested) {
                            handle.check();
                        }
                    }
                    mine.check();
                    if turn % 32 == 1 {
                        drop(Guard::upgrade(&mine));
                        eyes.see(&cached.load_full());
                    }
                    drop(mine);
                    eyes.see(&cached.load());
                    if thread < THREADS / 2 && turn % 4 == 0 {
                        write(&cached, &tally);
                    }
                    if turn % 512 == 3 {
                        reader = cached.reader();
                    }
                }
            })
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let read = cached.load().check();
        assert!(read >= last);
        last = read;
    }
    drop(cached);
    tally.check(turns / 4);
    last
}

fn turns(plain: u32) -> u32 {
    if cfg!(miri) { 64 } else { objects(plain) }
}

#[test]
fn updates_are_seen_in_their_order_and_none_is_lost() {
    fn next(old: &Version, tally: &Arc<Tally>) -> Version {
        Version { number: old.check() + 1, object: Object::new(tally) }
    }
    let all = turns(40_000);
    let last = read_while_others_write(all, |cached, tally| cached.rcu(|old| next(old, tally)));
    // All write in every 16th turn, half of them in every 4th as well.
    let generation = u64::from(all) / if cfg!(miri) { 2 } else { 8 };
    let (of_all, of_half) = (generation.div_ceil(16), generation.div_ceil(4));
    let generations = u64::from(all) / generation;
    let written = generations * THREADS as u64 * (2 * of_all + of_half) / 2;
    assert_eq!(last, written, "an update is lost");
}

#[test]
fn stores_and_replacements_drop_each_value_once() {
    // Without an order among them all have the same number.
    read_while_others_write(turns(40_000), |cached, tally| {
        cached.store(Version::first(tally));
        let old = cached.swap(Version::first(tally));
        old.check();
    });
}

/// The last handles and readers of many go at once, with readers in the middle.
#[test]
fn many_end_under_their_readers() {
    let tally = Tally::new();
    let rounds = if cfg!(miri) { 5 } else { objects(2_000) };
    for round in 0..rounds {
        let cached = RcuCell::new(Version::first(&tally));
        let threads = Vec::from_iter((0..2).map(|_| {
            let (cached, tally) = (cached.clone(), Arc::clone(&tally));
            thread::spawn(move || {
                let mut reader = cached.reader();
                let outer = reader.load();
                cached.store(Version::first(&tally));
                let context = cached.load_full();
                drop(cached);
                outer.check();
                context.check();
                drop(outer);
                reader.load().check();
            })
        }));
        if round % 2 == 0 {
            cached.load().check();
        }
        drop(cached);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    tally.check(u64::from(rounds) * 3);
}
