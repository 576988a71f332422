//! From a recording to a report: names, words in the model of findings, and what mending would give.

mod evidence;
mod forecasts;
mod missing;
pub(crate) mod names;
mod objects;
mod pattern;
mod program;
mod simulator;
mod steps;
mod value;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::Access;
use tenure_model::{
    Finding, Kind, Level, Observed, Report, Role, Run, Sharing, Source, Storage, Word,
};
use tenure_types::code::Place;

use crate::contend::{self, Contended, Locks};
use tenure_model::recording::{Line, Process, Recording};

pub use forecasts::{Forecasts, Found, Predicted};
use missing::Guarded;
use names::Names;
pub use names::Programs;
use pattern::{Memory, Recorded};
pub use tenure_sim::Machine;
use words::{Groups, Named};

/// The machine that mending is predicted on, unless the user names another.
pub const MACHINE: &str = "epyc-2s-256";

/// What was found, the worst first; `run` is the head of the report. What mending the first `predicted` findings would give
/// is left to predict: each takes some tenths of a second.
#[must_use]
pub fn report(
    recording: &Recording,
    programs: &Programs,
    mut run: Run,
    line_bytes: u32,
    predicted: usize,
) -> Found {
    let command = run.command.clone();
    let mut processes = recording.processes.clone();
    let typed = |(process, recorded)| {
        let names = Names::new(recorded, programs);
        let known = objects::typed(process, &names);
        names.with(known)
    };
    let names: Vec<_> = processes.iter_mut().zip(&recording.processes).map(typed).collect();
    let groups: Vec<_> =
        processes.iter().zip(&names).map(|(it, names)| Groups::of(it, names)).collect();
    let all_accesses = recording.contended();
    let mut found: Vec<(Order, usize, Finding, Option<Recorded>)> = Vec::new();
    let mut rare = 0_u64;
    let mut guarded = Guarded::default();
    let mut left_out = 0.0_f64;
    for (at, (process, names)) in processes.iter().zip(&names).enumerate() {
        let (locks, written) = (Locks::of(process), plain_writes(&process.lines));
        let mut shown = BTreeSet::new();
        for mut contended in contend::contended(process) {
            let accesses = || {
                let lines = contended.lines.iter().map(|&line| &process.lines[line]);
                let entries = lines.flat_map(|line| &line.entries);
                entries.map(|entry| entry.count).sum::<u64>()
            };
            if contended.is_rare {
                rare += accesses();
                continue;
            }
            match contended.order(&|code| names.has_no_races(code), &locks) {
                None => {}
                Some(contend::Order::Races) => continue,
                Some(contend::Order::Lock) => {
                    guarded.lines += contended.lines.len();
                    guarded.accesses += accesses();
                    continue;
                }
            }
            let named = Named::new(&contended, &process.lines[contended.lines[0]], names);
            if let Some((start, stride)) = named.known_elements() {
                contended.name_elements(process, start, stride);
            }
            let words = contended.words.clone();
            contended.name(process, |at| named.meaning(at, &words[at], names));
            let (mut finding, recorded) =
                finding(process, &contended, &named, names, &groups[at], &written);
            let observed = finding.observed.as_ref();
            let accesses = observed.map_or(0, |observed| observed.accesses);
            let cost = observed.and_then(|observed| observed.cost);
            let share = cost.unwrap_or(accesses as f64 / all_accesses.max(1) as f64);
            finding.score = 100.0 * share;
            // What was seen to cost time says more than what could have happened.
            let is_sure = finding.confidence.level > Level::Low;
            let cost = cost.map(|cost| (cost * 1e9) as u64);
            let order = (is_sure, cost, contended.possible.capped);
            found.push((order, at, finding, recorded));
            shown.extend(contended.lines);
        }
        left_out = left_out.max(evidence::most_left_out(process, &shown));
    }
    run.missing.extend(missing::too_rare(rare, all_accesses));
    run.missing.extend(guarded.said(all_accesses));
    let coverage = run.watched.as_ref().and_then(|watched| watched.coverage.as_ref());
    let excludes = coverage.map_or(1.0, |coverage| coverage.excludes);
    run.missing.extend(missing::beyond_bound(left_out, excludes));
    if let Some((_, process, ..)) = found.first() {
        let findings = found.iter().map(|(_, _, finding, _)| finding);
        let has_lines = missing::have_lines(findings);
        run.missing.extend(missing::debugging(&processes[*process], has_lines));
    }
    found.sort_by_key(|(order, ..)| std::cmp::Reverse(*order));
    let worst = found.first().map(|(_, process, ..)| *process);
    let of_one_process = found.iter().any(|(_, process, ..)| Some(*process) != worst);
    let groups = worst.and_then(|worst| groups.into_iter().nth(worst)).map(Groups::into_owned);
    let mut forecasts = Forecasts::new(groups, of_one_process);
    let mut findings = Vec::new();
    for (at, (_, process, mut finding, recorded)) in found.into_iter().enumerate() {
        finding.rank = at as u64 + 1;
        if let Some(mut recorded) = recorded.filter(|_| at < predicted) {
            recorded.pattern.about = format!("Finding {} of `{command}`", finding.rank);
            forecasts.add(&mut finding, recorded, Some(process) == worst, line_bytes);
        }
        findings.push(finding);
    }
    run.pattern = forecasts.program();
    let report = Report::new(Source::Run(run), line_bytes.into(), findings);
    Found { report, forecasts }
}

