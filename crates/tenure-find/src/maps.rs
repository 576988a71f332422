//! Which map shows a finding.
//!
//! What lies within a type is on the type's own map. Elements of an array are drawn next to each other,
//! and of variables no more is known than the finding says.

use std::borrow::Cow;

use crate::{Cell, Finding, Line, Report, Role, Sharing, TypeMap};

const MOST_LINES: u64 = 8;

/// The map that shows a finding, if the report has what it takes.
pub(super) fn of_finding<'a>(report: &'a Report, finding: &Finding) -> Option<Cow<'a, TypeMap>> {
    let line_bytes = report.source.line_bytes.max(1);
    match &finding.sharing {
        Sharing::Within | Sharing::Embedding { .. } => {
            named(report, &finding.type_name, Some(finding)).map(Cow::Borrowed)
        }
        Sharing::Elements { stride, count, .. } => {
            let element = named(report, &finding.type_name, None)?;
            Some(Cow::Owned(elements(element, *stride, *count, finding, line_bytes)))
        }
        Sharing::Statics { .. } => Some(Cow::Owned(variables(finding, line_bytes))),
    }
}

/// The map of a type. Types may share a name; the one that a finding is about has the finding's word.
fn named<'a>(report: &'a Report, name: &str, finding: Option<&Finding>) -> Option<&'a TypeMap> {
    let mut maps = report.maps.iter().filter(|map| map.name == name);
    let has_word = |map: &&TypeMap| {
        finding.is_none_or(|finding| {
            map.lines
                .iter()
                .flat_map(|line| &line.cells)
                .any(|cell| cell.offset == finding.contended.offset && cell.role.is_contended())
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
    let ends = finding.victims.iter().map(|victim| victim.offset.saturating_add(victim.size));
    let end = ends.chain([finding.contended.offset.saturating_add(finding.contended.size)]).max();
    let lines = end.unwrap_or(0).div_ceil(line_bytes).clamp(1, MOST_LINES);
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

fn variables(finding: &Finding, line_bytes: u64) -> TypeMap {
    let word = &finding.contended;
    let mut known: Vec<Cell> = finding
        .victims
        .iter()
        .map(|victim| (&victim.path, &victim.type_name, victim.offset, victim.size, victim.role))
        .chain([(&word.path, &word.type_name, word.offset, word.size, word.role)])
        .map(|(path, type_name, offset, size, role)| Cell {
            path: path.clone(),
            type_name: type_name.clone(),
            offset,
            size,
            role,
            hole: false,
            continued: false,
        })
        .collect();
    known.sort_by_key(|cell| cell.offset);
    let mut cells: Vec<Cell> = Vec::new();
    let mut end = 0;
    let other = |from: u64, to: u64| Cell {
        path: "(not known)".to_owned(),
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
        name: finding.type_name.clone(),
        shape: "variables".to_owned(),
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
                if lines.len() as u64 >= MOST_LINES {
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
    fn what_no_analysis_would_say_is_survived() {
        let mut report = fixtures::places();
        for finding in &mut report.findings {
            finding.contended.offset = u64::MAX;
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
