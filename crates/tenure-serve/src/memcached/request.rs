//! [`Request`]: what every command works on, and [`Then`]: what it leaves to do.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use super::Shared;
use super::answer::{Answer, Answered, Echo, NO_MEMORY, TOO_LARGE};
use super::classes::Classes;
use super::clock::Seconds;
use super::counters::Counter;
use super::item::{Draft, ItemRef, Recipe};
use super::peer::Limits;
use super::prefixes::Use;
use super::store::{Key, Storing, Visit};
use super::watch::Watcher;

pub(super) enum Then<C: RefCount + 'static> {
    Done,
    /// A retrieval's keys follow in the input.
    Keys(Keys),
    /// A value's data follows in the input.
    Data(Pending<C>),
    Swallow(usize),
    Dump(Classes),
    Watch(Arc<Watcher>),
    End,
    /// End it: the client speaks no protocol of a cache.
    Misled,
    /// End it once the answer is sent, and drop what still arrives.
    Linger,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    /// The answer has the values' numbers.
    pub(super) cas: bool,
    /// The new expiry of the items.
    pub(super) touch: Option<Seconds>,
}

pub(super) struct Pending<C: RefCount + 'static> {
    pub(super) draft: Draft<C>,
    pub(super) storing: Storing,
    pub(super) noreply: bool,
    pub(super) echo: Option<Echo>,
}

pub(super) struct Request<'a, C: RefCount + 'static, P: RegistryCount> {
    pub(super) shared: &'a Shared<C, P>,
    pub(super) visit: &'a Visit<'a, C>,
    pub(super) limits: Limits,
    pub(super) connection: u64,
}

/// Writes the line unless the client asked for no answer.
pub(super) fn reply<C: RefCount + 'static>(
    output: &mut Answer<C>,
    noreply: bool,
    line: &[u8],
) -> Then<C> {
    if !noreply {
        output.write(line);
    }
    Then::Done
}

impl<C: RefCount + 'static, P: RegistryCount> Request<'_, C, P> {
    pub(super) fn count(&self, counter: Counter) {
        self.visit.worker.count(counter);
    }

    /// Counts a lookup by prefix, and logs it to watchers, if these are on.
    pub(super) fn fetched(&self, key: &[u8], item: Option<&ItemRef<C>>) {
        self.note(key, if item.is_some() { Use::Hit } else { Use::Miss });
        self.visit.watchers().log_get(key, item, self.connection);
    }

    /// Counts a request by prefix, if that is on.
    pub(super) fn note(&self, key: &[u8], what: Use) {
        if self.shared.prefixes.is_on() {
            self.shared.prefixes.note(key, what);
        }
    }

    pub(super) fn expiry(&self, expiry: i32) -> Seconds {
        self.shared.clock.expiry(expiry, self.visit.now)
    }

    /// Memory for an item, or the answer that says why not.
    pub(super) fn draft(&self, recipe: &Recipe<'_>) -> Answered<Draft<C>> {
        if !self.shared.store.takes(recipe.key, recipe.flags, recipe.len) {
            self.count(Counter::StoreTooLarge);
            return Err(TOO_LARGE);
        }
        self.visit.draft(recipe).ok_or_else(|| {
            self.count(Counter::StoreNoMemory);
            NO_MEMORY
        })
    }

    /// The new value was refused: the old one must not pass for it.
    pub(super) fn forget(&self, key: Key<'_>) {
        let mut locked = self.visit.lock(key);
        if let Some(item) = locked.find(key) {
            locked.unlink(item);
        }
    }
}
