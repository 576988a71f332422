//! What the code says of two words on one line: how often the one is read, and whether its readers take the other.

use super::weight::{GUARDED, Why};
use crate::evidence::{CodeEvidence, Uses};
use crate::lines::Leaf;
use tenure_model::Role;

/// The share of its weight that a neighbour has which no code is seen to read, where the code of its type is known: judgement.
const UNREAD_SHARE: f64 = 0.3;

/// Threads that wait for a lock read its word again and again, and take the line from the one that holds it: how much more what
/// it guards suffers if very many functions take it. And from which heat on.
const HOT: f64 = 0.25;
const WARM: f64 = 0.6;

/// How much a reader without the lock counts: it may be called with the lock held.
const HINT: f64 = 0.5;

/// A neighbour's weight by its type, made better by what the code does; and the share of its readers that do not take the
/// word beside it, if that is a lock, or a plain word that is written under one.
pub(super) fn weighed(
    evidence: &CodeEvidence,
    (weight, why): (f64, Why),
    role: Role,
    leaf: &Leaf,
    word: &Uses,
    neighbour: &Uses,
) -> (f64, f64) {
    let open = if why.is_guarded() { weight / GUARDED } else { weight };
    let readers = neighbour.readers_weighed();
    let open = if leaf.role.is_contended() || (readers == 0.0 && evidence.misses_words) {
        open
    } else if readers == 0.0 {
        open * UNREAD_SHARE
    } else {
        let read = (0.2 + 0.2 * (1.0 + readers).log2()).min(1.0);
        f64::midpoint(open, read)
    };
    if !why.is_guarded() {
        return (open, 0.0);
    }
    let guarded = GUARDED + HOT * (word.heat(Some(evidence)) - WARM).max(0.0) / (1.0 - WARM);
    let unguarded = HINT * neighbour.read_without(evidence, word, role == Role::Plain);
    (open * (guarded + (1.0 - guarded) * unguarded), unguarded)
}
