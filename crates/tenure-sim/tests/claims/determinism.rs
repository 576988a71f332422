use crate::*;
use tenure::memory::Plain as _;
use tenure_sim::SimulatedField;

#[repr(C, align(64))]
struct Objects {
    first: SimulatedWord<u64>,
    second: SimulatedWord<u64>,
    ticket: SimulatedWord<u32>,
    field: SimulatedField<u64>,
    apart: Line<SimulatedWord<u64>>,
}

fn objects() -> Arc<Objects> {
    Arc::new(Objects {
        first: SimulatedWord::new(0),
        second: SimulatedWord::new(0),
        ticket: SimulatedWord::new(0),
        field: SimulatedField::new(0),
        apart: Line(SimulatedWord::new(0)),
    })
}

fn noisy() -> Machine {
    let mut machine = Machine::preset("xeon-2s-112").unwrap();
    machine.contention.residency = 5.0;
    machine
}

fn report_of(objects: &Arc<Objects>, seed: u64) -> SimulationReport {
    let its = Arc::clone(objects);
    let simulation = noisy().simulation(64).warm_up_ns(500.0).duration_ns(40_000.0).seed(seed);
    let named = simulation.member("first", &objects.first).member("all", &**objects);
    let run = named.run(move |cpu| {
        while cpu.running() {
            add_by_cas(&its.first);
            its.second.store(1, RELAXED);
            // SAFETY: no thread writes the field.
            unsafe { its.field.read() };
            if its.apart.0.fetch_add(1, RELAXED).is_multiple_of(64) {
                cpu.membarrier();
                cpu.wake(&its.ticket, usize::MAX);
            }
            Simulated::spin_hint();
            cpu.work(20.0);
            cpu.done();
        }
    });
    run.unwrap()
}

#[test]
fn the_same_seed_makes_the_same_report_wherever_objects_are() {
    let kept: Vec<Arc<Objects>> = (0..3).map(|_| objects()).collect();
    let reports: Vec<SimulationReport> = kept.iter().map(|objects| report_of(objects, 7)).collect();
    assert!(reports[0].operations > 100 && reports[0].failed > 100);
    assert!(reports[0].interrupts > 0);
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

#[test]
fn simulations_that_run_at_the_same_time_do_not_see_each_other() {
    let alone = report_of(&objects(), 7);
    let together: Vec<SimulationReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| report_of(&objects(), 7))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(together.iter().all(|report| *report == alone));
}

#[test]
fn simulations_may_share_objects_that_they_do_not_change() {
    let shared = word(3);
    let runs: Vec<SimulationReport> = std::thread::scope(|scope| {
        let run = || {
            let its = shared.clone();
            let run = short(&machine(), 4).run(move |cpu| {
                while cpu.running() {
                    assert_eq!(its.0.load(RELAXED), 3);
                    cpu.done();
                }
            });
            run.unwrap()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(runs.iter().all(|report| *report == runs[0]));
}

#[test]
fn another_seed_makes_another_report_of_about_the_same_figures() {
    let (one, mut other) = (report_of(&objects(), 1), report_of(&objects(), 2));
    assert_eq!((one.seed, other.seed), (1, 2));
    other.seed = 1;
    assert_ne!(one, other);
    assert_near(one.ns_per_op(), other.ns_per_op(), 0.2);
}

#[test]
fn names_change_nothing_but_names() {
    let line = word(0);
    let run = |name: Option<&str>| {
        let mut simulation = short(&machine(), 4);
        if let Some(name) = name {
            simulation = simulation.member(name, &line.0);
        }
        let its = line.clone();
        let run = simulation.run(move |cpu| {
            while cpu.running() {
                its.0.fetch_add(1, RELAXED);
            }
        });
        run.unwrap()
    };
    let (named, mut unnamed) = (run(Some("count")), run(None));
    assert_ne!(named, unnamed);
    unnamed.lines[0].members[0].name = Some("count".to_owned());
    assert_eq!(named, unnamed);
}
