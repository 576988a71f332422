//! The [rules](super#the-rules) that [`check`](super::check) holds a layout to, evaluated by the compiler. Fields of
//! embedded structs, to any depth, are seen at their offsets from the start of the outermost struct.
//!
//! # From offsets to lines
//!
//! A struct starts at a multiple of its alignment *A*. If that is less than a line *L*, it may start at any multiple of
//! *A* in a line, and the rules ask for all of these places at once. Of two fields, let *p* be the last byte of the
//! first and *q* the first byte of the second. They share a line if they do so with *p* as near to the start of a line
//! as it can be, at *p* mod *A*:
//!
//! ```text
//! p mod min(A, L) + (q - p) < L
//! ```

use super::layout::{Field, Layout, LineLayout, Role};
use super::report::Report;
use super::{ISOLATION_BYTES, LINE_BYTES};

/// Compiles if the layout of `T` keeps the [rules](super#the-rules) of its lines.
///
/// The derive calls this for a struct without type and const parameters. Of a generic struct the instances are checked:
/// some beside the definition, or all that are made, in a constructor.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use tenure::cache_line::{self, CachePadded, LineLayout};
///
/// #[derive(LineLayout)]
/// struct Slot<T> {
///     #[line(contended)]
///     readers: CachePadded<u32>,
///     #[line(read_mostly)]
///     value: T,
/// }
///
/// // One instance, as soon as this is compiled.
/// const _: () = cache_line::check::<Slot<u64>>();
///
/// impl<T> Slot<T> {
///     fn new(value: T) -> Self {
///         // Each instance that is made, when a program is built that makes it; `cargo check` does
///         // not get that far.
///         const { cache_line::check::<Self>() };
///         Self { readers: CachePadded::new(0), value }
///     }
/// }
/// # let slot = Slot::new("an instance");
/// # assert_eq!((*slot.readers, slot.value), (0, "an instance"));
/// # }
/// ```
///
/// # Panics
///
/// If it does not. In a constant, as above, that is a compile error, and the call costs nothing.
#[track_caller]
pub const fn check<T: LineLayout>() {
    let report = report(T::LAYOUT, LINE_BYTES);
    if !report.is_empty() {
        panic!("{}", report.as_str());
    }
}

/// What is wrong with `layout`, on lines of `line` bytes.
const fn report(layout: &Layout, line: usize) -> Report {
    let mut checker = Checker {
        outermost: layout,
        line,
        align: start_align(layout, line),
        report: Report::new(),
        align_wanted: line,
        helps: Helps {
            widen: 0,
            apart: false,
            gather: false,
            unwrap: false,
            shift: false,
            align: false,
        },
    };
    checker.report.text("the cache lines of `").text(layout.name).text("`:");
    let outermost = checker.outermost();
    checker.contended_fields(&outermost);
    checker.groups(&outermost);
    checker.assumptions(&outermost);
    checker.advice();
    checker.report
}

const fn start_align(layout: &Layout, line: usize) -> usize {
    if layout.assume_aligned { max(layout.align, line) } else { layout.align }
}

struct Checker<'a> {
    outermost: &'a Layout,
    line: usize,
    /// The outermost struct's address is a multiple of this.
    align: usize,
    report: Report,
    /// The alignment that would settle all that alignment can settle.
    align_wanted: usize,
    helps: Helps,
}

/// Which advice the findings call for.
struct Helps {
    /// Fields of different roles, away from each other.
    apart: bool,
    /// The fields of a group, towards each other.
    gather: bool,
    /// A field, larger than what its group may take: the group, to that many lines.
    widen: usize,
    /// Such a field may be a `CachePadded` inside another type.
    unwrap: bool,
    /// An embedded struct, or the only field of a group, to the start of a line.
    shift: bool,
    /// The outermost struct, to the start of a line.
    align: bool,
}

struct Inside<'a> {
    layout: &'a Layout,
    offset: usize,
    /// The largest distance that this struct or one around it asks for.
    apart: usize,
    path: Option<&'a Path<'a>>,
}

struct Path<'a> {
    name: &'a str,
    outer: Option<&'a Path<'a>>,
}

