//! Tests of every free list; and a list as a pool owns it, which learns that threads end.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(unused_macros, reason = "as above")]

use std::collections::HashSet;
use std::iter::{from_fn, once};
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};
use tenure::memory::{Native, Resident, Threads};
use tenure::pool::list::{Closed, List};

/// Makes each function, generic over a list, a test for every list.
macro_rules! claims {
    ($($claim:ident,)*) => {
        claims! { ($($claim)*) over
            scan: tenure::pool::list::Scan,
            scan_as_published: tenure::pool::list::Scan<tenure::memory::Native, false>,
            tagged_stack: tenure::pool::list::TaggedStack,
            magazines: tenure::pool::list::Magazines,
            magazines_of_one: tenure::pool::list::Magazines<tenure::memory::Native, 1>,
        }
    };
    ($claims:tt over $($list_name:ident: $list:ty,)*) => {
        $(claims! { $claims in $list_name: $list })*
    };
    (($($claim:ident)*) in $list_name:ident: $list:ty) => {
        mod $list_name {
            $(#[test]
            fn $claim() {
                super::$claim::<$list>();
            })*
        }
    };
}

pub(crate) struct Owner<L> {
    list: L,
    pub(crate) left: Mutex<Vec<usize>>,
}

impl<L: List> Resident for Owner<L> {
    unsafe fn leave(&self, thread: usize) {
        assert_eq!(Native::thread(), None, "the number is no longer the thread's to use");
        self.left.lock().unwrap().push(thread);
        // SAFETY: passed on to the caller.
        unsafe { self.list.leave(thread) };
    }
}

impl<L> Deref for Owner<L> {
    type Target = L;
    fn deref(&self) -> &L {
        &self.list
    }
}

impl<L: List> Owner<L> {
    /// A list whose magazines have up to `magazine` slots.
    pub(crate) fn new(magazine: usize) -> Arc<Self> {
        Arc::new_cyclic(|owner: &Weak<Self>| {
            let left = Mutex::default();
            Self { list: L::new_in(magazine, owner.clone()), left }
        })
    }

    /// The caller has acquired or admitted the slot.
    pub(crate) fn try_give(&self, slot: u32) -> Result<(), Closed> {
        // SAFETY: the caller has acquired or admitted the slot.
        unsafe { self.list.release(slot) }
    }

    /// As [`try_give`](Self::try_give), into a list that is open.
    pub(crate) fn give(&self, slot: u32) {
        self.try_give(slot).expect("the list is open");
    }

    pub(crate) fn admit_idle(&self, slots: u32) {
        for slot in 0..slots {
            self.admit(slot);
            self.give(slot);
        }
    }

    pub(crate) fn acquire_all(&self) -> HashSet<u32> {
        let mut found = HashSet::new();
        while let Some(slot) = self.acquire() {
            assert!(found.insert(slot), "slot {slot} has two owners");
        }
        found
    }

    /// Acquires all idle slots, of whatever thread.
    pub(crate) fn reclaim(&self, take: impl FnMut(u32)) {
        L::gather(once(&self.list), || from_fn(|| self.acquire()).for_each(take));
    }
}
