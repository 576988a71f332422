//! What a new layout of a type moves, costs and asks to check: sentences.

use std::cmp::Ordering;

use tenure_model::{Embedder, Language, Means, Move};
use tenure_report::numbers::{counted, grouped};

/// A sentence lists at most so many names, and the number of the others.
pub const MAX_NAMES: usize = 4;

/// Orders that C and C++ take from the source.
const INITIALISERS: &str = "A new order also changes what initialises the members by place: look for \
    initialisers without names, `memcpy` and `memset` of parts, offsets in assembly, and in C++ constructors \
    that count on the order.";

/// Structs that the compiler lays out.
const REPR_C: &str = "Rust orders the fields of a struct by itself: write `#[repr(C)]` for this order, or \
    put the contended field into `tenure::cache_line::CachePadded`.";

const PADDED: &str = "In Rust `tenure::cache_line::CachePadded` around the field does it, or `#[repr(C)]` and an aligned field.";

const BOXED: &str = "In Rust the field is a `Box<tenure::cache_line::CachePadded<T>>`.";

const ALLOCATED: &str = "The line is allocated and freed with the object, aligned to a line.";

const UNNAMED: &str = "A new order also changes literals without field names: look for them.";

const POINTED: &str = "The field is a pointer to a struct that has unused bytes at both ends.";

/// How a layout is written, and what to check. `starts` are the members that begin a line.
#[must_use]
pub fn note(language: Language, means: Means, line_bytes: u64, starts: &[String]) -> String {
    match (language, means) {
        (Language::Rust, Means::Order) => REPR_C.to_owned(),
        (Language::Rust, Means::Align) => PADDED.to_owned(),
        (Language::Rust, Means::Split) => BOXED.to_owned(),
        (Language::C | Language::Cpp, Means::Order) => INITIALISERS.to_owned(),
        (Language::C | Language::Cpp, Means::Split) => ALLOCATED.to_owned(),
        (Language::Go | Language::Java | Language::JavaScript, Means::Order) => UNNAMED.to_owned(),
        (Language::Go | Language::Java | Language::JavaScript, Means::Split) => POINTED.to_owned(),
        (Language::Go | Language::Java | Language::JavaScript, Means::Align) => format!(
            "Nothing is aligned to a line there: put {line_bytes} unused bytes before {} and after it.",
            listed(starts)
        ),
        (Language::C | Language::Cpp, Means::Align) => format!(
            "Write `__attribute__((aligned({line_bytes})))` or `alignas({line_bytes})` at {}; an allocator has to give such \
             objects that alignment.",
            listed(starts)
        ),
    }
}

/// What one line holds.
#[derive(Debug, Clone, Default)]
pub struct LineMembers {
    /// Contended words.
    pub words: Vec<String>,
    /// What the locks among them guard.
    pub guarded: Vec<String>,
}

impl LineMembers {
    fn listed(&self) -> String {
        match self.guarded.is_empty() {
            true => listed(&self.words),
            false => format!("{} with {}", listed(&self.words), listed(&self.guarded)),
        }
    }
}

/// The bytes of an object.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Number before the change.
    pub before: u64,
    /// Number after the change.
    pub after: u64,
    /// Number in lines elsewhere, after the change.
    pub split_off: u64,
}

/// What words get lines of their own, or are split off, and the price in bytes of an object.
#[must_use]
pub fn apart(
    means: Means,
    name: &str,
    lines: &[LineMembers],
    line_bytes: u64,
    sizes: Sizes,
) -> String {
    let members = lines.iter().map(|line| line.words.len() + line.guarded.len());
    let (its, them) = if members.sum::<usize>() == 1 { ("its", "it") } else { ("their", "them") };
    let words = lines.iter().map(LineMembers::listed).collect::<Vec<_>>().join("; ");
    let Sizes { before, after, split_off } = sizes;
    let size = match after.cmp(&before) {
        Ordering::Equal => format!("{name} stays at {before} bytes"),
        _ => format!("{name} goes from {before} to {after} bytes"),
    };
    let price = i128::from(after) + i128::from(split_off) - i128::from(before);
    match means {
        Means::Split => format!(
            "Split {words} off to lines of {its} own, and leave a pointer to {them}: {size}, what is split off takes \
             {split_off}, together {price:+} an object, and each use follows the pointer."
        ),
        _ => format!(
            "Give {words} lines of {its} own, aligned to {line_bytes} bytes: {size}, {price:+} an object."
        ),
    }
}

