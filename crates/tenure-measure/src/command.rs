//! Runs a command once, perhaps beside its server, and says what that took.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use regex_lite::Regex;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use tenure_model::signal_name;

use crate::usage::CpuClock;

/// What stands for the number of threads in a command and in variables.
pub const THREADS: &str = "{threads}";

/// How long a server may take to be ready, and to end.
const READY_LIMIT: Duration = Duration::from_secs(30);
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long a command may take to end when it is stopped, such as to remove its files.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// How often a command that has to end is looked at.
const PAUSE: Duration = Duration::from_millis(20);
/// What is read of an output: its end.
const MAX_OUTPUT: u64 = 8 << 20;

/// A command to measure.
#[derive(Debug, Clone, Default)]
pub struct MeasuredCommand {
    /// The command line, which `sh -c` runs.
    pub line: String,
    /// Where it runs; `None` for here.
    pub directory: Option<PathBuf>,
    /// Variables of its environment, beside those of this process.
    pub variables: Vec<(String, String)>,
    /// What runs beside it, started anew for each run.
    pub server: Option<Server>,
}

/// A program that a command asks, and that is measured with it.
#[derive(Debug, Clone)]
pub struct Server {
    /// The command line, which `sh -c` runs.
    pub line: String,
    /// When the command may begin.
    pub ready: Ready,
}

/// How a server says that it is ready.
#[derive(Debug, Clone)]
pub enum Ready {
    /// It accepts connections on this port of this machine.
    Port(u16),
    /// It prints something that matches.
    Prints(Regex),
}

/// What a run took, and what it printed.
#[derive(Debug, Clone)]
pub struct CommandRun {
    /// From the command's start to its end; with a server, without that's start.
    pub wall: Duration,
    /// Processor time of the command, of what it waited for, and of its server.
    pub cpu: Duration,
    /// CPUs that others used.
    pub others: f64,
    /// The end of what it printed.
    pub stdout: String,
    /// The end of what it printed as errors.
    pub stderr: String,
    /// How it failed, with its last words.
    pub failure: Option<String>,
}

/// Why a run has no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It was stopped.
    Stopped,
    /// It failed: what did, and how, in one line.
    Failed(String),
}

impl From<String> for RunError {
    fn from(line: String) -> Self {
        Self::Failed(line)
    }
}

