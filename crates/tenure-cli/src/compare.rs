//! `tenure compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tenure_measure::command::{MeasuredCommand, Ready, RunError, Server, shell_line};
use tenure_measure::compare::CompareRequest;
use tenure_measure::figures::{Metric, PerTime, Printed};
use tenure_measure::metric::Pattern;
use tenure_measure::revision::Checkout;
use tenure_model::{Better, ComparedBenchmark, Comparison, ComparisonEnd, ComparisonVerdict};
use tenure_render::comparison;

use crate::failure::EarlyEnd;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::ProgressDisplay;
use crate::values::{duration, percent, rounds, threads, variable};

/// Measure which of two programs is faster, with an interval
///
/// Runs both in turns, and compares within each round, so that a noisy machine harms neither. Understands what criterion, divan,
/// libtest, google-benchmark, go test, JMH, hyperfine, redis-benchmark, wrk, memtier, db_bench and pgbench print; of other programs
/// it takes the wall time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tenure compare -- './server-old --bench' './server-new --bench'\n  \
                        tenure compare --before main -- cargo bench --bench router\n  \
                        tenure compare --metric 'ops/s: ([0-9.]+)' --threads 1,2,8 -- './old -t {threads}' './new -t {threads}'\n  \
                        tenure compare --server ./old --server ./new --ready 6379 -- redis-benchmark -q\n\n\
                        Exit status: 0; 1 if --fail-if-slower fails; 2 on wrong usage, or if a command fails; 130 if Ctrl-C ended it \
                        early, after it printed what was measured.")]
pub(crate) struct CompareArgs {
    /// The two commands, each in quotes; or one command, with --before or two --server
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// Compare with this git revision, built in a folder of its own
    #[arg(long, value_name = "REV")]
    before: Option<String>,

    /// With --before: compare this revision, in place of the working tree
    #[arg(long, value_name = "REV", requires = "before")]
    after: Option<String>,

    /// Run this once in each tree before measuring, such as 'make -j2'
    #[arg(long, value_name = "COMMAND", requires = "before")]
    build: Option<String>,

    #[command(flatten)]
    metric: MetricArgs,

    /// Measure with each of these in place of `{threads}` in commands and variables
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = threads)]
    threads: Vec<usize>,

    /// Set a variable for both commands, such as GOMAXPROCS={threads}
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,

    /// Run COMMAND against this server, which is started anew for each run; twice for two servers
    #[arg(long, value_name = "COMMAND", requires = "ready")]
    server: Vec<String>,

    /// The server is ready when it listens on this port, or prints what matches this regular expression
    #[arg(long, value_name = "PORT|PATTERN", requires = "server")]
    ready: Option<String>,

    /// Stop when every interval is this narrow
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent)]
    within: f64,

    /// Stop after N rounds
    #[arg(long, value_name = "N", default_value = "40", value_parser = rounds)]
    rounds: usize,

    /// Stop after this time [default: 5m, but not before intervals have their probability]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// Fail if a whole interval is slower than this
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_if_slower: Option<f64>,

    /// Write the comparison as JSON to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write an HTML page to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write Markdown for a pull request to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// What is measured.
#[derive(Debug, Args)]
pub(crate) struct MetricArgs {
    /// Measure `wall` time, `cpu` time, the `last` number printed, or what the first group of a regular expression finds
    /// [default: what a known benchmark prints, else wall]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// The number that is found is work done: compare it per second of wall time or of processor time
    #[arg(long, value_name = "TIME", requires = "metric")]
    per: Option<PerArg>,

