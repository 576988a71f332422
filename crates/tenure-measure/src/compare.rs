//! Runs two commands in turns until the answer is narrow enough, or time is up.

use std::time::{Duration, Instant};

use tenure_model::{ComparedRound, ComparedSide, Comparison, ComparisonEnd, Progress};
use tenure_report::numbers::{counted, ratio};
use tenure_report::stats::min_values;
use tenure_report::{affinity, machine};

use crate::command::{CommandRun, MeasuredCommand, RunError};
use crate::figures::Metric;
use crate::judge::{BenchmarkSeries, half_width, may_stop};
use crate::metric::Reading;

/// The part of all CPUs that others may use in a round that is not disturbed.
const DISTURBANCE: f64 = 0.05;
/// A shorter run of a command is mostly its start.
const MIN_RUN: Duration = Duration::from_millis(100);
/// A shorter round has too few of the system's ticks to tell what other programs used: seconds.
const MIN_ROUND_SECONDS: f64 = 0.1;

/// What runs in a round; every other round runs them backwards.
const TURNS: [&str; 3] = ["before", "after", "before"];

/// When a comparison without a limit of its own ends, once every interval has its probability.
pub const DEFAULT_TIME: Duration = Duration::from_secs(300);

/// What is compared, how, and for how long.
#[derive(Debug, Clone)]
pub struct CompareRequest {
    /// Both commands: before and after.
    pub commands: [MeasuredCommand; 2],
    /// The revisions that they come from.
    pub revisions: [Option<String>; 2],
    /// What is measured.
    pub metric: Metric,
    /// Numbers of threads, each of which is measured in every round. None: once.
    pub threads: Vec<u64>,
    /// Intervals may end the measuring once they reach no farther from their medians than this part of them.
    pub within: f64,
    /// The most rounds.
    pub rounds: usize,
    /// The most time; [`DEFAULT_TIME`] without it.
    pub time: Option<Duration>,
}

impl CompareRequest {
    /// Compares: each round runs before, after, and before again, or these backwards. `stop` ends it with what there is.
    ///
    /// # Errors
    ///
    /// No round is whole: a command fails, prints no figure, or is stopped. One line says which, and how.
    pub fn compare(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Progress,
    ) -> Result<Comparison, RunError> {
        let started = Instant::now();
        progress.begin("comparing", self.rounds as u64);
        let mut measured = RoundsSoFar::new(self);
        let ended = measured.warm_up(stop, progress).and_then(|()| {
            let started = Instant::now();
            loop {
                let round = Instant::now();
                measured.round(stop, progress)?;
                if let Some(end) = measured.end(started.elapsed(), round.elapsed()) {
                    return Ok(end);
                }
            }
        });
        progress.end();
        let ended = match ended {
            Err(error) if measured.rounds == 0 => return Err(error),
            Err(RunError::Stopped) => ComparisonEnd::Interrupted,
            Err(RunError::Failed(line)) => {
                measured.note(format!("in round {}, {line}", measured.rounds + 1));
                ComparisonEnd::Failed
            }
            Ok(end) => end,
        };
        Ok(measured.comparison(ended, started.elapsed()))
    }
}

/// What was measured so far.
struct RoundsSoFar<'a> {
    request: &'a CompareRequest,
    metric: Metric,
    series: Vec<BenchmarkSeries>,
    rounds: usize,
    notes: Vec<String>,
}

impl<'a> RoundsSoFar<'a> {
    fn new(request: &'a CompareRequest) -> Self {
        let metric = request.metric.clone();
        Self { request, metric, series: Vec::new(), rounds: 0, notes: Vec::new() }
    }

    fn threads(&self) -> Vec<Option<u64>> {
        match &self.request.threads[..] {
            [] => vec![None],
            threads => threads.iter().copied().map(Some).collect(),
        }
    }

