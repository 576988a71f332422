//! Finds which goroutine a thread of a Go program ran: one that has moved to another thread shares nothing with itself.
//!
//! Go's compiler keeps a pointer to the goroutine in a register of its own, r14 or x28. C code that a Go program calls has other
//! things there, but does not run on the goroutine's stack.

use std::fs::File;

use object::ReadCache;

use crate::arch::Registers;
use crate::sys::Sample;
use crate::sys::process::LiveProcess;

/// Knows goroutines, if the program is Go's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goroutines {
    is_go: bool,
}

impl Goroutines {
    pub(crate) fn of(process: &LiveProcess) -> Self {
        let of_program = || {
            let cache = ReadCache::new(File::open(process.program()?).ok()?);
            Some(is_go(&object::File::parse(&cache).ok()?))
        };
        Self { is_go: of_program().unwrap_or(false) }
    }

    /// The goroutine that a thread ran; `None` in other programs, and in C code. `word` reads the program's memory.
    pub(crate) fn running(self, sample: &Sample, word: &dyn Fn(u64) -> Option<u64>) -> Option<u64> {
        let registers = sample.registers.as_ref().filter(|_| self.is_go)?;
        let goroutine = registers.0[Registers::GOROUTINE];
        // A `g` begins with its stack's lowest address and the one after it.
        let (low, high) = (word(goroutine)?, word(goroutine.checked_add(8)?)?);
        let is_on_its_stack = (low..=high).contains(&registers.0[Registers::SP]);
        (goroutine != 0 && is_on_its_stack).then_some(goroutine)
    }
}

/// Whether a program is Go's, by its table of functions, which stripped programs have too.
pub(crate) fn is_go<'a>(file: &impl object::Object<'a>) -> bool {
    file.section_by_name(".gopclntab").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOROUTINE: u64 = 0xc000_0000;

    /// A goroutine with this stack.
    fn memory(address: u64) -> Option<u64> {
        match address {
            GOROUTINE => Some(0x1000),
            at if at == GOROUTINE + 8 => Some(0x2000),
            _ => None,
        }
    }

    fn running(is_go: bool, goroutine: u64, stack: u64) -> Option<u64> {
        let mut registers = Registers([0; Registers::COUNT]);
        registers.0[Registers::GOROUTINE] = goroutine;
        registers.0[Registers::SP] = stack;
        let sample = Sample { registers: Some(registers), ..Sample::default() };
        Goroutines { is_go }.running(&sample, &memory)
    }

    #[test]
    fn a_goroutine_is_known_by_its_register_in_a_go_program_alone() {
        assert_eq!(running(true, GOROUTINE, 0x1800), Some(GOROUTINE));
        assert_eq!(running(false, GOROUTINE, 0x1800), None);
        assert_eq!(Goroutines { is_go: true }.running(&Sample::default(), &memory), None);
    }

    #[test]
    fn what_c_code_has_in_the_register_is_no_goroutine() {
        for (goroutine, stack) in
            [(GOROUTINE, 0x7fff_0000), (GOROUTINE + 8, 0x1800), (0, 0x1800), (u64::MAX, 0x1800)]
        {
            assert_eq!(running(true, goroutine, stack), None, "{goroutine:x} {stack:x}");
        }
    }
}
