//! What has to be found in small programs as compilers make them, and what must not.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg(not(sanitized))]

mod called;
mod causes;
mod crowd;
mod life;
mod own;
mod refused;
mod silence;
#[path = "../../../tenure-run/tests/support/mod.rs"]
mod support;
mod traced;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::names;
use tenure_model::{Finding, Kind, Report};
use tenure_watch::{Programs, Session, WatchOptions, WatchRequest, WatchTarget, watch};

/// The case, what is wrong with it, and names that its finding has in C and in Rust.
struct Case {
    name: &'static str,
    kinds: &'static [Kind],
    /// Of functions and variables: by these it is found.
    names: [&'static [&'static str]; 2],
    /// Of types and members of heap objects.
    types: [&'static [&'static str]; 2],
    /// Whether it is one of this crate's, not of those of `tenure run`.
    is_own: bool,
}

type Names = &'static [&'static str];

const fn case(name: &'static str, kinds: &'static [Kind], c: Names, rust: Names) -> Case {
    Case { name, kinds, names: [c, rust], types: [&[], &[]], is_own: false }
}

impl Case {
    const fn typed(self, c: Names, rust: Names) -> Self {
        Self { types: [c, rust], ..self }
    }

    const fn own(self) -> Self {
        Self { is_own: true, ..self }
    }
}

use Kind::{BesideReadMostly, FalseSharing, HotWord, Lock};

const CASES: [Case; 10] = [
    case("adjacent", &[FalseSharing], &["counters"], &["COUNTERS"]),
    case("elements", &[FalseSharing], &["work"], &["work_at"])
        .typed(&["Worker", "done", "failed"], &["Worker", "done", "failed"]),
    case("beside", &[BesideReadMostly], &["use"], &["beside"])
        .typed(&["Session", "refs", "limit"], &["Session", "refs", "limit"]),
    case("two_locks", &[FalseSharing], &["locks", "one", "other"], &["LOCKS"]),
    case("head_and_tail", &[FalseSharing], &["queue", "head", "tail"], &["pass_on"]),
    case("one_word", &[HotWord], &["hot"], &["hot_arc"]).typed(&[], &["Arc", "strong"]),
    case("mutex", &[Lock], &["guarded", "mutex"], &["mutex"]).typed(&[], &["Mutex"]),
    case("spinning", &[Lock], &["spinlock", "held"], &["SPINLOCK", "held"]).own(),
    case("loop", &[HotWord], &["taken"], &["TAKEN"]).own(),
    case("neighbours", &[FalseSharing], &["use"], &["neighbours"])
        .typed(&[], &["Counter", "count"])
        .own(),
];

/// What there is nothing to say about, and whether it is one of this crate's.
const SILENT: [(&str, bool); 7] = [
    ("apart", false),
    ("private_heap", false),
    ("read_only", false),
    ("work", true),
    ("thread_local_word", true),
    ("misses", true),
    ("flag", true),
];

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

fn request(pid: u32) -> WatchRequest {
    WatchRequest {
        target: WatchTarget::Process(pid),
        duration: Some(Duration::from_secs(60)),
        options: WatchOptions {
            rate: 500,
            probes: 50.0,
            share: 1.0,
            line_bytes: 64,
            through: Vec::new(),
        },
    }
}

/// How long a case is watched.
#[derive(Debug, Clone, Copy)]
enum Long {
    /// Until lines were probed so often, however long that takes on a busy machine.
    Probes(u64),
    /// As a person would watch it, for so many seconds.
    Seconds(u64),
}

