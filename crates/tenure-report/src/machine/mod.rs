//! The machine of a run, as far as the system reports it.
//!
//! Linux reports it in `/proc` and `/sys`; a missing file leaves its field empty or zero and never fails a run. On other
//! systems the standard library does.

mod cpu;
mod places;
mod tree;
mod virtualisation;

pub use places::{CpuPlace, places};

use crate::affinity;
use crate::numbers::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tree::Tree;

/// The machine that a run was made on. Fields are empty or zero where the system does not tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostMachine {
    /// The processor's name.
    pub cpu: String,
    /// The architecture, such as `x86_64`.
    pub arch: String,
    /// CPUs this process may run on.
    pub cpus: usize,
    /// Physical cores among them.
    pub cores: usize,
    /// Hardware threads per core.
    pub smt: usize,
    /// Sockets.
    pub sockets: usize,
    /// Data and unified caches of the first CPU, from the nearest.
    pub caches: Vec<Cache>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Operating system and kernel release.
    pub kernel: String,
    /// The hypervisor or container technology, `none`, or empty if unknown.
    pub virtualisation: String,
    /// The frequency governor of the first CPU, or empty.
    pub governor: String,
}

/// A level of cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Its line size.
    pub line_bytes: u64,
    /// How many CPUs share it.
    pub shared_by: usize,
}

impl HostMachine {
    /// The processor and its CPUs in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let name = if self.cpu.is_empty() { &self.arch } else { &self.cpu };
        let mut parts = vec![name.clone(), counted(self.cpus, "CPU")];
        if self.cores > 0 && self.cores != self.cpus {
            parts.push(counted(self.cores, "core"));
        }
        if self.sockets > 1 {
            parts.push(counted(self.sockets, "socket"));
        }
        parts.join(", ")
    }
}

/// Describes the machine that the calling thread runs on.
#[must_use]
pub fn describe() -> HostMachine {
    read(&Tree::root(), &affinity::cpus())
}

/// Reads `/proc` and `/sys` under `tree`, for a thread that may run on `allowed`.
fn read(tree: &Tree, allowed: &[usize]) -> HostMachine {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let topology = cpu::topology(tree, &info, allowed);
    let first = allowed.first().copied().unwrap_or(0);
    HostMachine {
        cpu: cpu::name(tree, &info),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: allowed.len(),
        cores: topology.cores,
        smt: topology.smt,
        sockets: topology.sockets,
        caches: cpu::caches(tree, first),
        memory_bytes: memory(tree),
        kernel: kernel(tree),
        virtualisation: virtualisation::read(tree, &info),
        governor: tree
            .text(&format!("sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor"))
            .unwrap_or_default(),
    }
}

fn memory(tree: &Tree) -> u64 {
    let total = tree.field("proc/meminfo", "MemTotal").unwrap_or_default();
    let kib = total.trim_end_matches("kB").trim().parse().unwrap_or(0_u64);
    kib.saturating_mul(1024)
}

