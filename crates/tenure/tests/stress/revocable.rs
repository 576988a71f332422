//! Local handles that enter, leave, come, go and change threads among objects that end: a guard shows the object that
//! it was entered for, alive; each is dropped once.

use crate::support::{Canary, Lock, THREADS, objects};
use std::array::from_fn;
use std::sync::Arc;
use std::thread;
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure::revocable::generic::{
    Counted, Domain, Guard, LocalHandle, Mask, Scheme, Shootdown, Strong, Verified,
};

type Counter = <Native as Memory>::AtomicU64;

pub(crate) struct Object {
    canary: Canary,
    /// Written before other threads know the object, and never again: read without atomics.
    id: u64,
    tally: Arc<Tally>,
}

pub(crate) struct Tally {
    made: Counter,
    dropped: Counter,
}

impl Tally {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { made: Atomic::new(0), dropped: Atomic::new(0) })
    }

    /// How many objects there are, or were a moment ago.
    fn present(&self) -> u64 {
        // Relaxed: a statistic. In this order, what is made meanwhile counts as present.
        let dropped = self.dropped.load(Ordering::Relaxed);
        self.made.load(Ordering::Relaxed).saturating_sub(dropped)
    }

    pub(crate) fn check(&self, at_least: u64) {
        // Relaxed, here and below: the threads have ended.
        let made = self.made.load(Ordering::Relaxed);
        assert!(made >= at_least, "{made} objects: nothing raced");
        assert_eq!(self.dropped.load(Ordering::Relaxed), made, "objects leak");
    }
}

impl Object {
    pub(crate) fn new(tally: &Arc<Tally>) -> Self {
        // Relaxed: a number that is new.
        let id = tally.made.fetch_add(1, Ordering::Relaxed);
        Self { canary: Canary::new(), id, tally: Arc::clone(tally) }
    }

