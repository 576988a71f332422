//! A type and those that embed it, in some order, and what that order costs.

use super::units::{Piece, Unit, Units};
use crate::findings::word_weight;
use crate::model::TypeId;

/// What moving one member costs, where a number beside a count costs 0.4: a change has to be worth its
/// review.
const PER_MOVE: f64 = 0.1;

/// The most members of one type that move. Who wants more has to think anew.
const MOST_MOVES: usize = 8;

/// One type of a plan.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) id: TypeId,
    pub(super) units: Units,
    /// The units in the order in which they are written down.
    pub(super) order: Vec<usize>,
    /// For a type that embeds the first part: the units that are it.
    pub(super) embeds: Vec<usize>,
    /// What its own members may cost each other: what they did before.
    pub(super) bearable: f64,
}

/// The type to mend, first, and those that embed it.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    pub(super) line_bytes: u64,
    /// Whether the first part may change its size: all that embed it are parts.
    pub(super) resizable: bool,
}

/// Where the units of a part lie.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// By unit, not by place.
    pub(super) offsets: Vec<u64>,
    pub(super) size: u64,
}

impl Part {
    /// Lays the units out one after the other. `inner` is the size that the embedded type has by now.
    pub(super) fn place(&self, inner: Option<u64>) -> Placed {
        let mut offsets = vec![0; self.order.len()];
        let mut end = 0_u64;
        for &index in &self.order {
            let unit = &self.units.units[index];
            let size = inner.filter(|_| self.embeds.contains(&index)).unwrap_or(unit.size);
            offsets[index] = end.next_multiple_of(unit.align);
            end = offsets[index] + size;
        }
        Placed { offsets, size: end.next_multiple_of(self.units.align) }
    }

    /// How many units are cut out and put in elsewhere: all but the longest run that kept its order.
    pub(super) fn moved(&self) -> Vec<usize> {
        // Patience: `tails[n]` ends the run of length n + 1 that ends lowest.
        let mut tails: Vec<usize> = Vec::new();
        let mut before = vec![None; self.order.len()];
        for &unit in &self.order {
            let at = tails.partition_point(|&tail| tail < unit);
            before[unit] = at.checked_sub(1).map(|at| tails[at]);
            if at == tails.len() {
                tails.push(unit);
            } else {
                tails[at] = unit;
            }
        }
        let mut kept = vec![false; self.order.len()];
        let mut at = tails.last().copied();
        while let Some(unit) = at {
            kept[unit] = true;
            at = before[unit];
        }
        self.order.iter().copied().filter(|&unit| !kept[unit]).collect()
    }
}

impl Plan {
    /// What each part costs; none if one of them grows or gets worse.
    pub(super) fn costs(&self) -> Option<Vec<f64>> {
        let first = self.parts[0].place(None);
        (0..self.parts.len()).map(|index| self.cost(index, &first)).collect()
    }

    /// What one part costs, given where the members of the first lie; none if it grows or gets worse.
    pub(super) fn cost(&self, index: usize, first: &Placed) -> Option<f64> {
        let part = &self.parts[index];
        let placed = self.placed(index, first);
        let size = part.units.size;
        // The embedded type may grow into a gap of those that embed it; alone it may not.
        let grows = match index {
            0 if self.resizable => self.parts.len() == 1 && placed.size > size,
            0 => placed.size != size,
            _ => placed.size > size,
        };
        let moves = part.moved().len();
        if grows || moves > MOST_MOVES {
            return None;
        }
        let lines = self.lines(part, &placed, first);
        // What is gained in one type is not paid for by another.
        if lines.own > part.bearable {
            return None;
        }
        #[allow(clippy::cast_precision_loss)]
        Some(if index == 0 { lines.own } else { lines.through } + PER_MOVE * moves as f64)
    }

    fn placed(&self, index: usize, first: &Placed) -> Placed {
        if index == 0 { first.clone() } else { self.parts[index].place(Some(first.size)) }
    }

