//! Changes of small programs, from a report to a patch. What the programs print is the size of a struct, so that nothing depends on time.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tenure_edit::Padding;
use tenure_fix::apply::apply;
use tenure_fix::session::FixRequest;
use tenure_measure::command::RunError;
use tenure_measure::figures::{Metric, Printed};
use tenure_measure::metric::Pattern;
use tenure_model::{Better, Finding, FixOutcome, FixReport, Report};

const HEADER: &str = "/* What two threads count. */\nstruct stats {\n    long read;    /* of the first */\n    long written; /* of the second */\n    long spare;\n};\n";
const MAIN: &str = "#include <stdio.h>\n#include \"stats.h\"\nint main(void)\n{\n    printf(\"rate: %d\\n\", (int)sizeof(struct stats));\n    return 0;\n}\n";

struct Checkout(tempfile::TempDir);

impl Checkout {
    fn of(files: &[(&str, &str)]) -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        for (file, text) in files {
            checkout.write(file, text);
        }
        checkout.git(&["init", "--quiet"]);
        checkout.commit();
        checkout
    }

    fn c() -> Self {
        Self::of(&[("stats.h", HEADER), ("main.c", MAIN), (".gitignore", "bench\n")])
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        let output = git.current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "x"]);
    }
}

/// A report with a finding and a change for each `(member, remedy)` of the struct.
fn report(declared: Option<&str>, changes: &[(&str, &str)]) -> Report {
    let finding = |(at, (name, remedy)): (usize, &(&str, &str))| {
        let (declaration, word) = (
            json!({"kind": "member", "name": name, "type": "long"}),
            json!({
                "path": name, "offset": 8 * at, "size": 8, "type": "long", "role": "statistic", "uses": []
            }),
        );
        let target = json!({"language": "c", "line_bytes": 64, "declaration": declaration, "object": "stats"});
        json!({
            "rank": at + 1, "type": "stats", "declared": declared, "sharing": {"kind": "within"}, "kind": "false_sharing",
            "contended": word, "victims": [], "score": 99.0, "confidence": {"level": "high", "placements": 1.0, "why": ""},
            "repairs": [{"name": remedy, "remedies": [remedy], "target": target, "brief": "", "text": "", "code": [], "bytes": 64,
                "per_thread": false}]
        })
    };
    let change = |(at, (name, _)): (usize, &(&str, &str))| {
        let gain = json!({"cpus": 16, "range": [1.5, 2.0]});
        json!({"finding": at + 1, "place": "stats.h:2", "what": format!("put `{name}` apart"), "gains": [gain]})
    };
    let findings: Vec<_> = changes.iter().enumerate().map(finding).collect();
    let changes: Vec<_> = changes.iter().enumerate().map(change).collect();
    let source = json!({"kind": "run", "command": "", "ended": {"kind": "exited", "status": 0}, "seconds": 1.0, "processes": 1,
        "threads": 2, "accesses": 1, "contended": 1, "dropped": 0, "missing": []});
    serde_json::from_value(json!({
        "schema": tenure_model::SCHEMA, "tenure": "0.1.0", "source": source, "line_bytes": 64,
        "scope": {"types": [], "findings": 1, "top": 10, "dependencies": 0, "standard": 0},
        "answer": {"headline": "No change.", "changes": changes}, "findings": findings,
        "maps": [], "suggestions": [], "unfixed": [], "checks": []
    }))
    .unwrap()
}

fn apart(names: &[&str]) -> Report {
    let changes: Vec<_> = names.iter().map(|name| (*name, "apart")).collect();
    report(Some("stats.h:2"), &changes)
}

fn request(checkout: &Checkout, bench: &str) -> FixRequest {
    let pattern = Pattern::new("rate: ([0-9]+)", Some(Better::Higher)).unwrap();
    FixRequest {
        here: checkout.path().to_owned(),
        command: vec![bench.to_owned()],
        build: Some("cc -o bench main.c".to_owned()),
        test: None,
        numbers: Vec::new(),
        padding: Padding::Own,
        metric: Metric::Printed(Printed::Found(pattern)),
        rounds: 6,
        time: None,
        keep_predicted: false,
    }
}

/// Recorded again, nothing is found.
fn fix(request: &FixRequest, report: Report) -> Result<FixReport, RunError> {
    let silent = |_: &Path, _: Option<&str>, _: &[String]| Ok(self::report(None, &[]));
    request.fix(Some(report), &silent, &|| false, &())
}

