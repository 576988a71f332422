use crate::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tenure::memory::{Native, Plain as _};
use tenure_sim::{SimulatedField, SimulationError};

/// With its text, which has to be one line.
#[track_caller]
pub(crate) fn error(run: Result<SimulationReport, SimulationError>) -> (SimulationError, String) {
    let error = run.unwrap_err();
    let text = error.to_string();
    assert!(!text.is_empty() && text.lines().count() == 1, "{text:?}");
    (error, text)
}

#[test]
fn threads_that_all_sleep_are_a_deadlock_that_says_who_sleeps_on_what() {
    let word: Arc<Line<SimulatedWord<u32>>> = Arc::new(Line(SimulatedWord::new(0)));
    let its = word.clone();
    let simulation = short(&machine(), 3).member("the queue", &word.0);
    let (error, text) = error(simulation.run(move |cpu| {
        if cpu.index() > 0 {
            cpu.wait(&its.0, 0);
        }
    }));
    assert!(
        matches!(&error, SimulationError::Deadlock { waiting } if waiting.len() == 2),
        "{error:?}"
    );
    assert_eq!(
        text,
        "deadlock: every thread that is left sleeps: cpu 1 sleeps on the queue; cpu 2 sleeps on the queue"
    );
    assert_eq!(Arc::strong_count(&word), 1);
}

#[test]
fn a_text_lists_a_few_threads_and_counts_the_others() {
    let word: SimulatedWord<u32> = SimulatedWord::new(0);
    let (error, text) = error(short(&machine(), 16).run(move |cpu| _ = cpu.wait(&word, 0)));
    assert!(matches!(&error, SimulationError::Deadlock { waiting } if waiting.len() == 16));
    assert!(text.ends_with("; and 12 more"), "{text}");
    // No address: the next run prints the same.
    assert!(text.contains("cpu 0 sleeps on line 0 + "), "{text}");
}

fn spin_on_a_lock_that_nobody_releases(spin: fn()) {
    let lock = word(0);
    let its = lock.clone();
    let simulation = short(&machine(), 3).member("the lock", &lock.0);
    let (error, text) = error(simulation.run(move |_| {
        while its.0.compare_exchange(0, 1, RELAXED, RELAXED).is_err() {
            spin();
        }
    }));
    assert!(
        matches!(&error, SimulationError::Livelock { waiting, .. } if waiting.len() == 2),
        "{error:?}"
    );
    assert!(text.starts_with("no end after 1055 us of simulated time: cpu "), "{text}");
    assert!(text.contains("the lock"), "{text}");
    assert_eq!(Arc::strong_count(&lock), 1);
}

#[test]
fn threads_that_spin_for_ever_are_a_livelock_with_a_hint_and_without() {
    spin_on_a_lock_that_nobody_releases(|| {});
    spin_on_a_lock_that_nobody_releases(Simulated::spin_hint);
}

#[test]
fn one_thread_that_spins_on_what_it_has_in_its_cache_is_a_livelock_too() {
    let flag = word(0);
    let (error, _) = error(
        short(&machine(), 1).limit_ns(70_000.0).run(move |_| while flag.0.load(RELAXED) == 0 {}),
    );
    assert!(matches!(error, SimulationError::Livelock { ns, .. } if ns < 71_000.0), "{error:?}");
}

#[test]
fn a_thread_that_works_beyond_the_limit_may_end_but_touch_nothing_more() {
    for beyond in [1e7, 1e30, f64::INFINITY] {
        let report = short(&machine(), 1).run(move |cpu| {
            cpu.work(beyond);
            cpu.work(beyond);
            assert!(!cpu.running());
            cpu.done();
        });
        assert_eq!(report.unwrap().operations, 0);
        let line = word(0);
        let (error, _) = error(short(&machine(), 1).run(move |cpu| {
            cpu.work(beyond);
            cpu.membarrier();
            line.0.load(RELAXED);
        }));
        assert!(matches!(error, SimulationError::Livelock { .. }), "{error:?}");
    }
}