    /// Runs each command once, to fill caches and to see what it prints.
    fn warm_up(
        &mut self,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        for threads in self.threads() {
            let run = |name| {
                progress.at("first runs", &condition(name, threads));
                self.command(name).run(threads, stop)
            };
            let runs = [run("before")?, run("after")?];
            if self.series.is_empty() {
                let line = self.metric.choose([&runs[0], &runs[1]]);
                line.into_iter().for_each(|line| self.note(line));
            }
            let [old, new] = &[
                self.figures("before", &runs[0], threads)?,
                self.figures("after", &runs[1], threads)?,
            ];
            for (one, other, name) in [(old, new, "before"), (new, old, "after")] {
                for reading in one.iter().filter(|it| !has(other, &it.name)) {
                    self.note(format!("only {name} has the benchmark {}", reading.name));
                }
            }
            self.series.extend(old.iter().filter(|it| has(new, &it.name)).map(|reading| {
                let Reading { name, unit, better, .. } = reading.clone();
                BenchmarkSeries { name, threads, unit, better, rounds: Vec::new() }
            }));
            let shortest = runs.iter().map(|it| it.wall).min().unwrap_or_default();
            if self.metric.is_of_whole_runs() && shortest < MIN_RUN {
                let ms = shortest.as_secs_f64() * 1e3;
                self.note(format!(
                    "a run takes {ms:.1} ms, of which starting the program is a large part: give it more to do"
                ));
            }
        }
        match self.series.is_empty() {
            true => Err("before and after have no benchmark in common".to_owned().into()),
            false => Ok(()),
        }
    }

    fn round(
        &mut self,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        let is_backwards = !self.rounds.is_multiple_of(2);
        let subject = format!("round {}", self.rounds + 1);
        let so_far = self.so_far();
        let mut threads = self.threads();
        if is_backwards {
            threads.reverse();
        }
        let mut round = Vec::new();
        for threads in threads {
            let mut runs = Vec::new();
            for name in TURNS {
                progress.at(&subject, &(condition(name, threads) + &so_far));
                runs.push(self.command(name).run(threads, stop)?);
            }
            if is_backwards {
                runs.reverse();
            }
            round.extend(self.compared(threads, &runs)?);
        }
        // The whole round or nothing of it.
        if round.iter().all(|(_, compared)| compared.is_none()) {
            return Err(format!("no run has a figure above 0 of {}", self.series[0].shown()).into());
        }
        self.rounds += 1;
        for (at, compared) in &round {
            match compared {
                Some(compared) => self.series[*at].rounds.push(*compared),
                None => self.note(format!(
                    "{} is left out: a run in round {} has no figure above 0 of it",
                    self.series[*at].shown(),
                    self.rounds
                )),
            }
        }
        self.series.retain(|it| it.rounds.len() == self.rounds);
        progress.advance(1);
        Ok(())
    }

    /// What a round of runs with so many threads gives the series, by their places; `None` where one has no figure.
    fn compared(
        &self,
        threads: Option<u64>,
        runs: &[CommandRun],
    ) -> Result<Vec<(usize, Option<ComparedRound>)>, RunError> {
        let figures = runs.iter().zip(TURNS).map(|(run, name)| self.figures(name, run, threads));
        let figures = figures.collect::<Result<Vec<_>, _>>()?;
        let time: f64 = runs.iter().map(|run| run.wall.as_secs_f64()).sum();
        let used: f64 = runs.iter().map(|run| run.others * run.wall.as_secs_f64()).sum();
        // The system counts in ticks.
        let others = if time < MIN_ROUND_SECONDS { 0.0 } else { used / time };
        let disturbed = others > DISTURBANCE * affinity::cpus().len() as f64;
        let series = self.series.iter().enumerate().filter(|(_, it)| it.threads == threads);
        Ok(series
            .map(|(at, series)| {
                let figure = |run: usize| {
                    let found = figures[run].iter().find(|it| it.name == series.name)?;
                    Some(found.value).filter(|it| it.is_finite() && *it > 0.0)
                };
                let round = match [figure(0), figure(1), figure(2)] {
                    [Some(before), Some(after), Some(again)] => {
                        Some(ComparedRound { before, after, again, others, disturbed })
                    }
                    _ => None,
                };
                (at, round)
            })
            .collect())
    }

    /// The command that is called `before` or `after`.
    fn command(&self, name: &str) -> &MeasuredCommand {
        &self.request.commands[usize::from(name == "after")]
    }

    /// The figures of a run, or a line that says which command has none.
    fn figures(
        &self,
        name: &str,
        run: &CommandRun,
        threads: Option<u64>,
    ) -> Result<Vec<Reading>, String> {
        let shown = || self.command(name).shown(threads);
        self.metric.figures(run).map_err(|why| format!("{} {why}", shown()))
    }

