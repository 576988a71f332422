use std::hint::black_box;
use tenure::memory::{Native, Threads};
use tenure_sim::{Cpu, Simulated};

/// A machine that scenarios run on: its memory, its threads, and work to do beside them.
pub(crate) trait Host: Threads {
    /// Private work of about `ns` nanoseconds. It cannot begin before `input` is known, and its result is known at its
    /// end.
    fn work(input: u64, ns: u32) -> u64;
}

impl Host for Native {
    /// Dependent multiplications, at a rate that today's processors come close to.
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
    /// Simulated time. None outside a simulation.
    fn work(input: u64, ns: u32) -> u64 {
        if let Some(cpu) = Cpu::current() {
            cpu.work(f64::from(ns));
        }
        black_box(input)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadPlace {
    pub(crate) thread: usize,
    pub(crate) of: usize,
}
