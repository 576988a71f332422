//! From the places of CPUs to a regular topology, and to pairs of CPUs of every class of distance.

use std::collections::{BTreeMap, BTreeSet};
use tenure_report::machine::CpuPlace;
use tenure_sim::machine::Topology;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DistanceClass {
    Sibling,
    Cluster,
    Socket,
    Remote,
}

impl DistanceClass {
    fn of(one: &CpuPlace, other: &CpuPlace) -> Self {
        if one.core == other.core {
            Self::Sibling
        } else if one.cluster == other.cluster {
            Self::Cluster
        } else if one.socket == other.socket {
            Self::Socket
        } else {
            Self::Remote
        }
    }
}

/// The smallest regular machine with room for these CPUs: parts of cores, and cores of several kinds, count as the
/// largest.
pub(super) fn topology(places: &[CpuPlace]) -> Topology {
    let most = |whole: fn(&CpuPlace) -> usize, part: fn(&CpuPlace) -> usize| {
        let mut parts = BTreeMap::<usize, BTreeSet<usize>>::new();
        for place in places {
            parts.entry(whole(place)).or_default().insert(part(place));
        }
        parts.values().map(BTreeSet::len).max().unwrap_or(1)
    };
    Topology {
        sockets: most(|_| 0, |it| it.socket),
        clusters: most(|it| it.socket, |it| it.cluster),
        cores: most(|it| it.cluster, |it| it.core),
        smt: most(|it| it.core, |it| it.cpu),
    }
}

/// Up to `most` pairs of every class that there is, the nearest class first, spread over the machine.
pub(super) fn pairs(places: &[CpuPlace], most: usize) -> Vec<(DistanceClass, Vec<[usize; 2]>)> {
    let mut classes = BTreeMap::<DistanceClass, Vec<[usize; 2]>>::new();
    for (at, one) in places.iter().enumerate() {
        for other in &places[at + 1..] {
            classes.entry(DistanceClass::of(one, other)).or_default().push([one.cpu, other.cpu]);
        }
    }
    classes
        .into_iter()
        .map(|(class, pairs)| {
            let taken = most.min(pairs.len());
            (class, (0..taken).map(|n| pairs[n * pairs.len() / taken]).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place([cpu, socket, cluster, core]: [usize; 4]) -> CpuPlace {
        CpuPlace { cpu, socket, cluster, core }
    }

    /// Two sockets, two clusters, two cores, two threads each; siblings are neighbours.
    fn epyc() -> Vec<CpuPlace> {
        (0..16).map(|cpu| place([cpu, cpu / 8, cpu / 4, cpu / 2])).collect()
    }

    #[test]
    fn a_regular_machine_is_its_own_topology() {
        let all = Topology { sockets: 2, clusters: 2, cores: 2, smt: 2 };
        assert_eq!(topology(&epyc()), all);
    }

    #[test]
    fn a_part_of_a_machine_is_rounded_up_to_a_regular_one() {
        let some: Vec<CpuPlace> =
            epyc().into_iter().filter(|it| [0, 1, 2, 4].contains(&it.cpu)).collect();
        assert_eq!(topology(&some), Topology { sockets: 1, clusters: 2, cores: 2, smt: 2 });
        assert_eq!(topology(&some[..1]), Topology { sockets: 1, clusters: 1, cores: 1, smt: 1 });
    }

    #[test]
    fn every_class_has_pairs_that_are_spread() {
        let pairs = pairs(&epyc(), 4);
        let classes: Vec<_> = pairs.iter().map(|(class, pairs)| (*class, pairs.len())).collect();
        let all = [
            DistanceClass::Sibling,
            DistanceClass::Cluster,
            DistanceClass::Socket,
            DistanceClass::Remote,
        ];
        assert_eq!(classes, all.map(|class| (class, 4)));
        assert_eq!(pairs[0].1, [[0, 1], [4, 5], [8, 9], [12, 13]]);
    }

    #[test]
    fn one_cpu_has_no_pairs_and_two_cores_have_one() {
        assert!(pairs(&epyc()[..1], 4).is_empty());
        assert_eq!(pairs(&[epyc()[0], epyc()[2]], 4), [(DistanceClass::Cluster, vec![[0, 2]])]);
    }
}
