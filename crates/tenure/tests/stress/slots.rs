//! Objects that threads acquire, share, look up by keys and release: each has one owner, and a key finds its own use or
//! nothing.

use crate::support::{Canary, THREADS, objects};
use std::sync::Arc;
use std::thread;
use tenure::memory::{Memory, Native, Ordering, Plain, PlainCell};
use tenure::pool::generic::{SlotMut, SlotPool, SlotRef};
use tenure::pool::list::{self, List, Magazines, Scan, TaggedStack};
use tenure::pool::{AcquireError, SlotKey};

type Counter = <Native as Memory>::AtomicU64;

const IDLE: u64 = 0;

struct Object {
    canary: Canary,
    /// Who has the object, and in which turn. Written and read without atomics.
    holder: PlainCell<u64>,
    present: Arc<Counter>,
}

impl Object {
    fn new(present: &Arc<Counter>) -> Self {
        // Relaxed: a statistic, read when all threads have ended.
        present.fetch_add(1, Ordering::Relaxed);
        let holder = Plain::new(IDLE);
        Self { canary: Canary::new(), holder, present: Arc::clone(present) }
    }

    fn holder(&self) -> u64 {
        // SAFETY: only an exclusive holder writes, which is what the test checks.
        unsafe { self.holder.read() }
    }

    /// Called by the object's exclusive holder.
    fn begin(&mut self, holder: u64) {
        self.canary.rewrite();
        assert_eq!(self.holder(), IDLE, "an object is handed out that was not reset");
        // SAFETY: `&mut self`.
        self.holder.with_mut(|place| unsafe { *place = holder });
    }

    fn reset(&mut self) {
        self.canary.rewrite();
        assert_ne!(self.holder(), IDLE, "an object is reset twice");
        // SAFETY: `&mut self`.
        self.holder.with_mut(|place| unsafe { *place = IDLE });
    }
}

// SAFETY: `holder` is written by the object's exclusive holder.
unsafe impl Sync for Object {}

