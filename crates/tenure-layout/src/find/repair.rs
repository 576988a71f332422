//! A repair in sentences: what moves, what it costs, what is left, and what to check when applying it.

use std::cmp::Ordering;

use tenure_report::words::counted;

use super::model::{Embedder, Move};

/// The most members or types that a sentence names.
pub(crate) const MOST_NAMED: usize = 4;

/// For orders that C and C++ take from the source.
pub(crate) const INITIALISERS: &str = "A new order also changes what initialises the members by place: look for \
    initialisers without names, `memcpy` and `memset` of parts, offsets in assembly, and in C++ constructors \
    that count on the order.";

/// For structs that the compiler lays out.
pub(crate) const REPR_C: &str = "Rust orders the fields of a struct by itself: write `#[repr(C)]` for this order, or \
    put the contended field into `tenure::line::Isolated`.";

pub(crate) fn summary(
    name: &str,
    (before, after): (u64, u64),
    moves: &[Move],
    embedders: &[Embedder],
) -> String {
    let names = |moves: &[Move]| moves.iter().map(|one| one.member.clone()).collect::<Vec<_>>();
    let mut clauses = Vec::new();
    if !moves.is_empty() {
        clauses.push(format!("move {} within {name}", listed(&names(moves))));
    }
    let moving: Vec<&Embedder> = embedders.iter().filter(|one| !one.moves.is_empty()).collect();
    for one in moving.iter().take(MOST_NAMED) {
        clauses.push(format!("{} within {}", listed(&names(&one.moves)), one.type_name));
    }
    if moving.len() > MOST_NAMED {
        clauses.push(format!("members of {}", counted(moving.len() - MOST_NAMED, "more type")));
    }
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

pub(crate) fn left(word: &str, type_name: &str, victims: &[String], score: f64) -> String {
    format!("Still beside `{word}` in {type_name}: {} (score {score:.0}).", listed(victims))
}

/// `` `a`, `b` and 3 more ``.
fn listed(names: &[String]) -> String {
    let shown = if names.len() > MOST_NAMED + 1 { MOST_NAMED } else { names.len() };
    let quoted: Vec<_> = names[..shown].iter().map(|name| format!("`{name}`")).collect();
    match (quoted.as_slice(), names.len() - shown) {
        ([], _) => String::new(),
        ([only], 0) => only.clone(),
        ([init @ .., last], 0) => format!("{} and {last}", init.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}
