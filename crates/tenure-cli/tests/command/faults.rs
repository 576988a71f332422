//! Small programs with one fault each, from the command to the patch: `tenure fix` finds, edits, builds, tests and records again.
//!
//! Figures are the sizes of sources, so that verdicts do not depend on the machine: a change pays if it makes the source longer, or shorter
//! where a clone goes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tenure_model::{FixOutcome, FixReport};

use super::support::{checkout, git, tenure_command, tenure_in, text};

/// On a busy machine one thread may be done before the other begins: then nothing is found.
const TRIES: usize = 3;

/// A program, and what it has once it is fixed.
struct Fault {
    /// Where its source is in the checkout.
    file: &'static str,
    source: &'static str,
    /// How far cargo optimises: 1 says, as benchmarks do, which results are used, and is no slower to build.
    level: u8,
    /// Options of `tenure fix`.
    options: &'static [&'static str],
    command: &'static [&'static str],
    fixed: &'static [&'static str],
}

const HIGHER: &[&str] = &["--better", "higher"];
const CARGO: &[&str] = &["cargo", "run", "--quiet", "--offline"];
const PADDED: &str = "#[repr(C, align(64))]";

/// A program in Rust.
macro_rules! rust {
    ($name:literal, $fixed:expr) => {
        Fault {
            file: "src/main.rs",
            source: include_str!(concat!("faults/", $name, ".rs")),
            level: 1,
            options: HIGHER,
            command: CARGO,
            fixed: $fixed,
        }
    };
}

/// A program in C or C++: the makefile's rules know it by its name.
macro_rules! c {
    ($name:literal, $fixed:expr) => {
        Fault {
            file: $name,
            source: include_str!(concat!("faults/", $name)),
            level: 1,
            options: HIGHER,
            command: &[concat!("./fault && echo bytes: $(wc -c < ", $name, ")")],
            fixed: $fixed,
        }
    };
}

impl Fault {
    fn checkout(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(self.file, self.source);
        if self.file.ends_with(".rs") {
            write("src/threads.rs", include_str!("faults/threads.rs"));
            let manifest =
                "[package]\nname = \"fault\"\nedition = \"2021\"\n[profile.dev]\nopt-level = ";
            write("Cargo.toml", &format!("{manifest}{}\n", self.level));
            write(".gitignore", "target\nCargo.lock\n");
        } else {
            write("threads.h", include_str!("faults/threads.h"));
            let compiler = if self.file.ends_with(".cpp") { "g++ -std=c++17" } else { "gcc" };
            let file = self.file;
            let rule =
                format!("fault: {file} threads.h\n\t{compiler} -g -O1 -pthread -o fault {file}\n");
            write("Makefile", &rule);
            write(".gitignore", "fault\n");
        }
        checkout(folder.path());
        folder
    }

    fn fix(&self, checkout: &Path, more: &[&str]) -> Output {
        let metric = ["fix", "--rounds", "6", "--metric", "bytes: ([0-9]+)", "--json", "-"];
        let patch = checkout.join(".git/fix.patch");
        let patch = ["--patch", patch.to_str().unwrap()];
        let test: &[&str] = if self.file.ends_with(".rs") { &[] } else { &["--test", "./fault"] };
        let words = [&metric, &patch[..], test, self.options, more, &["--"], self.command].concat();
        tenure_in(checkout, &words)
    }

    #[track_caller]
    fn check(&self) {
        self.check_with(&|_| Vec::new(), &FixOutcome::Kept);
    }

    /// `more` are options that need the checkout.
    #[track_caller]
    fn check_with(&self, more: &dyn Fn(&Path) -> Vec<String>, outcome: &FixOutcome) {
        let checkout = self.checkout();
        let path = checkout.path();
        let more = more(path);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let mut output = self.fix(path, &more);
        for _ in 1..TRIES {
            if !output.status.success() {
                output = self.fix(path, &more);
            }
        }
        let said = text(&output.stderr);
        let fixed: FixReport = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(git(path, &["status", "--porcelain", "--ignored"]), "", "the tree is as it was");

        let change = &fixed.changes.last().expect("a change");
        assert_eq!(&change.outcome, outcome, "{fixed:#?}");
        assert_eq!(change.is_silent, Some(true), "{fixed:#?}");
        assert!(change.edits.iter().all(|edit| edit.file == self.file), "{:?}", change.edits);
        let edited = tenure_edit::apply(self.source, &change.edits);
        let has_all = self.fixed.iter().all(|text| edited.contains(text));
        assert!(has_all, "{:?} in {edited}", self.fixed);
        if *outcome == FixOutcome::Kept {
            git(path, &["apply", ".git/fix.patch"]);
            assert_eq!(fs::read_to_string(path.join(self.file)).unwrap(), edited);
        }
    }
}

#[test]
fn members_of_a_rust_struct_are_put_apart() {
    rust!("member", &["read: LinePadded<AtomicU64>,", PADDED]).check();
}

#[test]
fn elements_in_rust_are_put_apart() {
    rust!("elements", &["#[repr(align(64))]\nstruct Worker {"]).check();
}

#[test]
fn statics_in_rust_are_put_apart() {
    let fixed = &[": LinePadded<AtomicU64> = LinePadded", PADDED];
    rust!("variables", fixed).check();
}

#[test]
fn a_field_of_a_rust_struct_is_counted_per_thread() {
    rust!("count_field", &["hits: PerThreadCount,"]).check();
}

#[test]
fn a_static_in_rust_is_counted_per_thread() {
    rust!("count_static", &["static HITS: PerThreadCount"]).check();
}

