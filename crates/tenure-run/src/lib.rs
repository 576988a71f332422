//! Runs an instrumented program, and finds the cache lines that its threads contend for.
//!
//! The compiler has every memory access call a runtime ([`tenure_probe`]), which counts what threads do to lines that
//! several of them use. This crate builds and starts the program, reads the counts while it runs, and works out how
//! often each line *could* have changed hands: what happened to happen depends on the machine and its load.

mod head;
mod instrumented;
#[cfg(target_os = "linux")]
mod observe;
mod report;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use report::report;
pub use tenure_debuginfo::Error;
use tenure_model::recording::Recording;

/// What is to be run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether the program is a build, whose compilers are to instrument.
    pub cc: bool,
    /// Whether cargo compiles Rust's std as well, so that it is instrumented.
    pub build_std: bool,
    /// What the records of a process take at most, in bytes.
    pub memory: Option<u64>,
    /// Bytes of a line: 64 or 128.
    pub line_bytes: u32,
    /// A directory for the records, which stay there; a temporary one if there is none.
    pub keep: Option<PathBuf>,
    /// A directory for the runtime; the user's cache directory if there is none.
    pub cache: Option<PathBuf>,
}

impl RunRequest {
    /// Whether it builds and runs nothing: a build of C or C++, or a call of cargo that only builds.
    #[must_use]
    pub fn is_build(&self) -> bool {
        let Some((cargo, words)) = self.command.split_first() else { return self.cc };
        let is_option = |it: &OsString| matches!(it.as_encoded_bytes().first(), Some(b'-' | b'+'));
        let words = || words.iter().take_while(|word| *word != "--");
        let verb = words().find(|word| !is_option(word));
        let builds = verb.is_some_and(|verb| verb == "build" || verb == "b")
            || words().any(|word| word == "--no-run");
        self.cc || builds && Path::new(cargo).file_stem().is_some_and(|name| name == "cargo")
    }
}

/// Is called now and then while the program runs.
pub trait RunObserver {
    /// The program is about to start; `about` says in a line what happens to it.
    fn begin(&self, about: &str) {
        let _ = about;
    }

    /// The program has ended, and this is what was wrong with its build.
    fn missed(&self, why: &str) {
        let _ = why;
    }

    /// It has ended. Signals are the caller's from now on; until it handles them they do nothing.
    fn ended(&self) {}

    /// It has run for this time, threads contend for so many lines, and the worst of them could have changed hands
    /// `worst` times.
    fn at(&self, elapsed: Duration, lines: usize, worst: u64) {
        let _ = (elapsed, lines, worst);
    }
}

/// Watches nothing.
impl RunObserver for () {}

/// Runs a program to its end, and returns what was recorded.
///
/// # Errors
///
/// The program cannot be started, or would show nothing; the runtime or the records cannot be written; this is not
/// Linux.
pub fn run(request: &RunRequest, watch: &dyn RunObserver) -> Result<Recording, Error> {
    #[cfg(target_os = "linux")]
    {
        let failed = |path: &Path, error: &std::io::Error| {
            Error::new(format!(
                "cannot write to {}: {error}; name another directory with --keep",
                path.display()
            ))
        };
        let temporary;
        let folder = match &request.keep {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
                let folder =
                    std::fs::canonicalize(folder).map_err(|error| failed(folder, &error))?;
                if observe::has_segments(&folder) {
                    return Err(Error::new(format!(
                        "{} has the records of another run; name an empty directory with --keep",
                        folder.display()
                    )));
                }
                folder
            }
            None => {
                let parent = std::env::temp_dir();
                let made = tempfile::Builder::new().prefix("tenure-").tempdir_in(&parent);
                temporary = made.map_err(|error| failed(&parent, &error.kind().into()))?;
                temporary.path().to_owned()
            }
        };
        let (command, about) = start::prepare(request, &folder)?;
        watch.begin(&about);
        let recording = supervise::run(command, observe::Observer::new(&folder), watch)?;
        // The runtime gives up in silence: the program is not to suffer.
        ask_for_room(&folder).map_err(|error| {
            Error::new(format!(
                "cannot write to {}, so records may be missing: {error}; name another directory with TMPDIR",
                folder.display()
            ))
        })?;
        let is_build = request.cc && recording.processes.is_empty();
        let status = recording.ended.status();
        if let Some(why) = is_build.then(|| start::missed(&folder, status)).flatten() {
            watch.missed(&why);
        }
        Ok(recording)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (request, watch);
        Err(Error::new(
            "programs can be recorded on Linux only, on x86-64 or aarch64; run this there",
        ))
    }
}

/// Whether a file of some size can be written to a folder.
#[cfg(target_os = "linux")]
fn ask_for_room(folder: &Path) -> std::io::Result<()> {
    let file = folder.join("room");
    let written = std::fs::write(&file, vec![0; 256 << 10]);
    let _ = std::fs::remove_file(file);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_a_call_of_cargo_that_runs_nothing() {
        for (words, is_build) in [
            ("cargo build --release", true),
            ("/usr/bin/cargo +nightly b", true),
            ("cargo test --no-run", true),
            ("cargo run --bin build", false),
            ("cargo run -- --no-run", false),
            ("./server build", false),
            ("cargo", false),
        ] {
            let command = words.split(' ').map(OsString::from).collect();
            let request = RunRequest { command, ..RunRequest::default() };
            assert_eq!(request.is_build(), is_build, "{words}");
        }
    }
}
