use crate::coherence::Request;
use crate::machine::Ps;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Resume(usize),
    Arrive(u32, Request),
    Grant(u32),
    /// Ends a request that moved nothing away.
    Free(u32),
    Deliver(u32, usize, Delivery),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Of a line that others read too; noted in the directory at the grant.
    Copy,
    /// Of a line whose owner keeps a copy.
    Share,
    Own,
    /// Of a read-modify-write at the line's home.
    Far,
}

/// By time, then by announcement, so that each run is the same.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Entry>,
    announced: u64,
}

#[derive(Debug)]
struct Entry {
    at: Ps,
    order: u64,
    event: Event,
}

impl Events {
    pub(crate) fn announce(&mut self, at: Ps, event: Event) {
        self.heap.push(Entry { at, order: self.announced, event });
        self.announced += 1;
    }

    pub(crate) fn next_at(&self) -> Option<Ps> {
        self.heap.peek().map(|entry| entry.at)
    }

    pub(crate) fn take(&mut self) -> Option<(Ps, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (Ps, Event)> {
        self.heap.iter().map(|entry| (entry.at, entry.event))
    }
}

impl Ord for Entry {
    // The heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_at_one_time_the_first_announced() {
        let mut events = Events::default();
        for (at, cpu) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            events.announce(at, Event::Resume(cpu));
        }
        assert_eq!(events.next_at(), Some(3));
        let order: Vec<usize> = std::iter::from_fn(|| events.take())
            .map(|(_, event)| match event {
                Event::Resume(cpu) => cpu,
                _ => unreachable!("only CPUs were announced"),
            })
            .collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