    /// Why no further round is run, if none is.
    fn end(&self, elapsed: Duration, round: Duration) -> Option<ComparisonEnd> {
        let request = self.request;
        let min = min_values(self.series.len());
        let is_narrow = || {
            let judged = self.series.iter().filter_map(|it| it.judged(self.series.len()));
            judged.map(|it| half_width(it.speedup)).all(|width| width <= request.within)
        };
        let is_time_up = match request.time {
            Some(time) => elapsed + round > time,
            None => elapsed > DEFAULT_TIME && self.rounds >= min,
        };
        match () {
            () if may_stop(self.rounds, min) && is_narrow() => Some(ComparisonEnd::Narrow),
            () if self.rounds >= request.rounds => Some(ComparisonEnd::Rounds),
            () if is_time_up => Some(ComparisonEnd::Time),
            () => None,
        }
    }

    /// For the progress: where a single benchmark stands.
    fn so_far(&self) -> String {
        let [series] = &self.series[..] else { return String::new() };
        let judged = series.judged(1);
        judged
            .map(|it| format!(", {} times as fast so far", ratio(it.speedup.median)))
            .unwrap_or_default()
    }

    fn note(&mut self, line: String) {
        if !self.notes.contains(&line) {
            self.notes.push(line);
        }
    }

    fn comparison(self, ended: ComparisonEnd, elapsed: Duration) -> Comparison {
        let count = self.series.len();
        let side = |at: usize| ComparedSide {
            command: self.request.commands[at].line.clone(),
            revision: self.request.revisions[at].clone(),
        };
        Comparison {
            schema: Comparison::SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            before: side(0),
            after: side(1),
            metric: self.metric.shown(),
            machine: machine::describe().line(),
            cpus: affinity::cpus().len() as u64,
            rounds: self.rounds as u64,
            seconds: elapsed.as_secs_f64(),
            ended,
            rows: self.series.iter().filter_map(|it| it.judged(count)).collect(),
            notes: self.notes,
        }
    }
}

fn has(readings: &[Reading], name: &str) -> bool {
    readings.iter().any(|it| it.name == name)
}

