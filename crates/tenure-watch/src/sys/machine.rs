//! The CPUs that a process may use, and what other programs use of them.

use std::fs;
use std::time::{Duration, Instant};

use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

use super::process::{LiveProcess, ProcessorTimes};

/// CPUs that a process may use: of its affinity mask, and at most as many as its control group has time of.
pub(crate) fn cpus_of(pid: u32) -> f64 {
    let mask = sched_getaffinity(Pid::from_raw(pid.cast_signed())).ok();
    let of_mask = mask.map(|mask| {
        (0..nix::sched::CpuSet::count()).filter(|cpu| mask.is_set(*cpu).unwrap_or(false)).count()
    });
    let cpus = of_mask.filter(|cpus| *cpus > 0).unwrap_or(1) as f64;
    quota(pid).map_or(cpus, |quota| quota.min(cpus))
}

/// CPUs that the control group of a process has time of.
fn quota(pid: u32) -> Option<f64> {
    let group = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    quota_in(&fs::read_to_string(format!("/sys/fs/cgroup{}/cpu.max", path.trim_end())).ok()?)
}

/// `200000 100000`, or `max 100000`.
fn quota_in(text: &str) -> Option<f64> {
    let (time, period) = text.trim_end().split_once(' ')?;
    let (time, period): (f64, f64) = (time.parse().ok()?, period.parse().ok()?);
    Some(time / period).filter(|quota| *quota > 0.0)
}

/// The processor time of the machine and of a process, over a window of time.
#[derive(Debug)]
pub(crate) struct BusyTime {
    window: Duration,
    before: Option<(Instant, f64, ProcessorTimes)>,
    others: f64,
}

impl BusyTime {
    pub(crate) fn new(window: Duration) -> Self {
        Self { window, before: None, others: 0.0 }
    }

    /// CPUs that other programs use, on average of the last window.
    pub(crate) fn others(&mut self, process: &LiveProcess) -> f64 {
        let is_due = self.before.is_none_or(|(since, ..)| since.elapsed() >= self.window);
        if is_due && let (Some(busy), Some(own)) = (busy_seconds(), process.times()) {
            if let Some((since, busy_before, own_before)) = self.before {
                let own = own.user + own.kernel - own_before.user - own_before.kernel;
                let seconds = since.elapsed().as_secs_f64();
                self.others = ((busy - busy_before - own) / seconds).max(0.0);
            }
            self.before = Some((Instant::now(), busy, own));
        }
        self.others
    }
}

/// Seconds that all CPUs of the machine were busy, and those that the hypervisor gave to other machines.
fn busy_seconds() -> Option<f64> {
    busy_in(&fs::read_to_string("/proc/stat").ok()?)
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
