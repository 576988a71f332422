//! From a recording to a report: names, words in the model of findings, and what fixes would give.

mod evidence;
mod held;
mod missing;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::Access;
use tenure_model::recording::{Line, Process, Recording};
use tenure_model::{
    Finding, Kind, Level, Observed, Origin, Report, Role, Run, Sharing, Source, Storage, Word,
};

use crate::answer::answer;
use crate::forecast::pattern::{self, PatternMemory, RecordedPattern};
use crate::forecast::{Analysis, FindingPart, Forecasts};
use crate::lines::{self, Contended, Locks};
use crate::naming::described::{self, NamedWords};
use crate::naming::names::{ProcessNames, Programs};
use crate::naming::objects;
use crate::naming::threads::Groups;
use held::GuardedNames;
use missing::LeftOut;

/// What was found, the worst first; `run` is the head of the report. What fixing the first `predicted` findings would give
/// is left to predict: each takes some tenths of a second.
#[must_use]
pub fn report(
    mut recording: Recording,
    programs: &Programs,
    mut run: Run,
    line_bytes: u32,
    predicted: usize,
) -> Analysis {
    let command = run.command.clone();
    let all_accesses = recording.contended();
    let named = |process| named(process, programs);
    let (processes, names): (Vec<_>, Vec<_>) = recording.processes.iter_mut().map(named).unzip();
    let groups: Vec<_> =
        processes.iter().zip(&names).map(|(it, names)| Groups::of(it, names)).collect();
    let mut found: Vec<FoundLine> = Vec::new();
    let mut rare = 0_u64;
    let mut left_out = LeftOut::default();
    let mut most_left_out = 0.0_f64;
    for (at, (&process, names)) in processes.iter().zip(&names).enumerate() {
        let (locks, written) = (Locks::of(process), plain_writes(&process.lines));
        let mut shown = BTreeSet::new();
        let mut held_for = GuardedNames::new();
        let first = found.len();
        for mut contended in lines::contended(process) {
            let (lines, accesses) = (contended.lines.len(), accesses(process, &contended));
            let is_wrong = contended.kind(process).is_some();
            if contended.is_rare {
                rare += if is_wrong { accesses } else { 0 };
                continue;
            }
            match contended.order(&|code| names.has_no_races(code), &locks) {
                None => {}
                Some(lines::WriteOrder::Races) => {
                    let why =
                        if is_wrong { &mut left_out.handed_over } else { &mut left_out.harmless };
                    why.add(lines, accesses);
                    continue;
                }
                Some(lines::WriteOrder::Lock(line)) => {
                    let worst = &process.lines[contended.lines[0]];
                    let named = NamedWords::new(&contended, worst, names);
                    if !named.are_restored(&contended, names) {
                        if let Some(line) = line {
                            let guards = held_for.entry(process.lines[line].address).or_default();
                            guards.extend(named.written(&contended, names));
                        }
                        let why =
                            if is_wrong { &mut left_out.guarded } else { &mut left_out.harmless };
                        why.add(lines, accesses);
                        continue;
                    }
                }
            }
            let named = NamedWords::new(&contended, &process.lines[contended.lines[0]], names);
            if let Some((start, stride)) = named.known_elements() {
                contended.name_elements(process, start, stride);
            }
            let words = contended.words.clone();
            contended.name(|at| named.meaning(at, &words[at], names));
            let Some(kind) = contended.kind(process) else {
                left_out.harmless.add(lines, accesses);
                continue;
            };
            let seen = FindingInput {
                process,
                contended: &contended,
                named: &named,
                names,
                groups: &groups[at],
            };
            let (mut finding, recorded) = finding(&seen, kind, &written);
            let observed = finding.observed.as_ref();
            let cost = observed.and_then(|observed| observed.cost);
            let share = cost.unwrap_or(accesses as f64 / all_accesses.max(1) as f64);
            finding.score = 100.0 * share;
            finding.origin = finding.place().map(Origin::of_file).unwrap_or_default();
            // What was seen to cost time says more than what could have happened.
            let is_sure = finding.confidence.level > Level::Low;
            let cost = cost.map(|cost| (cost * 1e9) as u64);
            let order = (is_sure, cost, contended.possible.capped);
            let lines = contended.lines.iter().map(|&line| process.lines[line].address).collect();
            found.push(FoundLine { order, process: at, finding, recorded, lines });
            shown.extend(contended.lines);
        }
        for FoundLine { finding, lines, .. } in &mut found[first..] {
            held::add(finding, lines, &held_for);
        }
        most_left_out = most_left_out.max(evidence::most_left_out(process, &shown));
    }
    run.missing.extend(missing::too_rare(rare, all_accesses));
    run.left_out = left_out.lines();
    run.missing.extend(left_out.said(all_accesses, !found.is_empty()));
    let coverage = run.watched.as_ref().and_then(|watched| watched.coverage.as_ref());
    let excludes = coverage.map_or(1.0, |coverage| coverage.excludes);
    run.missing.extend(missing::beyond_bound(most_left_out, excludes));
    if let Some(first) = found.first() {
        let has_lines = missing::have_lines(found.iter().map(|found| &found.finding));
        run.missing.extend(missing::debugging(processes[first.process], has_lines));
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.order));
    for (rank, found) in (1..).zip(&mut found) {
        found.finding.rank = rank;
    }
    // A watched program is one process.
    if let ([process], [names], [groups]) = (&processes[..], &names[..], &groups[..]) {
        run.time = waits::time(process, names, groups, &found, &run);
    }
    let worst = found.first().map(|found| found.process);
    let of_one_process = found.iter().any(|found| Some(found.process) != worst);
    let groups = worst.and_then(|worst| groups.into_iter().nth(worst)).map(Groups::into_owned);
    let mut forecasts = Forecasts::new(groups, of_one_process, run.cpus);
    let mut findings = Vec::new();
    for (at, FoundLine { process, mut finding, recorded, .. }) in found.into_iter().enumerate() {
        if let Some(mut recorded) = recorded {
            recorded.pattern.about = format!("Finding {} of `{command}`", finding.rank);
            let part = FindingPart::of(&mut finding, recorded, Some(process) == worst, line_bytes);
            if at < predicted {
                forecasts.add(part);
            }
        }
        findings.push(finding);
    }
    run.pattern = forecasts.program();
    let mut report = Report::new(Source::Run(run), line_bytes.into(), findings);
    report.answer = Some(answer(&report, None));
    Analysis { report, forecasts }
}

