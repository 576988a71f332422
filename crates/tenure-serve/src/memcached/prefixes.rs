//! `stats detail`: how often keys with the same beginning are read, stored and deleted.
//!
//! Off until a client or the command line switches it on, and not meant to stay on: each request then takes one more
//! lock.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use memchr::memchr;

use super::answer::Lines;
use crate::lock::Lock;
use crate::relaxed::Relaxed;

const USUAL: u8 = b':';

/// Clients choose prefixes. Later ones are not counted.
const MOST: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Hit,
    Miss,
    Set,
    Delete,
}

#[derive(Debug, Default)]
struct Counts {
    gets: u64,
    hits: u64,
    sets: u64,
    deletes: u64,
}

pub(super) struct Prefixes {
    pub(super) delimiter: u8,
    is_on: Relaxed<u32>,
    counts: Lock<BTreeMap<Box<[u8]>, Counts>>,
}

impl Prefixes {
    /// Counts from the start where a delimiter is given.
    pub(super) fn new(delimiter: Option<u8>) -> Self {
        Self {
            delimiter: delimiter.unwrap_or(USUAL),
            is_on: Relaxed::new(delimiter.is_some().into()),
            counts: Lock::new(BTreeMap::new()),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on.get() != 0
    }

    pub(super) fn switch(&self, on: bool) {
        self.is_on.set(on.into());
    }

    #[cold]
    pub(super) fn note(&self, key: &[u8], what: Use) {
        let Some(end) = memchr(self.delimiter, key) else { return };
        let prefix = &key[..end];
        let mut counts = self.counts.lock();
        if !counts.contains_key(prefix) {
            if counts.len() == MOST {
                return;
            }
            counts.insert(prefix.into(), Counts::default());
        }
        let Some(counts) = counts.get_mut(prefix) else { return };
        match what {
            Use::Hit => (counts.gets, counts.hits) = (counts.gets + 1, counts.hits + 1),
            Use::Miss => counts.gets += 1,
            Use::Set => counts.sets += 1,
            Use::Delete => counts.deletes += 1,
        }
    }

    pub(super) fn clear(&self) {
        self.counts.lock().clear();
    }

    /// A prefix may contain any bytes.
    pub(super) fn dump(&self, lines: &mut Lines) {
        for (prefix, counts) in self.counts.lock().iter() {
            let Counts { gets, hits, sets, deletes } = counts;
            lines.push(b"PREFIX ");
            lines.push(prefix);
            let _ = write!(lines, " get {gets} hit {hits} set {sets} del {deletes}\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_prefixes_are_kept_than_there_is_room_for() {
        let prefixes = Prefixes::new(Some(b'/'));
        for number in 0..MOST + 10 {
            prefixes.note(format!("{number}/key").as_bytes(), Use::Set);
        }
        prefixes.note(b"no prefix", Use::Set);
        prefixes.note(b"0/other", Use::Miss);
        let dump = |prefixes: &Prefixes| {
            let mut lines = Lines::default();
            prefixes.dump(&mut lines);
            lines.bytes
        };
        let all = dump(&prefixes);
        assert_eq!(all.iter().filter(|byte| **byte == b'\n').count(), MOST);
        assert!(all.starts_with(b"PREFIX 0 get 1 hit 0 set 1 del 0\r\n"));
        prefixes.clear();
        assert!(dump(&prefixes).is_empty());
    }
}
