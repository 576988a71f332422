use crate::*;
use proptest::prelude::*;
use tenure::memory::Plain as _;
use tenure_sim::SimulatedField;
use tenure_sim::machine::{
    Arbitration, AtomicCost, AtomicKind, Contention, Latency, TimeRange, Topology,
};

#[derive(Debug, Clone, Copy)]
enum Action {
    Add(usize, u64),
    Sub(usize, u64),
    AddByCas(usize),
    SetBit(usize, u32),
    Load(usize),
    Store(u64),
    ReadField,
    Hint,
    Work(f64),
    Membarrier,
    WaitUnless(u32),
    Wake,
}

const WORDS: usize = 3;

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..WORDS, 0..5_u64).prop_map(|(word, by)| Action::Add(word, by)),
        2 => (0..WORDS, 0..5_u64).prop_map(|(word, by)| Action::Sub(word, by)),
        4 => (0..WORDS).prop_map(Action::AddByCas),
        2 => (0..2_usize, 0..64_u32).prop_map(|(word, bit)| Action::SetBit(word, bit)),
        4 => (0..WORDS).prop_map(Action::Load),
        3 => any::<u64>().prop_map(Action::Store),
        2 => Just(Action::ReadField),
        1 => Just(Action::Hint),
        2 => (0.0..200.0).prop_map(Action::Work),
        1 => Just(Action::Membarrier),
        1 => (1..3_u32).prop_map(Action::WaitUnless),
        1 => Just(Action::Wake),
    ]
}

fn span() -> impl Strategy<Value = TimeRange> {
    prop_oneof![
        (0.001..300.0).prop_map(TimeRange::Fixed),
        (0.001..300.0, 0.0..300.0).prop_map(|(low, more)| TimeRange::Range([low, low + more])),
    ]
}

fn some_machine() -> impl Strategy<Value = Machine> {
    let topology = (1..=3_usize, 1..=3_usize, 1..=3_usize, 1..=3_usize);
    let latency = (0.001..5.0, span(), span(), span(), span(), span());
    let atomic = (0.001..40.0, 0..3_u8, 0.001..40.0);
    let handoff = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 6 => 0.0..1.0];
    let contention = (any::<bool>(), 0.0..100.0, handoff, 0.0..20.0, 0.0..20.0);
    (topology, latency, atomic, contention).prop_map(|(t, l, a, c)| {
        let kind = [AtomicKind::Near, AtomicKind::Far, AtomicKind::Reserved][a.1 as usize];
        // Below, a store-conditional hardly ever succeeds.
        let least = if kind == AtomicKind::Reserved { f64::max(a.0, l.1.high()) } else { 0.0 };
        let (arbitration, residency) =
            (if c.0 { Arbitration::Fifo } else { Arbitration::Random }, f64::max(c.1, least));
        Machine {
            name: "any".to_owned(),
            about: String::new(),
            sources: Vec::new(),
            topology: Topology { sockets: t.0, clusters: t.1, cores: t.2, smt: t.3 },
            latency: Latency {
                hit: l.0,
                sibling: Some(l.1),
                cluster: l.2,
                socket: Some(l.3),
                remote: Some(l.4),
                memory: l.5,
            },
            atomic: AtomicCost { rmw: a.0, kind, home: Some(a.2) },
            contention: Contention {
                arbitration,
                residency,
                handoff: c.2,
                directory: c.3,
                pause: c.4,
            },
            ..machine()
        }
    })
}

#[repr(C, align(64))]
struct Objects {
    words: [SimulatedWord<u64>; WORDS],
    bits: [SimulatedWord<u64>; 2],
    last: SimulatedWord<u64>,
    futex: SimulatedWord<u32>,
    field: SimulatedField<[u64; 6]>,
}

fn objects() -> Arc<Objects> {
    Arc::new(Objects {
        words: std::array::from_fn(|_| SimulatedWord::new(0)),
        bits: [SimulatedWord::new(0), SimulatedWord::new(0)],
        last: SimulatedWord::new(0),
        futex: SimulatedWord::new(0),
        field: SimulatedField::new([7; 6]),
    })
}

fn act(objects: &Objects, cpu: &Cpu, action: Action) {
    match action {
        Action::Add(word, by) => _ = objects.words[word].fetch_add(by, RELAXED),
        Action::Sub(word, by) => _ = objects.words[word].fetch_sub(by, RELAXED),
        Action::AddByCas(word) => {
            let word = &objects.words[word];
            let mut seen = word.load(RELAXED);
            while let Err(now) = word.compare_exchange(seen, seen.wrapping_add(1), RELAXED, RELAXED)
            {
                seen = now;
            }
        }
        Action::SetBit(word, bit) => _ = objects.bits[word].fetch_or(1 << bit, RELAXED),
        Action::Load(word) => _ = objects.words[word].load(RELAXED),
        Action::Store(value) => objects.last.store(value, RELAXED),
        // SAFETY: no thread writes the field.
        Action::ReadField => assert_eq!(unsafe { objects.field.read() }, [7; 6]),
        Action::Hint => Simulated::spin_hint(),
        Action::Work(ns) => cpu.work(ns),
        Action::Membarrier => _ = cpu.membarrier(),
        Action::WaitUnless(other) => assert!(!cpu.wait(&objects.futex, other)),
        Action::Wake => assert_eq!(cpu.wake(&objects.futex, 1), 0),
    }
    cpu.done();
}

