use crate::ends::error;
use crate::*;
use tenure_sim::SimulationError;
use tenure_sim::machine::{AtomicKind, MAX_CPUS, TimeRange};

/// The error about the changed machine: one line with its name.
#[track_caller]
fn wrong(change: impl FnOnce(&mut Machine)) -> String {
    let mut machine = machine();
    change(&mut machine);
    // Every run fails alike.
    let (_, run) = error(machine.run(1, |_| unreachable!()));
    let error = machine.check().unwrap_err();
    assert_eq!(error.to_string(), run);
    let SimulationError::Machine { name, what } = error else { unreachable!("{error:?}") };
    assert_eq!(name, machine.name);
    what
}

#[test]
fn a_topology_has_one_of_everything_and_no_more_cpus_than_can_be() {
    assert!(wrong(|it| it.topology.sockets = 0).starts_with("topology.sockets is 0; "));
    assert!(wrong(|it| it.topology.clusters = 0).starts_with("topology.clusters is 0; "));
    assert!(wrong(|it| it.topology.cores = MAX_CPUS + 1).starts_with("topology.cores is 1025; "));
    assert!(wrong(|it| it.topology.smt = usize::MAX).starts_with("topology.smt is "));
    let all = wrong(|it| it.topology.cores = 129);
    assert_eq!(all, "it has 1032 CPUs; at most 1024 can be simulated");
    wrong(|it| {
        it.topology.sockets = MAX_CPUS;
        it.topology.clusters = MAX_CPUS;
        it.topology.cores = MAX_CPUS;
    });
}

#[test]
fn a_latency_that_the_topology_needs_is_there() {
    let missing = |name| format!("latency.{name} is missing, and its topology needs it");
    assert_eq!(wrong(|it| it.latency.sibling = None), missing("sibling"));
    assert_eq!(wrong(|it| it.latency.socket = None), missing("socket"));
    assert_eq!(wrong(|it| it.latency.remote = None), missing("remote"));
    let mut flat = flat(4);
    (flat.latency.sibling, flat.latency.socket, flat.latency.remote) = (None, None, None);
    assert_eq!(flat.check(), Ok(()));
    assert!(adding(short(&flat, 4)).operations > 0);
}

#[test]
fn latencies_are_times_with_the_lower_end_first() {
    for bad in [
        TimeRange::Fixed(0.0),
        TimeRange::Fixed(-1.0),
        TimeRange::Fixed(0.0001),
        TimeRange::Fixed(f64::NAN),
        TimeRange::Fixed(f64::INFINITY),
        TimeRange::Fixed(2e9),
        TimeRange::Range([0.0, 5.0]),
        TimeRange::Range([5.0, 4.0]),
        TimeRange::Range([5.0, f64::NAN]),
        TimeRange::Range([f64::NEG_INFINITY, 5.0]),
    ] {
        assert!(wrong(|it| it.latency.sibling = Some(bad)).starts_with("latency.sibling is "));
        assert!(wrong(|it| it.latency.cluster = bad).starts_with("latency.cluster is "));
        assert!(wrong(|it| it.latency.socket = Some(bad)).starts_with("latency.socket is "));
        assert!(wrong(|it| it.latency.remote = Some(bad)).starts_with("latency.remote is "));
        assert!(wrong(|it| it.latency.memory = bad).starts_with("latency.memory is "));
    }
    let reversed = wrong(|it| it.latency.cluster = TimeRange::Range([51.0, 44.0]));
    assert!(reversed.contains("is [51, 44]; "), "{reversed}");
}

#[test]
fn what_an_access_costs_is_a_time_above_0() {
    for bad in [0.0, -1.0, 1e-4, f64::NAN, f64::INFINITY] {
        assert!(wrong(|it| it.latency.hit = bad).starts_with("latency.hit is "));
        assert!(wrong(|it| it.atomic.rmw = bad).starts_with("atomic.rmw is "));
    }
}

#[test]
fn what_may_cost_nothing_may_not_cost_less_or_for_ever() {
    type Set = fn(&mut Machine, f64);
    let figures: [(&str, Set); 9] = [
        ("contention.residency", |it, ns| it.contention.residency = ns),
        ("contention.directory", |it, ns| it.contention.directory = ns),
        ("contention.pause", |it, ns| it.contention.pause = ns),
        ("kernel.system_call", |it, ns| it.kernel.system_call = ns),
        ("kernel.wake", |it, ns| it.kernel.wake = ns),
        ("kernel.wake_send", |it, ns| it.kernel.wake_send = ns),
        ("kernel.interrupt_send", |it, ns| it.kernel.interrupt_send = ns),
        ("kernel.interrupt_latency", |it, ns| it.kernel.interrupt_latency = ns),
        ("kernel.interrupt_handler", |it, ns| it.kernel.interrupt_handler = ns),
    ];
    for (name, set) in figures {
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1.1e9] {
            let what = wrong(|it| set(it, bad));
            assert!(what.starts_with(&format!("{name} is ")), "{what}");
        }
        let mut fine = machine();
        set(&mut fine, 0.0);
        assert_eq!(fine.check(), Ok(()));
    }
}