fn kernel(tree: &Tree) -> String {
    match (tree.text("proc/sys/kernel/ostype"), tree.text("proc/sys/kernel/osrelease")) {
        (Some(system), Some(release)) => format!("{system} {release}"),
        _ => std::env::consts::OS.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)], allowed: &[usize]) -> HostMachine {
        Tree::with(files.iter().copied(), |tree| read(tree, allowed))
    }

    /// Two sockets, 2 cores, 2 hardware threads; siblings are 4 apart, as on Linux's Xeons.
    fn xeon(allowed: &[usize]) -> HostMachine {
        let mut files: Vec<(String, String)> = [
            (
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\n\
                 model name\t: Intel(R) Xeon(R)  Platinum 8468\nflags\t\t: fpu sse2 avx512f\n",
            ),
            ("proc/meminfo", "MemTotal:       527988456 kB\nMemFree: 1 kB\n"),
            ("proc/sys/kernel/ostype", "Linux\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"),
            ("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
        for cpu in 0..8 {
            let core = cpu % 4;
            let mut file = |path: &str, text: &str| {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/{path}");
                files.push((path, format!("{text}\n")));
            };
            file("topology/core_cpus_list", &format!("{core},{}", core + 4));
            file("topology/physical_package_id", &format!("{}", core / 2));
            for (index, level, kind, size, shared) in [
                (0, "1", "Data", "48K", "0,4"),
                (1, "1", "Instruction", "32K", "0,4"),
                (2, "2", "Unified", "2048K", "0,4"),
                (3, "3", "Unified", "105M", "0-1,4-5"),
            ] {
                let names = ["level", "type", "size", "coherency_line_size", "shared_cpu_list"];
                for (name, text) in names.iter().zip([level, kind, size, "64", shared]) {
                    file(&format!("cache/index{index}/{name}"), text);
                }
            }
        }
        Tree::with(files, |tree| read(tree, allowed))
    }

    #[test]
    fn a_xeon_with_two_sockets_is_described_in_full() {
        let machine = xeon(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(machine.cpu, "Intel(R) Xeon(R) Platinum 8468");
        assert_eq!((machine.cpus, machine.cores, machine.smt, machine.sockets), (8, 4, 2, 2));
        assert_eq!(machine.memory_bytes, 527_988_456 * 1024);
        assert_eq!(machine.kernel, "Linux 6.1.0-28-amd64");
        assert_eq!(machine.virtualisation, "none");
        assert_eq!(machine.governor, "performance");
        let levels: Vec<_> = machine.caches.iter().map(|cache| cache.level).collect();
        assert_eq!(levels, [1, 2, 3], "the instruction cache is left out");
        assert_eq!(
            machine.caches[2],
            Cache { level: 3, bytes: 105 << 20, line_bytes: 64, shared_by: 4 }
        );
    }

    #[test]
    fn affinity_leaves_out_cores_and_sockets_that_the_process_may_not_use() {
        let machine = xeon(&[0, 4, 1]);
        assert_eq!((machine.cpus, machine.cores, machine.smt, machine.sockets), (3, 2, 2, 1));
    }

    #[test]
    fn an_arm_machine_without_a_model_name_is_named_by_its_part() {
        let files = [
            (
                "proc/cpuinfo",
                "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd atomics\n\
                 CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n\
                 CPU part\t: 0xd0c\nCPU revision\t: 1\n",
            ),
            ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n"),
            ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
        ];
        let machine = machine(&files, &[0]);
        assert_eq!(machine.cpu, "Arm Neoverse-N1");
        assert_eq!((machine.cores, machine.smt, machine.sockets), (1, 1, 1));
        assert_eq!(machine.virtualisation, "", "cpuinfo on ARM does not tell");
    }

    #[test]
    fn without_sys_the_topology_comes_from_cpuinfo() {
        let text: String = (0..4)
            .map(|cpu| {
                let core = cpu % 2;
                format!("processor\t: {cpu}\nphysical id\t: 0\ncore id\t\t: {core}\n\n")
            })
            .collect();
        let machine = machine(&[("proc/cpuinfo", &*text)], &[0, 1, 2, 3]);
        assert_eq!((machine.cores, machine.smt, machine.sockets), (2, 2, 1));
    }

    #[test]
    fn an_empty_tree_leaves_the_fields_empty() {
        let machine = machine(&[], &[0, 1]);
        assert_eq!(machine.cpus, 2);
        assert_eq!((machine.cores, machine.smt, machine.sockets), (0, 0, 0));
        assert_eq!(machine.cpu, "");
        assert!(machine.caches.is_empty());
        assert_eq!(machine.memory_bytes, 0);
        assert_eq!(machine.kernel, std::env::consts::OS);
        assert_eq!((machine.virtualisation.as_str(), machine.governor.as_str()), ("", ""));
    }

    #[test]
    fn a_tree_of_nonsense_is_no_worse_than_an_empty_one() {
        let machine = machine(
            &[
                ("proc/cpuinfo", ":::\nprocessor\nmodel name\n\u{0}: \u{7f}\n"),
                ("proc/meminfo", "MemTotal: plenty\n"),
                ("sys/devices/system/cpu/cpu0/cache/index0/level", "first\n"),
                ("sys/devices/system/cpu/cpu0/cache/index1/level", "1\n"),
                ("sys/devices/system/cpu/cpu0/cache/index1/size", "99999999999999999999G\n"),
                (
                    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
                    "9-1,x,18446744073709551615\n",
                ),
            ],
            &[0],
        );
        assert_eq!(machine.memory_bytes, 0);
        assert_eq!(machine.caches, [Cache { level: 1, bytes: 0, line_bytes: 0, shared_by: 0 }]);
    }

    #[test]
    fn this_machine_has_a_cpu_and_an_architecture() {
        let machine = describe();
        assert!(machine.cpus >= 1);
        assert!(!machine.arch.is_empty());
        assert!(!machine.kernel.is_empty());
    }
}