fn outcome(request: &FixRequest, report: Report) -> FixOutcome {
    let fixed = fix(request, report).unwrap();
    assert_eq!(fixed.changes.len(), 1);
    fixed.changes[0].outcome.clone()
}

#[test]
fn a_change_that_pays_is_in_the_patch_and_the_users_tree_is_not_touched() {
    let checkout = Checkout::c();
    let fixed = fix(&request(&checkout, "./bench"), apart(&["read"])).unwrap();
    let [change] = &fixed.changes[..] else { panic!("{fixed:?}") };
    assert_eq!(change.outcome, FixOutcome::Kept);
    assert_eq!(change.is_silent, Some(true));
    assert_eq!(change.measured.as_ref().unwrap().rows[0].speedup.median, 128.0 / 24.0);
    assert_eq!(checkout.git(&["status", "--porcelain", "--ignored"]), "");

    checkout.write("a.patch", &fixed.patch);
    checkout.git(&["apply", "a.patch"]);
    let patched = checkout.read("stats.h");
    assert!(patched.contains("aligned(64))) long read;    /* of the first */"), "{patched}");
    assert_eq!(patched, tenure_edit::apply(HEADER, &change.edits));
}

#[test]
fn a_patch_is_applied_unless_a_file_that_it_changes_is_not_committed() {
    let checkout = Checkout::c();
    let fixed = fix(&request(&checkout, "./bench"), apart(&["read"])).unwrap();
    let patch = checkout.path().join("a.patch");
    fs::write(&patch, &fixed.patch).unwrap();
    checkout.write("stats.h", &HEADER.replace("spare", "extra"));
    let refused = apply(checkout.path(), &patch).unwrap_err();
    assert!(refused.starts_with("stats.h has uncommitted changes"), "{refused}");
    checkout.write("stats.h", HEADER);
    checkout.write("main.c", &(MAIN.to_owned() + "/* not committed, and not in the patch */\n"));
    apply(checkout.path(), &patch).unwrap();
    assert!(checkout.read("stats.h").contains("aligned(64)"));
    let twice = apply(checkout.path(), &patch).unwrap_err();
    assert!(twice.starts_with("stats.h has uncommitted changes"), "{twice}");
    fs::write(&patch, "nothing\n").unwrap();
    let refused = apply(checkout.path(), &patch).unwrap_err();
    assert!(refused.starts_with("the patch was not applied: git apply failed: "), "{refused}");
}

#[test]
fn a_change_that_does_not_pay_is_left_out_unless_what_is_predicted_counts() {
    let checkout = Checkout::c();
    let request = request(&checkout, "./bench > /dev/null; echo rate: 5");
    let fixed = fix(&request, apart(&["read"])).unwrap();
    assert_eq!((&fixed.changes[0].outcome, &*fixed.patch), (&FixOutcome::DoesNotPay, ""));
    let fixed = fix(&FixRequest { keep_predicted: true, ..request }, apart(&["read"])).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::KeptPredicted);
    assert!(fixed.patch.contains("aligned(64)"));
}

#[test]
fn a_test_that_fails_withdraws_the_change_and_says_which() {
    let checkout = Checkout::c();
    let test = Some("./bench | grep -q 'rate: 24' || { echo 'size: FAILED'; exit 1; }".to_owned());
    let request = FixRequest { test, ..request(&checkout, "./bench") };
    let why = "its tests fail: size: FAILED".to_owned();
    assert_eq!(outcome(&request, apart(&["read"])), FixOutcome::Withdrawn { why });
}

/// It is faster, six times, and fails then.
#[test]
fn a_benchmark_that_fails_in_a_later_round_withdraws_the_change() {
    let checkout = Checkout::c();
    // Figures alternate, so that no narrow interval ends the rounds before.
    let fails = "n=$(cat n || echo 0); n=$((n + 1)); echo $n > n; size=$(./bench | cut -d' ' -f2); \
                 echo rate: $((size * (1 + n % 2))); [ $size = 24 ] || [ $n -lt 8 ]";
    let request = FixRequest { rounds: 20, ..request(&checkout, fails) };
    let FixOutcome::Withdrawn { why } = outcome(&request, apart(&["read"])) else { panic!() };
    assert!(why.starts_with("its benchmark fails in round 7, "), "{why}");
}

#[test]
fn what_no_longer_compiles_is_withdrawn_with_the_compilers_words() {
    let checkout = Checkout::c();
    let asserts = "_Static_assert(sizeof(struct stats) == 24, \"as on disk\");\n";
    checkout.write("stats.h", &(HEADER.to_owned() + asserts));
    let FixOutcome::Withdrawn { why } = outcome(&request(&checkout, "./bench"), apart(&["read"]))
    else {
        panic!()
    };
    assert!(why.starts_with("it does not build: ") && why.contains("as on disk"), "{why}");
}

