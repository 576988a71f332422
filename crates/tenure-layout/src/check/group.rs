//! `[[group]]` and `[[within]]`: members that belong together.

use super::subject::{Subject, joined, lines};
use crate::knowledge::{GROUP_BEGIN, GROUP_END};
use crate::rules::{Group, Path, Place, Within, counted};

/// Where a group lies.
struct Extent {
    begin: u64,
    end: u64,
}

/// Whether a group is as small as it has to be.
pub(super) fn fits(rule: &Group, subject: &Subject<'_>) -> Result<String, String> {
    let (extent, places) = match &*rule.members {
        [] => (between_markers(subject, &rule.name)?, Vec::new()),
        members => {
            let places = subject.places(members)?;
            (around(&places), places)
        }
    };
    let bytes = extent.end - extent.begin;
    let (count, start) = subject
        .starts(rule.any_placement)
        .map(|start| (line_count(subject, &extent, &places, start), start))
        // The first of the worst.
        .max_by_key(|&(count, start)| (count, std::cmp::Reverse(start)))
        .unwrap_or_default();
    let begins = match start {
        0 => String::new(),
        start => format!(", where {} begins {start} bytes into a line", subject.name),
    };
    let assumption = subject.assumption(rule.any_placement || rule.lines.is_none());
    let named: Vec<_> = places.iter().map(|place| subject.spelled_on(place, start)).collect();
    let members = if named.is_empty() { String::new() } else { format!(": {}", joined(&named)) };
    let found = format!(
        "it lies from {} to {} ({}) and takes up {}{begins}{assumption}{members}",
        extent.begin,
        extent.end,
        counted(bytes, "byte"),
        counted(count, "line"),
    );
    let too_many = rule.lines.is_some_and(|most| count > most);
    let too_long = rule.bytes.is_some_and(|most| bytes > most);
    if too_many || too_long { Err(found) } else { Ok(found) }
}

/// Whether members lie in a group.
pub(super) fn contains(rule: &Within, subject: &Subject<'_>) -> Result<String, String> {
    let extent = match &*rule.of {
        [] => between_markers(subject, &rule.group)?,
        members => around(&subject.places(members)?),
    };
    let places = subject.places(&rule.members)?;
    let is_outside = |place: &&Place| place.offset < extent.begin || end(place) > extent.end;
    let outside: Vec<_> =
        places.iter().filter(is_outside).map(|place| subject.spelled_on(place, 0)).collect();
    let group = format!(
        "group {} lies from {} to {} on {}",
        rule.group,
        extent.begin,
        extent.end,
        lines(extent.begin / subject.line_bytes, last(&extent) / subject.line_bytes),
    );
    if outside.is_empty() {
        let all: Vec<_> = places.iter().map(|place| subject.spelled_on(place, 0)).collect();
        return Ok(format!("{}; {group}", joined(&all)));
    }
    let are = if outside.len() == 1 { "lies" } else { "lie" };
    Err(format!("{} {are} outside: {group}", joined(&outside)))
}

/// What the kernel's `__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)` enclose.
fn between_markers(subject: &Subject<'_>, name: &str) -> Result<Extent, String> {
    let marker = |prefix: &str| {
        let path = Path::parse(&format!("{prefix}{name}"));
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
    Ok(Extent { begin, end })
}

/// From the first to the last of some members.
fn around(places: &[Place]) -> Extent {
    let begin = places.iter().map(|place| place.offset).min().unwrap_or(0);
    Extent { begin, end: places.iter().map(end).max().unwrap_or(begin) }
}

fn end(place: &Place) -> u64 {
    place.offset.saturating_add(place.size)
}

fn last(extent: &Extent) -> u64 {
    extent.end.max(extent.begin.saturating_add(1)) - 1
}

/// The lines that members touch, or all lines of the group if none are listed.
fn line_count(subject: &Subject<'_>, extent: &Extent, places: &[Place], start: u64) -> u64 {
    let touched = |first: u64, last: u64| (last - first).saturating_add(1);
    if places.is_empty() {
        let line = |at: u64| start.saturating_add(at) / subject.line_bytes;
        return touched(line(extent.begin), line(last(extent)));
    }
    let mut count = 0_u64;
    // The first line that is not counted yet.
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
