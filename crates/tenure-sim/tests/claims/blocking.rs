use crate::*;
use tenure::memory::Plain as _;
use tenure_sim::SimulatedField;

const KERNEL: tenure_sim::machine::Kernel = tenure_sim::machine::Kernel {
    system_call: 100.0,
    wake: 3_000.0,
    wake_send: 700.0,
    interrupt_send: 50.0,
    interrupt_latency: 800.0,
    interrupt_handler: 500.0,
};

fn machine() -> Machine {
    let mut machine = crate::machine();
    machine.kernel = KERNEL;
    machine
}

fn futex(value: u32) -> Arc<Line<SimulatedWord<u32>>> {
    Arc::new(Line(SimulatedWord::new(value)))
}

#[test]
fn whoever_expects_another_value_does_not_sleep_and_pays_for_the_call() {
    let (word, times) = (futex(1), notes());
    let its_times = times.clone();
    let run = machine().run(1, move |cpu| {
        word.0.load(RELAXED);
        let start = cpu.now_ns();
        assert!(!cpu.wait(&word.0, 0));
        note(&its_times, cpu.now_ns() - start);
    });
    run.unwrap();
    assert_near(noted(&times)[0], 101.0, 1e-9);
}

#[test]
fn a_woken_thread_runs_when_the_call_and_the_wake_up_are_over() {
    let (word, times) = (futex(0), notes());
    let its_times = times.clone();
    let run = machine().run(2, move |cpu| {
        if cpu.index() == 0 {
            assert!(cpu.wait(&word.0, 0));
        } else {
            wait_until(cpu, 10_000.0);
            word.0.load(RELAXED);
            note(&its_times, cpu.now_ns() + 100.0 + 3_000.0);
            assert_eq!(cpu.wake(&word.0, 1), 1);
        }
        note(&its_times, cpu.now_ns());
    });
    run.unwrap();
    let times = noted(&times);
    let [expected, waker, woken] = times[..] else { unreachable!("{times:?}") };
    assert_near(woken, expected, 1e-9);
    // What the sender spends, the sleeper does not wait for.
    assert_near(waker, expected - 3_000.0 + 700.0, 1e-9);
}

#[test]
fn those_who_slept_first_wake_first_and_no_more_than_were_asked_for() {
    let (word, other, order) = (futex(0), futex(0), notes());
    let its_order = order.clone();
    let run = machine().run(6, move |cpu| match cpu.index() {
        0 => {
            wait_until(cpu, 50_000.0);
            word.0.load(RELAXED);
            assert_eq!(cpu.wake(&other.0, usize::MAX), 0);
            assert_eq!((cpu.wake(&word.0, 0), cpu.wake(&word.0, 2)), (0, 2));
            cpu.work(20_000.0);
            word.0.load(RELAXED);
            assert_eq!(cpu.wake(&word.0, usize::MAX), 3);
            assert_eq!(cpu.wake(&word.0, usize::MAX), 0);
        }
        index => {
            wait_until(cpu, 5_000.0 * (6 - index) as f64);
            assert!(cpu.wait(&word.0, 0));
            note(&its_order, index);
        }
    });
    run.unwrap();
    let order = noted(&order);
    let mut first: Vec<_> = order[..2].to_vec();
    first.sort_unstable();
    assert_eq!(first, [4, 5], "{order:?}");
    assert_eq!(order.len(), 5);
}

/// As on Linux: 0 free, 1 held, 2 held and perhaps waited for.
struct Mutex(SimulatedWord<u32>);

impl Mutex {
    fn lock(&self, cpu: &Cpu) {
        if self.0.compare_exchange(0, 1, RELAXED, RELAXED).is_ok() {
            return;
        }
        while self.take_contended() != 0 {
            cpu.wait(&self.0, 2);
        }
    }

    /// Marks it as waited for, and returns its old state.
    fn take_contended(&self) -> u32 {
        let mut seen = self.0.load(RELAXED);
        while let Err(now) = self.0.compare_exchange(seen, 2, RELAXED, RELAXED) {
            seen = now;
        }
        seen
    }

    fn unlock(&self, cpu: &Cpu) {
        if self.0.fetch_sub(1, RELAXED) != 1 {
            self.0.store(0, RELAXED);
            cpu.wake(&self.0, 1);
        }
    }
}

#[test]
fn a_mutex_that_sleeps_excludes_and_loses_no_wake_up() {
    for (threads, seed) in [(2, 1), (3, 2), (8, 3), (8, 4), (16, 5)] {
        let both = Arc::new((Line(Mutex(SimulatedWord::new(0))), Line(SimulatedField::new(0_u64))));
        let its = Arc::clone(&both);
        let simulation = short(&machine(), threads).limit_ns(1e9).seed(seed);
        let run = simulation.run(move |cpu| {
            let (mutex, field) = (&its.0.0, &its.1.0);
            for _ in 0..50 {
                mutex.lock(cpu);
                // SAFETY: the mutex is held.
                let seen = unsafe { field.read() };
                cpu.work(30.0);
                // SAFETY: as above.
                field.with_mut(|value| unsafe { *value = seen + 1 });
                mutex.unlock(cpu);
                cpu.work(100.0);
            }
        });
        run.unwrap();
        // SAFETY: the threads are gone.
        assert_eq!(unsafe { both.1.0.read() }, threads as u64 * 50);
    }
}

