//! Walks along lists: `p = p->next` leaves what it has loaded, and not where from.
//!
//! Each turn of such a loop loads from the node that the turn before has loaded. So the nodes are known: other samples of the
//! instruction loaded them, or the list leads there. The node that a sample loaded from is the one that points to what it loaded, by the
//! memory as it is when the sample is read. If no known node does, or several do, the address is lost.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::Step;

/// Nodes that samples loaded and that a search starts from, at most.
const MAX_LOADED: usize = 64;

/// Nodes that a search follows, at most: some 1 ms.
const MAX_FOLLOWED: usize = 1024;

/// Samples before the first search. Fewer decide nothing.
const MIN_SAMPLES: u32 = 8;

/// Samples from one search to the next, at most: up to there they double.
const MAX_PAUSE: u32 = 64;

/// The nodes that one instruction walks along.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// What samples loaded, the newest last.
    loaded: VecDeque<u64>,
    /// The node before each; none if it has several.
    before: FxHashMap<u64, Option<u64>>,
    samples: u32,
    /// How many samples there were at the last search.
    searched: u32,
}

impl Walk {
    /// Where a sample loaded from, if that is certain. `word` reads the program's memory.
    pub(crate) fn address(&mut self, step: Step, word: &dyn Fn(u64) -> Option<u64>) -> Option<u64> {
        if !self.loaded.contains(&step.loaded) {
            if self.loaded.len() == MAX_LOADED {
                self.loaded.pop_front();
            }
            self.loaded.push_back(step.loaded);
        }
        self.samples = self.samples.saturating_add(1);
        if self.samples - self.searched >= self.searched.clamp(MIN_SAMPLES, MAX_PAUSE) {
            self.searched = self.samples;
            self.search(step.offset, word);
        }
        let node = (*self.before.get(&step.loaded)?)?;
        let address = node.wrapping_add(step.offset);
        // The list may have changed since the search.
        (word(address) == Some(step.loaded)).then_some(address)
    }

    /// Follows the list from all nodes that samples loaded, in turn.
    fn search(&mut self, offset: u64, word: &dyn Fn(u64) -> Option<u64>) {
        self.before.clear();
        let mut next: VecDeque<u64> = self.loaded.iter().copied().collect();
        let mut followed = FxHashSet::default();
        while let Some(node) = next.pop_front() {
            if followed.len() == MAX_FOLLOWED {
                break;
            }
            if !followed.insert(node) {
                continue;
            }
            let Some(after) = word(node.wrapping_add(offset)) else { continue };
            match self.before.entry(after) {
                Entry::Vacant(place) => _ = place.insert(Some(node)),
                Entry::Occupied(mut place) => _ = place.insert(None),
            }
            next.push_back(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: u64 = 8;

    /// Where each of these loads was from, by memory that has such links.
    fn walked(links: &[(u64, u64)], loads: &[u64]) -> Vec<Option<u64>> {
        let mut walk = Walk::default();
        loads.iter().map(|loaded| step(&mut walk, links, *loaded)).collect()
    }

    fn step(walk: &mut Walk, links: &[(u64, u64)], loaded: u64) -> Option<u64> {
        let word = |at: u64| links.iter().find(|(node, _)| node + NEXT == at).map(|link| link.1);
        walk.address(Step { loaded, offset: NEXT }, &word).map(|address| address - NEXT)
    }

    const RING: [(u64, u64); 3] = [(0x100, 0x200), (0x200, 0x300), (0x300, 0x100)];

    #[test]
    fn a_node_is_the_one_before_what_was_loaded() {
        let loads = [0x100, 0x200, 0x300].repeat(6);
        let found = walked(&RING, &loads);
        let (first, rest) = found.split_at(MIN_SAMPLES as usize - 1);
        assert!(first.iter().all(Option::is_none), "one search for all of them");
        for (loaded, found) in loads.iter().skip(first.len()).zip(rest) {
            let before = RING.iter().find(|(_, next)| next == loaded).map(|link| link.0);
            assert_eq!(*found, before);
        }
    }

    #[test]
    fn one_node_of_a_ring_leads_to_the_others() {
        assert_eq!(walked(&RING, &[0x100; 8]).last(), Some(&Some(0x300)));
    }

    #[test]
    fn the_first_node_of_a_list_has_none_before_it_and_the_end_one() {
        let list = [(0x100, 0x200), (0x200, 0x300), (0x300, 0)];
        let last = |loads: &[u64]| *walked(&list, loads).last().unwrap();
        let all = [0x100, 0x200, 0x300, 0].repeat(2);
        assert_eq!(last(&[&all[..], &[0x100]].concat()), None);
        assert_eq!(last(&[&all[..], &[0]].concat()), Some(0x300));
        // The first node was loaded by another instruction, from the list's head.
        assert_eq!(last(&[0x200; 9]), None);
        assert_eq!(last(&[[0x200; 8], [0x300; 8]].concat()), Some(0x200));
    }

    #[test]
    fn what_two_nodes_point_to_is_lost() {
        let lists = [(0x100, 0x300), (0x200, 0x300), (0x300, 0)];
        let found = walked(&lists, &[0x100, 0x200, 0x300].repeat(5));
        assert_eq!(found, [None; 15]);
        let three = [(0x100, 0x400), (0x200, 0x400), (0x300, 0x400), (0x400, 0x100)];
        let found = walked(&three, &[0x200, 0x300, 0x400, 0x100].repeat(4));
        assert_eq!(found[12..], [None, None, None, Some(0x400)]);
    }

    #[test]
    fn a_list_that_has_changed_is_searched_again() {
        let mut walk = Walk::default();
        let mut samples = |links: &[(u64, u64)], loaded, many| {
            Vec::from_iter((0..many).map(|_| step(&mut walk, links, loaded)))
        };
        assert_eq!(samples(&RING, 0x300, 8)[7], Some(0x200));
        let other = [(0x100, 0x300), (0x300, 0x200), (0x200, 0x100)];
        let found = samples(&other, 0x300, 8);
        assert_eq!(found[..7], [None; 7]);
        assert_eq!(found[7], Some(0x100));
    }

    #[test]
    fn a_search_has_an_end() {
        use std::cell::Cell;
        let reads = Cell::new(0);
        // Each node leads to another new one.
        let word = |at: u64| {
            reads.set(reads.get() + 1);
            Some(at)
        };
        let mut walk = Walk::default();
        for loaded in 1..=1000 {
            walk.address(Step { loaded: loaded << 32, offset: NEXT }, &word);
        }
        assert!(walk.loaded.len() <= MAX_LOADED);
        let searches = 3 + (1000 - MAX_PAUSE) / MAX_PAUSE + 1;
        assert!(reads.get() <= searches as usize * MAX_FOLLOWED + 1000, "{}", reads.get());
    }
}
