//! The list of the map in its smallest form, with a switch for each rule.

use super::super::memory::Loom;
use super::super::stage::Failure::Claim;
use super::super::stage::{Value, fails, passes, spawn};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use tenure::memory::{Memory, Ordering, Pointer};

pub(crate) trait Flaw: 'static {
    /// Whether what is removed is marked before it is unlinked.
    const MARKS: bool = true;
    /// Whether the thread that unlinks an element retires it, or the one that marked it does too.
    const RETIRED_BY_ONE: bool = true;
}

flaws! {
    Sound {}
    Unmarked { MARKS: bool = false }
    RetiredByBoth { RETIRED_BY_ONE: bool = false }
}

/// The first of a list has nothing in it.
struct Node {
    next: <Loom as Memory>::Pointer<Node>,
    key: u32,
    retired: Value,
}

struct List<F>(Box<Node>, PhantomData<fn() -> F>);

const REMOVED: usize = 1;

impl Node {
    fn new(key: u32) -> Box<Self> {
        Box::new(Self { next: Pointer::<Self>::new(ptr::null_mut()), key, retired: Value::new(1) })
    }

    fn next(&self) -> *mut Self {
        Pointer::<Self>::load(&self.next, Ordering::Acquire)
    }

    fn exchange(&self, current: *mut Self, new: *mut Self) -> bool {
        self.next.compare_exchange(current, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    fn is_removed(next: *mut Self) -> bool {
        next.addr() & REMOVED != 0
    }
}

impl<F: Flaw> List<F> {
    /// Nodes are freed after the execution: there are no grace periods here.
    fn with(keys: &[u32]) -> (Arc<Self>, Vec<NonNull<Node>>) {
        let list = Arc::new(Self(Node::new(0), PhantomData));
        let nodes = keys.iter().map(|key| list.insert(*key)).collect();
        // A failed model does not look at what is left.
        std::mem::forget(list.clone());
        (list, nodes)
    }

    /// The place before the first link that comes after that key, and that link. Unlinks what is removed.
    fn search(&self, key: u32) -> (&Node, *mut Node) {
        'again: loop {
            let mut before = &*self.0;
            let mut at = before.next();
            // SAFETY: nodes are not freed.
            while let Some(link) = unsafe { at.as_ref() } {
                let next = link.next();
                if Node::is_removed(next) {
                    let next = next.map_addr(|address| address & !REMOVED);
                    if !before.exchange(at, next) {
                        continue 'again;
                    }
                    link.retired.destroy();
                    at = next;
                } else if link.key > key {
                    break;
                } else {
                    (before, at) = (link, next);
                }
            }
            return (before, at);
        }
    }

    fn insert(&self, key: u32) -> NonNull<Node> {
        let node = Box::leak(Node::new(key));
        loop {
            let (before, at) = self.search(key);
            node.next.store(at, Ordering::Relaxed);
            if before.exchange(at, node) {
                return NonNull::from(node);
            }
        }
    }

    fn remove(&self, node: NonNull<Node>) {
        // SAFETY: nodes are not freed.
        let node = unsafe { node.as_ref() };
        let key = node.key;
        if F::MARKS {
            loop {
                let next = node.next();
                if Node::is_removed(next) {
                    return;
                }
                if node.exchange(next, next.map_addr(|address| address | REMOVED)) {
                    break;
                }
            }
            if !F::RETIRED_BY_ONE {
                node.retired.destroy();
            }
            self.search(key);
        } else {
            loop {
                let (before, _) = self.search(key - 1);
                if before.exchange(ptr::from_ref(node).cast_mut(), node.next()) {
                    return node.retired.destroy();
                }
            }
        }
    }

    fn keys(&self) -> Vec<u32> {
        // SAFETY: nodes are not freed.
        let behind = |node: &Node| unsafe { node.next().as_ref() };
        std::iter::successors(behind(&self.0), |node| behind(node)).map(|node| node.key).collect()
    }
}

fn an_insertion_behind_a_removal<F: Flaw>() {
    let (list, nodes) = List::<F>::with(&[10]);
    let other = {
        let list = list.clone();
        spawn(move || _ = list.insert(11))
    };
    list.remove(nodes[0]);
    other.join().unwrap();
    assert_eq!(list.keys(), [11], "an element is lost, or left");
}

tests! {
    the_sound_copy_of_a_list_passes => passes(Some(3), an_insertion_behind_a_removal::<Sound>);
    without_a_mark_what_is_inserted_behind_an_element_that_goes_is_lost =>
        fails(Some(2), Claim("an element is lost"), an_insertion_behind_a_removal::<Unmarked>);
    an_element_that_two_retire_is_released_twice =>
        fails(Some(2), Claim("a holder sees no value"), an_insertion_behind_a_removal::<RetiredByBoth>);
}
