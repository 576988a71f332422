//! Findings with what was measured: those that were measured come first, and what only measuring shows is a finding of its own.

use std::collections::BTreeMap;
use std::collections::HashSet;

use super::parts::Parts;
use super::recording::Recording;
use crate::lines::{Flat, Layouts, Leaf};
use crate::listed::Listed;
use crate::origin::Origins;
use crate::sharing::{Array, Found, Site};
use tenure_find::{
    Cell, Confidence, Elsewhere, Finding, Kind as Problem, Level, Measured, MeasuredMember, Origin,
    Recorded, Role, Sharing, TypeMap, Word,
};
use tenure_types::code::sweep::{Part, Subject};
use tenure_types::model::{Declared, Kind, TypeId};

/// Members in the list of all that were measured.
const MOST_MEMBERS: usize = 32;

/// A recording, joined with a program's types.
pub(crate) struct Joined<'a> {
    layouts: &'a Layouts<'a>,
    recording: &'a Recording,
    parts: Parts,
    /// Of which measure more is worse.
    by: By,
    /// Those of which a finding has a word.
    covered: HashSet<usize>,
}

/// The most telling measure that a recording has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Hitm,
    Weight,
    Samples,
}

impl By {
    fn of(self, measured: &Measured) -> u64 {
        match self {
            Self::Hitm => measured.hitm,
            Self::Weight => measured.weight,
            Self::Samples => measured.samples,
        }
    }
}

/// A finding in the list.
#[derive(Debug)]
pub(crate) struct Entry<'f> {
    /// From 1, among all.
    pub(crate) rank: usize,
    /// How much was measured; 0 for nothing.
    pub(crate) heat: u64,
    pub(crate) origin: Origin,
    pub(crate) what: What<'f>,
}

#[derive(Debug)]
pub(crate) enum What<'f> {
    Listed(Listed<'f>),
    /// Measured alone.
    Own(Box<Own>),
}

/// A line of which no finding has a word.
#[derive(Debug)]
pub(crate) struct Own {
    subject: Subject,
    pub(crate) finding: Finding,
}

impl<'f> Entry<'f> {
    fn unmeasured(one: Listed<'f>) -> Self {
        Self { rank: one.rank, heat: 0, origin: one.origin, what: What::Listed(one) }
    }

    /// What is measured comes before all else; then whose it is.
    pub(crate) fn section(&self) -> Option<Origin> {
        (self.heat == 0).then_some(self.origin)
    }

    pub(crate) fn type_id(&self) -> Option<TypeId> {
        match &self.what {
            What::Listed(one) => one.found.type_id(),
            What::Own(own) => own.type_id(),
        }
    }
}

impl<'a> Joined<'a> {
    /// Puts the findings that were measured first, the worst of them in front.
    pub(crate) fn new(
        layouts: &'a Layouts<'a>,
        recording: &'a Recording,
        at: &[(u64, Part)],
        found: &mut Vec<Found>,
    ) -> Self {
        let parts = Parts::new(layouts.model, recording, at);
        let total = recording.total();
        let by = match total {
            Measured { hitm: 1.., .. } => By::Hitm,
            Measured { weight: 1.., .. } => By::Weight,
            _ => By::Samples,
        };
        let mut joined = Self { layouts, recording, parts, by, covered: HashSet::new() };
        let mut heated: Vec<(u64, Found)> = Vec::with_capacity(found.len());
        for one in found.drain(..) {
            let parts = joined.parts_of(&one);
            heated.push((joined.by.of(&joined.parts.sum(&parts)), one));
            joined.covered.extend(parts);
        }
        // Stable: of equals the score decides.
        heated.sort_by_key(|(heat, _)| std::cmp::Reverse(*heat));
        found.extend(heated.into_iter().map(|(_, one)| one));
        joined
    }

