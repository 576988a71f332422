//! The head of a report: how the run went, and what it does not show.

use std::collections::BTreeSet;
use std::path::Path;

use tenure_find::Run;
use tenure_types::code::Program;

use crate::instrumented::Instrumentation;
use tenure_contend::find::Programs;
use tenure_contend::record::{Module, Recording};

/// The head, without a forecast.
pub(crate) fn run(recording: &Recording, command: &str, programs: &Programs) -> Run {
    let processes = &recording.processes;
    let threads = || processes.iter().flat_map(|process| &process.threads);
    Run {
        command: command.to_owned(),
        ended: recording.ended.into(),
        seconds: seconds(recording),
        processes: processes.len() as u64,
        threads: threads().count() as u64,
        accesses: threads().map(|thread| thread.accesses).sum(),
        contended: recording.contended(),
        dropped: processes.iter().map(|process| process.dropped).sum(),
        missing: missing(recording, command, programs),
        watched: None,
        forecast: None,
        predicting: None,
        pattern: None,
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
        let has_std = || programs.open(&module.path).is_some_and(|program| has_plain_std(&program));
        match Instrumentation::of(path) {
            Some(Instrumentation::Open) if has_std() => {
                silent.insert(0, "std, but for its generic code".to_owned());
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
    let parts =
        ["ld-linux", "libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgcc_s.", "libtsan."];
    parts.iter().any(|part| name.starts_with(part))
}

/// `a, b and 3 more`.
fn listed(names: &[String]) -> String {
    const MOST: usize = 3;
    match names {
        [all @ .., last] if names.len() <= MOST => {
            let comma = if all.is_empty() { "" } else { " and " };
            format!("{}{comma}{last}", all.join(", "))
        }
        _ => format!("{} and {} more", names[..MOST].join(", "), names.len() - MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_contend::record;

    #[test]
    fn a_build_before_the_run_takes_none_of_its_time() {
        let of = |processes: &[f64]| {
            let process = |&seconds| record::Process { seconds, ..record::Process::default() };
            seconds(&Recording {
                ended: record::Ended::Exited(0),
                seconds: 60.0,
                cpu_seconds: 0.0,
                processes: processes.iter().map(process).collect(),
            })
        };
        assert_eq!(of(&[]), 60.0);
        assert_eq!(of(&[2.0, 3.0]), 5.0);
        assert_eq!(of(&[50.0, 50.0]), 60.0);
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
