//! The command `tenure`.
//!
//! It parses arguments, calls the crates that do the work, and prints. Status: 0; 1 if a check failed; 2, with one line
//! on standard error, for what cannot be done; 130 if Ctrl-C ended a benchmark early. `tenure run` ends with its
//! program's.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "programs are run and watched on Linux alone")
)]

mod bench;
#[cfg(unix)]
mod compare;
mod exports;
mod failure;
#[cfg(unix)]
mod fix;
mod found;
mod interrupt;
mod layout;
mod output;
mod predict;
mod progress;
mod run;
mod sim;
mod values;
mod watch;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::EarlyEnd;

/// Find why a program does not scale: contended cache lines, locks, waits; predict and measure what fixes it
#[derive(Debug, Parser)]
#[command(name = "tenure", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// What a newcomer does, in this order: find, predict, prove.
#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Watch(watch::WatchArgs),
    Layout(layout::LayoutArgs),
    #[cfg(unix)]
    Fix(fix::FixArgs),
    #[cfg(unix)]
    Compare(compare::CompareArgs),
    Sim(sim::SimArgs),
    Bench(bench::BenchArgs),
    Doctor(watch::DoctorArgs),
}

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // `cargo-tenure`, or a link of that name to this program. Then cargo's first word is that of the subcommand.
    let by_cargo =
        words.first().is_some_and(|it| Path::new(it).file_stem() == Some("cargo-tenure".as_ref()));
    if by_cargo && words.get(1).is_some_and(|word| word == "tenure") {
        words.remove(1);
    }
    if by_cargo && words.get(1).is_some_and(|word| word == "run") {
        let rest = words.split_off(2);
        words.extend(run::ours_first(rest));
    }
    let arguments = CommandLine::try_parse_from(words).map_err(EarlyEnd::from_clap);
    match arguments.and_then(|arguments| run(arguments, by_cargo)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(failure),
    }
}

fn report(failure: EarlyEnd) -> ExitCode {
    match failure {
        EarlyEnd::Input(line) => {
            eprintln!("error: {line}");
            ExitCode::from(2)
        }
        EarlyEnd::Check => ExitCode::from(1),
        EarlyEnd::Program(status) => ExitCode::from(status),
        EarlyEnd::Interrupted => ExitCode::from(failure::INTERRUPTED),
        #[cfg(unix)]
        EarlyEnd::InterruptedAtOnce => {
            eprintln!("interrupted before there was a result");
            ExitCode::from(failure::INTERRUPTED)
        }
        EarlyEnd::Help(text) => match output::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => report(failure),
        },
        EarlyEnd::Closed => ExitCode::SUCCESS,
    }
}

fn run(arguments: CommandLine, by_cargo: bool) -> Result<(), EarlyEnd> {
    match arguments.command {
        #[cfg(unix)]
        Command::Fix(arguments) => fix::run(&arguments),
        #[cfg(unix)]
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Layout(arguments) => layout::run(&arguments),
        Command::Run(arguments) => run::run(&arguments, by_cargo),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Doctor(arguments) => watch::doctor(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <CommandLine as clap::CommandFactory>::command().debug_assert();
    }
}
