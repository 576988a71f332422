//! Numbers of real threads: what a fork makes of them.

use crate::at_end::at_end;
use crate::children::{in_child, in_thread, while_another_waits};
use std::cell::Cell;
use std::sync::{Arc, mpsc};
use std::thread;
use tenure::memory::{Native, Resident, Threads};

/// Runs `test` with the number of a thread that waits meanwhile.
fn beside_another_thread(test: impl FnOnce(usize)) {
    let (sender, receiver) = mpsc::channel();
    let other = move |waits: &(dyn Fn() + Sync)| {
        sender.send(Native::thread().expect("the thread is alive")).unwrap();
        waits();
    };
    while_another_waits(other, || test(receiver.recv().unwrap()));
}

#[test]
fn a_fork_loses_the_other_threads_and_not_the_one_that_forked() {
    let mine = Native::thread().unwrap();
    beside_another_thread(|other| {
        let lost = || Native::is_lost(other) && !Native::is_lost(mine);
        assert!(!Native::is_lost(other) && !Native::is_lost(mine), "no thread has forked");
        in_child(|| {
            assert_eq!(Native::thread(), Some(mine));
            assert!(lost(), "in the child");
            in_child(|| assert!(lost(), "in the child's child"));
            assert!(lost(), "after another fork");
        });
        assert!(!Native::is_lost(other) && !Native::is_lost(mine), "the parent has lost no thread");
    });
}

#[test]
fn a_thread_without_a_number_has_one_in_the_child() {
    beside_another_thread(|other| {
        // This thread has no number yet.
        in_child(|| {
            let mine = Native::thread().expect("the thread is alive");
            assert_ne!(mine, other);
            assert!(Native::is_lost(other) && !Native::is_lost(mine));
        });
    });
}

#[test]
fn threads_of_the_child_do_not_get_the_numbers_of_lost_ones() {
    let mine = Native::thread().unwrap();
    beside_another_thread(|other| {
        in_child(|| {
            let new = in_thread(|| Native::thread().unwrap());
            assert!(new != other && new != mine);
            assert!(!Native::is_lost(new));
            let next = in_thread(|| Native::thread().unwrap());
            assert_eq!(next, new, "a thread of the child that ended is not lost");
        });
    });
}

#[test]
fn a_thread_that_had_ended_before_the_fork_is_not_lost() {
    // In a child, where no thread of another test can get the number.
    in_child(|| {
        let ended = in_thread(|| Native::thread().unwrap());
        in_child(|| assert!(!Native::is_lost(ended)));
    });
}

struct Nothing;

impl Resident for Nothing {
    unsafe fn leave(&self, _thread: usize) {}
}

#[test]
fn a_thread_that_forks_is_not_lost_though_it_asked_for_its_number_later() {
    let resident: Arc<dyn Resident> = Arc::new(Nothing);
    let forks = move || {
        Native::at_exit(Arc::downgrade(&resident));
        in_child(|| assert!(!Native::is_lost(Native::thread().expect("the thread lives"))));
    };
    thread::spawn(forks).join().unwrap();
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

/// Forks a thread that has borrowed that number: in the child neither it nor the number's next owner may be lost.
fn lives_on_with_its_number(number: usize) {
    in_child(|| {
        assert!(!Native::is_lost(number), "the thread is lost under a number that it has borrowed");
        // SAFETY: borrowed by the caller in the parent, whose only thread here is this one.
        unsafe { Native::return_number(number) };
        let claims_up_to_it = move || {
            let mut claimed = std::iter::from_fn(Native::borrow_number).take(1000);
            assert!(claimed.any(|claimed| claimed == number), "it is not given out");
            assert!(!Native::is_lost(number), "the next thread of the number is lost");
        };
        in_thread(claims_up_to_it);
    });
}

#[test]
fn a_thread_that_forks_is_not_lost_under_numbers_that_it_has_borrowed() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        // Destroyed after the number, which is asked for later, is given up.
        at_end(move || {
            assert!(Native::thread().is_none());
            let [outer, inner] =
                [(); 2].map(|()| Native::borrow_number().expect("numbers can be had"));
            [outer, inner].into_iter().for_each(lives_on_with_its_number);
            // SAFETY: both are borrowed above.
            [inner, outer].into_iter().for_each(|number| unsafe { Native::return_number(number) });
            sender.send(()).unwrap();
        });
        Native::thread().unwrap()
    });
    thread.join().unwrap();
    receiver.recv().expect("the children end well");
}

/// Forks when a thread leaves it, under a number borrowed beside the thread's own.
struct ForksWhenLeft(mpsc::SyncSender<()>);

impl Resident for ForksWhenLeft {
    unsafe fn leave(&self, own: usize) {
        let number = Native::borrow_number().expect("numbers can be had");
        lives_on_with_its_number(number);
        in_child(|| assert!(!Native::is_lost(own)));
        // SAFETY: borrowed above.
        unsafe { Native::return_number(number) };
        self.0.send(()).unwrap();
    }
}

#[test]
fn a_thread_that_forks_while_residents_leave_is_not_lost_under_a_number_that_it_has_borrowed() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let resident: Arc<dyn Resident> = Arc::new(ForksWhenLeft(sender));
    let left = Arc::downgrade(&resident);
    thread::spawn(move || Native::at_exit(left)).join().unwrap();
    receiver.try_recv().expect("the children end well");
}
