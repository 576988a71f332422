use std::collections::{BTreeMap, BTreeSet};

use super::Cache;
use super::tree::{self, Tree};

/// Zero where unknown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTopology {
    pub(super) cores: usize,
    pub(super) smt: usize,
    pub(super) sockets: usize,
}

/// The topology of the CPUs in `allowed`, from `/sys`, or else from the text of `/proc/cpuinfo`.
pub(super) fn topology(tree: &Tree, info: &str, allowed: &[usize]) -> CpuTopology {
    let mut cores = BTreeSet::new();
    let mut sockets = BTreeSet::new();
    let mut smt = 0;
    for cpu in allowed {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        // Kernels before 5.1 have the second name only.
        let siblings = tree
            .text(&format!("{folder}/core_cpus_list"))
            .or_else(|| tree.text(&format!("{folder}/thread_siblings_list")));
        if let Some(siblings) = siblings {
            smt = smt.max(tree::cpu_list(&siblings).len());
            cores.insert(siblings);
        }
        if let Some(socket) = tree.text(&format!("{folder}/physical_package_id")) {
            // ARM firmware without a topology table yields -1 for all: one socket, as far as known.
            sockets.insert(socket);
        }
    }
    if cores.is_empty() {
        return topology_from_info(info, allowed);
    }
    CpuTopology { cores: cores.len(), smt, sockets: sockets.len() }
}

fn topology_from_info(info: &str, allowed: &[usize]) -> CpuTopology {
    let mut cores = BTreeMap::<_, usize>::new();
    let mut sockets = BTreeSet::new();
    for block in info.split("\n\n") {
        let number = |key| tree::field(block, key).and_then(|value| value.parse::<usize>().ok());
        let (Some(cpu), Some(socket), Some(core)) =
            (number("processor"), number("physical id"), number("core id"))
        else {
            continue;
        };
        if allowed.contains(&cpu) {
            *cores.entry((socket, core)).or_default() += 1;
            sockets.insert(socket);
        }
    }
    let smt = cores.values().copied().max().unwrap_or(0);
    CpuTopology { cores: cores.len(), smt, sockets: sockets.len() }
}

/// The CPU's name with single spaces; empty where unknown.
pub(super) fn name(tree: &Tree, info: &str) -> String {
    // x86, and ARM in 32-bit mode; POWER; RISC-V; MIPS.
    let named = ["model name", "cpu", "uarch", "cpu model"]
        .into_iter()
        .find_map(|key| tree::field(info, key))
        .map(str::to_owned);
    let name = named
        .or_else(|| arm_name(info))
        .or_else(|| tree.text("proc/device-tree/model"))
        .unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Linux gives ARM cores as numbers only. These are from util-linux's `lscpu` (`sys-utils/lscpu-arm.c`), for cores of
/// servers and common boards.
fn arm_name(info: &str) -> Option<String> {
    let (implementer, part) =
        (tree::field(info, "CPU implementer")?, tree::field(info, "CPU part")?);
    let name = match (implementer, part) {
        ("0x41", "0xd03") => "Arm Cortex-A53",
        ("0x41", "0xd07") => "Arm Cortex-A57",
        ("0x41", "0xd08") => "Arm Cortex-A72",
        ("0x41", "0xd0b") => "Arm Cortex-A76",
        ("0x41", "0xd0c") => "Arm Neoverse-N1",
        ("0x41", "0xd40") => "Arm Neoverse-V1",
        ("0x41", "0xd49") => "Arm Neoverse-N2",
        ("0x41", "0xd4f") => "Arm Neoverse-V2",
        ("0x41", "0xd83") => "Arm Neoverse-V3AE",
        ("0x41", "0xd84") => "Arm Neoverse-V3",
        ("0x41", "0xd8e") => "Arm Neoverse-N3",
        ("0x43", "0x0af") => "Cavium ThunderX2",
        ("0x46", "0x001") => "Fujitsu A64FX",
        ("0x48", "0xd01") => "HiSilicon Kunpeng 920",
        ("0xc0", "0xac3") => "Ampere-1",
        ("0xc0", "0xac4") => "Ampere-1a",
        _ => return Some(format!("ARM implementer {implementer} part {part}")),
    };
    Some(name.to_owned())
}

/// One CPU's data and unified caches, from the nearest.
pub(super) fn caches(tree: &Tree, cpu: usize) -> Vec<Cache> {
    let mut caches: Vec<Cache> = (0..)
        .map(|index| format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"))
        .take_while(|folder| tree.has(folder))
        .filter(|folder| tree.text(&format!("{folder}/type")).as_deref() != Some("Instruction"))
        .filter_map(|folder| {
            let shared = tree.text(&format!("{folder}/shared_cpu_list")).unwrap_or_default();
            Some(Cache {
                level: tree.number(&format!("{folder}/level"))?,
                bytes: tree
                    .text(&format!("{folder}/size"))
                    .and_then(|text| tree::size(&text))
                    .unwrap_or(0),
                line_bytes: tree.number(&format!("{folder}/coherency_line_size")).unwrap_or(0),
                shared_by: tree::cpu_list(&shared).len(),
            })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}
