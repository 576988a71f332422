//! A probe of a line: breakpoints on four of its words in several threads, for a few milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;

use crate::arch::HITS;
pub(crate) use crate::arch::WORDS;
use crate::sys::Sample;
use crate::sys::guard::TrapGuard;
use crate::sys::perf::{PerfEvent, PerfRing, WATCHED_BYTES};

/// Threads that are watched at a time.
pub(crate) const THREADS: usize = 8;

/// File descriptors that a probe takes, and those for files that are read.
const DESCRIPTORS: usize = THREADS * (WORDS + 1) + 24;

/// How long a probe takes.
pub(crate) const PROBE_TIME: Duration = Duration::from_millis(5);

/// How often signals of guarded threads are checked meanwhile: in programs that have had none so far, and in others. Each check
/// interrupts a thread that has a CPU.
const SIGNAL_POLLS: [Duration; 2] = [Duration::from_micros(2500), Duration::from_micros(500)];

/// Holds the file descriptors that a probe takes, until it is dropped; `None` if there are not so many.
pub(crate) fn spare_descriptors() -> Option<Vec<OwnedFd>> {
    let first = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).ok()?;
    (0..DESCRIPTORS).map(|_| first.try_clone().ok()).collect()
}

/// What a probe has shown.
#[derive(Debug, Default)]
pub(crate) struct ProbeResult {
    /// Threads that had breakpoints.
    pub(crate) armed: usize,
    pub(crate) hits: Vec<Sample>,
    pub(crate) exposed: Vec<Exposure>,
}

/// A word that had a breakpoint in a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exposure {
    pub(crate) word: u64,
    pub(crate) tid: u32,
    /// Nanoseconds that the thread ran meanwhile.
    pub(crate) ran_ns: u64,
}

/// A thread with breakpoints.
struct Armed {
    ring: PerfRing,
    words: Vec<(u64, PerfEvent)>,
}

/// Probes these words in these threads. Threads that end meanwhile, and those whose debug registers are taken, are
/// left out.
///
/// # Errors
///
/// A thread that exists may not be traced, where that is needed.
pub(crate) fn probe(
    words: &[u64],
    threads: &[u32],
    mut guard: Option<&mut TrapGuard>,
) -> io::Result<ProbeResult> {
    let mut armed: Vec<(u32, Option<Armed>)> = Vec::new();
    let mut refused = None;
    for &tid in threads {
        match guard.as_mut().map_or(Ok(()), |guard| guard.seize(tid)) {
            Ok(()) => armed.push((tid, arm(tid, words).ok())),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    for thread in armed.iter().filter_map(|(_, armed)| armed.as_ref()) {
        // It fails for a thread that has ended.
        let _ = thread.ring.event.enable();
    }
    let start = Instant::now();
    while refused.is_none() && start.elapsed() < PROBE_TIME {
        match &mut guard {
            Some(guard) => {
                thread::sleep(SIGNAL_POLLS[usize::from(guard.has_signals)]);
                guard.tend();
            }
            None => thread::sleep(PROBE_TIME.saturating_sub(start.elapsed())),
        }
    }
    let mut seen = ProbeResult::default();
    for (tid, armed) in armed {
        match &mut guard {
            Some(guard) => guard.release(tid, || seen.take(tid, armed)),
            None => {
                // One interrupt of its CPU, in place of one for each word that is read.
                let _ = armed.as_ref().map(|armed| armed.ring.event.disable());
                seen.take(tid, armed);
            }
        }
    }
    refused.map_or(Ok(seen), Err)
}

impl ProbeResult {
    /// What a thread has met. It has no breakpoints afterwards.
    fn take(&mut self, tid: u32, armed: Option<Armed>) {
        let Some(Armed { mut ring, words }) = armed else { return };
        self.armed += 1;
        for (word, event) in words {
            if let Ok(ran_ns) = event.running() {
                self.exposed.push(Exposure { word, tid, ran_ns });
            }
        }
        ring.drain(|sample| self.hits.push(sample));
    }
}

/// The thread has ended, or has not been released yet.
fn is_passing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(nix::libc::ESRCH)
}

/// There are no more debug registers.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::ENOSPC)
}

fn arm(tid: u32, words: &[u64]) -> io::Result<Armed> {
    let ring = PerfRing::new(PerfEvent::leader(tid)?, 1)?;
    let mut armed = Vec::new();
    for &word in words {
        let event = match PerfEvent::breakpoint(tid, word, &ring.event, HITS.into()) {
            // The processor has fewer, or a debugger has the others.
            Err(error) if is_full(&error) && !armed.is_empty() => break,
            event => event?,
        };
        event.write_to(&ring)?;
        armed.push((word, event));
    }
    Ok(Armed { ring, words: armed })
}

/// The part of a line, and of the `others` that run, that a probe watched while they ran.
pub(crate) fn covered(exposed: &[Exposure], sampled: u32, others: usize, line_bytes: u32) -> f64 {
    // Without another thread that runs there is nothing to miss.
    let is_of_others = |tid: u32| others == 0 || tid != sampled;
    let pairs = exposed.iter().filter(|it| it.ran_ns > 0 && is_of_others(it.tid)).count();
    let of = u64::from(line_bytes) / WATCHED_BYTES * others.max(1) as u64;
    (pairs as f64 / of as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_covers_words_of_other_threads_that_ran_meanwhile() {
        let of_line = |exposed: &[(u64, u32, u64)], others| {
            let exposed = exposed.iter().map(|&(word, tid, ran_ns)| Exposure { word, tid, ran_ns });
            covered(&exposed.collect::<Vec<_>>(), 1, others, 64)
        };
        assert_eq!(of_line(&[(0, 1, 9), (0, 2, 9), (8, 2, 9)], 1), 2.0 / 8.0);
        assert_eq!(of_line(&[(0, 2, 9), (0, 3, 9)], 4), 2.0 / 32.0);
        assert_eq!(of_line(&[(0, 1, 9)], 0), 1.0 / 8.0);
        // One that slept all the while could have met nothing.
        assert_eq!(of_line(&[(0, 2, 0), (8, 2, 0)], 1), 0.0);
        assert_eq!(of_line(&[(0, 1, 0)], 0), 0.0);
    }
}
