//! Owners and the pointers that they give out.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
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
    drop(Owner::share(&owner));
    assert_eq!(there(), 1);
    drop(owner);
    assert_eq!(there(), 0);
}

#[test]
fn the_value_outlives_its_owner_up_to_the_last_handle() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = Owner::share(&owner);
    drop(owner);
    let other = shared.clone();
    assert!(Shared::ptr_eq(&shared, &other));
    drop(shared);
    assert_eq!((there(), Arc::strong_count(&other.0)), (1, 2));
    drop(other);
    assert_eq!(there(), 0);
}

#[test]
fn handles_are_cloned_and_dropped_on_any_thread() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let (sender, receiver) = channel::<Shared<Token>>();
    let clones = thread::spawn({
        let shared = Owner::share(&owner);
        move || (0..100).for_each(|_| sender.send(shared.clone()).unwrap())
    });
    let drops = thread::spawn(move || receiver.into_iter().map(drop).count());
    drop(owner);
    clones.join().unwrap();
    assert_eq!(drops.join().unwrap(), 100);
    assert_eq!(there(), 0);
}

#[test]
fn a_handle_in_a_thread_local_is_dropped_when_the_thread_has_no_number_any_more() {
    thread_local! {
        static KEPT: OnceLock<Shared<Token>> = const { OnceLock::new() };
    }
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = Owner::share(&owner);
    thread::spawn(move || {
        // Before the thread has its number, so that it is dropped after that.
        KEPT.with(|kept| drop(kept.set(shared)));
        KEPT.with(|kept| drop(kept.get().cloned()));
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
    let shared = Owner::share(&owners[3]);
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
    let drops = |drop: fn(Owner<Panics>, Owner<Panics>)| {
        let ((one, one_there), (two, two_there)) = (Token::new(), Token::new());
        let owners = (Owner::new(Panics(one)), Owner::new(Panics(two)));
        let panics = catch_unwind(AssertUnwindSafe(|| drop(owners.0, owners.1)));
        (panics.is_err(), one_there(), two_there())
    };
    assert_eq!(
        drops(|one, two| {
            std::mem::forget(two);
            drop(one);
        }),
        (true, 0, 1)
    );
    let shared_then_dropped = |one: Owner<Panics>, two| {
        std::mem::forget(two);
        let shared = Owner::share(&one);
        let closing = Owner::close(one);
        let panics = catch_unwind(AssertUnwindSafe(|| drop(shared)));
        closing.wait();
        assert!(panics.is_ok());
    };
    assert_eq!(drops(shared_then_dropped), (true, 0, 1));
}

struct Wakes(Mutex<u32>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn closing_is_ready_when_the_value_has_been_dropped() {
    let (token, there) = Token::new();
    let owner = Owner::new(token);
    let shared = Owner::share(&owner);
    let mut closing = pin!(Owner::close(owner));
    let wakes = [(); 2].map(|()| Arc::new(Wakes(Mutex::new(0))));
    let [first, second] = wakes.each_ref().map(|wakes| Waker::from(Arc::clone(wakes)));
    assert_eq!(closing.as_mut().poll(&mut Context::from_waker(&first)), Poll::Pending);
    assert_eq!(closing.as_mut().poll(&mut Context::from_waker(&second)), Poll::Pending);
    drop(shared);
    assert_eq!(there(), 0);
    assert_eq!(wakes.map(|wakes| *wakes.0.lock().unwrap()), [0, 1], "the last waker is woken");
    assert_eq!(closing.poll(&mut Context::from_waker(&first)), Poll::Ready(()));
}

#[test]
fn a_thread_waits_for_the_end_and_not_without_one() {
    Owner::close(Owner::new(1)).wait();
    let owner = Owner::new(2);
    let shared = Owner::share(&owner);
    let holder = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        *shared
    });
    Owner::close(owner).wait();
    assert_eq!(holder.join().unwrap(), 2);
}

#[test]
fn pointers_are_one_word_and_unsized_values_have_them() {
    assert_eq!(size_of::<Shared<[u64; 9]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Owner<u8>>>(), size_of::<usize>());

    let owner = unsize!(Owner::new([1_u16, 2, 3]) => [u16]);
    let shared: Shared<[u16]> = Owner::share(&owner);
    assert_eq!((shared.len(), shared[2]), (3, 3));
    let shown = unsize!(Owner::share(&Owner::new(5_u8)) => dyn Display);
    assert_eq!(shown.to_string(), "5");

    #[repr(align(256))]
    struct Aligned(#[expect(dead_code)] u8);
    let aligned = unsize!(Owner::new(Aligned(7)) => dyn Send);
    assert!((&raw const *aligned).cast::<Aligned>().is_aligned());
    let boxed: Owner<dyn Display + Send + Sync> =
        Owner::from(Box::<dyn Display + Send + Sync>::from(Box::new("text")));
    assert_eq!(Owner::share(&boxed).to_string(), "text");
    let text: Owner<str> = Owner::from(Box::<str>::from("boxed"));
    assert_eq!(&*Owner::share(&text), "boxed");
    let nothing: Owner<[Token]> = Owner::from(Box::<[Token]>::default());
    assert!(nothing.is_empty());
    assert_eq!(*Owner::<u32>::default(), 0);
}

#[test]
fn pointers_are_what_their_values_are() {
    let owner = Owner::from(String::from("b"));
    let shared = Owner::share(&owner);
    assert!(*shared == "b" && shared == Owner::share(&owner) && owner > Owner::new("a".into()));
    assert_eq!((format!("{shared:?}"), shared.to_string()), ("\"b\"".into(), "b".into()));
    assert_eq!(format!("{shared:p}"), format!("{:p}", &raw const *owner));
    assert!(HashSet::from([shared.clone()]).contains(&*owner));
    assert!(BTreeSet::from([shared]).contains(&*owner));
}

#[test]
fn they_are_sent_if_the_value_is_sent_and_shared() {
    fn everything<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    everything::<Owner<String>>();
    everything::<Shared<str>>();
    fn sent<T: Send>() {}
    sent::<Closing>();
    let local = Owner::new(Rc::new(1));
    assert_eq!(**Owner::share(&local), 1);
}
