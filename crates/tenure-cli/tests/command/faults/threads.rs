//! Two threads that run at once.

use std::sync::Barrier;

pub const TIMES: u64 = 500_000;

pub fn run(one: impl Fn() + Sync, other: impl Fn() + Sync) {
    let both_are_there = Barrier::new(2);
    let work = |work: &dyn Fn()| {
        for i in 0..TIMES {
            // So that neither is done before the other begins, however busy the machine is.
            if i % 1000 == 0 {
                both_are_there.wait();
            }
            work();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(&one));
        scope.spawn(|| work(&other));
    });
}

/// Ends a program, or its test, with what both threads have counted. What it prints is the figure that `tenure fix` compares.
pub fn check(counted: u64) {
    assert_eq!(counted, 2 * TIMES);
    println!("bytes: {}", include_str!("main.rs").len());
}