    /// Called with a guard or a handle. Returns which object it is.
    pub(crate) fn check(&self) -> u64 {
        self.canary.check();
        self.id
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.canary.destroy();
        // Relaxed: read when all threads have ended.
        self.tally.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

const PLACES: usize = 3;
const LOCALS: usize = 3;

struct Local<S: Scheme> {
    local: LocalHandle<Object, S>,
    last: Option<u64>,
}

struct Room<S: Scheme> {
    domain: Domain<Object, S>,
    places: [Lock<Option<Strong<Object, S>>>; PLACES],
    /// Where a thread leaves a local handle for another one.
    exchange: Lock<Option<Local<S>>>,
    tally: Arc<Tally>,
}

struct Race<S: Scheme> {
    room: Arc<Room<S>>,
    locals: [Local<S>; LOCALS],
    /// Objects that a local handle had kept for it, and how often there was none.
    kept: u64,
    missed: u64,
}

impl<S: Scheme> Room<S> {
    fn register(&self) -> Local<S> {
        Local { local: self.domain.register(), last: None }
    }

    fn make(&self) -> Strong<Object, S> {
        self.domain.strong(Object::new(&self.tally))
    }

    /// The handle at a place, a new one if there is none.
    fn look_up(&self, at: usize) -> Strong<Object, S> {
        self.places[at].with(|place| place.get_or_insert_with(|| self.make()).clone())
    }

    /// The former handle is dropped outside of the lock.
    fn put(&self, at: usize, strong: Option<Strong<Object, S>>) {
        let _old = self.places[at].with(|place| std::mem::replace(place, strong));
    }
}

impl<S: Scheme> Race<S> {
    fn new(room: &Arc<Room<S>>) -> Self {
        Self { room: Arc::clone(room), locals: from_fn(|_| room.register()), kept: 0, missed: 0 }
    }

    fn enter(&mut self, turn: usize) {
        let Self { room, locals, .. } = self;
        let Local { local, last } = &mut locals[turn % LOCALS];
        let strong = room.look_up(turn / 2 % PLACES);
        let id = strong.check();
        let active = local.enter(&strong);
        *last = Some(id);
        if turn % 3 == 0 {
            drop(strong);
            assert_eq!(active.check(), id);
            let upgraded = Guard::upgrade(&active);
            if let Some(handle) = upgraded {
                room.put(turn % PLACES, Some(handle));
            }
        }
        assert_eq!(active.check(), id, "a guard shows another object");
    }

    fn kept(&mut self, turn: usize) {
        let Self { room, locals, .. } = self;
        let Local { local, last } = &mut locals[turn / 3 % LOCALS];
        let Some(guard) = local.kept() else {
            self.missed += 1;
            return;
        };
        self.kept += 1;
        let id = guard.check();
        assert_eq!(Some(id), *last, "a local handle keeps what it did not enter");
        if turn % 5 == 0 {
            if let Some(handle) = Guard::upgrade(&guard) {
                room.put(turn % PLACES, Some(handle));
            }
        }
        assert_eq!(guard.check(), id);
    }

    fn run(mut self, turns: usize, first: usize) -> (u64, u64) {
        for turn in first..first + turns {
            self.enter(turn);
            self.kept(turn);
            let room = Arc::clone(&self.room);
            let at = turn % LOCALS;
            match turn % 16 {
                1 | 9 => room.put(turn / 16 % PLACES, None),
                2 => self.locals[at].local.clear(),
                3 => self.locals[at] = room.register(),
                4 | 5 => {
                    // The local handle of another thread, for one's own.
                    let mine = std::mem::replace(&mut self.locals[at], room.register());
                    if let Some(others) = room.exchange.with(|place| place.replace(mine)) {
                        self.locals[at] = others;
                        self.kept(at * 3);
                    }
                }
                6 => {
                    let taken: [_; PLACES] = from_fn(|at| room.places[at].with(Option::take));
                    let many = taken.into_iter().flatten().chain([room.make(), room.make()]);
                    room.domain.drop_all(many);
                }
                7 => {
                    let strong = room.look_up(turn % PLACES);
                    let Local { local, last } = &mut self.locals[at];
                    *last = Some(strong.check());
                    std::mem::forget(local.enter(&strong));
                }
                _ => {}
            }
        }
        (self.kept, self.missed)
    }
}

fn race<S: Scheme>(turns_per_thread: u32) {
    let turns = turns_per_thread as usize;
    let tally = Tally::new();
    let room = Arc::new(Room {
        domain: Domain::<Object, S>::new_in(),
        places: from_fn(|_| Lock::new(None)),
        exchange: Lock::new(None),
        tally: Arc::clone(&tally),
    });
    let (generations, mut kept, mut missed) = (if cfg!(miri) { 2 } else { 8 }, 0, 0);
    for generation in 0..generations {
        let threads = Vec::from_iter((0..THREADS).map(|thread| {
            let race = Race::new(&room);
            thread::spawn(move || race.run(turns / generations, generation * turns + thread))
        }));
        for thread in threads {
            let (found, not_found) = thread.join().unwrap();
            (kept, missed) = (kept + found, missed + not_found);
        }
    }
    let said = room.domain.stats();
    assert!(kept > 0 && missed > 0, "kept {kept}, missed {missed}: nothing raced; {said:?}");
    assert!(said.local_handles <= 1, "the one in exchange: {said:?}");
    drop(room);
    tally.check(turns as u64 / 8);
}

/// How many turns one thread takes, of `plain` in a full run.
fn turns(plain: u32) -> u32 {
    if cfg!(miri) { 160 } else { objects(plain) }
}

tests! {
    objects_end_by_shootdown_under_workers => race::<Shootdown>(turns(60_000));
    objects_end_by_shootdown_under_workers_and_each_end_is_verified =>
        race::<Verified>(turns(60_000));
    objects_end_by_their_count_under_workers => race::<Counted>(turns(60_000));
    objects_end_by_their_mask_under_workers => race::<Mask>(turns(60_000));
}

/// A reclaimer leaves its object to another one at work, and goes on, perhaps faster than that one works.
#[test]
fn what_is_left_to_another_reclaimer_does_not_pile_up() {
    let (tally, domain) = (Tally::new(), Domain::<Object>::new_in());
    // Each is one more to be looked at by threads that end objects.
    let idle = Arc::new(domain.strong(Object::new(&tally)));
    let mut locals = Vec::from_iter((0..64).map(|_| domain.register()));
    locals.iter_mut().for_each(|local| drop(local.enter(&idle)));
    let turns = if cfg!(miri) { 20 } else { objects(20_000) };
    let threads = Vec::from_iter((0..THREADS).map(|_| {
        let (tally, domain) = (Arc::clone(&tally), domain.clone());
        thread::spawn(move || {
            let (mut local, mut most) = (domain.register(), 0);
            for _ in 0..turns {
                let strong = domain.strong(Object::new(&tally));
                drop(local.enter(&strong));
                drop(strong);
                most = most.max(tally.present());
            }
            most
        })
    }));
    let most = threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
    drop((locals, idle, domain));
    tally.check(u64::from(turns) * THREADS as u64);
    assert!(most < 1_000 * THREADS as u64, "{most} objects without a holder wait for their end");
}