impl MeasuredCommand {
    /// Whether the number of threads changes it.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        let values = self.variables.iter().map(|(_, value)| value);
        let server = self.server.iter().map(|server| &server.line);
        values.chain(server).chain([&self.line]).any(|it| it.contains(THREADS))
    }

    /// Runs it to its end. `stop` is asked meanwhile, from another thread, and ends it.
    ///
    /// # Errors
    ///
    /// It cannot be started, fails, or is stopped.
    pub fn run(
        &self,
        threads: Option<u64>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<CommandRun, RunError> {
        let run = self.outcome(threads, stop)?;
        match &run.failure {
            Some(how) => Err(format!("{} {how}", self.shown(threads)).into()),
            None => Ok(run),
        }
    }

    /// The command as it runs, in a message.
    pub(crate) fn shown(&self, threads: Option<u64>) -> String {
        format!("`{}`", replaced(&self.line, threads))
    }

    /// Runs it to its end, as [`run`](Self::run); it may fail.
    ///
    /// # Errors
    ///
    /// It cannot be started, or is stopped.
    pub fn outcome(
        &self,
        threads: Option<u64>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<CommandRun, RunError> {
        let before = CpuClock::now();
        let server = self.server.as_ref().map(|it| self.serve(it, threads, stop)).transpose()?;
        let started = Instant::now();
        let mut group = self.start(&self.line, threads)?;
        group.wait(stop)?;
        let wall = started.elapsed();
        let status = group.reap();
        if let Some(server) = server {
            server.end();
        }
        let used = CpuClock::now().since(&before);
        let (stdout, stderr) = (text(&group.stdout), text(&group.stderr));
        let is_success = status.as_ref().is_ok_and(ExitStatus::success);
        let failure = (!is_success).then(|| ended(status, &stderr));
        Ok(CommandRun { wall, cpu: used.children, others: used.others, stdout, stderr, failure })
    }

    fn start(&self, line: &str, threads: Option<u64>) -> Result<ProcessGroup, RunError> {
        let line = replaced(line, threads);
        let start = || {
            let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
            let mut command = Command::new("sh");
            // Its own group: Ctrl-C is for this process, which ends the group when it has noted what there is.
            command.args(["-c", &line]).stdin(Stdio::null()).process_group(0);
            command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
            command.envs(self.variables.iter().map(|(name, it)| (name, replaced(it, threads))));
            command.current_dir(self.directory.as_deref().unwrap_or(".".as_ref()));
            Ok(ProcessGroup { child: command.spawn()?, is_reaped: false, stdout, stderr })
        };
        start().map_err(|why: io::Error| RunError::Failed(format!("cannot run `{line}`: {why}")))
    }

    fn serve(
        &self,
        server: &Server,
        threads: Option<u64>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<ProcessGroup, RunError> {
        let line = replaced(&server.line, threads);
        let error = |how: String| RunError::Failed(format!("the server `{line}` {how}"));
        if let Ready::Port(port) = server.ready
            && is_open(port)
        {
            return Err(error(format!("cannot have port {port}: another program listens there")));
        }
        let mut group = self.start(&server.line, threads)?;
        let started = Instant::now();
        loop {
            let is_ready = match &server.ready {
                Ready::Port(port) => is_open(*port),
                Ready::Prints(pattern) => {
                    pattern.is_match(&text(&group.stdout)) || pattern.is_match(&text(&group.stderr))
                }
            };
            if is_ready {
                return Ok(group);
            }
            if group.is_over() {
                let how = ended(group.reap(), &text(&group.stderr));
                return Err(error(format!("ended before it was ready: it {how}")));
            }
            if stop() {
                return Err(RunError::Stopped);
            }
            if started.elapsed() > READY_LIMIT {
                return Err(error(format!("was not ready after {READY_LIMIT:?}")));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// A command and all that it started, which end when this is dropped.
struct ProcessGroup {
    child: Child,
    /// From then on its number may be another program's.
    is_reaped: bool,
    stdout: File,
    stderr: File,
}

impl ProcessGroup {
    /// Waits without polling, which would blur the time.
    fn wait(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), RunError> {
        let (ended, end) = mpsc::channel::<()>();
        let was_stopped = std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let mut stopped: Option<Instant> = None;
                while end.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    match stopped {
                        None if stop() => {
                            self.signal(Signal::TERM);
                            stopped = Some(Instant::now());
                        }
                        Some(at) if at.elapsed() > STOP_LIMIT => self.signal(Signal::KILL),
                        _ => {}
                    }
                }
                stopped.is_some()
            });
            // A signal that comes to this process interrupts it.
            while let Err(Errno::INTR) = self.state(WaitIdOptions::empty()) {}
            drop(ended);
            watch.join().unwrap_or(false)
        });
        if was_stopped { Err(RunError::Stopped) } else { Ok(()) }
    }

    fn is_over(&self) -> bool {
        !matches!(self.state(WaitIdOptions::NOHANG), Ok(None))
    }

    /// The state of the command, which stays to be reaped.
    fn state(&self, options: WaitIdOptions) -> rustix::io::Result<Option<WaitIdStatus>> {
        let pid = self.pid().ok_or(Errno::CHILD)?;
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | options)
    }

    /// Asks it to end, and ends it if it does not.
    fn end(self) {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < END_LIMIT && !self.is_over() {
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends what is left of it, and says how the command ended.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            // What the command left behind would run beside the next one.
            self.signal(Signal::KILL);
            self.is_reaped = true;
        }
        self.child.wait()
    }

    /// To the whole group. Not once it is reaped.
    fn signal(&self, signal: Signal) {
        // It may have ended.
        _ = self.pid().map(|group| kill_process_group(group, signal));
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        _ = self.reap();
    }
}

/// Words as a line for a shell, which gives a program these words again.
#[must_use]
pub fn shell_line(words: &[String]) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%{}".contains(letter);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn replaced(text: &str, threads: Option<u64>) -> String {
    threads.map_or_else(|| text.to_owned(), |threads| text.replace(THREADS, &threads.to_string()))
}

/// The end of a file that a program writes.
fn text(file: &File) -> String {
    let length = file.metadata().map_or(0, |it| it.len());
    let from = length.saturating_sub(MAX_OUTPUT);
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(0)];
    // Not by the file's position, which is the program's as well.
    match file.read_exact_at(&mut bytes, from) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// How a command ended, with the last line that it printed as an error.
