//! CPU time of other processes.

use std::collections::BTreeMap;
use std::fs;

/// The CPU time of processes, with their threads and children, at a moment: nanoseconds from
/// `/proc/PID/task/TID/schedstat`, as `/proc/PID/stat` has hundredths of a second. A running thread's is up to a tick
/// old.
#[derive(Debug, Default)]
pub(crate) struct CpuTimes(BTreeMap<u32, u64>);

impl CpuTimes {
    pub(crate) fn of(pids: &[u32]) -> Self {
        let mut times = BTreeMap::new();
        let mut processes = pids.to_vec();
        while let Some(pid) = processes.pop() {
            for thread in threads(pid) {
                let folder = format!("/proc/{pid}/task/{thread}");
                let Some(ns) = on_cpu(&format!("{folder}/schedstat")) else { continue };
                if times.insert(thread, ns).is_none() {
                    let children = fs::read_to_string(format!("{folder}/children"));
                    processes.extend(
                        children.unwrap_or_default().split_whitespace().flat_map(str::parse::<u32>),
                    );
                }
            }
        }
        Self(times)
    }

    /// Nanoseconds used since `before`. New threads count in full, ended ones not at all.
    pub(crate) fn since(&self, before: &Self) -> u64 {
        let used = |(thread, ns): (&u32, &u64)| {
            ns.saturating_sub(before.0.get(thread).copied().unwrap_or(0))
        };
        self.0.iter().map(used).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn on_cpu(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_time_of_a_busy_child_counts_for_its_parent() {
        let us = [std::process::id()];
        let before = CpuTimes::of(&us);
        assert!(!before.is_empty());
        let mut child = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = [child.id()];
        while CpuTimes::of(&pid).since(&CpuTimes::default()) < 5_000_000 {
            std::thread::yield_now();
        }
        assert!(CpuTimes::of(&us).since(&before) >= 5_000_000);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_not_there_has_used_nothing() {
        let gone = CpuTimes::of(&[u32::MAX]);
        assert!(gone.is_empty());
        assert_eq!(gone.since(&CpuTimes::default()), 0);
    }
}
