//! Which CPUs there are, pinning to them, and whether the scheduler interfered.

use std::ffi::c_long;

/// The CPUs that this process may run on, in the system's numbering.
#[must_use]
pub fn cpus() -> Vec<usize> {
    let allowed = imp::allowed();
    if allowed.is_empty() {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
    } else {
        allowed
    }
}

/// Keeps the calling thread on `cpu`. Returns whether the system agreed.
pub fn pin(cpu: usize) -> bool {
    imp::pin(cpu)
}

/// How often the calling thread was switched out although it wanted to run; always 0 where the
/// system does not tell.
#[must_use]
pub fn involuntary_switches() -> c_long {
    imp::involuntary_switches()
}

#[cfg(target_os = "linux")]
mod imp {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::unistd::Pid;
    use std::ffi::c_long;

    const CALLING_THREAD: Pid = Pid::from_raw(0);

    pub(super) fn allowed() -> Vec<usize> {
        let Ok(set) = sched_getaffinity(CALLING_THREAD) else { return Vec::new() };
        (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
    }

    pub(super) fn pin(cpu: usize) -> bool {
        let mut set = CpuSet::new();
        set.set(cpu).is_ok() && sched_setaffinity(CALLING_THREAD, &set).is_ok()
    }

    pub(super) fn involuntary_switches() -> c_long {
        getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::ffi::c_long;

    pub(super) fn allowed() -> Vec<usize> {
        Vec::new()
    }
    pub(super) fn pin(_cpu: usize) -> bool {
        false
    }
    pub(super) fn involuntary_switches() -> c_long {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_cpu_and_a_thread_can_be_pinned_to_each() {
        let cpus = cpus();
        assert!(!cpus.is_empty());
        for cpu in cpus {
            let pinned = std::thread::spawn(move || pin(cpu)).join().unwrap();
            assert_eq!(pinned, cfg!(target_os = "linux"));
        }
    }

    #[test]
    fn pinning_to_a_cpu_that_does_not_exist_fails() {
        assert!(!std::thread::spawn(|| pin(usize::MAX)).join().unwrap());
    }
}
