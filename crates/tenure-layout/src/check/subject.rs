//! The types that a check names, and where their members lie.

use std::collections::{HashMap, HashSet};

use crate::rules::{ElementScope, Glob, MemberPath, MemberPlace, meant};
use tenure_debuginfo::model::{Model, TypeId, TypeKind};
use tenure_report::numbers::counted;

/// Members that a message names.
const MAX_NAMES: usize = 4;

pub(super) struct CheckedType<'a> {
    pub(super) model: &'a Model,
    pub(super) id: TypeId,
    pub(super) name: String,
    pub(super) line_bytes: u64,
    /// Where it is declared, if others have the same name.
    declared: Option<String>,
}

/// Composites by name, also by that of a `typedef` alone.
pub(super) fn of_pattern<'a>(
    model: &'a Model,
    pattern: &Glob,
    line_bytes: u64,
) -> Vec<CheckedType<'a>> {
    let mut seen = HashSet::new();
    let mut subjects = Vec::new();
    for (id, ty) in model.iter() {
        let composite = match ty.kind {
            TypeKind::Composite { .. } => id,
            TypeKind::Alias(of) => {
                let of = model.resolved(of);
                // A struct with a name of its own is found by that, unless this one is spelled out.
                if !model[of].name.is_empty() && !pattern.is_plain() {
                    continue;
                }
                of
            }
            _ => continue,
        };
        let is_composite = model[composite].kind.is_composite();
        if ty.name.is_empty() || !is_composite || !pattern.matches(&ty.name) {
            continue;
        }
        if seen.insert(composite) {
            let name = ty.name.to_string();
            subjects.push(CheckedType { model, id: composite, name, line_bytes, declared: None });
        }
    }
    let mut times: HashMap<String, u64> = HashMap::new();
    subjects.iter().for_each(|one| *times.entry(one.name.clone()).or_default() += 1);
    for subject in &mut subjects {
        if times[&subject.name] > 1 {
            let ty = &model[subject.id];
            let place = ty.declared.as_ref().map(|at| format!("{}:{}", at.file, at.line));
            subject.declared = Some(place.unwrap_or_else(|| counted(ty.size, "byte")));
        }
    }
    subjects
}

pub(super) fn none_of(model: &Model, pattern: &Glob) -> String {
    let names = model.composites().map(|(_, ty, _)| &*ty.name).filter(|name| !name.is_empty());
    let aliases = model.types().iter().filter(|ty| matches!(ty.kind, TypeKind::Alias(_)));
    let all = names.chain(aliases.map(|ty| &*ty.name));
    let meant = if pattern.is_plain() { meant(pattern.as_str(), all) } else { String::new() };
    format!("there is no type `{pattern}` with members{meant}")
}

impl CheckedType<'_> {
    /// Tells types of one name apart: a prefix for a message.
    pub(super) fn which(&self) -> String {
        let declared = self.declared.as_ref();
        declared.map_or_else(String::new, |declared| format!("({declared}) "))
    }

    /// Each once, by offset.
    pub(super) fn places(&self, paths: &[MemberPath]) -> Result<Vec<MemberPlace>, String> {
        let mut all = Vec::new();
        for path in paths {
            let places = path
                .resolve(self.model, self.id, ElementScope::All)
                .map_err(|_| format!("`{path}` stands for too many members to check"))?;
            if places.is_empty() {
                return Err(self.no_member(path));
            }
            all.extend(places);
        }
        sort(&mut all);
        Ok(all)
    }

    fn no_member(&self, path: &MemberPath) -> String {
        let meant = path.single().filter(|name| name.is_plain()).and_then(|name| {
            let any = MemberPath::parse("*").ok()?;
            let all = any.resolve(self.model, self.id, ElementScope::First).ok()?;
            Some(meant(name.as_str(), all.iter().map(|place| &*place.path)))
        });
        let meant = meant.unwrap_or_default();
        format!("{} has no member `{path}`{meant}", self.name)
    }

    /// The offsets into a line at which the type may begin: only 0, unless the rule asks for more and the alignment
    /// allows it.
    pub(super) fn starts(&self, any_placement: bool) -> impl Iterator<Item = u64> + use<> {
        let step = if any_placement { self.align() } else { self.line_bytes };
        (0..self.line_bytes).step_by(usize::try_from(step).unwrap_or(usize::MAX))
    }

    /// Bytes from the type's start to the next possible start, at most a line.
    fn align(&self) -> u64 {
        self.model[self.id].align.clamp(1, self.line_bytes)
    }

    /// What a result assumes: a suffix for a message.
    pub(super) fn assumption(&self, any_placement: bool) -> String {
        if any_placement || self.align() == self.line_bytes {
            return String::new();
        }
        format!(
            ", if {} begins on a line (it is aligned to {} only)",
            self.name,
            counted(self.align(), "byte")
        )
    }

    /// Where the type has to begin for a result to hold: a suffix for a message.
    pub(super) fn begins(&self, start: u64) -> String {
        match start {
            0 => String::new(),
            start => format!(", where {} begins {start} bytes into a line", self.name),
        }
    }

    /// Where places lie in an object that begins `start` bytes into a line.
    pub(super) fn listed(&self, places: &[MemberPlace], start: u64) -> String {
        let spelled = |place| {
            let (first, last) = self.lines(place, start);
            format!("{} on {}", self.spelled(place), lines(first, last))
        };
        joined(&places.iter().map(spelled).collect::<Vec<_>>())
    }

    /// The first and last line of a place in an object that begins `start` bytes into a line.
    pub(super) fn lines(&self, place: &MemberPlace, start: u64) -> (u64, u64) {
        let first = start.saturating_add(place.offset);
        let last = first.saturating_add(place.size.max(1) - 1);
        (first / self.line_bytes, last / self.line_bytes)
    }

    /// `lwtstate at 80 (8 bytes)`.
    pub(super) fn spelled(&self, place: &MemberPlace) -> String {
        let size = match place.bits {
            None => counted(place.size, "byte"),
            Some(bits) => counted(bits.count, "bit"),
        };
        format!("{} at {} ({size})", place.path, place.offset)
    }
}

/// Sorts places by offset, each once.
pub(super) fn sort(all: &mut Vec<MemberPlace>) {
    all.sort_by(|a, b| (a.offset, a.size, &a.path).cmp(&(b.offset, b.size, &b.path)));
    all.dedup_by(|a, b| a.path == b.path && a.offset == b.offset);
}

pub(super) fn lines(first: u64, last: u64) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first} to {last}") }
}

pub(super) fn joined(all: &[String]) -> String {
    let rest = all.len().saturating_sub(MAX_NAMES);
    let mut text = all[..all.len() - rest].join(", ");
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    text
}