#[test]
fn a_limit_without_end_is_one() {
    let line = word(0);
    let simulation = short(&machine(), 2).limit_ns(f64::INFINITY);
    let run = simulation.run(move |cpu| {
        while cpu.running() {
            line.0.fetch_add(1, RELAXED);
        }
    });
    assert!(run.is_ok());
}

#[test]
fn a_native_loop_is_told_of_and_left_behind() {
    let stop = Arc::new(<Native as Memory>::AtomicU32::new(0));
    let its = Arc::clone(&stop);
    let simulation = short(&machine(), 2).patience(Duration::from_millis(40));
    let line = word(0);
    let (error, text) = error(simulation.run(move |cpu| {
        line.0.load(RELAXED);
        while cpu.index() == 1 && its.load(RELAXED) == 0 {
            Simulated::spin_hint();
        }
    }));
    stop.store(1, RELAXED);
    assert_eq!(error, SimulationError::Runaway { cpu: 1, after: Duration::from_millis(40) });
    assert!(
        text.starts_with("cpu 1 has touched no simulated memory for 40ms of real time"),
        "{text}"
    );
}

#[test]
fn slow_but_alive_is_no_runaway() {
    let line = word(0);
    let simulation = short(&machine(), 1).patience(Duration::from_millis(60));
    let run = simulation.run(move |_| {
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(20));
            line.0.load(RELAXED);
        }
    });
    assert!(run.is_ok(), "{run:?}");
}

/// Counts its drop, and touches simulated memory then.
struct Witness {
    dropped: Arc<Line<SimulatedWord<u64>>>,
    contended: Arc<Line<SimulatedWord<u64>>>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        for _ in 0..3 {
            self.contended.0.fetch_add(1, RELAXED);
        }
        self.dropped.0.fetch_add(1, RELAXED);
    }
}

#[track_caller]
fn panic_of(run: impl FnOnce() -> Result<SimulationReport, SimulationError>) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn a_panic_is_that_of_the_run_and_everything_is_dropped() {
    let (dropped, contended) = (word(0), word(0));
    let (its_dropped, its) = (dropped.clone(), contended.clone());
    let text = panic_of(|| {
        short(&machine(), 8).run(move |cpu| {
            let _witness = Witness { dropped: its_dropped.clone(), contended: its.clone() };
            while cpu.running() {
                assert!(its.0.fetch_add(1, RELAXED) < 500, "cpu {} had enough", cpu.index() / 100);
            }
        })
    });
    assert_eq!(text, "cpu 0 had enough");
    // CPUs that had not begun had nothing to drop.
    assert_eq!(dropped.0.load(RELAXED), 8);
    assert_eq!((Arc::strong_count(&dropped), Arc::strong_count(&contended)), (1, 1));
}

#[test]
fn a_thread_that_panics_first_of_all_ends_those_that_have_not_begun() {
    let held = Arc::new(());
    let its = Arc::clone(&held);
    let text = panic_of(|| {
        short(&machine(), 16).run(move |_| {
            let _ = &its;
            panic!("at once");
        })
    });
    assert_eq!(text, "at once");
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_panic_that_a_thread_catches_is_its_own_affair() {
    let counter = word(0);
    let its = counter.clone();
    let witnesses = word(0);
    let its_witnesses = witnesses.clone();
    let run = short(&machine(), 4).run(move |cpu| {
        for _ in 0..20 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _witness = Witness { dropped: its_witnesses.clone(), contended: its.clone() };
                its.0.fetch_add(1, RELAXED);
                std::panic::resume_unwind(Box::new(()));
            }));
            assert!(caught.is_err() && !std::thread::panicking());
            its.0.fetch_add(1, RELAXED);
            cpu.work(10.0);
        }
    });
    assert!(run.is_ok(), "{run:?}");
    assert_eq!(counter.0.load(RELAXED), 4 * 20 * 5);
    assert_eq!(witnesses.0.load(RELAXED), 4 * 20);
}

