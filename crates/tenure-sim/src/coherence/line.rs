use crate::heat::LineCounts;
use crate::machine::{CoreIndex, MAX_CPUS, Ps};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineHolder {
    Memory,
    /// No core: its home, which does far read-modify-writes.
    Home,
    /// One core, which may write it (MESI's M and E).
    Owner(CoreIndex),
    /// Readers; the second is the last, which passes it on (MESIF's F).
    Shared(Sharers, CoreIndex),
    Moving,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Read,
    Own,
    /// A read-modify-write at the line's home.
    Far,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LineRequest {
    pub(crate) cpu: usize,
    pub(crate) want: Want,
}

#[derive(Debug)]
pub(crate) struct LineState {
    pub(crate) holder: LineHolder,
    /// The directory works on a request and grants no other.
    pub(crate) busy: bool,
    /// Requests that have arrived.
    pub(crate) queue: Vec<LineRequest>,
    /// Requests and copies on their way.
    pub(crate) coming: u32,
    pub(crate) grant_at: Option<Ps>,
    /// The owner may begin accesses until then if others wait.
    pub(crate) held_until: Ps,
    /// A read-modify-write holds the line until then.
    pub(crate) locked_until: Ps,
    /// The owner's CPU that used the line last.
    pub(crate) user: usize,
    /// Whether `user` has written it.
    pub(crate) was_written: bool,
    /// Core of the last read-modify-write, for machines with far atomics.
    pub(crate) modifier: Option<CoreIndex>,
    pub(crate) counts: LineCounts,
}

impl LineState {
    pub(crate) fn new() -> Self {
        Self {
            holder: LineHolder::Memory,
            busy: false,
            queue: Vec::new(),
            coming: 0,
            grant_at: None,
            held_until: 0,
            locked_until: 0,
            user: usize::MAX,
            was_written: false,
            modifier: None,
            counts: LineCounts::default(),
        }
    }

    /// Whether `core` may read, or write, the line where it is. While others wait, an owner begins nothing after its
    /// stay but what the line was brought for; nothing begins while the line is locked.
    pub(crate) fn is_hit(&self, core: CoreIndex, writes: bool, at: Ps) -> bool {
        match &self.holder {
            LineHolder::Owner(owner) => {
                let starts_in_time = || at.max(self.locked_until) < self.held_until;
                *owner == core && (self.queue.is_empty() || starts_in_time())
            }
            LineHolder::Shared(sharers, _) => !writes && sharers.contains(core),
            LineHolder::Memory | LineHolder::Home | LineHolder::Moving => false,
        }
    }

    /// Whether only its holders use the line.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.busy && self.coming == 0 && self.queue.is_empty()
    }
}

const WORDS: usize = MAX_CPUS / 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sharers([u64; WORDS]);

impl Sharers {
    pub(crate) fn of(core: CoreIndex) -> Self {
        let mut set = Self([0; WORDS]);
        set.insert(core);
        set
    }

    pub(crate) fn insert(&mut self, core: CoreIndex) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }

    pub(crate) fn contains(&self, core: CoreIndex) -> bool {
        self.0[core as usize / 64] & (1 << (core % 64)) != 0
    }

    pub(crate) fn any_in(&self, range: Range<usize>, except: CoreIndex) -> bool {
        let mut words = range.start / 64..range.end.div_ceil(64);
        words.any(|word| {
            let mut bits = self.0[word];
            let first = word * 64;
            if range.start > first {
                bits &= u64::MAX << (range.start - first);
            }
            if range.end < first + 64 {
                bits &= !(u64::MAX << (range.end - first));
            }
            if except as usize / 64 == word {
                bits &= !(1 << (except % 64));
            }
            bits != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_sees_its_own_cores_only() {
        let mut set = Sharers::of(5);
        set.insert(130);
        assert!(set.contains(130) && !set.contains(66));
        assert!(set.any_in(0..6, 9) && !set.any_in(0..5, 9) && !set.any_in(6..130, 9));
        assert!(set.any_in(128..192, 9) && !set.any_in(128..192, 130));
        assert!(!set.any_in(64..128, 9));
        assert!(set.any_in(0..1024, 5));
    }
}