fn condition(name: &str, threads: Option<u64>) -> String {
    threads.map_or_else(
        || name.to_owned(),
        |threads| format!("{name}, {}", counted(threads, "thread")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Printed;
    use crate::metric::Pattern;
    use tenure_model::Better;
    use tenure_model::ComparisonVerdict;

    fn request(before: &str, after: &str) -> CompareRequest {
        let command = |line: &str| MeasuredCommand { line: line.to_owned(), ..Default::default() };
        CompareRequest {
            commands: [command(before), command(after)],
            revisions: [None, None],
            metric: Metric::Printed(Printed::Found(
                Pattern::new("rate: ([0-9.]+)", Some(Better::Higher)).unwrap(),
            )),
            threads: Vec::new(),
            within: 0.02,
            rounds: 20,
            time: None,
        }
    }

    fn compare(request: &CompareRequest) -> Result<Comparison, RunError> {
        request.compare(&|| false, &())
    }

    fn line(result: Result<Comparison, RunError>) -> String {
        match result {
            Err(RunError::Failed(line)) => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rounds_end_when_the_interval_is_narrow() {
        let comparison = compare(&request("echo rate: 2", "echo rate: 3")).unwrap();
        assert_eq!((comparison.rounds, comparison.ended), (6, ComparisonEnd::Narrow));
        let [row] = &comparison.rows[..] else { panic!("{comparison:?}") };
        assert_eq!((row.before, row.after, row.speedup.median), (2.0, 3.0, 1.5));
        assert_eq!(row.verdict, ComparisonVerdict::Faster);
        assert_eq!(comparison.metric, "`rate: ([0-9.]+)`");
    }

    #[test]
    fn rounds_take_turns_and_every_other_one_goes_backwards() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request(
            "echo A {threads} >> log; echo rate: 1",
            "echo B {threads} >> log; echo rate: 1",
        );
        for command in &mut request.commands {
            command.directory = Some(folder.path().to_owned());
        }
        (request.threads, request.rounds) = (vec![1, 4], 2);
        let comparison = compare(&request).unwrap();
        assert_eq!(comparison.ended, ComparisonEnd::Rounds);
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let warm_up = "A 1\nB 1\nA 4\nB 4\n";
        let (one, four) = ("A 1\nB 1\nA 1\n", "A 4\nB 4\nA 4\n");
        assert_eq!(log, [warm_up, one, four, four, one].concat());
        let threads: Vec<_> = comparison.rows.iter().map(|row| row.threads).collect();
        assert_eq!(threads, [Some(1), Some(4)]);
    }

    #[test]
    fn the_first_run_of_before_is_the_second_one_of_a_round_that_goes_backwards() {
        let folder = tempfile::tempdir().unwrap();
        // Each run of `before` counts on.
        let count = "n=$(cat n 2>/dev/null || echo 1); echo $((n + 1)) > n; echo rate: $n";
        let mut request = request(count, "echo rate: 1");
        request.commands[0].directory = Some(folder.path().to_owned());
        request.rounds = 2;
        let comparison = compare(&request).unwrap();
        let rounds = &comparison.rows[0].rounds;
        assert_eq!([rounds[0].before, rounds[0].again], [2.0, 3.0]);
        assert_eq!([rounds[1].before, rounds[1].again], [5.0, 4.0]);
    }

    #[test]
    fn a_command_that_fails_at_first_is_an_error_and_later_ends_what_there_is() {
        let line_of = |before: &str, after: &str| line(compare(&request(before, after)));
        assert_eq!(line_of("echo rate: 1", "exit 4"), "`exit 4` ended with status 4");
        assert_eq!(
            line_of("echo rate: 1", "echo nothing"),
            "`echo nothing` printed no number above 0 for `rate: ([0-9.]+)`: its last line is \"nothing\""
        );
        assert!(
            line_of("echo rate: 0", "echo rate: 1")
                .starts_with("`echo rate: 0` printed no number above 0")
        );
        let folder = tempfile::tempdir().unwrap();
        let mut request =
            request("echo rate: 1", "echo >> n; [ $(wc -l < n) -lt 4 ] && echo rate: 1");
        request.commands[1].directory = Some(folder.path().to_owned());
        let comparison = compare(&request).unwrap();
        assert_eq!((comparison.rounds, comparison.ended), (2, ComparisonEnd::Failed));
        assert!(comparison.notes[0].starts_with("in round 3, `echo >> n"), "{comparison:?}");
    }

    #[test]
    fn a_benchmark_that_is_no_longer_printed_is_left_out_and_the_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let bench = "echo >> n; [ $(wc -l < n) -lt 6 ] && echo 'BenchmarkA-2 1 5 ns/op'; echo 'BenchmarkB-2 1 5 ns/op'";
        let mut request =
            request("echo 'BenchmarkA-2 1 5 ns/op'; echo 'BenchmarkB-2 1 5 ns/op'", bench);
        (request.metric, request.rounds) = (Metric::Auto, 8);
        request.commands[1].directory = Some(folder.path().to_owned());
        let comparison = compare(&request).unwrap();
        let [row] = &comparison.rows[..] else { panic!("{comparison:?}") };
        assert_eq!((&*row.name, row.rounds.len()), ("BenchmarkB-2", 6));
        assert_eq!(
            comparison.notes,
            ["BenchmarkA-2 is left out: a run in round 5 has no figure above 0 of it"]
        );
    }

    #[test]
    fn a_known_output_of_only_one_is_said_and_not_compared() {
        let mut request = request("echo 'BenchmarkA-2 1 5 ns/op'; sleep 0.1", "sleep 0.1");
        (request.metric, request.rounds) = (Metric::Auto, 1);
        let comparison = compare(&request).unwrap();
        assert_eq!(comparison.metric, "wall time");
        assert_eq!(
            comparison.notes,
            ["only before prints what a known benchmark does, so the wall time is compared"]
        );
    }

    #[test]
    fn what_is_stopped_has_its_whole_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request("echo >> n; echo rate: 1", "echo rate: 1");
        request.commands[0].directory = Some(folder.path().to_owned());
        let runs = || std::fs::read_to_string(folder.path().join("n")).unwrap_or_default().len();
        request.commands[1].line =
            "[ $(wc -l < n) -ge 4 ] && exec sleep 1000; echo rate: 1".to_owned();
        request.commands[1].directory = Some(folder.path().to_owned());
        let comparison = request.compare(&|| runs() >= 4, &()).unwrap();
        assert_eq!((comparison.rounds, comparison.ended), (1, ComparisonEnd::Interrupted));
        let at_once = request.compare(&|| true, &());
        assert_eq!(at_once.unwrap_err(), RunError::Stopped);
    }

    #[test]
    fn without_a_known_benchmark_the_wall_time_counts_and_a_short_run_is_named() {
        let mut request = request("true", "true");
        (request.metric, request.rounds) = (Metric::Auto, 1);
        let comparison = compare(&request).unwrap();
        assert_eq!((&*comparison.metric, &*comparison.rows[0].unit), ("wall time", "ns"));
        assert!(comparison.notes[0].contains("starting the program"), "{comparison:?}");
    }
}
