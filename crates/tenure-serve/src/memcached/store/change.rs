//! What requests change: a value is stored, goes, or is marked as out of date.

use tenure::count::RefCount;

use super::{Key, Visit};
use crate::memcached::classes::Event;
use crate::memcached::clock::Seconds;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memcached) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

impl Verb {
    /// What watchers are told.
    pub(in crate::memcached) fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Cas => "cas",
        }
    }
}

/// How a value is stored, and over which other one.
#[derive(Debug, Clone, Copy)]
pub(in crate::memcached) struct Storing {
    pub(in crate::memcached) verb: Verb,
    /// The number that the value must have, unless it is 0.
    pub(in crate::memcached) cas: u64,
    /// Whether one with a smaller number is stored as stale.
    pub(in crate::memcached) stale: bool,
    /// Whether what is to be appended or prepended is stored where nothing is.
    pub(in crate::memcached) makes: bool,
}

/// What became of a value that was to be stored.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memcached) enum Outcome {
    /// With that number, and a value of so many bytes.
    Done {
        cas: u64,
        len: usize,
    },
    Refused,
    Exists,
    NotFound,
    /// There is no memory for the two parts in one piece.
    NoMemory,
}

impl Outcome {
    /// What watchers are told.
    pub(in crate::memcached) fn name(self) -> &'static str {
        match self {
            Self::Done { .. } => "stored",
            Self::Refused => "not_stored",
            Self::Exists => "exists",
            Self::NotFound => "not_found",
            Self::NoMemory => "no_memory",
        }
    }
}

/// What became of a deletion.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memcached) enum Removal {
    Done,
    Exists,
    NotFound,
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Stores a value.
    pub(in crate::memcached) fn store(&self, new: &ItemRef<C>, storing: Storing) -> Outcome {
        let Storing { verb, cas, stale, makes } = storing;
        let len = new.len();
        let key = Key { bytes: new.key(), hash: new.hash() };
        let mut locked = self.lock(key);
        let Some(old) = locked.find(key) else {
            if locked.over {
                self.worker.count(Counter::Reclaimed);
                self.worker.classes().count(new.sort(), Event::Reclaimed);
            }
            return match verb {
                Verb::Set | Verb::Add => Outcome::Done { cas: locked.link(new), len },
                Verb::Append | Verb::Prepend if makes => {
                    Outcome::Done { cas: locked.link(new), len }
                }
                Verb::Cas => {
                    self.worker.count(Counter::CasMisses);
                    Outcome::NotFound
                }
                Verb::Replace | Verb::Append | Verb::Prepend => Outcome::Refused,
            };
        };
        let matches = cas == old.cas();
        match verb {
            Verb::Add => {
                old.set_time(self.now);
                Outcome::Refused
            }
            Verb::Set | Verb::Replace => Outcome::Done { cas: locked.replace(old, new), len },
            Verb::Cas if cas != 0 && (matches || stale && cas < old.cas()) => {
                self.worker.count(Counter::CasHits);
                if !matches {
                    new.set_expiry(old.expiry());
                    new.mark(state::STALE | (old.state() & state::WON), 0);
                }
                Outcome::Done { cas: locked.replace(old, new), len }
            }
            Verb::Cas => {
                self.worker.count(Counter::CasBadval);
                Outcome::Exists
            }
            Verb::Append | Verb::Prepend if cas != 0 && !matches => Outcome::Exists,
            Verb::Append | Verb::Prepend => {
                let len = old.len() + new.len();
                let number = new.cas();
                let all = match verb {
                    Verb::Append => {
                        locked.rewrite(old, 0, number, len, old.data().chain(new.data()))
                    }
                    _ => locked.rewrite(old, 0, number, len, new.data().chain(old.data())),
                };
                if matches!(all, Err(Outcome::NoMemory)) {
                    self.worker.count(Counter::StoreNoMemory);
                }
                all.map_or_else(|why| why, |all| Outcome::Done { cas: all.cas(), len })
            }
        }
    }

    /// Deletes the value of a key, if it has that number. Watchers are told the command.
    pub(in crate::memcached) fn delete(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        command: &str,
    ) -> Removal {
        let mut locked = self.lock(key);
        let deleted = match locked.find(key) {
            None => Removal::NotFound,
            Some(item) if cas.is_some_and(|cas| cas != item.cas()) => Removal::Exists,
            Some(item) => {
                locked.unlink(item);
                self.watchers().tell_delete(item, command);
                Removal::Done
            }
        };
        self.count_removal(deleted);
        deleted
    }

    fn count_removal(&self, removal: Removal) {
        self.worker.count(match removal {
            Removal::Done => Counter::DeleteHits,
            Removal::Exists | Removal::NotFound => Counter::DeleteMisses,
        });
    }

    /// Puts an item without data in the place of that of a key, if it has that number. Then it is stale, or keeps its number
    /// unless the new one has its own.
    pub(in crate::memcached) fn empty(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        new: &ItemRef<C>,
        stale: bool,
    ) -> Removal {
        let mut locked = self.lock(key);
        let emptied = match locked.find(key) {
            None => Removal::NotFound,
            Some(old) if cas.is_some_and(|cas| cas != old.cas()) => Removal::Exists,
            Some(old) => {
                if stale {
                    new.mark(state::STALE, 0);
                } else if new.cas() == 0 {
                    new.set_cas(old.cas());
                }
                locked.replace(old, new);
                Removal::Done
            }
        };
        self.count_removal(emptied);
        emptied
    }

    /// Marks the value of a key as stale, if it has that number. It gets the next one, or the one that is given.
    pub(in crate::memcached) fn invalidate(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        expiry: Option<Seconds>,
        number: Option<u64>,
    ) -> Removal {
        let mut locked = self.lock(key);
        match locked.find(key) {
            Some(item) if cas.is_some_and(|cas| cas != item.cas()) => {
                self.worker.count(Counter::DeleteMisses);
                Removal::Exists
            }
            Some(item) => {
                if let Some(expiry) = expiry {
                    item.set_expiry(expiry);
                }
                item.mark(state::STALE, state::WON);
                item.set_cas(number.unwrap_or_else(|| self.store.next_cas()));
                Removal::Done
            }
            None => {
                self.worker.count(Counter::DeleteMisses);
                Removal::NotFound
            }
        }
    }
}
