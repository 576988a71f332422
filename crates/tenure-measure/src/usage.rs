//! Processor time: of what this process started, and of all others.

use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Processor time up to a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuClock {
    at: Instant,
    children: Duration,
    this: Duration,
    /// Of all programs, with what a hypervisor took; `None` where the system does not say.
    machine: Option<Duration>,
}

/// Processor time of a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTime {
    /// Of programs that this process started and has waited for.
    pub(crate) children: Duration,
    /// CPUs that others used.
    pub(crate) others: f64,
}

impl CpuClock {
    pub(crate) fn now() -> Self {
        let time = |who| getrusage(who).map(|it| used(&it)).unwrap_or_default();
        Self {
            at: Instant::now(),
            children: time(UsageWho::RUSAGE_CHILDREN),
            this: time(UsageWho::RUSAGE_SELF),
            machine: std::fs::read_to_string("/proc/stat").ok().and_then(|it| busy(&it)),
        }
    }

    pub(crate) fn since(&self, earlier: &Self) -> CpuTime {
        let children = self.children.saturating_sub(earlier.children);
        let this = self.this.saturating_sub(earlier.this);
        let machine = self.machine.zip(earlier.machine).map(|(new, old)| new.saturating_sub(old));
        let others = machine.unwrap_or_default().saturating_sub(children + this);
        let seconds = (self.at - earlier.at).as_secs_f64();
        CpuTime { children, others: others.as_secs_f64() / seconds.max(1e-9) }
    }
}

fn used(usage: &Usage) -> Duration {
    let duration = |time: TimeVal| {
        Duration::from_secs(u64::try_from(time.tv_sec()).unwrap_or(0))
            + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    };
    duration(usage.user_time()) + duration(usage.system_time())
}

/// The time that CPUs were not idle, of `/proc/stat`.
fn busy(stat: &str) -> Option<Duration> {
    /// `USER_HZ`: the unit of the file, on every architecture of Linux that Rust knows.
    const TICKS_A_SECOND: f64 = 100.0;
    const IDLE: [usize; 2] = [3, 4];
    /// Up to the steal time: a guest's is in `user`.
    const FIELDS: usize = 8;
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(FIELDS);
    let ticks = fields.map(str::parse::<f64>).collect::<Result<Vec<_>, _>>().ok()?;
    let busy = ticks.iter().enumerate().filter(|(at, _)| !IDLE.contains(at)).map(|(_, it)| it);
    Some(Duration::from_secs_f64(busy.sum::<f64>() / TICKS_A_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_waits_or_is_idle_is_not_busy_and_stolen_time_is() {
        let stat = "cpu  100 20 30 5000 700 4 6 40 90 8\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(busy(stat), Some(Duration::from_secs(2)));
        assert_eq!(busy("intr 1 2\n"), None);
    }

    #[test]
    fn what_others_used_is_what_is_left() {
        let at = Instant::now();
        let seconds = Duration::from_secs;
        let clock = |at, children, this, machine| CpuClock {
            at,
            children: seconds(children),
            this: seconds(this),
            machine: Some(seconds(machine)),
        };
        let used = clock(at + seconds(4), 7, 2, 112).since(&clock(at, 1, 1, 101));
        assert_eq!((used.children, used.others), (seconds(6), 1.0));
        let unknown = CpuClock { machine: None, ..clock(at + seconds(4), 7, 2, 0) };
        assert_eq!(unknown.since(&clock(at, 1, 1, 101)).others, 0.0);
    }
}
