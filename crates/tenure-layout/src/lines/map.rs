//! The map of a type: its lines, as a picture shows them.

use std::cmp::Reverse;

use super::{Flat, LayoutModel, Leaf};
use tenure_debuginfo::model::{Shape, TypeId, TypeKind};
use tenure_model::{Cell, Line, Role, TypeMap};

/// Lines of a type: more are arrays, or a fabricated file.
const MAX_LINES: usize = 1024;

/// Lines after its first of a member that is shown in full.
const MAX_LINES_OF_SPAN: u64 = 8;

/// Letters of a cell's path to which another is added.
const MAX_PATH_LETTERS: usize = 60;

impl LayoutModel<'_> {
    /// Draws a composite.
    pub(crate) fn map(&self, id: TypeId) -> TypeMap {
        let ty = &self.model[id];
        let size = self.size_of(id);
        let shape = match ty.kind {
            TypeKind::Composite { shape: Shape::Union, .. } => "union",
            TypeKind::Composite { shape: Shape::Variants, .. } => "variants",
            _ => "struct",
        };
        TypeMap {
            name: self.spelled(id),
            shape: shape.to_owned(),
            size,
            align: self.align_of(id),
            declared: self.declared(id),
            line_count: size.div_ceil(self.line_bytes),
            lines: cut(&spans(self, &self.flat(id), size), self.line_bytes),
        }
    }

    pub(crate) fn declared(&self, id: TypeId) -> Option<String> {
        let declared = self.model[id].declared.as_ref()?;
        Some(match declared.line {
            0 => declared.file.to_string(),
            line => format!("{}:{line}", declared.file),
        })
    }
}

/// A cell of a leaf's bytes, which may go on over several lines.
fn cell(layouts: &LayoutModel<'_>, flat: &Flat, leaf: &Leaf, (from, to): (u64, u64)) -> Cell {
    let type_name = layouts.spelled(leaf.ty);
    Cell {
        path: flat.path(layouts, leaf),
        type_name: match layouts.away(leaf.owner, leaf.member) {
            Some(_) => format!("{type_name} *"),
            None => type_name,
        },
        offset: from,
        size: to - from,
        role: leaf.role,
        hole: false,
        continued: from > leaf.offset,
    }
}

fn hole(from: u64, to: u64) -> Cell {
    let (path, type_name) = Default::default();
    let (offset, size, role) = (from, to - from, Role::Cold);
    Cell { path, type_name, offset, size, role, hole: true, continued: false }
}

fn end(cell: &Cell) -> u64 {
    cell.offset + cell.size
}

/// Contended words have their bytes; other alternatives of a union have what is left.
fn spans(layouts: &LayoutModel<'_>, flat: &Flat, size: u64) -> Vec<Cell> {
    let mut leaves: Vec<&Leaf> = flat.leaves.iter().collect();
    leaves.sort_by_key(|leaf| (leaf.offset, Reverse(leaf.size)));
    let (contended, others): (Vec<&Leaf>, Vec<&Leaf>) =
        leaves.into_iter().partition(|leaf| leaf.role.is_contended());
    let words = cover(layouts, flat, contended, (Vec::new(), size));
    let mut spans = cover(layouts, flat, others, (words, size));
    let starts = spans.iter().map(|span| span.offset).chain([size]);
    let ends = std::iter::once(0).chain(spans.iter().map(end));
    let gaps = ends.zip(starts).filter(|(from, to)| from < to);
    let holes: Vec<Cell> = gaps.map(|(from, to)| hole(from, to)).collect();
    spans.extend(holes);
    spans.sort_by_key(|span| span.offset);
    spans
}

/// Adds leaves, in their order, to spans that are there, in theirs.
fn cover(
    layouts: &LayoutModel<'_>,
    flat: &Flat,
    leaves: Vec<&Leaf>,
    (mut there, size): (Vec<Cell>, u64),
) -> Vec<Cell> {
    let mut added: Vec<Cell> = Vec::new();
    for leaf in leaves {
        let (mut from, to) = (leaf.offset, leaf.end().min(size));
        from = added.last().map_or(from, |last| from.max(end(last)));
        let mut is_shown = false;
        while from < to {
            let next = there.partition_point(|span| end(span) <= from);
            let start = there.get(next).map_or(to, |span| span.offset.clamp(from, to));
            if start > from {
                added.push(cell(layouts, flat, leaf, (from, start)));
                is_shown = true;
            }
            from = there.get(next).map_or(to, end).max(start);
        }
        if is_shown {
            continue;
        }
        // An alternative of a union, or a bit field in bytes of others.
        let covers = |span: &&mut Cell| span.offset <= leaf.offset && leaf.offset < end(span);
        let of_words = there.partition_point(|span| end(span) <= leaf.offset);
        let of_words = there.get_mut(of_words).filter(covers);
        let of_others = added.partition_point(|span| end(span) <= leaf.offset);
        if let Some(span) = of_words.or_else(|| added.get_mut(of_others).filter(covers)) {
            also(layouts, flat, span, leaf);
        }
    }
    there.extend(added);
    there.sort_by_key(|span| span.offset);
    there
}

/// Adds a leaf to the path of a cell that covers it.
fn also(layouts: &LayoutModel<'_>, flat: &Flat, span: &mut Cell, leaf: &Leaf) {
    let member = layouts.model[leaf.owner].kind.members().get(leaf.member);
    let bits = member.is_some_and(|member| member.bits.is_some());
    let path = flat.path(layouts, leaf);
    if span.path.ends_with('…') || span.path == path {
        return;
    }
    let separator = if bits { ", " } else { " | " };
    let is_long = span.path.len() + path.len() > MAX_PATH_LETTERS;
    span.path += separator;
    span.path += if is_long { "…" } else { &path };
}

/// Cuts spans into lines: of a long one the first and the last.
fn cut(spans: &[Cell], line_bytes: u64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for span in spans {
        let end = end(span);
        let (first, last) = (span.offset / line_bytes, (end - 1) / line_bytes);
        let is_long = last - first > MAX_LINES_OF_SPAN;
        let indexes = if is_long { vec![first, last] } else { (first..=last).collect() };
        for index in indexes {
            let start = span.offset.max(index * line_bytes);
            let stop = end.min((index + 1).saturating_mul(line_bytes));
            if lines.last().is_none_or(|line| line.index != index) {
                if lines.len() >= MAX_LINES {
                    break;
                }
                lines.push(Line { index, cells: Vec::new() });
            }
            let cells = &mut lines.last_mut().expect("one was pushed").cells;
            let continued = span.continued || start > span.offset;
            cells.push(Cell { offset: start, size: stop - start, continued, ..span.clone() });
        }
    }
    lines
}
