//! Where the counts report misuse.
//!
//! A count that overflows, or is put more often than taken, is a bug in the program. The count contains it (the object
//! leaks) and reports it through one process-wide hook. One put too many while others hold references goes unseen: it
//! takes one of theirs, and their last put is reported if the memory is still there.
//!
//! | kind | contained by | reported |
//! |---|---|---|
//! | [`FaultKind::Overflow`] | the count saturates, the object is never freed | once per object, by the operation that left the valid range (twice where a put brings it back just then) |
//! | [`FaultKind::ImbalancedPut`] | a dead count stays dead, no caller is told to destroy | each time |
//! | [`FaultKind::UseAfterDeath`] | a dead count stays dead | each time |
//! | [`FaultKind::HeldAfterShootdown`] | the process is aborted (verified [revocable](crate::revocable) references, in tests) | once |
//!
//! Without a hook, the first [`PRINTED_FAULTS`] faults of the process go to standard error, one line each (nowhere
//! without the feature `std`). The hook runs on the thread that found the fault, after the repair of the count. It may
//! allocate and block if that thread may; its panic leaves the operation that reported.

use crate::memory::FnSlot;
use core::fmt;
use core::panic::Location;

/// How many faults the default hook prints before it falls silent.
pub const PRINTED_FAULTS: u32 = 10;

/// What went wrong with a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// More references than the count can hold. It is saturated from now on.
    Overflow,
    /// A put without a reference to give back: on a dead count, or below zero.
    ImbalancedPut,
    /// A caller that claims to own a reference takes another one of a dead object.
    UseAfterDeath,
    /// A local handle uses an object that was taken from it. The process aborts after the report.
    HeldAfterShootdown,
}

/// A report: what happened, to which count, and where.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The type of the count, such as `"RcuRef"`.
    pub count: &'static str,
    /// The address of the count.
    pub address: usize,
    /// The raw word that the operation found, before its own change.
    pub found: u64,
    /// The call that found it. Inside this crate where `Arc` or `Weak` made it.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, count, address, found, location } = self;
        match kind {
            FaultKind::Overflow => write!(
                f,
                "{count} at {address:#x} overflowed (found {found:#x}) in {location}: \
                 references leak somewhere; the object is kept forever"
            ),
            FaultKind::ImbalancedPut => write!(
                f,
                "{count} at {address:#x} was put without a reference (found {found:#x}) in {location}: \
                 something releases twice; no put was told to destroy the object"
            ),
            FaultKind::UseAfterDeath => write!(
                f,
                "{count} at {address:#x} is dead (found {found:#x}) but was taken as if held in {location}: \
                 something uses an object that it has released"
            ),
            FaultKind::HeldAfterShootdown => write!(
                f,
                "{count} of {address:#x}: local handle {found} still uses the object, seen in {location}: \
                 the process is aborted before its memory is freed"
            ),
        }
    }
}

static HOOK: FnSlot<Fault> = FnSlot::new();

/// Sets the hook that gets every fault of this process, and returns the one before. `None` is the default hook.
///
/// ```
/// use tenure::fault::Fault;
/// use tenure::process::set_fault_hook;
///
/// fn to_the_log(fault: &Fault) {
///     eprintln!("refcount bug: {fault}");
/// }
///
/// let before = set_fault_hook(Some(to_the_log));
/// assert!(before.is_none());
/// # set_fault_hook(None);
/// ```
pub fn set_fault_hook(hook: Option<fn(&Fault)>) -> Option<fn(&Fault)> {
    HOOK.replace(hook)
}

/// Reports a fault of the count at `address`, found by the caller's caller.
#[cold]
#[track_caller]
pub(crate) fn report(kind: FaultKind, count: &'static str, address: usize, found: u64) {
    let fault = Fault { kind, count, address, found, location: Location::caller() };
    match HOOK.get() {
        Some(hook) => hook(&fault),
        None => print(&fault),
    }
}

/// Unlike `eprintln!`, does not panic if standard error is closed.
#[cfg(feature = "std")]
fn line(text: fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = std::writeln!(std::io::stderr(), "{text}");
}

#[cfg(feature = "std")]
fn print(fault: &Fault) {
    use crate::memory::{Memory, Native, Ordering};
    type Counter = <Native as Memory>::AtomicU32;
    static PRINTED: Counter = Counter::new(0);

    // Relaxed: only limits the number of lines. The load keeps the counter from wrapping around.
    if PRINTED.load(Ordering::Relaxed) >= PRINTED_FAULTS {
        return;
    }
    let printed = PRINTED.fetch_add(1, Ordering::Relaxed) + 1;
    if printed <= PRINTED_FAULTS {
        line(format_args!("tenure: {fault}"));
    }
    if printed == PRINTED_FAULTS {
        line(format_args!(
            "tenure: further reports are dropped; see tenure::process::set_fault_hook"
        ));
    }
}

#[cfg(not(feature = "std"))]
fn print(_fault: &Fault) {}