struct Place<'a> {
    field: &'a Field,
    offset: usize,
    apart: usize,
    path: Path<'a>,
}

impl<'a> Inside<'a> {
    const fn place(&self, index: usize) -> Place<'_> {
        let field = &self.layout.fields[index];
        Place {
            field,
            offset: self.offset + field.offset,
            apart: self.apart,
            path: Path { name: field.name, outer: self.path },
        }
    }
}

impl Place<'_> {
    const fn inside<'a>(&'a self, embedded: &'a Layout) -> Inside<'a> {
        Inside {
            layout: embedded,
            offset: self.offset,
            apart: max(self.apart, embedded.apart),
            path: Some(&self.path),
        }
    }

    const fn last_byte(&self) -> usize {
        self.offset + self.field.size - 1
    }
}

impl<'a> Checker<'a> {
    const fn outermost(&self) -> Inside<'a> {
        let layout = self.outermost;
        Inside { layout, offset: 0, apart: max(layout.apart, self.line), path: None }
    }
}

/// Rule 1.
impl Checker<'_> {
    const fn contended_fields(&mut self, inside: &Inside<'_>) {
        let mut index = 0;
        while index < inside.layout.fields.len() {
            let place = inside.place(index);
            match place.field.role {
                Role::Embedded(layout) => self.contended_fields(&place.inside(layout)),
                Role::Contended if place.field.size > 0 => {
                    self.neighbours(&place, &self.outermost());
                }
                _ => {}
            }
            index += 1;
        }
    }

    const fn neighbours(&mut self, contended: &Place<'_>, inside: &Inside<'_>) {
        // What begins after, or ends before, is too far away to share anything.
        let unit = max(contended.apart, inside.apart);
        let before = (contended.offset + 1).saturating_sub(unit);
        let behind = contended.last_byte() + unit;
        let fields = inside.layout.fields;
        let count = fields.len();
        let mut index = 0;
        // No calls for most fields: the compiler counts calls, and gives up at two million.
        while index < count {
            let field = &fields[index];
            let offset = inside.offset + field.offset;
            let is_near = offset < behind && offset + field.size > before && field.size > 0;
            match field.role {
                Role::Embedded(layout) => {
                    self.neighbours(contended, &inside.place(index).inside(layout));
                }
                Role::ReadMostly if is_near => self.pair(contended, &inside.place(index)),
                // Each pair of contended fields comes by twice.
                Role::Contended
                    if is_near
                        && contended.offset < offset
                        && in_different_groups(contended.field, field) =>
                {
                    self.pair(contended, &inside.place(index));
                }
                _ => {}
            }
            index += 1;
        }
    }

    const fn pair(&mut self, contended: &Place<'_>, other: &Place<'_>) {
        let unit = max(contended.apart, other.apart);
        let (first, second) =
            if contended.offset < other.offset { (contended, other) } else { (other, contended) };
        let distance = second.offset - first.last_byte();
        if first.last_byte() % min(self.align, unit) + distance >= unit {
            return;
        }

        if self.report.begin() {
            self.field(contended);
            let (is_certain, is_line) = (self.align >= unit, unit == self.line);
            let start = second.offset / unit * unit;
            let report = self.report.text(if is_certain { " shares " } else { " can share " });
            match (is_certain, is_line) {
                (true, true) => report.text("line ").number(start / unit),
                (true, false) => {
                    report.text("bytes ").number(start).text(" to ").number(start + unit - 1)
                }
                (false, true) => report.text("a line"),
                (false, false) => report.text("an aligned block of ").number(unit).text(" bytes"),
            };
            self.report.text(" with ");
            self.field(other);
            self.report.end();
        }

        if first.last_byte() % unit + distance < unit {
            self.helps.apart = true;
        } else {
            self.helps.align = true;
            self.align_wanted = max(self.align_wanted, unit);
        }
    }
}

