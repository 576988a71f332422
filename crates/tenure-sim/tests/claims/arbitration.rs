use crate::*;
use tenure_sim::machine::Arbitration::{self, Fifo, Random};

fn arbitrated(threads: usize, arbitration: Arbitration, residency: f64) -> Simulation {
    let mut machine = flat(threads);
    machine.contention.arbitration = arbitration;
    machine.contention.residency = residency;
    short(&machine, threads)
}

#[test]
fn first_come_first_served_makes_every_compare_exchange_fail_once_for_each_other_thread() {
    for threads in [2, 3, 4, 8, 16] {
        let report = adding_by_cas(arbitrated(threads, Fifo, 0.0));
        assert_near(report.retries_per_op(), (threads - 1) as f64, 0.05);
    }
}

#[test]
fn a_random_order_makes_about_the_root_of_them_fail() {
    for threads in [4, 8, 16, 32] {
        let report = adding_by_cas(arbitrated(threads, Random, 0.0).duration_ns(200_000.0));
        // Draws until a thread is drawn again: the birthday problem.
        let expected = (std::f64::consts::PI * threads as f64 / 2.0).sqrt() - 1.0;
        let off = (report.retries_per_op() - expected).abs();
        assert!(off < 0.9, "{threads} threads: {} and not {expected}", report.retries_per_op());
    }
}

#[test]
fn whoever_may_keep_a_line_for_longer_retries_less() {
    for arbitration in [Fifo, Random] {
        let retries = [0.0, 10.0, 50.0, 250.0]
            .map(|residency| adding_by_cas(arbitrated(8, arbitration, residency)).retries_per_op());
        assert!(retries.is_sorted_by(|short, long| short > long), "{retries:?}");
    }
}

#[test]
fn keeping_a_line_for_longer_never_costs_throughput_on_it() {
    for arbitration in [Fifo, Random] {
        for threads in [2, 8] {
            for run in [adding, adding_by_cas] {
                let of = |residency| {
                    run(arbitrated(threads, arbitration, residency).duration_ns(150_000.0)).mops()
                };
                let mops = [0.0, 3.0, 10.0, 30.0, 100.0, 300.0].map(of);
                let is_kept = mops.is_sorted_by(|short, long| *short <= long * 1.03);
                assert!(is_kept, "{arbitration:?}, {threads} threads: {mops:?}");
            }
        }
    }
}

#[test]
fn contended_additions_take_a_turn_each() {
    let turn = 0.5 * 40.0 + 6.0;
    for threads in [4, 8, 16] {
        let report = adding(arbitrated(threads, Fifo, 0.0));
        assert_near(report.ns_per_op(), turn * threads as f64, 0.05);
    }
}

#[test]
fn who_waits_in_line_gets_as_much_as_the_others() {
    let report = adding(arbitrated(8, Fifo, 0.0));
    assert!(report.fairness.jain > 0.999, "{:?}", report.fairness);
    assert!(report.fairness.most - report.fairness.least <= 2, "{:?}", report.fairness);
    let report = adding(arbitrated(8, Random, 0.0).duration_ns(400_000.0));
    assert!(report.fairness.jain > 0.99, "{:?}", report.fairness);
}

#[test]
fn requests_that_take_no_time_do_not_ask_for_ever() {
    // Siblings slow each other down for longer than a core keeps a line.
    for handoff in [0.0, 1.0] {
        let mut machine = machine();
        machine.latency.sibling = Some(tenure_sim::machine::TimeRange::Fixed(300.0));
        machine.contention.residency = 5.0;
        machine.contention.handoff = handoff;
        for seed in 0..5 {
            let report = adding(short(&machine, 16).seed(seed));
            assert!(report.operations > 100 && report.fairness.least > 0, "{report:?}");
        }
    }
}
