//! Other means than order: the contended words get lines of their own, or lie elsewhere behind a pointer.
//!
//! Of 27 repairs of false sharing in the kernel 17 aligned, padded or split off. Both means cost memory in every object, so the
//! price stands beside each. What is tried: each contended word, and all of them together, since words that are written
//! together are better on one line.

use super::plan::{Part, Placed, Plan};
use super::units::{Piece, Unit};
use crate::lines::POINTER;
use crate::sharing::Victimhood;
use tenure_find::Role;

/// Sets of words that are tried.
const MOST_GROUPS: usize = 16;

/// Layouts in which some contended words have lines of their own.
pub(super) fn aligned(plan: &Plan) -> Vec<Plan> {
    let mut found = Vec::new();
    for group in groups(&plan.parts[0]) {
        found.extend(in_place(plan, &group));
        found.extend(in_front(plan, &group));
        found.extend(at_the_end(plan, &group));
    }
    found
}

/// Layouts in which some contended words are elsewhere.
pub(super) fn split(plan: &Plan) -> Vec<Plan> {
    groups(&plan.parts[0]).iter().filter_map(|group| elsewhere(plan, group)).collect()
}

/// Units with contended words, each alone and all together.
fn groups(part: &Part) -> Vec<Vec<usize>> {
    let is_contended = |unit: &Unit| unit.pieces.iter().any(|piece| piece.role.is_contended());
    let units = part.units.units.iter().enumerate();
    let all: Vec<usize> = units.filter(|(_, unit)| is_contended(unit)).map(|(at, _)| at).collect();
    let mut groups: Vec<Vec<usize>> =
        all.iter().take(MOST_GROUPS).map(|unit| vec![*unit]).collect();
    if all.len() > 1 {
        groups.push(all);
    }
    groups
}

/// The words stay where they are, and lines begin in front of them and behind.
fn in_place(plan: &Plan, group: &[usize]) -> Option<Plan> {
    let part = &plan.parts[0];
    let (first, last) = (*group.first()?, *group.last()?);
    // Others lie between them.
    if last - first + 1 != group.len() {
        return None;
    }
    let behind = (last + 1..part.order.len()).find(|at| part.units.units[*at].size > 0);
    let mut starts: Vec<usize> = behind.into_iter().collect();
    starts.extend((first > 0).then_some(first));
    with(plan, part.order.clone(), starts)
}

/// The words move in front of all others.
fn in_front(plan: &Plan, group: &[usize]) -> Option<Plan> {
    let units = &plan.parts[0].units.units;
    let is_free = |at: &usize| !units[*at].fixed && units[*at].group == units[0].group;
    if !group.iter().all(is_free) {
        return None;
    }
    let rest: Vec<usize> = (0..units.len()).filter(|at| !group.contains(at)).collect();
    let behind = rest.iter().copied().find(|at| units[*at].size > 0);
    let order = group.iter().copied().chain(rest).collect();
    with(plan, order, behind.into_iter().collect())
}

/// The words move behind all others.
fn at_the_end(plan: &Plan, group: &[usize]) -> Option<Plan> {
    let part = &plan.parts[0];
    let units = &part.units.units;
    let last_group = units.last()?.group;
    let is_free = |at: &usize| !units[*at].fixed && units[*at].group == last_group;
    // What ends the type, as an array of any length does, stays there.
    if !group.iter().all(is_free) || units.last()?.size == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..units.len()).filter(|at| !group.contains(at)).collect();
    order.extend(group);
    with(plan, order, vec![group[0]])
}

/// A plan with that layout of its first part, and what embeds it laid out around it; none if what must stay moves.
fn with(plan: &Plan, order: Vec<usize>, starts: Vec<usize>) -> Option<Plan> {
    if starts.is_empty() {
        return None;
    }
    let mut plan = plan.clone();
    let line = plan.line_bytes;
    let first = &mut plan.parts[0];
    (first.order, first.starts) = (order, starts);
    for outer in &mut plan.parts[1..] {
        for at in outer.embeds.clone() {
            let unit = &mut outer.units.units[at];
            unit.align = unit.align.max(line);
        }
        outer.units.align = outer.units.align.max(line);
    }
    is_sound(&plan).then_some(plan)
}

fn elsewhere(plan: &Plan, group: &[usize]) -> Option<Plan> {
    let mut plan = plan.clone();
    let part = &mut plan.parts[0];
    let may_go = |at: &usize| {
        let unit = &part.units.units[*at];
        // A part of a struct with other members would take these along.
        !unit.fixed && !unit.bits && unit.pieces.iter().all(|piece| piece.role.is_contended())
    };
    if !group.iter().all(may_go) {
        return None;
    }
    for (nth, at) in group.iter().enumerate() {
        let unit = &mut part.units.units[*at];
        let victim = Victimhood::none();
        let pointer = Piece { offset: 0, size: POINTER, role: Role::ReadMostly, victim };
        let is_pointer = nth == 0;
        unit.size = if is_pointer { POINTER } else { 0 };
        unit.align = if is_pointer { POINTER } else { 1 };
        unit.multiple = 1;
        unit.pieces = if is_pointer { vec![pointer] } else { Vec::new() };
    }
    part.units.align = part.units.align.max(POINTER);
    part.away = group.to_vec();
    is_sound(&plan).then_some(plan)
}

/// Whether compilers lay all parts out like this, and what is pinned stays where it is.
fn is_sound(plan: &Plan) -> bool {
    let first = plan.parts[0].place(None);
    let stays = |part: &Part, placed: &Placed| {
        let units = part.units.units.iter().zip(&placed.offsets);
        units.into_iter().all(|(unit, at)| !unit.fixed || unit.size == 0 || unit.offset == *at)
    };
    plan.parts.iter().enumerate().all(|(index, part)| {
        let placed = part.place((index > 0).then_some(first.size));
        // What embeds it moves behind it: only its own layout is the proposal.
        part.is_legal(&placed) && (index > 0 || stays(part, &placed))
    })
}