/// What the worst has most of: first those that are known well enough, by the cost where it was measured, and by possible changes of
/// ownership.
type Order = (bool, Option<u64>, u64);

/// A finding without its rank, score and repairs, and its pattern if it has one.
fn finding(
    process: &Process,
    contended: &Contended,
    named: &Named,
    names: &Names<'_>,
    groups: &Groups<'_>,
    written: &BTreeMap<u32, u64>,
) -> (Finding, Option<Recorded>) {
    let worst = &process.lines[contended.lines[0]];
    let shown = words::shown(contended, named, worst, process.line_bytes);
    let mut words = words::words(worst, contended, &shown, named, names, groups);
    let observed = observed(process, contended, named, names, groups);
    let paths = words.iter().map(|(word, _)| word.path.clone());
    let in_pattern: Vec<_> = shown.into_iter().zip(paths).collect();
    let memory = memory(process, contended, named, &observed, written);
    let uses_result = |code: u64| names.uses_result(code);
    let pattern = pattern::pattern(&memory, &in_pattern, groups, &uses_result);
    // The word that moves the line most is the one to mend; the others suffer.
    let hottest = (0..words.len()).max_by_key(|&at| words[at].1).unwrap_or(0);
    let (contended_word, _) = words.remove(hottest);
    let victims: Vec<Word> = words.into_iter().map(|(word, _)| word).collect();
    let finding = Finding {
        rank: 0,
        type_name: named.type_name(),
        declared: named.declared(),
        sharing: sharing(contended, worst, named),
        kind: kind(contended, &contended_word),
        contended: contended_word,
        victims,
        score: 0.0,
        signals: Vec::new(),
        origin: tenure_model::Origin::Yours,
        instances: 1,
        observed: Some(observed),
        measured: None,
        confidence: evidence::confidence(process, contended),
        repairs: Vec::new(),
        forecast: None,
        pattern: None,
    };
    (finding, pattern)
}

/// The plain writes of each thread.
fn plain_writes<'a>(lines: impl IntoIterator<Item = &'a Line>) -> BTreeMap<u32, u64> {
    let mut written = BTreeMap::new();
    for entry in lines.into_iter().flat_map(|line| &line.entries) {
        if entry.access == Access::Write {
            *written.entry(entry.thread).or_default() += entry.count;
        }
    }
    written
}

/// What threads did elsewhere: of `all`, what is not of `part`.
fn without(all: &BTreeMap<u32, u64>, part: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let of_part = |thread| part.get(thread).copied().unwrap_or(0);
    all.iter().map(|(thread, all)| (*thread, all - of_part(thread))).collect()
}

