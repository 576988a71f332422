//! Which of an object's locks guards which of its members, as the code shows it.
//!
//! A lock guards a member if most functions that use the member take the lock. Members that different locks guard belong to
//! different threads at a time: on one line each takes it from the other, though no word of them is atomic. And a lock goes with
//! what it guards: apart from it, each thread that takes the lock would wait for two lines.

use crate::evidence::Uses;
use crate::lines::{Flat, LayoutModel, Leaf};
use tenure_model::Role;

/// Locks of an object: more are an array of locks.
const MAX_LOCKS: usize = 32;

/// Leaves of an object: each is compared with all locks.
const MAX_LEAVES: usize = 1 << 12;

/// The share of a member's users that take the lock, if it guards the member: most.
const MIN_SHARE_OF_USERS: f64 = 0.5;

/// What guards each leaf of a type.
#[derive(Debug)]
pub(crate) struct Guards {
    /// What guards each leaf, in their order.
    of: Vec<GuardedBy>,
}

/// What guards a leaf.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GuardedBy {
    /// The lock that it is itself, as a bit.
    pub(crate) lock: u32,
    /// All locks that guard it; none if that is not known.
    pub(crate) locks: u32,
    /// The lock that it goes with. Where no code shows it, the one in front of it on its line.
    pub(crate) nearest: u32,
    pub(crate) is_written: bool,
}

impl GuardedBy {
    /// Whether a word beside a lock, or beside a word with other locks, is used by threads that do not have these.
    pub(crate) fn differs(self, other: Self) -> bool {
        let of = |guard: Self| guard.lock | guard.locks;
        let are_locks = self.lock != 0 && other.lock != 0;
        !are_locks && of(self) != 0 && of(other) != 0 && of(self) & of(other) == 0
    }

    /// Whether it is plain, and is written under a lock.
    pub(crate) fn is_written_under_lock(self) -> bool {
        self.lock == 0 && self.locks != 0 && self.is_written
    }
}

impl Guards {
    /// `None` if the type has no lock.
    pub(crate) fn of(layouts: &LayoutModel<'_>, flat: &Flat) -> Option<Self> {
        let is_lock = |leaf: &Leaf| leaf.role == Role::Lock;
        let places = (0..flat.leaves.len()).filter(|at| is_lock(&flat.leaves[*at]));
        let locks: Vec<usize> = places.take(MAX_LOCKS).collect();
        if locks.is_empty() || flat.leaves.len() > MAX_LEAVES {
            return None;
        }
        let uses = |leaf: &Leaf| flat.uses(layouts, leaf);
        let takers: Vec<Option<Uses>> = locks.iter().map(|at| uses(&flat.leaves[*at])).collect();
        let is_taken =
            |uses: &Option<Uses>| uses.as_ref().is_some_and(|it| it.takers().next().is_some());
        let is_seen = takers.iter().any(is_taken);
        let guard = |leaf: &Leaf| {
            let mut guard = GuardedBy::default();
            let may_be =
                !matches!(leaf.role, Role::ReadMostly | Role::Cold) && !leaf.role.is_contended();
            let uses = uses(leaf).filter(|uses| is_seen && may_be && !uses.is_empty());
            if let Some(uses) = uses {
                guard.is_written = uses.is_written();
                let mut most = MIN_SHARE_OF_USERS;
                for (nth, (at, lock)) in locks.iter().zip(&takers).enumerate() {
                    let share = lock.as_ref().and_then(|lock| uses.used_with(lock)).unwrap_or(0.0);
                    guard.locks |= u32::from(share >= MIN_SHARE_OF_USERS) << nth;
                    // Of equal ones, the last in front.
                    let is_in_front = flat.leaves[*at].offset < leaf.offset;
                    if share > most || (share >= most && (is_in_front || guard.nearest == 0)) {
                        (most, guard.nearest) = (share, 1 << nth);
                    }
                }
            } else if !is_seen && may_be {
                let on_line = |at: &&usize| layouts.share(flat.leaves[**at].range(), leaf.range());
                let mut near = locks.iter().filter(on_line).peekable();
                let first = near.peek().copied();
                let last = near.take_while(|at| flat.leaves[**at].offset < leaf.offset).last();
                let nearest =
                    last.or(first).and_then(|at| locks.iter().position(|lock| lock == at));
                guard.nearest = nearest.map_or(0, |nth| 1 << nth);
            }
            guard
        };
        let mut of: Vec<GuardedBy> = flat.leaves.iter().map(guard).collect();
        for (nth, at) in locks.iter().enumerate() {
            of[*at].lock = 1 << nth;
        }
        Some(Self { of })
    }

    /// What guards a leaf of the same type.
    pub(crate) fn guard(&self, flat: &Flat, leaf: &Leaf) -> GuardedBy {
        flat.place(leaf).map_or_else(GuardedBy::default, |at| self.of[at])
    }
}
