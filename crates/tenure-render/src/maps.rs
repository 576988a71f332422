//! Which map shows a finding.
//!
//! What lies within a type is on the type's own map. Elements of an array are drawn next to each other,
//! and of variables no more is known than the finding says.

use std::borrow::Cow;

use crate::prose;
use tenure_model::{
    Cell, Embedder, Finding, Line, Observed, Report, Role, Sharing, Storage, Suggestion, TypeMap,
    Word,
};

const MAX_LINES: u64 = 8;

/// The map that shows a finding, if the report has what it takes.
pub(super) fn of_finding<'a>(report: &'a Report, finding: &Finding) -> Option<Cow<'a, TypeMap>> {
    let line_bytes = report.line_bytes.max(1);
    if let Some(observed) = &finding.observed {
        return Some(observed_line(report, finding, observed, line_bytes));
    }
    match &finding.sharing {
        Sharing::Within | Sharing::Embedding { .. } => {
            named(report, &finding.type_name, Some(finding)).map(Cow::Borrowed)
        }
        Sharing::Elements { stride, count, .. } => {
            let element = named(report, &finding.type_name, None)?;
            Some(Cow::Owned(elements(element, *stride, *count, finding, line_bytes)))
        }
        Sharing::Statics { .. } | Sharing::Objects => {
            Some(Cow::Owned(of_words(finding, 0, line_bytes)))
        }
    }
}

/// The type's map if its lines begin where the observed one does, and otherwise the words of that line alone.
fn observed_line<'a>(
    report: &'a Report,
    finding: &Finding,
    observed: &Observed,
    line_bytes: u64,
) -> Cow<'a, TypeMap> {
    // Words of elements are counted from the element on, and of variables from the line on.
    let is_variable = matches!(observed.storage, Storage::Static { .. });
    let start = match finding.sharing {
        Sharing::Elements { .. } => 0,
        _ if is_variable => 0,
        _ => observed.line_offset,
    };
    let own = matches!(finding.sharing, Sharing::Within | Sharing::Embedding { .. });
    let is_aligned = u64::try_from(observed.line_offset)
        .is_ok_and(|from| from == 0 || !is_variable && from.is_multiple_of(line_bytes));
    match named(report, &finding.type_name, None).filter(|_| own && is_aligned) {
        Some(map) => Cow::Borrowed(map),
        None => Cow::Owned(of_words(finding, start, line_bytes)),
    }
}

/// The map of a type. Types may share a name; the one that a finding is about has the finding's word.
fn named<'a>(report: &'a Report, name: &str, finding: Option<&Finding>) -> Option<&'a TypeMap> {
    let mut maps = report.maps.iter().filter(|map| map.name == name);
    let has_word = |map: &&TypeMap| {
        finding.is_none_or(|finding| {
            map.lines.iter().flat_map(|line| &line.cells).any(|cell| {
                i128::from(cell.offset) == i128::from(finding.contended.offset)
                    && cell.role.is_contended()
            })
        })
    };
    maps.clone().find(has_word).or_else(|| maps.next())
}

fn elements(
    element: &TypeMap,
    stride: u64,
    count: u64,
    finding: &Finding,
    line_bytes: u64,
) -> TypeMap {
    let from = |word: &Word| u64::try_from(word.offset).unwrap_or(0);
    let end = finding.words().into_iter().map(|word| from(word).saturating_add(word.size)).max();
    let lines = end.unwrap_or(0).div_ceil(line_bytes).clamp(1, MAX_LINES);
    let bytes = lines.saturating_mul(line_bytes);
    let stride = stride.max(1);
    let mut cells = Vec::new();
    for index in 0..bytes.div_ceil(stride).min(count.max(2)) {
        let start = index.saturating_mul(stride);
        let mut next = start;
        for cell in element.lines.iter().flat_map(|line| &line.cells) {
            let offset = start.saturating_add(cell.offset);
            next = offset.saturating_add(cell.size);
            let dot = if cell.path.is_empty() || cell.path.starts_with('[') { "" } else { "." };
            let path =
                if cell.hole { String::new() } else { format!("[{index}]{dot}{}", cell.path) };
            cells.push(Cell { path, offset, ..cell.clone() });
        }
        let to = start.saturating_add(stride);
        if to > next {
            cells.push(Cell { offset: next, size: to - next, ..hole() });
        }
    }
    cells.retain(|cell| cell.offset < bytes);
    cut("array", cells, line_bytes, element)
}

/// One line with the words of a finding, which are all that is known of it. `start` is the line's offset.
fn of_words(finding: &Finding, start: i64, line_bytes: u64) -> TypeMap {
    // From the line on; lines before it have words, too.
    let on_line = |at: i128| u64::try_from(at.max(0)).unwrap_or(u64::MAX);
    let known = finding.words().into_iter().map(|word| {
        let at = i128::from(word.offset) - i128::from(start);
        let offset = on_line(at);
        Cell {
            path: word.name(),
            type_name: word.type_name.clone(),
            offset,
            size: on_line(at + i128::from(word.size)) - offset,
            role: word.role,
            hole: false,
            continued: at < 0,
        }
    });
    let mut cells: Vec<Cell> = Vec::new();
    let mut end = 0;
    let other = |from: u64, to: u64| Cell {
        path: "?".to_owned(),
        offset: from,
        size: to - from,
        role: Role::Plain,
        hole: false,
        ..hole()
    };
    for cell in known {
        let to = cell.offset.saturating_add(cell.size).min(line_bytes);
        let from = cell.offset.max(end);
        if to <= from {
            continue;
        }
        if from > end {
            cells.push(other(end, from));
        }
        cells.push(Cell { offset: from, size: to - from, ..cell });
        end = to;
    }
    if line_bytes > end {
        cells.push(other(end, line_bytes));
    }
    TypeMap {
        name: finding.object().unwrap_or_else(|| finding.type_name.clone()),
        shape: prose::WORDS.to_owned(),
        size: line_bytes,
        align: line_bytes,
        declared: None,
        line_count: 1,
        lines: vec![Line { index: 0, cells }],
    }
}

