//! What cannot be watched is refused in a line that says what to do.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::ptrace;
use nix::unistd::Pid;
use tenure_watch::{WatchRequest, WatchTarget, watch};

use crate::life::this;
use crate::{Running, built, can_watch, request};

fn refusal(pid: u32) -> String {
    let line = watch(&request(pid), &|_| false).unwrap_err().to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn what_is_no_program_that_runs_is_refused() {
    let mut ended = Command::new("true").spawn().unwrap();
    thread::sleep(Duration::from_millis(200));
    let kernel = fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    let no_process = u32::MAX >> 1;
    for (pid, words) in [
        (no_process, "there is no process 2147483647"),
        (ended.id(), "has ended, and waits for its parent"),
        (if kernel { 2 } else { no_process }, if kernel { "thread of the kernel" } else { "" }),
    ] {
        let line = refusal(pid);
        assert!(line.contains(words), "{line}");
    }
    ended.wait().unwrap();
    let target = WatchTarget::Command(vec!["/no/such/program".into()]);
    let line = watch(&WatchRequest { target, ..request(0) }, &|_| false).unwrap_err().to_string();
    assert!(line.starts_with("cannot run /no/such/program: "), "{line}");
}

#[test]
fn a_program_that_a_debugger_traces_is_refused() {
    let virtual_machine = fs::read_to_string("/proc/cpuinfo").unwrap().contains(" hypervisor");
    if !virtual_machine {
        return eprintln!("skipped: watching takes no ptrace here");
    }
    let program = Running::start(Command::new("sleep").arg("60"));
    let pid = program.0.id();
    ptrace::seize(Pid::from_raw(pid.cast_signed()), ptrace::Options::empty()).unwrap();
    let line = refusal(pid);
    assert!(line.contains("is traced by process"), "{line}");
}

#[test]
fn a_32_bit_program_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("endless.s"), folder.join("endless32"));
    fs::write(&source, ".globl _start\n_start: jmp _start\n").unwrap();
    let mut build = Command::new("gcc");
    build.args(["-m32", "-nostdlib", "-static", "-o"]).arg(&program).arg(&source);
    if !build.status().unwrap().success() {
        return eprintln!("skipped: no 32-bit programs can be built here");
    }
    let Ok(child) = Command::new(&program).spawn() else {
        return eprintln!("skipped: no 32-bit programs run here");
    };
    let running = Running(child);
    let line = refusal(running.0.id());
    assert!(line.contains("is a 32-bit program"), "{line}");
}

/// Not a test: a user without rights is refused the process that `TENURE_PID` names.
#[test]
#[ignore = "what another test runs as another user"]
fn stranger() {
    let pid = std::env::var("TENURE_PID").unwrap().parse().unwrap();
    let line = refusal(pid);
    assert!(line.contains("run `tenure` as root"), "{line}");
}

#[test]
fn a_process_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can become another user");
    }
    let program = Running::start(Command::new("sleep").arg("60"));
    let mut command = this("refused::stranger");
    command.env("TENURE_PID", program.0.id().to_string()).uid(65534).gid(65534);
    let Ok(output) = command.output() else {
        return eprintln!("skipped: other users may not read the test");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_program_in_another_pid_namespace_is_watched() {
    if !can_watch() {
        return;
    }
    let program = built(false, 3, false);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]).arg(program).arg("one_word");
    let unshare = Running::start(&mut command);
    let children = format!("/proc/{0}/task/{0}/children", unshare.0.id());
    let mut pid = None;
    for _ in 0..1000 {
        let text = fs::read_to_string(&children).unwrap_or_default();
        pid = text.split_whitespace().next().and_then(|it| it.parse().ok());
        if pid.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let Some(pid) = pid else { return eprintln!("skipped: there are no PID namespaces here") };
    let has_lines = |it: &tenure_watch::WatchOutcome| {
        it.recording.processes.iter().any(|process| !process.lines.is_empty())
    };
    // On a busy machine both threads may be on one CPU for long, and do not meet.
    let is_enough =
        |it: &tenure_watch::Session| it.counts().probes >= 20 && has_lines(&it.outcome());
    let watched = watch(&request(pid), &is_enough).unwrap();
    assert!(has_lines(&watched), "{:?}", watched.counts);
}
