//! CPUs, pinning, and the scheduler's interference.

#[cfg(target_os = "linux")]
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::resource::{UsageWho, getrusage},
    unistd::Pid,
};
use std::ffi::c_long;

#[cfg(target_os = "linux")]
const CALLING_THREAD: Pid = Pid::from_raw(0);

/// The CPUs that this process may run on, in the system's numbering.
#[must_use]
pub fn cpus() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    if let Ok(set) = sched_getaffinity(CALLING_THREAD) {
        return (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect();
    }
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// Pins the calling thread to `cpu`. Returns whether that worked: only on Linux.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn pin(cpu: usize) -> bool {
    #[cfg(target_os = "linux")]
    let agreed = {
        let mut set = CpuSet::new();
        set.set(cpu).is_ok() && sched_setaffinity(CALLING_THREAD, &set).is_ok()
    };
    #[cfg(not(target_os = "linux"))]
    let agreed = false;
    agreed
}

/// Involuntary switches of the calling thread so far; 0 where unknown.
#[must_use]
pub fn involuntary_switches() -> c_long {
    #[cfg(target_os = "linux")]
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) {
        return usage.involuntary_context_switches();
    }
    0
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