/// Rule 2.
impl Checker<'_> {
    const fn groups(&mut self, inside: &Inside<'_>) {
        let mut index = 0;
        while index < inside.layout.fields.len() {
            let place = inside.place(index);
            if let Some(group) = place.field.group {
                if is_first_of(group, inside.layout, index) {
                    self.group(group, inside);
                }
            }
            if let Role::Embedded(layout) = place.field.role {
                self.groups(&place.inside(layout));
            }
            index += 1;
        }
    }

    const fn group(&mut self, group: &str, inside: &Inside<'_>) {
        let allowed = allowed_lines(group, inside.layout);
        let Touched { most, if_aligned, fields, widest } = self.touched_lines(group, inside);
        if most <= allowed {
            return;
        }

        if self.report.begin() {
            self.report.text("group \"").text(group).text("\"");
            self.report.text(if self.align >= self.line { " takes " } else { " can take " });
            self.report.number(most).text(if most == 1 { " line" } else { " lines" });
            self.report.text(" and may take ").number(allowed).text(": ");
            let mut listed = 0;
            let mut index = 0;
            while index < inside.layout.fields.len() {
                let place = inside.place(index);
                if is_in(group, place.field) {
                    if listed > 0 {
                        self.report.text(", ");
                    }
                    self.name_and_offset(&place);
                    self.report.text(")");
                    listed += 1;
                }
                index += 1;
            }
            self.report.end();
        }

        let lines = widest.div_ceil(self.line);
        if lines > allowed {
            self.helps.widen = max(self.helps.widen, lines);
            self.helps.unwrap |= widest % ISOLATION_BYTES == 0;
        } else if if_aligned <= allowed {
            self.helps.align = true;
        } else if fields == 1 {
            self.helps.shift = true;
        } else {
            self.helps.gather = true;
        }
    }

    const fn touched_lines(&self, group: &str, inside: &Inside<'_>) -> Touched {
        // For each place in a line where the outermost struct can start.
        let mut lines = [0; LARGEST_LINE];
        let mut next_line = [0; LARGEST_LINE];
        let mut next_offset = 0;
        let mut fields = 0;
        let mut widest = 0;
        // By offset, which need not be the order of the source.
        while let Some(field) = nearest(group, inside.layout, next_offset) {
            next_offset = field.offset + 1;
            fields += 1;
            let used = used_bytes(field, inside.layout);
            widest = max(widest, used);
            let mut start = 0;
            while start < self.line {
                let first_byte = start + inside.offset + field.offset;
                let first = max(first_byte / self.line, next_line[start]);
                let behind = max((first_byte + used - 1) / self.line + 1, first);
                lines[start] += behind - first;
                next_line[start] = behind;
                start += min(self.align, self.line);
            }
        }
        let mut most = 0;
        let mut start = 0;
        while start < self.line {
            most = max(most, lines[start]);
            start += 1;
        }
        Touched { most, if_aligned: lines[0], fields, widest }
    }
}

struct Touched {
    /// Lines at the worst address.
    most: usize,
    /// Lines of a struct that starts on one.
    if_aligned: usize,
    /// How many fields of the group have bytes.
    fields: usize,
    /// The bytes of the largest of them.
    widest: usize,
}

/// The largest line of all architectures: that of s390x.
const LARGEST_LINE: usize = 256;

/// Rule 3.
impl Checker<'_> {
    const fn assumptions(&mut self, inside: &Inside<'_>) {
        let mut index = 0;
        while index < inside.layout.fields.len() {
            let place = inside.place(index);
            if let Role::Embedded(layout) = place.field.role {
                if layout.assume_aligned {
                    self.assumption(&place, layout);
                }
                self.assumptions(&place.inside(layout));
            }
            index += 1;
        }
    }

    const fn assumption(&mut self, place: &Place<'_>, layout: &Layout) {
        let fits = place.offset % self.line == 0;
        if fits && self.align >= self.line {
            return;
        }
        if self.report.begin() {
            self.name_and_offset(place);
            self.report.text(") is a `").text(layout.name);
            self.report.text("`, which is assumed to start on a line");
            if fits {
                self.report.text(", and `").text(self.outermost.name).text("` can start anywhere");
            } else {
                self.report.text(", and does not");
            }
            self.report.end();
        }
        if fits {
            self.helps.align = true;
        } else {
            self.helps.shift = true;
        }
    }
}

