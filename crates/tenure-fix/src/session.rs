//! Tries one change after another.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_edit::{EditOptions, Padding, SourceChange, SourcePlace};
use tenure_measure::command::RunError;
use tenure_measure::compare::CompareRequest;
use tenure_measure::figures::Metric;
use tenure_model::{
    ComparisonEnd, ComparisonVerdict, FixOutcome, FixReport, Progress, ProposedChange, Report,
    Source, TriedChange,
};
use tenure_report::machine;

use crate::asked::{ChangeSubject, EditPlace, EditStart};
use crate::build::{self, Commands, Edited, command};
use crate::edits::{Editor, FirstEdits};
use crate::trees::TreeCopies;

/// Changes that are tried where none is named.
const DEFAULT_CHANGES: usize = 3;
/// Steps of a change, for the progress.
const STEPS: u64 = 4;

/// Which changes to try, and how.
#[derive(Debug, Clone)]
pub struct FixRequest {
    /// The user's folder.
    pub here: PathBuf,
    /// The benchmark: words, or one line for a shell.
    pub command: Vec<String>,
    /// A build in place of the one that the command or the tree suggests.
    pub build: Option<String>,
    /// Tests in place of `cargo test`.
    pub test: Option<String>,
    /// Numbers of changes in the report; the first three if there are none.
    pub numbers: Vec<u64>,
    /// What Rust types are padded with.
    pub padding: Padding,
    /// What is measured.
    pub metric: Metric,
    /// The most rounds of a comparison.
    pub rounds: usize,
    /// The most time of a comparison.
    pub time: Option<Duration>,
    /// Whether changes that do not pay here, and are predicted to pay elsewhere, are in the patch.
    pub keep_predicted: bool,
}

/// Records a program with its arguments in a folder, after this build if it is not cargo's, and says what was found.
pub type RecordAgain<'a> = dyn Fn(&Path, Option<&str>, &[String]) -> Result<Report, RunError> + 'a;

impl FixRequest {
    /// Tries the changes of a report, or of a recording if there is none. `record` records again once a change is made.
    ///
    /// # Errors
    ///
    /// Nothing can be tried: one line says why. A change that fails is withdrawn, and is no error.
    pub fn fix(
        &self,
        report: Option<Report>,
        record: &RecordAgain<'_>,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Progress,
    ) -> Result<FixReport, RunError> {
        let trees = TreeCopies::of(&self.here)?;
        let commands = Commands::of(
            &self.command,
            self.build.as_deref(),
            self.test.as_deref(),
            &trees.both[0].here(),
        );
        let session = Trial {
            request: self,
            trees,
            commands: commands?,
            stop,
            record,
            notes: RefCell::default(),
        };
        session.run(report, progress)
    }
}

/// Whether two findings ask for one edit, as several do of one array.
fn is_same(one: &(SourceChange, EditStart), other: &(SourceChange, EditStart)) -> bool {
    let is_at = match (&one.1.at, &other.1.at) {
        (EditPlace::Known(one), EditPlace::Known(other)) => one == other,
        (EditPlace::Declared { .. }, EditPlace::Declared { .. }) => one.1.types == other.1.types,
        _ => false,
    };
    one.0 == other.0 && is_at
}

struct Trial<'a> {
    request: &'a FixRequest,
    trees: TreeCopies,
    commands: Commands,
    stop: &'a (dyn Fn() -> bool + Sync),
    record: &'a RecordAgain<'a>,
    /// What the reader has to know besides.
    notes: RefCell<Vec<String>>,
}

