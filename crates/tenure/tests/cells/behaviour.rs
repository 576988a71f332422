//! Owners and the pointers that they give out.

use crate::at_end::at_end;
use crate::waits::{Waits, waker_that_panics};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use tenure::memory::{Native, Threads};
use tenure::owner::{Closing, Owner, Shared};
use tenure::unsize;

/// Says how many of its kind are there.
struct Token(Arc<()>);

impl Token {
    fn new() -> (Self, impl Fn() -> usize) {
        let token = Arc::new(());
        let count = Arc::clone(&token);
        (Self(token), move || Arc::strong_count(&count) - 1)
    }
}

#[test]
fn the_value_goes_with_the_owner_if_nothing_is_shared() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    drop(owner.share());
    assert_eq!(there(), 1);
    drop(owner);
    assert_eq!(there(), 0);
}

#[test]
fn the_value_outlives_its_owner_up_to_the_last_handle() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = owner.share();
    drop(owner);
    let other = shared.clone();
    assert!(Shared::ptr_eq(&shared, &other));
    drop(shared);
    assert_eq!((there(), Arc::strong_count(&other.0)), (1, 2));
    drop(other);
    assert_eq!(there(), 0);
}

#[test]
fn a_handle_in_a_thread_local_is_dropped_when_the_thread_has_no_number_any_more() {
    let (token, there) = Token::new();
    let owner = Arc::new(Owner::new(token));
    let (shared, theirs) = (owner.share(), Arc::clone(&owner));
    thread::spawn(move || {
        // Before the thread has its number, so that it is dropped after that.
        at_end(move || drop((shared.clone(), theirs.try_share().expect("it is open"))));
        assert!(Native::thread().is_some());
    })
    .join()
    .unwrap();
    assert_eq!(there(), 1);
    drop(owner);
    assert_eq!(there(), 0);
}

#[test]
fn many_owners_are_dropped_at_once() {
    let (tokens, there): (Vec<_>, Vec<_>) = (0..10).map(|_| Token::new()).unzip();
    let owners = Vec::from_iter(tokens.into_iter().map(Owner::new));
    let shared = owners[3].share();
    Owner::drop_all(owners);
    let left = || there.iter().map(|there| there()).sum::<usize>();
    assert_eq!((left(), there[3]()), (1, 1));
    drop(shared);
    assert_eq!(left(), 0);
    Owner::<u8>::drop_all([]);
}

struct Panics(#[expect(dead_code)] Token);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("the destructor's");
    }
}

#[test]
fn a_destructor_that_panics_leaks_nothing_and_is_waited_for() {
    let ends: [fn(Owner<Panics>); 3] = [
        drop,
        |owner| Owner::drop_all([owner]),
        |owner| {
            let shared = owner.share();
            let closing = owner.close();
            drop(owner);
            let panics = catch_unwind(AssertUnwindSafe(|| drop(shared)));
            closing.wait();
            panics.unwrap_or_else(|panic| resume_unwind(panic));
        },
    ];
    for end in ends {
        let (token, there) = Token::new();
        let owner = Owner::new(Panics(token));
        assert!(catch_unwind(AssertUnwindSafe(|| end(owner))).is_err());
        assert_eq!(there(), 0);
    }
}

#[test]
fn closing_is_ready_when_the_value_has_been_dropped() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = owner.share();
    let mut closing = Waits::queued(owner.close());
    let first = Arc::clone(&closing.woken);
    closing.moves_to_another_task();
    drop(shared);
    assert_eq!((there(), first.times()), (0, 0), "the last waker is woken");
    closing.result();
}

#[test]
fn a_thread_waits_for_the_end_and_not_without_one() {
    Owner::new(1).close().wait();
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = owner.share();
    let holder = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        drop(shared);
    });
    owner.close().wait();
    assert_eq!(there(), 0);
    holder.join().unwrap();
}

/// When it is woken or dropped, it stops waiting for another end.
struct StopsWaiting(Mutex<Option<Closing>>);

