//! The operating system's costs, measured by `membarrier` and `futex`.
//!
//! The private expedited command of `membarrier` interrupts every CPU that runs another thread of the process, and waits for all of
//! them. Calls beside no thread, one, and one on every CPU give the parts of an interrupt. One
//! thread that wakes another, which has slept on a word for some time, gives those of a wake-up. What cannot be measured keeps
//! the simulator's default.

use super::fit::rounded;
use nix::libc;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tenure::cache_line::CachePadded;
use tenure::memory::{Memory, Native, Ordering};
use tenure_report::affinity;
use tenure_report::stats::median;
use tenure_sim::machine::Kernel;

type Word = <Native as Memory>::AtomicU64;
type Word32 = <Native as Memory>::AtomicU32;

/// linux/membarrier.h.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

const ROUNDS: usize = 15;
/// Tries, as other programs may want the CPUs too.
const TRIES: usize = 10 * ROUNDS;
const CALLS: u32 = 200;

pub(super) fn measured(cpus: &[usize]) -> Kernel {
    let mut kernel = Kernel::default();
    kernel.system_call = system_call().map_or(kernel.system_call, rounded);
    if has_membarrier() {
        interrupts(&mut kernel, cpus);
    }
    if let &[waker, sleeper, ..] = cpus
        && let Some(woken) = wake_up(waker, sleeper)
    {
        kernel.wake_send = rounded((woken.call - kernel.system_call).max(0.0));
        kernel.wake = rounded((woken.awake - kernel.system_call).max(0.0));
    }
    kernel
}

/// One wake-up, in nanoseconds from its begin.
#[derive(Debug, Clone, Copy)]
struct WakeUp {
    /// Until the waker's call has returned.
    call: f64,
    /// Until the sleeper runs.
    awake: f64,
}

/// `None` where it cannot be measured, and the defaults stay.
fn interrupts(kernel: &mut Kernel, cpus: &[usize]) -> Option<()> {
    let (&caller, others) = cpus.split_first()?;
    let alone = beside(caller, &[])?.call;
    let one = beside(caller, others.get(..1)?)?;
    let interrupt = one.call - alone;
    if interrupt <= 0.0 {
        return None;
    }
    let send = match others.len() {
        1 => kernel.interrupt_send,
        more => (beside(caller, others)?.call - one.call) / (more - 1) as f64,
    };
    let send = send.clamp(0.0, interrupt / 2.0);
    let handler = one.taken.clamp(0.0, interrupt - send);
    kernel.interrupt_send = rounded(send);
    kernel.interrupt_handler = rounded(handler);
    kernel.interrupt_latency = rounded(interrupt - send - handler);
    Some(())
}

/// One call of `membarrier`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Call {
    /// Cost to the caller.
    call: f64,
    /// Cost to one running thread.
    taken: f64,
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes three integers, and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

fn has_membarrier() -> bool {
    membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED)
}

fn each(call: impl Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// The median of the rounds that succeeded.
fn rounds(round: impl Fn() -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = (0..TRIES).filter_map(|_| round()).take(ROUNDS).collect();
    median(&values)
}

fn system_call() -> Option<f64> {
    // No library answers this call by itself.
    rounds(|| Some(each(|| _ = black_box(std::os::unix::process::parent_id()))))
}

/// Wakes a thread on `sleeper` from one on `waker`. `None` if that hardly ever found it asleep.
fn wake_up(waker: usize, sleeper: usize) -> Option<WakeUp> {
    /// Longer than it takes to fall asleep.
    const ASLEEP: Duration = Duration::from_micros(50);
    const LAST: u32 = 1000;
    // What the sleeper waits to change, and nanoseconds from the start to when it last saw that.
    let word = CachePadded::new(Word32::new(0));
    let awake = CachePadded::new(Word::new(0));
    let start = Instant::now();
    let now = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let futex = |operation: libc::c_int, value: u32| {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let no_timeout = std::ptr::null::<libc::timespec>();
        // SAFETY: the call reads the word, which outlives both threads.
        unsafe { libc::syscall(libc::SYS_futex, &raw const *word, operation, value, no_timeout) }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            affinity::pin(sleeper);
            let mut seen = 0;
            while seen < LAST {
                futex(libc::FUTEX_WAIT, seen);
                let found = word.load(Ordering::Relaxed);
                if found != seen {
                    seen = found;
                    // Release: pairs with the waker's Acquire, which is ready for the next round then.
                    awake.store(now(), Ordering::Release);
                }
            }
        });
        let waker = scope.spawn(|| {
            affinity::pin(waker);
            let (mut calls, mut latencies) = (Vec::new(), Vec::new());
            for round in 1..=LAST {
                let since = Instant::now();
                while since.elapsed() < ASLEEP {}
                awake.store(0, Ordering::Relaxed);
                let begin = now();
                word.store(round, Ordering::Relaxed);
                let has_slept = futex(libc::FUTEX_WAKE, 1) == 1;
                let end = now();
                let seen = loop {
                    match awake.load(Ordering::Acquire) {
                        0 => std::thread::yield_now(),
                        seen => break seen,
                    }
                };
                if has_slept {
                    calls.push((end - begin) as f64);
                    latencies.push(seen.saturating_sub(begin) as f64);
                }
            }
            Some(WakeUp { call: median(&calls)?, awake: median(&latencies)? })
        });
        waker.join().expect("it does not panic")
    })
}