/// `written` are the plain writes of each thread to all lines.
fn memory(
    process: &Process,
    contended: &Contended,
    named: &Named,
    observed: &Observed,
    written: &BTreeMap<u32, u64>,
) -> Memory {
    let worst = &process.lines[contended.lines[0]];
    let name = Some(named.array()).filter(|name| !name.is_empty());
    Memory {
        name: name.unwrap_or_else(|| "object".to_owned()).chars().take(100).collect(),
        line: worst.start(),
        line_bytes: process.line_bytes.into(),
        elements: named.elements(contended),
        // One after the other at the same place is one at a time.
        objects: match observed.storage {
            Storage::Heap { .. } => {
                let object = |line: &Line| line.object().unwrap_or(line.address);
                let objects = contended.lines.iter().map(|&line| object(&process.lines[line]));
                objects.collect::<BTreeSet<_>>().len() as u64
            }
            _ => 1,
        },
        size: observed.size.unwrap_or(0),
        // A program that is watched is known by samples alone.
        written_elsewhere: worst.watched.is_none().then(|| {
            let own = contended.lines.iter().map(|&line| &process.lines[line]);
            without(written, &plain_writes(own))
        }),
    }
}

fn kind(contended: &Contended, word: &Word) -> Kind {
    match contended.kind {
        Kind::HotWord if word.role == Role::Lock => Kind::Lock,
        kind => kind,
    }
}

fn sharing(contended: &Contended, worst: &Line, named: &Named) -> Sharing {
    if let Some(elements) = named.elements(contended) {
        return Sharing::Elements {
            array: named.array(),
            stride: elements.stride,
            count: elements.count,
        };
    }
    let size = worst.allocation.as_ref().map_or(i64::MAX, |it| it.size.cast_signed());
    let is_outside = |word: &contend::Word| word.offset < 0 || word.offset >= size;
    if worst.allocation.is_some() && contended.words.iter().any(is_outside) {
        return Sharing::Objects;
    }
    if named.is_of_several_variables() {
        return Sharing::Statics { section: String::new(), address: worst.address };
    }
    Sharing::Within
}

fn observed(
    process: &Process,
    contended: &Contended,
    named: &Named,
    names: &Names<'_>,
    groups: &Groups<'_>,
) -> Observed {
    let worst = &process.lines[contended.lines[0]];
    let lines = || contended.lines.iter().map(|&line| &process.lines[line]);
    let storage = match &worst.allocation {
        Some(allocation) => {
            let objects = |line: &Line| line.allocation.as_ref().map_or(0, |it| it.objects);
            // Lines of the same object count once.
            let mut by_object: BTreeMap<u64, u64> = BTreeMap::new();
            for line in lines() {
                let known = by_object.entry(line.object().unwrap_or(line.address)).or_default();
                *known = objects(line).max(*known);
            }
            Storage::Heap {
                objects: by_object.values().sum(),
                allocated: names.caller(&allocation.stack),
            }
        }
        None if names.is_static(worst.address) => Storage::Static { name: named.variable() },
        None => match groups.owner_of_stack(worst) {
            Some(thread) => Storage::Stack { thread: thread.to_owned() },
            None => Storage::Mapped,
        },
    };
    Observed {
        storage,
        size: worst.allocation.as_ref().map(|it| it.size).or(named.size()),
        line_offset: match (&worst.allocation, named.start) {
            (Some(allocation), _) => allocation.line_offset,
            (None, Some(start)) => worst.address.wrapping_sub(start).cast_signed(),
            (None, None) => 0,
        },
        accesses: lines().flat_map(|line| &line.entries).map(|entry| entry.count).sum(),
        possible_changes: contended.possible.capped,
        cost: {
            let watched = lines().filter_map(|line| line.watched);
            watched.map(|watched| watched.cost).reduce(std::ops::Add::add)
        },
        evidence: evidence::of(process, contended),
    }
}

/// The path of a member without the index of its element.
fn without_element(place: &Place) -> String {
    let path = match place.element {
        Some(_) => place.path.split_once(']').map_or("", |(_, rest)| rest),
        None => &place.path,
    };
    match path.trim_start_matches('.') {
        "" => "[n]".to_owned(),
        path => path.to_owned(),
    }
}

#[cfg(test)]
mod tests;
