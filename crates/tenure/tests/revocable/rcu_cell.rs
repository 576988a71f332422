//! What `RcuCell` promises: which value a read sees, and when a replaced one is dropped.

use crate::at_end::at_end;
use crate::support::{Last, Token, figures, panics};
use std::mem;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use tenure::rcu::{RcuCell, RcuGuard, RcuReader};
use tenure::revocable::{Guard, Strong};

#[test]
fn reads_see_the_newest_value() {
    let cached = RcuCell::new(0);
    let mut reader = cached.reader();
    let mut other = reader.clone();
    for value in 1..100 {
        cached.store(value);
        assert_eq!(*cached.load(), value);
        assert_eq!(*reader.load(), value);
        if value % 3 == 0 {
            assert_eq!(*other.load(), value, "a reader that has missed some");
        }
        assert_eq!(*cached.load_full(), value);
        assert_eq!(*cached.clone().load(), value);
    }
}

#[test]
fn a_guard_keeps_its_value_whatever_is_stored() {
    let values = [(); 5].map(|()| Token::new());
    let [first, ..] = &values;
    let cached = RcuCell::new(first.clone());
    let mut readers = [(); 5].map(|()| cached.reader());
    let mut guards = Vec::new();
    for (reader, token) in readers.iter_mut().zip(&values) {
        cached.store(token.clone());
        guards.push((reader.load(), cached.load()));
    }
    for ((mine, threads), token) in guards.iter().zip(&values) {
        assert!(mine.is(token) && threads.is(token));
    }
    // In another order than they were made.
    while !guards.is_empty() {
        drop(guards.swap_remove(guards.len() / 2));
        for (mine, threads) in &guards {
            mine.check();
            threads.check();
        }
    }
    assert_eq!(values.each_ref().map(Token::objects), [0, 0, 0, 0, 1]);
}

#[test]
fn nested_reads_of_one_thread_see_what_is_newest_by_then() {
    let values = [(); 10].map(|()| Token::new());
    let cached = RcuCell::new(values[0].clone());
    fn nest(cached: &RcuCell<Token>, values: &[Token]) {
        let [first, rest @ ..] = values else { return };
        cached.store(first.clone());
        let guard = cached.load();
        let again = cached.load();
        assert!(guard.is(first) && again.is(first));
        drop(guard);
        let third = cached.load();
        assert!(third.is(first));
        nest(cached, rest);
        again.check();
        assert!(again.is(first) && third.is(first));
        drop(again);
        assert_eq!(first.objects(), 1);
        drop(third);
    }
    nest(&cached, &values);
    let locals = cached.stats().local_handles;
    assert_eq!(locals, 1, "local handles of nested reads are given back");
    assert_eq!(values.iter().map(Token::objects).sum::<usize>(), 1, "the newest");
}

#[test]
fn a_store_drops_what_is_not_read_before_it_returns() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let mut readers = Vec::from_iter((0..3).map(|_| cached.reader()));
    for reader in &mut readers {
        reader.load().check();
    }
    cached.load().check();
    cached.store(new.clone());
    assert_eq!((old.objects(), new.objects()), (0, 1));
    assert_eq!(figures(&cached.stats()), [1, 1, 4, 0], "four local handles kept it");
}

#[test]
fn what_is_read_is_dropped_by_the_last_guard() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let mut readers = [cached.reader(), cached.reader()];
    let [one, other] = &mut readers;
    let (one, other, third) = (one.load(), other.load(), cached.load());
    cached.store(new.clone());
    assert_eq!(figures(&cached.stats()), [1, 1, 0, 3]);
    for guard in [one, other] {
        guard.check();
        drop(guard);
        assert_eq!(old.objects(), 1);
    }
    drop(third);
    assert_eq!(old.objects(), 0);
}

#[test]
fn a_read_guard_may_leave_on_another_thread() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    // 'static, for a thread.
    let place = Box::into_raw(Box::new(cached.reader()));
    // SAFETY: from a box that only this thread has.
    let guard = unsafe { &mut *place }.load();
    cached.store(new.clone());
    thread::spawn(move || guard.check()).join().unwrap();
    assert_eq!(old.objects(), 0);
    // SAFETY: from a box, and the guard is gone.
    let mut reader = unsafe { Box::from_raw(place) };
    assert!(reader.load().is(&new));
}

#[test]
fn handles_keep_what_was_replaced() {
    let [first, second, third] = [(); 3].map(|()| Token::new());
    let cached = RcuCell::new(first.clone());
    let strong = cached.load_full();
    let replaced = cached.swap(second.clone());
    assert!(Strong::ptr_eq(&strong, &replaced));
    drop(strong);
    replaced.check();
    let mut reader = cached.reader();
    let (mine, threads) = (reader.load(), cached.load());
    let (by_mine, by_thread) = (Guard::upgrade(&mine), RcuGuard::upgrade(&threads));
    cached.store(third.clone());
    let again = Guard::upgrade(&mine);
    assert!(again.is_some(), "there are handles: it has not ended");
    drop((mine, threads));
    drop((by_mine, by_thread));
    again.as_ref().unwrap().check();
    drop(again);
    assert_eq!([&first, &second, &third].map(Token::objects), [1, 0, 1]);
    drop(replaced);
    assert_eq!(first.objects(), 0);
}

