//! What has to be found in small programs as compilers make them, and what must not.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![cfg(not(sanitized))]

mod life;
mod traced;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tenure_find::{Finding, Kind, Report};
use tenure_sim::Machine;
use tenure_watch::{Progress, Request, Target, watch};

/// The case, what is wrong with it, and names that its finding has.
type Expected<'a> = (&'a str, &'a [Kind], &'a [&'a str]);

use Kind::{BesideReadMostly, FalseSharing, HotWord, Lock};

/// Those that CI looks at.
const SOME: [Expected<'_>; 5] = [
    ("adjacent", &[FalseSharing], &["counters"]),
    ("elements", &[FalseSharing], &["work"]),
    ("beside", &[BesideReadMostly, FalseSharing], &["use"]),
    ("one_word", &[HotWord], &["hot"]),
    ("mutex", &[Lock], &["guarded", "mutex"]),
];

const OTHERS: [Expected<'_>; 5] = [
    ("two_locks", &[FalseSharing], &["locks", "one", "other"]),
    // Threads that take turns on few CPUs rarely meet at the other's word.
    ("head_and_tail", &[FalseSharing, HotWord], &["queue", "head", "tail"]),
    ("spinning", &[Lock, FalseSharing], &["spinlock", "held"]),
    ("loop", &[HotWord], &["taken"]),
    ("neighbours", &[FalseSharing], &["use"]),
];

const SILENT: [&str; 3] = ["apart", "private_heap", "work"];
const SILENT_TOO: [&str; 4] = ["read_only", "thread_local_word", "misses", "flag"];

/// A program that is killed in the end.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn request(pid: u32) -> Request {
    Request {
        target: Target::Process(pid),
        duration: Some(Duration::from_secs(60)),
        rate: 500,
        arms: 50.0,
        line_bytes: 64,
    }
}

/// Watches until lines were looked at so often, however long that takes on a busy machine.
fn report(program: &Path, case: &str, looks: u64) -> Report {
    let running = Running::start(Command::new(program).arg(case));
    let is_enough = |it: &Progress| {
        it.counts.looks >= looks || it.elapsed.as_secs() > 5 && it.counts.samples == 0
    };
    // A control may have nothing to look at.
    let is_enough = |it: &Progress| is_enough(it) || it.counts.samples > 1000;
    let watched = watch(&request(running.0.id()), &is_enough).unwrap();
    let machine = Machine::preset("epyc-2s-256").unwrap();
    tenure_watch::report(&watched, 64, 0, &machine)
}

/// All names in a finding.
fn names(finding: &Finding) -> String {
    let words = std::iter::once(&finding.contended).chain(&finding.victims);
    let uses = words.clone().flat_map(|word| &word.uses).filter_map(|use_| use_.code.as_ref());
    let mut names = vec![finding.type_name.clone(), format!("{:?}", finding.observed)];
    names.extend(words.map(|word| word.path.clone()));
    names.extend(uses.map(|code| code.function.clone()));
    names.join(" ")
}

/// Builds the cases of `tenure run`, or those of this crate.
fn built(level: &str, is_own: bool) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let (name, source) = match is_own {
        true => ("more", tests.join("more.c")),
        false => ("cases", tests.join("../../../tenure-run/tests/cases/cases.c")),
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{level}"));
    let mut command = Command::new("gcc");
    command.args([level, "-g", "-pthread", "-DENDLESS", "-o"]).arg(&program).arg(source);
    assert!(command.status().unwrap().success());
    program
}

/// Where the kernel refuses, as in a container, nothing can be found.
pub(crate) fn can_watch() -> bool {
    let check = tenure_watch::check();
    if let Err(error) = &check {
        eprintln!("skipped: {error}");
    }
    check.is_ok()
}

/// Whether the case is found, and of its kind.
fn found(program: &Path, (case, kinds, words): &Expected<'_>) -> Result<bool, String> {
    let report = report(program, case, 40);
    let is_it = |finding: &&Finding| {
        let names = names(finding);
        words.iter().all(|word| names.contains(word))
    };
    let found = report.findings.iter().find(is_it);
    found
        .map(|finding| kinds.contains(&finding.kind))
        .ok_or_else(|| format!("{} {case}: {:#?}", program.display(), report.findings))
}

fn loud(program: &Path, case: &str) -> Option<String> {
    let report = report(program, case, 20);
    let is_silent = report.findings.is_empty();
    (!is_silent).then(|| format!("{} {case}, a control: {:#?}", program.display(), report.findings))
}

#[test]
fn known_faults_are_found_and_controls_are_silent() {
    if !can_watch() {
        return;
    }
    let [cases, more] = [false, true].map(|is_own| built("-O2", is_own));
    // The kind takes more hits than a busy machine has in so short a time: ci/watch.sh looks at it.
    let mut all: Vec<String> = SOME.iter().filter_map(|case| found(&cases, case).err()).collect();
    all.extend(SILENT.iter().filter_map(|case| {
        let program = if *case == "work" { &more } else { &cases };
        loud(program, case)
    }));
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// `TENURE_RUNS` says how often each case is run.
#[test]
#[ignore = "takes minutes; ci/watch.sh runs it by hand"]
fn all_cases_again_and_again() {
    let runs: usize = std::env::var("TENURE_RUNS").map_or(20, |runs| runs.parse().unwrap());
    let mut failures = 0;
    for level in ["-O0", "-O2"] {
        let [cases, more] = [false, true].map(|is_own| built(level, is_own));
        let program = |case: &str| {
            let own =
                ["spinning", "loop", "neighbours", "thread_local_word", "misses", "work", "flag"];
            if own.contains(&case) { &more } else { &cases }
        };
        for case in SOME.iter().chain(&OTHERS) {
            let found: Vec<_> = (0..runs).map(|_| found(program(case.0), case)).collect();
            let missed = found.iter().filter(|found| found.is_err()).count();
            let right = found.iter().filter(|found| **found == Ok(true)).count();
            println!(
                "{level} {}: found in {} of {runs}, with its kind in {right}",
                case.0,
                runs - missed
            );
            failures += missed;
        }
        for case in SILENT.iter().chain(&SILENT_TOO) {
            let loud = (0..runs).filter_map(|_| loud(program(case), case)).count();
            println!("{level} {case}: silent in {} of {runs}", runs - loud);
            failures += loud;
        }
    }
    assert_eq!(failures, 0);
}
