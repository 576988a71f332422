use super::fit::{add, fitted, ping_pong, two};
use super::measure::Ball;
use super::*;
use crate::noted::Noted;

fn sound(machine: &Machine) {
    machine.check().unwrap();
    assert_eq!(machine.name, THIS);
    assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), *machine);
    assert!(!machine.sources.is_empty());
}

#[test]
fn this_machine_can_be_simulated_and_written_down() {
    let progress = Noted::default();
    let machine = this_machine(&progress).unwrap();
    sound(&machine);
    assert!(machine.cpus() >= tenure_report::affinity::cpus().len(), "room for every CPU");
    progress.assert_complete();
    assert!(add(&machine, machine.cpus()).unwrap() > 0.0);
}

#[test]
fn a_thread_that_may_use_one_cpu_is_calibrated_on_that_one_and_other_cores_are_assumed() {
    let cpu = tenure_report::affinity::cpus()[0];
    let machine = std::thread::spawn(move || {
        if tenure_report::affinity::pin(cpu) {
            this_machine(&())
        } else {
            // Where threads cannot be pinned.
            calibrate(&machine::places()[..1], &())
        }
    });
    let machine = machine.join().unwrap().unwrap();
    sound(&machine);
    assert_eq!(machine.cpus(), 1);
    assert!(machine.sources.iter().any(|source| source.starts_with("assumed")), "{machine:?}");
}

fn observe(machine: &Machine, class: DistanceClass) -> Pair {
    let two = two(machine, class);
    Pair {
        class,
        exchange: ping_pong(&two, Ball::Exchange).unwrap(),
        store: ping_pong(&two, Ball::Store).unwrap(),
        add: add(&two, 2).unwrap(),
    }
}

/// The fit has to find its figures.
fn known(topology: Topology, cluster: f64, residency: f64, handoff: f64) -> Machine {
    let mut known = Machine::preset("xeon-2s-112").unwrap();
    known.topology = topology;
    known.latency.cluster = TimeRange::Fixed(cluster);
    known.contention.residency = residency;
    known.contention.handoff = handoff;
    known
}

fn blank_of(known: &Machine) -> Machine {
    let mut blank = known.clone();
    blank.latency.cluster = TimeRange::Fixed(1.0);
    blank.latency.sibling = Some(TimeRange::Fixed(1.0));
    blank.latency.remote = Some(TimeRange::Fixed(1.0));
    blank.contention.residency = 1.0;
    blank
}

fn alike(found: f64, known: f64) -> bool {
    (0.85..1.18).contains(&(found / known))
}

#[test]
fn a_fitted_machine_does_to_programs_what_the_observed_one_did() {
    let topology = Topology { sockets: 1, clusters: 1, cores: 4, smt: 1 };
    for (latency, residency, handoff) in [(20.0, 30.0, 0.6), (120.0, 60.0, 0.8)] {
        let known = known(topology, latency, residency, handoff);
        let pair = observe(&known, DistanceClass::Cluster);
        let all = add(&known, 4).unwrap();
        let observed = ObservedTimes { pairs: vec![pair], all: Some((4, all)) };
        let found = fitted(blank_of(&known), &observed).unwrap();
        let again = observe(&found, DistanceClass::Cluster);
        assert!(alike(again.exchange, pair.exchange), "{again:?} {pair:?}");
        assert!(alike(again.store, pair.store), "{again:?} {pair:?}");
        assert!(alike(again.add, pair.add), "{again:?} {pair:?}");
        assert!(alike(add(&found, 4).unwrap(), all), "{found:?}");
    }
}

#[test]
fn farther_cpus_are_fitted_to_their_own_ping_pong() {
    let topology = Topology { sockets: 2, clusters: 1, cores: 2, smt: 2 };
    let known = known(topology, 45.0, 12.0, 0.5);
    let classes = [DistanceClass::Sibling, DistanceClass::Cluster, DistanceClass::Remote];
    let pairs: Vec<Pair> = classes.iter().map(|&class| observe(&known, class)).collect();
    let observed = ObservedTimes { pairs: pairs.clone(), all: None };
    let found = fitted(blank_of(&known), &observed).unwrap();
    for pair in pairs {
        let again = observe(&found, pair.class);
        assert!(alike(again.exchange, pair.exchange), "{again:?} {pair:?}");
    }
}