    /// What the lines of a part cost by themselves.
    pub(super) fn own(&self, index: usize) -> f64 {
        let first = self.parts[0].place(None);
        self.lines(&self.parts[index], &self.placed(index, &first), &first).own
    }

    /// The units of a part that lie on a line on which much is to be gained: only their moves can help.
    pub(super) fn involved(&self, index: usize) -> Vec<bool> {
        let part = &self.parts[index];
        let first = self.parts[0].place(None);
        let all = self.spots(part, &self.placed(index, &first), &first);
        let mut involved = vec![false; part.units.units.len()];
        for word in all.iter().filter(|spot| spot.piece.role.is_contended()) {
            let lines = self.beside(word, &all);
            let gain = if index == 0 { lines.own } else { lines.through };
            if gain > PER_MOVE {
                for spot in all.iter().filter(|spot| self.share(word, spot)) {
                    involved[spot.unit] = true;
                }
            }
        }
        involved
    }

    fn spots<'p>(&'p self, part: &'p Part, placed: &Placed, first: &Placed) -> Vec<Spot<'p>> {
        let mut all: Vec<Spot<'_>> = Vec::new();
        for (index, unit) in part.units.units.iter().enumerate() {
            let at = placed.offsets[index];
            if part.embeds.contains(&index) {
                let inner = &self.parts[0].units.units;
                for (unit, &offset) in inner.iter().zip(&first.offsets) {
                    spread(&mut all, unit, at + offset, index, Some(at));
                }
            } else {
                spread(&mut all, unit, at, index, None);
            }
        }
        all
    }

    /// What lies beside the contended words of one part.
    fn lines(&self, part: &Part, placed: &Placed, first: &Placed) -> Lines {
        let all = self.spots(part, placed, first);
        let words = all.iter().filter(|spot| spot.piece.role.is_contended());
        words.map(|word| self.beside(word, &all)).fold(Lines::default(), |sum, one| Lines {
            own: sum.own + one.own,
            through: sum.through + one.through,
        })
    }

    /// What lies beside one word. Pairs within the embedded type are counted there, unless it takes
    /// its place in this part to bring them together.
    fn beside(&self, word: &Spot<'_>, all: &[Spot<'_>]) -> Lines {
        let mut weights = Lines::default();
        for spot in all.iter().filter(|spot| self.share(word, spot) && apart(word, spot)) {
            let weight = spot.piece.victim.beside(word.piece.role);
            match (word.inner, spot.inner) {
                (None, None) => weights.own += weight,
                (Some(base), Some(same))
                    if base == same && base.is_multiple_of(self.line_bytes) => {}
                _ => weights.through += weight,
            }
        }
        let hurt = word_weight(word.piece.role);
        Lines { own: hurt * weights.own, through: hurt * weights.through }
    }

    fn share(&self, a: &Spot<'_>, b: &Spot<'_>) -> bool {
        let line = |at: u64| at / self.line_bytes;
        line(a.offset) <= line(b.offset + b.piece.size - 1)
            && line(b.offset) <= line(a.offset + a.piece.size - 1)
    }
}

/// What the lines of a part cost.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    /// Among its own members.
    own: f64,
    /// Between its own members and those of the embedded type.
    through: f64,
}

/// A leaf at its place.
struct Spot<'p> {
    offset: u64,
    piece: &'p Piece,
    /// Of the part.
    unit: usize,
    /// Where the embedded type begins, for what is in it.
    inner: Option<u64>,
}

fn spread<'p>(all: &mut Vec<Spot<'p>>, of: &'p Unit, at: u64, unit: usize, inner: Option<u64>) {
    let spot = |piece: &'p Piece| Spot { offset: at + piece.offset, piece, unit, inner };
    all.extend(of.pieces.iter().map(spot));
}

/// Whether two leaves can be there at the same time.
fn apart(a: &Spot<'_>, b: &Spot<'_>) -> bool {
    a.offset + a.piece.size <= b.offset || b.offset + b.piece.size <= a.offset
}
