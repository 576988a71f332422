//! `cargo tenure ...`: cargo calls this program, which calls the `tenure` beside it under its own name.

use std::io;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let called = || {
        let tenure = format!("tenure{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(std::env::current_exe()?.with_file_name(tenure));
        // Cargo's first word is the name of this subcommand.
        let mut words = std::env::args_os().skip(1).peekable();
        words.next_if(|word| word == "tenure");
        call(command.args(words))
    };
    called().unwrap_or_else(|error: io::Error| {
        eprintln!("error: cannot run `tenure` beside `cargo-tenure`: {error}; install both: `cargo install tenure-cli`");
        ExitCode::from(2)
    })
}

/// Becomes the command.
#[cfg(unix)]
fn call(command: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.arg0("cargo-tenure").exec())
}

/// Runs the command, and ends with its status.
#[cfg(not(unix))]
fn call(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