/// What moves, and what it costs.
#[must_use]
pub fn order(name: &str, sizes: Sizes, moves: &[Move], embedders: &[Embedder]) -> String {
    let names = |moves: &[Move]| moves.iter().map(|one| one.member.clone()).collect::<Vec<_>>();
    let mut clauses = Vec::new();
    if !moves.is_empty() {
        clauses.push(format!("move {} within {name}", listed(&names(moves))));
    }
    let moving: Vec<&Embedder> = embedders.iter().filter(|one| !one.moves.is_empty()).collect();
    for one in moving.iter().take(MAX_NAMES) {
        clauses.push(format!("move {} within {}", listed(&names(&one.moves)), one.type_name));
    }
    if moving.len() > MAX_NAMES {
        let more = counted(moving.len() - MAX_NAMES, "more type");
        clauses.push(format!("move members of {more}"));
    }
    let Sizes { before, after, .. } = sizes;
    let cost = match after.cmp(&before) {
        Ordering::Equal => format!("no type grows: {name} stays at {before} bytes"),
        Ordering::Less => format!("no type grows: {name} shrinks from {before} to {after} bytes"),
        Ordering::Greater => {
            format!("no type that embeds it grows: {name} goes from {before} to {after} bytes")
        }
    };
    let mut sentence = format!("{}; {cost}.", clauses.join(", "));
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence
}

/// An array whose elements fill lines, and whose first does not begin one.
#[must_use]
pub fn aligned_array(line_bytes: u64, stride: u64, cost: &str) -> String {
    let its = if stride == line_bytes { "its own line" } else { "its own lines" };
    let stride = in_bytes(stride);
    format!(
        "Align the array to {line_bytes} bytes: each element ({stride}) then has {its}, {cost}."
    )
}

/// What is done to the elements of an array, so that each takes whole lines.
#[derive(Debug, Clone, Copy)]
pub enum ElementChange<'a> {
    /// Each is wrapped: it is a number, or another's type.
    Wrap,
    /// Their type, which has no name, is aligned.
    AlignNameless,
    /// This type is aligned.
    Align(&'a str),
}

/// An array whose elements are padded to whole lines. `count` is 0 for any number of elements.
#[must_use]
pub fn padded_elements(
    change: ElementChange<'_>,
    line_bytes: u64,
    (stride, padded): (u64, u64),
    count: u64,
    cost: &str,
) -> String {
    let what = match change {
        ElementChange::Wrap => "Give each element".to_owned() + its_lines(padded, line_bytes),
        ElementChange::AlignNameless => format!("Align the element type to {line_bytes} bytes"),
        ElementChange::Align(name) => format!("Align `{name}` to {line_bytes} bytes"),
    };
    let many = match count {
        0 => String::new(),
        count => format!("{} elements of ", grouped(&count.to_string())),
    };
    format!("{what}: {many}{padded} bytes instead of {stride}, {cost}.")
}

/// Variables that get lines of their own, of which the first has so many bytes.
#[must_use]
pub fn variables(names: &[String], first_bytes: u64, line_bytes: u64, more_bytes: u64) -> String {
    let its = match names.len() {
        1 => its_lines(first_bytes, line_bytes),
        _ => " lines of their own",
    };
    format!("Give {}{its}: {} at most.", listed(names), more(more_bytes))
}

fn its_lines(bytes: u64, line_bytes: u64) -> &'static str {
    if bytes <= line_bytes { " a line of its own" } else { " lines of its own" }
}

/// `+56 bytes`.
#[must_use]
pub fn more(bytes: u64) -> String {
    format!("+{}", in_bytes(bytes))
}

fn in_bytes(number: u64) -> String {
    counted(number, "byte")
}

/// `` `a`, `b` and 3 more ``.
#[must_use]
pub fn listed(names: &[String]) -> String {
    let shown = if names.len() > MAX_NAMES + 1 { MAX_NAMES } else { names.len() };
    let quoted: Vec<_> = names[..shown].iter().map(|name| format!("`{name}`")).collect();
    match (quoted.as_slice(), names.len() - shown) {
        ([], _) => String::new(),
        ([only], 0) => only.clone(),
        ([init @ .., last], 0) => format!("{} and {last}", init.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_listed_by_the_first_and_the_number_of_the_others() {
        let names = |count: usize| {
            ["a", "b", "c", "d", "e", "f"][..count]
                .iter()
                .map(|it| (*it).to_owned())
                .collect::<Vec<_>>()
        };
        for (count, expected) in [
            (0, ""),
            (1, "`a`"),
            (2, "`a` and `b`"),
            (5, "`a`, `b`, `c`, `d` and `e`"),
            (6, "`a`, `b`, `c`, `d` and 2 more"),
        ] {
            assert_eq!(listed(&names(count)), expected);
        }
    }
}