fn report(program: &Path, case: &str, long: Long) -> Report {
    let running = Running::start(Command::new(program).arg(case));
    let request = match long {
        Long::Probes(_) => request(running.0.id()),
        Long::Seconds(seconds) => WatchRequest {
            duration: Some(Duration::from_secs(seconds)),
            options: WatchOptions::default(),
            ..request(running.0.id())
        },
    };
    let is_enough = |it: &Session| match long {
        // A control may have nothing to probe.
        Long::Probes(probes) => {
            it.counts().probes >= probes
                || it.counts().samples > 1000
                || it.elapsed().as_secs() > 5 && it.counts().samples == 0
        }
        Long::Seconds(_) => false,
    };
    let watched = watch(&request, &is_enough).unwrap();
    tenure_watch::report(&watched, &Programs::default(), 64, 0).report
}

/// A program as a compiler made it.
struct Build {
    /// Cases of `tenure run`, and those of this crate.
    programs: [PathBuf; 2],
    is_rust: bool,
    is_stripped: bool,
}

impl Build {
    fn new(is_rust: bool, level: u8) -> Self {
        let programs = [false, true].map(|is_own| built(is_rust, level, is_own));
        Self { programs, is_rust, is_stripped: false }
    }

    fn stripped(&self) -> Self {
        let strip = |program: &PathBuf| {
            let stripped = program.with_extension("stripped");
            let mut command = Command::new("strip");
            command.arg("-o").arg(&stripped).arg(program);
            assert!(command.status().unwrap().success());
            stripped
        };
        let programs = self.programs.each_ref().map(strip);
        Self { programs, is_stripped: true, ..*self }
    }

    fn program(&self, is_own: bool) -> &Path {
        &self.programs[usize::from(is_own)]
    }
}

/// Builds the cases of `tenure run`, or those of this crate.
fn built(is_rust: bool, level: u8, is_own: bool) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let runs = own.join("../../../tenure-run/tests/cases");
    let source = match (is_rust, is_own) {
        (false, false) => runs.join("cases.c"),
        (false, true) => own.join("more.c"),
        (true, false) => runs.join("rust/src/main.rs"),
        (true, true) => own.join("more.rs"),
    };
    let language = if is_rust { "rust" } else { "c" };
    let name = format!("{language}-{}-{level}", if is_own { "more" } else { "cases" });
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(if is_rust { "rustc" } else { "gcc" });
    match is_rust {
        false => command.args([&format!("-O{level}"), "-pthread", "-DENDLESS"]),
        true => command
            .args(["--edition", "2021", "--cap-lints", "allow"])
            .args(["--crate-name", "cases", "-C", &format!("opt-level={level}")])
            .env("ENDLESS", "yes"),
    };
    command.arg("-g").arg("-o").arg(&program).arg(source);
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

/// A case that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    is_right: bool,
    is_typed: bool,
}

fn found(build: &Build, case: &Case, long: Long) -> Result<Found, String> {
    let language = usize::from(build.is_rust);
    let name = match (build.is_rust, case.name) {
        (true, "one_word") => "hot_arc",
        (_, name) => name,
    };
    let program = build.program(case.is_own);
    let report = report(program, name, long);
    let has = |finding: &Finding, wanted: &[&str]| {
        let names = names(finding);
        wanted.iter().all(|it| names.contains(it))
    };
    let is_kind = |finding: &Finding| case.kinds.contains(&finding.kind);
    // Without names, what is wrong says which it is.
    let is_it = |finding: &&Finding| match build.is_stripped {
        true => is_kind(finding),
        false => has(finding, case.names[language]),
    };
    let found: Vec<_> = report.findings.iter().filter(is_it).collect();
    // There is a finding of the queue's slots, too.
    let typed = found.iter().find(|finding| has(finding, case.types[language]));
    let first = typed.or(found.first());
    let is_right = first.is_some_and(|finding| is_kind(finding));
    let is_typed = typed.is_some();
    if !(is_right && (is_typed || build.is_stripped)) && std::env::var_os("TENURE_SHOW").is_some() {
        println!("{} {name}: {:#?}", program.display(), report.findings);
    }
    first
        .map(|_| Found { is_right, is_typed })
        .ok_or_else(|| format!("{} {name}: {:#?}", program.display(), report.findings))
}

