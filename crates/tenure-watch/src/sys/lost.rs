//! Keeps this process alive, while it watches itself, on virtual machines that lose the reason of a trap.
//!
//! No thread can trace its own process, so the signal that [`guard`](super::guard) keeps from others is handled here.

use std::io;
#[allow(clippy::disallowed_types, reason = "a signal's handler may run on any thread")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::libc::siginfo_t;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

use super::tracee::is_lost;

#[allow(clippy::disallowed_types, reason = "a signal's handler may run on any thread")]
static LOST: AtomicU64 = AtomicU64::new(0);

/// What was done about SIGTRAP before.
static BEFORE: OnceLock<SigAction> = OnceLock::new();

/// Handles the signal from now on, to this process's end. Others of its kind do what they did before.
pub(crate) fn handle() -> io::Result<()> {
    /// Of two threads at once the second would take this handler for what was there before.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK | SaFlags::SA_RESTART;
    let action = SigAction::new(SigHandler::SigAction(handler), flags, SigSet::empty());
    // SAFETY: the handler only uses atomics, and what may be called in one.
    let before = unsafe { sigaction(Signal::SIGTRAP, &action) }?;
    let _ = BEFORE.set(before);
    Ok(())
}

/// Signals that would have ended the process.
pub(crate) fn count() -> u64 {
    // Relaxed: it is a figure.
    LOST.load(Ordering::Relaxed)
}

extern "C" fn handler(signal: i32, info: *mut siginfo_t, context: *mut nix::libc::c_void) {
    // SAFETY: the kernel hands it to a handler with SA_SIGINFO.
    if is_lost(unsafe { (*info).si_code }) {
        // Relaxed: it is a figure.
        LOST.fetch_add(1, Ordering::Relaxed);
        return;
    }
    match BEFORE.get().map(SigAction::handler) {
        Some(SigHandler::Handler(before)) => before(signal),
        Some(SigHandler::SigAction(before)) => before(signal, info, context),
        Some(SigHandler::SigIgn) => {}
        Some(SigHandler::SigDfl) | None => {
            let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: it is no handler. The signal ends the process once this one returns.
            let _ = unsafe { sigaction(Signal::SIGTRAP, &action) };
            let _ = raise(Signal::SIGTRAP);
        }
    }
}