#[test]
fn no_handle_is_had_of_what_has_ended() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let mut reader = cached.reader();
    let (mine, threads) = (reader.load(), cached.load());
    cached.store(new.clone());
    assert!(Guard::upgrade(&mine).is_none() && RcuGuard::upgrade(&threads).is_none());
    assert!(cached.load_full().is(&new), "of the current one there is");
    mine.check();
    threads.check();
}

#[test]
fn the_last_value_goes_with_the_last_handle_or_reader() {
    for reads in [false, true] {
        let token = Token::new();
        let cached = RcuCell::new(token.clone());
        let (other, mut reader) = (cached.clone(), cached.reader());
        if reads {
            cached.load().check();
            reader.load().check();
        }
        drop(cached);
        other.load().check();
        drop(other);
        reader.load().check();
        let mut second = reader.clone();
        drop(reader);
        second.load().check();
        let strong = reads.then(|| Guard::upgrade(&second.load()).unwrap());
        drop(second);
        assert_eq!(token.objects(), usize::from(reads), "the handle to the value alone");
        drop(strong);
        assert_eq!(token.objects(), 0);
    }
}

#[test]
fn an_update_is_tried_again_where_another_was_faster() {
    let cached = RcuCell::new(vec![0]);
    let mut tries = 0;
    cached.rcu(|old| {
        tries += 1;
        if tries <= 2 {
            cached.rcu(|old| [&old[..], &[-1]].concat());
        }
        [&old[..], &[1]].concat()
    });
    assert_eq!((tries, &cached.load()[..]), (3, &[0, -1, -1, 1][..]));
    assert_eq!(cached.stats().local_handles, 1, "that of this thread");
}

#[test]
fn an_update_that_panics_changes_nothing() {
    let token = Token::new();
    let cached = RcuCell::new(token.clone());
    assert_eq!(panics(|| cached.rcu(|_| panic!("in update"))), "in update");
    assert!(cached.load().is(&token));
    cached.rcu(Token::clone);
    assert_eq!((token.objects(), cached.stats().retired), (1, 1));
}

#[test]
fn a_destructor_may_read_and_store_the_same_cached() {
    let token = Token::new();
    let cached = Arc::new(RcuCell::new(Last::idle(&token)));
    // The `RcuCell` must not have itself in a value that stays.
    let (weak, inner) = (Arc::downgrade(&cached), token.clone());
    cached.store(Last::acts(&token, move || {
        let cached = weak.upgrade().expect("it is being used");
        let guard = cached.load();
        assert!(guard.at_drop.is_none(), "the newest");
        cached.store(Last::idle(&inner));
        guard.token.check();
        cached.rcu(|old| Last::idle(&old.token));
        cached.load_full().token.check();
    }));
    let mut reader = cached.reader();
    let (mine, threads) = (reader.load(), cached.load());
    cached.store(Last::idle(&token));
    assert!(mine.at_drop.is_some());
    drop(mine);
    // The destructor runs where this thread's own place has just been left.
    drop(threads);
    reader.load().token.check();
    assert!(cached.load().at_drop.is_none());
    // The closure has gone, too.
    assert_eq!((token.objects(), cached.stats().retired), (1, 4));
}

#[test]
fn a_destructor_that_panics_leaves_cached_and_reader_in_order() {
    let token = Token::new();
    let armed = || Last::panics(&token);
    let cached = RcuCell::new(armed());
    assert_eq!(panics(|| cached.store(armed())), "in drop");
    let mut reader = cached.reader();
    let guard = reader.load();
    cached.store(armed());
    assert_eq!(panics(|| drop(guard)), "in drop");
    let guard = cached.load();
    let nested = cached.load();
    cached.store(armed());
    drop(guard);
    assert_eq!(panics(|| drop(nested)), "in drop");
    mem::forget(reader.load());
    cached.store(Last::idle(&token));
    assert_eq!(panics(|| drop(reader.load())), "in drop", "the read gives back what was forgotten");
    reader.load().token.check();
    cached.load().token.check();
    assert_eq!(
        (token.objects(), cached.stats().local_handles),
        (1, 2),
        "the reader's, this thread's"
    );
}

#[test]
fn a_value_may_be_stored_while_it_is_read() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let guard = cached.load();
    let mut reader = cached.reader();
    let mine = reader.load();
    cached.store(new.clone());
    assert!(guard.is(&old) && mine.is(&old));
    let back = cached.swap(Token::clone(&guard));
    assert!(back.is(&new) && cached.load().is(&old));
    assert_eq!(old.objects(), 2);
}

