//! The head of a report: how the run went, and what it does not show.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use tenure_debuginfo::names::{self, SystemLibrary};
use tenure_debuginfo::program::Program;
use tenure_model::Run;

use crate::instrumented::Instrumentation;
use tenure_analyze::Programs;
use tenure_model::recording::{Module, Process, Recording};

/// The head, without a forecast.
pub(crate) fn run(recording: &Recording, command: &str, programs: &Programs) -> Run {
    let processes = &recording.processes;
    let threads = || processes.iter().flat_map(|process| &process.threads);
    Run {
        seconds: seconds(recording),
        cpus: thread::available_parallelism().ok().map(|cpus| cpus.get() as u64),
        accesses: threads().map(|thread| thread.accesses).sum(),
        dropped: processes.iter().map(|process| process.dropped).sum(),
        missing: missing(recording, command, programs),
        doubts: doubts(recording),
        ..recording.head(command)
    }
}

/// How long instrumented processes ran, one after the other or at the same time: a build before them does not count.
fn seconds(recording: &Recording) -> f64 {
    let one_by_one = recording.processes.iter().map(|process| process.seconds).sum();
    if recording.processes.is_empty() {
        recording.seconds
    } else {
        recording.seconds.min(one_by_one)
    }
}

/// Why no finding proves nothing: each a sentence.
fn doubts(recording: &Recording) -> Vec<String> {
    /// Recording slows a program so many times at most before its threads meet too seldom. Usual is 2 to 10.
    const TOO_SLOW: f64 = 20.0;
    let mut all = Vec::new();
    let processes = &recording.processes;
    if processes.iter().any(|process| process.one_at_a_time) {
        all.push(
            "Each thread had ended before the next one began to work, so none could contend with another: give the threads more work, or \
             run the program again."
                .to_owned(),
        );
    }
    let slowest = processes.iter().map(slowed).fold(0.0, f64::max);
    if slowest > TOO_SLOW {
        all.push(format!(
            "Recording made the program about {slowest:.0} times slower, so its threads may have met less often than usual: watch \
             it unmodified with `tenure watch`."
        ));
    }
    all
}

/// How many times longer its threads took since they were recorded, about: their processor time, in parts of what recording does
/// not explain of it. Of accesses to contended lines it is not known what recording took: it may be more.
fn slowed(process: &Process) -> f64 {
    /// An access takes as long at least, in nanoseconds: processors do a few in a cycle.
    const MIN_ACCESS_NS: f64 = 0.2;
    let (mut with, mut without) = (0.0, 0.0);
    for thread in &process.threads {
        let (cpu, accesses) = (thread.cpu as f64, thread.accesses as f64);
        let recording = accesses * process.access_ns + thread.recording as f64;
        with += cpu;
        without += (cpu - recording).max(accesses * MIN_ACCESS_NS).min(cpu);
    }
    if without > 0.0 { with / without } else { 1.0 }
}

/// What of a run was not seen, and why: each a sentence.
fn missing(recording: &Recording, command: &str, programs: &Programs) -> Vec<String> {
    let mut all = Vec::new();
    let program = Path::new(command.split(' ').next().unwrap_or_default());
    let is_cargo = program.file_name().is_some_and(|name| name == "cargo");
    // A build that did not finish is no fault of how it was called.
    if recording.processes.is_empty() && (recording.ended.status() == 0 || !is_cargo) {
        all.push(
            "`tenure run -- cargo run` instruments what it runs; build C and C++ with `tenure run --cc` or -fsanitize=thread."
                .to_owned(),
        );
        if !is_cargo {
            all.push(
                "Instrumented libraries are recorded in the program after `--`, not in one that it starts or becomes: put \
                 `env`, `taskset` and the like before `tenure run`."
                    .to_owned(),
            );
        }
    }
    if recording.processes.iter().any(|process| process.refused) {
        all.push(
            "Nothing was recorded of a process that was refused address space: raise `ulimit -v`, and allow overcommit."
                .to_owned(),
        );
    }
    let mut silent = Vec::new();
    for module in modules(recording) {
        let path = Path::new(&module.path);
        let Some(name) = path.file_name() else { continue };
        let name = name.to_string_lossy().into_owned();
        let has_std =
            || programs.open(&module.path).is_some_and(|program| has_plain_std(program.program()));
        match Instrumentation::of(path) {
            Some(Instrumentation::Open) if has_std() => {
                silent.insert(0, "std, except its generic code".to_owned());
            }
            None | Some(Instrumentation::Open) => {}
            Some(_) if is_of_the_c_library(&name) => {}
            Some(_) => silent.push(name),
        }
    }
    silent.dedup();
    if !silent.is_empty() {
        all.push(format!("Not instrumented, so not seen: {}.", listed(&silent)));
    }
    all
}