#[test]
fn a_thread_that_will_not_be_unwound_is_asked_again_until_it_ends() {
    let stubborn = word(0);
    let its = stubborn.clone();
    let sleep: SimulatedWord<u32> = SimulatedWord::new(0);
    let (error, _) = error(short(&machine(), 4).run(move |cpu| {
        let caught = catch_unwind(AssertUnwindSafe(|| cpu.wait(&sleep, 0)));
        assert!(caught.is_err());
        // Without a simulation nothing waits, or takes time.
        assert!(Cpu::current().is_none() && !cpu.running());
        assert!(!cpu.wait(&sleep, 0));
        let before = cpu.now_ns();
        its.0.fetch_add(1, RELAXED);
        assert_eq!((cpu.now_ns(), cpu.wake(&sleep, 0)), (before, 0));
        if cpu.index() == 2 {
            panic!("and says so");
        }
    }));
    assert!(matches!(error, SimulationError::Deadlock { .. }));
    assert_eq!(stubborn.0.load(RELAXED), 4);
}

/// Waits for another thread in its drop.
struct Patient {
    sleep: Arc<Line<SimulatedWord<u32>>>,
    cpu: Cpu,
    index: usize,
    seen: Notes<usize>,
}

impl Drop for Patient {
    fn drop(&mut self) {
        while self.cpu.running() {
            self.cpu.wait(&self.sleep.0, 0);
        }
        assert!(!self.cpu.wait(&self.sleep.0, 0));
        assert_eq!(self.cpu.index(), self.index);
        note(&self.seen, self.index);
    }
}

#[test]
fn a_destructor_that_would_wait_does_not_when_its_thread_is_unwound_or_panics() {
    for (panics, order) in [(false, [0, 1, 2, 3]), (true, [2, 0, 1, 3])] {
        let seen = notes();
        let its_seen = seen.clone();
        let sleep = Arc::new(Line(SimulatedWord::new(0)));
        let run = move || {
            short(&machine(), 4).run(move |cpu| {
                let _patient = Patient {
                    sleep: sleep.clone(),
                    cpu: Cpu::current().unwrap(),
                    index: cpu.index(),
                    seen: its_seen.clone(),
                };
                if panics && cpu.index() == 2 {
                    wait_until(cpu, 5_000.0);
                    sleep.0.load(RELAXED);
                    panic!("the third");
                }
                cpu.wait(&sleep.0, 0);
            })
        };
        if panics {
            assert_eq!(panic_of(run), "the third");
        } else {
            assert!(matches!(error(run()).0, SimulationError::Deadlock { .. }));
        }
        assert_eq!(noted(&seen), order);
    }
}

std::thread_local! {
    static LEFT: std::cell::RefCell<Option<(Cpu, Late)>> =
        const { std::cell::RefCell::new(None) };
}

/// Touches simulated memory in its drop.
struct Late(Arc<Line<SimulatedWord<u32>>>);

impl Drop for Late {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, RELAXED);
    }
}

#[test]
fn what_a_thread_leaves_in_a_variable_of_the_hosts_thread_does_no_harm() {
    let late = Arc::new(Line(SimulatedWord::new(0)));
    let its = late.clone();
    let run = machine().run(2, move |cpu| {
        LEFT.with_borrow_mut(|left| {
            let leave = || (Cpu::current().unwrap(), Late(its.clone()));
            // The running CPU, whichever asked for it.
            assert_eq!(left.get_or_insert_with(leave).0.index(), cpu.index());
        });
        its.0.load(RELAXED);
    });
    assert!(run.is_ok(), "{run:?}");
    assert_eq!(late.0.load(RELAXED), 1);
}

#[test]
fn a_simulation_within_a_simulation_is_another_one_and_takes_no_time() {
    let line = word(0);
    let its = line.clone();
    let run = machine().run(2, move |cpu| {
        let before = cpu.now_ns();
        let its_own = its.clone();
        let inner = machine().run(4, move |inner| {
            assert!(Cpu::current().is_some_and(|it| it.index() == inner.index()));
            its_own.0.fetch_add(1, RELAXED);
        });
        assert_eq!(inner.unwrap().threads, 4);
        assert_eq!(cpu.now_ns(), before);
        assert_eq!(Cpu::current().unwrap().index(), cpu.index());
        its.0.fetch_add(1, RELAXED);
    });
    assert_eq!(run.unwrap().threads, 2);
    assert_eq!(line.0.load(RELAXED), 2 * 5);
}

