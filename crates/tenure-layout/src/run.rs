//! From a request to a report.

use std::path::PathBuf;

use rayon::prelude::*;

use tenure_model::Progress;

use crate::asked::TypeFilter;
use crate::check;
use crate::evidence::CodeEvidence;
use crate::knowledge::Knowledge;
use crate::lines::LayoutModel;
use crate::listed;
use crate::measured::{EntrySource, Joined, ListEntry, entries};
use crate::origin::TypeOrigins;
use crate::rules::{Rules, SuppressedTypes};
use crate::sharing;
use crate::suggest::{Pins, apart_alone, suggest};
use crate::{Error, LINE_BYTES};
use tenure_code::sweep::{self, Operands, Sweep};
use tenure_debuginfo::model::{Format, Model, TypeId};
use tenure_debuginfo::perf::ProgramSamples;
use tenure_debuginfo::read::{self, Input};
use tenure_model::{
    CodeRead, Finding, OperandShare, Origin, Report, Scope, Sharing, Source, Suggestion,
    Suppression, Types, Unfixed,
};

/// What to analyse.
#[derive(Debug, Clone)]
pub struct LayoutRequest {
    /// What to read.
    pub input: Input,
    /// How to read it.
    pub options: read::Options,
    /// Patterns of the names of types and variables (`*` for anything); empty for all.
    pub types: Vec<String>,
    /// Patterns of the declaring files or, in Rust, of crates and modules; empty for all.
    pub declared_in: Vec<String>,
    /// Also findings of dependencies and standard libraries, where nothing is asked for by name.
    pub all: bool,
    /// The most findings to report.
    pub top: usize,
    /// Whether to propose repairs of the reported types.
    pub suggest: bool,
    /// Members to leave in place, with all before them: `MEMBER` or `TYPE.MEMBER`.
    pub pins: Vec<String>,
    /// Files with rules beyond the built-in ones.
    pub rules: Vec<PathBuf>,
    /// A file with checks, whose rules count as well.
    pub check: Option<PathBuf>,
    /// Whether to read the program's code too: what it does to members.
    pub code: bool,
    /// What `perf` has recorded of the program: a `perf.data` file, or what `perf script` printed; `-` is standard input.
    /// It needs the code.
    pub perf: Option<PathBuf>,
    /// Bytes of a cache line.
    pub line_bytes: u64,
}

/// The worst findings of the running kernel, by its types alone.
impl Default for LayoutRequest {
    fn default() -> Self {
        Self {
            input: Input::Kernel,
            options: read::Options::default(),
            types: Vec::new(),
            declared_in: Vec::new(),
            all: false,
            top: 20,
            suggest: false,
            pins: Vec::new(),
            rules: Vec::new(),
            check: None,
            code: false,
            perf: None,
            line_bytes: LINE_BYTES,
        }
    }
}

/// Reads, analyses and reports. Returns the model too, for further questions.
///
/// # Errors
///
/// Unreadable or malformed input, a mistake in a rules file, a pattern that matches nothing, a pin that names no
/// member; a recording that is none, or not of this program.
///
/// # Panics
///
/// [`LayoutRequest::line_bytes`] is not a power of two.
pub fn run(request: &LayoutRequest, progress: &dyn Progress) -> Result<(Model, Report), Error> {
    let rules = rules(request)?;
    let recording = recording(request)?;
    let code = recording.as_ref().map_or_else(Vec::new, ProgramSamples::code);
    let (model, sweep) = match request.code {
        true => sweep::read_at(&request.input, &request.options, &code, progress)?,
        false => (read::read(&request.input, &request.options, progress)?, Err(UNASKED.to_owned())),
    };
    if let (Some(_), Err(why)) = (&request.perf, &sweep) {
        return Err(Error::new(format!("--perf needs the program's code: {why}")));
    }
    let read = LoadedInput { model: &model, sweep: &sweep, recording: recording.as_ref() };
    let report = analyse(request, &rules, read, progress)?;
    Ok((model, report))
}

/// The same for a model that was read, without a program's code.
///
/// # Errors
///
/// The same as of [`run`](fn@run).
///
/// # Panics
///
/// The same as of [`run`](fn@run).
pub fn of_model(model: &Model, request: &LayoutRequest) -> Result<Report, Error> {
    let read = LoadedInput { model, sweep: &Err(UNASKED.to_owned()), recording: None };
    analyse(request, &rules(request)?, read, &())
}

