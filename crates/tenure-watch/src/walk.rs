//! Finds where `p = p->next` loaded from in a ring: the load leaves the value, and not its address.
//!
//! In a ring the list leads from what was loaded back to the node that it was loaded from, by the memory as it is when the sample
//! is read. A list with an end leads nowhere: its nodes may have others before them that no sample has loaded, such as the first of
//! each chain of a hash table or the leaves of a tree, so the address stays lost. So it does with a node that is a ring by itself,
//! such as a tree's sentinel.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::arch::WalkStep;

/// Nodes that a search follows, and its time: memory that was swapped out takes long to read.
const MAX_NODES: usize = 1024;
const MAX_SEARCH: Duration = Duration::from_millis(2);

/// Samples from a search in vain to the next one, at most: up to there they double.
const MAX_PAUSE: u32 = 64;

/// The rings that one instruction walks along.
#[derive(Debug, Default)]
pub(crate) struct RingWalk {
    /// The node before each.
    before: FxHashMap<u64, u64>,
    /// Searches in vain, and samples since the last one.
    in_vain: u32,
    waited: u32,
}

impl RingWalk {
    /// Where a sample loaded from, if a ring says it. `word` reads the program's memory.
    pub(crate) fn address(
        &mut self,
        step: WalkStep,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        if let Some(address) = self.known(step, word) {
            return Some(address);
        }
        self.waited += 1;
        if self.waited < 1_u32.checked_shl(self.in_vain).unwrap_or(MAX_PAUSE).min(MAX_PAUSE) {
            return None;
        }
        self.waited = 0;
        match ring(step, word) {
            Some(nodes) => {
                if self.before.len() + nodes.len() > MAX_NODES {
                    self.before.clear();
                }
                self.in_vain = 0;
                self.before.extend(nodes);
                self.known(step, word)
            }
            None => {
                self.in_vain += 1;
                None
            }
        }
    }

    /// The address that the last search found, if it still holds what was loaded.
    fn known(&self, step: WalkStep, word: &dyn Fn(u64) -> Option<u64>) -> Option<u64> {
        let address = self.before.get(&step.loaded)?.wrapping_add(step.offset);
        (word(address) == Some(step.loaded)).then_some(address)
    }
}

/// The nodes of the ring that leads through what was loaded, each with the one before it.
fn ring(step: WalkStep, word: &dyn Fn(u64) -> Option<u64>) -> Option<Vec<(u64, u64)>> {
    let end = Instant::now() + MAX_SEARCH;
    let (mut nodes, mut node) = (Vec::new(), step.loaded);
    // The clock is read now and then.
    let has_time = |nodes: usize| nodes % 64 != 63 || Instant::now() < end;
    while nodes.len() < MAX_NODES && has_time(nodes.len()) {
        let after = word(node.wrapping_add(step.offset))?;
        nodes.push((after, node));
        if after == step.loaded {
            return (nodes.len() > 1).then_some(nodes);
        }
        node = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const NEXT: u64 = 8;

    /// Where each of these loads was from, by memory that has such links.
    fn walked(links: &[(u64, u64)], loads: &[u64]) -> Vec<Option<u64>> {
        let mut walk = RingWalk::default();
        loads.iter().map(|loaded| step(&mut walk, links, *loaded)).collect()
    }

    fn step(walk: &mut RingWalk, links: &[(u64, u64)], loaded: u64) -> Option<u64> {
        let word = |at: u64| links.iter().find(|(node, _)| node + NEXT == at).map(|link| link.1);
        walk.address(WalkStep { loaded, offset: NEXT }, &word).map(|address| address - NEXT)
    }

    const RING: [(u64, u64); 3] = [(0x100, 0x200), (0x200, 0x300), (0x300, 0x100)];

    #[test]
    fn a_ring_leads_back_to_the_node_before() {
        let loads = [0x100, 0x200, 0x300, 0x200];
        assert_eq!(walked(&RING, &loads), [0x300, 0x100, 0x200, 0x100].map(Some));
    }

    #[test]
    fn a_list_with_an_end_does_not() {
        let list = [(0x100, 0x200), (0x200, 0x300), (0x300, 0)];
        assert_eq!(walked(&list, &[0x200, 0x300, 0].repeat(50)), [None; 150]);
        // Children of one parent, one of which has been loaded itself.
        let tree = [(0x100, 0x300), (0x200, 0x300), (0x300, 0x400), (0x400, 0)];
        assert_eq!(walked(&tree, &[0x300, 0x400, 0x200].repeat(50)), [None; 150]);
        // A chain that ends in a sentinel, which points to itself.
        let nil = [(0x100, 0x900), (0x900, 0x900)];
        assert_eq!(walked(&nil, &[0x900; 100]), [None; 100]);
        // It leads into a ring, and is no part of it.
        let rho = [(0x500, 0x100), RING[0], RING[1], RING[2]];
        assert_eq!(walked(&rho, &[0x500; 100]), [None; 100]);
    }

    #[test]
    fn a_ring_that_has_changed_is_searched_again() {
        let mut walk = RingWalk::default();
        assert_eq!(step(&mut walk, &RING, 0x300), Some(0x200));
        let other = [(0x100, 0x300), (0x300, 0x200), (0x200, 0x100)];
        assert_eq!(step(&mut walk, &other, 0x300), Some(0x100));
        // A node that was unlinked, and still points into the ring.
        let without = [(0x100, 0x300), (0x300, 0x100), (0x200, 0x300)];
        assert_eq!(step(&mut walk, &without, 0x300), Some(0x100));
        assert_eq!(step(&mut walk, &without, 0x200), None);
    }

    #[test]
    fn searches_in_vain_become_seldom_and_have_an_end() {
        let reads = Cell::new(0);
        // Each node leads to another new one.
        let word = |at: u64| {
            reads.set(reads.get() + 1);
            Some(at)
        };
        let mut walk = RingWalk::default();
        for loaded in 1..=1000 {
            assert_eq!(walk.address(WalkStep { loaded: loaded << 32, offset: NEXT }, &word), None);
        }
        // After 1, 2, 4, ... 64 samples, and then each 64.
        let searches = 6 + 1000 / MAX_PAUSE as usize;
        assert!(reads.get() <= searches * MAX_NODES, "{}", reads.get());
    }
}
