//! What the code says of two words on one line: how often the one is read, and whether its readers take the other.

use super::weight::{GUARDED, Why};
use crate::evidence::{Evidence, Uses};
use crate::lines::Leaf;

/// Of a neighbour that no code is seen to read, where the code of its type is known.
const UNREAD: f64 = 0.3;

/// How much a reader without the lock counts: it may be called with the lock held.
const HINT: f64 = 0.5;

/// A neighbour's weight by its type, made better by what the code does; and the share of its readers that do not take the
/// word beside it, if that is a lock.
pub(super) fn weighed(
    evidence: &Evidence,
    (weight, why): (f64, Why),
    leaf: &Leaf,
    word: &Uses,
    neighbour: &Uses,
) -> (f64, f64) {
    let open = if why.is_guarded() { weight / GUARDED } else { weight };
    let readers = neighbour.readers_weighed(evidence);
    let open = if leaf.role.is_contended() || (readers == 0.0 && evidence.misses_words) {
        open
    } else if readers == 0.0 {
        open * UNREAD
    } else {
        let read = (0.2 + 0.2 * (1.0 + readers).log2()).min(1.0);
        f64::midpoint(open, read)
    };
    if !why.is_guarded() {
        return (open, 0.0);
    }
    let unguarded = HINT * neighbour.read_without(evidence, word);
    (open * (GUARDED + (1.0 - GUARDED) * unguarded), unguarded)
}
