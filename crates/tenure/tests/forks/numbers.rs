//! Numbers of real threads: what a fork makes of them.
#![cfg(all(unix, feature = "std", not(miri)))]

#[path = "support/at_end.rs"]
mod at_end;
#[path = "support/forks.rs"]
mod forks;

use at_end::at_end;
use forks::{AtEnd, expect_well, in_child};
use std::cell::Cell;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use tenure::memory::{Native, Resident, Threads};

struct Nothing;

impl Resident for Nothing {
    unsafe fn leave(&self, _thread: usize) {}
}

#[test]
fn a_thread_that_forks_is_not_lost_though_it_asked_for_its_number_later() {
    let resident: Arc<dyn Resident> = Arc::new(Nothing);
    let forked = thread::spawn(move || {
        Native::at_exit(Arc::downgrade(&resident));
        in_child(|| {
            let number = Native::thread().expect("the thread lives");
            assert!(!Native::is_lost(number));
        })
    });
    expect_well(0, forked.join().unwrap());
}

#[test]
fn a_thread_that_has_given_its_number_up_has_nothing_of_the_number() {
    let mine = 0_u8;
    let word = (&raw const mine).addr();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Destroyed after the number, which is asked for later, is given up.
        at_end(move || {
            let word = Native::numbered_word(Cell::get).map(<*const ()>::addr);
            sender.send((Native::thread(), word)).unwrap();
        });
        Native::thread().unwrap();
        Native::numbered_word(|own| own.set(std::ptr::without_provenance(word)));
    })
    .join()
    .unwrap();
    assert_eq!(receiver.recv().unwrap(), (None, Some(0)), "it writes to the next thread's cells");
}

/// Numbers that are free, as many as asked for.
#[cfg(feature = "registry")]
fn free_numbers(count: usize) -> Vec<usize> {
    let numbers = Vec::from_iter(std::iter::from_fn(Native::borrow_number).take(count));
    // SAFETY: borrowed above.
    numbers.iter().for_each(|&number| unsafe { Native::return_number(number) });
    numbers
}

#[test]
#[cfg(feature = "registry")]
fn a_thread_without_a_number_gives_back_each_that_it_borrows_to_look_something_up() {
    let objects: tenure::registry::Registry<u32, u32> = tenure::registry::Registry::new();
    let kept = objects.acquire(&1, || 1);
    thread::spawn(move || {
        at_end(move || {
            assert!(Native::thread().is_none());
            (0..1000).for_each(|_| assert!(objects.get(&1).is_some()));
        });
        Native::thread().unwrap()
    })
    .join()
    .unwrap();
    drop(kept);
    // Other tests have threads.
    assert!(free_numbers(1)[0] < 500);
}

#[test]
#[cfg(feature = "registry")]
fn a_thread_that_frees_what_it_retired_keeps_its_number() {
    let objects: tenure::registry::Registry<u32, u32> = tenure::registry::Registry::new();
    for key in 0..2000 {
        drop(objects.acquire(&key, || key));
    }
    assert!(!free_numbers(20).contains(&Native::thread().unwrap()), "its number is given out");
}

/// Runs `fork` in a thread that has given its number up; the children have to end well.
fn fork_at_the_end_of_a_thread<const N: usize>(fork: fn() -> [libc::c_int; N]) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        // Destroyed after the number, which is asked for later, is given up.
        at_end(move || {
            assert!(Native::thread().is_none());
            sender.send(fork()).unwrap();
        });
        Native::thread().unwrap()
    });
    thread.join().unwrap();
    let statuses = receiver.recv().unwrap();
    statuses.into_iter().enumerate().for_each(|(turn, status)| expect_well(turn, status));
}

#[test]
fn a_thread_that_forks_is_not_lost_under_a_number_that_it_has_borrowed() {
    fork_at_the_end_of_a_thread(|| {
        let number = Native::borrow_number().expect("numbers can be had");
        let status = in_child(|| {
            assert!(!Native::is_lost(number));
            // SAFETY: borrowed above, in the parent, whose only thread here is this one.
            unsafe { Native::return_number(number) };
            let next = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
            assert!(!Native::is_lost(next));
        });
        // SAFETY: borrowed above.
        unsafe { Native::return_number(number) };
        [status]
    });
}

/// Forks a thread that has borrowed that number: in the child neither it nor the number's next owner may be lost.
fn lives_on_with_its_number(number: usize) -> libc::c_int {
    in_child(|| {
        assert!(!Native::is_lost(number), "the thread is lost under a number that it has borrowed");
        // SAFETY: borrowed by the caller in the parent, whose only thread here is this one.
        unsafe { Native::return_number(number) };
        let claims_up_to_it = move || {
            let mut claimed = std::iter::from_fn(Native::borrow_number).take(1000);
            assert!(claimed.any(|claimed| claimed == number), "it is not given out");
            assert!(!Native::is_lost(number), "the next thread of the number is lost");
        };
        thread::spawn(claims_up_to_it).join().unwrap();
    })
}

#[test]
fn a_thread_that_forks_is_not_lost_under_a_number_that_it_has_borrowed_beside_another() {
    fork_at_the_end_of_a_thread(|| {
        let [outer, inner] = [(); 2].map(|()| Native::borrow_number().expect("numbers can be had"));
        let statuses = [outer, inner].map(lives_on_with_its_number);
        // SAFETY: both are borrowed above.
        [inner, outer].into_iter().for_each(|number| unsafe { Native::return_number(number) });
        statuses
    });
}

/// Forks when a thread leaves it, under a number borrowed beside the thread's own.
struct ForksWhenLeft(Mutex<Vec<libc::c_int>>);

impl Resident for ForksWhenLeft {
    unsafe fn leave(&self, own: usize) {
        let number = Native::borrow_number().expect("numbers can be had");
        let statuses =
            [lives_on_with_its_number(number), in_child(|| assert!(!Native::is_lost(own)))];
        // SAFETY: borrowed above.
        unsafe { Native::return_number(number) };
        self.0.lock().unwrap().extend(statuses);
    }
}

#[test]
fn a_thread_that_forks_while_residents_leave_is_not_lost_under_a_number_that_it_has_borrowed() {
    let resident = Arc::new(ForksWhenLeft(Mutex::default()));
    let left: Arc<dyn Resident> = Arc::<ForksWhenLeft>::clone(&resident);
    thread::spawn(move || Native::at_exit(Arc::downgrade(&left))).join().unwrap();
    let statuses = resident.0.lock().unwrap();
    assert_eq!(statuses.len(), 2);
    statuses.iter().enumerate().for_each(|(turn, status)| expect_well(turn, *status));
}

#[test]
fn a_fork_loses_the_other_threads_and_their_numbers() {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let barrier = &barrier;
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || {
            sender.send(Native::thread().unwrap()).unwrap();
            barrier.wait();
        });
        let other = receiver.recv().unwrap();
        let _wakes = AtEnd(|| _ = barrier.wait());
        let own = Native::thread().unwrap();
        let status = in_child(|| {
            assert!(!Native::is_lost(own) && Native::is_lost(other));
            let next = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
            assert!(next != other && next != own && !Native::is_lost(next));
        });
        assert!(!Native::is_lost(other), "the parent has lost nothing");
        expect_well(0, status);
    });
}
