use crate::*;
use tenure_sim::machine::AtomicKind;
use tenure_sim::machine::AtomicKind::{Far, Near, Reserved};

fn of_kind(kind: AtomicKind, cores: usize) -> Machine {
    let mut machine = flat(cores);
    machine.atomic.kind = kind;
    machine.atomic.home = Some(10.0);
    machine.contention.residency = 8.0;
    machine
}

#[test]
fn alone_all_kinds_take_what_a_read_modify_write_takes() {
    for kind in [Near, Far, Reserved] {
        let report = adding(short(&of_kind(kind, 2), 1));
        assert_near(report.ns_per_op(), 6.0, 0.001);
        assert_eq!((report.far, report.lost_reservations, report.transfers.all()), (0, 0, 0));
    }
}

#[test]
fn far_additions_leave_the_line_where_it_is() {
    let far = adding(short(&of_kind(Far, 16), 16));
    assert!(far.far > 1000);
    assert!(far.far * 100 >= far.operations * 99, "{} of {}", far.far, far.operations);
    assert!(far.transfers.all() * 100 <= far.operations, "{:?}", far.transfers);
    // The home's time each, and no transfers.
    assert_near(far.ns_per_op(), 16.0 * 10.0, 0.05);
}

#[test]
fn a_read_brings_a_line_that_far_additions_went_to() {
    let counter = word(0);
    let run = short(&of_kind(Far, 8), 8).run(move |cpu| {
        while cpu.running() {
            if cpu.index() == 0 {
                counter.0.load(RELAXED);
                cpu.work(200.0);
            } else {
                counter.0.fetch_add(1, RELAXED);
            }
        }
    });
    let report = run.unwrap();
    let reads: u64 = report.lines[0].members.iter().map(|it| it.loads).sum();
    assert!(report.far > 1000);
    assert!(reads > 50 && report.transfers.all() >= reads / 2, "{reads}, {:?}", report.transfers);
}

#[test]
fn near_additions_are_never_far_and_lose_no_reservation() {
    let near = adding(short(&of_kind(Near, 8), 8));
    assert_eq!((near.far, near.lost_reservations), (0, 0));
    assert!(near.transfers.all() > 100);
}

#[test]
fn reservations_are_lost_under_contention_and_cost_time() {
    let reserved = adding(short(&of_kind(Reserved, 8), 8));
    assert!(reserved.lost_reservations > 100);
    assert_eq!(reserved.failed, 0);
    let near = adding(short(&of_kind(Near, 8), 8));
    assert!(reserved.ns_per_op() > near.ns_per_op());
}

#[test]
fn a_compare_exchange_that_fails_is_counted_and_changes_nothing() {
    for kind in [Near, Far, Reserved] {
        let counter = word(5);
        let its = counter.clone();
        let run = of_kind(kind, 2).simulation(2).warm_up_ns(0.0).run(move |_| {
            for _ in 0..10 {
                assert_eq!(its.0.compare_exchange(4, 9, RELAXED, RELAXED), Err(5));
                assert_eq!(its.0.compare_exchange_weak(4, 9, RELAXED, RELAXED), Err(5));
            }
        });
        assert_eq!(run.unwrap().failed, 40, "{kind:?}");
        assert_eq!(counter.0.load(RELAXED), 5);
    }
}

#[test]
fn every_operation_does_what_it_does_on_the_real_machine() {
    for kind in [Near, Far, Reserved] {
        let small = Arc::new(Line(SimulatedWord::<u32>::new(u32::MAX)));
        let its = small.clone();
        let run = of_kind(kind, 2).run(1, move |_| {
            assert_eq!(its.0.fetch_add(2, RELAXED), u32::MAX);
            assert_eq!(its.0.fetch_sub(3, RELAXED), 1);
            assert_eq!(its.0.fetch_or(1, RELAXED), u32::MAX - 1);
            assert_eq!(its.0.load(RELAXED), u32::MAX);
            its.0.store(6, RELAXED);
            assert_eq!(its.0.compare_exchange_weak(6, 7, RELAXED, RELAXED), Ok(6));
        });
        run.unwrap();
        assert_eq!(small.0.load(RELAXED), 7);
    }
}