    /// All findings in order, those that measuring alone shows among them.
    pub(crate) fn entries<'f>(
        &self,
        listed: Vec<Listed<'f>>,
        origins: &Origins<'_>,
    ) -> Vec<Entry<'f>> {
        let mut entries = entries(listed);
        for entry in &mut entries {
            let What::Listed(one) = &entry.what else { continue };
            entry.heat = self.by.of(&self.parts.sum(&self.parts_of(one.found)));
        }
        for parts in self.lines() {
            let heat = self.by.of(&self.parts.sum(&parts));
            let mut own = self.own(&parts);
            let (name, declared) = own.subject(self.layouts);
            let origin = origins.origin(name, declared);
            own.finding.origin = origin;
            entries.push(Entry { rank: 0, heat, origin, what: What::Own(Box::new(own)) });
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.heat));
        (1..).zip(&mut entries).for_each(|(rank, entry)| entry.rank = rank);
        entries
    }

    /// Adds what was measured to a finding.
    pub(crate) fn add_to(&self, finding: &mut Finding, found: &Found) {
        finding.measured = self.measured(&self.parts_of(found));
        let victims = found.victims.iter().map(|victim| (&victim.leaf, victim.variable));
        let words = finding.victims.iter_mut().zip(victims);
        let flat = self.flat(found);
        for (word, (leaf, variable)) in words {
            word.measured = self.measured(&self.of_leaf(found, flat.as_ref(), leaf, variable));
        }
        let of_word = self.of_leaf(found, flat.as_ref(), &found.word, self.variable(found));
        finding.contended.measured = self.measured(&of_word);
    }

    /// What the recording says of all.
    pub(crate) fn recorded(&self, path: String) -> Recorded {
        let mut attributed = Measured::default();
        self.parts.all().iter().for_each(|(_, one)| attributed.add(one));
        let mut order: Vec<usize> = (0..self.parts.all().len()).collect();
        let key = |at: &usize| {
            let Measured { hitm, weight, samples, .. } = self.parts.all()[*at].1;
            std::cmp::Reverse((hitm, weight, samples))
        };
        order.sort_by_key(key);
        let mut members: Vec<MeasuredMember> = Vec::new();
        for at in order.into_iter().take(MOST_MEMBERS) {
            let (part, measured) = self.parts.all()[at];
            let (type_name, word) = self.word_of(&part);
            let of = |known: &&mut MeasuredMember| {
                (&known.type_name, &known.path) == (&type_name, &word.path)
            };
            match members.iter_mut().find(of) {
                Some(known) => known.measured.add(&measured),
                None => members.push(MeasuredMember {
                    type_name,
                    path: word.path,
                    offset: u64::from(part.offset),
                    measured,
                }),
            }
        }
        let elsewhere = self.recording.elsewhere.iter();
        Recorded {
            path,
            samples: self.recording.samples,
            program: self.recording.total(),
            attributed,
            elsewhere: elsewhere
                .map(|(path, samples)| Elsewhere { path: path.clone(), samples: *samples })
                .collect(),
            members,
        }
    }

    /// A finding that measuring alone shows.
    fn own(&self, parts: &[usize]) -> Own {
        let layouts = self.layouts;
        let mut words: Vec<Word> = Vec::new();
        for at in parts {
            let (part, measured) = self.parts.all()[*at];
            let (_, word) = self.word_of(&part);
            match words.iter_mut().find(|known| known.path == word.path) {
                Some(known) => known.measured.get_or_insert_default().add(&measured),
                None => words.push(Word { measured: Some(measured), ..word }),
            }
        }
        let mut contended = words.remove(0);
        if !contended.role.is_contended() {
            contended.role = Role::Written;
        }
        let (first, _) = self.parts.all()[parts[0]];
        let (type_name, declared, sharing) = match first.subject {
            Subject::Type(id) => (layouts.spelled(id), layouts.declared(id), Sharing::Within),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                let section = variable.section.to_string();
                let address = variable.address.saturating_add(first.offset.into());
                (section.clone(), None, Sharing::Statics { section, address })
            }
        };
        let kind = match (words.is_empty(), contended.role) {
            (false, _) => Problem::FalseSharing,
            (true, Role::Lock) => Problem::Lock,
            (true, _) => Problem::HotWord,
        };
        let finding = Finding {
            rank: 0,
            type_name,
            declared,
            sharing,
            kind,
            contended,
            victims: words,
            score: 0.0,
            signals: Vec::new(),
            origin: Origin::Yours,
            instances: 1,
            observed: None,
            measured: self.measured(parts),
            confidence: Confidence {
                level: Level::High,
                placements: 1.0,
                why: "loads of it found the line modified in another core's cache".to_owned(),
            },
            repairs: Vec::new(),
            forecast: None,
            pattern: None,
        };
        Own { subject: first.subject, finding }
    }

    /// Marks the contended word of such a finding in its type's map, which types alone do not know as contended.
    pub(crate) fn mark(finding: &Finding, map: &mut TypeMap) {
        let Ok(at) = u64::try_from(finding.contended.offset) else { return };
        let cells = map.lines.iter_mut().flat_map(|line| &mut line.cells);
        let holds = |cell: &&mut Cell| cell.offset <= at && at - cell.offset < cell.size;
        for cell in cells.filter(holds).filter(|cell| !cell.role.is_contended()) {
            cell.role = finding.contended.role;
        }
    }

    fn measured(&self, parts: &[usize]) -> Option<Measured> {
        Some(self.parts.sum(parts)).filter(|sum| sum.samples > 0)
    }

    /// The parts of each line with HITM of which no finding has a word, the one that is stored to most first.
    fn lines(&self) -> Vec<Vec<usize>> {
        let mut lines: BTreeMap<(Option<TypeId>, u64), Vec<usize>> = BTreeMap::new();
        for (at, (part, _)) in self.parts.all().iter().enumerate() {
            let (ty, start) = match part.subject {
                Subject::Type(ty) => (Some(ty), 0),
                Subject::Static(index) => {
                    (None, self.layouts.model.statics()[index as usize].address)
                }
            };
            let line = self.layouts.line_of(start.saturating_add(part.offset.into()));
            lines.entry((ty, line)).or_default().push(at);
        }
        let hitm = |at: &usize| self.parts.all()[*at].1.hitm;
        lines.retain(|_, parts| {
            parts.iter().any(|at| hitm(at) > 0) && !parts.iter().any(|at| self.covered.contains(at))
        });
        for parts in lines.values_mut() {
            // The word that is stored to moves the line; those that are loaded wait for it.
            let key = |at: &usize| {
                let Measured { stores, hitm, weight, .. } = self.parts.all()[*at].1;
                (stores, hitm, weight)
            };
            parts.sort_by_key(|at| std::cmp::Reverse(key(at)));
        }
        lines.into_values().collect()
    }

    /// The type, and what lies at a part of it; of a variable, its name.
    fn word_of(&self, part: &Part) -> (String, Word) {
        let layouts = self.layouts;
        let offset = u64::from(part.offset);
        let (ty, name, start) = match part.subject {
            Subject::Type(ty) => (ty, None, 0),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                let role = layouts.roles.of_static(index as usize);
                // Of a variable, from the start of its line.
                let start = variable.address % layouts.line_bytes;
                (variable.ty, Some((variable.name.to_string(), role)), start)
            }
        };
        let mut inner = layouts.model.resolved(ty);
        while let Kind::Array { element, .. } = layouts.model[inner].kind {
            inner = layouts.model.resolved(element);
        }
        let flat = layouts.flat(inner);
        let leaf = flat.at(offset);
        let path = leaf.map_or_else(String::new, |leaf| flat.path(layouts, leaf));
        let (type_name, path) = match &name {
            None if path.is_empty() => (layouts.spelled(ty), format!("+{offset}")),
            None => (layouts.spelled(ty), path),
            Some((name, _)) if path.is_empty() => (String::new(), name.clone()),
            Some((name, _)) => (String::new(), format!("{name}.{path}")),
        };
        let role = leaf.map(|leaf| leaf.role);
        let of_variable = name.and_then(|(_, role)| role);
        let word = Word {
            path,
            offset: i64::try_from(start.saturating_add(leaf.map_or(offset, |leaf| leaf.offset)))
                .unwrap_or(i64::MAX),
            size: leaf.map_or_else(|| part.size.into(), |leaf| leaf.size),
            type_name: leaf.map_or_else(String::new, |leaf| layouts.spelled(leaf.ty)),
            role: of_variable.or(role).unwrap_or(Role::Plain),
            weight: None,
            why: String::new(),
            uses: Vec::new(),
            measured: None,
        };
        (type_name, word)
    }

    fn flat(&self, found: &Found) -> Option<Flat> {
        match found.site {
            Site::Type { id, .. } | Site::Elements { element: id, .. } => {
                Some(self.layouts.flat(id))
            }
            Site::Statics { .. } => None,
        }
    }

    fn variable(&self, found: &Found) -> usize {
        match found.site {
            Site::Statics { index } => index,
            _ => 0,
        }
    }

    fn parts_of(&self, found: &Found) -> Vec<usize> {
        let flat = self.flat(found);
        let victims = found.victims.iter().map(|victim| (&victim.leaf, victim.variable));
        let words = victims.chain([(&found.word, self.variable(found))]);
        let mut all: Vec<usize> = words
            .flat_map(|(leaf, variable)| self.of_leaf(found, flat.as_ref(), leaf, variable))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn of_leaf(
        &self,
        found: &Found,
        flat: Option<&Flat>,
        leaf: &Leaf,
        variable: usize,
    ) -> Vec<usize> {
        let mut parts = Vec::new();
        let statics = self.layouts.model.statics();
        if let Site::Statics { .. } = found.site {
            let inside = leaf.offset.saturating_sub(statics[variable].address);
            self.parts.of_static(variable, inside, leaf.size, &mut parts);
        }
        if let Some(flat) = flat.filter(|_| !leaf.is_whole()) {
            self.parts.of_member(&flat.way(self.layouts, leaf), leaf.size, &mut parts);
        }
        if let Site::Elements { array, .. } = found.site {
            match array {
                Array::Static(index) => {
                    self.parts.of_static(index, leaf.offset, leaf.size, &mut parts);
                }
                // Objects of the element's type are all that is known: see above.
                Array::Pointed => {}
                Array::Member { owner, member } => {
                    let model = self.layouts.model;
                    if let Kind::Composite { members, .. } = &model[owner].kind
                        && let Some(member) = members.get(member)
                    {
                        let inside = member.offset.saturating_add(leaf.offset);
                        let way = [(owner, model[owner].size, inside)];
                        self.parts.of_member(&way, leaf.size, &mut parts);
                    }
                }
            }
        }
        parts
    }
}

/// The list of findings without a recording.
pub(crate) fn entries(listed: Vec<Listed<'_>>) -> Vec<Entry<'_>> {
    listed.into_iter().map(Entry::unmeasured).collect()
}

impl Own {
    pub(crate) fn type_id(&self) -> Option<TypeId> {
        match self.subject {
            Subject::Type(id) => Some(id),
            Subject::Static(_) => None,
        }
    }

    /// The name of what is to be mended, and where it is declared.
    pub(crate) fn subject<'m>(&self, layouts: &'m Layouts<'_>) -> (&'m str, Option<&'m Declared>) {
        match self.subject {
            Subject::Type(id) => (&layouts.model[id].name, layouts.model[id].declared.as_ref()),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                (&variable.name, variable.declared.as_ref())
            }
        }
    }
}
