//! `[[apart]]`: members that must not share a line with others.

use super::subject::{Subject, joined, lines};
use crate::rules::{Apart, Elements, Path, Place};
use tenure_types::model::Kind;

/// What was found, for the good or, as an error, for the bad.
pub(super) fn holds(rule: &Apart, subject: &Subject<'_>) -> Result<String, String> {
    let from = subject.places(&rule.from)?;
    let members = victims(rule, subject, &from)?;
    for start in subject.starts(rule.any_placement) {
        let shared = shared(subject, &members, &from, start);
        if !shared.is_empty() {
            let begins = match start {
                0 => String::new(),
                start => format!(", where {} begins {start} bytes into a line", subject.name),
            };
            let assumption = subject.assumption(rule.any_placement);
            return Err(format!("{}{begins}{assumption}", joined(&shared)));
        }
    }
    let on = |places: &[Place]| {
        joined(&places.iter().map(|place| subject.spelled_on(place, 0)).collect::<Vec<_>>())
    };
    let assumption = subject.assumption(rule.any_placement);
    Ok(format!("{}; {}{assumption}", on(&members), on(&from)))
}

/// The members that have to stay away. Those of `from` are not among them unless they are spelled
/// out, and of a member that a star found around one of those only the rest is.
fn victims(rule: &Apart, subject: &Subject<'_>, from: &[Place]) -> Result<Vec<Place>, String> {
    let mut all = Vec::new();
    for path in &rule.members {
        let places = subject.places(std::slice::from_ref(path))?;
        if path.is_plain() {
            all.extend(places);
            continue;
        }
        let mut open = places;
        while let Some(place) = open.pop() {
            if from.iter().any(|one| one.path == place.path) {
                continue;
            }
            match parts_around(subject, &place, from) {
                Some(parts) => open.extend(parts),
                None => all.push(place),
            }
        }
    }
    all.sort_by(|a, b| (a.offset, a.size, &a.path).cmp(&(b.offset, b.size, &b.path)));
    all.dedup_by(|a, b| a.path == b.path && a.offset == b.offset);
    Ok(all)
}

/// The members of a place that has one of `from` inside.
fn parts_around(subject: &Subject<'_>, place: &Place, from: &[Place]) -> Option<Vec<Place>> {
    let model = subject.model;
    let inside = |one: &&Place| {
        let rest = one.path.strip_prefix(&*place.path);
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    from.iter().find(inside)?;
    let Kind::Composite { members, .. } = &model[place.owner].kind else { return None };
    let ty = model.resolved(members.get(place.index)?.ty);
    let parts = Path::parse("*").ok()?.resolve(model, ty, Elements::First).ok()?;
    if parts.is_empty() {
        return None;
    }
    let outer = |part: Place| Place {
        path: format!("{}.{}", place.path, part.path),
        offset: place.offset.saturating_add(part.offset),
        ..part
    };
    Some(parts.into_iter().map(outer).collect())
}

/// Each member that shares a line with one of `from`, in words.
fn shared(subject: &Subject<'_>, members: &[Place], from: &[Place], start: u64) -> Vec<String> {
    let mut shared = Vec::new();
    for member in members {
        let (first, last) = subject.lines(member, start);
        // By offset: those from here on begin on later lines.
        let until = from.partition_point(|one| subject.lines(one, start).0 <= last);
        let other = from[..until].iter().find(|one| subject.lines(one, start).1 >= first);
        if let Some(other) = other {
            let (from_first, from_last) = subject.lines(other, start);
            let both = lines(first.max(from_first), last.min(from_last));
            let (member, other) = (subject.spelled(member), subject.spelled(other));
            shared.push(format!("{member} and {other} are both on {both}"));
        }
    }
    shared
}
