//! Other means than order: the contended words get lines of their own, or lie elsewhere, where a pointer leads.
//!
//! Of 27 repairs of false sharing in the kernel 17 aligned, padded or split off. Both means cost memory in every object, so the
//! price stands beside each. What is tried: each contended word, and all of them together, since words that are written
//! together are better on one line. A lock takes along what it guards, and several locks have a line each.

use super::plan::{LayoutPlan, Placed, PlannedType};
use super::units::UnitPiece;
use crate::lines::POINTER_BYTES;
use crate::sharing::{GuardedBy, Victimhood};
use tenure_model::Role;

/// Sets of words that are tried: judgement.
const MAX_GROUPS: usize = 16;

/// Units that stay on one line.
type UnitGroup = Vec<usize>;

/// Layouts in which some contended words have lines of their own.
pub(super) fn aligned(plan: &LayoutPlan) -> Vec<LayoutPlan> {
    let groups = groups(&plan.parts[0]);
    let mut tried: Vec<Vec<UnitGroup>> = groups.iter().map(|group| vec![group.clone()]).collect();
    if groups.len() > 1 {
        tried.push(joined(&plan.parts[0], groups));
    }
    let mut found = Vec::new();
    for groups in &tried {
        found.extend(in_place(plan, groups));
        found.extend(in_front(plan, groups));
        found.extend(at_the_end(plan, groups));
    }
    found
}

/// Layouts in which some contended words are elsewhere.
pub(super) fn split(plan: &LayoutPlan) -> Vec<LayoutPlan> {
    let mut tried = groups(&plan.parts[0]);
    if let [all] = &joined(&plan.parts[0], tried.clone())[..] {
        tried.push(all.clone());
    }
    tried.iter().filter_map(|group| elsewhere(plan, group)).collect()
}

