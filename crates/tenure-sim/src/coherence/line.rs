//! A cache line as its home directory sees it.

use super::sharers::Sharers;
use crate::heat::LineCounts;
use crate::machine::{Core, Ps};

/// Who has a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody yet: it is in memory.
    Memory,
    /// No core: its home keeps it, where far read-modify-writes are done.
    Home,
    /// One core, which may write it (MESI's M and E).
    Owner(Core),
    /// Cores that may read it; the second had it last and passes it on (MESIF's F).
    Shared(Sharers, Core),
    /// Nobody: it is on its way to a new owner.
    Moving,
}

/// What a core asks the directory for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// To read the line.
    Read,
    /// To own the line.
    Own,
    /// To have a read-modify-write done at the line's home.
    Far,
}

/// A request at the directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) cpu: usize,
    pub(crate) want: Want,
}

/// A line that was touched.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) holder: Holder,
    /// The directory works on a request and grants no other.
    pub(crate) busy: bool,
    /// Requests that have arrived.
    pub(crate) queue: Vec<Request>,
    /// Requests that are on their way, and copies.
    pub(crate) coming: u32,
    /// When the next grant is due, if one is.
    pub(crate) grant_at: Option<Ps>,
    /// Until when the owner may begin something if others wait.
    pub(crate) held_until: Ps,
    /// Until when a read-modify-write locks the line.
    pub(crate) locked_until: Ps,
    /// The CPU that used the line last, of its owner's.
    pub(crate) user: usize,
    /// Whether that CPU has written it since it came to be the user.
    pub(crate) was_written: bool,
    /// The core whose read-modify-write was the last, for machines with far atomics.
    pub(crate) modifier: Option<Core>,
    pub(crate) counts: LineCounts,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self {
            holder: Holder::Memory,
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

    /// Whether `core` may begin to read, or to write, the line where it is. An owner whose stay is over
    /// begins nothing more while others wait, but for what the line was brought for; nor does anything
    /// begin before what has locked the line ends.
    pub(crate) fn is_hit(&self, core: Core, writes: bool, at: Ps) -> bool {
        match &self.holder {
            Holder::Owner(owner) => {
                let starts_in_time = || at.max(self.locked_until) < self.held_until;
                *owner == core && (self.queue.is_empty() || starts_in_time())
            }
            Holder::Shared(sharers, _) => !writes && sharers.contains(core),
            Holder::Memory | Holder::Home | Holder::Moving => false,
        }
    }

    /// Whether nobody but its holders has anything to do with the line.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.busy && self.coming == 0 && self.queue.is_empty()
    }
}
