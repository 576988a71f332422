//! Tries one change after another.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_edit::c::SourceText;
use tenure_edit::{EditOptions, Padding, SourceChange, SourcePlace, c, rust};
use tenure_measure::command::RunError;
use tenure_measure::compare::CompareRequest;
use tenure_measure::figures::Metric;
use tenure_model::{
    ComparisonEnd, ComparisonVerdict, FixOutcome, FixReport, Language, Progress, ProposedChange,
    Report, SourceEdit, TriedChange,
};
use tenure_report::machine;

use crate::asked::{ChangeSubject, EditPlace, EditStart};
use crate::build::{self, Commands, Edited, command};
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

struct Trial<'a> {
    request: &'a FixRequest,
    trees: TreeCopies,
    commands: Commands,
    stop: &'a (dyn Fn() -> bool + Sync),
    record: &'a RecordAgain<'a>,
    /// What the reader has to know besides.
    notes: RefCell<Vec<String>>,
}

/// What a change begins with.
struct FirstEdits {
    /// Its place, whose file is a path in the tree.
    place: SourcePlace,
    /// The text of that file.
    before: String,
    edits: Vec<SourceEdit>,
}

impl Trial<'_> {
    fn run(&self, report: Option<Report>, progress: &dyn Progress) -> Result<FixReport, RunError> {
        progress.begin("building", 1);
        progress.at("the unmodified program", "as it will be measured");
        let without = &self.trees.both[0];
        build::build(without, &self.commands, None, self.stop)?;
        self.try_unmodified(progress)?;
        let report = match report {
            Some(report) => report,
            None => {
                progress.begin("recording", 1);
                progress.at("the unmodified program", "instrumented");
                self.recorded(0)?
            }
        };
        let changes = self.chosen(&report)?;
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
                    self.note("It was interrupted: later changes were not tried".to_owned());
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
            return Ok(all.into_iter().take(DEFAULT_CHANGES).collect());
        }
        let mut chosen = Vec::new();
        for number in numbers {
            match all.iter().find(|(it, _)| it.number == *number) {
                Some(change) => chosen.push(change.clone()),
                None => {
                    let known: Vec<_> = all.iter().map(|(it, _)| it.number.to_string()).collect();
                    let known = known.join(", ");
                    return Err(format!("the report has no change {number}: it has {known}").into());
                }
            }
        }
        Ok(chosen)
    }

    fn tried(
        &self,
        change: &ProposedChange,
        about: Option<ChangeSubject<'_>>,
        line_bytes: u64,
        progress: &dyn Progress,
    ) -> Result<TriedChange, RunError> {
        let subject = format!("change {}", change.number);
        let mut tried = TriedChange {
            number: change.number,
            place: change.place.clone(),
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
        let outcome = self.made(&edit, &start, line_bytes, &mut tried, &subject, progress);
        match outcome {
            Ok(()) => {}
            Err(RunError::Stopped) => return Err(RunError::Stopped),
            Err(RunError::Failed(why)) => {
                self.trees.withdraw()?;
                tried.outcome = FixOutcome::Withdrawn { why };
                return Ok(tried);
            }
        }
        progress.at(&subject, "recording again");
        tried.is_silent = match self.recorded(1) {
            Ok(again) => Some(!again.findings.iter().any(|it| about.is_still(it))),
            Err(RunError::Stopped) => return Err(RunError::Stopped),
            Err(RunError::Failed(_)) => None,
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
            build::build(&self.trees.both[0], &self.commands, None, self.stop)?;
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
        let [_, with] = &self.trees.both;
        let options = EditOptions { line_bytes, padding: self.request.padding };
        let FirstEdits { place, before, edits } = self.first(change, start, &options)?;
        if place.file.starts_with("..") {
            // It is compared with the tree that uses the same copy of the crate.
            build::build(&self.trees.both[0], &self.commands, None, self.stop)?;
        }
        with.edit(&edits)?;
        let edited = Edited { change, place: &place, before: &before, options: &options };
        build::build(with, &self.commands, Some(&edited), self.stop)?;
        tried.edits = self.trees.edits()?;
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

    /// The first edits, and where they begin.
    fn first(
        &self,
        change: &SourceChange,
        start: &EditStart,
        options: &EditOptions,
    ) -> Result<FirstEdits, String> {
        let with = &self.trees.both[1];
        let at = |place: SourcePlace| {
            let before = with.read(&place.file)?;
            let edits = self.edits(change, &place, &before, options, &start.types)?;
            Ok(FirstEdits { place, before, edits })
        };
        match &start.at {
            EditPlace::Known(place) => {
                let file = match with.find(&place.file) {
                    Some(file) => Some(file),
                    None => self.trees.dependency(&place.file)?,
                };
                let file = file.ok_or_else(|| format!("{place} is not in this tree"))?;
                let known = at(SourcePlace { file, line: place.line });
                // The place may be that of a variable, whose type is declared elsewhere.
                known.or_else(|refusal| {
                    self.declared(change, &start.types, &[], &at).map_err(|_| refusal)
                })
            }
            EditPlace::Declared { files } => self.declared(change, &start.types, files, &at),
        }
    }

    /// The first edits at the one declaration that can be edited: of these types, in the tree or in the crates of a registry that use
    /// the words; or of a type whose struct is a member of another one, in the tree's own files that use them.
    fn declared(
        &self,
        change: &SourceChange,
        types: &[String],
        files: &[String],
        at: &dyn Fn(SourcePlace) -> Result<FirstEdits, String>,
    ) -> Result<FirstEdits, String> {
        let with = &self.trees.both[1];
        let mut why = "its declaration is not in this tree".to_owned();
        let mut in_folder = |folder: &Path| {
            for name in types {
                let mut edited = Vec::new();
                let places = with.declarations(folder, Some(name), &[]);
                for place in self.trees.both[0].compiled(places) {
                    match at(place) {
                        Ok(found) => edited.push(found),
                        Err(refusal) => why = refusal,
                    }
                }
                if let [one, other, ..] = &edited[..] {
                    let (one, other) = (&one.place, &other.place);
                    return Err(format!("{name} is declared at {one} and at {other}"));
                }
                if let Some(found) = edited.pop() {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        };
        if let Some(found) = in_folder(Path::new(""))? {
            return Ok(found);
        }
        // Only now: a crate that is copied is built anew.
        let mut folders = Vec::new();
        for file in files {
            if let Some(file) = self.trees.dependency(Path::new(file))? {
                // `../crates/NAME-VERSION`
                folders.push(file.components().take(3).collect::<PathBuf>());
            }
        }
        folders.dedup();
        for folder in folders {
            if let Some(found) = in_folder(&folder)? {
                return Ok(found);
            }
        }
        let own: Vec<PathBuf> = files.iter().filter_map(|it| with.find(Path::new(it))).collect();
        // Only a member's name tells that it is the one.
        let all = match own.is_empty() || change.names().is_empty() {
            true => Vec::new(),
            false => with.declarations(Path::new(""), None, &own),
        };
        let mut edited: Vec<_> = all.into_iter().filter_map(|place| at(place).ok()).collect();
        match edited.len() {
            1 => Ok(edited.remove(0)),
            _ => Err(why),
        }
    }

    /// The first edits, whose files are paths in the tree.
    fn edits(
        &self,
        change: &SourceChange,
        place: &SourcePlace,
        text: &str,
        options: &EditOptions,
        types: &[String],
    ) -> Result<Vec<SourceEdit>, String> {
        let with = &self.trees.both[1];
        let ending = place.file.extension().and_then(|it| it.to_str()).unwrap_or_default();
        if ending == "rs" {
            let edits = rust::edits(text, change, place, options).map_err(|it| it.to_string())?;
            let in_file =
                |edit| SourceEdit { file: place.file.to_string_lossy().into_owned(), ..edit };
            return Ok(edits.into_iter().map(in_file).collect());
        }
        let mut files = vec![place.file.clone()];
        for name in change.names().iter().chain(types) {
            files.extend(with.mention(name, &ENDINGS.map(|(ending, _)| ending)));
        }
        files.sort();
        files.dedup();
        let language = |file: &Path| {
            let ending = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
            ENDINGS.iter().find(|it| it.0 == ending).map(|it| it.1)
        };
        // A header's language is that of the file that it is for, as far as can be told: C++ if any file beside it is.
        let has_cpp = files.iter().any(|file| language(file) == Some(Language::Cpp));
        let texts: Vec<(PathBuf, String)> = files
            .into_iter()
            .filter_map(|file| Some((file.clone(), with.read(&file).ok()?)))
            .collect();
        let sources: Vec<SourceText<'_>> = texts
            .iter()
            .filter_map(|(file, text)| {
                let of_file = language(file)?;
                let is_header = file.extension().is_some_and(|it| it == "h");
                Some(SourceText {
                    file,
                    text,
                    language: if is_header && has_cpp { Language::Cpp } else { of_file },
                })
            })
            .collect();
        let edits = c::edits(&sources, change, place, options).map_err(|it| it.to_string())?;
        for note in c::alignment_notes(&sources, change, place, options) {
            self.note(format!(
                "{}: {}, so the type may not start a line there",
                note.place, note.why
            ));
        }
        Ok(edits)
    }

    fn note(&self, line: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&line) {
            notes.push(line);
        }
    }
}

const ENDINGS: [(&str, Language); 9] = [
    ("c", Language::C),
    ("h", Language::C),
    ("cc", Language::Cpp),
    ("cpp", Language::Cpp),
    ("cxx", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("inl", Language::Cpp),
];
