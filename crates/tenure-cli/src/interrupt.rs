//! The first Ctrl-C, SIGTERM or SIGHUP ends the work with what there is; the second ends the process.

#![allow(clippy::disallowed_types, reason = "signal-hook sets a flag of core's")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::failure::{EarlyEnd, INTERRUPTED};

pub(crate) struct Interrupt {
    came: Came,
    /// The last one; 0 before the first.
    signal: Arc<AtomicUsize>,
    registered: Vec<SigId>,
}

/// Whether a signal came.
#[derive(Clone, Default)]
pub(crate) struct Came(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn catch() -> Result<Self, EarlyEnd> {
        let came = Came::default();
        let last = Arc::new(AtomicUsize::new(0));
        let mut registered = Vec::new();
        for signal in signals() {
            // In this order the first signal finds the flag unset.
            let flag = &came.0;
            let ids =
                flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(flag))
                    .and_then(|id| {
                        // Which one it was is known when the flag says that one came.
                        let number = usize::try_from(signal).unwrap_or(0);
                        let which = flag::register_usize(signal, Arc::clone(&last), number)?;
                        Ok([id, which, flag::register(signal, Arc::clone(flag))?])
                    })
                    .map_err(|error| EarlyEnd::Input(format!("cannot wait for Ctrl-C: {error}")))?;
            registered.extend(ids);
        }
        Ok(Self { came, signal: last, registered })
    }

    /// Other work begins: the next signal is the first again.
    pub(crate) fn restart(&mut self) -> Result<(), EarlyEnd> {
        let before = std::mem::replace(self, Self::catch()?);
        before.registered.into_iter().for_each(|id| _ = low_level::unregister(id));
        Ok(())
    }

    pub(crate) fn came(&self) -> bool {
        self.came.get()
    }

    /// The last signal that came was SIGTERM, which, unlike Ctrl-C and the end of a terminal, is for this process alone.
    pub(crate) fn was_for_this(&self) -> bool {
        // Relaxed: only a number.
        usize::try_from(SIGTERM).is_ok_and(|term| self.signal.load(Ordering::Relaxed) == term)
    }

    /// A handle by which another thread sees whether a signal came.
    pub(crate) fn handle(&self) -> Came {
        self.came.clone()
    }
}

impl Came {
    pub(crate) fn get(&self) -> bool {
        // Relaxed: only a flag.
        self.0.load(Ordering::Relaxed)
    }
}

fn signals() -> Vec<i32> {
    #[cfg(unix)]
    let hangup = Some(signal_hook::consts::SIGHUP).filter(|signal| !is_ignored(*signal));
    #[cfg(not(unix))]
    let hangup = None;
    [SIGINT, SIGTERM].into_iter().chain(hangup).collect()
}

/// Whether `nohup` or the like has this signal ignored.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Elsewhere nothing says so, and a signal that is caught would end what shall go on: it keeps what was set.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_: i32) -> bool {
    true
}
