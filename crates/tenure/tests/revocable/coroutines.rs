//! Stackful coroutines that are suspended in destructors: on one thread, calls do not end in the order in which they began.

use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, RefCell};
use std::process::Command;
use std::rc::Rc;
use std::{env, thread};
use tenure::revocable::generic::{Domain, Mask, Scheme, Shootdown};

type Routine = Coroutine<(), (), ()>;

/// A destructor that suspends its coroutine.
struct Suspends<'y>(&'y Yielder<(), ()>);

impl Drop for Suspends<'_> {
    fn drop(&mut self) {
        self.0.suspend(());
    }
}

/// A destructor that goes on with a coroutine.
struct Resumes(RefCell<Routine>);

impl Drop for Resumes {
    fn drop(&mut self) {
        self.0.get_mut().resume(());
    }
}

fn suspended(act: impl FnOnce(&Yielder<(), ()>) + 'static) -> Routine {
    let mut routine = Routine::new(move |yielder, ()| act(yielder));
    assert!(routine.resume(()).as_yield().is_some(), "it is suspended");
    routine
}

/// In the destructor of an object of a domain of its own.
fn in_a_destructor<S: Scheme>() -> Routine {
    suspended(|yielder| drop(Domain::<_, S>::new_in().strong(Suspends(yielder))))
}

fn of_each_scheme(test: [fn(); 2]) {
    test.iter().for_each(|test| test());
}

/// Memory that is used again at the address of a coroutine's stack would show that the thread still has that.
fn others_end<S: Scheme>() {
    for _ in 0..3 {
        let (ended, domain) = (Rc::new(Cell::new(0)), Domain::<_, S>::new_in());
        drop(domain.strong(Counts(ended.clone())));
        assert_eq!(ended.get(), 1);
        drop(in_a_destructor::<S>());
    }
}

struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn a_destructor_that_began_earlier_ends_in_a_later_one_in<S: Scheme>() {
    let resumes = Resumes(RefCell::new(in_a_destructor::<S>()));
    drop(Domain::<_, S>::new_in().strong(resumes));
    others_end::<S>();
}

#[test]
fn a_destructor_that_began_earlier_ends_in_a_later_one() {
    of_each_scheme([
        a_destructor_that_began_earlier_ends_in_a_later_one_in::<Shootdown>,
        a_destructor_that_began_earlier_ends_in_a_later_one_in::<Mask>,
    ]);
}

fn destructors_end_in_any_order_in<S: Scheme>() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut routines = [(); 3].map(|()| in_a_destructor::<S>());
        for nth in order {
            assert!(routines[nth].resume(()).as_return().is_some());
            others_end::<S>();
        }
    }
}

#[test]
fn destructors_end_in_any_order() {
    of_each_scheme([
        destructors_end_in_any_order_in::<Shootdown>,
        destructors_end_in_any_order_in::<Mask>,
    ]);
}

fn an_object_waits_for_a_suspended_destructor_of_its_domain_in<S: Scheme>() {
    enum Object {
        Suspends(*const Yielder<(), ()>),
        Counts(Rc<Cell<u32>>),
    }
    impl Drop for Object {
        fn drop(&mut self) {
            match self {
                // SAFETY: the coroutine, in which this object ends, has it.
                Self::Suspends(yielder) => unsafe { &**yielder }.suspend(()),
                Self::Counts(ended) => ended.set(ended.get() + 1),
            }
        }
    }

    let (domain, ended) = (Domain::<Object, S>::new_in(), Rc::new(Cell::new(0)));
    let of_routine = domain.clone();
    let mut routine = suspended(move |yielder| drop(of_routine.strong(Object::Suspends(yielder))));
    drop(domain.strong(Object::Counts(ended.clone())));
    assert_eq!(ended.get(), 0);
    routine.resume(());
    assert_eq!(ended.get(), 1);
    drop(domain.strong(Object::Counts(ended.clone())));
    assert_eq!(ended.get(), 2);
}

#[test]
fn an_object_waits_for_a_suspended_destructor_of_its_domain() {
    of_each_scheme([
        an_object_waits_for_a_suspended_destructor_of_its_domain_in::<Shootdown>,
        an_object_waits_for_a_suspended_destructor_of_its_domain_in::<Mask>,
    ]);
}

#[test]
fn a_coroutine_that_is_dropped_in_a_destructor_ends_it() {
    let (first, second) = (in_a_destructor::<Shootdown>(), in_a_destructor::<Shootdown>());
    drop(first);
    others_end::<Shootdown>();
    drop(second);
    others_end::<Shootdown>();
}

/// As a library does that moves its coroutines from thread to thread.
struct Moved(Routine);
// SAFETY: none. The process is to end before anything comes of it.
unsafe impl Send for Moved {}

#[test]
fn a_coroutine_that_moves_to_another_thread_in_a_destructor_ends_the_process() {
    const IN_CHILD: &str = "TENURE_TEST_OF_COROUTINES";
    if env::var_os(IN_CHILD).is_some() {
        let moved = Moved(in_a_destructor::<Shootdown>());
        let _ = thread::spawn(move || { moved }.0.resume(())).join();
        eprintln!("it was not noticed");
        std::process::exit(0);
    }
    let test =
        "coroutines::a_coroutine_that_moves_to_another_thread_in_a_destructor_ends_the_process";
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(said.contains("must be resumed on the same thread"), "{said}");
    assert!(!said.contains("it was not noticed") && child.status.code().is_none(), "{said}");
}
