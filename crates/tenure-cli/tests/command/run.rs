use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{is_refused, refused, tenure_in, text};

#[test]
fn what_would_show_nothing_is_refused() {
    refused("run", &[], &["nothing to run", "after --"]);
    refused("run", &["--release"], &["unexpected argument", "--release"]);
    refused("run", &["--no-predit", "./x"], &["did you mean `--no-predict`"]);
    refused("run", &["--build-std", "--", "./server"], &["--build-std", "cargo"]);
    refused("run", &["--build-std", "--cc", "--", "make"], &["--cc"]);
    refused("run", &["--", "./no-such"], &["no such program"]);
    refused("run", &["--", env!("CARGO_BIN_EXE_tenure")], &["is not instrumented", "--cc"]);
    refused("run", &["--line", "32", "--", "true"], &["64 or 128"]);
    refused("run", &["--memory", "1K", "--", "true"], &["at least 1M"]);
    refused("run", &["--check", "none.toml", "--", "true"], &["cannot read none.toml"]);
    refused("run", &["--diff", "none.json", "--", "true"], &["cannot read none.json"]);
    refused("run", &["--json", "no/such/out.json", "--", "true"], &["cannot write"]);
}

#[test]
fn a_directory_with_records_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1-0.probe"), "").unwrap();
    let output = tenure_in(folder.path(), &["run", "--keep", ".", "--", "true"]);
    is_refused(&output, &["records of another run", "--keep"]);
    std::fs::write(folder.path().join("3.toml"), "").unwrap();
    let output = tenure_in(folder.path(), &["run", "--patterns", ".", "--", "true"]);
    is_refused(&output, &["patterns of another run", "--patterns"]);
    let output = tenure_in(folder.path(), &["run", "--patterns", "1-0.probe", "--", "true"]);
    is_refused(&output, &["cannot write 1-0.probe"]);
}

#[test]
fn a_program_that_is_not_instrumented_may_have_a_library_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let compile = |name: &str, source: &str, options: &[&str]| {
        let file = folder.path().join(name).with_extension("c");
        std::fs::write(&file, source).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-Wl,-rpath,$ORIGIN", "-o", name]).arg(&file).args(options);
        assert!(gcc.current_dir(folder.path()).status().unwrap().success(), "{name}");
    };
    let plain = "int main(void) { return 0; }";
    let calls = "int seven(void); int main(void) { return seven(); }";
    let library = "int seven(void) { return 7; }";
    compile("libplain.so", library, &["-shared", "-fPIC"]);
    compile("plain", calls, &["./libplain.so"]);
    compile("static", plain, &["-static"]);
    // A library that calls the runtime, which the loader then finds by `LD_LIBRARY_PATH`.
    let reads =
        "void __tsan_read4(int *); int at = 7; int seven(void) { __tsan_read4(&at); return at; }";
    compile("libmixed.so", reads, &["-shared", "-fPIC"]);
    compile("mixed", calls, &["./libmixed.so", "-Wl,--allow-shlib-undefined"]);
    for program in ["./plain", "./static"] {
        let output = tenure_in(folder.path(), &["run", "--", program]);
        is_refused(&output, &["is not instrumented", "--cc"]);
    }
    let output = tenure_in(folder.path(), &["run", "--", "./mixed"]);
    // Nothing links it with the runtime, so the loader cannot start it; but it is not refused.
    assert!(!text(&output.stderr).contains("is not instrumented"), "{}", text(&output.stderr));
}