impl Trial<'_> {
    fn run(&self, report: Option<Report>, progress: &dyn Progress) -> Result<FixReport, RunError> {
        progress.begin("building", 1);
        progress.at("the unmodified program", "as it will be measured");
        let without = &self.trees.both[0];
        build::build(without, &self.commands, None, self.stop).map_err(|error| match error {
            RunError::Failed(why) if without.has_submodules() => {
                RunError::Failed(format!("{why}; submodules are not copied: fetch them in --build"))
            }
            error => error,
        })?;
        self.try_unmodified(progress)?;
        let is_given = report.is_some();
        let report = match report {
            Some(report) => report,
            None => {
                progress.begin("recording", 1);
                progress.at("the unmodified program", "instrumented");
                self.recorded(0)?
            }
        };
        let changes = self.chosen(&report)?;
        if is_given {
            self.check_places(&changes)?;
        }
        progress.begin("trying", STEPS * changes.len() as u64);
        if self.commands.test.is_none() {
            self.note("No tests were run: name them by --test".to_owned());
        }
        let mut tried = Vec::new();
        for (change, subject) in changes {
            match self.tried(&change, subject, report.line_bytes, progress) {
                Ok(change) => tried.push(change),
                Err(RunError::Stopped) => {
                    self.trees.withdraw()?;
                    let number = change.finding;
                    self.note(format!("It was interrupted while it tried change {number}"));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        progress.end();
        Ok(FixReport {
            schema: FixReport::SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.commands.run.clone(),
            machine: machine::describe().line(),
            changes: tried,
            patch: self.trees.patch()?,
            dependencies: self.trees.dependencies()?,
            notes: self.notes.take(),
        })
    }

    /// Runs the benchmark and the tests once, so that no change is blamed for what fails without it.
    fn try_unmodified(&self, progress: &dyn Progress) -> Result<(), RunError> {
        let without = &self.trees.both[0];
        progress.at("the unmodified program", "running its benchmark");
        self.request.metric.try_out(&command(without, &self.commands.run), self.stop)?;
        let Some(test) = &self.commands.test else { return Ok(()) };
        progress.at("the unmodified program", "testing");
        let run = command(without, test).outcome(None, self.stop)?;
        match run.failure {
            Some(_) => Err(format!(
                "tests fail without any change: {}; fix them, or name others by --test",
                build::first_error(&run)
            )
            .into()),
            None => Ok(()),
        }
    }

    /// What is found in the tree without the change, or with it.
    fn recorded(&self, which: usize) -> Result<Report, RunError> {
        let (tree, build) = match self.commands.is_cargo {
            true => (&self.trees.both[which], None),
            false => (self.trees.recorded(which)?, self.commands.build.first().map(String::as_str)),
        };
        (self.record)(&tree.here(), build, &self.commands.words)
    }

    /// The changes to try, with what each is about.
    fn chosen<'r>(
        &self,
        report: &'r Report,
    ) -> Result<Vec<(ProposedChange, Option<ChangeSubject<'r>>)>, RunError> {
        let all = ChangeSubject::all(report);
        if matches!(&report.source, Source::Run(run) if run.processes == 0) {
            let why =
                "nothing was recorded: no instrumented program ran; fix records Rust, C and C++";
            return Err(why.to_owned().into());
        }
        if all.is_empty() {
            let said = report.answer.as_ref().map_or("the report proposes none", |it| &it.headline);
            let said = said.trim_end_matches('.');
            return Err(format!(
                "there is no change to try: {said}; a benchmark with more threads that runs longer may show more, and `tenure run` says what was seen"
            )
            .into());
        }
        let numbers = &self.request.numbers;
        if numbers.is_empty() {
            let mut edits = Vec::new();
            let is_new = |(_, subject): &(ProposedChange, Option<ChangeSubject<'_>>)| {
                let Some(Ok(edit)) = subject.map(ChangeSubject::edit) else { return true };
                let is_known = edits.iter().any(|known| is_same(known, &edit));
                edits.push(edit);
                !is_known
            };
            return Ok(all.into_iter().filter(is_new).take(DEFAULT_CHANGES).collect());
        }
        let mut chosen = Vec::new();
        for number in numbers {
            match all.iter().find(|(it, _)| it.finding == *number) {
                Some(change) => chosen.push(change.clone()),
                None => {
                    let known: Vec<_> = all.iter().map(|(it, _)| it.finding.to_string()).collect();
                    let known = known.join(", ");
                    return Err(format!("the report has no change {number}: it has {known}").into());
                }
            }
        }
        Ok(chosen)
    }

    /// Refuses a report of which no change's place is in the tree, or in a package that the program has.
    fn check_places(
        &self,
        changes: &[(ProposedChange, Option<ChangeSubject<'_>>)],
    ) -> Result<(), RunError> {
        let places =
            changes.iter().filter_map(|(_, subject)| match subject.as_ref()?.edit().ok()?.1.at {
                EditPlace::Known(place) => Some(place),
                EditPlace::Declared { .. } => None,
            });
        let places: Vec<_> = places.collect();
        let tree = &self.trees.both[1];
        let is_here = |it: &SourcePlace| tree.find(&it.file).is_some() || self.trees.has(&it.file);
        if places.is_empty() || places.len() < changes.len() || places.iter().any(is_here) {
            return Ok(());
        }
        let places: Vec<_> = places.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        Err(format!("the report may be of another program: {places} is not in this tree").into())
    }

    /// A place with its file's path from the top of the tree, if it is there: that of a copy is gone when it is read.
    fn in_tree(&self, place: &str) -> String {
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        match self.trees.both[1].find(Path::new(file)) {
            Some(found) => format!("{}:{line}", found.display()),
            None => place.to_owned(),
        }
    }

    fn tried(
        &self,
        change: &ProposedChange,
        about: Option<ChangeSubject<'_>>,
        line_bytes: u64,
        progress: &dyn Progress,
    ) -> Result<TriedChange, RunError> {
        let subject = format!("change {}", change.finding);
        let mut tried = TriedChange {
            number: change.finding,
            place: self.in_tree(&change.place),
            what: change.what.clone(),
            predicted: change.gains.clone(),
            outcome: FixOutcome::DoesNotPay,
            measured: None,
            is_silent: None,
            edits: Vec::new(),
        };
        let asked = about.ok_or_else(|| "the report does not have its finding".to_owned());
        let (about, (edit, start)) = match asked.and_then(|it| Ok((it, it.edit()?))) {
            Ok(asked) => asked,
            Err(why) => {
                progress.advance(STEPS);
                return Ok(TriedChange { outcome: FixOutcome::ByHand { why }, ..tried });
            }
        };
        progress.at(&subject, "building");
        let copied = self.trees.copied();
        let outcome = self.made(&edit, &start, line_bytes, &mut tried, &subject, progress);
        match outcome {
            Ok(()) => {}
            Err(RunError::Stopped) => return Err(RunError::Stopped),
            Err(RunError::Failed(why)) => {
                self.trees.withdraw()?;
                // A copy may be what does not build.
                self.trees.take_back(copied)?;
                tried.outcome = FixOutcome::Withdrawn { why };
                return Ok(tried);
            }
        }
        progress.at(&subject, "recording again");
        tried.is_silent = match self.recorded(1) {
            Ok(again) => Some(!again.findings.iter().any(|it| about.is_still(it))),
            // What was measured stands.
            Err(RunError::Stopped | RunError::Failed(_)) => None,
        };
        progress.advance(1);
        let rows = tried.measured.iter().flat_map(|it| &it.rows);
        let verdicts: Vec<_> = rows.map(|row| row.verdict).collect();
        let pays = verdicts.contains(&ComparisonVerdict::Faster)
            && !verdicts.contains(&ComparisonVerdict::Slower);
        let is_predicted = change.gains.last().is_some_and(|gain| gain.range[0] > 1.0);
        tried.outcome = match () {
            () if pays => FixOutcome::Kept,
            () if self.request.keep_predicted && is_predicted => FixOutcome::KeptPredicted,
            () => FixOutcome::DoesNotPay,
        };
        if tried.outcome == FixOutcome::DoesNotPay {
            self.trees.withdraw()?;
        } else {
            self.trees.keep()?;
            // Later changes are compared with it.
            match build::build(&self.trees.both[0], &self.commands, None, self.stop) {
                Ok(()) | Err(RunError::Stopped) => {}
                failed => failed?,
            }
        }
        Ok(tried)
    }

    /// Edits, builds, tests and measures.
    fn made(
        &self,
        change: &SourceChange,
        start: &EditStart,
        line_bytes: u64,
        tried: &mut TriedChange,
        subject: &str,
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        let [without, with] = &self.trees.both;
        let options = EditOptions { line_bytes, padding: self.request.padding };
        let dependency = |file: &Path| self.trees.dependency(file);
        let editor = Editor { tree: with, built: without, options, dependency: &dependency };
        let FirstEdits { place, before, edits, notes } = editor.first(change, start)?;
        notes.into_iter().for_each(|it| self.note(it));
        if place.file.is_absolute() {
            // It is compared with the tree that uses a copy of the package too.
            build::build(without, &self.commands, None, self.stop)?;
        }
        with.edit(&edits)?;
        let edited = Edited { change, place: &place, before: &before, options: &options };
        build::build(with, &self.commands, Some(&edited), self.stop)?;
        tried.edits = self.trees.edits()?;
        if let Some(name) = self.trees.vendored() {
            self.note(format!(
                "Cargo does not see that {name}, which is vendored, changes: `cargo clean -p {name}` after the patch is applied"
            ));
        }
        progress.advance(1);
        if let Some(test) = &self.commands.test {
            progress.at(subject, "testing");
            let run = command(with, test).outcome(None, self.stop)?;
            if run.failure.is_some() {
                return Err(format!("its tests fail: {}", build::first_error(&run)).into());
            }
        }
        progress.advance(1);
        progress.at(subject, "comparing");
        let comparison = CompareRequest {
            commands: [0, 1].map(|it| command(&self.trees.both[it], &self.commands.run)),
            revisions: [None, Some("with the change".to_owned())],
            metric: self.request.metric.clone(),
            threads: Vec::new(),
            within: 0.02,
            rounds: self.request.rounds,
            time: self.request.time,
        }
        .compare(self.stop, &())?;
        match comparison.ended {
            ComparisonEnd::Interrupted => return Err(RunError::Stopped),
            ComparisonEnd::Failed => {
                let how = comparison.notes.last().cloned().unwrap_or_default();
                return Err(format!("its benchmark fails {how}").into());
            }
            ComparisonEnd::Narrow | ComparisonEnd::Rounds | ComparisonEnd::Time => {}
        }
        progress.advance(1);
        tried.measured = Some(comparison);
        Ok(())
    }

    fn note(&self, line: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&line) {
            notes.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_table_ask_for_one_edit() {
        let declared = |types: &[&str], file: &str| {
            let types = types.iter().map(|it| (*it).to_owned()).collect();
            let at = EditPlace::Declared { files: vec![file.to_owned()] };
            (SourceChange::TypeApart, EditStart { types, at })
        };
        let one = declared(&["SeqLock"], "a.rs");
        assert!(is_same(&one, &declared(&["SeqLock"], "b.rs")));
        assert!(!is_same(&one, &declared(&["Slot"], "a.rs")));
        let known = |line| {
            let at = EditPlace::Known(SourcePlace { file: "a.c".into(), line });
            (SourceChange::TypeApart, EditStart { types: Vec::new(), at })
        };
        assert!(is_same(&known(3), &known(3)) && !is_same(&known(3), &known(4)));
        assert!(!is_same(&one, &known(3)));
        let borrow = (SourceChange::Borrow, known(3).1);
        assert!(!is_same(&borrow, &known(3)));
    }
}