#[test]
fn a_change_that_is_no_edit_is_left_to_the_reader() {
    let checkout = Checkout::c();
    let request = request(&checkout, "./bench");
    let shard = report(Some("stats.h:2"), &[("read", "shard")]);
    assert!(matches!(outcome(&request, shard), FixOutcome::ByHand { .. }));
}

#[test]
fn each_change_is_compared_with_what_was_kept_before_it() {
    let checkout = Checkout::c();
    let fixed = fix(&request(&checkout, "./bench"), apart(&["read", "spare"])).unwrap();
    let speedups: Vec<_> = fixed
        .changes
        .iter()
        .map(|it| (it.outcome.clone(), it.measured.as_ref().unwrap().rows[0].speedup.median))
        .collect();
    let kept = FixOutcome::Kept;
    assert_eq!(speedups, [(kept.clone(), 128.0 / 24.0), (kept, 192.0 / 128.0)]);
    assert_eq!(fixed.patch.matches("+    __attribute__((aligned(64)))").count(), 3);
}

#[test]
fn only_the_changes_that_were_named_are_tried() {
    let checkout = Checkout::c();
    let request = FixRequest { numbers: vec![2], ..request(&checkout, "./bench") };
    let fixed = fix(&request, apart(&["read", "written"])).unwrap();
    let numbers: Vec<_> = fixed.changes.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [2]);
    let request = FixRequest { numbers: vec![3], ..request };
    let failed = RunError::Failed("the report has no change 3: it has 1, 2".to_owned());
    assert_eq!(fix(&request, apart(&["read", "written"])).unwrap_err(), failed);
}

#[test]
fn what_is_not_committed_is_changed_too_and_is_not_in_the_patch() {
    let checkout = Checkout::c();
    checkout.write("stats.h", &HEADER.replace("spare", "extra"));
    checkout.write("new.h", "int unused;\n");
    checkout.write(
        "main.c",
        &MAIN.replace("#include \"stats.h\"", "#include \"stats.h\"\n#include \"new.h\""),
    );
    let fixed = fix(&request(&checkout, "./bench"), apart(&["read"])).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::Kept);
    assert!(
        !fixed.patch.contains("-    long extra") && !fixed.patch.contains("new.h"),
        "{}",
        fixed.patch
    );
    checkout.write("a.patch", &fixed.patch);
    checkout.git(&["apply", "a.patch"]);
}

#[test]
fn what_cannot_be_tried_is_one_line() {
    let line = |request: &FixRequest, report| match fix(request, report) {
        Err(RunError::Failed(line)) => line,
        other => panic!("{other:?}"),
    };
    let checkout = Checkout::c();
    let request = request(&checkout, "./bench");
    let none = line(&request, apart(&[]));
    assert!(
        none.starts_with("there is no change to try: No change; a benchmark with more threads"),
        "{none}"
    );
    let no_build = FixRequest { build: None, ..request.clone() };
    assert!(line(&no_build, apart(&["read"])).ends_with("add --build, such as --build 'make -j2'"));
    let broken = FixRequest { build: Some("cc nothing.c".to_owned()), ..request.clone() };
    assert!(line(&broken, apart(&["read"])).starts_with("it does not build: "));
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = FixRequest { here: folder.path().to_owned(), ..request.clone() };
    assert!(line(&elsewhere, apart(&["read"])).ends_with(" is in none"));
    Command::new("git").arg("init").current_dir(folder.path()).output().unwrap();
    assert!(line(&elsewhere, apart(&["read"])).contains("has no commit yet"));
    let fails = FixRequest { command: vec!["exit 3".to_owned()], ..request.clone() };
    assert_eq!(line(&fails, apart(&["read"])), "`exit 3` ended with status 3");
    let mute = FixRequest { command: vec!["echo none".to_owned()], ..request.clone() };
    assert!(line(&mute, apart(&["read"])).starts_with("`echo none` printed no number above 0"));
    let untested = FixRequest { test: Some("echo 'a: FAILED'; exit 1".to_owned()), ..request };
    let tests = line(&untested, apart(&["read"]));
    assert!(tests.starts_with("tests fail without any change: a: FAILED; "), "{tests}");
}

