//! The map of a type: its lines, as a picture shows them.

use super::{Flat, Layouts, Leaf};
use tenure_find::{Cell, Line, Role, TypeMap};
use tenure_types::model::{Kind, Shape, TypeId};

/// More lines are arrays, or a fabricated file.
const MOST_LINES: u64 = 1024;

impl Layouts<'_> {
    #[must_use]
    /// Draws a composite.
    pub fn map(&self, id: TypeId) -> TypeMap {
        let ty = &self.model[id];
        let size = self.size_of(id);
        let shape = match ty.kind {
            Kind::Composite { shape: Shape::Union, .. } => "union",
            Kind::Composite { shape: Shape::Variants, .. } => "variants",
            _ => "struct",
        };
        let mut lines = Lines::new(self.line_bytes);
        for span in spans(self, &self.flat(id), size) {
            lines.take(&span);
        }
        TypeMap {
            name: self.spelled(id),
            shape: shape.to_owned(),
            size,
            align: self.align_of(id),
            declared: self.declared(id),
            line_count: size.div_ceil(self.line_bytes),
            lines: lines.lines,
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

/// Not yet cut into lines.
struct Span {
    path: String,
    type_name: String,
    offset: u64,
    size: u64,
    role: Role,
    hole: bool,
}

fn spans(layouts: &Layouts<'_>, flat: &Flat, size: u64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut end = 0;
    let hole = |from: u64, to: u64| Span {
        path: String::new(),
        type_name: String::new(),
        offset: from,
        size: to - from,
        role: Role::Cold,
        hole: true,
    };
    for leaf in in_order(flat) {
        let from = leaf.offset.max(end);
        let to = leaf.end().min(size);
        if to <= from {
            // An alternative of a union, or a bit field in bytes of others.
            if let Some(last) = spans.last_mut().filter(|last| leaf.offset >= last.offset) {
                also(layouts, flat, last, leaf);
            }
            continue;
        }
        if from > end {
            spans.push(hole(end, from));
        }
        spans.push(Span {
            path: flat.path(layouts, leaf),
            type_name: match layouts.away(leaf.owner, leaf.member) {
                Some(_) => format!("{} *", layouts.spelled(leaf.ty)),
                None => layouts.spelled(leaf.ty),
            },
            offset: from,
            size: to - from,
            role: leaf.role,
            hole: false,
        });
        end = to;
    }
    if size > end {
        spans.push(hole(end, size));
    }
    spans
}

/// By offset, then the contended first, then the largest.
fn in_order(flat: &Flat) -> Vec<&Leaf> {
    let mut leaves: Vec<_> = flat.leaves.iter().collect();
    leaves.sort_by_key(|leaf| (leaf.offset, !leaf.role.is_contended(), u64::MAX - leaf.size));
    leaves
}

/// Adds a leaf to the path of a cell that covers it.
fn also(layouts: &Layouts<'_>, flat: &Flat, span: &mut Span, leaf: &Leaf) {
    const ENOUGH: usize = 60;
    let bits = match &layouts.model[leaf.owner].kind {
        Kind::Composite { members, .. } => members[leaf.member].bits.is_some(),
        _ => false,
    };
    let path = flat.path(layouts, leaf);
    if span.hole || span.path.ends_with('…') || span.path == path {
        return;
    }
    let separator = if bits { ", " } else { " | " };
    if span.path.len() + path.len() > ENOUGH {
        span.path += separator;
        span.path.push('…');
    } else {
        span.path += separator;
        span.path += &path;
    }
}

struct Lines {
    line_bytes: u64,
    lines: Vec<Line>,
}

impl Lines {
    fn new(line_bytes: u64) -> Self {
        Self { line_bytes, lines: Vec::new() }
    }

    fn take(&mut self, span: &Span) {
        let end = span.offset + span.size;
        let (first, last) = (span.offset / self.line_bytes, (end - 1) / self.line_bytes);
        let shown = [Some(first), (last != first).then_some(last)].into_iter().flatten();
        let between = (last - first > 1 && last - first <= 8).then(|| first + 1..last);
        let mut indexes: Vec<u64> = shown.chain(between.into_iter().flatten()).collect();
        indexes.sort_unstable();
        for index in indexes {
            let start = span.offset.max(index * self.line_bytes);
            let stop = end.min((index + 1).saturating_mul(self.line_bytes));
            let Some(line) = self.line(index) else { return };
            line.cells.push(Cell {
                path: span.path.clone(),
                type_name: span.type_name.clone(),
                offset: start,
                size: stop - start,
                role: span.role,
                hole: span.hole,
                continued: start > span.offset,
            });
        }
    }

    fn line(&mut self, index: u64) -> Option<&mut Line> {
        if self.lines.last().is_none_or(|line| line.index != index) {
            if self.lines.len() as u64 >= MOST_LINES {
                return None;
            }
            self.lines.push(Line { index, cells: Vec::new() });
        }
        self.lines.last_mut()
    }
}
