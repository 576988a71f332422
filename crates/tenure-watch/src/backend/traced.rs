//! ptrace alone, where the kernel refuses perf events: threads that run are stopped for a moment, and ptrace sets the
//! breakpoints.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::{Backend, Trouble};
use crate::breakpoints::{self, Exposure, ProbeResult};
use crate::sys::Sample;
use crate::sys::process;
use crate::sys::tracer::{self, Tracer};

/// Threads that are checked in one step, in turn, for whether they run.
const THREADS_A_STEP: usize = 64;

#[derive(Debug)]
pub(crate) struct PtraceBackend {
    pid: u32,
    tracer: Tracer,
    period: Duration,
    next: Instant,
    threads: Vec<u32>,
    turn: usize,
    kept: u64,
}

impl PtraceBackend {
    /// `rate` samples a second of each thread that runs, of a process that the tracer may trace.
    pub(crate) fn new(tracer: Tracer, pid: u32, rate: u64) -> Self {
        let period = Duration::from_nanos(1_000_000_000 / rate.clamp(1, 1000));
        Self { pid, tracer, period, next: Instant::now(), threads: Vec::new(), turn: 0, kept: 0 }
    }

    /// Threads that run now, of those whose turn it is.
    fn running(&mut self) -> Vec<u32> {
        let all = self.threads.len();
        let asked = (0..all.min(THREADS_A_STEP)).map(|at| self.threads[(self.turn + at) % all]);
        let mut running: Vec<u32> =
            asked.filter(|tid| process::is_running(self.pid, *tid)).collect();
        running.truncate(tracer::THREADS);
        self.turn = self.turn.wrapping_add(THREADS_A_STEP.min(all)) % all.max(1);
        running
    }
}

/// Whether a thread that exists may be traced.
fn allowed(tid: u32, error: i32) -> io::Result<()> {
    if error == nix::libc::EPERM && !process::is_ending(tid) {
        return Err(io::Error::from_raw_os_error(error));
    }
    Ok(())
}

// Between requests no thread is traced, but for those that sleep in the kernel, which the tracer releases: so there is no `release`.
impl Backend for PtraceBackend {
    fn attach(&mut self, threads: &[u32]) -> io::Result<()> {
        self.threads.extend_from_slice(threads);
        Ok(())
    }

    fn list(&mut self, threads: &[u32], _: &[(u32, u64)]) {
        self.threads = threads.to_vec();
    }

    fn collect(&mut self, _: Duration, samples: &mut Vec<Sample>) -> io::Result<()> {
        thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next = Instant::now() + self.period;
        let running = self.running();
        if running.is_empty() {
            return Ok(());
        }
        let pid = self.pid;
        let answer = self.tracer.sample(&running)?;
        samples.extend(answer.samples.iter().map(|sample| Sample { pid, ..*sample }));
        running.iter().zip(answer.errors).try_for_each(|(tid, error)| allowed(*tid, *error))
    }

    fn probe(&mut self, words: &[u64], threads: &[u32]) -> io::Result<ProbeResult> {
        let nanoseconds = u64::try_from(breakpoints::PROBE_TIME.as_nanos()).unwrap_or(u64::MAX);
        let pid = self.pid;
        let answer = self.tracer.probe(words, threads, nanoseconds)?;
        let mut seen = ProbeResult::default();
        for ((&tid, &error), exposed) in threads.iter().zip(answer.errors).zip(answer.exposed) {
            allowed(tid, error)?;
            if error == 0 {
                seen.armed += 1;
                let of_thread = words.iter().zip(exposed);
                seen.exposed.extend(of_thread.map(|(&word, &ran_ns)| Exposure {
                    word,
                    tid,
                    ran_ns,
                }));
            }
        }
        seen.hits = answer.samples.iter().map(|hit| Sample { pid, ..*hit }).collect();
        self.kept = answer.kept;
        Ok(seen)
    }

    fn trouble(&self) -> Trouble {
        Trouble { kept: self.kept, ..Trouble::default() }
    }

    fn own(&self) -> Duration {
        let pid = self.tracer.pid;
        Duration::from_nanos(process::ran_ns(pid, pid).unwrap_or(0))
    }

    fn is_traced(&self) -> bool {
        true
    }
}
