//! What requests change: a value is stored, deleted or invalidated.

use tenure::count::RefCount;

use super::{Key, Locked, Outcome, Visit};
use crate::memcached::classes::Event;
use crate::memcached::clock::Seconds;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

impl Verb {
    /// The name in watchers' lines.
    pub(crate) fn name(self) -> &'static str {
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Storing {
    pub(crate) verb: Verb,
    /// The number of the old value, or 0 for any.
    pub(crate) cas: u64,
    /// Whether a value with a smaller number is stored, as stale.
    pub(crate) stale: bool,
    /// Whether `append` and `prepend` create a missing value.
    pub(crate) makes: bool,
}

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    Done,
    Exists,
    NotFound,
}

impl<C: RefCount + 'static> Visit<'_, C> {
    pub(crate) fn store(&self, new: &ItemRef<C>, storing: Storing) -> Outcome {
        let Storing { verb, cas, stale, makes } = storing;
        let len = new.len();
        let key = Key { bytes: new.key(), hash: new.hash() };
        let mut locked = self.lock(key);
        let Some(old) = locked.find(key) else {
            if locked.over {
                self.worker.count_item(Counter::Reclaimed, new.sort(), Event::Reclaimed);
            }
            return match verb {
                Verb::Replace => Outcome::Refused,
                Verb::Append | Verb::Prepend if !makes => Outcome::Refused,
                Verb::Cas => {
                    self.worker.count(Counter::CasMisses);
                    Outcome::NotFound
                }
                _ => Outcome::Done { cas: locked.link(new), len },
            };
        };
        let matches = cas == old.cas.get();
        match verb {
            Verb::Add => {
                old.set_time(self.now);
                Outcome::Refused
            }
            Verb::Set | Verb::Replace => Outcome::Done { cas: locked.replace(old, new), len },
            Verb::Cas if cas != 0 && (matches || stale && cas < old.cas.get()) => {
                self.worker.count(Counter::CasHits);
                if !matches {
                    new.expiry.set(old.expiry.get());
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
                let number = new.cas.get();
                let all = match verb {
                    Verb::Append => {
                        locked.rewrite(old, 0, number, len, old.data().chain(new.data()))
                    }
                    _ => locked.rewrite(old, 0, number, len, new.data().chain(old.data())),
                };
                if matches!(all, Err(Outcome::NoMemory)) {
                    self.worker.count(Counter::StoreNoMemory);
                }
                all.map_or_else(|why| why, |all| Outcome::Done { cas: all.cas.get(), len })
            }
        }
    }

    /// Deletes the value of a key, if it has that number. `command` is for watchers.
    pub(crate) fn delete(&self, key: Key<'_>, cas: Option<u64>, command: &str) -> Removal {
        self.remove(key, cas, true, |locked, item| {
            locked.unlink(item);
            self.watchers().log_delete(item, command);
        })
    }

    /// Replaces a key's value by one without data, if it has that number. The new one is stale, or keeps the number
    /// unless it has its own.
    pub(crate) fn empty(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        new: &ItemRef<C>,
        stale: bool,
    ) -> Removal {
        self.remove(key, cas, true, |locked, old| {
            if stale {
                new.mark(state::STALE, 0);
            } else if new.cas.get() == 0 {
                new.cas.set(old.cas.get());
            }
            locked.replace(old, new);
        })
    }

    /// Marks a key's value as stale, if it has that number. It gets the next number, or the given one.
    pub(crate) fn invalidate(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        expiry: Option<Seconds>,
        number: Option<u64>,
    ) -> Removal {
        self.remove(key, cas, false, |_, item| {
            if let Some(expiry) = expiry {
                item.expiry.set(expiry);
            }
            item.mark(state::STALE, state::WON);
            item.cas.set(number.unwrap_or_else(|| self.store.next_cas()));
        })
    }

    /// Calls `remove` with a key's value, if it has that number. Counts the outcome; a hit only if `counts_hits`.
    fn remove(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        counts_hits: bool,
        remove: impl FnOnce(&mut Locked<'_, '_, C>, &ItemRef<C>),
    ) -> Removal {
        let mut locked = self.lock(key);
        let removal = match locked.find(key) {
            None => Removal::NotFound,
            Some(item) if cas.is_some_and(|cas| cas != item.cas.get()) => Removal::Exists,
            Some(item) => {
                remove(&mut locked, item);
                Removal::Done
            }
        };
        match removal {
            Removal::Done if counts_hits => self.worker.count(Counter::DeleteHits),
            Removal::Done => {}
            Removal::Exists | Removal::NotFound => self.worker.count(Counter::DeleteMisses),
        }
        removal
    }
}
