use crate::*;
use tenure::memory::Plain as _;
use tenure_sim::SimulatedField;

/// CPUs of the exact machine, and a line's time from CPU 0.
const PLACES: [(usize, f64); 3] = [(1, 40.0), (2, 80.0), (4, 120.0)];

/// To a line that CPU 0 modified long ago.
fn access_from(cpu: usize, access: fn(&SimulatedWord<u64>)) -> f64 {
    let (line, times) = (word(0), notes());
    let its_times = times.clone();
    let run = machine().simulation(cpu + 1).run(move |it| {
        if it.index() == 0 {
            line.0.fetch_add(1, RELAXED);
        } else if it.index() == cpu {
            wait_until(it, 1000.0);
            let start = it.now_ns();
            access(&line.0);
            note(&its_times, it.now_ns() - start);
        }
    });
    run.unwrap();
    noted(&times)[0]
}

#[test]
fn a_line_takes_its_latency_from_the_one_core_that_has_it_and_the_access_its_own_time_there() {
    for (cpu, latency) in PLACES {
        let load = access_from(cpu, |word| _ = word.load(RELAXED));
        let store = access_from(cpu, |word| word.store(1, RELAXED));
        let rmw = access_from(cpu, |word| _ = word.fetch_add(1, RELAXED));
        assert_near(load, latency, 1e-9);
        assert_near(store, latency + 1.0, 1e-9);
        assert_near(rmw, latency + 6.0, 1e-9);
    }
}

#[test]
fn the_second_hardware_thread_of_a_core_finds_the_line_there_at_the_price_of_siblings() {
    let sibling_of_0 = 8;
    for access in [
        (|word| _ = word.load(RELAXED)) as fn(&SimulatedWord<u64>),
        |word| word.store(1, RELAXED),
        |word| _ = word.fetch_add(1, RELAXED),
    ] {
        assert_near(access_from(sibling_of_0, access), 8.0, 1e-9);
    }
}

fn ping_pong(other: usize, turn: fn(&SimulatedWord<u64>, u64) -> bool) -> f64 {
    let line = word(0);
    let run = short(&machine(), other + 1).run(move |cpu| {
        let mut next = match cpu.index() {
            0 => 0,
            it if it == other => 1,
            _ => return,
        };
        while cpu.running() {
            if turn(&line.0, next) {
                next += 2;
                cpu.done();
            }
        }
    });
    let report = run.unwrap();
    report.ns / report.operations as f64
}

/// Looks until it is its turn, and then writes.
fn by_load_and_store(word: &SimulatedWord<u64>, next: u64) -> bool {
    let is_ours = word.load(RELAXED) == next;
    if is_ours {
        word.store(next + 1, RELAXED);
    }
    is_ours
}

/// Tries until it is its turn: its request waits already when the other is done.
fn by_compare_exchange(word: &SimulatedWord<u64>, next: u64) -> bool {
    word.compare_exchange(next, next + 1, RELAXED, RELAXED).is_ok()
}

#[test]
fn a_turn_of_a_ping_pong_takes_between_half_a_latency_and_two() {
    for (other, latency) in PLACES {
        let patient = ping_pong(other, by_load_and_store);
        // The line has to come twice: to be read, and to be written.
        assert!((latency..2.0 * latency + 5.0).contains(&patient), "{latency}: {patient}");
        let eager = ping_pong(other, by_compare_exchange);
        assert!((0.5 * latency..latency + 6.5).contains(&eager), "{latency}: {eager}");
    }
}

#[test]
fn the_first_touch_takes_the_latency_of_memory_and_the_rest_is_hits() {
    let times = notes();
    let its_times = times.clone();
    let line = word(0);
    let run = machine().run(1, move |cpu| {
        let time = |what: &dyn Fn()| {
            let start = cpu.now_ns();
            what();
            note(&its_times, cpu.now_ns() - start);
        };
        time(&|| _ = line.0.load(RELAXED));
        time(&|| (0..100).for_each(|_| _ = line.0.load(RELAXED)));
        time(&|| (0..100).for_each(|_| line.0.store(1, RELAXED)));
        time(&|| (0..100).for_each(|_| _ = line.0.fetch_add(1, RELAXED)));
        time(&|| (0..100).for_each(|_| _ = line.0.compare_exchange(0, 1, RELAXED, RELAXED)));
    });
    run.unwrap();
    let expected = [101.0, 100.0, 100.0, 600.0, 600.0];
    for (found, expected) in noted(&times).into_iter().zip(expected) {
        assert_near(found, expected, 1e-9);
    }
}

