use crate::coherence::LineRequest;
use crate::machine::Ps;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy)]
pub(crate) enum EngineEvent {
    Resume(usize),
    Arrive(u32, LineRequest),
    Grant(u32),
    /// Ends a request that moved nothing away.
    Free(u32),
    Deliver(u32, usize, Delivery),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Of a line that others read too; noted in the directory at the grant.
    Copy,
    /// A line whose owner keeps a copy.
    Share,
    Own,
    /// The result of a read-modify-write at the line's home.
    Far,
}

/// Events ordered by time, then by announcement, so that each run is the same.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<QueuedEvent>,
    announced: u64,
}

#[derive(Debug)]
struct QueuedEvent {
    at: Ps,
    order: u64,
    event: EngineEvent,
}

impl Events {
    pub(crate) fn announce(&mut self, at: Ps, event: EngineEvent) {
        self.heap.push(QueuedEvent { at, order: self.announced, event });
        self.announced += 1;
    }

    pub(crate) fn next_at(&self) -> Option<Ps> {
        self.heap.peek().map(|entry| entry.at)
    }

    pub(crate) fn take(&mut self) -> Option<(Ps, EngineEvent)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (Ps, EngineEvent)> {
        self.heap.iter().map(|entry| (entry.at, entry.event))
    }
}

impl Ord for QueuedEvent {
    // The heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for QueuedEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueuedEvent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_at_one_time_the_first_announced() {
        let mut events = Events::default();
        for (at, cpu) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            events.announce(at, EngineEvent::Resume(cpu));
        }
        assert_eq!(events.next_at(), Some(3));
        let order: Vec<usize> = std::iter::from_fn(|| events.take())
            .map(|(_, event)| match event {
                EngineEvent::Resume(cpu) => cpu,
                _ => unreachable!("only CPUs were announced"),
            })
            .collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
