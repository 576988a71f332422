//! A traced thread that has stopped: its registers, and watchpoints in its debug registers. Nothing here allocates.

use std::mem::offset_of;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::unistd::Pid;

use super::{Registers, data_address};
use crate::arch::{PtraceRequest, Stopped, WORDS};

/// A watchpoint traps before the access, and once more if the thread goes on while it is on.
pub(crate) const TRAPS_BEFORE: bool = true;

/// A set of registers, as `PTRACE_GETREGSET` has it.
///
/// # Safety
///
/// Whatever bytes the kernel writes there are a value.
unsafe trait Set: Default {
    /// Which one it is, for the kernel.
    const KIND: usize;
}

/// `struct user_pt_regs`.
#[repr(C)]
#[derive(Default)]
struct General {
    registers: Registers,
    /// Flags.
    _state: u64,
}

// SAFETY: it is made of integers.
unsafe impl Set for General {
    /// `NT_PRSTATUS`.
    const KIND: usize = 1;
}

/// `struct user_hwdebug_state`.
#[repr(C)]
#[derive(Default)]
struct WatchRegisters {
    /// The last byte: how many there are.
    info: u32,
    padding: u32,
    slots: [WatchSlot; 16],
}

// SAFETY: it is made of integers.
unsafe impl Set for WatchRegisters {
    /// `NT_ARM_HW_WATCH`.
    const KIND: usize = 0x403;
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WatchSlot {
    address: u64,
    control: u32,
    padding: u32,
}

/// The control word of a watchpoint on eight bytes that a program stores to: the bytes, what is done to them, by whom, and that it
/// is on.
const STORED: u32 = 0xff << 5 | 0b10 << 3 | 0b10 << 1 | 1;

/// The same where it loads as well.
const BOTH: u32 = STORED | 0b01 << 3;

pub(crate) fn stopped(thread: Pid) -> Option<Stopped<Registers>> {
    let (General { registers, .. }, length) = get(thread).ok()?;
    let is_whole = length == size_of::<General>();
    let ip = registers.0[Registers::IP];
    Some(Stopped {
        ip,
        stack: registers.0[Registers::SP],
        registers: is_whole.then_some(registers),
        is_call: is_call(thread, ip),
    })
}

/// Whether a thread was in a call when it stopped, by its instructions: the kernel does not say that any more then. It stops
/// after a call, or where it would call once more.
fn is_call(thread: Pid, ip: u64) -> bool {
    /// `svc #0`.
    const CALL: u32 = 0xd400_0001;
    let before = usize::try_from(ip.wrapping_sub(4));
    let before = before.map_or(std::ptr::null_mut(), std::ptr::without_provenance_mut);
    let both = ptrace::read(thread, before).map_or(0, i64::cast_unsigned);
    [both as u32, (both >> 32) as u32].contains(&CALL)
}

/// Sets watchpoints on those words that are not zero, as far as there are so many. Which were set: a bit for each; none after
/// an error, as where a perf event has one of them.
pub(crate) fn arm(thread: Pid, words: &[u64; WORDS]) -> Result<u8, Errno> {
    let wanted = (0..slots(thread)?).filter(|which| words[*which] != 0);
    let armed = wanted.map(|which| 1 << which).sum();
    if armed == 0 {
        return Err(Errno::ENOSPC);
    }
    let set = keep(thread, words, armed, 0);
    if set.is_err() {
        // The kernel sets one after the other, and those before the one that it refused are on. This gets as far.
        let _ = keep(thread, words, 0, 0);
    }
    set.map(|()| armed)
}

/// How many watchpoints there are; of more than can be used, so many.
fn slots(thread: Pid) -> Result<usize, Errno> {
    let (watch, _) = get::<WatchRegisters>(thread)?;
    Ok(usize::try_from(watch.info & 0xff).unwrap_or(0).min(WORDS))
}

/// Takes away all watchpoints but these. Those that the thread has met see its stores alone from now on, so that it gets past
/// a load.
pub(crate) fn keep(thread: Pid, words: &[u64; WORDS], armed: u8, met: u8) -> Result<(), Errno> {
    let (mut watch, length) = watched(&words[..slots(thread)?], armed, met);
    let request = libc::PTRACE_SETREGSET;
    // SAFETY: it is a whole struct of so many bytes or more.
    unsafe { transfer(request, thread, WatchRegisters::KIND, (&raw mut watch).cast(), length) }?;
    Ok(())
}

/// Registers with watchpoints on these words, and how many of their bytes are meant: those after the last word are left alone.
fn watched(words: &[u64], armed: u8, met: u8) -> (WatchRegisters, usize) {
    let mut watch = WatchRegisters::default();
    for (which, (slot, &address)) in watch.slots.iter_mut().zip(words).enumerate() {
        if armed & 1 << which != 0 {
            let control = if met & 1 << which != 0 { STORED } else { BOTH };
            *slot = WatchSlot { address, control, padding: 0 };
        }
    }
    let count = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    (watch, offset_of!(WatchRegisters, slots) + count * size_of::<WatchSlot>())
}

/// The watchpoint that a thread has met, a bit for it; none if there is none.
pub(crate) fn met(thread: Pid, words: &[u64; WORDS], armed: u8) -> u8 {
    let information = ptrace::getsiginfo(thread);
    // SAFETY: the kernel fills it for a trap, and it is a number else.
    let address = information.map_or(0, |it| unsafe { it.si_addr() }.addr() as u64);
    nearest(data_address(address), words, armed)
}

/// The watchpoint that an access has met: the one at its address, or the one nearest to it. An access of several words may
/// begin before the one that is watched. There must be one: a thread whose watchpoint stays on would meet it for ever.
fn nearest(address: u64, words: &[u64; WORDS], armed: u8) -> u8 {
    let distance = |which: &usize| {
        let word = words[*which];
        word.saturating_sub(address).max(address.saturating_sub(word + 7))
    };
    let on = (0..WORDS).filter(|which| armed & 1 << which != 0);
    on.min_by_key(distance).map_or(0, |which| 1 << which)
}

/// A set of a thread's registers, and how many bytes of it there were.
fn get<T: Set>(thread: Pid) -> Result<(T, usize), Errno> {
    let mut set = T::default();
    let request = libc::PTRACE_GETREGSET;
    // SAFETY: there is room for so many bytes, and `Set` says that any of them are a value.
    let length =
        unsafe { transfer(request, thread, T::KIND, (&raw mut set).cast(), size_of::<T>()) }?;
    Ok((set, length))
}

/// # Safety
///
/// There is so much memory, and whatever is written there is a value.
unsafe fn transfer(
    request: PtraceRequest,
    thread: Pid,
    set: usize,
    memory: *mut libc::c_void,
    length: usize,
) -> Result<usize, Errno> {
    let mut vector = libc::iovec { iov_base: memory, iov_len: length };
    let set = std::ptr::without_provenance_mut::<libc::c_void>(set);
    // SAFETY: the kernel reads or writes no more than the vector says, for which the caller answers, and the vector itself.
    let result = unsafe { libc::ptrace(request, thread.as_raw(), set, &raw mut vector) };
    Errno::result(result)?;
    Ok(vector.iov_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS_OF_A_LINE: [u64; WORDS] = [0x1000, 0x1010, 0x1038, 0];

    #[test]
    fn the_watchpoint_that_was_met_is_the_one_that_the_access_covers() {
        for (about, address, armed, expected) in [
            ("its first byte", 0x1000, 0b0111, 0b0001),
            ("its last byte", 0x1017, 0b0111, 0b0010),
            ("a pair that begins before it", 0x1008, 0b0110, 0b0010),
            ("a vector that begins far before it", 0x1020, 0b0100, 0b0100),
            ("one that is off", 0x1000, 0b0110, 0b0010),
            ("none is on", 0x1000, 0, 0),
        ] {
            assert_eq!(nearest(address, &WORDS_OF_A_LINE, armed), expected, "{about}");
        }
    }

    #[test]
    fn registers_are_laid_out_as_the_kernel_has_them() {
        let (watch, length) = watched(&WORDS_OF_A_LINE, 0b0101, 0b0110);
        let on = |address, control| WatchSlot { address, control, padding: 0 };
        let (both, stored) = (on(0x1000, 0x1ffd), on(0x1038, 0x1ff5));
        assert_eq!(watch.slots[..4], [both, WatchSlot::default(), stored, WatchSlot::default()]);
        assert_eq!(length, 8 + 3 * 16);
        // A processor with two has no others, on or off.
        let (watch, length) = watched(&WORDS_OF_A_LINE[..2], 0b0011, 0);
        assert_eq!((watch.slots[2], length), (WatchSlot::default(), 8 + 2 * 16));
        assert_eq!(size_of::<General>(), 34 * 8);
        assert_eq!(size_of::<WatchRegisters>(), 8 + 16 * 16);
    }
}