#[test]
fn one_thread_makes_an_operation_per_read_modify_write_and_moves_nothing() {
    let report = adding(short(&machine(), 1));
    assert_near(report.ns_per_op(), 6.0, 0.001);
    assert_eq!((report.transfers.all(), report.failed), (0, 0));
    assert_near(report.mops(), 1000.0 / 6.0, 0.001);
}

#[test]
fn work_and_spin_hints_take_the_time_that_they_are_told_to_on_average() {
    let times = notes();
    let its_times = times.clone();
    let run = machine().run(1, move |cpu| {
        let start = cpu.now_ns();
        (0..1000).for_each(|_| cpu.work(10.0));
        for nothing in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            cpu.work(nothing);
        }
        note(&its_times, cpu.now_ns() - start);
        let start = cpu.now_ns();
        (0..1000).for_each(|_| Simulated::spin_hint());
        note(&its_times, cpu.now_ns() - start);
    });
    run.unwrap();
    for time in noted(&times) {
        assert_near(time, 10_000.0, 0.02);
    }
}

/// One addition by each of two threads, to words `apart` bytes apart.
fn two_counters(apart: usize) -> f64 {
    let words: Arc<Line<[SimulatedWord<u64>; 16]>> =
        Arc::new(Line(std::array::from_fn(|_| SimulatedWord::new(0))));
    let run = short(&machine(), 2).run(move |cpu| {
        let mine = &words.0[cpu.index() * apart / 8];
        while cpu.running() {
            mine.fetch_add(1, RELAXED);
            cpu.done();
        }
    });
    run.unwrap().ns_per_op()
}

#[test]
fn words_of_one_line_slow_each_other_down_and_words_of_two_lines_do_not() {
    for apart in [8, 16, 32, 56] {
        assert!(two_counters(apart) > 40.0, "{apart} bytes apart");
    }
    for apart in [64, 72, 120] {
        assert_near(two_counters(apart), 6.0, 0.001);
    }
}

/// One read of a plain field, while another thread writes a word `apart` bytes away.
fn read_beside_a_writer(apart: usize) -> f64 {
    #[repr(C, align(64))]
    struct Both {
        written: SimulatedWord<u64>,
        fields: [SimulatedField<u64>; 15],
    }
    let fields = std::array::from_fn(|_| SimulatedField::new(7));
    let both = Arc::new(Both { written: SimulatedWord::new(0), fields });
    let run = short(&machine(), 2).run(move |cpu| {
        while cpu.running() {
            if cpu.index() == 0 {
                both.written.store(1, RELAXED);
                cpu.work(20.0);
            } else {
                // SAFETY: no thread writes the fields.
                assert_eq!(unsafe { both.fields[apart / 8 - 1].read() }, 7);
                cpu.done();
            }
        }
    });
    let report = run.unwrap();
    report.ns / report.operations as f64
}

#[test]
fn a_plain_read_beside_a_written_word_is_slow_and_one_on_the_next_line_is_not() {
    assert!([8, 56].map(read_beside_a_writer).iter().all(|&ns| ns > 1.5));
    assert_near(read_beside_a_writer(64), 1.0, 0.001);
}