fn hole() -> Cell {
    Cell {
        path: String::new(),
        type_name: String::new(),
        offset: 0,
        size: 0,
        role: Role::Cold,
        hole: true,
        continued: false,
    }
}

fn cut(shape: &str, cells: Vec<Cell>, line_bytes: u64, of: &TypeMap) -> TypeMap {
    let mut lines: Vec<Line> = Vec::new();
    let mut size = 0;
    for mut cell in cells {
        size = cell.offset.saturating_add(cell.size);
        while cell.size > 0 {
            let index = cell.offset / line_bytes;
            let here = cell.size.min((index + 1).saturating_mul(line_bytes) - cell.offset);
            if lines.last().is_none_or(|line| line.index != index) {
                if lines.len() as u64 >= MAX_LINES {
                    break;
                }
                lines.push(Line { index, cells: Vec::new() });
            }
            if let Some(line) = lines.last_mut() {
                line.cells.push(Cell { size: here, ..cell.clone() });
            }
            cell.offset += here;
            cell.size -= here;
            cell.continued = true;
        }
    }
    let line_count = lines.last().map_or(0, |line| line.index + 1);
    TypeMap { shape: shape.to_owned(), size, line_count, lines, ..of.clone() }
}

/// A renderer draws at most this many embedding types, and lists the moves and sizes of the others.
const MAX_DRAWN: usize = 3;

/// The embedding types to draw, with their maps before and after, and how many more take part.
pub(crate) fn drawn(suggestion: &Suggestion) -> (Vec<(&Embedder, &TypeMap, &TypeMap)>, u64) {
    let with_maps = suggestion
        .embedders
        .iter()
        .filter_map(|it| Some((it, it.before.as_ref()?, it.after.as_ref()?)));
    let mut drawn: Vec<_> = with_maps.collect();
    let more = drawn.len().saturating_sub(MAX_DRAWN) as u64;
    drawn.truncate(MAX_DRAWN);
    (drawn, more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn elements_are_drawn_side_by_side_up_to_where_the_finding_reaches() {
        let report = fixtures::places();
        let map = of_finding(&report, &report.findings[0]).unwrap();
        let paths: Vec<_> = map.lines[0].cells.iter().map(|cell| cell.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "[0].hits",
                "[0].config",
                "[0].depth",
                "",
                "[1].hits",
                "[1].config",
                "[1].depth",
                "",
                "[2].hits",
                "[2].config"
            ]
        );
        assert_eq!(map.lines.len(), 1);
        assert!(map.lines[0].cells.iter().map(|cell| cell.size).sum::<u64>() == 64);
    }

    #[test]
    fn of_variables_the_word_and_its_victims_are_drawn_on_their_line() {
        let report = fixtures::places();
        let map = of_finding(&report, &report.findings[1]).unwrap();
        let [line] = map.lines.as_slice() else { panic!("{map:?}") };
        assert_eq!(line.cells.iter().map(|cell| cell.size).sum::<u64>(), 64);
        assert!(line.cells.iter().any(|cell| cell.role.is_contended()));
    }

    #[test]
    fn a_variables_words_are_drawn_where_they_lie_on_its_line() {
        let mut report = fixtures::run();
        let finding = &mut report.findings[0];
        finding.type_name.clear();
        finding.victims.clear();
        let observed = finding.observed.as_mut().unwrap();
        observed.storage = Storage::Static { name: "locks".to_owned() };
        observed.line_offset = 5248;
        for (offset, expected) in [
            (32, &[(0, 32), (32, 4), (36, 28)][..]),
            (-2, &[(0, 2), (2, 62)]),
            (-64, &[(0, 64)]),
            (64, &[(0, 64)]),
        ] {
            let finding = &mut report.findings[0];
            (finding.contended.offset, finding.contended.size) = (offset, 4);
            let map = of_finding(&report, &report.findings[0]).unwrap();
            let cells: Vec<_> = map.lines[0].cells.iter().map(|it| (it.offset, it.size)).collect();
            assert_eq!(cells, expected);
        }
    }

    #[test]
    fn what_no_analysis_would_say_is_survived() {
        let mut report = fixtures::places();
        for offset in [i64::MIN, i64::MAX] {
            for finding in &mut report.findings {
                finding.contended.offset = offset;
                finding.victims[0].size = u64::MAX;
                if let Sharing::Elements { stride, count, .. } = &mut finding.sharing {
                    (*stride, *count) = (0, 0);
                }
            }
            for finding in &report.findings {
                assert!(of_finding(&report, finding).is_none_or(|map| map.lines.len() <= 8));
            }
        }
    }
}
