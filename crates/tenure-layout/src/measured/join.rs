//! Findings with what was measured: those that were measured come first, and what only measuring shows is a finding of its own.

use std::collections::BTreeMap;

use super::parts::{MeasuredParts, PartSamples};
use crate::lines::{Flat, LayoutModel, Leaf};
use crate::listed::RankedFinding;
use crate::origin::TypeOrigins;
use crate::sharing::{Array, RawFinding, Site, confidence_of_type, placements};
use tenure_code::sweep::{AccessedPart, Subject, has_array_at};
use tenure_debuginfo::model::{Declared, TypeId, TypeKind};
use tenure_debuginfo::perf::ProgramSamples;
use tenure_model::{
    Cell, Confidence, Elsewhere, Finding, Kind as Problem, Level, Measured, MeasuredMember, Origin,
    Recorded, Role, Sharing, TypeMap, Word,
};

/// Members in the list of all that were measured.
const MAX_MEMBERS: usize = 32;

/// A recording, joined with a program's types.
pub(crate) struct Joined<'a> {
    layouts: &'a LayoutModel<'a>,
    recording: &'a ProgramSamples,
    parts: MeasuredParts,
    /// All samples of the program.
    total: Measured,
}

/// A line that was measured, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MeasuredLine {
    /// Bytes of a type's objects, counted from their start.
    Of(TypeId, u64),
    /// An address of variables.
    At(u64),
    /// Bytes of elements of arrays, as if they were the first: which they are is not known.
    Element(Subject, u64),
}

/// A finding in the list.
#[derive(Debug)]
pub(crate) struct ListEntry<'f> {
    /// The rank among all, from 1.
    pub(crate) rank: usize,
    /// How much was measured; 0 for nothing.
    pub(crate) heat: u64,
    pub(crate) origin: Origin,
    pub(crate) what: EntrySource<'f>,
}

impl<'f> ListEntry<'f> {
    /// The name of what is to be fixed, and where it is declared.
    pub(crate) fn subject<'m>(
        &self,
        layouts: &'m LayoutModel<'_>,
    ) -> (&'m str, Option<&'m Declared>) {
        match &self.what {
            EntrySource::Listed(RankedFinding { found, .. }) => found.subject(layouts),
            EntrySource::Own(own) => own.subject(layouts),
        }
    }
}

#[derive(Debug)]
pub(crate) enum EntrySource<'f> {
    Listed(RankedFinding<'f>),
    /// Measured alone.
    Own(Box<Own>),
}

/// A line most of whose HITM is of words that no finding has.
#[derive(Debug)]
pub(crate) struct Own {
    subject: Subject,
    pub(crate) finding: Finding,
}

impl<'f> ListEntry<'f> {
    fn unmeasured(one: RankedFinding<'f>) -> Self {
        Self { rank: one.rank, heat: 0, origin: one.origin, what: EntrySource::Listed(one) }
    }

    /// What is measured comes before all else; then whose it is.
    pub(crate) fn section(&self) -> Option<Origin> {
        (self.heat == 0).then_some(self.origin)
    }

    pub(crate) fn type_id(&self) -> Option<TypeId> {
        match &self.what {
            EntrySource::Listed(one) => one.found.type_id(),
            EntrySource::Own(own) => own.type_id(),
        }
    }
}

impl<'a> Joined<'a> {
    /// Puts the findings that were measured first, the worst of them in front.
    pub(crate) fn new(
        layouts: &'a LayoutModel<'a>,
        recording: &'a ProgramSamples,
        at: &[(u64, AccessedPart)],
        found: &mut Vec<RawFinding>,
    ) -> Self {
        let parts = MeasuredParts::new(layouts.model, recording, at, layouts.line_bytes);
        let total = recording.total();
        let joined = Self { layouts, recording, parts, total };
        let mut heated: Vec<(u64, RawFinding)> = Vec::with_capacity(found.len());
        for one in found.drain(..) {
            let parts = joined.parts_of(&one);
            heated.push((joined.parts.sum(&parts).telling(&total), one));
        }
        // Stable: of equals the score decides.
        heated.sort_by_key(|(heat, _)| std::cmp::Reverse(*heat));
        found.extend(heated.into_iter().map(|(_, one)| one));
        joined
    }

