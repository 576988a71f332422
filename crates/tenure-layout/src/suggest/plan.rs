use super::together::UsedTogether;
use super::units::{LayoutUnit, LayoutUnits, UnitPiece};
use crate::sharing::word_weight;
use tenure_debuginfo::model::TypeId;
use tenure_model::Role;

/// The cost of a move, beside 0.4 of a number next to a count: a change has to be worth its review.
const COST_PER_MOVE: f64 = 0.1;

/// Members of one type that move: more is a redesign.
const MAX_MOVES: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct PlannedType {
    pub(super) id: TypeId,
    pub(super) units: LayoutUnits,
    pub(super) order: Vec<usize>,
    /// The units that are of the first part's type, if this one embeds it.
    pub(super) embeds: Vec<usize>,
    /// The most that its lines may cost: what they cost before.
    pub(super) bearable: f64,
    /// What functions use together.
    pub(super) together: UsedTogether,
    /// Units that begin a line, which aligns the type to lines.
    pub(super) starts: Vec<usize>,
    pub(super) line_bytes: u64,
    /// Units that are split off; the first is a pointer now.
    pub(super) away: Vec<usize>,
    /// Units that have lines of their own, by line, or are split off.
    pub(super) apart: Vec<Vec<usize>>,
}

/// The type to fix, first, and those that embed it.
#[derive(Debug, Clone)]
pub(super) struct LayoutPlan {
    pub(super) parts: Vec<PlannedType>,
    /// Whether the first part may change its size: all that embed it are parts.
    pub(super) resizable: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// The offset of each unit, not of each place.
    pub(super) offsets: Vec<u64>,
    pub(super) size: u64,
}

impl PlannedType {
    pub(super) fn new(id: TypeId, units: LayoutUnits, order: Vec<usize>, line_bytes: u64) -> Self {
        let (embeds, together, starts, away, apart) = Default::default();
        Self {
            id,
            units,
            order,
            embeds,
            bearable: f64::INFINITY,
            together,
            starts,
            line_bytes,
            away,
            apart,
        }
    }

    /// Lays the units out. `inner` is the embedded type's present size.
    pub(super) fn place(&self, inner: Option<u64>) -> Placed {
        let mut offsets = vec![0; self.order.len()];
        let mut end = 0_u64;
        for &index in &self.order {
            let unit = &self.units.units[index];
            let size = inner.filter(|_| self.embeds.contains(&index)).unwrap_or(unit.size);
            let start = match self.starts.contains(&index) {
                true => end.next_multiple_of(self.line_bytes.max(unit.align)),
                false => unit.start(end),
            };
            offsets[index] = start;
            end = start.saturating_add(size);
        }
        Placed { offsets, size: end.next_multiple_of(self.align()) }
    }

    pub(super) fn align(&self) -> u64 {
        let line = if self.starts.is_empty() { 1 } else { self.line_bytes };
        self.units.align.max(line)
    }

    /// Whether compilers lay the units out like this: two runs of bit fields that meet would become one.
    pub(super) fn is_legal(&self, placed: &Placed) -> bool {
        let mut before: Option<usize> = None;
        self.order.iter().all(|&index| {
            let unit = &self.units.units[index];
            let start = placed.offsets[index];
            let after = before.replace(index).filter(|&other| self.units.units[other].bits);
            let as_it_was = |other: usize| {
                other + 1 == index
                    && start - placed.offsets[other] == unit.offset - self.units.units[other].offset
            };
            start.is_multiple_of(unit.multiple)
                && (!unit.bits || unit.holds(start) && after.is_none_or(as_it_was))
        })
    }

    /// Whether a link that lookups walk leaves its line.
    fn tears(&self, placed: &Placed) -> bool {
        let leaves = |(unit, at): (&LayoutUnit, &u64)| {
            unit.walked && unit.offset / self.line_bytes != at / self.line_bytes
        };
        self.units.units.iter().zip(&placed.offsets).any(leaves)
            || self.together.tears(&placed.offsets, self.line_bytes)
    }