/// Why the code was not read.
const UNASKED: &str = "it was not asked for";

/// What was read.
#[derive(Clone, Copy)]
struct LoadedInput<'r> {
    model: &'r Model,
    sweep: &'r Result<Sweep, String>,
    recording: Option<&'r ProgramSamples>,
}

/// What is known of names, and what is to be checked.
struct LoadedRules {
    knowledge: Knowledge,
    checks: Option<Rules>,
    suppressed: Vec<SuppressedTypes>,
}

fn recording(request: &LayoutRequest) -> Result<Option<ProgramSamples>, Error> {
    match (&request.perf, &request.input) {
        (Some(path), Input::File(program)) => ProgramSamples::read(path, program).map(Some),
        (Some(_), Input::Kernel) => Err(Error::new(
            "--perf needs the program's code: pass vmlinux instead of --kernel".to_owned(),
        )),
        (None, _) => Ok(None),
    }
}

fn analyse(
    request: &LayoutRequest,
    LoadedRules { knowledge, checks, suppressed }: &LoadedRules,
    LoadedInput { model, sweep, recording }: LoadedInput<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let evidence = sweep.as_ref().ok().map(|sweep| CodeEvidence::new(model, sweep));
    let roles = knowledge.roles(model, evidence.as_ref());
    let layouts =
        LayoutModel::new(model, &roles, request.line_bytes).with_evidence(evidence.as_ref());
    let asked = TypeFilter::of(&request.types, &request.declared_in, model)?;
    let pins = Pins::new(&request.pins);
    if let Some(pin) = pins.unknown(&layouts).first() {
        return Err(Error::new(format!("--pin {pin}: no type has such a member")));
    }
    let mut found = sharing::find(&layouts);
    let at = sweep.as_ref().map_or(&[][..], |sweep| &sweep.at);
    let joined = recording.map(|recording| Joined::new(&layouts, recording, at, &mut found));
    let origins = TypeOrigins::of(model);
    let listed = listed::list(&layouts, &origins, &found);
    let mut wanted: Vec<ListEntry<'_>> = match &joined {
        Some(joined) => joined.entries(listed, &origins, |one| asked.wants(&layouts, one)),
        None => entries(listed),
    };
    wanted.retain(|one| asked.wants(&layouts, one));
    let mut left_out = vec![0_u64; suppressed.len()];
    wanted.retain(|one| {
        let (name, _) = one.subject(&layouts);
        let is_it = |it: &SuppressedTypes| it.types.iter().any(|types| types.matches(name));
        let at = suppressed.iter().position(is_it);
        at.map(|at| left_out[at] += 1).is_none()
    });
    wanted.sort_by_key(ListEntry::section);
    let of = |section| wanted.iter().filter(|one| one.section() == section).count() as u64;
    let (dependencies, standard) = match request.all || asked.names_some() {
        true => (0, 0),
        false => (of(Some(Origin::Dependency)), of(Some(Origin::Standard))),
    };
    if dependencies + standard > 0 {
        wanted.retain(|one| one.section() <= Some(Origin::Yours));
    }
    if wanted.is_empty() {
        asked.is_declared_somewhere(model)?;
    }
    let reported = &wanted[..wanted.len().min(request.top)];
    let types = asked.types_of(reported);
    let mut read = read_types(request, &layouts, sweep);
    if let (Some(joined), Some(path)) = (&joined, &request.perf) {
        read.recorded = Some(Box::new(joined.recorded(path.display().to_string())));
    }
    let finding = |entry: &ListEntry<'_>| {
        let finding = match &entry.what {
            EntrySource::Own(own) => own.finding.clone(),
            EntrySource::Listed(one) => {
                let mut finding = listed::finding(&layouts, one);
                if let Some(joined) = &joined {
                    joined.add_to(&mut finding, one.found);
                }
                if request.suggest {
                    finding.repairs.extend(apart_alone(&layouts, &origins, one.found));
                }
                finding
            }
        };
        Finding { rank: entry.rank as u64, ..finding }
    };
    let findings = reported.iter().map(finding).collect();
    let mut report = Report::new(Source::Types(read), request.line_bytes, findings);
    report.scope = Scope {
        types: request.types.clone(),
        findings: wanted.len() as u64,
        top: request.top as u64,
        dependencies,
        standard,
        suppressed: suppressed
            .iter()
            .zip(left_out)
            .map(|(it, findings)| Suppression { reason: it.reason.clone(), findings })
            .collect(),
    };
    report.maps = types.iter().map(|&id| layouts.map(id)).collect();
    for (finding, entry) in report.findings.iter().zip(reported) {
        let of_type = entry.type_id().and_then(|id| types.iter().position(|other| *other == id));
        if let (EntrySource::Own(_), Some(at)) = (&entry.what, of_type) {
            Joined::mark(finding, &mut report.maps[at]);
        }
    }
    if request.suggest {
        (report.suggestions, report.unfixed) = repairs(&layouts, &types, &pins, progress);
        // What fixes elements is said with the finding.
        let is_of_elements = |name: &str| {
            let mut of_type = report.findings.iter().filter(|one| one.type_name == name);
            of_type.any(|one| matches!(one.sharing, Sharing::Elements { .. }))
        };
        report.unfixed.retain(|one| !is_of_elements(&one.type_name));
    }
    if let Some(rules) = checks {
        report.checks = check::check(rules, model, request.line_bytes);
    }
    Ok(report)
}

