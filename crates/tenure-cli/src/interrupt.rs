//! The first Ctrl-C ends the work with what there is, the second the process.

#![allow(clippy::disallowed_types, reason = "signal-hook sets a flag of core's")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, INTERRUPTED};

pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn catch() -> Result<Self, Failure> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order the first signal finds the flag unset.
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&came))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .map_err(|error| Failure::Input(format!("cannot wait for Ctrl-C: {error}")))?;
        }
        Ok(Self(came))
    }

    pub(crate) fn came(&self) -> bool {
        // Relaxed: only a flag.
        self.0.load(Ordering::Relaxed)
    }
}