#[test]
fn more_threads_than_bits_read_at_once() {
    const THREADS: usize = 100;
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let all = Arc::new(Barrier::new(THREADS + 1));
    let threads = Vec::from_iter((0..THREADS).map(|_| {
        let (cached, all, old, new) = (cached.clone(), Arc::clone(&all), old.clone(), new.clone());
        thread::spawn(move || {
            let guard = cached.load();
            all.wait();
            all.wait();
            assert!(guard.is(&old) && cached.load().is(&new));
            drop(guard);
            assert!(cached.load().is(&new));
        })
    }));
    all.wait();
    assert_eq!(cached.stats().local_handles, THREADS);
    cached.store(new.clone());
    assert_eq!(figures(&cached.stats()), [1, 1, 0, THREADS as u64]);
    all.wait();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((old.objects(), new.objects()), (0, 1));
}

#[test]
fn a_value_is_stored_in_the_place_of_the_one_that_was_seen() {
    let values = [(); 3].map(|()| Token::new());
    let cached = RcuCell::new(values[0].clone());
    let mut reader = cached.reader();
    let (seen, other) = (reader.load(), RcuCell::new(values[0].clone()));
    assert!(other.compare_exchange(&seen, values[1].clone()).is_err(), "it is another one's");
    assert!(cached.compare_exchange(&values[0], values[1].clone()).is_err(), "an equal one");
    assert!(cached.compare_exchange(&seen, values[1].clone()).is_ok());
    let back = cached.compare_exchange(&seen, values[2].clone()).expect_err("it was replaced");
    assert!(back.is(&values[2]) && seen.is(&values[0]) && cached.load().is(&values[1]));
    drop((seen, other, back));
    assert_eq!(values.each_ref().map(Token::objects), [0, 1, 0]);
    let guard = cached.load();
    assert!(cached.compare_exchange(&guard, values[2].clone()).is_ok());
    drop(guard);
    assert_eq!(values.each_ref().map(Token::objects), [0, 0, 1]);
}

#[test]
fn a_part_of_a_value_keeps_it() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new((1, old.clone()));
    let mut reader = cached.reader();
    let part = RcuGuard::map(cached.load(), |value| &value.1);
    let of_reader = Guard::map(reader.load(), |value| &value.1);
    cached.store((2, new.clone()));
    assert!(part.is(&old) && of_reader.is(&old));
    drop(part);
    thread::scope(|scope| scope.spawn(|| drop(of_reader)).join().unwrap());
    assert_eq!((old.objects(), new.objects()), (0, 1));
}

#[test]
fn threads_that_come_after_others_use_their_places() {
    let cached = RcuCell::new(0);
    // Other tests of this process have threads with numbers, too.
    let mut most = 0;
    for value in 1..300 {
        let theirs = cached.clone();
        let read = thread::spawn(move || {
            let outer = theirs.load();
            (*outer, *theirs.load())
        });
        assert_eq!(read.join().unwrap(), (value - 1, value - 1));
        cached.store(value);
        most = most.max(cached.stats().local_handles);
    }
    assert!(most < 250, "{most} local handles for one thread at a time");
}

/// Before and after the thread has lost its number.
#[test]
fn destructors_of_thread_locals_read_and_store() {
    for reads_first in [false, true] {
        let values = [(); 3].map(|()| Token::new());
        let cached = RcuCell::new(values[0].clone());
        let (theirs, stored) = (cached.clone(), [values[1].clone(), values[2].clone()]);
        let seen = Arc::new(OnceLock::new());
        let told = Arc::clone(&seen);
        thread::spawn(move || {
            let read = |cached: &RcuCell<Token>| cached.load().check();
            if reads_first {
                read(&theirs);
            }
            let at_last = theirs.clone();
            at_end(move || {
                let [second, third] = &stored;
                let outer = at_last.load();
                at_last.store(second.clone());
                let nested = at_last.load();
                at_last.store(third.clone());
                assert!(nested.is(second) && at_last.load().is(third));
                outer.check();
                drop((outer, nested));
                told.set(()).unwrap();
            });
            read(&theirs);
        })
        .join()
        .unwrap();
        assert!(seen.get().is_some(), "the destructor has run");
        assert_eq!(values.each_ref().map(Token::objects), [0, 0, 1]);
        assert!(cached.load().is(&values[2]));
    }
}

#[test]
fn a_thread_that_ends_keeps_nothing() {
    let [old, new] = [Token::new(), Token::new()];
    let cached = RcuCell::new(old.clone());
    let theirs = cached.clone();
    let reader: RcuReader<Token> = thread::spawn(move || {
        theirs.load().check();
        let mut reader = theirs.reader();
        reader.load().check();
        reader
    })
    .join()
    .unwrap();
    cached.store(new.clone());
    assert_eq!(old.objects(), 0);
    drop(cached);
    assert_eq!(new.objects(), 1, "the reader's");
    drop(reader);
    assert_eq!(new.objects(), 0);
}
