//! What threads have the kernel do, by samples that were taken there.
//!
//! A sample has the registers with which the thread entered the kernel: right before its address stands the instruction that did,
//! and before that usually the number of the system call. A thread that entered otherwise had a page fault or was interrupted.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use tenure_model::TimeCause;
use tenure_model::recording::KernelWork;

use super::{sleep, stack};
use crate::arch::{self, Registers};
use crate::callers::Callers;
use crate::sys::Sample;
use crate::sys::process::{self, LiveProcess};

/// System calls by which locks and conditions let threads wait and wake them.
const WAITING: [&str; 2] = ["futex", "sched_yield"];

/// Addresses that are remembered, at most.
const MAX_NAMES: usize = 4096;

/// How often threads were met in the kernel, by what it did for them.
#[derive(Debug, Default)]
pub(super) struct KernelCalls {
    /// What is known of addresses in the program, with the words on top of the stack.
    names: FxHashMap<(u64, u64), String>,
    counts: FxHashMap<(String, Option<TimeCause>, Option<u64>), u64>,
}

impl KernelCalls {
    /// Forgets what the program's code was.
    pub(super) fn clear(&mut self) {
        self.names.clear();
    }

    pub(super) fn sampled(
        &mut self,
        sample: &Sample,
        process: &LiveProcess,
        callers: &mut Callers,
    ) {
        let Some(registers) = &sample.registers else { return };
        let ip = registers.0[Registers::IP];
        let caller = sample.stack[0];
        if self.names.len() > MAX_NAMES {
            self.names.clear();
        }
        let name = self.names.entry((ip, caller)).or_insert_with(|| {
            let read = |address, bytes: &mut [u8]| process.read(address, bytes).is_ok();
            match arch::system_call(ip, registers, caller, &read) {
                Some(Some(number)) => process::call_name(number),
                Some(None) => callers.name(ip).unwrap_or_else(|| "a system call".to_owned()),
                None => "page faults and interrupts".to_owned(),
            }
        });
        let may_wait = WAITING.contains(&&**name);
        let cause = may_wait
            .then(|| stack::callers(ip, &sample.stack, process, callers).0)
            .and_then(|names| sleep::by_names(&names));
        let name = name.clone();
        let code = match callers.is_foreign(ip) {
            true => callers.called_from(ip, sample),
            false => Some(ip),
        };
        // Code that is compiled as it runs has no end of addresses.
        let code = code.filter(|_| self.counts.len() < MAX_NAMES);
        *self.counts.entry((name, cause, code)).or_default() += 1;
    }

    /// What the kernel did, most often first.
    pub(super) fn work(&self) -> Vec<KernelWork> {
        let work = |(key, samples): (&(String, Option<TimeCause>, Option<u64>), &u64)| {
            let (call, cause, code) = key.clone();
            KernelWork { call, cause, code, samples: *samples }
        };
        let mut all: Vec<_> = self.counts.iter().map(work).collect();
        all.sort_by_key(|work| Reverse((work.samples, work.code)));
        all
    }
}
