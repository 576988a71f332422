//! The place of each CPU: its core, the cores that it shares a cache with, its socket.

use super::tree::Tree;
use std::collections::HashMap;

/// All numbers but the CPU's count from 0, over the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPlace {
    /// Number of the CPU in the system's numbering.
    pub cpu: usize,
    /// Its socket.
    pub socket: usize,
    /// The group of cores that share a third-level cache; the socket where unknown.
    pub cluster: usize,
    /// One of its own where unknown.
    pub core: usize,
}

/// Places of the CPUs that the calling thread may run on.
#[must_use]
pub fn places() -> Vec<CpuPlace> {
    read(&Tree::root(), &crate::affinity::cpus())
}

pub(super) fn read(tree: &Tree, allowed: &[usize]) -> Vec<CpuPlace> {
    let (mut sockets, mut clusters, mut cores) =
        (CpuNames::new(), CpuNames::new(), CpuNames::new());
    let place = |&cpu: &usize| {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        let topology = |file: &str| tree.text(&format!("{folder}/topology/{file}"));
        // Cores and caches are identified by their CPUs' list, which is alike for each.
        let socket = topology("physical_package_id").unwrap_or_default();
        let cluster = third_level(tree, &folder).unwrap_or_default();
        let core = topology("core_cpus_list")
            // Kernels before 5.1 have the second name only.
            .or_else(|| topology("thread_siblings_list"))
            .unwrap_or_else(|| cpu.to_string());
        // A virtual machine's caches may span its sockets.
        CpuPlace {
            cpu,
            socket: number(&mut sockets, socket.clone()),
            cluster: number(&mut clusters, format!("{socket} {cluster}")),
            core: number(&mut cores, format!("{socket} {cluster} {core}")),
        }
    };
    allowed.iter().map(place).collect()
}

type CpuNames = HashMap<String, usize>;

fn number(names: &mut CpuNames, name: String) -> usize {
    let next = names.len();
    *names.entry(name).or_insert(next)
}

fn third_level(tree: &Tree, cpu: &str) -> Option<String> {
    (0..)
        .map(|index| format!("{cpu}/cache/index{index}"))
        .take_while(|folder| tree.has(folder))
        .find(|folder| tree.number(&format!("{folder}/level")) == Some(3))
        .and_then(|folder| tree.text(&format!("{folder}/shared_cpu_list")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_files(files: &[(String, String)], allowed: &[usize]) -> Vec<[usize; 4]> {
        let places = Tree::with(files.iter().cloned(), |tree| read(tree, allowed));
        places.iter().map(|it| [it.cpu, it.socket, it.cluster, it.core]).collect()
    }

    /// Two sockets, two clusters, two cores, two hardware threads; siblings are 8 apart.
    fn epyc() -> Vec<(String, String)> {
        let mut files = Vec::new();
        for cpu in 0..16 {
            let (core, folder) = (cpu % 8, format!("sys/devices/system/cpu/cpu{cpu}"));
            let first = core / 2 * 2;
            for (file, text) in [
                ("topology/core_cpus_list", format!("{core},{}", core + 8)),
                ("topology/physical_package_id", (core / 4).to_string()),
                ("cache/index0/level", "1".to_owned()),
                ("cache/index0/shared_cpu_list", format!("{core},{}", core + 8)),
                ("cache/index1/level", "3".to_owned()),
                (
                    "cache/index1/shared_cpu_list",
                    format!("{first}-{},{}-{}", first + 1, first + 8, first + 9),
                ),
            ] {
                files.push((format!("{folder}/{file}"), text));
            }
        }
        files
    }

    #[test]
    fn cpus_are_placed_by_core_by_third_level_cache_and_by_socket() {
        let places = read_files(&epyc(), &[0, 1, 2, 4, 8]);
        assert_eq!(places, [[0, 0, 0, 0], [1, 0, 0, 1], [2, 0, 1, 2], [4, 1, 2, 3], [8, 0, 0, 0]]);
    }

    #[test]
    fn without_sys_each_cpu_is_a_core_of_one_cluster() {
        assert_eq!(read_files(&[], &[3, 5]), [[3, 0, 0, 0], [5, 0, 0, 1]]);
    }

    #[test]
    fn this_machine_has_a_place_for_every_cpu_that_may_be_used() {
        let cpus: Vec<_> = places().iter().map(|place| place.cpu).collect();
        assert_eq!(cpus, crate::affinity::cpus());
    }
}