impl Drop for Object {
    fn drop(&mut self) {
        self.canary.destroy();
        // Relaxed: as in `new`.
        self.present.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a thread leaves keys for others to find.
struct Board([Counter; 4]);

impl Board {
    fn new() -> Self {
        Self([(); 4].map(|()| Counter::new(u64::MAX)))
    }

    fn write(&self, at: u64, key: SlotKey) {
        // Relaxed: a key is a word and needs nothing else to be seen.
        self.0[at as usize % 4].store(key.to_bits(), Ordering::Relaxed);
    }

    fn read(&self, at: u64) -> SlotKey {
        // Relaxed: as above.
        SlotKey::from_bits(self.0[at as usize % 4].load(Ordering::Relaxed))
    }
}

struct Race<L: List> {
    pool: SlotPool<Object, L>,
    boards: Arc<[Board]>,
    thread: usize,
    found: u64,
    missed: u64,
}

impl<L: List> Race<L> {
    /// Looks up what another thread shares, or shared.
    fn look_up(&mut self, turn: u64) {
        let whose = turn as usize % THREADS;
        let key = self.boards[whose].read(turn / THREADS as u64);
        let Some(object) = self.pool.get(key) else {
            self.missed += 1;
            return;
        };
        self.found += 1;
        object.canary.check();
        assert_eq!(object.holder(), held_by(whose, key), "a key finds another use than its own");
        if turn % 4 == 0 {
            drop(object.clone());
        }
    }

    fn use_one(&mut self, turn: u64, mut object: SlotMut<Object, L>) {
        let key = SlotMut::key(&object);
        let me = held_by(self.thread, key);
        object.begin(me);
        if turn % 8 == 0 {
            return;
        }
        let shared = SlotMut::share(object);
        self.boards[self.thread].write(turn, key);
        self.look_up(turn / 2);
        assert_eq!(shared.holder(), me, "an object has two owners");
        let other = shared.clone();
        drop(shared);
        if turn % 3 == 0 {
            if let Ok(mut mine) = SlotRef::into_mut(other) {
                // No other thread looks now.
                mine.reset();
                mine.begin(me);
                if turn % 64 == 3 {
                    SlotMut::discard(mine);
                } else if turn % 2 == 0 {
                    let shared = SlotMut::share(mine);
                    self.look_up(turn);
                    assert_eq!(shared.holder(), me);
                }
            }
        }
    }

    fn run(mut self, turns: u64, first: u64) -> (u64, u64) {
        for turn in first..first + turns {
            match self.pool.acquire() {
                Ok(object) => self.use_one(turn, object),
                Err(AcquireError::Exhausted { .. }) => self.look_up(turn),
                Err(error) => panic!("{error}"),
            }
            if turn % 4_096 == 0 {
                self.pool.trim();
            }
        }
        (self.found, self.missed)
    }
}

/// The word in an object that `thread` has under that key.
fn held_by(thread: usize, key: SlotKey) -> u64 {
    (key.to_bits() << 3 | thread as u64) + 1
}

fn race<L: List>(turns_per_thread: u32, limit: usize) {
    let turns = u64::from(turns_per_thread);
    let present = Arc::new(Counter::new(0));
    let made_for = Arc::clone(&present);
    let pool = SlotPool::builder(move || Object::new(&made_for))
        .reset(Object::reset)
        .limit(limit)
        .magazine_size(4)
        .list::<L>()
        .build();
    let boards: Arc<[Board]> = (0..THREADS).map(|_| Board::new()).collect();
    let (generations, mut found, mut missed) = (if cfg!(miri) { 2 } else { 8 }, 0, 0);
    for generation in 0..generations {
        let threads = Vec::from_iter((0..THREADS).map(|thread| {
            let (pool, boards) = (pool.clone(), Arc::clone(&boards));
            let race = Race { pool, boards, thread, found: 0, missed: 0 };
            thread::spawn(move || race.run(turns / generations, generation * turns))
        }));
        for thread in threads {
            let (in_it, not_in_it) = thread.join().unwrap();
            (found, missed) = (found + in_it, missed + not_in_it);
        }
    }
    assert!(found > 0 && missed > 0, "found {found}, missed {missed}: nothing raced");
    let said = pool.stats();
    assert_eq!(said.in_use, 0, "{said:?}");
    // Relaxed: the threads have ended.
    assert_eq!(said.idle, present.load(Ordering::Relaxed), "{said:?}");
    assert!(said.idle <= limit as u64 && said.made + said.reused >= turns / 2, "{said:?}");
    drop(pool);
    assert_eq!(present.load(Ordering::Relaxed), 0, "objects leak");
}

macro_rules! races {
    ($($name:ident: $list:ty, $turns:expr, $limit:expr;)*) => {$(
        #[test]
        fn $name() {
            race::<$list>(if cfg!(miri) { 60 } else { objects($turns) }, $limit);
        }
    )*};
}

races! {
    a_few_objects_over_magazines_have_one_owner_each: Magazines, 200_000, 3;
    many_objects_over_magazines_have_one_owner_each: Magazines, 200_000, 1_000;
    objects_over_magazines_of_one_have_one_owner_each: list::Magazines<Native, 1>, 100_000, 6;
    objects_over_a_tagged_stack_have_one_owner_each: TaggedStack, 200_000, 3;
    objects_over_a_scan_have_one_owner_each: Scan, 100_000, 3;
}

/// Guards come home to a pool that ends at the same time: the last one frees all.
fn end_under_guards<L: List>(rounds: u32) {
    let present = Arc::new(Counter::new(0));
    for round in 0..rounds {
        let made_for = Arc::clone(&present);
        let pool = SlotPool::builder(move || Object::new(&made_for))
            .reset(Object::reset)
            .list::<L>()
            .build();
        let mut first = pool.acquire().unwrap();
        let key = SlotMut::key(&first);
        first.begin(held_by(0, key));
        let shared = SlotMut::share(first);
        let threads = Vec::from_iter((0..2).map(|thread| {
            let shared = shared.clone();
            let mut mine = pool.acquire().unwrap();
            let me = held_by(thread, SlotMut::key(&mine));
            mine.begin(me);
            thread::spawn(move || {
                assert_eq!((mine.holder(), shared.holder()), (me, held_by(0, key)));
                if round % 3 == 0 {
                    drop(SlotMut::share(mine));
                }
            })
        }));
        drop(shared);
        if let Some(found) = pool.get(key) {
            found.canary.check();
        }
        if round % 2 == 0 {
            pool.close();
        }
        drop(pool);
        for thread in threads {
            thread.join().unwrap();
        }
    }
    // Relaxed: the threads have ended.
    assert_eq!(present.load(Ordering::Relaxed), 0, "objects leak");
}

#[test]
fn pools_end_under_their_guards() {
    let rounds = if cfg!(miri) { 5 } else { objects(1_000) };
    end_under_guards::<Magazines>(rounds);
    end_under_guards::<TaggedStack>(rounds);
    end_under_guards::<Scan>(rounds);
}
