//! [`Host`]: a machine that scenarios run on.

use std::hint::black_box;
use tenure::memory::{Native, Threads};
use tenure_sim::{Cpu, Simulated};

/// A machine that scenarios run on: its memory, its threads, and something to do beside them.
pub(crate) trait Host: Threads {
    /// Private work of about `ns` nanoseconds, which cannot begin before `input` is known. What comes
    /// out is known when the work is done, and not earlier.
    fn work(input: u64, ns: u32) -> u64;
}

impl Host for Native {
    /// Multiplications that depend on each other, at a rate that the processors of today come close to.
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Its number, from 0.
    pub(crate) thread: usize,
    /// How many there are.
    pub(crate) of: usize,
}
