//! The CPUs that a process may use, and what other programs use of them.

use std::path::Path;
use std::time::Instant;

use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

use super::process::{LiveProcess, ProcessorTimes, text};

/// CPUs that a process may use: of its affinity mask, and at most as many as its control group has time of; `None` of one that has ended.
pub(crate) fn cpus_of(pid: u32) -> Option<f64> {
    let mask = sched_getaffinity(Pid::from_raw(pid.cast_signed())).ok();
    let of_mask = mask.map(|mask| {
        (0..nix::sched::CpuSet::count()).filter(|cpu| mask.is_set(*cpu).unwrap_or(false)).count()
    });
    let cpus = of_mask.filter(|cpus| *cpus > 0)? as f64;
    Some(quota(pid).map_or(cpus, |quota| quota.min(cpus)))
}

/// CPUs that the control group of a process, and those that this is part of, have time of.
fn quota(pid: u32) -> Option<f64> {
    let group = text(format!("/proc/{pid}/cgroup")).ok()?;
    let path = Path::new(group.lines().find_map(|line| line.strip_prefix("0::/"))?);
    let quota = |group: &Path| {
        let file = Path::new("/sys/fs/cgroup").join(group).join("cpu.max");
        quota_in(&text(file).ok()?)
    };
    path.ancestors().filter_map(quota).min_by(f64::total_cmp)
}

/// `200000 100000`, or `max 100000`.
fn quota_in(text: &str) -> Option<f64> {
    let (time, period) = text.trim_end().split_once(' ')?;
    let (time, period): (f64, f64) = (time.parse().ok()?, period.parse().ok()?);
    Some(time / period).filter(|quota| *quota > 0.0)
}

/// The processor time of a process and of all programs, when it was asked first and last.
#[derive(Debug, Default)]
pub(crate) struct ProcessorUsage([Option<ProcessorUse>; 2]);

#[derive(Debug, Clone, Copy)]
struct ProcessorUse {
    at: Instant,
    own: ProcessorTimes,
    /// Seconds of all programs.
    all: f64,
}

impl ProcessorUsage {
    /// Also asks about a process that has ended and waits for its parent.
    pub(crate) fn ask(&mut self, process: &LiveProcess) {
        if let Some(own) = process.times() {
            let now = ProcessorUse { at: Instant::now(), own, all: busy_seconds().unwrap_or(0.0) };
            self.0 = [self.0[0].or(Some(now)), Some(now)];
        }
    }

    /// What the process has used meanwhile.
    pub(crate) fn own(&self) -> ProcessorTimes {
        let [Some(first), Some(last)] = self.0 else { return ProcessorTimes::default() };
        ProcessorTimes {
            user: last.own.user - first.own.user,
            kernel: last.own.kernel - first.own.kernel,
        }
    }

    /// Seconds that other programs have used meanwhile.
    pub(crate) fn others(&self) -> f64 {
        let [Some(first), Some(last)] = self.0 else { return 0.0 };
        let ProcessorTimes { user, kernel } = self.own();
        (last.all - first.all - user - kernel).max(0.0)
    }

    /// Seconds between the first and the last time.
    pub(crate) fn seconds(&self) -> f64 {
        let [Some(first), Some(last)] = self.0 else { return 0.0 };
        (last.at - first.at).as_secs_f64()
    }
}

/// Seconds that all CPUs of the machine were busy, and those that the hypervisor gave to other machines.
fn busy_seconds() -> Option<f64> {
    busy_in(&text("/proc/stat").ok()?)
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, and guests, which are counted twice.
fn busy_in(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let busy = ticks.iter().take(8).enumerate().filter(|(at, _)| ![3, 4].contains(at));
    let busy: u64 = busy.map(|(_, ticks)| ticks).sum();
    Some(busy as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_group_has_time_of_so_many_cpus_or_of_all() {
        assert_eq!(quota_in("150000 100000\n"), Some(1.5));
        for text in ["max 100000\n", "", "0 100000", "x"] {
            assert_eq!(quota_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_machine_is_busy_while_it_is_neither_idle_nor_waits_for_a_disk() {
        let ticks = rustix::param::clock_ticks_per_second();
        let stat = format!("cpu  {ticks} 0 {ticks} 900 800 0 0 {ticks} 77 0\ncpu0 1 2 3\n");
        assert_eq!(busy_in(&stat), Some(3.0));
        assert_eq!(busy_in("cpu0 1 2 3"), None);
    }
}