/// A finding, and what it was made of.
struct FoundLine {
    order: FindingOrder,
    /// Its place among the processes.
    process: usize,
    finding: Finding,
    recorded: Option<RecordedPattern>,
    /// The addresses of its lines.
    lines: Vec<u64>,
}

/// What the worst has most of: first those that are known well enough, by the cost where it was measured, and by possible changes of
/// ownership.
type FindingOrder = (bool, Option<u64>, u64);

/// A process with the objects that its lines are parts of, and its names.
fn named<'a>(process: &'a mut Process, programs: &'a Programs) -> (&'a Process, ProcessNames<'a>) {
    let mut names = ProcessNames::new(&process.modules, &process.functions, programs);
    objects::note_objects(&mut process.lines, &process.threads, &mut names);
    (process, names)
}

/// What a finding is made of.
struct FindingInput<'a> {
    process: &'a Process,
    contended: &'a Contended,
    named: &'a NamedWords,
    names: &'a ProcessNames<'a>,
    groups: &'a Groups<'a>,
}

/// A finding without its rank, score and repairs, and its pattern if it has one.
fn finding(
    seen: &FindingInput<'_>,
    kind: Kind,
    written: &BTreeMap<u32, u64>,
) -> (Finding, Option<RecordedPattern>) {
    let &FindingInput { process, contended, named, names, groups } = seen;
    let worst = &process.lines[contended.lines[0]];
    let shown = described::shown(contended, named, worst, process.line_bytes);
    let mut words = described::words(worst, contended, &shown, named, names, groups);
    let observed = observed(seen);
    let paths = words.iter().map(|(word, _)| word.path.clone());
    let in_pattern: Vec<_> = shown.into_iter().zip(paths).collect();
    let memory = memory(process, contended, named, &observed, written);
    let uses_result = |code: u64| names.uses_result(code);
    let pattern = pattern::pattern(&memory, &in_pattern, groups, &uses_result);
    let simulated = pattern.as_ref().map(|recorded| &recorded.pattern);
    let lock = held::held(&in_pattern, simulated, worst.watched.is_some());
    // The word that moves the line most is the one to fix; the others suffer.
    let hottest = (0..words.len()).max_by_key(|&at| words[at].1).unwrap_or(0);
    let (contended_word, _) = words.remove(hottest);
    let victims: Vec<Word> = words.into_iter().map(|(word, _)| word).collect();
    let finding = Finding {
        rank: 0,
        type_name: named.type_name(),
        declared: named.declared(),
        sharing: sharing(contended, worst, named),
        kind: match kind {
            Kind::HotWord if contended_word.role == Role::Lock => Kind::Lock,
            kind => kind,
        },
        contended: contended_word,
        victims,
        score: 0.0,
        signals: Vec::new(),
        origin: Origin::Yours,
        instances: 1,
        observed: Some(observed),
        lock,
        measured: None,
        confidence: evidence::confidence(process, contended),
        repairs: Vec::new(),
        forecast: None,
        pattern: None,
    };
    (finding, pattern)
}

/// All that was done to the lines.
fn accesses(process: &Process, contended: &Contended) -> u64 {
    let entries = contended.lines.iter().flat_map(|&line| &process.lines[line].entries);
    entries.map(|entry| entry.count).sum()
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
    named: &NamedWords,
    observed: &Observed,
    written: &BTreeMap<u32, u64>,
) -> PatternMemory {
    let worst = &process.lines[contended.lines[0]];
    let name = Some(named.array()).filter(|name| !name.is_empty());
    PatternMemory {
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

fn sharing(contended: &Contended, worst: &Line, named: &NamedWords) -> Sharing {
    if let Some(elements) = named.elements(contended) {
        return Sharing::Elements {
            array: named.array(),
            stride: elements.stride,
            count: elements.count,
        };
    }
    let size = worst.allocation.as_ref().map_or(i64::MAX, |it| it.size.cast_signed());
    let is_outside = |word: &lines::UsedWord| word.offset < 0 || word.offset >= size;
    if worst.allocation.is_some() && contended.words.iter().any(is_outside) {
        return Sharing::Objects;
    }
    if named.is_of_several_variables() {
        return Sharing::Statics { section: String::new(), address: worst.address };
    }
    Sharing::Within
}

fn observed(seen: &FindingInput<'_>) -> Observed {
    let &FindingInput { process, contended, named, names, groups } = seen;
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
        accesses: accesses(process, contended),
        possible_changes: contended.possible.capped,
        cost: {
            let watched = lines().filter_map(|line| line.watched);
            watched.map(|watched| watched.cost).reduce(std::ops::Add::add)
        },
        evidence: evidence::of(process, contended),
    }
}

#[cfg(test)]
mod tests;
