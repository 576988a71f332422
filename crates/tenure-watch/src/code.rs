//! Finds what a sample touched: the instruction, what it does to memory, and the address that the registers give it.

use rustc_hash::FxHashMap;
use tenure_model::Access;
use tenure_model::recording::UseCallers;

use crate::arch::{Instruction, Stop, data_address};
use crate::callers::{CallStack, Callers};
use crate::sys::Sample;
use crate::sys::perf::WATCHED_BYTES;
use crate::sys::process::LiveProcess;
use crate::walk::RingWalk;

/// What an instruction did to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The address after the instruction; that of the call where it is of a library.
    pub(crate) code: u64,
    /// The calls that led to its function.
    pub(crate) callers: UseCallers,
    pub(crate) access: Access,
    pub(crate) address: u64,
    pub(crate) size: u8,
    /// Whether a thread polls it, and pauses in between.
    pub(crate) is_polled: bool,
}

/// The code cannot be read, or the registers do not tell any more what the instruction has accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost;

/// The instructions that were met.
#[derive(Debug, Default)]
pub(crate) struct InstructionCache {
    /// What was met at each address at which a thread has stopped.
    known: FxHashMap<(Stop, u64), Option<Instruction>>,
    /// The walk of each load, by the address after it.
    walks: FxHashMap<u64, RingWalk>,
}

impl InstructionCache {
    /// Forgets everything: the program has other code now.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.walks.clear();
    }

    /// What a sampled thread has waited for; `None` if that was no memory.
    pub(crate) fn touched(
        &mut self,
        sample: &Sample,
        calls: &mut CallStack<'_>,
        process: &LiveProcess,
        callers: &mut Callers,
    ) -> Result<Option<Touch>, Lost> {
        let Some(instruction) = self.met(Stop::Clock, sample.ip, process) else {
            let is_readable = process.read(sample.ip.wrapping_sub(1), &mut [0]).is_ok();
            return if is_readable { Ok(None) } else { Err(Lost) };
        };
        let address = address(&instruction, sample)
            .or_else(|| self.walked(&instruction, sample, process))
            .ok_or(Lost)?;
        Ok(Some(found(touch(&instruction, address), calls, callers)))
    }

    /// Where an instruction loaded from that walks along a list.
    fn walked(
        &mut self,
        instruction: &Instruction,
        sample: &Sample,
        process: &LiveProcess,
    ) -> Option<u64> {
        let step = instruction.step(sample.registers.as_ref()?)?;
        let walk = self.walks.entry(instruction.end()).or_default();
        let address = walk.address(step, &|address| process.word(data_address(address)));
        address.map(data_address)
    }

    /// What the instruction of a hit did to the word that it hit.
    pub(crate) fn hit(
        &mut self,
        sample: &Sample,
        process: &LiveProcess,
        callers: &mut Callers,
    ) -> Option<Touch> {
        let instruction = self.met(Stop::Breakpoint, sample.ip, process)?;
        let word = sample.address..sample.address + WATCHED_BYTES;
        let address = address(&instruction, sample);
        let is_of_word = |it: &u64| *it < word.end && it + u64::from(instruction.size) > word.start;
        let address = address.filter(is_of_word).unwrap_or(word.start);
        let mut calls = CallStack::new(sample.ip, sample);
        Some(found(touch(&instruction, address), &mut calls, callers))
    }

    fn met(&mut self, stop: Stop, ip: u64, process: &LiveProcess) -> Option<Instruction> {
        let read = |address, bytes: &mut [u8]| process.read(address, bytes).is_ok();
        let known = self.known.entry((stop, ip));
        known.or_insert_with(|| Instruction::met(stop, ip, &read)).clone()
    }
}

/// An access as a reader finds it: in the program, where that calls a lock or an atomic operation.
fn found(touch: Touch, calls: &mut CallStack<'_>, callers: &mut Callers) -> Touch {
    let inner = match callers.is_foreign(touch.code) {
        true => calls.own(0, callers),
        false => None,
    };
    let first = usize::from(inner.is_some());
    let mut outer = |which| calls.own(first + which, callers).unwrap_or(0);
    let touch = Touch { callers: [outer(0), outer(1)], ..touch };
    let Some(code) = inner else { return touch };
    // Without optimisation Rust's atomic operations are calls. A lock of the C library has plain words beside it.
    let access = match (touch.access, callers.is_of_library(touch.code)) {
        (Access::Read, false) => Access::Load,
        (Access::Write, false) => Access::Store,
        (access, _) => access,
    };
    Touch { code, access, ..touch }
}

fn address(instruction: &Instruction, sample: &Sample) -> Option<u64> {
    // Zeros may be words that were not copied.
    let stack = |at| sample.word(at).filter(|word| *word != 0);
    instruction.address(sample.registers.as_ref()?, &stack)
}

fn touch(instruction: &Instruction, address: u64) -> Touch {
    let &Instruction { access, size, is_polled, .. } = instruction;
    let (code, callers) = (instruction.end(), Default::default());
    Touch { code, callers, access, address, size, is_polled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::tests::{inside, program, sample};

    #[test]
    fn callers_are_those_of_the_programs_function_also_where_that_calls_a_lock() {
        let functions = ["bump", "often", "serve"].map(|name| (name, Some(1)));
        let sample = sample(&[inside(1), inside(2), inside(2)]);
        let found_in = |name| {
            let mut functions = functions;
            functions[0].0 = name;
            let code = inside(0);
            let (access, address, size) = (Access::Write, 0x1000, 8);
            let touch = Touch { code, callers: [0; 2], access, address, size, is_polled: false };
            let mut calls = CallStack::new(sample.ip, &sample);
            let touch = found(touch, &mut calls, &mut program(&functions));
            (touch.code, touch.callers)
        };
        assert_eq!(found_in("bump"), (inside(0), [inside(1), inside(2)]));
        assert_eq!(found_in("pthread_mutex_lock"), (inside(1), [inside(2), inside(2)]));
        assert_eq!(found_in("main"), (inside(0), [0, 0]));
    }
}