fn rules(request: &LayoutRequest) -> Result<LoadedRules, Error> {
    let mut knowledge = Knowledge::builtin();
    let mut suppressed = Vec::new();
    for path in &request.rules {
        let mut rules = Rules::read(path)?;
        suppressed.append(&mut rules.suppressed);
        knowledge = knowledge.with(&rules);
    }
    let Some(path) = &request.check else {
        return Ok(LoadedRules { knowledge, checks: None, suppressed });
    };
    let mut rules = Rules::read(path)?;
    suppressed.append(&mut rules.suppressed);
    if rules.checks.is_empty() {
        return Err(Error::new(format!(
            "{} holds no check; add [[apart]] or [[group]], or give it to --rules",
            path.display()
        )));
    }
    Ok(LoadedRules { knowledge: knowledge.with(&rules), checks: Some(rules), suppressed })
}

fn read_types(
    request: &LayoutRequest,
    layouts: &LayoutModel<'_>,
    sweep: &Result<Sweep, String>,
) -> Types {
    let model = layouts.model;
    let composites = || model.composites().filter(|(_, ty, _)| !ty.name.is_empty());
    Types {
        path: request.input.path().display().to_string(),
        format: match model.format() {
            Format::Dwarf => "dwarf",
            Format::Btf => "btf",
        }
        .to_owned(),
        units: model.units(),
        composites: composites().count() as u64,
        contended: composites().filter(|(id, _, _)| layouts.is_contended(*id)).count() as u64,
        statics: model.statics().len() as u64,
        skipped: model.skipped().to_vec(),
        code: request.code.then(|| code(sweep)),
        recorded: None,
    }
}

fn code(sweep: &Result<Sweep, String>) -> CodeRead {
    let sweep = match sweep {
        Ok(sweep) => sweep,
        Err(why) => return CodeRead { unread: Some(why.clone()), ..CodeRead::default() },
    };
    let total = sweep.total();
    let of = |(language, operands): &(&str, Operands)| OperandShare {
        language: (*language).to_owned(),
        operands: operands.all(),
        attributed: operands.attributed,
        plain: operands.plain,
    };
    CodeRead {
        unread: None,
        functions: sweep.functions.len() as u64,
        operands: sweep.operands.iter().map(of).collect(),
        locked: total.locked,
        locked_unknown: total.locked_unknown,
        unknown_in: sweep.unattributed.iter().map(|(name, _)| name.to_string()).collect(),
        skipped: sweep.skipped,
        blind: sweep.blind,
    }
}

fn repairs(
    layouts: &LayoutModel<'_>,
    types: &[TypeId],
    pins: &Pins,
    progress: &dyn Progress,
) -> (Vec<Suggestion>, Vec<Unfixed>) {
    progress.begin("searching for better layouts", types.len() as u64);
    let results: Vec<_> = types
        .par_iter()
        .filter(|&&id| layouts.model[id].kind.is_composite())
        .map(|&id| {
            let result = suggest(layouts, id, pins);
            progress.advance(1);
            result.map_err(|why| Unfixed { type_name: layouts.spelled(id), why })
        })
        .collect();
    progress.end();
    let (mut suggestions, mut unfixed) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(suggestion) => suggestions.push(suggestion),
            Err(without) => unfixed.push(without),
        }
    }
    (suggestions, unfixed)
}