#[test]
fn an_access_across_two_lines_takes_both() {
    #[repr(C, align(64))]
    struct Straddling {
        before: [u64; 7],
        field: SimulatedField<[u64; 2]>,
    }
    let it = Arc::new(Straddling { before: [0; 7], field: SimulatedField::new([1, 2]) });
    let times = notes();
    let its_times = times.clone();
    let run = machine().simulation(1).warm_up_ns(0.0).run(move |cpu| {
        assert_eq!(it.before[0], 0);
        let read = || {
            let start = cpu.now_ns();
            // SAFETY: no thread writes the field.
            assert_eq!(unsafe { it.field.read() }, [1, 2]);
            note(&its_times, cpu.now_ns() - start);
        };
        read();
        read();
    });
    let report = run.unwrap();
    assert_near(noted(&times)[0], 202.0, 1e-9);
    assert_near(noted(&times)[1], 2.0, 1e-9);
    assert_eq!((report.transfers.memory, report.lines.len()), (2, 2));
}

#[test]
fn a_line_that_nobody_writes_is_brought_once_to_each_core() {
    let line = word(1);
    let threads = 8;
    let run = machine().simulation(threads).warm_up_ns(0.0).run(move |cpu| {
        while cpu.running() {
            line.0.load(RELAXED);
            cpu.done();
        }
    });
    let report = run.unwrap();
    assert_eq!(report.transfers.all(), threads as u64);
    assert_eq!(report.transfers.memory, 1);
    assert_near(report.ns_per_op(), 1.0, 0.01);
}

#[test]
fn readers_find_a_copy_in_the_nearest_place() {
    let line = word(1);
    // CPU 0 from memory, 4 from the other socket, 5 from 4's cluster, 6 from 4's socket.
    let order = [0, 4, 5, 6];
    let run = machine().simulation(7).warm_up_ns(0.0).run(move |cpu| {
        if let Some(place) = order.iter().position(|&it| it == cpu.index()) {
            wait_until(cpu, 1000.0 * (place + 1) as f64);
            line.0.load(RELAXED);
        }
    });
    let transfers = run.unwrap().transfers;
    let by_distance = (transfers.memory, transfers.remote, transfers.cluster, transfers.socket);
    assert_eq!(by_distance, (1, 1, 1, 1));
}

#[test]
fn who_writes_a_shared_line_waits_for_the_farthest_reader() {
    for (readers, expected) in [(&[1][..], 40.0), (&[1, 2], 80.0), (&[1, 2, 4], 120.0)] {
        let (line, times) = (word(0), notes());
        let its_times = times.clone();
        let run = machine().simulation(5).run(move |cpu| {
            if readers.contains(&cpu.index()) {
                line.0.load(RELAXED);
            } else if cpu.index() == 0 {
                line.0.load(RELAXED);
                wait_until(cpu, 2000.0);
                let start = cpu.now_ns();
                line.0.store(1, RELAXED);
                note(&its_times, cpu.now_ns() - start);
            }
        });
        run.unwrap();
        assert_near(noted(&times)[0], expected + 1.0, 1e-9);
    }
}

/// All threads' reads; each writes once in a thousand.
fn reads_per_us(threads: usize) -> f64 {
    let line = word(0);
    let run = short(&flat(16), threads).run(move |cpu| {
        let mut turn = cpu.index() * 50;
        while cpu.running() {
            turn += 1;
            if turn % 1000 == 0 {
                line.0.fetch_add(1, RELAXED);
            } else {
                line.0.load(RELAXED);
            }
            cpu.done();
        }
    });
    run.unwrap().mops()
}

#[test]
fn a_line_that_is_mostly_read_scales() {
    let alone = reads_per_us(1);
    assert!(reads_per_us(4) > 3.0 * alone);
    assert!(reads_per_us(16) > 4.0 * alone);
}

fn siblings() -> Machine {
    let mut machine = flat(1);
    machine.topology.smt = 2;
    machine
}

#[test]
fn hardware_threads_of_a_core_share_its_cache() {
    let report = adding(short(&siblings(), 2));
    assert_eq!(report.transfers.all(), 0);
    assert!(report.mops() > 2.0 * adding(short(&flat(2), 2)).mops());
}

#[test]
fn hardware_threads_that_only_read_a_line_do_not_slow_each_other_down() {
    let line = word(0);
    let run = short(&siblings(), 2).run(move |cpu| {
        while cpu.running() {
            line.0.load(RELAXED);
            cpu.done();
        }
    });
    assert_near(run.unwrap().ns_per_op(), 1.0, 1e-3);
}