    /// Which number is the better one [default: by its unit]
    #[arg(long, value_name = "WHICH", requires = "metric")]
    better: Option<BetterArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PerArg {
    Second,
    CpuSecond,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BetterArg {
    Lower,
    Higher,
}

pub(crate) fn run(arguments: &CompareArgs) -> Result<(), EarlyEnd> {
    let metric = arguments.metric.metric()?;
    output::check_all([
        ("json", arguments.json.as_deref()),
        ("html", arguments.html.as_deref()),
        ("markdown", arguments.markdown.as_deref()),
    ])?;
    let interrupt = Interrupt::catch()?;
    let came = interrupt.handle();
    let stop = || came.get();

    let checkouts = arguments.checkouts()?;
    let commands = arguments.commands(&checkouts)?;
    if arguments.threads.is_empty() && commands.iter().any(MeasuredCommand::has_threads) {
        let line =
            "{threads} stands for the numbers of --threads, which is not given: add --threads 1,2";
        return Err(EarlyEnd::Input(line.to_owned()));
    }
    if !arguments.threads.is_empty() && !commands.iter().all(MeasuredCommand::has_threads) {
        let line =
            "--threads takes {threads} in each command, or in --env such as GOMAXPROCS={threads}";
        return Err(EarlyEnd::Input(line.to_owned()));
    }
    if let Some(build) = &arguments.build {
        for (command, checkout) in commands.iter().zip(&checkouts) {
            let build = MeasuredCommand { line: build.clone(), server: None, ..command.clone() };
            build.run(None, &stop).map_err(|error| match (error, checkout) {
                (RunError::Failed(why), Some((name, _))) => {
                    RunError::Failed(format!("{name} does not build: {why}"))
                }
                (error, _) => error,
            })?;
        }
    }
    let revision = |at: usize| checkouts[at].as_ref().map(|(name, _)| name.clone());
    let in_tree = || arguments.before.as_ref().map(|_| "working tree".to_owned());
    let request = CompareRequest {
        commands,
        revisions: [revision(0), revision(1).or_else(in_tree)],
        metric,
        threads: arguments.threads.iter().map(|it| *it as u64).collect(),
        within: arguments.within,
        rounds: arguments.rounds,
        time: arguments.time,
    };
    let comparison =
        request.compare(&stop, &ProgressDisplay::new()).map_err(|error| match error {
            RunError::Failed(why)
                if arguments.before.is_some()
                    && arguments.build.is_none()
                    && why.contains("status 127") =>
            {
                RunError::Failed(format!(
                    "{why}; a revision has no builds: name its own by --build"
                ))
            }
            error => error,
        })?;
    arguments.tell(&comparison)?;
    match comparison.ended {
        ComparisonEnd::Interrupted => Err(EarlyEnd::Interrupted),
        ComparisonEnd::Failed => Err(EarlyEnd::Input("a command failed: see above".to_owned())),
        _ if arguments.is_too_slow(&comparison) => Err(EarlyEnd::Check),
        _ => Ok(()),
    }
}

/// The current folder, in which commands run.
pub(crate) fn here() -> Result<PathBuf, EarlyEnd> {
    std::env::current_dir()
        .map_err(|error| EarlyEnd::Input(format!("cannot find the current folder: {error}")))
}

impl MetricArgs {
    pub(crate) fn metric(&self) -> Result<Metric, EarlyEnd> {
        let better = self.better.map(|it| match it {
            BetterArg::Lower => Better::Lower,
            BetterArg::Higher => Better::Higher,
        });
        let printed = match self.metric.as_deref() {
            None => return Ok(Metric::Auto),
            Some("wall") => return Ok(Metric::Wall),
            Some("cpu") => return Ok(Metric::Cpu),
            Some("last") => {
                Printed::Last(better.or(self.per.map(|_| Better::Higher)).ok_or_else(|| {
                    EarlyEnd::Input(
                        "`--metric last` takes --better lower, or --better higher".to_owned(),
                    )
                })?)
            }
            Some(pattern) => Printed::Found(
                Pattern::new(pattern, better)
                    .map_err(|error| EarlyEnd::Input(format!("--metric {pattern:?}: {error}")))?,
            ),
        };
        Ok(match self.per {
            None => Metric::Printed(printed),
            Some(PerArg::Second) => Metric::Work(printed, PerTime::Second),
            Some(PerArg::CpuSecond) => Metric::Work(printed, PerTime::CpuSecond),
        })
    }
}

impl CompareArgs {
    /// What is built in a folder of its own, of before and after.
    fn checkouts(&self) -> Result<[Option<(String, Checkout)>; 2], EarlyEnd> {
        let here = here()?;
        let checkout = |revision: &Option<String>| {
            let Some(revision) = revision else { return Ok(None) };
            let checkout = Checkout::of(revision, &here)?;
            Ok::<_, EarlyEnd>(Some((revision.clone(), checkout)))
        };
        Ok([checkout(&self.before)?, checkout(&self.after)?])
    }

    fn commands(
        &self,
        checkouts: &[Option<(String, Checkout)>; 2],
    ) -> Result<[MeasuredCommand; 2], EarlyEnd> {
        let has_sides = self.before.is_some() || self.server.len() == 2;
        let lines = match &self.command[..] {
            _ if self.server.len() > 2 => {
                return Err(EarlyEnd::Input("--server is given once or twice".to_owned()));
            }
            [one] if has_sides => [one.clone(), one.clone()],
            words if has_sides => [0; 2].map(|_| shell_line(words)),
            [before, after] => [before.clone(), after.clone()],
            [_, _, more @ ..] if more.iter().any(|word| word.starts_with('-')) => {
                let line = "two commands are compared, each in quotes, after `--`; the options of compare go before it";
                return Err(EarlyEnd::Input(line.to_owned()));
            }
            _ => {
                let line = "two commands are compared, each in quotes: tenure compare -- './old --bench' './new --bench'; or one with --before REV";
                return Err(EarlyEnd::Input(line.to_owned()));
            }
        };
        let ready = self.ready.as_deref().map(ready).transpose()?;
        let command = |at: usize| {
            let mut variables = self.variables.clone();
            let checkout = checkouts[at].as_ref().map(|(_, it)| it);
            if let Some(checkout) = checkout {
                // One that is set would be shared, and everything be built anew for each run.
                variables.push((
                    "CARGO_TARGET_DIR".to_owned(),
                    checkout.target().to_string_lossy().into_owned(),
                ));
            }
            let server = self.server.get(at).or(self.server.first()).zip(ready.clone());
            MeasuredCommand {
                line: lines[at].clone(),
                directory: checkout.map(|it| it.path().to_owned()),
                variables,
                server: server.map(|(line, ready)| Server { line: line.clone(), ready }),
            }
        };
        Ok([command(0), command(1)])
    }

    fn tell(&self, comparison: &Comparison) -> Result<(), EarlyEnd> {
        let write = |path: &Option<PathBuf>, text: &dyn Fn() -> String| {
            path.as_deref().map_or(Ok(()), |path| output::write(path, &text()))
        };
        write(&self.html, &|| comparison::page(comparison))?;
        write(&self.json, &|| tenure_report::json::render(comparison))?;
        write(&self.markdown, &|| comparison::markdown(comparison))?;
        let files = [&self.json, &self.html, &self.markdown];
        if files.into_iter().flatten().any(|path| output::is_stdout(path)) {
            return Ok(());
        }
        output::print(&comparison::terminal(comparison, output::style()))
    }

    /// Whether some benchmark is surely slower than may be.
    fn is_too_slow(&self, comparison: &Comparison) -> bool {
        let least = self.fail_if_slower.map(|part| 1.0 / (1.0 + part));
        let is_slower = |row: &ComparedBenchmark| row.verdict == ComparisonVerdict::Slower;
        least.is_some_and(|least| {
            comparison.rows.iter().any(|row| is_slower(row) && row.speedup.range[1] < least)
        })
    }
}

fn ready(text: &str) -> Result<Ready, EarlyEnd> {
    if text.chars().all(|letter| letter.is_ascii_digit()) {
        let port = text.parse().ok().filter(|port| *port > 0);
        let error = || EarlyEnd::Input(format!("--ready {text}: a port is from 1 to {}", u16::MAX));
        return port.map(Ready::Port).ok_or_else(error);
    }
    let pattern =
        text.parse().map_err(|error| EarlyEnd::Input(format!("--ready {text:?}: {error}")));
    pattern.map(Ready::Prints)
}
