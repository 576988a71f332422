//! From a request to a report.

use std::path::PathBuf;

use rayon::prelude::*;

use tenure_report::Progress;

use crate::Error;
use crate::check;
use crate::evidence::Evidence;
use crate::knowledge::Knowledge;
use crate::lines::Layouts;
use crate::listed::{self, Listed};
use crate::names;
use crate::rules::{Glob, Rules};
use crate::sharing::{self, Found};
use crate::suggest::{Pins, suggest};
use tenure_find::{
    CodeRead, OperandShare, Origin, Report, Scope, Source, Suggestion, Types, Unmended,
};
use tenure_types::code::sweep::{self, Operands, Sweep};
use tenure_types::model::{Format, Kind, Model, TypeId};
use tenure_types::read::{self, Input};

/// With more types, only those with findings get a map.
const MOST_MAPS: usize = 64;

/// What to analyse.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to read.
    pub input: Input,
    /// How to read it.
    pub options: read::Options,
    /// Patterns of type names (`*` for anything); empty for all types.
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
    /// Of a cache line.
    pub line_bytes: u64,
}

/// Reads, analyses and reports. Returns the model too, for further questions.
///
/// # Errors
///
/// Unreadable or malformed input, a mistake in a rules file, a pattern that matches no type, a pin that names no
/// member.
///
/// # Panics
///
/// [`Request::line_bytes`] is not a power of two.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<(Model, Report), Error> {
    let (knowledge, checks) = knowledge(request)?;
    let (model, sweep) = match request.code {
        true => sweep::read(&request.input, &request.options, progress)?,
        false => {
            let model = read::read(&request.input, &request.options, progress)?;
            (model, Err("it was not asked for".to_owned()))
        }
    };
    let report = analyse(request, &knowledge, checks.as_ref(), &model, &sweep, progress)?;
    Ok((model, report))
}

fn analyse(
    request: &Request,
    knowledge: &Knowledge,
    checks: Option<&Rules>,
    model: &Model,
    sweep: &Result<Sweep, String>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let mut evidence = sweep.as_ref().ok().map(|sweep| Evidence::new(model, sweep));
    if let Some(evidence) = &mut evidence {
        evidence.misses_words = code(sweep).misses_words();
    }
    let roles = knowledge.roles_with(model, evidence.as_ref());
    let layouts = Layouts::new(model, &roles, request.line_bytes).with_evidence(evidence.as_ref());
    let asked = Asked::of(request, model)?;
    let pins = Pins::new(&request.pins);
    if let Some(pin) = pins.unknown(&layouts).first() {
        return Err(Error::new(format!("--pin {pin}: no type has such a member")));
    }
    let found = sharing::find(&layouts);
    let listed = listed::list(&layouts, &found);
    let mut wanted: Vec<Listed<'_>> =
        listed.into_iter().filter(|one| asked.wants(&layouts, one.found)).collect();
    wanted.sort_by_key(|one| one.origin);
    let of = |origin| wanted.iter().filter(|one| one.origin == origin).count() as u64;
    let (dependencies, standard) = match request.all || asked.names_some() {
        true => (0, 0),
        false => (of(Origin::Dependency), of(Origin::Standard)),
    };
    if dependencies + standard > 0 {
        wanted.retain(|one| one.origin == Origin::Yours);
    }
    if wanted.is_empty() && !asked.files.is_empty() {
        asked.is_declared_somewhere(request, model)?;
    }
    let reported = &wanted[..wanted.len().min(request.top)];
    let types = asked.types_of(reported);
    let source = Source::Types(read_types(request, &layouts, sweep));
    let mut report = Report::new(source, request.line_bytes, listed::findings(&layouts, reported));
    report.scope = Scope {
        types: request.types.clone(),
        findings: wanted.len() as u64,
        top: request.top as u64,
        dependencies,
        standard,
    };
    report.maps = types.iter().map(|&id| layouts.map(id)).collect();
    if request.suggest {
        (report.suggestions, report.unmended) = repairs(&layouts, &types, &pins, progress);
    }
    if let Some(rules) = checks {
        report.checks = check::check(rules, model, request.line_bytes);
    }
    Ok(report)
}

fn knowledge(request: &Request) -> Result<(Knowledge, Option<Rules>), Error> {
    let mut knowledge = Knowledge::builtin();
    for path in &request.rules {
        knowledge = knowledge.with(&Rules::read(path)?);
    }
    let Some(path) = &request.check else { return Ok((knowledge, None)) };
    let rules = Rules::read(path)?;
    if rules.checks().is_empty() {
        return Err(Error::new(format!(
            "{} holds no check; add [[apart]] or [[group]], or give it to --rules",
            path.display()
        )));
    }
    Ok((knowledge.with(&rules), Some(rules)))
}