/// How often a program is watched at most: on a busy machine both threads may have had one CPU all the time, and met nowhere.
const TRIES: usize = 12;

/// What is reported where a fault is not found.
fn missed(build: &Build, case: &Case) -> Option<String> {
    (0..TRIES).try_fold(String::new(), |_, _| found(build, case, Long::Probes(40)).err())
}

fn loud(build: &Build, (case, is_own): (&str, bool), long: Long) -> Option<String> {
    let program = build.program(is_own);
    let report = report(program, case, long);
    let is_silent = report.findings.is_empty();
    (!is_silent).then(|| format!("{} {case}, a control: {:#?}", program.display(), report.findings))
}

#[test]
fn known_faults_are_found_and_controls_are_silent() {
    if !can_watch() {
        return;
    }
    let build = Build::new(false, 2);
    // The kind takes more hits than a busy machine has in so short a time: ci/watch.sh checks it.
    let some = CASES.iter().filter(|case| !case.is_own && case.name != "head_and_tail");
    let mut all: Vec<String> = some.filter_map(|case| missed(&build, case)).collect();
    let some = SILENT.iter().filter(|(case, _)| ["apart", "private_heap", "work"].contains(case));
    all.extend(some.filter_map(|case| loud(&build, *case, Long::Probes(20))));
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// `TENURE_RUNS` says how often each fault is run and `TENURE_CONTROLS` each control, `TENURE_CASES` which, and
/// `TENURE_BUILDS` of which programs.
#[test]
#[ignore = "takes minutes; ci/watch.sh runs it by hand"]
fn all_cases_again_and_again() {
    const AS_ASKED: Long = Long::Seconds(4);
    let number = |variable: &str, otherwise: usize| {
        std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
    };
    let (runs, controls) = (number("TENURE_RUNS", 20), number("TENURE_CONTROLS", 100));
    let is_asked = |variable: &str, name: &str| {
        std::env::var(variable).map_or(true, |names| names.split(' ').any(|it| it == name))
    };
    let (mut faults, mut kinds, mut failures) = (0, 0, 0);
    for (name, is_rust, level, is_stripped) in [
        ("c0", false, 0, false),
        ("c2", false, 2, false),
        ("c2-stripped", false, 2, true),
        ("rust0", true, 0, false),
        ("rust2", true, 2, false),
        ("rust2-stripped", true, 2, true),
    ] {
        if !is_asked("TENURE_BUILDS", name) {
            continue;
        }
        let build = Build::new(is_rust, level);
        let build = if is_stripped { build.stripped() } else { build };
        for case in CASES.iter().filter(|case| is_asked("TENURE_CASES", case.name)) {
            let found: Vec<_> = (0..runs).map(|_| found(&build, case, AS_ASKED)).collect();
            let missed = found.iter().filter(|found| found.is_err()).count();
            let shown = found.iter().find_map(|found| found.as_ref().err());
            shown.into_iter().for_each(|found| println!("{found}"));
            let count =
                |wanted: fn(&Found) -> bool| found.iter().flatten().filter(|it| wanted(it)).count();
            let (right, typed) = (count(|it| it.is_right), count(|it| it.is_typed));
            println!(
                "{name} {}: found {} of {runs}, kind right {right}, typed {typed}",
                case.name,
                runs - missed
            );
            (faults, kinds, failures) = (faults + runs, kinds + right, failures + missed);
        }
        for case in SILENT.iter().filter(|case| is_asked("TENURE_CASES", case.0)) {
            let loud: Vec<_> =
                (0..controls).filter_map(|_| loud(&build, *case, AS_ASKED)).collect();
            println!("{name} {}: silent {} of {controls}", case.0, controls - loud.len());
            loud.iter().take(1).for_each(|finding| println!("{finding}"));
            failures += loud.len();
        }
    }
    println!("kind right in {kinds} of {faults}");
    assert_eq!(failures, 0);
}