#[test]
fn a_panic_within_goes_through_both() {
    let text = panic_of(|| {
        machine().run(2, |_| {
            drop(machine().run(2, |_| panic!("deep down")));
        })
    });
    assert_eq!(text, "deep down");
}

#[test]
fn outside_of_a_simulation_words_are_words() {
    assert!(Cpu::current().is_none());
    Simulated::spin_hint();
    let word: SimulatedWord<u64> = SimulatedWord::new(3);
    assert_eq!((word.fetch_add(1, RELAXED), word.load(RELAXED)), (3, 4));
    assert_eq!(word.compare_exchange(9, 1, RELAXED, RELAXED), Err(4));
    assert_eq!(format!("{word:?}"), "Word(4)");
    let field = SimulatedField::new(5);
    // SAFETY: no other thread has it.
    assert_eq!(unsafe { field.read() }, 5);
}

#[test]
fn a_thread_of_the_host_that_a_simulated_thread_starts_is_not_simulated() {
    let line = word(0);
    let its = line.clone();
    let run = machine().run(1, move |_| {
        let its = its.clone();
        let thread = std::thread::spawn(move || {
            assert!(Cpu::current().is_none());
            its.0.fetch_add(1, RELAXED);
        });
        thread.join().unwrap();
    });
    assert_eq!(run.unwrap().simulated, 0);
    assert_eq!(line.0.load(RELAXED), 1);
}

#[test]
fn no_threads_and_too_many_are_errors_that_say_how_many_there_may_be() {
    for threads in [0, 17, usize::MAX] {
        let (error, text) = error(machine().run(threads, |_| unreachable!()));
        let machine = "exact".to_owned();
        assert_eq!(error, SimulationError::Threads { threads, machine, cpus: 16 });
        let expected =
            format!("cannot run {threads} threads on 'exact'; ask for 1 to 16, its CPUs");
        assert_eq!(text, expected);
    }
    assert!(machine().run(16, |_| ()).is_ok());
}

#[test]
fn stacks_that_the_host_cannot_give_are_an_error() {
    let held = Arc::new(());
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
        let its = Arc::clone(&held);
        let (error, _) = error(short(&machine(), 2).stack_bytes(bytes).run(move |_| {
            let _ = &its;
        }));
        assert!(matches!(error, SimulationError::Stack { threads: 2, bytes: b, .. } if b == bytes));
    }
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn the_smallest_stack_is_enough_for_a_little() {
    let line = word(0);
    assert!(short(&machine(), 2).stack_bytes(0).run(move |_| line.0.store(1, RELAXED)).is_ok());
}

#[test]
fn a_thousand_and_twenty_four_cpus_work() {
    let mut machine = machine();
    machine.topology =
        tenure_sim::machine::Topology { sockets: 2, clusters: 16, cores: 16, smt: 2 };
    let counter = word(0);
    let its = counter.clone();
    let simulation = machine.simulation(1024).warm_up_ns(0.0).duration_ns(500_000.0);
    let run = simulation.run(move |cpu| {
        its.0.fetch_add(1, RELAXED);
        its.0.load(RELAXED);
        cpu.done();
    });
    let report = run.unwrap();
    assert_eq!((report.operations, report.threads), (counter.0.load(RELAXED), 1024));
}

#[test]
fn a_run_that_measures_nothing_says_so_in_numbers() {
    for simulation in [
        machine().simulation(2).warm_up_ns(0.0).duration_ns(0.0),
        machine().simulation(2).warm_up_ns(f64::NAN).duration_ns(-5.0),
        short(&machine(), 2),
    ] {
        let line = word(0);
        let report = simulation.run(move |_| _ = line.0.fetch_add(1, RELAXED)).unwrap();
        assert_eq!((report.operations, report.ns_per_op()), (0, f64::INFINITY));
        assert_eq!(
            (report.mops(), report.retries_per_op(), report.transfers_per_op()),
            (0.0, 0.0, 0.0)
        );
    }
}