/// Programs and libraries, each once.
fn modules(recording: &Recording) -> impl Iterator<Item = &Module> {
    let mut known = BTreeSet::new();
    let modules = recording.processes.iter().flat_map(|process| &process.modules);
    modules.filter(move |module| known.insert(&module.path))
}

/// Whether Rust's std came as it is distributed: then its files have the paths of the machine that built it.
fn has_plain_std(program: &Program) -> bool {
    let Some(address) = program.function_named("3std2rt19lang_start_internal") else {
        return false;
    };
    let file = program.frames(address + 1).into_iter().find_map(|frame| frame.file);
    !file.is_some_and(|file| file.contains("/lib/rustlib/src/"))
}

/// Parts of the C library, and this project's runtime: what they do for a program is counted where it matters.
fn is_of_the_c_library(name: &str) -> bool {
    names::system_library(name) == Some(SystemLibrary::C) || name.starts_with("libtsan.")
}

/// `a, b and 3 more`.
fn listed(names: &[String]) -> String {
    const MAX_NAMES: usize = 3;
    match names {
        [all @ .., last] if names.len() <= MAX_NAMES => {
            let comma = if all.is_empty() { "" } else { " and " };
            format!("{}{comma}{last}", all.join(", "))
        }
        _ => format!("{} and {} more", names[..MAX_NAMES].join(", "), names.len() - MAX_NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_model::recording as record;

    /// A run of a minute that went well.
    fn recording(processes: Vec<Process>) -> Recording {
        let ended = tenure_model::Ended::Exited { status: 0 };
        Recording { ended, seconds: 60.0, cpu_seconds: 60.0, processes }
    }

    #[test]
    fn a_build_before_the_run_takes_none_of_its_time() {
        let of = |processes: &[f64]| {
            let process = |&seconds| record::Process { seconds, ..record::Process::default() };
            seconds(&recording(processes.iter().map(process).collect()))
        };
        assert_eq!(of(&[]), 60.0);
        assert_eq!(of(&[2.0, 3.0]), 5.0);
        assert_eq!(of(&[50.0, 50.0]), 60.0);
    }

    #[test]
    fn what_recording_explains_of_the_processor_time_is_what_it_slowed() {
        let slowed = |cpu, accesses, recording| {
            let thread = record::Thread { cpu, accesses, recording, ..record::Thread::default() };
            slowed(&Process { threads: vec![thread], access_ns: 1.0, ..Process::default() })
        };
        for (about, slowed, expected) in [
            ("nothing ran", slowed(0, 0, 0), 1.0..=1.0),
            ("work beside a few accesses", slowed(1_000_000, 1_000, 0), 1.0..=1.1),
            ("accesses and nothing else", slowed(1_300_000, 1_000_000, 0), 4.0..=5.0),
            ("a table of allocations", slowed(100_000_000, 100_000, 99_500_000), 200.0..=300.0),
            ("more than there was", slowed(1_000_000, 100_000, 9_000_000), 49.0..=51.0),
        ] {
            assert!(expected.contains(&slowed), "{about}: {slowed}");
        }
    }

    #[test]
    fn a_run_in_which_nothing_could_meet_is_doubted() {
        let doubts = |process: Process| doubts(&recording(vec![process]));
        assert_eq!(doubts(Process::default()), [""; 0]);
        let apart = doubts(Process { one_at_a_time: true, ..Process::default() });
        assert!(apart[0].contains("had ended before the next one began"), "{apart:?}");
        let thread = record::Thread {
            cpu: 150_000_000,
            accesses: 100_000,
            recording: 149_000_000,
            ..record::Thread::default()
        };
        let slow = doubts(Process { threads: vec![thread], ..Process::default() });
        assert!(slow[0].contains("about 150 times slower"), "{slow:?}");
    }

    #[test]
    fn a_run_without_instrumented_code_says_what_is_not_seen() {
        let missing =
            |command: &str| missing(&recording(Vec::new()), command, &Programs::default());
        let by_taskset = missing("taskset -c 0-3 python3 app.py");
        assert!(by_taskset[1].contains("put `env`, `taskset`"), "{by_taskset:?}");
        assert_eq!(missing("cargo run").len(), 1);
    }

    #[test]
    fn long_lists_are_cut() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        for (count, words) in
            [(1, "a"), (2, "a and b"), (3, "a, b and c"), (5, "a, b, c and 2 more")]
        {
            assert_eq!(listed(&names[..count]), words);
        }
    }
}
