//! Numbers of real threads: what a fork makes of them.
#![cfg(all(unix, feature = "std", not(miri)))]

#[path = "support/forks.rs"]
mod forks;

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

thread_local! {
    static LATE: Cell<Option<Late>> = const { Cell::new(None) };
}

/// Forks when the thread has given its own number up.
struct Late(mpsc::Sender<libc::c_int>);

impl Drop for Late {
    fn drop(&mut self) {
        let given_up = Native::thread().is_none();
        let number = Native::borrow_number().expect("numbers can be had");
        let status = in_child(|| {
            assert!(given_up && !Native::is_lost(number));
            // SAFETY: borrowed above, in the parent, whose only thread here is this one.
            unsafe { Native::return_number(number) };
            let next = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
            assert!(!Native::is_lost(next));
        });
        // SAFETY: borrowed above.
        unsafe { Native::return_number(number) };
        self.0.send(status).unwrap();
    }
}

#[test]
fn a_thread_that_forks_is_not_lost_under_a_number_that_it_has_borrowed() {
    let (sender, receiver) = mpsc::channel();
    let late = thread::spawn(move || {
        // Thread-locals are destroyed in the order opposite to that of their first use.
        LATE.set(Some(Late(sender)));
        Native::thread().unwrap()
    });
    late.join().unwrap();
    expect_well(0, receiver.recv().unwrap());
}

/// Forks a thread that has borrowed that number, and fails unless in the child neither it nor the number's next
/// owner is lost.
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

/// Borrows two numbers when the thread has given its own up, and forks under the second.
struct Nested(mpsc::Sender<libc::c_int>);

thread_local! {
    static NESTED: Cell<Option<Nested>> = const { Cell::new(None) };
}

impl Drop for Nested {
    fn drop(&mut self) {
        assert!(Native::thread().is_none());
        let [outer, inner] = [(); 2].map(|()| Native::borrow_number().expect("numbers can be had"));
        let statuses = [outer, inner].map(lives_on_with_its_number);
        // SAFETY: both are borrowed above.
        [inner, outer].into_iter().for_each(|number| unsafe { Native::return_number(number) });
        statuses.into_iter().for_each(|status| self.0.send(status).unwrap());
    }
}

#[test]
fn a_thread_that_forks_is_not_lost_under_a_number_that_it_has_borrowed_beside_another() {
    let (sender, receiver) = mpsc::channel();
    let nested = thread::spawn(move || {
        NESTED.set(Some(Nested(sender)));
        Native::thread().unwrap()
    });
    nested.join().unwrap();
    (0..2).for_each(|turn| expect_well(turn, receiver.recv().unwrap()));
}

/// Forks when a thread leaves it, under a number that is borrowed beside the thread's own.
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