impl Wake for StopsWaiting {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn a_waker_may_use_the_owner_that_wakes_or_drops_it() {
    let owner = Owner::new(1);
    let shared = owner.share();
    let [mut replaced, mut woken] = [(); 2].map(|()| owner.close());
    for closing in [&mut replaced, &mut woken] {
        let waker = Waker::from(Arc::new(StopsWaiting(Mutex::new(Some(owner.close())))));
        let poll = pin!(closing).poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
    }
    assert!(pin!(replaced).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(shared);
    assert!(pin!(woken).poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn a_closed_owner_shares_nothing_and_the_value_goes_without_it() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = owner.try_share().expect("it is open");
    drop(owner.close());
    assert!(owner.try_share().is_none());
    let elsewhere = thread::scope(|scope| scope.spawn(|| owner.try_share().is_none()).join());
    assert!(elsewhere.unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| owner.share())).is_err());
    let second = owner.close();
    assert_eq!(there(), 1);
    drop(shared);
    assert_eq!(there(), 0, "the owner is there, the value is not");
    second.wait();
    owner.close().wait();
    assert!(owner.try_share().is_none());
    drop(owner);
    assert_eq!(there(), 0);
}

#[test]
fn a_closed_owner_says_so() {
    let owner = Owner::new(5);
    assert_eq!(format!("{owner:?}"), "Owner(Some(5))");
    assert_eq!(serde_json::to_string(&owner).unwrap(), "5");
    drop(owner.close());
    assert_eq!(format!("{owner:?}"), "Owner(None)");
    let error = serde_json::to_string(&owner).unwrap_err();
    assert_eq!(error.to_string(), "the owner is closed");
    let read: Owner<[u8]> = serde_json::from_str("[1,2]").unwrap();
    assert_eq!(serde_json::to_string(&read.share()).unwrap(), "[1,2]");
}

#[test]
fn owners_that_were_closed_are_dropped_together_with_others() {
    let (tokens, there): (Vec<_>, Vec<_>) = (0..3).map(|_| Token::new()).unzip();
    let owners = Vec::from_iter(tokens.into_iter().map(Owner::new));
    let kept = [owners[0].share(), owners[1].share()];
    drop(owners[1].close());
    drop(owners[2].close());
    Owner::drop_all(owners);
    assert_eq!(there.iter().map(|there| there()).collect::<Vec<_>>(), [1, 1, 0]);
    drop(kept);
    assert_eq!(there.iter().map(|there| there()).collect::<Vec<_>>(), [0, 0, 0]);
}

#[test]
fn all_who_close_are_woken_but_those_that_stopped_waiting() {
    let owner = Owner::new(());
    let shared = owner.share();
    let closings = [(); 3].map(|()| Waits::queued(owner.close()));
    let wakes = closings.each_ref().map(|closing| Arc::clone(&closing.woken));
    let [first, second, third] = closings;
    drop(second);
    drop(shared);
    assert_eq!(wakes.map(|woken| woken.times()), [1, 0, 1]);
    first.result();
    third.result();
}

#[test]
fn a_waker_that_panics_keeps_no_other_from_being_woken() {
    let owner = Owner::new(());
    let shared = owner.share();
    let first = Waits::queued(owner.close());
    let mut panics = Waits::new(owner.close());
    assert!(panics.poll_by(&waker_that_panics()).is_none());
    let last = Waits::queued(owner.close());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(shared))).is_err());
    first.result();
    last.result();
}

#[test]
fn an_arc_gives_its_value_if_it_is_alone() {
    use tenure::sync::Arc;

    let (token, there) = Token::new();
    let first = Arc::new(token);
    let second = Arc::clone(&first);
    let Err(first) = Owner::<Token>::try_from(first) else { panic!("there is another") };
    drop(second);
    let owner = Owner::<Token>::try_from(first).unwrap_or_else(|_| panic!("it is the only one"));
    assert_eq!(there(), 1);
    drop(owner);
    assert_eq!(there(), 0);
}

#[test]
fn pointers_are_one_word_and_unsized_values_have_them() {
    assert_eq!(size_of::<Shared<[u64; 9]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Owner<u8>>>(), size_of::<usize>());

    let owner = unsize!(Owner::new([1_u16, 2, 3]) => [u16]);
    let shared: Shared<[u16]> = owner.share();
    assert_eq!((shared.len(), shared[2]), (3, 3));
    let shown = unsize!(Owner::new(5_u8).share() => dyn Display);
    assert_eq!(shown.to_string(), "5");

    #[repr(align(256))]
    struct Aligned(#[expect(dead_code)] u8);
    let aligned = unsize!(Owner::new(Aligned(7)) => dyn Send);
    assert!((&raw const *aligned.share()).cast::<Aligned>().is_aligned());
    let boxed: Owner<dyn Display + Send + Sync> =
        Owner::from(Box::<dyn Display + Send + Sync>::from(Box::new("text")));
    assert_eq!(boxed.share().to_string(), "text");
    let text: Owner<str> = Owner::from(Box::<str>::from("boxed"));
    assert_eq!(&*text.share(), "boxed");
    let nothing: Owner<[Token]> = Owner::from(Box::<[Token]>::default());
    assert!(nothing.share().is_empty());
    assert_eq!(*Owner::<u32>::default().share(), 0);
}

#[test]
fn pointers_are_what_their_values_are() {
    let owner = Owner::from(String::from("b"));
    let shared = owner.share();
    let lesser = Owner::new("a".into()).share();
    assert!(*shared == "b" && shared == owner.share() && shared != lesser && shared > lesser);
    assert_eq!((format!("{shared:?}"), shared.to_string()), ("\"b\"".into(), "b".into()));
    assert_eq!(format!("{shared:p}"), format!("{:p}", &raw const *shared));
    assert!(HashSet::from([shared.clone()]).contains(&*owner.share()));
    assert!(BTreeSet::from([shared]).contains(&*owner.share()));
}

#[test]
fn they_are_sent_if_the_value_is_sent_and_shared() {
    fn everything<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    everything::<Owner<String>>();
    everything::<Shared<str>>();
    fn sent<T: Send>() {}
    sent::<Closing>();
    let local = Owner::new(Rc::new(1));
    assert_eq!(**local.share(), 1);
}