impl Checker<'_> {
    const fn field(&mut self, place: &Place<'_>) {
        self.report.text(match place.field.role {
            Role::Contended => "contended ",
            _ => "read-mostly ",
        });
        self.name_and_offset(place);
        let size = place.field.size;
        self.report.text(", ").number(size).text(if size == 1 { " byte" } else { " bytes" });
        if let Some(group) = place.field.group {
            self.report.text(", group \"").text(group).text("\"");
        }
        self.report.text(")");
    }

    /// Leaves the parenthesis open.
    const fn name_and_offset(&mut self, place: &Place<'_>) {
        self.report.text("`");
        self.path(&place.path);
        self.report.text("` (offset ").number(place.offset);
    }

    const fn path(&mut self, path: &Path<'_>) {
        if let Some(outer) = path.outer {
            self.path(outer);
            self.report.text(".");
        }
        self.report.text(path.name);
    }

    const fn advice(&mut self) {
        let Self { line, align, align_wanted, .. } = *self;
        let report = self.report.end_of_findings();
        report.text("\n  = note: a line has ").number(line).text(" bytes");
        if align < align_wanted {
            report.text("; `").text(self.outermost.name).text("` starts at any multiple of ");
            report.number(align);
        }
        if self.helps.apart {
            report.text("\n  = help: order the fields by who touches them, cold ones in between; ");
            report.text("or wrap the smaller side in `tenure::cache_line::CachePadded`");
        }
        if self.helps.gather {
            report.text("\n  = help: put the fields of a group side by side; or let it take more ");
            report.text("lines: `#[line(group(name = \"...\", lines = N))]` on the struct");
        }
        if self.helps.widen > 0 {
            report.text("\n  = help: a field takes ").number(self.helps.widen);
            report.text(" lines by itself: make it smaller, or let its group take more lines: ");
            report.text("`#[line(group(name = \"...\", lines = ").number(self.helps.widen);
            report.text("))]` on the struct");
        }
        if self.helps.unwrap {
            report.text(
                "\n  = help: if it wraps a `tenure::cache_line::CachePadded`, use that as the field: ",
            );
            report.text("inside of another type its padding counts");
        }
        if self.helps.shift {
            report
                .text("\n  = help: put it first, or wrap it in `tenure::cache_line::CachePadded`");
        }
        if self.helps.align {
            report.text("\n  = help: `#[repr(align(").number(align_wanted).text("))]` settles it");
            // The promise is about lines, not about larger blocks.
            if align_wanted == line {
                report.text(", or `#[line(assume_aligned)]` if its memory starts on a line anyway");
            }
        }
    }
}

const fn in_different_groups(a: &Field, b: &Field) -> bool {
    match (a.group, b.group) {
        (Some(a), Some(b)) => !same(a, b),
        _ => false,
    }
}

const fn is_in(group: &str, field: &Field) -> bool {
    match field.group {
        Some(name) => same(name, group),
        None => false,
    }
}

const fn is_first_of(group: &str, layout: &Layout, index: usize) -> bool {
    // Backwards, for its other fields are near as a rule.
    let mut before = index;
    while before > 0 {
        before -= 1;
        if is_in(group, &layout.fields[before]) {
            return false;
        }
    }
    true
}

const fn used_bytes(field: &Field, layout: &Layout) -> usize {
    // In a packed struct the field may begin anywhere in a line, and its padding end in another.
    if layout.align > field.padding { field.size - field.padding } else { field.size }
}

const fn allowed_lines(group: &str, layout: &Layout) -> usize {
    let mut index = 0;
    while index < layout.groups.len() {
        let (name, lines) = layout.groups[index];
        if same(name, group) {
            return lines;
        }
        index += 1;
    }
    1
}

const fn nearest<'a>(group: &str, layout: &'a Layout, offset: usize) -> Option<&'a Field> {
    let mut nearest: Option<&Field> = None;
    let mut before = usize::MAX;
    let (fields, count) = (layout.fields, layout.fields.len());
    let mut index = 0;
    while index < count {
        let field = &fields[index];
        // Names last: comparing them calls, and the compiler counts calls.
        if field.size > 0 && field.offset >= offset && field.offset < before && is_in(group, field)
        {
            nearest = Some(field);
            before = field.offset;
        }
        index += 1;
    }
    nearest
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests;