    /// All but the longest run that keeps its order.
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

impl LayoutPlan {
    /// The sum over all parts; none if a part grows or gets worse, or the sum reaches `limit`.
    pub(super) fn cost(&self, limit: f64) -> Option<f64> {
        let first = self.first()?;
        let mut cost = 0.0;
        for index in 0..self.parts.len() {
            cost += self.cost_of(index, &first)?;
            if cost >= limit {
                return None;
            }
        }
        Some(cost)
    }

    /// The first part; none if its size changed and must not.
    pub(super) fn first(&self) -> Option<Placed> {
        let part = &self.parts[0];
        let placed = part.place(None);
        (placed.size == part.units.size || self.resizable).then_some(placed)
    }

    pub(super) fn cost_of(&self, index: usize, first: &Placed) -> Option<f64> {
        let part = &self.parts[index];
        let placed = self.placed(index, first);
        // The embedded type may grow into a gap of those that embed it; alone it may not.
        if placed.size > part.units.size && (index > 0 || self.parts.len() == 1)
            || !part.is_legal(&placed)
            || part.tears(&placed)
        {
            return None;
        }
        let moves = part.moved().len();
        let lines = (moves <= MAX_MOVES).then(|| self.lines_of(index, &placed, first))?;
        // A gain in one type does not pay for another.
        if lines.all > part.bearable {
            return None;
        }
        #[allow(clippy::cast_precision_loss)]
        let moves = COST_PER_MOVE * moves as f64;
        let apart = part.together.cost(&placed.offsets, part.line_bytes);
        Some(lines.concerned + moves + apart)
    }

    pub(super) fn lines_now(&self, index: usize) -> f64 {
        let first = self.parts[0].place(None);
        self.lines_of(index, &self.placed(index, &first), &first).all
    }

    fn placed(&self, index: usize, first: &Placed) -> Placed {
        match index {
            0 => first.clone(),
            _ => self.parts[index].place(Some(first.size)),
        }
    }

    /// The units that matter to a line to fix: only their moves can help.
    pub(super) fn involved(&self, index: usize) -> Vec<bool> {
        let first = self.parts[0].place(None);
        let spots = self.spots(&self.parts[index], &self.placed(index, &first), &first);
        let mut involved = vec![false; self.parts[index].units.units.len()];
        for word in spots.words() {
            for spot in spots.around(word) {
                let matters = word.piece.role.is_contended() || word.weight(spot) > 0.0;
                if matters && (index == 0 || word.inner.is_some() || spot.inner.is_some()) {
                    involved[word.unit] = true;
                    involved[spot.unit] = true;
                }
            }
        }
        involved
    }

    fn spots<'p>(&'p self, part: &'p PlannedType, placed: &Placed, first: &Placed) -> Spots<'p> {
        let mut all = Spots { line_bytes: part.line_bytes, all: Vec::new(), ends: Vec::new() };
        for &index in &part.order {
            let at = placed.offsets[index];
            if part.embeds.contains(&index) {
                let inner = &self.parts[0];
                for &unit in &inner.order {
                    let offset = at + first.offsets[unit];
                    all.add(&inner.units.units[unit], offset, index, Some(at));
                }
            } else {
                all.add(&part.units.units[index], at, index, None);
            }
        }
        all
    }

