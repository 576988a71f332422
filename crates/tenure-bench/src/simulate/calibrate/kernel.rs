//! The operating system's costs, measured by `membarrier`.
//!
//! Its private expedited command interrupts every CPU that runs another thread of the process, and waits for all of
//! them. Calls beside no thread, one, and one on every CPU give the parts of an interrupt. The rest keeps the
//! simulator's defaults.

use super::fit::rounded;
use tenure_sim::machine::Kernel;

pub(super) fn measured(cpus: &[usize]) -> Kernel {
    let mut kernel = Kernel::default();
    kernel.system_call = imp::system_call().map_or(kernel.system_call, rounded);
    if imp::has_membarrier() {
        interrupts(&mut kernel, cpus);
    }
    kernel
}

/// `None` where it cannot be measured, and the defaults stay.
fn interrupts(kernel: &mut Kernel, cpus: &[usize]) -> Option<()> {
    let (&caller, others) = cpus.split_first()?;
    let alone = imp::beside(caller, &[])?.call;
    let one = imp::beside(caller, others.get(..1)?)?;
    let interrupt = one.call - alone;
    if interrupt <= 0.0 {
        return None;
    }
    let send = match others.len() {
        1 => kernel.interrupt_send,
        more => (imp::beside(caller, others)?.call - one.call) / (more - 1) as f64,
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
    /// To the caller.
    call: f64,
    /// To one running thread.
    taken: f64,
}

#[cfg(target_os = "linux")]
mod imp {
    use super::Call;
    use nix::libc;
    use std::hint::black_box;
    use std::time::{Duration, Instant};
    use tenure::line::Isolated;
    use tenure::memory::{Memory, Native, Ordering};
    use tenure_report::affinity;
    use tenure_report::stats::median;

    type Word = <Native as Memory>::AtomicU64;

    /// linux/membarrier.h.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    const ROUNDS: usize = 15;
    /// Tries, as other programs may want the CPUs too.
    const TRIES: usize = 10 * ROUNDS;
    const CALLS: u32 = 200;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes three integers, and touches no memory of this process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn has_membarrier() -> bool {
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

    pub(super) fn system_call() -> Option<f64> {
        // No library answers this call by itself.
        rounds(|| Some(each(|| _ = black_box(std::os::unix::process::parent_id()))))
    }

    /// Calls `membarrier` from `caller` while a thread on each of `others` counts. `None` if they hardly ran at once.
    pub(super) fn beside(caller: usize, others: &[usize]) -> Option<Call> {
        let over = Isolated::new(Word::new(0));
        let counts: Vec<_> = others.iter().map(|_| Isolated::new(Word::new(0))).collect();
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

    fn measure(counts: &[Isolated<Word>]) -> Option<Call> {
        // The time of `during`, and what the slowest of the others counts in a nanosecond of it. None if one of them,
        // or the caller, did not run throughout.
        let beside = |during: &dyn Fn()| {
            let now =
                || counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
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
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::Call;

    pub(super) fn has_membarrier() -> bool {
        false
    }
    pub(super) fn system_call() -> Option<f64> {
        None
    }
    pub(super) fn beside(_caller: usize, _others: &[usize]) -> Option<Call> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_report::affinity;

    #[test]
    fn the_parts_of_an_interrupt_are_no_less_than_nothing_whatever_was_measured() {
        let kernel = measured(&affinity::cpus());
        for part in [
            kernel.system_call,
            kernel.interrupt_send,
            kernel.interrupt_latency,
            kernel.interrupt_handler,
        ] {
            assert!(part >= 0.0 && part.is_finite(), "{kernel:?}");
        }
    }

    #[test]
    fn on_one_cpu_interrupts_keep_their_defaults() {
        let kernel = measured(&affinity::cpus()[..1]);
        assert_eq!(kernel.interrupt_latency, Kernel::default().interrupt_latency);
    }
}