#[test]
fn a_store_in_rust_is_made_if_it_changes_the_value() {
    rust!("store", &["if !IS_DIRTY.load(Relaxed) {\n        IS_DIRTY.store(true, Relaxed);"])
        .check();
}

#[test]
fn a_clone_in_rust_is_borrowed() {
    let fault = rust!("borrow", &["let values = &self.shared;"]);
    // Optimised, the clone is part of its caller, and its place is not known.
    Fault { level: 0, options: &["--better", "lower"], ..fault }.check();
}

#[test]
fn members_of_a_c_struct_are_put_apart() {
    c!("member.c", &["__attribute__((aligned(64))) volatile long read;    /* of the first */"])
        .check();
}

#[test]
fn members_of_a_cpp_class_are_put_apart() {
    c!("member.cpp", &["alignas(64) std::atomic<long> read_{0};     // of the first"]).check();
}

#[test]
fn elements_in_c_are_put_apart() {
    c!("elements.c", &["struct __attribute__((aligned(64))) worker {", "aligned_alloc("]).check();
}

#[test]
fn variables_in_c_are_put_apart() {
    let both = &[
        "__attribute__((aligned(64))) static volatile long requests",
        "__attribute__((aligned(64))) static volatile long errors",
    ];
    c!("variables.c", both).check();
}

#[test]
fn a_variable_in_c_is_counted_per_thread() {
    c!("count.c", &["per_thread_count_add(&hits, 1)"]).check();
}

#[test]
fn a_store_in_c_is_made_if_it_changes_the_value() {
    c!(
        "store.c",
        &["if (atomic_load_explicit(&is_dirty, memory_order_relaxed) != 1) atomic_store"]
    )
    .check();
}

/// The patch is of the repository that the line's package is in, beside another package that the program has.
#[test]
fn a_dependency_from_git_is_edited_in_a_copy_of_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2021\"\n");
    let source = include_str!("faults/member.rs").replace("fn main()", "pub fn main()");
    write("counts/Cargo.toml", "[workspace]\nmembers = [\"*\"]\n");
    write("counts/one/src/main.rs", &source);
    write("counts/one/src/threads.rs", include_str!("faults/threads.rs"));
    let from_main = "autobins = false\n[lib]\npath = \"src/main.rs\"\n";
    write("counts/one/Cargo.toml", &(package("one") + from_main));
    write("counts/other/Cargo.toml", &package("other"));
    write("counts/other/src/lib.rs", "");
    let repository = folder.path().join("counts");
    checkout(&repository);
    let address = format!("file://{}", repository.display());
    let from = |name: &str| format!("{name} = {{ git = \"{address}\" }}\n");
    let manifest = package("app") + "[dependencies]\n" + &from("one") + &from("other");
    write("app/Cargo.toml", &(manifest + "[profile.dev]\nopt-level = 1\n"));
    write("app/src/main.rs", "fn main() {\n    one::main();\n}\n");
    write("app/.gitignore", "target\nCargo.lock\n");
    let app = folder.path().join("app");
    checkout(&app);

    let words = ["fix", "--rounds", "6", "--metric", "bytes: ([0-9]+)", "--better", "higher"];
    let files = ["--json", "fix.json", "--patch", ".git/fix.patch"];
    let fix = || {
        let mut tenure =
            tenure_command(&app, &[&words[..], &files, &["--", "cargo", "run"]].concat());
        // Its folder for what comes from git is not the user's.
        tenure.env("CARGO_HOME", folder.path().join("cargo")).output().unwrap()
    };
    let mut output = fix();
    for _ in 1..TRIES {
        if !output.status.success() {
            output = fix();
        }
    }
    let (said, told) = (text(&output.stderr), text(&output.stdout));
    let json = fs::read_to_string(app.join("fix.json")).unwrap_or_else(|_| panic!("{said}{told}"));
    let fixed: FixReport = serde_json::from_str(&json).unwrap();
    assert_eq!(fixed.changes[0].outcome, FixOutcome::Kept, "{fixed:#?}");
    assert_eq!(fixed.changes[0].is_silent, Some(true), "{fixed:#?}");
    let [patch] = &fixed.dependencies[..] else { panic!("{fixed:#?}") };
    let revision = git(&repository, &["rev-parse", "HEAD"]);
    let name = format!("counts-{}", &revision[..7]);
    assert_eq!((&patch.name, patch.table.as_deref()), (&name, Some(&*format!("{address:?}"))));
    assert_eq!(fixed.changes[0].edits[0].file, format!("{name}/one/src/main.rs"));
    assert!(told.contains(&format!("[patch.{address:?}]")), "{told}");
    git(&repository, &["apply", &format!("../app/.git/fix-{name}.patch")]);
    let edited = fs::read_to_string(repository.join("one/src/main.rs")).unwrap();
    assert!(edited.contains("read: LinePadded<AtomicU64>,"), "{edited}");
}

/// What `layout` suggests. Its order is as long as the old one, so it does not pay here.
#[test]
fn members_of_a_c_struct_are_ordered_as_layout_suggests() {
    let fault = c!(
        "order.c",
        &[
            "    int in_count;\n    char name[120]; /* set once */\n    pthread_spinlock_t out_lock;"
        ]
    );
    let suggested = |checkout: &Path| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread", "-o", ".git/plain", "order.c"]).current_dir(checkout);
        assert!(gcc.status().unwrap().success());
        let words = ["layout", ".git/plain", "port", "--suggest", "--json", ".git/layout.json"];
        let output = tenure_in(checkout, &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        ["--from", ".git/layout.json"].map(str::to_owned).to_vec()
    };
    fault.check_with(&suggested, &FixOutcome::DoesNotPay);
}