/// Units with contended words, each with what its locks guard, in their order.
fn groups(part: &PlannedType) -> Vec<UnitGroup> {
    let units = &part.units.units;
    let mut groups: Vec<UnitGroup> = Vec::new();
    for (at, unit) in units.iter().enumerate().filter(|(_, unit)| unit.is_contended()) {
        let locks = unit.locks();
        let is_in = |other: usize| other == at || units[other].goes_with(locks);
        let taken = |other: &usize| !groups.iter().any(|group| group.contains(other));
        let group: UnitGroup =
            (0..units.len()).filter(|other| is_in(*other)).filter(taken).collect();
        groups.push(group);
        if groups.len() == MAX_GROUPS {
            break;
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// All groups as one. But if several locks are seen to guard something, each of these keeps a line of its own.
fn joined(part: &PlannedType, groups: Vec<UnitGroup>) -> Vec<UnitGroup> {
    let units = &part.units.units;
    let guards = |at: &usize| units[*at].pieces.iter().any(|piece| piece.guard.locks != 0);
    let (mut apart, mut rest): (Vec<UnitGroup>, Vec<UnitGroup>) =
        groups.into_iter().partition(|group| group.iter().any(guards));
    if apart.len() < 2 {
        rest.append(&mut apart);
    }
    let mut all = rest.concat();
    all.sort_unstable();
    apart.extend((!all.is_empty()).then_some(all));
    apart
}

/// The words stay where they are, and lines begin before and after them.
fn in_place(plan: &LayoutPlan, groups: &[UnitGroup]) -> Option<LayoutPlan> {
    let part = &plan.parts[0];
    let mut starts = Vec::new();
    for group in groups {
        let (first, last) = (*group.first()?, *group.last()?);
        // Others lie between them.
        if last - first + 1 != group.len() {
            return None;
        }
        starts.extend((last + 1..part.order.len()).find(|at| part.units.units[*at].size > 0));
        starts.extend((first > 0).then_some(first));
    }
    with(plan, part.order.clone(), starts, groups)
}

/// The words move in front of all others.
fn in_front(plan: &LayoutPlan, groups: &[UnitGroup]) -> Option<LayoutPlan> {
    let units = &plan.parts[0].units.units;
    let words = groups.concat();
    if !words.iter().all(|at| !units[*at].fixed && units[*at].group == units[0].group) {
        return None;
    }
    let rest: Vec<usize> = (0..units.len()).filter(|at| !words.contains(at)).collect();
    let after = rest.iter().copied().find(|at| units[*at].size > 0);
    let starts = groups[1..].iter().map(|group| group[0]).chain(after).collect();
    with(plan, words.into_iter().chain(rest).collect(), starts, groups)
}

/// The words move to the end.
fn at_the_end(plan: &LayoutPlan, groups: &[UnitGroup]) -> Option<LayoutPlan> {
    let part = &plan.parts[0];
    let units = &part.units.units;
    let last_group = units.last()?.group;
    let words = groups.concat();
    let is_free = |at: &usize| !units[*at].fixed && units[*at].group == last_group;
    // What ends the type, as an array of any length does, stays there.
    if !words.iter().all(is_free) || units.last()?.size == 0 {
        return None;
    }
    let rest = (0..units.len()).filter(|at| !words.contains(at));
    let order = rest.chain(words.iter().copied()).collect();
    with(plan, order, groups.iter().map(|group| group[0]).collect(), groups)
}

/// A plan with that layout of its first part, and what embeds it laid out around it; none if what must stay moves.
fn with(
    plan: &LayoutPlan,
    order: Vec<usize>,
    starts: Vec<usize>,
    groups: &[UnitGroup],
) -> Option<LayoutPlan> {
    if starts.is_empty() {
        return None;
    }
    let mut plan = plan.clone();
    let line = plan.parts[0].line_bytes;
    let first = &mut plan.parts[0];
    (first.order, first.starts, first.apart) = (order, starts, groups.to_vec());
    for outer in &mut plan.parts[1..] {
        for at in outer.embeds.clone() {
            let unit = &mut outer.units.units[at];
            unit.align = unit.align.max(line);
        }
        outer.units.align = outer.units.align.max(line);
    }
    is_sound(&plan).then_some(plan)
}

fn elsewhere(plan: &LayoutPlan, group: &[usize]) -> Option<LayoutPlan> {
    let mut plan = plan.clone();
    let part = &mut plan.parts[0];
    let may_go = |at: &usize| {
        let unit = &part.units.units[*at];
        // A part of a struct with other members would take these along. And what a lock guards is with the object.
        !unit.fixed && !unit.bits && unit.pieces.iter().all(|piece| piece.role.is_contended())
    };
    if !group.iter().all(may_go) {
        return None;
    }
    for (nth, at) in group.iter().enumerate() {
        let unit = &mut part.units.units[*at];
        let victim = Victimhood::none();
        let (role, guard) = (Role::ReadMostly, GuardedBy::default());
        let pointer = UnitPiece { offset: 0, size: POINTER_BYTES, role, victim, guard };
        let is_pointer = nth == 0;
        unit.size = if is_pointer { POINTER_BYTES } else { 0 };
        unit.align = if is_pointer { POINTER_BYTES } else { 1 };
        unit.multiple = 1;
        unit.pieces = if is_pointer { vec![pointer] } else { Vec::new() };
    }
    part.units.align = part.units.align.max(POINTER_BYTES);
    (part.away, part.apart) = (group.to_vec(), vec![group.to_vec()]);
    is_sound(&plan).then_some(plan)
}

/// Whether compilers lay all parts out like this, and what is pinned stays where it is.
fn is_sound(plan: &LayoutPlan) -> bool {
    let first = plan.parts[0].place(None);
    let stays = |part: &PlannedType, placed: &Placed| {
        let units = part.units.units.iter().zip(&placed.offsets);
        units.into_iter().all(|(unit, at)| !unit.fixed || unit.size == 0 || unit.offset == *at)
    };
    plan.parts.iter().enumerate().all(|(index, part)| {
        let placed = part.place((index > 0).then_some(first.size));
        // What embeds it moves after it: only its own layout is the proposal.
        part.is_legal(&placed) && (index > 0 || stays(part, &placed))
    })
}