#[test]
fn a_handoff_is_a_share() {
    for bad in [-0.1, 1.1, f64::NAN] {
        let what = wrong(|it| it.contention.handoff = bad);
        assert!(what.starts_with("contention.handoff is "), "{what}");
    }
    for handoff in [0.0, 1.0] {
        let mut machine = flat(4);
        machine.contention.handoff = handoff;
        assert!(adding(short(&machine, 4)).operations > 0);
    }
}

#[test]
fn far_atomics_need_a_home_that_takes_time() {
    let missing = wrong(|it| it.atomic.kind = AtomicKind::Far);
    assert_eq!(missing, "atomic.home is missing, and far atomics need it");
    for bad in [0.0, -1.0, f64::NAN] {
        let what = wrong(|it| {
            it.atomic.kind = AtomicKind::Far;
            it.atomic.home = Some(bad);
        });
        assert!(what.starts_with("atomic.home is "), "{what}");
    }
}

#[test]
fn reservations_need_an_owner_who_keeps_the_line_for_long_enough() {
    let what = wrong(|it| {
        it.atomic.kind = AtomicKind::Reserved;
        it.contention.residency = 3.0;
    });
    assert!(what.starts_with("twice contention.residency (3) has to exceed atomic.rmw (6)"));
}

#[test]
fn texts_of_errors_stay_one_line_whatever_names_hold() {
    let name = "a\nb\r\n\u{2028}c".to_owned();
    let waiting = vec!["cpu 0\nsleeps".to_owned()];
    for error in [
        SimulationError::UnknownMachine { name: name.clone(), known: vec![name.clone()] },
        SimulationError::Machine { name: name.clone(), what: name.clone() },
        SimulationError::MachineText { line: Some(1), what: name.clone() },
        SimulationError::Threads { threads: 0, machine: name.clone(), cpus: 1 },
        SimulationError::Deadlock { waiting: waiting.clone() },
        SimulationError::Livelock { ns: 1.0, waiting },
        SimulationError::Stack { threads: 1, bytes: 1, what: name },
    ] {
        let text = error.to_string();
        assert!(!text.contains(['\n', '\r', '\u{2028}']), "{text:?}");
    }
}

#[track_caller]
fn no_machine(text: &str) -> (Option<usize>, String) {
    let error = Machine::from_toml(text).unwrap_err();
    let told = error.to_string();
    assert_eq!(told.lines().count(), 1, "{told:?}");
    let SimulationError::MachineText { line, what } = error else { unreachable!("{error:?}") };
    assert!(!what.is_empty());
    (line, told)
}

#[test]
fn a_text_that_is_no_machine_is_told_its_line() {
    let good = machine().to_toml();
    assert!(Machine::from_toml(&good).is_ok());
    let line_of =
        |what: &str| Some(good.lines().position(|line| line.starts_with(what)).unwrap() + 1);

    let broken = good.replace("smt = 2", "smt = = 2");
    let (line, text) = no_machine(&broken);
    assert_eq!(line, line_of("smt"));
    assert!(text.starts_with(&format!("not a machine file: line {}: ", line.unwrap())), "{text}");

    for (from, to) in [
        ("smt = 2", "smt = -2"),
        ("smt = 2", "smt = \"two\""),
        ("smt = 2", "smt = 2.5"),
        ("smt = 2", "smt = 99999999999999999999"),
        ("hit = 1.0", "hit = \"fast\""),
        ("kind = \"near\"", "kind = \"nearby\""),
        ("arbitration = \"fifo\"", "arbitration = \"lifo\""),
        ("cluster = 40.0", "cluster = [1, 2, 3]"),
        ("cluster = 40.0", "cluster = {}"),
        ("cores = 2", "cors = 2"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        let (line, text) = no_machine(&good.replace(from, to));
        assert_eq!(line, line_of(from), "{to}: {text}");
    }
}

#[test]
fn a_text_that_lacks_something_is_told_what() {
    let (_, text) = no_machine("");
    assert!(text.contains("missing field `name`"), "{text}");
    let (line, text) = no_machine(&machine().to_toml().replace("rmw = 6.0\n", ""));
    assert!(line.is_some() && text.contains("missing field `rmw`"), "{text}");
}

#[test]
fn a_file_of_another_system_is_told_its_lines_too() {
    let text = machine().to_toml().replace("smt = 2", "smt = ?").replace('\n', "\r\n");
    let line = text.lines().position(|line| line.starts_with("smt")).unwrap() + 1;
    assert_eq!(no_machine(&text).0, Some(line));
}

#[test]
fn a_figure_that_cannot_be_is_an_error_of_a_text_too() {
    let text = machine().to_toml().replace("rmw = 6.0", "rmw = nan");
    let error = Machine::from_toml(&text).unwrap_err();
    assert!(
        matches!(&error, SimulationError::Machine { name, .. } if name == "exact"),
        "{error:?}"
    );
}