/// Calls `membarrier` from `caller` while a thread on each of `others` counts. `None` if they hardly ran at once.
fn beside(caller: usize, others: &[usize]) -> Option<Call> {
    let over = CachePadded::new(Word::new(0));
    let counts: Vec<_> = others.iter().map(|_| CachePadded::new(Word::new(0))).collect();
    std::thread::scope(|scope| {
        for (&cpu, count) in std::iter::zip(others, &counts) {
            let over = &over;
            scope.spawn(move || {
                affinity::pin(cpu);
                let mut steps = 0_u64;
                // Relaxed, here and below: statistics; nothing is published.
                while over.load(Ordering::Relaxed) == 0 {
                    steps = black_box(steps + 1);
                    if steps.is_multiple_of(STRIDE) {
                        count.store(steps, Ordering::Relaxed);
                    }
                }
            });
        }
        let caller = scope.spawn(|| {
            affinity::pin(caller);
            measure(&counts)
        });
        let call = caller.join().expect("a system call does not panic");
        over.store(1, Ordering::Relaxed);
        call
    })
}

const STRIDE: u64 = 64;

fn measure(counts: &[CachePadded<Word>]) -> Option<Call> {
    // The time of `during`, and what the slowest of the others counts in a nanosecond of it. None if one of them,
    // or the caller, did not run throughout.
    let beside = |during: &dyn Fn()| {
        let now = || counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let switches = affinity::involuntary_switches();
        let (before, start) = (now(), Instant::now());
        during();
        let ns = start.elapsed().as_nanos().max(1) as f64;
        let steps = std::iter::zip(now(), before).map(|(now, before)| now - before).min();
        let calm = affinity::involuntary_switches() == switches && steps != Some(0);
        calm.then(|| (ns, steps.unwrap_or(0) as f64 / ns))
    };
    let call = || beside(&|| (0..CALLS).for_each(|_| _ = membarrier(PRIVATE_EXPEDITED)));
    let wait = || {
        let start = Instant::now();
        beside(&|| while start.elapsed() < Duration::from_micros(500) {})
    };
    let call_ns = rounds(|| call().map(|(ns, _)| ns / f64::from(CALLS)))?;
    let taken = rounds(|| {
        let ((_, undisturbed), (ns, disturbed)) = (wait()?, call()?);
        Some(ns / f64::from(CALLS) * (1.0 - disturbed / undisturbed))
    });
    Some(Call { call: call_ns, taken: if counts.is_empty() { 0.0 } else { taken? } })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_parts_of_an_interrupt_are_no_less_than_nothing_whatever_was_measured() {
        let kernel = measured(&affinity::cpus());
        for part in [
            kernel.system_call,
            kernel.interrupt_send,
            kernel.interrupt_latency,
            kernel.interrupt_handler,
            kernel.wake,
            kernel.wake_send,
        ] {
            assert!(part >= 0.0 && part.is_finite(), "{kernel:?}");
        }
    }

    #[test]
    fn on_one_cpu_interrupts_keep_their_defaults() {
        let kernel = measured(&affinity::cpus()[..1]);
        assert_eq!(kernel.interrupt_latency, Kernel::default().interrupt_latency);
        assert_eq!(kernel.wake, Kernel::default().wake);
    }
}
