//! Ranges of addresses, each with a number; they may lie in each other.

/// Which ranges an address lies in.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Spans, in the order of starts once sorted.
    spans: Vec<Span>,
    /// The furthest end of a span and all before it.
    reach: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    begin: u64,
    end: u64,
    which: usize,
}

impl Spans {
    /// Ignores ranges of nothing and those of code that the linker dropped.
    pub(super) fn push(&mut self, range: gimli::Range, which: usize) {
        if range.begin != 0 && range.begin < range.end {
            self.spans.push(Span { begin: range.begin, end: range.end, which });
        }
    }

    pub(super) fn sorted(mut self) -> Self {
        self.spans.sort_unstable();
        self.spans.shrink_to_fit();
        let mut furthest = 0;
        self.reach = self
            .spans
            .iter()
            .map(|span| {
                furthest = span.end.max(furthest);
                furthest
            })
            .collect();
        self
    }

    /// The numbers of the ranges that hold an address, the one that begins last first.
    pub(super) fn at(&self, address: u64) -> impl Iterator<Item = usize> {
        let after = self.spans.partition_point(|span| span.begin <= address);
        let reached = move |at: &usize| self.reach[*at] > address;
        let spans = (0..after).rev().take_while(reached).map(|at| self.spans[at]);
        spans.filter(move |span| address < span.end).map(|span| span.which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_all_ranges_around_it_and_the_innermost_comes_first() {
        let mut spans = Spans::default();
        for (which, (begin, end)) in
            [(10, 100), (20, 30), (25, 28), (40, 50), (0, 90), (7, 7)].into_iter().enumerate()
        {
            spans.push(gimli::Range { begin, end }, which);
        }
        let spans = spans.sorted();
        let at = |address| spans.at(address).collect::<Vec<_>>();
        assert_eq!(at(26), [2, 1, 0]);
        assert_eq!(at(30), [0]);
        assert_eq!(at(49), [3, 0]);
        assert_eq!(at(9), [0; 0], "one that starts at 0 was dropped by the linker");
        assert_eq!(at(100), [0; 0]);
    }
}
