//! Operations of a `RcuCell` with another one in the middle, at each of their steps (`staged.rs`): what models
//! (`models/revocable/rcu_cell.rs`) do not have. A store ends the old value within a read, and its destructor reads or
//! panics; a guard goes when its thread has lost its number, and the next thread of that number reads.

use crate::staged::{Staged, as_thread, every_step, every_way, interrupted};
use crate::support::Token;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tenure::memory::Threads;
use tenure::revocable::generic::{On, RcuCell, RcuGuard, Shootdown};

type Scheme = On<Staged, Shootdown>;

/// The first thread is destroying its thread-locals, the guard among them, and the second one has its number.
#[test]
fn a_guard_that_goes_after_its_threads_number_is_interrupted_by_a_read_of_the_next_thread() {
    every_way(|| {
        for replaced_before in [false, true] {
            for at in 1.. {
                let values = [(); 3].map(|()| Token::new());
                let cached = Rc::new(RcuCell::<Token, Scheme>::new_in(values[0].clone()));
                // SAFETY: it is dropped after the guards, below.
                let lasting = unsafe { &*Rc::as_ptr(&cached) };
                let late = lasting.load();
                if replaced_before {
                    cached.store(values[1].clone());
                }
                let next = Rc::new(RefCell::new(None));
                let (reads, last) = (Rc::clone(&next), values[2].clone());
                let reached = as_thread(None, || {
                    interrupted(
                        at,
                        || drop(late),
                        move || {
                            as_thread(Some(0), || *reads.borrow_mut() = Some(lasting.load()));
                            as_thread(Some(1), || lasting.store(last));
                        },
                    )
                });
                let guard = next.take();
                guard.iter().for_each(|guard| guard.check());
                let shown = usize::from(replaced_before);
                let alive = values.each_ref().map(Token::objects);
                if reached {
                    let mut expected = [0, 0, 1];
                    expected[shown] = 1;
                    assert_eq!(alive, expected, "at {at}: what the guard shows, and the new one");
                }
                drop(guard);
                let alive = values.each_ref().map(Token::objects);
                assert_eq!(alive.iter().sum::<usize>(), 1, "at {at}: the value that is current");
                drop(cached);
                assert_eq!(values.each_ref().map(Token::objects), [0; 3], "interrupted at {at}");
                if !reached {
                    break;
                }
            }
        }
    });
}

thread_local! {
    static READ_AT_DROP: RefCell<Option<&'static RcuCell<Reads, Scheme>>> =
        const { RefCell::new(None) };
    static PANICS_AT_DROP: Cell<bool> = const { Cell::new(false) };
    static KEPT_AT_DROP: RefCell<Option<RcuGuard<'static, Reads, Scheme>>> =
        const { RefCell::new(None) };
}

/// Its destructor reads the newest value, and keeps the guard.
struct Reads {
    token: Token,
}

impl Drop for Reads {
    fn drop(&mut self) {
        if let Some(cached) = READ_AT_DROP.take() {
            KEPT_AT_DROP.set(Some(cached.load()));
        }
        assert!(!PANICS_AT_DROP.take(), "in drop");
    }
}

/// With a store at that step; says whether there was one.
fn a_destructor_keeps_a_guard(at: u32, outer_goes_first: bool) -> bool {
    let values = [(); 3].map(|()| Token::new());
    let [first, second, third] = values.each_ref().map(|token| Reads { token: token.clone() });
    let place = Box::into_raw(Box::new(RcuCell::<Reads, Scheme>::new_in(first)));
    // SAFETY: freed below, after the guards.
    let cached = unsafe { &*place };
    drop(cached.load());
    READ_AT_DROP.set(Some(cached));
    let mut outer = None;
    let reached = interrupted(at, || outer = Some(cached.load()), move || cached.store(second));
    READ_AT_DROP.take();
    let kept = KEPT_AT_DROP.take();
    let look = |guard: &RcuGuard<'_, Reads, Scheme>| guard.token.check();
    if outer_goes_first {
        outer = None;
    }
    let shown =
        values.iter().filter(|token| outer.iter().chain(&kept).any(|guard| guard.token.is(token)));
    let shown = shown.count();
    cached.store(third);
    assert_eq!(
        values.iter().map(Token::objects).sum::<usize>(),
        shown + 1,
        "interrupted at {at}: what the guards show, and the new one"
    );
    outer.iter().chain(&kept).for_each(look);
    drop((outer, kept));
    assert_eq!(values.each_ref().map(Token::objects), [0, 0, 1], "interrupted at {at}");
    // SAFETY: from a box, and no guard borrows it any more.
    drop(unsafe { Box::from_raw(place) });
    reached
}

/// A store between the two looks of a read leaves the end of the old value to the reader: its destructor runs within
/// the read, and reads by the same thread.
#[test]
fn a_destructor_that_runs_within_a_read_may_read_and_keep_the_guard() {
    for outer_goes_first in [false, true] {
        every_step(|at| a_destructor_keeps_a_guard(at, outer_goes_first));
    }
}

#[test]
fn a_destructor_that_panics_within_a_read_leaves_the_place_of_the_thread() {
    every_way(|| {
        let mut within_a_read = 0;
        for at in 1.. {
            let [old, new] = [Token::new(), Token::new()];
            let [first, second] = [&old, &new].map(|token| Reads { token: token.clone() });
            let cached = Rc::new(RcuCell::<Reads, Scheme>::new_in(first));
            drop(cached.load());
            let other = Rc::clone(&cached);
            PANICS_AT_DROP.set(true);
            let read = catch_unwind(AssertUnwindSafe(|| {
                let read = || cached.load().token.check();
                // The store's own panic is not the reader's.
                let store = move || _ = catch_unwind(AssertUnwindSafe(|| other.store(second)));
                interrupted(at, read, store);
            }));
            if old.objects() == 1 {
                // Not stored: the read has fewer steps. The other value panicked, which was not needed.
                assert!(read.is_err() && new.objects() == 0);
                break;
            }
            within_a_read += u32::from(read.is_err());
            assert!(!PANICS_AT_DROP.take(), "interrupted at {at}: the old value is dropped");
            for _ in 0..3 {
                assert!(cached.load().token.is(&new));
            }
            assert_eq!((old.objects(), new.objects()), (0, 1), "interrupted at {at}");
            let kept = usize::from(Staged::thread().is_some());
            assert_eq!(cached.stats().local_handles, kept, "interrupted at {at}");
            let guard = cached.load();
            assert_eq!(cached.stats().local_handles, 1, "the guard has the place of the thread");
            drop(guard);
        }
        assert!(within_a_read > 0, "no destructor ran within a read");
    });
}
