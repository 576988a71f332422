//! Forgotten guards and local handles: what they used may leak, until the local handle is used again; nothing is
//! unsound.
//!
//! What is forgotten here is freed in the end, so that a leak checker sees only what leaks without reason.

use crate::support::{Kind, Token, domain, registered};
use std::mem::{self, ManuallyDrop};
use tenure::rcu::RcuCell;
use tenure::revocable::{Guard, Strong};

/// Each way to use a local handle again, and whether it may keep the object that it had.
const USES: [(&str, bool); 4] =
    [("kept", true), ("enter", false), ("clear", false), ("drop", false)];

fn a_forgotten_guard_keeps_its_object_until_the_worker_is_used_again<S: Kind>() {
    for lazily in [false, true] {
        for (how, may_keep) in USES {
            let (token, domain) = domain::<S>();
            let (strong, other) = (domain.strong(token.clone()), domain.strong(Token::new()));
            let mut local = domain.register();
            drop(local.enter(&strong));
            if lazily {
                mem::forget(local.kept());
            } else {
                mem::forget(local.enter(&strong));
            }
            drop(strong);
            assert_eq!(token.objects(), 1, "that the guard is gone is not known");
            match how {
                "kept" => assert_eq!(local.kept().is_some(), S::KEEPS),
                "enter" => drop(local.enter(&other)),
                "clear" => local.clear(),
                _ => drop(mem::replace(&mut local, domain.register())),
            }
            let kept = usize::from(S::KEEPS && may_keep);
            assert_eq!(token.objects(), kept, "{how} again, lazily: {lazily}");
            drop(local.enter(&other));
            assert_eq!(token.objects(), 0);
        }
    }
}

fn a_worker_goes_on_after_a_forgotten_guard<S: Kind>() {
    let (token, domain, strong, mut local) = registered::<S>();
    for turn in 0..20 {
        mem::forget(local.enter(&strong));
        if turn % 2 == 0 {
            local.kept().expect("there is a handle").check();
        }
        if turn % 3 == 0 {
            mem::forget(local.kept());
        }
        local.enter(&strong).check();
    }
    drop(strong);
    local.clear();
    assert_eq!(token.objects(), 0);
    let said = domain.stats();
    assert_eq!((said.retired, said.donated), (1, 0), "the last guard has left");
}

fn a_guard_may_be_forgotten_after_the_last_handle_is_gone<S: Kind>() {
    let (token, _, strong, mut local) = registered::<S>();
    let guard = local.enter(&strong);
    drop(strong);
    mem::forget(guard);
    assert_eq!(token.objects(), 1);
    assert_eq!(local.kept().is_some(), S::KEEPS);
    local.clear();
    assert_eq!(token.objects(), 0);
}

fn a_forgotten_worker_keeps_what_a_parked_one_keeps<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let mut local = ManuallyDrop::new(domain.register());
    drop(local.enter(&strong));
    drop(strong);
    assert_eq!(token.objects(), usize::from(S::KEEPS));
    assert_eq!(domain.stats().local_handles, 1, "its slot stays taken");
    drop(ManuallyDrop::into_inner(local));
    assert_eq!((token.objects(), domain.stats().local_handles), (0, 0));
}

fn a_forgotten_worker_and_guard_keep_the_object_alone<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let mut local = ManuallyDrop::new(domain.register());
    mem::forget(local.enter(&strong));
    drop(strong);
    assert_eq!(token.objects(), 1);
    let (others, mut other) = (domain.strong(token.clone()), domain.register());
    drop(other.enter(&others));
    drop((others, other));
    assert_eq!(token.objects(), 1);
    drop(ManuallyDrop::into_inner(local));
    assert_eq!(token.objects(), 0);
}

claims! {
    a_forgotten_guard_keeps_its_object_until_the_worker_is_used_again,
    a_worker_goes_on_after_a_forgotten_guard,
    a_guard_may_be_forgotten_after_the_last_handle_is_gone,
    a_forgotten_worker_keeps_what_a_parked_one_keeps,
    a_forgotten_worker_and_guard_keep_the_object_alone,
}

#[test]
fn a_forgotten_read_guard_keeps_its_value_until_the_reader_reads_again() {
    for drops_reader in [false, true] {
        let (token, next) = (Token::new(), Token::new());
        let cached = RcuCell::new(token.clone());
        let mut reader = cached.reader();
        mem::forget(reader.load());
        cached.store(next.clone());
        assert_eq!(token.objects(), 1);
        if drops_reader {
            drop(reader);
        } else {
            reader.load().check();
        }
        assert_eq!(token.objects(), 0);
        drop(cached);
        assert_eq!(next.objects(), usize::from(!drops_reader), "the reader keeps the newest");
    }
}

#[test]
fn a_thread_that_forgot_a_guard_reads_by_other_workers() {
    let (token, next) = (Token::new(), Token::new());
    let cached = RcuCell::new(token.clone());
    let kept = ManuallyDrop::new(cached.load());
    assert_eq!(cached.stats().local_handles, 1);
    for _ in 0..10 {
        cached.load().check();
        assert_eq!(cached.stats().local_handles, 1, "the local handle is given back");
    }
    cached.store(next.clone());
    assert!(cached.load().is(&next));
    kept.check();
    assert_eq!(token.objects(), 1);
    drop(ManuallyDrop::into_inner(kept));
    assert_eq!(token.objects(), 0);
    drop(cached);
    assert_eq!(next.objects(), 0);
}

#[test]
fn a_reader_may_forget_what_it_read_and_give_a_handle() {
    let (token, next) = (Token::new(), Token::new());
    let cached = RcuCell::new(token.clone());
    let mut reader = cached.reader();
    let guard = reader.load();
    let strong: Strong<Token> = Guard::upgrade(&guard).unwrap();
    mem::forget(guard);
    cached.store(next.clone());
    strong.check();
    drop(strong);
    assert_eq!(token.objects(), 1, "the forgotten guard's");
    drop(reader);
    assert_eq!(token.objects(), 0);
}
