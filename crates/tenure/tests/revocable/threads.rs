//! Threads that end with local handles, local handles that change threads, and thread-locals.

use crate::at_end::at_end;
use crate::support::{Kind, Worker, domain};
use std::mem::ManuallyDrop;
use std::thread;
use tenure::memory::{Native, Threads};

fn on_a_thread<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    thread::spawn(body).join().unwrap()
}

fn what_a_thread_kept_that_is_no_more_goes_as_what_a_parked_one_keeps<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let (theirs, handle) = (domain.clone(), strong.clone());
    // Leaked, for the thread; kept, so that a leak checker finds it.
    let left_behind = on_a_thread(move || {
        let mut worker = ManuallyDrop::new(Worker::new(&theirs));
        worker.enter(&handle);
        worker.leave();
        worker
    });
    drop(strong);
    assert_eq!(
        token.objects(),
        usize::from(S::KEEPS),
        "the thread is gone, its local handle is idle"
    );
    drop(ManuallyDrop::into_inner(left_behind));
    assert_eq!(token.objects(), 0);
}

fn a_thread_that_ends_in_the_middle_of_a_use_keeps_the_object<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let (theirs, handle) = (domain.clone(), strong.clone());
    let mut left_behind = on_a_thread(move || {
        let mut worker = Worker::new(&theirs);
        worker.enter(&handle);
        worker
    });
    drop(strong);
    left_behind.value().expect("the guard is out").check();
    left_behind.leave();
    assert_eq!(token.objects(), usize::from(S::KEEPS));
    assert_eq!(left_behind.kept(), S::KEEPS);
    drop(left_behind);
    assert_eq!(token.objects(), 0);
}

/// Thread-locals go in the reverse order of their first use: a thread that asks for its number later, if at all, has
/// none when these go.
fn what_thread_locals_have_goes_with_the_thread<S: Kind>() {
    for (worker_first, has_number) in [(false, false), (false, true), (true, false), (true, true)] {
        let (token, domain) = domain::<S>();
        let (theirs, strong) = (domain.clone(), domain.strong(token.clone()));
        let mut mine = domain.register();
        drop(mine.enter(&strong));
        on_a_thread(move || {
            if has_number {
                assert!(Native::thread().is_some());
            }
            let mut worker = Worker::new(&theirs);
            worker.enter(&strong);
            if worker_first {
                at_end(move || drop(worker));
                at_end(move || drop(strong));
            } else {
                at_end(move || drop(strong));
                at_end(move || drop(worker));
            }
            assert!(Native::thread().is_some());
            at_end(move || assert_eq!(Native::thread().is_some(), has_number));
        });
        assert_eq!(token.objects(), usize::from(S::KEEPS), "another local handle keeps it");
        assert_eq!(domain.stats().local_handles, 1);
        drop(mine);
        assert_eq!((token.objects(), domain.stats().retired), (0, 1));
    }
}

fn destructors_of_thread_locals_use_domains<S: Kind>() {
    for has_number in [false, true] {
        let (token, domain) = domain::<S>();
        let (theirs, inner) = (domain.clone(), token.clone());
        on_a_thread(move || {
            if has_number {
                assert!(Native::thread().is_some());
            }
            at_end(move || {
                let mut locals = [(); 2].map(|()| theirs.register());
                let strongs = Vec::from_iter((0..5).map(|_| theirs.strong(inner.clone())));
                drop(locals[0].enter(&strongs[0]));
                let guard = locals[1].enter(&strongs[1]);
                theirs.drop_all(strongs);
                guard.check();
            });
            assert!(Native::thread().is_some());
        });
        assert_eq!((token.objects(), domain.stats().retired), (0, 5));
        assert_eq!(domain.stats().local_handles, 0);
    }
}

claims! {
    what_a_thread_kept_that_is_no_more_goes_as_what_a_parked_one_keeps,
    a_thread_that_ends_in_the_middle_of_a_use_keeps_the_object,
    what_thread_locals_have_goes_with_the_thread,
    destructors_of_thread_locals_use_domains,
}
