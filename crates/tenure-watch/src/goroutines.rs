//! Which goroutine a thread of a Go program ran: one that has moved to another thread shares nothing with itself.
//!
//! Go's compiler keeps a pointer to the goroutine in a register of its own, r14 or x28.

use std::fs::File;

use object::{Object as _, ReadCache};

use crate::arch::Registers;
use crate::sys::Sample;
use crate::sys::process::Process;

/// Knows goroutines, if the program is Go's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goroutines {
    is_go: bool,
}

impl Goroutines {
    pub(crate) fn of(process: &Process) -> Self {
        let is_go = || {
            let cache = ReadCache::new(File::open(process.program()?).ok()?);
            let file = object::File::parse(&cache).ok()?;
            // The table of functions, which stripped programs have too.
            file.section_by_name(".gopclntab").map(|_| ())
        };
        Self { is_go: is_go().is_some() }
    }

    /// The goroutine that a thread ran; `None` in other programs.
    pub(crate) fn running(self, sample: &Sample) -> Option<u64> {
        let registers = sample.registers.as_ref().filter(|_| self.is_go)?;
        Some(registers.0[Registers::GOROUTINE]).filter(|pointer| *pointer != 0)
    }

    /// Whether both samples are of one goroutine.
    pub(crate) fn are_one(self, one: &Sample, other: &Sample) -> bool {
        self.running(one).is_some_and(|goroutine| self.running(other) == Some(goroutine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goroutine_is_the_same_on_another_thread_and_other_programs_have_none() {
        let sample = |tid, goroutine| {
            let mut registers = Registers([0; Registers::COUNT]);
            registers.0[Registers::GOROUTINE] = goroutine;
            Sample { tid, registers: Some(registers), ..Sample::default() }
        };
        for (is_go, one, other, expected) in [
            (true, 0xc000_0000, 0xc000_0000, true),
            (true, 0xc000_0000, 0xc000_0080, false),
            (true, 0, 0, false),
            (false, 0xc000_0000, 0xc000_0000, false),
        ] {
            let goroutines = Goroutines { is_go };
            assert_eq!(goroutines.are_one(&sample(1, one), &sample(2, other)), expected);
        }
        let unknown = Sample::default();
        assert!(!Goroutines { is_go: true }.are_one(&unknown, &unknown));
    }
}