    /// All findings in order, those that measuring alone shows among them: of lines that none of the wanted ones accounts for.
    pub(crate) fn entries<'f>(
        &self,
        listed: Vec<RankedFinding<'f>>,
        origins: &TypeOrigins<'_>,
        wants: impl Fn(&ListEntry<'f>) -> bool,
    ) -> Vec<ListEntry<'f>> {
        let mut entries = entries(listed);
        let mut covered = vec![false; self.parts.all().len()];
        for entry in &mut entries {
            let EntrySource::Listed(one) = &entry.what else { continue };
            let parts = self.parts_of(one.found);
            entry.heat = self.parts.sum(&parts).telling(&self.total);
            if wants(entry) {
                parts.iter().for_each(|part| covered[*part] = true);
            }
        }
        for (line, parts) in self.lines(&covered) {
            let heat = self.parts.sum(&parts).telling(&self.total);
            let mut own = self.own(line, &parts);
            let (name, declared) = own.subject(self.layouts);
            let origin = origins.origin(name, declared);
            own.finding.origin = origin;
            entries.push(ListEntry {
                rank: 0,
                heat,
                origin,
                what: EntrySource::Own(Box::new(own)),
            });
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.heat));
        (1..).zip(&mut entries).for_each(|(rank, entry)| entry.rank = rank);
        entries
    }

    /// Adds what was measured to a finding.
    pub(crate) fn add_to(&self, finding: &mut Finding, found: &RawFinding) {
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
        self.parts.all().iter().for_each(|one| attributed.add(&one.measured));
        let mut members: BTreeMap<(String, String), (u64, Measured)> = BTreeMap::new();
        for pieces in self.parts.all().chunk_by(|a, b| a.part == b.part) {
            let (type_name, word) = self.word_of(&pieces[0]);
            let offset = u64::from(pieces[0].part.offset);
            let known = members
                .entry((type_name, word.path))
                .or_insert_with(|| (offset, Measured::default()));
            known.0 = known.0.min(offset);
            pieces.iter().for_each(|piece| known.1.add(&piece.measured));
        }
        let member = |((type_name, path), (offset, measured))| MeasuredMember {
            type_name,
            path,
            offset,
            measured,
        };
        let mut members: Vec<MeasuredMember> = members.into_iter().map(member).collect();
        members.sort_by_key(|one| {
            let Measured { hitm, weight, samples, .. } = one.measured;
            std::cmp::Reverse((hitm, weight, samples))
        });
        members.truncate(MAX_MEMBERS);
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
    fn own(&self, line: MeasuredLine, parts: &[usize]) -> Own {
        let layouts = self.layouts;
        let mut words: Vec<Word> = Vec::new();
        for at in parts {
            let piece = &self.parts.all()[*at];
            let (_, word) = self.word_of(piece);
            match words.iter_mut().find(|known| known.path == word.path) {
                Some(known) => known.measured.get_or_insert_default().add(&piece.measured),
                None => words.push(Word { measured: Some(piece.measured), ..word }),
            }
        }
        let mut contended = words.remove(0);
        if !contended.role.is_contended() {
            contended.role = Role::Written;
        }
        let first = &self.parts.all()[parts[0]];
        let subject = first.part.subject;
        let (type_name, declared, sharing) = match subject {
            Subject::Type(id) => (layouts.spelled(id), layouts.declared(id), Sharing::Within),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                let section = variable.section.to_string();
                let offset = u64::from(first.part.offset);
                let address = variable.address.saturating_add(offset);
                let address = first.address.unwrap_or(address);
                (section.clone(), None, Sharing::Statics { section, address })
            }
        };
        let kind = match (words.is_empty(), contended.role) {
            (false, _) => Problem::FalseSharing,
            (true, Role::Lock) => Problem::Lock,
            (true, _) => Problem::HotWord,
        };
        let confidence = self.confidence(line, &contended, &words);
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
            lock: None,
            measured: self.measured(parts),
            confidence,
            repairs: Vec::new(),
            forecast: None,
            pattern: None,
        };
        Own { subject, finding }
    }

    /// How certain it is that words lie on one line. That it is contended was measured.
    fn confidence(&self, line: MeasuredLine, contended: &Word, others: &[Word]) -> Confidence {
        let layouts = self.layouts;
        let found = "loads of it found the line modified in another core's cache";
        let range = |word: &Word| (u64::try_from(word.offset).unwrap_or(0), word.size);
        let mean = |ty: TypeId| {
            let of = |other: &Word| {
                let step = layouts.starts(ty);
                placements(layouts.line_bytes, step, range(contended), range(other))
            };
            #[allow(clippy::cast_precision_loss)] // They are few.
            let count = others.len() as f64;
            if others.is_empty() { 1.0 } else { others.iter().map(of).sum::<f64>() / count }
        };
        match line {
            MeasuredLine::Of(id, _) if !others.is_empty() => {
                confidence_of_type(layouts, id, mean(id))
            }
            MeasuredLine::Element(subject, _) => {
                let ty = match subject {
                    Subject::Type(id) => id,
                    Subject::Static(index) => layouts.model.statics()[index as usize].ty,
                };
                let placements = mean(ty);
                let level = if placements >= 0.5 { Level::Medium } else { Level::Low };
                let why = format!("{found}; which element of the array it is, is not known");
                Confidence { level, placements, why }
            }
            MeasuredLine::Of(..) | MeasuredLine::At(_) => {
                Confidence { level: Level::High, placements: 1.0, why: found.to_owned() }
            }
        }
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

    /// The parts of each line with HITM most of which no finding has, the one that is stored to most first.
    fn lines(&self, covered: &[bool]) -> BTreeMap<MeasuredLine, Vec<usize>> {
        let mut lines: BTreeMap<MeasuredLine, Vec<usize>> = BTreeMap::new();
        for (at, piece) in self.parts.all().iter().enumerate() {
            lines.entry(self.line(piece)).or_default().push(at);
        }
        let hitm = |at: &usize| self.parts.all()[*at].measured.hitm;
        lines.retain(|_, parts| {
            let all: u64 = parts.iter().map(hitm).sum();
            let known: u64 = parts.iter().filter(|at| covered[**at]).map(hitm).sum();
            known < all.div_ceil(2)
        });
        for parts in lines.values_mut() {
            // The word that is stored to moves the line; those that are loaded wait for it.
            let key = |at: &usize| {
                let Measured { stores, hitm, weight, .. } = self.parts.all()[*at].measured;
                (stores, hitm, weight)
            };
            parts.sort_by_key(|at| std::cmp::Reverse(key(at)));
        }
        lines
    }

    /// Where some bytes lie.
    fn line(&self, piece: &PartSamples) -> MeasuredLine {
        let layouts = self.layouts;
        let AccessedPart { subject, offset, .. } = piece.part;
        let inside = u64::from(offset);
        match (subject, piece.address) {
            (_, Some(address)) => MeasuredLine::At(layouts.line_of(address)),
            (Subject::Type(id), None) if has_array_at(layouts.model, id, inside) => {
                MeasuredLine::Element(subject, layouts.line_of(inside))
            }
            (Subject::Type(id), None) => MeasuredLine::Of(id, layouts.line_of(inside)),
            (Subject::Static(index), None) => {
                let variable = &layouts.model.statics()[index as usize];
                match has_array_at(layouts.model, variable.ty, inside) {
                    true => MeasuredLine::Element(subject, layouts.line_of(inside)),
                    false => {
                        MeasuredLine::At(layouts.line_of(variable.address.saturating_add(inside)))
                    }
                }
            }
        }
    }

    /// The type, and what lies at a part of it; of a variable, its name.
    fn word_of(&self, piece: &PartSamples) -> (String, Word) {
        let layouts = self.layouts;
        let part = piece.part;
        let offset = u64::from(part.offset);
        let (ty, name, start) = match part.subject {
            Subject::Type(ty) => (ty, None, 0),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                let role = layouts.roles.of_static(index as usize);
                // From the start of the line: of an array, as if it began with the element that was sampled.
                let inside = piece.address.map(|address| address.wrapping_sub(offset));
                let start = inside.unwrap_or(variable.address);
                let line = layouts.line_of(start.wrapping_add(offset)) * layouts.line_bytes;
                let start = start.wrapping_sub(line).cast_signed();
                (variable.ty, Some((variable.name.to_string(), role)), start)
            }
        };
        let mut inner = layouts.model.resolved(ty);
        while let TypeKind::Array { element, .. } = layouts.model[inner].kind {
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
            offset: start.saturating_add_unsigned(leaf.map_or(offset, |leaf| leaf.offset)),
            size: leaf.map_or_else(|| part.size.into(), |leaf| leaf.size),
            type_name: leaf.map_or_else(String::new, |leaf| layouts.spelled(leaf.ty)),
            member_of: None,
            role: of_variable.or(role).unwrap_or(Role::Plain),
            weight: None,
            why: String::new(),
            uses: Vec::new(),
            measured: None,
        };
        (type_name, word)
    }

    fn flat(&self, found: &RawFinding) -> Option<Flat> {
        match found.site {
            Site::Type { id, .. } | Site::Elements { element: id, .. } => {
                Some(self.layouts.flat(id))
            }
            Site::Statics { .. } => None,
        }
    }

    fn variable(&self, found: &RawFinding) -> usize {
        match found.site {
            Site::Statics { index } => index,
            _ => 0,
        }
    }

    fn parts_of(&self, found: &RawFinding) -> Vec<usize> {
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
        found: &RawFinding,
        flat: Option<&Flat>,
        leaf: &Leaf,
        variable: usize,
    ) -> Vec<usize> {
        let mut parts = Vec::new();
        let statics = self.layouts.model.statics();
        if let Site::Statics { .. } = found.site {
            let inside = leaf.offset.saturating_sub(statics[variable].address);
            // The finding is of the lines that its word lies on, and an array goes on after them.
            let (first, size) = found.word.range();
            let last = first.saturating_add(size.saturating_sub(1));
            let lines = self.layouts.line_of(first)..=self.layouts.line_of(last);
            let is_there = |address| lines.contains(&self.layouts.line_of(address));
            self.parts.of_static(variable, (inside, leaf.size), is_there, &mut parts);
        }
        if let Some(flat) = flat.filter(|_| !leaf.is_whole()) {
            self.parts.of_member(&flat.way(self.layouts, leaf), leaf.size, &mut parts);
        }
        if let Site::Elements { array, .. } = found.site {
            match array {
                Array::Static(index) => {
                    let range = (leaf.offset, leaf.size);
                    self.parts.of_static(index, range, |_| true, &mut parts);
                }
                // Objects of the element's type are all that is known: see above.
                Array::Pointed => {}
                Array::Member { owner, member } => {
                    let model = self.layouts.model;
                    if let TypeKind::Composite { members, .. } = &model[owner].kind
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
pub(crate) fn entries(listed: Vec<RankedFinding<'_>>) -> Vec<ListEntry<'_>> {
    listed.into_iter().map(ListEntry::unmeasured).collect()
}

impl Own {
    pub(crate) fn type_id(&self) -> Option<TypeId> {
        match self.subject {
            Subject::Type(id) => Some(id),
            Subject::Static(_) => None,
        }
    }

    /// Its place among all.
    pub(crate) fn variable(&self) -> Option<usize> {
        match self.subject {
            Subject::Type(_) => None,
            Subject::Static(index) => Some(index as usize),
        }
    }

    /// The name of what is to be fixed, and where it is declared.
    pub(crate) fn subject<'m>(
        &self,
        layouts: &'m LayoutModel<'_>,
    ) -> (&'m str, Option<&'m Declared>) {
        match self.subject {
            Subject::Type(id) => (&layouts.model[id].name, layouts.model[id].declared.as_ref()),
            Subject::Static(index) => {
                let variable = &layouts.model.statics()[index as usize];
                (&variable.name, variable.declared.as_ref())
            }
        }
    }
}