/// The final values, whatever the order.
fn sums(programs: &[Vec<Action>]) -> ([u64; WORDS], [u64; 2], Vec<u64>) {
    let (mut words, mut bits, mut stored) = ([0_u64; WORDS], [0; 2], vec![0]);
    for action in programs.iter().flatten() {
        match *action {
            Action::Add(word, by) => words[word] = words[word].wrapping_add(by),
            Action::Sub(word, by) => words[word] = words[word].wrapping_sub(by),
            Action::AddByCas(word) => words[word] = words[word].wrapping_add(1),
            Action::SetBit(word, bit) => bits[word] |= 1 << bit,
            Action::Store(value) => stored.push(value),
            _ => {}
        }
    }
    (words, bits, stored)
}

fn run(machine: &Machine, programs: &[Vec<Action>], seed: u64) -> (Arc<Objects>, SimulationReport) {
    let objects = objects();
    let (its, programs) = (Arc::clone(&objects), programs.to_vec());
    let simulation = machine
        .simulation(programs.len())
        .warm_up_ns(0.0)
        .duration_ns(1e6)
        .seed(seed)
        .member("objects", &*objects);
    let run = simulation.run(move |cpu| {
        for &action in &programs[cpu.index()] {
            act(&its, cpu, action);
        }
    });
    (objects, run.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..Default::default() })]

    #[test]
    fn programs_end_with_what_some_order_of_their_operations_ends_with(
        machine in some_machine(),
        programs in prop::collection::vec(prop::collection::vec(action(), 0..40), 1..12),
        seed in any::<u64>(),
    ) {
        let programs = &programs[..programs.len().min(machine.cpus())];
        prop_assert_eq!(machine.check(), Ok(()));
        let (objects, report) = run(&machine, programs, seed);
        let (words, bits, stored) = sums(programs);
        let found = |words: &[SimulatedWord<u64>]| -> Vec<u64> {
            words.iter().map(|it| it.load(RELAXED)).collect()
        };
        prop_assert_eq!(found(&objects.words), words);
        prop_assert_eq!(found(&objects.bits), bits);
        prop_assert!(stored.contains(&objects.last.load(RELAXED)));

        let members = || report.lines.iter().flat_map(|line| &line.members);
        let rmws: u64 = members().map(|it| it.rmws).sum();
        prop_assert!(report.failed <= rmws);
        prop_assert!(report.accesses <= report.simulated);
        prop_assert!(members().all(|it| it.waited_ns >= 0.0 && it.name.is_some()));
        let SimulationReport { fairness, .. } = &report;
        prop_assert!(fairness.least <= fairness.most && fairness.jain <= 1.0 + 1e-9);
    }

    #[test]
    fn a_run_can_be_repeated(
        machine in some_machine(),
        programs in prop::collection::vec(prop::collection::vec(action(), 0..20), 1..8),
        seed in any::<u64>(),
    ) {
        let programs = &programs[..programs.len().min(machine.cpus())];
        let (kept, one) = run(&machine, programs, seed);
        let (_, other) = run(&machine, programs, seed);
        prop_assert_eq!(one, other);
        drop(kept);
    }

    #[test]
    fn what_is_over_in_simulated_time_is_seen_by_what_begins_then(
        machine in some_machine(),
        threads in 2..8_usize,
        pause in 0.0..150.0,
        seed in any::<u64>(),
    ) {
        let (word, times) = (word(0), notes());
        let (its, its_times) = (word.clone(), times.clone());
        let run = machine.simulation(threads.min(machine.cpus())).seed(seed).run(move |cpu| {
            for turn in 0..30 {
                let start = cpu.now_ns();
                let writes = (turn + cpu.index()) % 3 == 0;
                // The number of additions before the end of this access.
                let seen = match writes {
                    true => its.0.fetch_add(1, RELAXED) + 1,
                    false => its.0.load(RELAXED),
                };
                note(&its_times, (start, cpu.now_ns(), seen, writes));
                cpu.work(pause);
            }
        });
        run.unwrap();
        let times = noted(&times);
        for (_, end, earlier, _) in &times {
            for (start, _, later, writes) in &times {
                let is_seen = if *writes { later > earlier } else { later >= earlier };
                prop_assert!(is_seen || start <= end, "{} at {}, {} at {}", earlier, end, later, start);
            }
        }
    }

    #[test]
    fn machines_read_back_as_they_were_written(machine in some_machine()) {
        prop_assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
    }

    #[test]
    fn a_text_is_a_machine_or_an_error_in_a_line(
        at in 0..400_usize,
        cut in 0..30_usize,
        put in "[-\\[\\]={}\"'\\n #.0-9a-z]{0,4}",
    ) {
        let mut text: Vec<char> = machine().to_toml().chars().collect();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, put.chars());
        if let Err(error) = Machine::from_toml(&text.iter().collect::<String>()) {
            prop_assert_eq!(error.to_string().lines().count(), 1, "{:?}", error);
        }
    }
}
