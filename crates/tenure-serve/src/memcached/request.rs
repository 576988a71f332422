//! [`Request`]: what a command is made to, and [`Then`]: what it leaves to be done.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use super::Shared;
use super::classes::Classes;
use super::clock::Seconds;
use super::counters::Counter;
use super::echo::Echo;
use super::item::{Draft, ItemRef, Recipe};
use super::peer::Limits;
use super::prefixes::Use;
use super::reply::{Answer, NO_MEMORY, TOO_LARGE};
use super::store::{Key, Storing, Visit};
use super::watch::Watcher;

/// What a request leaves to be done.
pub(super) enum Then<C: RefCount + 'static> {
    /// Nothing.
    Done,
    /// A retrieval's keys are to be looked up: they follow in the input.
    Keys(Keys),
    /// The data of a value follows in the input.
    Data(Pending<C>),
    /// So many bytes of the input are to be thrown away.
    Swallow(usize),
    /// The items of some classes are to be listed.
    Dump(Classes),
    /// The connection is told what others do.
    Watch(Arc<Watcher>),
    /// The connection ends.
    End,
    /// It ends because it speaks no protocol of a cache.
    Misled,
    /// The connection ends once the answer is sent, and what still comes is thrown away.
    Linger,
}

/// A retrieval whose keys follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    /// Whether the values' numbers are asked for.
    pub(super) cas: bool,
    /// The expiry that the items get.
    pub(super) touch: Option<Seconds>,
}

/// A value whose data is coming in.
pub(super) struct Pending<C: RefCount + 'static> {
    pub(super) draft: Draft<C>,
    pub(super) storing: Storing,
    pub(super) noreply: bool,
    /// What the answer to a meta command repeats.
    pub(super) echo: Option<Echo>,
}

/// A request, and what it is made to.
pub(super) struct Request<'a, C: RefCount + 'static, P: RegistryCount> {
    pub(super) shared: &'a Shared<C, P>,
    pub(super) visit: &'a Visit<'a, C>,
    pub(super) limits: Limits,
    /// The number of the connection.
    pub(super) connection: u64,
}

/// Answers with a line, unless none is wanted.
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

    /// A key was looked up: counts that by its prefix, and tells watchers, where that is asked for.
    pub(super) fn fetched(&self, key: &[u8], item: Option<&ItemRef<C>>) {
        self.note(key, if item.is_some() { Use::Hit } else { Use::Miss });
        self.visit.watchers().tell_get(key, item, self.connection);
    }

    /// Counts a request by the prefix of its key, where that is asked for.
    pub(super) fn note(&self, key: &[u8], what: Use) {
        if self.shared.prefixes.is_on() {
            self.shared.prefixes.note(key, what);
        }
    }

    pub(super) fn expiry(&self, expiry: i32) -> Seconds {
        self.shared.clock.expiry(expiry, self.visit.now)
    }

    /// Whether an item is larger than allowed, as memcached counts it: with its header of 56 bytes.
    pub(super) fn is_too_large(&self, key: &[u8], flags: u32, len: usize) -> bool {
        !self.shared.store.takes(key, flags, len)
    }

    /// Room for an item, or the answer that says why there is none.
    pub(super) fn draft(&self, recipe: &Recipe<'_>) -> Result<Draft<C>, &'static [u8]> {
        if self.is_too_large(recipe.key, recipe.flags, recipe.len) {
            self.count(Counter::StoreTooLarge);
            return Err(TOO_LARGE);
        }
        self.visit.draft(recipe).ok_or_else(|| {
            self.count(Counter::StoreNoMemory);
            NO_MEMORY
        })
    }

    /// A new value was refused: the old one is not to be taken for it.
    pub(super) fn forget(&self, key: Key<'_>) {
        let mut locked = self.visit.lock(key);
        if let Some(item) = locked.find(key) {
            locked.unlink(item);
        }
    }
}