#[test]
fn an_interruption_ends_what_runs_and_keeps_what_was_kept() {
    let checkout = Checkout::c();
    let marker = checkout.path().join("marker");
    fs::write(checkout.path().join(".git/info/exclude"), "marker\n").unwrap();
    // The second change's benchmark never ends.
    let bench = format!(
        "./bench > out; grep -q 'rate: 192' out && touch {} && exec sleep 1000; cat out",
        marker.display()
    );
    let request = request(&checkout, &bench);
    let silent = |_: &Path, _: Option<&str>, _: &[String]| Ok(report(None, &[]));
    let stop = || marker.exists();
    let fixed = request.fix(Some(apart(&["read", "spare"])), &silent, &stop, &()).unwrap();
    assert_eq!(fixed.changes.len(), 1);
    assert!(
        fixed.patch.contains("long read")
            && !fixed.patch.contains("+    __attribute__((aligned(64))) long spare")
    );
    assert!(fixed.notes.iter().any(|note| note.starts_with("It was interrupted")));
}

#[test]
fn of_a_report_without_an_answer_the_findings_repairs_are_tried() {
    let checkout = Checkout::c();
    let report = Report { answer: None, ..apart(&["read"]) };
    let fixed = fix(&request(&checkout, "./bench"), report).unwrap();
    assert_eq!((fixed.changes[0].number, &fixed.changes[0].outcome), (1, &FixOutcome::Kept));
}

#[test]
fn an_allocator_that_does_not_align_is_named() {
    let checkout = Checkout::c();
    let more = "#include <stdlib.h>\nstruct stats *grow(struct stats *it)\n{\n    return realloc(it, 2 * sizeof(struct stats));\n}\n";
    checkout.write("main.c", &(MAIN.to_owned() + more));
    let fixed = fix(&request(&checkout, "./bench"), apart(&["read"])).unwrap();
    assert!(fixed.notes.iter().any(|note| note.starts_with("main.c:11: ")), "{:?}", fixed.notes);
}

/// rustc says nothing of where a type is declared, and asks for what constructs it.
#[test]
fn rust_is_edited_until_it_compiles_and_its_type_is_found_by_its_name() {
    let main = "mod stats;\nfn main() {\n    let it = stats::new(1);\n    assert_eq!(stats::total(&it), 1);\n    println!(\"rate: {}\", std::mem::size_of::<stats::Stats>());\n}\n";
    let stats = "/// Counts.\npub struct Stats {\n    /// Of the first.\n    pub read: u64,\n    pub written: u64,\n}\n\npub fn new(read: u64) -> Stats {\n    Stats { read, written: 0 }\n}\n\npub fn total(it: &Stats) -> u64 {\n    it.read + it.written\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        let it = super::Stats { read: 1, written: 2 };\n        assert_eq!(super::total(&it), 3);\n    }\n}\n";
    let manifest = "[package]\nname = \"small\"\nedition = \"2021\"\n";
    let checkout = Checkout::of(&[
        ("Cargo.toml", manifest),
        ("src/main.rs", main),
        ("src/stats.rs", stats),
        (".gitignore", "target\nCargo.lock\n"),
    ]);
    let mut report = report(None, &[("read", "apart")]);
    report.findings[0].type_name = "small::stats::Stats".to_owned();
    let request = FixRequest {
        command: ["cargo", "run", "--quiet"].map(str::to_owned).to_vec(),
        build: None,
        ..request(&checkout, "")
    };
    // The place is that of a variable, where no type is declared.
    let of_variable = Report {
        findings: vec![Finding {
            declared: Some("src/main.rs:1".to_owned()),
            ..report.findings[0].clone()
        }],
        ..report.clone()
    };
    assert_eq!(outcome(&request, of_variable), FixOutcome::Kept);
    let fixed = fix(&request, report).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::Kept, "{fixed:?}");
    assert!(fixed.patch.contains("+    pub read: "), "{}", fixed.patch);
    let files: Vec<PathBuf> =
        fixed.changes[0].edits.iter().map(|it| PathBuf::from(&it.file)).collect();
    assert_eq!(files, [PathBuf::from("src/stats.rs")]);
}