fn ended(status: io::Result<ExitStatus>, stderr: &str) -> String {
    let how = match status.map(|it| (it.code(), it.signal())) {
        Ok((Some(code), _)) => format!("ended with status {code}"),
        Ok((None, Some(signal))) => format!("was ended by {}", signal_name(signal)),
        Ok((None, None)) | Err(_) => "ended in an unknown way".to_owned(),
    };
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| how.clone(), |last| format!("{how}: {}", last.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<CommandRun, RunError> {
        MeasuredCommand { line: line.to_owned(), ..Default::default() }.run(None, &|| false)
    }

    fn failure(result: Result<CommandRun, RunError>) -> String {
        match result {
            Err(RunError::Failed(line)) => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_has_both_outputs_apart_and_its_processor_time() {
        let run = run("echo out; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        let run = run.unwrap();
        assert_eq!((&*run.stdout, &*run.stderr), ("out\n", "err\n"));
        assert!(run.cpu > Duration::ZERO && run.wall > Duration::ZERO);
    }

    #[test]
    fn a_failure_says_how_the_command_ended_and_its_last_words() {
        assert_eq!(
            failure(run("echo no file >&2; echo; exit 3")),
            "`echo no file >&2; echo; exit 3` ended with status 3: no file"
        );
        assert_eq!(failure(run("kill -9 $$")), "`kill -9 $$` was ended by SIGKILL");
        assert!(failure(run("/no/such/program")).contains("not found"));
    }

    #[test]
    fn the_number_of_threads_is_in_the_command_and_its_variables() {
        let variables = vec![("WORKERS".to_owned(), THREADS.to_owned())];
        let line = "echo {threads} $WORKERS".to_owned();
        let command = MeasuredCommand { line, variables, ..Default::default() };
        assert!(command.has_threads());
        assert_eq!(command.run(Some(3), &|| false).unwrap().stdout, "3 3\n");
    }

    #[test]
    fn a_command_that_is_stopped_ends_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let line = "sleep 1000 & echo $! > pid; mv pid number; wait".to_owned();
        let directory = Some(folder.path().to_owned());
        let command = MeasuredCommand { line, directory, ..Default::default() };
        let number = folder.path().join("number");
        let result = command.run(None, &|| number.exists());
        assert_eq!(result.unwrap_err(), RunError::Stopped);
        let pid = std::fs::read_to_string(number).unwrap().trim().parse().unwrap();
        let is_there = || rustix::process::test_kill_process(Pid::from_raw(pid).unwrap()).is_ok();
        // Its own parent, now the system's first process, may reap it late.
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        while is_there() && !state().contains(") Z ") {
            std::thread::sleep(PAUSE);
        }
    }

    #[test]
    fn a_command_that_is_stopped_may_remove_its_files_and_is_killed_if_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [scratch, deaf] = ["scratch", "deaf"].map(|name| folder.path().join(name));
        let command = |line: &str| {
            let directory = Some(folder.path().to_owned());
            MeasuredCommand { line: line.to_owned(), directory, ..Default::default() }
        };
        let tidy = command("trap 'rm scratch; exit 1' TERM; touch scratch; sleep 1000 & wait");
        assert_eq!(tidy.run(None, &|| scratch.exists()).unwrap_err(), RunError::Stopped);
        assert!(!scratch.exists());
        let stays = command("trap '' TERM; touch deaf; sleep 1000");
        assert_eq!(stays.run(None, &|| deaf.exists()).unwrap_err(), RunError::Stopped);
    }

    #[test]
    fn what_a_command_leaves_behind_is_ended_with_it() {
        // The pipe closes once the last one ends.
        let (mut reader, writer) = io::pipe().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&writer);
        rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
        run(&format!("sleep 1000 >&{fd} & true")).unwrap();
        drop(writer);
        assert_eq!(io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    }

    fn served(server: &str, ready: Ready, line: &str) -> Result<CommandRun, RunError> {
        let server = Some(Server { line: server.to_owned(), ready });
        MeasuredCommand { line: line.to_owned(), server, ..Default::default() }.run(None, &|| false)
    }

    #[test]
    fn words_reach_the_program_through_the_shell() {
        let words =
            ["printf", "%s|", "it's", "", "$HOME", "a b", "{threads}", "--x=1"].map(str::to_owned);
        assert_eq!(run(&shell_line(&words)).unwrap().stdout, "it's||$HOME|a b|{threads}|--x=1|");
    }

    #[test]
    fn a_server_is_waited_for_and_its_output_is_not_the_commands() {
        let ready = || Ready::Prints(Regex::new("ready [0-9]").unwrap());
        let run = served("sleep 0.1; echo ready 1; exec sleep 1000", ready(), "echo load").unwrap();
        assert_eq!(run.stdout, "load\n");
        let line = failure(served("echo broken >&2; exit 1", ready(), "echo load"));
        assert_eq!(
            line,
            "the server `echo broken >&2; exit 1` ended before it was ready: it ended with status 1: broken"
        );
    }

    #[test]
    fn a_port_that_another_program_has_is_refused() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = failure(served("sleep 1000", Ready::Port(port), "true"));
        assert!(line.ends_with("another program listens there"), "{line}");
    }
}
