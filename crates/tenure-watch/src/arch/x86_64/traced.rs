//! A traced thread that has stopped: its registers, and breakpoints in its debug registers. Nothing here allocates.

use std::mem::offset_of;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::unistd::Pid;

use super::Registers;
use crate::arch::{Stopped, WORDS};

/// A breakpoint traps after the access.
pub(crate) const TRAPS_BEFORE: bool = false;

pub(crate) fn stopped(thread: Pid) -> Option<Stopped<Registers>> {
    /// The segment of 64-bit code.
    const LONG: u64 = 0x33;
    let it = ptrace::getregs(thread).ok()?;
    let registers = Registers([
        it.rax, it.rbx, it.rcx, it.rdx, it.rsi, it.rdi, it.rbp, it.rsp, it.rip, it.r8, it.r9,
        it.r10, it.r11, it.r12, it.r13, it.r14, it.r15,
    ]);
    Some(Stopped {
        ip: it.rip,
        stack: it.rsp,
        registers: (it.cs == LONG).then_some(registers),
        is_call: it.orig_rax.cast_signed() >= 0,
    })
}

/// Sets breakpoints on those words that are not zero. Which were set: a bit for each.
pub(crate) fn arm(thread: Pid, words: &[u64; WORDS]) -> Result<u8, Errno> {
    let mut armed = 0;
    for (which, &word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
        set(thread, which, word)?;
        armed |= 1 << which;
    }
    let _ = set(thread, 6, 0);
    keep(thread, words, armed, 0)?;
    Ok(armed)
}

/// Takes away all breakpoints but these.
pub(crate) fn keep(thread: Pid, _: &[u64; WORDS], armed: u8, _: u8) -> Result<(), Errno> {
    /// Eight bytes, read or written: four bits for each word, from this one on.
    const BOTH: u64 = 0b1011;
    const KINDS: usize = 16;
    let on = (0..WORDS).filter(|which| armed & (1 << which) != 0);
    set(thread, 7, on.map(|which| 1 << (2 * which) | BOTH << (KINDS + 4 * which)).sum())
}

/// The breakpoints that a thread has met since this was asked last; none if the reason of its trap was lost.
pub(crate) fn met(thread: Pid, _: &[u64; WORDS], _: u8) -> u8 {
    let reason = ptrace::read_user(thread, register(6)).unwrap_or(0);
    let _ = set(thread, 6, 0);
    (reason & 0xf) as u8
}

fn set(thread: Pid, which: usize, value: u64) -> Result<(), Errno> {
    ptrace::write_user(thread, register(which), value.cast_signed())
}

/// Where ptrace has a debug register.
fn register(which: usize) -> ptrace::AddressType {
    let at = offset_of!(libc::user, u_debugreg) + which * size_of::<u64>();
    std::ptr::without_provenance_mut(at)
}