fn read_types(request: &Request, layouts: &Layouts<'_>, sweep: &Result<Sweep, String>) -> Types {
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

struct Asked {
    types: Option<Vec<TypeId>>,
    files: Vec<Glob>,
}

impl Asked {
    fn of(request: &Request, model: &Model) -> Result<Self, Error> {
        let files = request.declared_in.iter().map(|word| Glob::new(word)).collect();
        if request.types.is_empty() {
            return Ok(Self { types: None, files });
        }
        let mut types = Vec::new();
        for word in &request.types {
            let glob = Glob::new(word);
            let before = types.len();
            let spelled = |name: &str| {
                let short = names::shortened(name);
                [name, &short, names::held(name), names::held(&short)]
                    .into_iter()
                    .any(|name| glob.matches(name))
            };
            let named = model.composites().filter(|(_, ty, _)| spelled(&ty.name));
            types.extend(named.map(|(id, _, _)| id));
            if types.len() == before {
                return Err(unknown_type(word, model));
            }
        }
        let mut seen = std::collections::HashSet::new();
        types.retain(|id| seen.insert(*id));
        Ok(Self { types: Some(types), files })
    }

    fn names_some(&self) -> bool {
        self.types.is_some() || !self.files.is_empty()
    }

    /// Whether a type is in a module that was asked for, or in one inside.
    fn in_modules(&self, name: &str) -> bool {
        let module = names::module(name);
        let ends = module.match_indices("::").map(|(at, _)| at).chain([module.len()]);
        let mut paths = ends.map(|end| &module[..end]).filter(|path| !path.is_empty());
        paths.any(|path| self.files.iter().any(|glob| glob.matches(path)))
    }

    fn is_declared_somewhere(&self, request: &Request, model: &Model) -> Result<(), Error> {
        if model.composites().any(|(_, ty, _)| self.in_modules(&ty.name)) {
            return Ok(());
        }
        let mut files = model.composites().filter_map(|(_, ty, _)| ty.declared.as_ref()).peekable();
        let why = match (model.format(), files.peek()) {
            (Format::Btf, _) => "BTF does not say where types are declared; DWARF does".to_owned(),
            (Format::Dwarf, None) => {
                let mut crates: Vec<_> = model.crates().iter().map(|(name, _)| &**name).collect();
                crates.dedup();
                format!(
                    "rustc does not say where types are declared, and no crate or module is like `{}`; crates are {}",
                    request.declared_in.join("`, `"),
                    crates.join(", ")
                )
            }
            (Format::Dwarf, Some(first)) => {
                let example = first.file.clone();
                if files.any(|at| self.files.iter().any(|file| file.matches(&at.file))) {
                    return Ok(());
                }
                let patterns = request.declared_in.join("`, `");
                format!(
                    "no type is declared in a file like `{patterns}`; files are spelled like `{example}`"
                )
            }
        };
        Err(Error::new(format!("--in: {why}")))
    }

    fn wants(&self, layouts: &Layouts<'_>, found: &Found) -> bool {
        let (name, declared) = found.subject(layouts);
        let in_files = || {
            declared.is_some_and(|at| self.files.iter().any(|file| file.matches(&at.file)))
                || self.in_modules(name)
        };
        if !self.files.is_empty() && !in_files() {
            return false;
        }
        let Some(types) = &self.types else { return true };
        let concerned = [found.type_id(), found.array_owner(), found.inner(layouts)];
        concerned.into_iter().flatten().any(|id| types.contains(&id))
    }

    /// The types to draw: those requested, or those of the findings.
    fn types_of(&self, reported: &[Listed<'_>]) -> Vec<TypeId> {
        let of_findings = reported.iter().filter_map(|one| one.found.type_id());
        let mut all: Vec<TypeId> = match &self.types {
            Some(types) if types.len() <= MOST_MAPS => types.clone(),
            Some(types) => of_findings.filter(|id| types.contains(id)).collect(),
            None => of_findings.collect(),
        };
        let mut seen = std::collections::HashSet::new();
        all.retain(|id| seen.insert(*id));
        all
    }
}

fn unknown_type(word: &str, model: &Model) -> Error {
    let names = model.composites().map(|(_, ty, _)| &*ty.name);
    let close = crate::rules::closest(word, names.filter(|name| !name.is_empty()));
    let hint = match close {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`*` stands for anything, as in `dst_*`".to_owned(),
    };
    Error::new(format!("no struct, class or union matches `{word}`; {hint}"))
}

fn repairs(
    layouts: &Layouts<'_>,
    types: &[TypeId],
    pins: &Pins,
    progress: &dyn Progress,
) -> (Vec<Suggestion>, Vec<Unmended>) {
    progress.begin("looking for better orders", types.len() as u64);
    let results: Vec<_> = types
        .par_iter()
        .filter(|&&id| matches!(layouts.model[id].kind, Kind::Composite { .. }))
        .map(|&id| {
            let result = suggest(layouts, id, pins);
            progress.advance(1);
            result.map_err(|why| Unmended { type_name: layouts.spelled(id), why })
        })
        .collect();
    progress.end();
    let (mut suggestions, mut unmended) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(suggestion) => suggestions.push(suggestion),
            Err(without) => unmended.push(without),
        }
    }
    (suggestions, unmended)
}