/// Cargo uses a copy of the crate; the manifest and the lock stay, and the patch is of the crate's release.
#[test]
fn a_dependency_is_edited_in_a_copy_and_has_a_patch_of_its_own() {
    let main = "fn main() {\n    println!(\"rate: {}\", std::mem::size_of::<crossbeam_utils::Backoff>());\n}\n";
    let manifest = "[package]\nname = \"small\"\nedition = \"2021\"\n[dependencies]\ncrossbeam-utils = \"0.8\"\n";
    let files = [("Cargo.toml", manifest), ("src/main.rs", main), (".gitignore", "target\n")];
    let checkout = Checkout::of(&files);
    let mut lock = Command::new("cargo");
    lock.args(["generate-lockfile", "--offline", "--quiet"]).current_dir(checkout.path());
    assert!(lock.status().unwrap().success(), "the workspace has the crate too, so cargo has it");
    checkout.commit();
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--offline", "--format-version", "1"]).current_dir(checkout.path());
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata.output().unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|it| it["name"] == "crossbeam-utils").unwrap();
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    let version = package["version"].as_str().unwrap();

    let mut report = report(None, &[("step", "apart")]);
    report.findings[0].type_name = "crossbeam_utils::backoff::Backoff".to_owned();
    let code = json!({"function": "spin", "line": format!("{}:1", folder.join("src/backoff.rs").display())});
    let used = json!([{"threads": "", "count": 1, "ids": [], "operation": "write", "per_second": 1.0, "code": code, "callers": []}]);
    report.findings[0].contended.uses = serde_json::from_value(used).unwrap();
    let request = FixRequest {
        command: ["cargo", "--offline", "run", "--quiet"].map(str::to_owned).to_vec(),
        build: None,
        test: Some("true".to_owned()),
        ..request(&checkout, "")
    };
    let fixed = fix(&request, report).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::Kept, "{fixed:?}");
    assert_eq!(fixed.patch, "");
    let [patch] = &fixed.dependencies[..] else { panic!("{fixed:?}") };
    assert_eq!(patch.name, format!("crossbeam-utils-{version}"));
    assert_eq!((Path::new(&patch.folder), patch.table.as_deref()), (folder, Some("crates-io")));
    assert!(patch.patch.contains("--- a/src/backoff.rs"), "{}", patch.patch);
    assert_eq!(fixed.changes[0].edits[0].file, format!("{}/src/backoff.rs", patch.name));
    assert_eq!(checkout.git(&["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn a_report_of_another_program_is_refused() {
    let checkout = Checkout::c();
    let refused = |declared: &str| {
        let report = report(Some(declared), &[("read", "apart")]);
        match fix(&request(&checkout, "./bench"), report) {
            Err(RunError::Failed(line)) => line,
            other => panic!("{other:?}"),
        }
    };
    let said = "the report may be of another program";
    assert_eq!(refused("/usr/other.h:2"), format!("{said}: /usr/other.h:2 is not in this tree"));
    assert_eq!(refused("other.h:2"), format!("{said}: other.h:2 is not in this tree"));
}

/// A program, and beside it, outside of its checkout, a package with a struct that it prints the size of.
#[test]
fn a_path_dependency_outside_of_the_checkout_is_built_and_edited_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    let stats = "pub struct Stats {\n    pub read: u64,\n    pub written: u64,\n}\n";
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2021\"\n");
    let write = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("beside/Cargo.toml", &package("beside"));
    write("beside/src/lib.rs", stats);
    write(
        "app/Cargo.toml",
        &(package("app") + "[dependencies]\nbeside = { path = \"../beside\" }\n"),
    );
    write("app/.gitignore", "target\n");
    write(
        "app/src/main.rs",
        "fn main() {\n    println!(\"rate: {}\", std::mem::size_of::<beside::Stats>());\n}\n",
    );
    let app = folder.join("app");
    let git = |words: &[&str]| {
        let who = ["-C", app.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@b"];
        assert!(Command::new("git").args(who).args(words).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "x"]);
    let beside = folder.join("beside/src/lib.rs");
    let mut report = report(Some(&format!("{}:1", beside.display())), &[("read", "apart")]);
    report.findings[0].type_name = "beside::Stats".to_owned();
    let some = Checkout::c();
    let request = FixRequest {
        here: app,
        command: ["cargo", "--offline", "run", "--quiet"].map(str::to_owned).to_vec(),
        build: None,
        test: Some("true".to_owned()),
        ..request(&some, "")
    };
    let fixed = fix(&request, report).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::Kept, "{fixed:?}");
    assert_eq!(fixed.patch, "");
    let [patch] = &fixed.dependencies[..] else { panic!("{fixed:?}") };
    assert_eq!((&*patch.name, &patch.table), ("beside", &None));
    assert_eq!(Path::new(&patch.folder), folder.join("beside"));
    assert!(patch.patch.contains("--- a/src/lib.rs"), "{}", patch.patch);
    assert_eq!(fs::read_to_string(&beside).unwrap(), stats, "the user's file stays");
}