#[test]
fn cargo_calls_the_command_too() {
    let cargo_tenure = |words: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tenure"));
        command.arg("tenure").args(words).current_dir(folder.path()).output().unwrap()
    };
    let output = cargo_tenure(&["--version"]);
    assert!(text(&output.stdout).starts_with("tenure "), "{}", text(&output.stdout));
    assert_eq!(cargo_tenure(&["run", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    // What is no option of ours is cargo's: here there is no package.
    for words in [
        &["run"][..],
        &["run", "--release", "--", "--port", "80"],
        &["run", "--release", "--top", "3", "--json", "it.json"],
    ] {
        let output = cargo_tenure(words);
        let said = text(&output.stderr);
        assert!(said.contains("could not find `Cargo.toml`"), "{words:?}: {said}");
        assert!(said.contains("the build did not finish"), "{words:?}: {said}");
    }
}

#[test]
fn output_and_exit_status_are_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| tenure_in(folder.path(), &["run", "--", "sh", "-c", script]);
    let output = run("echo out; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "out\n");
    assert!(
        text(&output.stderr).contains("no instrumented program ran"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(run("kill -TERM $$").status.code(), Some(143));
    let output = tenure_in(folder.path(), &["run", "--json", "-", "--", "true"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok());
}

#[test]
fn a_signal_goes_to_the_program() {
    let script = "trap 'echo ended; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    output.read_exact(&mut ready).unwrap();
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "ended\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Two threads add to counters that lie next to each other.
const COUNTERS: &str = r"
#include <pthread.h>
struct counters { volatile long one, two; };
static struct counters counters __attribute__((aligned(64)));
static pthread_barrier_t both;
static void *add(void *counter) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < 3000000; i++) ++*(volatile long *)counter;
    return 0;
}
int main(void) {
    pthread_t one, two;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&one, 0, add, (void *)&counters.one);
    pthread_create(&two, 0, add, (void *)&counters.two);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 3;
}
";

/// Builds the counters, instrumented, in a folder.
fn build_counters(folder: &Path) {
    std::fs::write(folder.join("counters.c"), COUNTERS).unwrap();
    let words = "run --cc -- gcc -O1 -g -pthread counters.c -o counters";
    let output = tenure_in(folder, &words.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Starts `tenure run` on the counters, with these options besides; what it says can be read.
fn run_counters(folder: &Path, options: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.arg("run").args(options).args(["--json", "it.json", "--html", "it.html", "--"]);
    command.arg("./counters").current_dir(folder).stderr(Stdio::piped()).spawn().unwrap()
}

/// The rest of what a command says, and its status.
fn end(mut child: Child) -> (String, Option<i32>) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (said, child.wait().unwrap().code())
}

fn json_in(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("it.json")).unwrap()).unwrap()
}

#[test]
fn the_answer_says_what_to_change_and_what_that_gives() {
    let folder = tempfile::tempdir().unwrap();
    build_counters(folder.path());
    let (said, status) = end(run_counters(folder.path(), &[]));
    assert_eq!(status, Some(3), "{said}");
    let report = json_in(folder.path());
    let headline = report["answer"]["headline"].as_str().unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words.join(" ").contains(headline), "{said}");
    assert!(said.contains("counters") && said.contains("What to change"), "{said}");
    assert!(report["source"]["predicting"].is_f64());
    // A busy machine leaves some or all predictions out.
    if !said.contains(" predictions were left out: ") {
        assert!(headline.contains("×") && said.contains("on 16 CPUs"), "{said}");
        assert!(report["source"]["forecast"].is_object());
        assert!(report["findings"][0]["forecast"].is_object());
        let gains = &report["answer"]["changes"][0]["gains"];
        let last = gains.as_array().unwrap().last().unwrap();
        assert!(last["cpus"] == 16 && last["range"][0].as_f64().unwrap() > 1.05, "{gains}");
    }

    let (said, _) = end(run_counters(folder.path(), &["--no-predict"]));
    assert!(said.contains("What to change") && !said.contains("Predicting took"), "{said}");
    assert!(said.contains("What changes would give was not asked for"), "{said}");
    let report = json_in(folder.path());
    assert!(
        report["source"]["predicting"].is_null() && report["findings"][0]["forecast"].is_null()
    );
    assert_eq!(report["findings"][0]["repairs"][0]["name"], "apart");
}

#[test]
fn a_signal_after_the_programs_end_leaves_predictions_out_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    build_counters(folder.path());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let child = run_counters(folder.path(), &[]);
        let id = Pid::from_raw(child.id() as i32).unwrap();
        // The files are there before anything is predicted.
        let page = folder.path().join("it.html");
        while !page.exists() {
            std::thread::yield_now();
        }
        kill_process(id, signal).unwrap();
        let (said, status) = end(child);
        assert_eq!(status, Some(3), "{said}");
        // It may have been too late.
        let report = json_in(folder.path());
        let is_complete = report["source"]["forecast"].is_object();
        assert!(said.contains("left out: a signal ended predicting") || is_complete, "{said}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1);
        std::fs::remove_file(page).unwrap();
    }
}

#[test]
fn a_pipe_has_the_last_report_alone() {
    let folder = tempfile::tempdir().unwrap();
    build_counters(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["run", "--json", "/dev/stdout", "--", "./counters"]).current_dir(folder.path());
    let output = command.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["source"]["predicting"].is_f64());
}
