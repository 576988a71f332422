//! The order of eviction: a SIEVE queue.
//!
//! Objects are inserted at the head. A hand goes from the tail to the head: an object used since the hand passed loses
//! that mark and stays in place; an unused one is evicted. So a hit writes only the mark, where LRU would take a lock
//! to move the object, and misses are fewer. Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU: an
//! Efficient Turn-Key Eviction Algorithm for Web Caches", NSDI 2024.

use std::ops::Range;

const NONE: u32 = u32::MAX;

struct Node<T> {
    /// `None` in a free node.
    value: Option<T>,
    /// Towards the tail: inserted earlier. In a free node, the next free one.
    older: u32,
    /// Towards the head: inserted later.
    newer: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    Evict,
}

/// Values, each at a place that does not change.
pub(super) struct Queue<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    head: u32,
    tail: u32,
    /// Where the hand looks next; at the tail if `NONE`.
    hand: u32,
    /// Times that the hand passed the head.
    laps: u32,
    len: usize,
}

impl<T> Queue<T> {
    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, head: NONE, tail: NONE, hand: NONE, laps: 0, len: 0 }
    }

    fn node(&mut self, at: u32) -> &mut Node<T> {
        &mut self.nodes[at as usize]
    }

    /// Inserts a value at the head, and returns its place. Panics with 2³² - 1 values.
    pub(super) fn push(&mut self, value: T) -> u32 {
        let node = Node { value: Some(value), older: self.head, newer: NONE };
        let at = if self.free == NONE {
            let at = u32::try_from(self.nodes.len()).ok().filter(|at| *at != NONE);
            self.nodes.push(node);
            at.expect("memory ends before places do")
        } else {
            let at = self.free;
            self.free = self.node(at).older;
            *self.node(at) = node;
            at
        };
        match self.head {
            NONE => self.tail = at,
            head => self.node(head).newer = at,
        }
        self.head = at;
        self.len += 1;
        at
    }

    /// The place must have a value.
    pub(super) fn replace(&mut self, at: u32, value: T) -> T {
        self.node(at).value.replace(value).expect("a place that is in use")
    }

    /// Places ever used.
    pub(super) fn places(&self) -> u32 {
        self.nodes.len() as u32
    }

    pub(super) fn at_places(&self, places: Range<u32>) -> impl Iterator<Item = &T> {
        let places =
            places.start.min(self.places()) as usize..places.end.min(self.places()) as usize;
        self.nodes[places].iter().filter_map(|node| node.value.as_ref())
    }

    /// The place must have a value.
    pub(super) fn remove(&mut self, at: u32) -> T {
        let free = self.free;
        let node = self.node(at);
        let value = node.value.take().expect("a place that is in use");
        let (older, newer) = (node.older, node.newer);
        node.older = free;
        self.free = at;
        match older {
            NONE => self.tail = newer,
            older => self.node(older).newer = newer,
        }
        match newer {
            NONE => self.head = older,
            newer => self.node(newer).older = older,
        }
        self.len -= 1;
        if self.hand == at {
            self.move_hand(newer);
        }
        value
    }

    fn move_hand(&mut self, to: u32) {
        self.hand = to;
        if to == NONE && self.len > 0 {
            self.laps = self.laps.saturating_add(1);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn laps(&self) -> u32 {
        self.laps
    }

    /// Raises the laps, so that this queue is not behind others.
    pub(super) fn catch_up(&mut self, laps: u32) {
        self.laps = self.laps.max(laps);
    }

    /// Moves the hand to the next value that `judge` evicts, and returns its place. `None` after a round.
    pub(super) fn sweep(&mut self, mut judge: impl FnMut(&T) -> Verdict) -> Option<u32> {
        for _ in 0..self.len {
            let at = if self.hand == NONE { self.tail } else { self.hand };
            let node = self.node(at);
            let newer = node.newer;
            match judge(node.value.as_ref().expect("the hand is on a value")) {
                Verdict::Evict => {
                    self.hand = at;
                    return Some(at);
                }
                Verdict::Keep => self.move_hand(newer),
            }
        }
        None
    }

    pub(super) fn at_hand(&self) -> Option<u32> {
        match (self.hand, self.tail) {
            (NONE, NONE) => None,
            (NONE, tail) => Some(tail),
            (hand, _) => Some(hand),
        }
    }

    pub(super) fn find(&self, at: u32) -> Option<&T> {
        self.nodes.get(at as usize)?.value.as_ref()
    }

    /// Frees places if most are unused. Calls `moved` with each value and its new place.
    pub(super) fn shrink(&mut self, mut moved: impl FnMut(&T, u32)) {
        if self.nodes.len() < 64 || self.len > self.nodes.len() / 4 {
            return;
        }
        let mut nodes = Vec::new();
        if nodes.try_reserve_exact(self.len * 2).is_err() {
            return;
        }
        let mut hand = NONE;
        let mut at = self.tail;
        while at != NONE {
            let old = self.node(at);
            let (value, newer) = (old.value.take(), old.newer);
            let to = nodes.len() as u32;
            if let Some(value) = &value {
                moved(value, to);
            }
            if self.hand == at {
                hand = to;
            }
            let newer_to = if newer == NONE { NONE } else { to + 1 };
            nodes.push(Node { value, older: to.checked_sub(1).unwrap_or(NONE), newer: newer_to });
            at = newer;
        }
        (self.tail, self.head) = match nodes.len() {
            0 => (NONE, NONE),
            len => (0, len as u32 - 1),
        };
        (self.nodes, self.hand, self.free) = (nodes, hand, NONE);
    }

    /// The place must have a value.
    pub(super) fn get(&self, at: u32) -> &T {
        self.nodes[at as usize].value.as_ref().expect("a place that is in use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::VecDeque;

    /// Slow and obvious: the front is the tail.
    #[derive(Default)]
    struct Model {
        values: VecDeque<(u32, bool)>,
        hand: usize,
    }

    impl Model {
        fn evict(&mut self) -> Option<u32> {
            while !self.values.is_empty() {
                self.hand %= self.values.len();
                if !self.values[self.hand].1 {
                    return self.values.remove(self.hand).map(|(value, _)| value);
                }
                self.values[self.hand].1 = false;
                self.hand += 1;
            }
            None
        }

        fn remove(&mut self, at: usize) -> u32 {
            if at < self.hand {
                self.hand -= 1;
            }
            self.values.remove(at).unwrap().0
        }
    }

    proptest! {
        #[test]
        fn the_queue_evicts_what_a_list_with_a_hand_does(
            steps in proptest::collection::vec((0..4_u8, any::<prop::sample::Index>()), 0..200)
        ) {
            let mut queue = Queue::new();
            let mut model = Model::default();
            for (value, (step, index)) in (0..).zip(steps) {
                let len = model.values.len();
                match step {
                    0 => {
                        queue.push((value, Cell::new(false)));
                        // The hand of the model is an index: past the last one it means the tail.
                        if model.hand == len {
                            model.hand = 0;
                        }
                        model.values.push_back((value, false));
                    }
                    1 if len > 0 => {
                        let used = &mut model.values[index.index(len)];
                        used.1 = true;
                        let at = queue.nodes.iter().position(|n| n.value.as_ref().is_some_and(|v| v.0 == used.0));
                        queue.get(at.unwrap() as u32).1.set(true);
                    }
                    2 if len > 0 => {
                        let removed = model.remove(index.index(len));
                        let at = queue.nodes.iter().position(|n| n.value.as_ref().is_some_and(|v| v.0 == removed));
                        prop_assert_eq!(queue.remove(at.unwrap() as u32).0, removed);
                    }
                    3 => {
                        let judge = |(_, used): &(u32, Cell<bool>)| {
                            if used.replace(false) { Verdict::Keep } else { Verdict::Evict }
                        };
                        let first = queue.sweep(judge);
                        let at = first.or_else(|| queue.sweep(judge));
                        let evicted = at.map(|at| queue.remove(at).0);
                        prop_assert_eq!(evicted, model.evict());
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.len, model.values.len());
            }
        }
    }

    #[test]
    fn values_that_are_always_in_use_do_not_hold_the_hand_up() {
        let mut queue = Queue::new();
        assert_eq!((queue.sweep(|_: &i32| Verdict::Keep), queue.at_hand()), (None, None));
        let first = queue.push(1);
        queue.push(2);
        assert_eq!((queue.sweep(|_| Verdict::Keep), queue.at_hand()), (None, Some(first)));
    }

    #[test]
    fn a_lap_is_over_when_the_hand_passed_the_head_and_left_something_behind() {
        let mut queue = Queue::new();
        let evict = |queue: &mut Queue<i32>| {
            let at = queue.sweep(|_| Verdict::Evict).unwrap();
            queue.remove(at);
        };
        for value in 0..5 {
            queue.push(value);
            evict(&mut queue);
        }
        assert_eq!((queue.len(), queue.laps()), (0, 0), "nothing was left behind");
        queue.catch_up(3);
        queue.push(1);
        queue.push(2);
        assert_eq!(
            queue.sweep(|value| if *value == 1 { Verdict::Keep } else { Verdict::Evict }),
            Some(1)
        );
        assert_eq!(queue.laps(), 3);
        queue.remove(1);
        assert_eq!((queue.at_hand(), queue.laps()), (Some(0), 4));
    }

    #[test]
    fn a_queue_that_shrinks_keeps_its_order_and_its_hand() {
        let mut queue = Queue::new();
        let places: Vec<u32> = (0..1000).map(|value| queue.push(value)).collect();
        let stays = |value: i32| value % 100 == 7;
        (0..1000).filter(|value| !stays(*value)).for_each(|value| {
            queue.remove(places[value as usize]);
        });
        assert_eq!(
            queue.sweep(|value| if *value < 300 { Verdict::Keep } else { Verdict::Evict }),
            Some(307)
        );
        let mut moved = Vec::new();
        queue.shrink(|value, place| moved.push((*value, place)));
        assert_eq!((queue.places(), queue.len()), (10, 10));
        assert!(moved.iter().all(|(value, place)| queue.get(*place) == value));
        let order: Vec<i32> = (0..10)
            .map(|_| {
                let at = queue.sweep(|_| Verdict::Evict).unwrap();
                queue.remove(at)
            })
            .collect();
        assert_eq!(order, [307, 407, 507, 607, 707, 807, 907, 7, 107, 207]);
        let again = queue.push(1);
        assert_eq!(queue.get(again), &1);
    }

    #[test]
    fn a_value_that_is_replaced_keeps_its_place() {
        let mut queue = Queue::new();
        let first = queue.push(1);
        queue.push(2);
        assert_eq!(queue.replace(first, 3), 1);
        let mut seen = Vec::new();
        let _ = queue.sweep(|value| {
            seen.push(*value);
            Verdict::Keep
        });
        assert_eq!(seen, [3, 2]);
    }
}
