//! What functions use together: it stays on as few lines as it can.
//!
//! A function that reads two members pays for each line that they lie on. So the search counts the lines that functions
//! touch, each function by how much it counts. And a lookup that walks a list compares a key in each object: the link and
//! the key stay on one line.

use std::collections::HashMap;

use super::units::LayoutUnit;
use crate::lines::LayoutModel;
use tenure_debuginfo::model::{Member, TypeId, TypeKind};

/// Functions of one type that count: those that use least of it, since they say most.
const MAX_FUNCTIONS: usize = 256;

/// Members that a function uses which says something: more is a copy, or a dump.
const MAX_MEMBERS_USED: usize = 32;

/// The weight of a function that runs when an object begins or ends, beside 1 of another: judgement.
const SETUP_WEIGHT: f64 = 0.25;

/// The cost of one more line that all functions touch, beside 0.4 of a number next to a count: judgement.
const COST_PER_LINE: f64 = 1.0;

/// Units of a type that functions use together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UsedTogether {
    /// How much each function counts, all together at most 1, and the units that it uses.
    functions: Vec<(f64, Vec<usize>)>,
    /// A link that lookups walk, and the key that they compare on its line.
    keys: Vec<(usize, usize)>,
}

impl UsedTogether {
    /// Marks links that the code shows to be walked.
    pub(super) fn of(layouts: &LayoutModel<'_>, id: TypeId, units: &mut [LayoutUnit]) -> Self {
        let mut together = Self::default();
        together.find_functions(layouts, id, units);
        together.find_keys(layouts, id, units);
        together
    }

    fn find_functions(&mut self, layouts: &LayoutModel<'_>, id: TypeId, units: &mut [LayoutUnit]) {
        let Some(evidence) = layouts.evidence else { return };
        let mut used: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, unit) in units.iter_mut().enumerate().filter(|(_, unit)| unit.size > 0) {
            let uses = evidence.of_type(id, unit.offset, unit.size);
            for function in uses.readers().chain(uses.writers()) {
                let units = used.entry(function).or_default();
                if units.last() != Some(&index) {
                    units.push(index);
                }
            }
            let counts = &uses.counts;
            let all = counts.reads + counts.writes + counts.adds + counts.exchanges + counts.locks;
            unit.walked |= counts.reads > 0 && counts.weight > all && leads_on(layouts, id, unit);
        }
        let setup = |function: u32| evidence.functions[function as usize].is_setup;
        let mut functions: Vec<(f64, Vec<usize>, u32)> = used
            .into_iter()
            .filter(|(_, units)| units.len() <= MAX_MEMBERS_USED)
            .map(|(function, units)| {
                (if setup(function) { SETUP_WEIGHT } else { 1.0 }, units, function)
            })
            .collect();
        let all: f64 = functions.iter().map(|(weight, ..)| weight).sum();
        // One line is all that they can touch.
        functions.retain(|(_, units, _)| units.len() > 1);
        functions.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then_with(|| a.1.len().cmp(&b.1.len())).then_with(|| a.2.cmp(&b.2))
        });
        functions.truncate(MAX_FUNCTIONS);
        self.functions =
            functions.into_iter().map(|(weight, units, _)| (weight / all, units)).collect();
    }

    /// Finds the key of each link that lookups walk: of the numbers on its line the one that most of its readers read or, where the
    /// code is not known, the one right after it.
    fn find_keys(&mut self, layouts: &LayoutModel<'_>, id: TypeId, units: &[LayoutUnit]) {
        let members = layouts.model[id].kind.members();
        let line = |unit: &LayoutUnit| layouts.line_of(unit.offset);
        for (link, unit) in units.iter().enumerate().filter(|(_, unit)| unit.walked) {
            let may_be = |at: usize| {
                let other = &units[at];
                at != link
                    && line(other) == line(unit)
                    && !other.walked
                    && is_number(layouts, &members[other.members.start])
                    && !other.pieces.iter().any(|piece| piece.role.is_contended())
            };
            let readers = |at: &usize| {
                let both =
                    |(_, used): &&(f64, Vec<usize>)| used.contains(&link) && used.contains(at);
                self.functions.iter().filter(both).count()
            };
            let key = match layouts.evidence {
                Some(_) => {
                    let near = |at: &usize| std::cmp::Reverse(at.abs_diff(link));
                    let all = (0..units.len()).filter(|at| may_be(*at) && readers(at) > 0);
                    all.max_by_key(|at| (readers(at), near(at)))
                }
                None => Some(link + 1).filter(|at| *at < units.len() && may_be(*at)),
            };
            self.keys.extend(key.map(|key| (link, key)));
        }
    }

    /// Whether a link and its key lie on two lines.
    pub(super) fn tears(&self, offsets: &[u64], line_bytes: u64) -> bool {
        self.keys
            .iter()
            .any(|(link, key)| offsets[*link] / line_bytes != offsets[*key] / line_bytes)
    }

    /// What the lines cost that functions touch.
    pub(super) fn cost(&self, offsets: &[u64], line_bytes: u64) -> f64 {
        let mut lines: Vec<u64> = Vec::with_capacity(MAX_MEMBERS_USED);
        let of = |(weight, units): &(f64, Vec<usize>)| {
            lines.clear();
            for unit in units {
                let line = offsets[*unit] / line_bytes;
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            #[allow(clippy::cast_precision_loss)] // They are few.
            let touched = lines.len() as f64;
            weight * touched
        };
        COST_PER_LINE * self.functions.iter().map(of).sum::<f64>()
    }

    /// Leaves links and their keys.
    pub(super) fn forget_functions(&mut self) {
        self.functions.clear();
    }

    /// How many steps that takes.
    pub(super) fn work(&self) -> usize {
        self.functions.iter().map(|(_, units)| units.len()).sum()
    }
}

/// Whether a unit is a pointer to the next object of its type.
fn leads_on(layouts: &LayoutModel<'_>, id: TypeId, unit: &LayoutUnit) -> bool {
    let model = layouts.model;
    let member = &model[id].kind.members()[unit.members.start];
    match model[model.resolved(member.ty)].kind {
        TypeKind::Pointer(Some(to)) => model.resolved(to) == id,
        _ => false,
    }
}

fn is_number(layouts: &LayoutModel<'_>, member: &Member) -> bool {
    let model = layouts.model;
    matches!(model[model.resolved(member.ty)].kind, TypeKind::Scalar(_) | TypeKind::Array { .. })
}
