//! `tenure bench`.

use clap::Args;
use tenure_bench::GroupInfo;
use tenure_bench::result::BenchReport;
use tenure_bench::run::{self, BenchRequest};
use tenure_report::curves::terminal;

use crate::failure::EarlyEnd;
use crate::interrupt::Interrupt;
use crate::output::{self, ReportArgs};
use crate::progress::ProgressDisplay;
use crate::values::{seconds, seed, threads};

/// Benchmark the library `tenure`, beside std and other crates, on this machine
///
/// Prints a table for each scenario and a verdict on each of this project's claims, and writes an HTML report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tenure bench\n  \
                        tenure bench refs dst --threads 1,2 --seconds 2\n\n\
                        Exit status: 0; 2 on wrong usage, or if it cannot be run; 130 if Ctrl-C ended it early, \
                        after it printed what was measured.")]
pub(crate) struct BenchArgs {
    /// Run these groups or single scenarios (see --list) [default: all]
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,

    /// Measure with these numbers of threads [default: 1, 2, 4, ... up to all CPUs, and twice as many; 1 and all
    /// CPUs where threads share nothing]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = threads)]
    threads: Option<Vec<usize>>,

    /// Measure each row for S seconds at each number of threads [default: 0.5, less if the measuring of all
    /// rows would take more than 45 s; the whole run takes about two minutes]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,

    /// Check that everything works; too few figures to quote, and no verdicts
    #[arg(long)]
    quick: bool,

    /// Draw the random order from this seed, to repeat a run's order [default: a new one]
    #[arg(long, value_name = "SEED", value_parser = seed)]
    seed: Option<u64>,

    /// List the groups and their scenarios; measure nothing
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    reports: ReportArgs,
}

pub(crate) fn run(arguments: &BenchArgs) -> Result<(), EarlyEnd> {
    if arguments.list {
        return output::print(&list(&run::groups()));
    }
    let request = request(arguments)?;
    let page = arguments.reports.page("bench", &arguments.groups)?;
    let interrupt = Interrupt::catch()?;
    let style = arguments.reports.has_text().then(output::style);
    let bar = ProgressDisplay::new();
    let mut printed = Ok(());
    // Tables as they are finished. If printing fails, the run goes on for its files.
    let mut tell = |report: &BenchReport| {
        if let (Some(style), Ok(())) = (style, &printed) {
            printed = bar.suspend(|| output::print(&terminal::newest(report, style)));
        }
    };
    let report = run::run(&request, &|| interrupt.came(), &bar, &mut tell);
    let report = report.map_err(EarlyEnd::input)?;

    arguments.reports.tell(&report, page.as_deref(), terminal::last)?;
    printed?;
    if report.interrupted { Err(EarlyEnd::Interrupted) } else { Ok(()) }
}

fn request(arguments: &BenchArgs) -> Result<BenchRequest, EarlyEnd> {
    // A run checks this too, but after folders for its report were made.
    run::check_names(&arguments.groups).map_err(EarlyEnd::input)?;
    Ok(BenchRequest {
        groups: arguments.groups.clone(),
        threads: arguments.threads.clone(),
        seconds: arguments.seconds,
        quick: arguments.quick,
        seed: arguments.seed,
    })
}

pub(crate) fn list(groups: &[GroupInfo]) -> String {
    let longest =
        groups.iter().flat_map(|group| &group.scenarios).map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in groups {
        let about = format!("{}: {}", group.name, group.about);
        text += if text.is_empty() { "" } else { "\n" };
        text += &(output::style().wrapped(&about, "") + "\n");
        for (id, title) in &group.scenarios {
            text += &format!("  {id:longest$}  {title}\n");
        }
    }
    text
}
