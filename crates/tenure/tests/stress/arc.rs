//! A small `Arc` and `Weak` on [`Counts`]: upgrades race with the last drops of both.

use crate::support::{Canary, Lock, Shared, objects, on_threads};
use std::sync::Arc as StdArc;
use tenure::arc::Counts;
use tenure::count::{Get, Put};

struct Inner {
    counts: Counts,
    value: Canary,
    allocation: Canary,
}

#[derive(Default, Debug, PartialEq)]
struct Tally {
    made: u32,
    dropped: u32,
    freed: u32,
    upgraded: u32,
}

/// A strong reference, given back by [`put`](Self::put), not by its drop.
struct Strong(Shared<Inner>);
/// Likewise.
struct Weak(Shared<Inner>);

impl Strong {
    fn new(tally: &mut Tally) -> Self {
        tally.made += 1;
        Self(Shared(Box::into_raw(Box::new(Inner {
            counts: Counts::new(),
            value: Canary::new(),
            allocation: Canary::new(),
        }))))
    }

    fn inner(&self) -> &Inner {
        // SAFETY: a strong reference keeps value and allocation.
        unsafe { &*self.0.0 }
    }

    fn clone(&self) -> Self {
        self.inner().counts.clone_strong();
        Self(self.0)
    }

    fn downgrade(&self) -> Weak {
        self.inner().counts.downgrade();
        Weak(self.0)
    }

    fn put(self, tally: &mut Tally) {
        self.inner().value.check();
        let inner = self.0;
        // SAFETY: the reference keeps the allocation up to the verdict.
        if unsafe { (*inner.0).counts.drop_strong() } == Put::StillHeld {
            return;
        }
        // SAFETY: the common weak reference keeps the allocation, and is this thread's to give up.
        let last = unsafe { &*inner.0 };
        last.value.destroy();
        tally.dropped += 1;
        if last.counts.drop_common() {
            free(inner, tally);
        }
    }
}

impl Weak {
    fn inner(&self) -> &Inner {
        // SAFETY: a weak reference keeps the allocation.
        unsafe { &*self.0.0 }
    }

    fn clone(&self) -> Self {
        self.inner().counts.clone_weak();
        Self(self.0)
    }

    fn upgrade(&self) -> Option<Strong> {
        self.inner().allocation.check();
        match self.inner().counts.upgrade() {
            Get::Acquired => Some(Strong(self.0)),
            Get::Dead => None,
        }
    }

    fn put(self, tally: &mut Tally) {
        self.inner().allocation.check();
        let inner = self.0;
        // SAFETY: the reference keeps the allocation until it is given up.
        if unsafe { (*inner.0).counts.drop_weak() } {
            free(inner, tally);
        }
    }
}

/// Called once, on the counts' verdict.
fn free(inner: Shared<Inner>, tally: &mut Tally) {
    // SAFETY: one thread gets the verdict, after the last access of all others.
    let inner = unsafe { Box::from_raw(inner.0.cast_mut()) };
    inner.allocation.destroy();
    tally.freed += 1;
}

#[test]
fn upgrades_race_with_the_last_drops_of_arcs_and_weaks() {
    let each = objects(150_000);
    let place = StdArc::new(Lock::new(None::<Weak>));
    let same = StdArc::clone(&place);
    let mut tallies = on_threads(move |thread| {
        let (mut tally, mut turn, mut kept) = (Tally::default(), thread, None::<Strong>);
        while tally.made < each {
            turn += 1;
            let weak = place.with(|found| found.as_ref().map(Weak::clone));
            let strong = weak.as_ref().and_then(Weak::upgrade);
            if let Some(strong) = strong {
                tally.upgraded += 1;
                strong.inner().value.check();
                if turn % 4 == 0 {
                    // More of both, given back in another order.
                    let (more, weak) = (strong.clone(), strong.downgrade());
                    strong.put(&mut tally);
                    more.put(&mut tally);
                    weak.put(&mut tally);
                } else if let Some(before) = kept.replace(strong) {
                    before.put(&mut tally);
                }
            } else {
                let strong = Strong::new(&mut tally);
                let replaced = place.with(|found| found.replace(strong.downgrade()));
                strong.inner().value.check();
                if let Some(replaced) = replaced {
                    replaced.put(&mut tally);
                }
                if let Some(before) = kept.replace(strong) {
                    before.put(&mut tally);
                }
            }
            if let Some(weak) = weak {
                weak.put(&mut tally);
            }
            // Kept for a few turns, so that others find it alive or dying.
            if turn % 3 == 0 {
                if let Some(before) = kept.take() {
                    before.put(&mut tally);
                }
            }
        }
        if let Some(before) = kept {
            before.put(&mut tally);
        }
        tally
    });
    let mut rest = Tally::default();
    if let Some(weak) = same.with(Option::take) {
        weak.put(&mut rest);
    }
    tallies.push(rest);
    let sum = |of: fn(&Tally) -> u32| tallies.iter().map(of).sum::<u32>();
    let made = sum(|tally| tally.made);
    assert!(made >= each);
    assert_eq!(sum(|tally| tally.dropped), made, "each value is dropped once");
    assert_eq!(sum(|tally| tally.freed), made, "each allocation is freed once");
}

#[test]
fn who_is_unique_may_write_what_others_read_before() {
    let rounds = objects(50_000);
    let place = StdArc::new(Lock::new(None::<Weak>));
    let same = StdArc::clone(&place);
    let mut tallies = on_threads(move |thread| {
        let mut tally = Tally::default();
        if thread > 0 {
            // Readers: upgrade what they find, until the owner is gone.
            while tally.upgraded < rounds {
                let Some(weak) = place.with(|found| found.as_ref().map(Weak::clone)) else {
                    std::thread::yield_now();
                    continue;
                };
                let Some(strong) = weak.upgrade() else {
                    weak.put(&mut tally);
                    return tally;
                };
                tally.upgraded += 1;
                weak.put(&mut tally);
                strong.inner().value.check();
                strong.put(&mut tally);
            }
            return tally;
        }
        let strong = Strong::new(&mut tally);
        for _ in 0..rounds {
            let weak = strong.downgrade();
            place.with(|found| *found = Some(weak));
            std::thread::yield_now();
            if let Some(weak) = place.with(Option::take) {
                weak.put(&mut tally);
            }
            while !strong.inner().counts.is_unique() {
                std::thread::yield_now();
            }
            strong.inner().value.rewrite();
        }
        // Readers that still wait learn that the value is gone.
        let weak = strong.downgrade();
        strong.put(&mut tally);
        place.with(|found| *found = Some(weak));
        tally
    });
    let mut rest = Tally::default();
    same.with(Option::take).expect("the owner left it").put(&mut rest);
    tallies.push(rest);
    let sum = |of: fn(&Tally) -> u32| tallies.iter().map(of).sum::<u32>();
    assert_eq!((sum(|tally| tally.dropped), sum(|tally| tally.freed)), (1, 1));
}
