//! Threads that end with local handles, local handles that change threads, and thread-locals.

use crate::support::{AtDrop, Kind, Token, Worker, at_exit, domain, figures};
use std::mem::ManuallyDrop;
use std::thread;
use tenure::lazy::Context;
use tenure::memory::{Native, Threads};

fn on_a_thread<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    thread::spawn(body).join().unwrap()
}

fn what_a_thread_kept_that_is_no_more_goes_as_what_a_parked_one_keeps<S: Kind>() {
    let (token, domain) = domain::<S>();
    let context = domain.context(token.clone());
    let (theirs, handle) = (domain.clone(), context.clone());
    // Leaked, for the thread; kept, so that a leak checker finds it.
    let left_behind = on_a_thread(move || {
        let mut worker = ManuallyDrop::new(Worker::new(&theirs));
        worker.enter(&handle);
        worker.leave();
        worker
    });
    drop(context);
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
    let context = domain.context(token.clone());
    let (theirs, handle) = (domain.clone(), context.clone());
    let mut left_behind = on_a_thread(move || {
        let mut worker = Worker::new(&theirs);
        worker.enter(&handle);
        worker
    });
    drop(context);
    left_behind.value().expect("the guard is out").check();
    left_behind.leave();
    assert_eq!(token.objects(), usize::from(S::KEEPS));
    assert_eq!(left_behind.lazy(), S::KEEPS);
    drop(left_behind);
    assert_eq!(token.objects(), 0);
}

fn a_worker_goes_from_thread_to_thread_while_it_is_used<S: Kind>() {
    let (token, domain) = domain::<S>();
    let mut worker = Worker::new(&domain);
    for turn in 0..60 {
        let context = domain.context(token.clone());
        worker.enter(&context);
        // The last handle goes before, on, or after the other thread.
        let mut handle = Some(context);
        if turn % 3 == 0 {
            handle = None;
        }
        (worker, handle) = on_a_thread(move || {
            worker.value().expect("the guard is out").check();
            if turn % 3 == 1 {
                handle = None;
            }
            if turn % 2 == 0 {
                worker.leave();
                assert_eq!(worker.lazy(), S::KEEPS || handle.is_some());
            }
            (worker, handle)
        });
        if let Some(value) = worker.value() {
            value.check();
        }
        drop(handle);
    }
    drop(worker);
    assert_eq!((token.objects(), domain.statistics().retired), (0, 60));
}

fn numbers_of_threads_have_nothing_to_do_with_workers<S: Kind>() {
    let (token, domain) = domain::<S>();
    let context = domain.context(token.clone());
    for _ in 0..100 {
        let (theirs, handle) = (domain.clone(), context.clone());
        on_a_thread(move || {
            let mut locals = [(); 3].map(|()| theirs.register());
            for local in &mut locals {
                local.enter(&handle).check();
            }
        });
        assert_eq!(domain.statistics().local_handles, 0);
    }
    let number = format!("{:?}", domain.register());
    assert!(["0", "1", "2"].iter().any(|slot| number.contains(slot)), "{number}: slots are reused");
    drop(context);
    assert_eq!((token.objects(), figures(&domain.statistics())), (0, [1, 0, 0, 0]));
}

/// Thread-locals go in the reverse order of their first use: a thread that asks for its number later, if at all, has
/// none when these go.
fn what_thread_locals_have_goes_with_the_thread<S: Kind>() {
    for (worker_first, has_number) in [(false, false), (false, true), (true, false), (true, true)] {
        let (token, domain) = domain::<S>();
        let (theirs, context) = (domain.clone(), domain.context(token.clone()));
        let mut mine = domain.register();
        drop(mine.enter(&context));
        on_a_thread(move || {
            if has_number {
                assert!(Native::thread().is_some());
            }
            let mut worker = Worker::new(&theirs);
            worker.enter(&context);
            if worker_first {
                at_exit(worker);
                at_exit(context);
            } else {
                at_exit(context);
                at_exit(worker);
            }
            assert!(Native::thread().is_some());
            at_exit(AtDrop(move || assert_eq!(Native::thread().is_some(), has_number)));
        });
        assert_eq!(token.objects(), usize::from(S::KEEPS), "another local handle keeps it");
        assert_eq!(domain.statistics().local_handles, 1);
        drop(mine);
        assert_eq!((token.objects(), domain.statistics().retired), (0, 1));
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
            at_exit(AtDrop(move || {
                let mut locals = [(); 2].map(|()| theirs.register());
                let contexts = Vec::from_iter((0..5).map(|_| theirs.context(inner.clone())));
                drop(locals[0].enter(&contexts[0]));
                let guard = locals[1].enter(&contexts[1]);
                theirs.drop_all(contexts);
                guard.check();
            }));
            assert!(Native::thread().is_some());
        });
        assert_eq!((token.objects(), domain.statistics().retired), (0, 5));
        assert_eq!(domain.statistics().local_handles, 0);
    }
}

/// Each with the last handle of what the next one's local handle keeps.
fn threads_that_end_at_once_end_each_others_objects<S: Kind>() {
    const THREADS: usize = 16;
    let (token, domain) = domain::<S>();
    for _ in 0..10 {
        let contexts: [Context<Token, S>; THREADS] =
            std::array::from_fn(|_| domain.context(token.clone()));
        let mut workers = Vec::from_iter((0..THREADS).map(|_| Worker::new(&domain)));
        for (at, worker) in workers.iter_mut().enumerate() {
            worker.enter(&contexts[(at + 1) % THREADS]);
            if at % 2 == 0 {
                worker.leave();
            }
        }
        let threads = Vec::from_iter(contexts.into_iter().zip(workers).map(|(context, worker)| {
            thread::spawn(move || {
                at_exit(context);
                at_exit(worker);
                Native::thread()
            })
        }));
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap().is_some()));
        assert_eq!(token.objects(), 0);
    }
    assert_eq!(domain.statistics().retired, 10 * THREADS as u64);
}

claims! {
    what_a_thread_kept_that_is_no_more_goes_as_what_a_parked_one_keeps,
    a_thread_that_ends_in_the_middle_of_a_use_keeps_the_object,
    a_worker_goes_from_thread_to_thread_while_it_is_used,
    numbers_of_threads_have_nothing_to_do_with_workers,
    what_thread_locals_have_goes_with_the_thread,
    destructors_of_thread_locals_use_domains,
    threads_that_end_at_once_end_each_others_objects,
}