#[test]
fn a_wake_up_reaches_those_who_fell_asleep_before_its_time_and_nobody_else() {
    for (asleep_at, woken) in [(5_000.0, 1), (15_000.0, 0)] {
        let word = futex(0);
        let run = machine().run(2, move |cpu| {
            if cpu.index() == 0 {
                wait_until(cpu, 10_000.0);
                assert_eq!(cpu.wake(&word.0, 1), woken);
                wait_until(cpu, 20_000.0);
                cpu.wake(&word.0, 1);
            } else {
                wait_until(cpu, asleep_at);
                assert!(cpu.wait(&word.0, 0));
            }
        });
        run.unwrap();
    }
}

#[test]
fn a_wake_up_does_not_reach_who_falls_asleep_a_moment_later_on_a_line_that_is_there() {
    let word = futex(0);
    let run = machine().run(2, move |cpu| {
        if cpu.index() == 0 {
            wait_until(cpu, 10_000.0);
            let own: SimulatedWord<u64> = SimulatedWord::new(0);
            own.load(RELAXED);
            while cpu.now_ns() < 12_000.0 {
                own.load(RELAXED);
            }
            assert_eq!(cpu.wake(&word.0, 1), 0);
            wait_until(cpu, 30_000.0);
            assert_eq!(cpu.wake(&word.0, 1), 1);
        } else {
            word.0.load(RELAXED);
            while cpu.now_ns() < 12_010.0 {
                word.0.load(RELAXED);
            }
            assert!(cpu.wait(&word.0, 0));
        }
    });
    run.unwrap();
}

#[test]
fn a_thread_whose_last_work_goes_on_is_interrupted() {
    let run = machine().run(2, move |cpu| {
        if cpu.index() == 0 {
            wait_until(cpu, 10_000.0);
            assert_eq!(cpu.membarrier(), 1);
        } else {
            cpu.work(30_000.0);
        }
    });
    run.unwrap();
}

fn membarrier(running: usize, sleeping: usize) -> f64 {
    let (word, times) = (futex(0), notes());
    let its_times = times.clone();
    let run = machine().run(1 + running + sleeping, move |cpu| match cpu.index() {
        0 => {
            wait_until(cpu, 20_000.0);
            let start = cpu.now_ns();
            assert_eq!(cpu.membarrier(), running);
            note(&its_times, cpu.now_ns() - start);
            cpu.wake(&word.0, usize::MAX);
        }
        index if index <= running => {
            let own: SimulatedWord<u64> = SimulatedWord::new(0);
            while cpu.now_ns() < 40_000.0 {
                own.load(RELAXED);
            }
        }
        _ => assert!(cpu.wait(&word.0, 0)),
    });
    assert_eq!(run.unwrap().interrupts, running as u64);
    noted(&times)[0]
}

#[test]
fn a_membarrier_costs_for_each_cpu_that_runs_and_nothing_for_those_that_sleep() {
    assert_near(membarrier(0, 0), 100.0, 1e-9);
    assert_near(membarrier(0, 5), 100.0, 1e-9);
    let one = 100.0 + 50.0 + 800.0 + 500.0;
    assert_near(membarrier(1, 0), one, 1e-9);
    assert_near(membarrier(1, 5), one, 1e-9);
    assert_near(membarrier(7, 3), one + 6.0 * 50.0, 1e-9);
    assert_near(membarrier(15, 0), one + 14.0 * 50.0, 1e-9);
}

#[test]
fn an_interrupted_cpu_loses_the_time_of_the_handler() {
    let times = notes();
    let its_times = times.clone();
    let word = futex(0);
    let run = machine().run(2, move |cpu| {
        if cpu.index() == 0 {
            wait_until(cpu, 10_000.0);
            cpu.membarrier();
            cpu.membarrier();
        } else {
            let mut longest = 0.0_f64;
            while cpu.now_ns() < 20_000.0 {
                let start = cpu.now_ns();
                word.0.load(RELAXED);
                longest = longest.max(cpu.now_ns() - start);
            }
            note(&its_times, longest);
        }
    });
    run.unwrap();
    // One at a time: the second is sent when the first has been served.
    assert_near(noted(&times)[0], 501.0, 1e-9);
}

#[test]
fn threads_that_have_ended_are_not_interrupted() {
    let run = machine().run(8, move |cpu| {
        if cpu.index() == 0 {
            wait_until(cpu, 10_000.0);
            assert_eq!(cpu.membarrier(), 0);
        }
    });
    run.unwrap();
}
