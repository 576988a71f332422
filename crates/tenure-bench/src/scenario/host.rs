//! [`Host`]: a machine that scenarios run on; and what their threads are to them.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use tenure::line::Isolated;
use tenure::memory::{Native, Threads};
use tenure_sim::{Cpu, Simulated};

/// A machine that scenarios run on: its memory, its threads, and something to do beside them.
pub trait Host: Threads {
    /// Private work of about `ns` nanoseconds, which cannot begin before `input` is known. What comes
    /// out is known when the work is done, and not earlier.
    fn work(input: u64, ns: u32) -> u64;
}

impl Host for Native {
    /// Multiplications that depend on each other, at a rate that the processors of today come close
    /// to.
    #[inline(always)]
    fn work(input: u64, ns: u32) -> u64 {
        let mut state = input;
        for _ in 0..ns * 4 / 3 {
            state = (state ^ (state >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        state
    }
}

impl Host for Simulated {
    /// Simulated time. None outside of a simulation.
    fn work(input: u64, ns: u32) -> u64 {
        if let Some(cpu) = Cpu::current() {
            cpu.work(f64::from(ns));
        }
        black_box(input)
    }
}

/// One of the threads that use an object at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number, from 0.
    pub thread: usize,
    /// How many there are.
    pub of: usize,
}

impl Place {
    /// The only thread.
    pub const ALONE: Self = Self { thread: 0, of: 1 };
}

/// A part for each thread, on lines of its own.
pub(super) struct PerThread<T>(Vec<Isolated<Mutex<Option<T>>>>);

impl<T> PerThread<T> {
    /// A part for each of `threads` threads; `part` makes the one of a thread's number.
    pub(super) fn new(threads: usize, part: impl FnMut(usize) -> T) -> Self {
        Self((0..threads).map(part).map(|part| Isolated::new(Mutex::new(Some(part)))).collect())
    }

    /// Calls `work` with the part of `thread`, the caller. Meanwhile it is a local variable, as in a program.
    #[inline(always)]
    pub(super) fn with<R>(&self, thread: usize, work: impl FnOnce(&mut T) -> R) -> R {
        let mut home = self.0[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let mut part = home.take().expect("its thread has not panicked with it");
        let result = work(&mut part);
        *home = Some(part);
        result
    }
}