    /// What lies beside contended words in one part. Pairs within the embedded type count there.
    fn lines_of(&self, index: usize, placed: &Placed, first: &Placed) -> LineCosts {
        let spots = self.spots(&self.parts[index], placed, first);
        let mut lines = LineCosts { all: 0.0, concerned: 0.0 };
        for word in spots.words() {
            let (mut all, mut concerned) = (0.0, 0.0);
            for spot in spots.around(word) {
                let told = word.inner.is_some_and(|base| {
                    spot.inner == Some(base) && base.is_multiple_of(spots.line_bytes)
                });
                if !told && apart(word, spot) {
                    let weight = word.weight(spot);
                    all += weight;
                    if index == 0 || word.inner.is_some() || spot.inner.is_some() {
                        concerned += weight;
                    }
                }
            }
            // Without the score's discount: each neighbour less is worth the same, or a crowded line would never be
            // fixed.
            let hurts = match word.piece.role.is_contended() {
                true => word_weight(word.piece.role),
                false => word_weight(Role::Atomic),
            };
            lines.all += hurts * all;
            lines.concerned += hurts * concerned;
        }
        lines
    }
}

struct LineCosts {
    all: f64,
    /// The cost that the plan can change: in a type that embeds the one to fix only pairs with that one.
    concerned: f64,
}

struct PieceSpot<'p> {
    place: usize,
    offset: u64,
    piece: &'p UnitPiece,
    unit: usize,
    /// The start of the embedded type that it is in.
    inner: Option<u64>,
}

impl PieceSpot<'_> {
    fn end(&self) -> u64 {
        self.offset + self.piece.size
    }

    /// What another spot suffers beside this one.
    fn weight(&self, other: &Self) -> f64 {
        // A lock of the embedded type is another than one around it, though their bits may be the same.
        let differs = self.inner == other.inner && self.piece.guard.differs(other.piece.guard);
        match differs {
            true => other.piece.victim.beside(Role::Atomic),
            false if self.piece.role.is_contended() => other.piece.victim.beside(self.piece.role),
            // A plain word hurts only what its lock does not guard.
            false => 0.0,
        }
    }
}

struct Spots<'p> {
    line_bytes: u64,
    all: Vec<PieceSpot<'p>>,
    /// The largest end up to each spot: alternatives of a union differ in size.
    ends: Vec<u64>,
}

impl<'p> Spots<'p> {
    fn add(&mut self, of: &'p LayoutUnit, at: u64, unit: usize, inner: Option<u64>) {
        for piece in &of.pieces {
            let spot =
                PieceSpot { place: self.all.len(), offset: at + piece.offset, piece, unit, inner };
            self.ends.push(spot.end().max(self.ends.last().copied().unwrap_or(0)));
            self.all.push(spot);
        }
    }

    /// Contended words, and those that are written under one of several locks.
    fn words(&self) -> impl Iterator<Item = &PieceSpot<'p>> {
        self.all.iter().filter(|spot| {
            spot.piece.role.is_contended() || spot.piece.guard.is_written_under_lock()
        })
    }

    /// The spots on the word's lines, itself included.
    fn around(&self, word: &PieceSpot<'_>) -> impl Iterator<Item = &PieceSpot<'p>> {
        let from = word.offset / self.line_bytes * self.line_bytes;
        let to = word.end().next_multiple_of(self.line_bytes);
        let first = self.ends[..word.place].partition_point(|&end| end <= from);
        let near = self.all[first..].iter().take_while(move |spot| spot.offset < to);
        near.filter(move |spot| spot.end() > from)
    }
}

fn apart(a: &PieceSpot<'_>, b: &PieceSpot<'_>) -> bool {
    a.end() <= b.offset || b.end() <= a.offset
}

#[cfg(test)]
mod tests {
    use super::super::units::tests::run;
    use super::*;

    #[test]
    fn runs_of_bit_fields_that_come_together_would_become_one() {
        let id = crate::fixtures::Maker::new().int;
        let flags = run(&[(3, 8)]);
        let between = LayoutUnit { offset: 1, bits: false, fields: Vec::new(), ..flags.clone() };
        let units = vec![flags.clone(), between, LayoutUnit { offset: 2, ..flags }];
        let units = LayoutUnits { units, size: 3, align: 1 };
        let is_legal = |order| {
            let part = PlannedType::new(id, units.clone(), order, 64);
            part.is_legal(&part.place(None))
        };
        assert!(is_legal(vec![0, 1, 2]));
        assert!(is_legal(vec![2, 1, 0]));
        assert!(!is_legal(vec![0, 2, 1]));
    }
}
