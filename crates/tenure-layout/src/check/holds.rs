use super::subject::{CheckedType, joined, lines, sort};
use crate::knowledge::{GROUP_BEGIN, GROUP_END};
use crate::rules::{CheckRule, ElementScope, MemberPath, MemberPlace};
use tenure_report::numbers::counted;

/// `Ok` if the rule holds; the words say what was found.
pub(super) fn apart(
    rule: &CheckRule,
    from: &[MemberPath],
    subject: &CheckedType<'_>,
) -> Result<String, String> {
    let from = subject.places(from)?;
    let members = victims(rule, subject, &from)?;
    let assumption = subject.assumption(rule.any_placement);
    for start in subject.starts(rule.any_placement) {
        let shared = shared(subject, &members, &from, start);
        if !shared.is_empty() {
            return Err(format!("{}{}{assumption}", joined(&shared), subject.begins(start)));
        }
    }
    let (members, from) = (subject.listed(&members, 0), subject.listed(&from, 0));
    Ok(format!("{members}; {from}{assumption}"))
}

/// Not the members of `from`, unless spelled out; of a member that a star found around one of those, only the rest.
fn victims(
    rule: &CheckRule,
    subject: &CheckedType<'_>,
    from: &[MemberPlace],
) -> Result<Vec<MemberPlace>, String> {
    let mut all = Vec::new();
    for path in &rule.members {
        let mut open = subject.places(std::slice::from_ref(path))?;
        if path.is_plain() {
            all.append(&mut open);
        }
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
    sort(&mut all);
    Ok(all)
}

/// The members of a place that has one of `from` inside.
fn parts_around(
    subject: &CheckedType<'_>,
    place: &MemberPlace,
    from: &[MemberPlace],
) -> Option<Vec<MemberPlace>> {
    let model = subject.model;
    from.iter().find(|one| {
        let rest = one.path.strip_prefix(&*place.path);
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    })?;
    let ty = model.resolved(model[place.owner].kind.members().get(place.index)?.ty);
    let parts = MemberPath::parse("*").ok()?.resolve(model, ty, ElementScope::First).ok()?;
    if parts.is_empty() {
        return None;
    }
    let outer = |part: MemberPlace| MemberPlace {
        path: format!("{}.{}", place.path, part.path),
        offset: place.offset.saturating_add(part.offset),
        ..part
    };
    Some(parts.into_iter().map(outer).collect())
}

fn shared(
    subject: &CheckedType<'_>,
    members: &[MemberPlace],
    from: &[MemberPlace],
    start: u64,
) -> Vec<String> {
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

struct ByteRange {
    begin: u64,
    end: u64,
}

/// Whether a group takes no more lines and bytes than it may.
pub(super) fn fits(
    rule: &CheckRule,
    group: &str,
    (lines, bytes): (Option<u64>, Option<u64>),
    subject: &CheckedType<'_>,
) -> Result<String, String> {
    let (extent, places) = extent(subject, group, &rule.members)?;
    let size = extent.end - extent.begin;
    let (count, start) = subject
        .starts(rule.any_placement)
        .map(|start| (line_count(subject, &extent, &places, start), start))
        // The first of the worst.
        .max_by_key(|&(count, start)| (count, std::cmp::Reverse(start)))
        .unwrap_or_default();
    let members = match &places[..] {
        [] => String::new(),
        places => format!(": {}", subject.listed(places, start)),
    };
    let found = format!(
        "it lies from {} to {} ({}) and takes up {}{}{}{members}",
        extent.begin,
        extent.end,
        counted(size, "byte"),
        counted(count, "line"),
        subject.begins(start),
        subject.assumption(rule.any_placement || lines.is_none()),
    );
    let is_too_large =
        lines.is_some_and(|most| count > most) || bytes.is_some_and(|most| size > most);
    if is_too_large { Err(found) } else { Ok(found) }
}

/// Whether members lie in a group.
pub(super) fn contains(
    rule: &CheckRule,
    group: &str,
    of: &[MemberPath],
    subject: &CheckedType<'_>,
) -> Result<String, String> {
    let (extent, _) = extent(subject, group, of)?;
    let places = subject.places(&rule.members)?;
    let is_outside = |place: &&MemberPlace| place.offset < extent.begin || end(place) > extent.end;
    let outside: Vec<_> = places.iter().filter(is_outside).cloned().collect();
    let on = lines(extent.begin / subject.line_bytes, last(&extent) / subject.line_bytes);
    let group = format!("group {group} lies from {} to {} on {on}", extent.begin, extent.end);
    if outside.is_empty() {
        return Ok(format!("{}; {group}", subject.listed(&places, 0)));
    }
    let are = if outside.len() == 1 { "lies" } else { "lie" };
    Err(format!("{} {are} outside: {group}", subject.listed(&outside, 0)))
}

/// The bytes from the first of a group's members to the last, and the members; without any, those between the kernel's markers.
fn extent(
    subject: &CheckedType<'_>,
    group: &str,
    members: &[MemberPath],
) -> Result<(ByteRange, Vec<MemberPlace>), String> {
    if members.is_empty() {
        return Ok((between_markers(subject, group)?, Vec::new()));
    }
    let places = subject.places(members)?;
    let begin = places.iter().map(|place| place.offset).min().unwrap_or(0);
    Ok((ByteRange { begin, end: places.iter().map(end).max().unwrap_or(begin) }, places))
}

/// The bytes between the kernel's `__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)`.
fn between_markers(subject: &CheckedType<'_>, name: &str) -> Result<ByteRange, String> {
    let marker = |prefix: &str| {
        let path = MemberPath::parse(&format!("{prefix}{name}"));
        let places = path.and_then(|path| subject.places(&[path]))?;
        places.into_iter().next().ok_or_else(|| format!("there is no `{prefix}{name}`"))
    };
    let none = |_| {
        let name_of_type = &subject.name;
        format!(
            "{name_of_type} has no markers of a cacheline group `{name}`: `{GROUP_BEGIN}{name}` and `{GROUP_END}{name}`"
        )
    };
    let (begin, end_marker) =
        (marker(GROUP_BEGIN).map_err(none)?, marker(GROUP_END).map_err(none)?);
    let (begin, end) = (end(&begin), end_marker.offset);
    if end < begin {
        return Err(format!("group {name} ends at {end}, before it begins at {begin}"));
    }
    Ok(ByteRange { begin, end })
}

fn end(place: &MemberPlace) -> u64 {
    place.offset.saturating_add(place.size)
}

fn last(extent: &ByteRange) -> u64 {
    extent.end.max(extent.begin.saturating_add(1)) - 1
}

fn line_count(
    subject: &CheckedType<'_>,
    extent: &ByteRange,
    places: &[MemberPlace],
    start: u64,
) -> u64 {
    let touched = |first: u64, last: u64| (last - first).saturating_add(1);
    if places.is_empty() {
        let line = |at: u64| start.saturating_add(at) / subject.line_bytes;
        return touched(line(extent.begin), line(last(extent)));
    }
    let mut count = 0_u64;
    let mut next = 0;
    for place in places {
        let (first, last) = subject.lines(place, start);
        if last >= next {
            count = count.saturating_add(touched(first.max(next), last));
            next = last.saturating_add(1);
        }
    }
    count
}
