use crate::*;
use tenure_sim::LineHeat;

#[repr(C, align(64))]
struct Object {
    count: SimulatedWord<u64>,
    flags: SimulatedWord<u32>,
    generation: SimulatedWord<u32>,
    far: Line<[SimulatedWord<u64>; 2]>,
}

fn object() -> Arc<Object> {
    Arc::new(Object {
        count: SimulatedWord::new(0),
        flags: SimulatedWord::new(0),
        generation: SimulatedWord::new(0),
        far: Line([SimulatedWord::new(0), SimulatedWord::new(0)]),
    })
}

/// Each of four threads does this, from the first moment to the end.
fn heat(
    named: impl FnOnce(Simulation, &Object) -> Simulation,
    thread: fn(&Object, &Cpu),
) -> SimulationReport {
    let object = object();
    let its = Arc::clone(&object);
    let simulation = machine().simulation(4).warm_up_ns(0.0).duration_ns(20_000.0);
    named(simulation, &object).run(move |cpu| thread(&its, cpu)).unwrap()
}

fn names(line: &LineHeat) -> Vec<Option<&str>> {
    line.members.iter().map(|it| it.name.as_deref()).collect()
}

#[test]
fn members_are_told_by_the_names_they_were_given_and_in_their_order() {
    let report = heat(
        |simulation, object| {
            simulation
                .member("generation", &object.generation)
                .member("count", &object.count)
                .member("flags", &object.flags)
        },
        |object, _| {
            for _ in 0..10 {
                object.flags.load(RELAXED);
                object.count.fetch_add(1, RELAXED);
            }
        },
    );
    let line = &report.lines[0];
    assert_eq!(names(line), [Some("count"), Some("flags")]);
    let [count, flags] = &line.members[..] else { unreachable!("two were touched") };
    assert_eq!((count.offset, count.bytes, flags.offset, flags.bytes), (0, 8, 8, 4));
    assert_eq!((count.loads, count.stores, count.rmws), (0, 0, 40));
    assert_eq!((flags.loads, flags.stores, flags.rmws), (40, 0, 0));
    assert!(flags.misses > 0 && flags.waited_ns > 100.0 * flags.misses as f64 / 4.0);
    assert_eq!(report.accesses, 80);
}

#[test]
fn what_has_no_name_is_told_by_its_place() {
    let report = heat(
        |simulation, _| simulation,
        |object, _| {
            object.generation.store(1, RELAXED);
            object.far.0[1].load(RELAXED);
        },
    );
    let mut places: Vec<_> = report
        .lines
        .iter()
        .flat_map(|line| &line.members)
        .map(|it| (it.name.clone(), it.offset, it.bytes))
        .collect();
    places.sort();
    assert_eq!(places, [(None, 8, 8), (None, 12, 4)]);
}

#[test]
fn a_part_counts_before_the_whole_and_the_whole_takes_the_rest() {
    let report = heat(
        |simulation, object| simulation.member("object", object).member("count", &object.count),
        |object, _| {
            object.count.load(RELAXED);
            object.flags.load(RELAXED);
            object.generation.load(RELAXED);
            object.far.0[0].load(RELAXED);
        },
    );
    let mut lines: Vec<_> = report.lines.iter().map(names).collect();
    lines.sort();
    assert_eq!(lines, [vec![Some("count"), Some("object")], vec![Some("object")]]);
    let rest = report.lines.iter().flat_map(|it| &it.members).filter(|it| it.loads == 8);
    assert_eq!(rest.count(), 1);
}

#[test]
fn a_name_may_be_given_by_address_and_an_impossible_one_names_nothing() {
    let report = heat(
        |simulation, object| {
            let address = (&raw const object.flags).addr();
            simulation
                .member_at("flags", address, 4)
                .member_at("nowhere", usize::MAX - 2, 64)
                .member_at("nothing", address, 0)
        },
        |object, _| object.flags.store(1, RELAXED),
    );
    assert_eq!(names(&report.lines[0]), [Some("flags")]);
}

#[test]
fn the_hottest_line_comes_first() {
    let report = heat(
        |simulation, _| simulation,
        |object, cpu| {
            // The cold one is touched first.
            object.count.load(RELAXED);
            while cpu.running() {
                object.far.0[0].fetch_add(1, RELAXED);
            }
        },
    );
    assert_eq!(report.lines.len(), 2);
    assert!(report.lines[0].transfers.all() > 10 * report.lines[1].transfers.all());
    assert!(report.lines[0].members[0].rmws > 0);
}

#[test]
fn failures_are_those_of_the_member_that_was_compared() {
    let report = heat(
        |simulation, object| {
            simulation.member("count", &object.count).member("flags", &object.flags)
        },
        |object, cpu| {
            while cpu.running() {
                add_by_cas(&object.count);
                object.flags.fetch_add(1, RELAXED);
            }
        },
    );
    let [count, flags] = &report.lines[0].members[..] else { unreachable!("two were touched") };
    assert!(count.failed > 0 && count.failed < count.rmws);
    assert_eq!((flags.failed, report.failed), (0, count.failed));
}

#[test]
fn lines_add_up_to_the_whole() {
    let report = heat(
        |simulation, _| simulation,
        |object, cpu| {
            while cpu.running() {
                object.count.fetch_add(1, RELAXED);
                object.flags.load(RELAXED);
                object.far.0[cpu.index() % 2].store(1, RELAXED);
                cpu.done();
            }
        },
    );
    let transfers: u64 = report.lines.iter().map(|it| it.transfers.all()).sum();
    let members = || report.lines.iter().flat_map(|it| &it.members);
    let accesses: u64 = members().map(|it| it.loads + it.stores + it.rmws).sum();
    let misses: u64 = members().map(|it| it.misses).sum();
    assert_eq!((transfers, accesses), (report.transfers.all(), report.accesses));
    assert!(report.accesses <= report.simulated);
    assert!(misses >= transfers - 4, "{misses} misses, {transfers} transfers");
    assert!((report.per_op(report.accesses) - 3.0).abs() < 0.1);
}

#[test]
fn warming_up_is_not_measured() {
    let line = word(0);
    let run = machine().simulation(1).warm_up_ns(5_000.0).run(move |cpu| {
        while cpu.now_ns() < 4_000.0 {
            line.0.fetch_add(1, RELAXED);
            cpu.done();
        }
    });
    let report = run.unwrap();
    assert_eq!((report.operations, report.accesses, report.lines.len()), (0, 0, 0));
    assert!(report.simulated > 600);
}
