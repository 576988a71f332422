//! `watch`: a connection follows what others do, while they do it.
//!
//! The thread on which something happens writes a line about it into the buffer of each watcher that asked for that kind.
//! The worker that owns the watcher's connection sends the buffer a little later. A full buffer takes no more lines, and
//! later tells its watcher how many it missed: no thread waits for a slow watcher.
//!
//! While there is no watcher, this costs one load of a number that is hardly ever written. With one, each event that it
//! asked for takes one more lock.

use std::fmt;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tenure::count::RefCount;
use tenure::memory::{Atomic, Ordering};
use tenure::sync::Arc;

use super::clock::Seconds;
use super::item::{ItemRef, state};
use super::words::InUrl;
use super::{AtomicU32, AtomicU64};

/// What a watcher may ask for.
pub(super) mod kind {
    /// Lookups.
    pub(crate) const FETCHERS: u32 = 1;
    /// Values that are stored, or are not.
    pub(crate) const MUTATIONS: u32 = 2;
    pub(crate) const EVICTIONS: u32 = 4;
    /// Connections that come and go.
    pub(crate) const CONNEVENTS: u32 = 8;
    pub(crate) const DELETIONS: u32 = 16;
}

/// The kinds that a client names. Without a name, lookups.
pub(super) fn kinds(words: &[&[u8]]) -> Option<u32> {
    if words.is_empty() {
        return Some(kind::FETCHERS);
    }
    words.iter().try_fold(0, |kinds, word| {
        Some(
            kinds
                | match *word {
                    b"fetchers" => kind::FETCHERS,
                    b"mutations" => kind::MUTATIONS,
                    b"evictions" => kind::EVICTIONS,
                    b"connevents" => kind::CONNEVENTS,
                    b"deletions" => kind::DELETIONS,
                    _ => return None,
                },
        )
    })
}

/// Watchers at once, at most: each has a buffer.
const MOST: usize = 20;

/// Bytes that wait for a watcher, at most.
const BUFFER: usize = 256 << 10;

/// Bytes of the note about lines that were skipped, at most.
const NOTE: usize = 32;

/// A connection that watches.
pub(super) struct Watcher {
    kinds: u32,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Lines for which there was no room since the last that there was room for.
    skipped: u64,
}

impl Watcher {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are lines for it.
    pub(super) fn has_news(&self) -> bool {
        !self.lock().lines.is_empty()
    }

    /// The lines that wait.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().lines)
    }

    /// Whether there was room for the line.
    fn push(&self, line: &[u8]) -> bool {
        let mut waiting = self.lock();
        let room = BUFFER.saturating_sub(waiting.lines.len());
        if room < line.len() || waiting.lines.try_reserve(line.len() + NOTE).is_err() {
            waiting.skipped += 1;
            return false;
        }
        if waiting.skipped > 0 {
            let note = format!("skipped={}\n", std::mem::take(&mut waiting.skipped));
            waiting.lines.extend_from_slice(note.as_bytes());
        }
        waiting.lines.extend_from_slice(line);
        true
    }
}

/// All watchers.
pub(super) struct Watchers {
    /// What any of them asked for.
    wanted: AtomicU32,
    all: Mutex<Vec<Arc<Watcher>>>,
    /// Lines so far; each has its number. Written under the lock, as are the others.
    lines: AtomicU64,
    sent: AtomicU64,
    skipped: AtomicU64,
}

impl Watchers {
    pub(super) fn new() -> Self {
        let number = || Atomic::new(0);
        let all = Mutex::new(Vec::new());
        Self { wanted: Atomic::new(0), all, lines: number(), sent: number(), skipped: number() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Watcher>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_wanted(&self, all: &[Arc<Watcher>]) {
        let wanted = all.iter().fold(0, |wanted, watcher| wanted | watcher.kinds);
        // Relaxed: what happens at the same time may be told or not.
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Whether somebody asked for one of those kinds.
    #[inline]
    pub(super) fn want(&self, kinds: u32) -> bool {
        // Relaxed: as above.
        self.wanted.load(Ordering::Relaxed) & kinds != 0
    }

    /// A watcher more. `None` where there are too many.
    pub(super) fn join(&self, kinds: u32) -> Option<Arc<Watcher>> {
        let mut all = self.lock();
        if all.len() == MOST {
            return None;
        }
        let watcher = Arc::new(Watcher { kinds, waiting: Mutex::default() });
        all.push(watcher.clone());
        self.note_wanted(&all);
        Some(watcher)
    }

    /// A watcher ends.
    pub(super) fn leave(&self, watcher: &Arc<Watcher>) {
        let mut all = self.lock();
        all.retain(|other| !Arc::ptr_eq(other, watcher));
        self.note_wanted(&all);
    }

    /// How many there are, lines that were written for them, and lines for which there was no room.
    pub(super) fn figures(&self) -> [u64; 3] {
        // Relaxed: statistics.
        let [sent, skipped] = [&self.sent, &self.skipped].map(|of| of.load(Ordering::Relaxed));
        [self.lock().len() as u64, sent, skipped]
    }

    /// Tells those who asked for that kind.
    #[cold]
    fn tell(&self, kind: u32, what: fmt::Arguments<'_>) {
        let all = self.lock();
        let add = |to: &AtomicU64, more: u64| {
            // Relaxed: the lock is held.
            let number = to.load(Ordering::Relaxed) + more;
            // Relaxed: as above.
            to.store(number, Ordering::Relaxed);
            number
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, micros, number) = (time.as_secs(), time.subsec_micros(), add(&self.lines, 1));
        let mut line = String::new();
        let _ = writeln!(line, "ts={seconds}.{micros:06} gid={number} {what}"); // A string takes all.
        for watcher in all.iter().filter(|watcher| watcher.kinds & kind != 0) {
            let to = if watcher.push(line.as_bytes()) { &self.sent } else { &self.skipped };
            add(to, 1);
        }
    }

    /// A connection looked a key up.
    pub(super) fn tell_get<C: RefCount + 'static>(
        &self,
        key: &[u8],
        item: Option<&ItemRef<C>>,
        connection: u64,
    ) {
        if self.want(kind::FETCHERS) {
            let status = if item.is_some() { "found" } else { "not_found" };
            let class = item.map_or(0, |item| item.class().number());
            let size = item.map_or(0, ItemRef::len);
            self.tell(
                kind::FETCHERS,
                format_args!(
                    "type=item_get key={} status={status} clsid={class} cfd={connection} size={size}",
                    InUrl(key)
                ),
            );
        }
    }

    /// A connection stored a value, or did not.
    pub(super) fn tell_store<C: RefCount + 'static>(
        &self,
        item: &ItemRef<C>,
        status: &str,
        command: &str,
        now: Seconds,
        connection: u64,
    ) {
        if self.want(kind::MUTATIONS) {
            let (key, ttl) = (InUrl(item.key()), item.expiry().saturating_sub(now));
            let (class, size) = (item.class().number(), item.len());
            self.tell(
                kind::MUTATIONS,
                format_args!(
                    "type=item_store key={key} status={status} cmd={command} ttl={ttl} clsid={class} \
                     cfd={connection} size={size}"
                ),
            );
        }
    }

    /// An item was deleted.
    pub(super) fn tell_delete<C: RefCount + 'static>(&self, item: &ItemRef<C>, command: &str) {
        if self.want(kind::DELETIONS) {
            let (key, class, size) = (InUrl(item.key()), item.class().number(), item.len());
            self.tell(
                kind::DELETIONS,
                format_args!("type=deleted key={key} cmd={command} clsid={class} size={size}"),
            );
        }
    }

    /// An item was evicted.
    pub(super) fn tell_eviction<C: RefCount + 'static>(&self, item: &ItemRef<C>, now: Seconds) {
        if self.want(kind::EVICTIONS) {
            let (key, class, size) = (InUrl(item.key()), item.class().number(), item.len());
            let fetched = if item.state() & state::FETCHED == 0 { "no" } else { "yes" };
            let expiry = item.expiry();
            let ttl = if expiry == 0 { -1 } else { i64::from(expiry) - i64::from(now) };
            let idle = now.saturating_sub(item.time());
            self.tell(
                kind::EVICTIONS,
                format_args!(
                    "type=eviction key={key} fetch={fetched} ttl={ttl} la={idle} clsid={class} size={size}"
                ),
            );
        }
    }

    /// A connection begins, or ends for that reason.
    pub(super) fn tell_connection(&self, from: IpAddr, connection: u64, end: Option<&str>) {
        if self.want(kind::CONNEVENTS) {
            let transport = if from.is_unspecified() { "local" } else { "tcp" };
            let (event, reason) = match end {
                None => ("conn_new", String::new()),
                Some(reason) => ("conn_close", format!(" reason={reason}")),
            };
            self.tell(
                kind::CONNEVENTS,
                format_args!(
                    "type={event} rip={from} transport={transport}{reason} cfd={connection}"
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_that_is_slow_is_told_how_many_lines_it_missed() {
        let watchers = Watchers::new();
        let slow = watchers.join(kind::DELETIONS).unwrap();
        let other = watchers.join(kind::EVICTIONS).unwrap();
        assert!(watchers.want(kind::DELETIONS) && !watchers.want(kind::FETCHERS));
        let long = "x".repeat(1000);
        (0..300).for_each(|_| watchers.tell(kind::DELETIONS, format_args!("{long}")));
        let first = slow.take();
        let kept = first.iter().filter(|byte| **byte == b'\n').count();
        assert!((200..300).contains(&kept) && first.len() <= BUFFER);
        assert!(!slow.has_news() && !other.has_news());
        watchers.tell(kind::DELETIONS, format_args!("next"));
        let next = String::from_utf8(slow.take()).unwrap();
        assert!(next.starts_with(&format!("skipped={}\nts=", 300 - kept)), "{next}");
        assert!(next.ends_with(" gid=301 next\n"), "{next}");
        assert_eq!(watchers.figures(), [2, kept as u64 + 1, 300 - kept as u64]);
        watchers.leave(&slow);
        assert!(!watchers.want(kind::DELETIONS) && watchers.want(kind::EVICTIONS));
    }

    #[test]
    fn there_are_not_too_many_watchers() {
        let watchers = Watchers::new();
        let all: Vec<_> = (0..MOST).map(|_| watchers.join(kind::FETCHERS).unwrap()).collect();
        assert!(watchers.join(kind::FETCHERS).is_none());
        watchers.leave(&all[0]);
        assert!(watchers.join(kind::FETCHERS).is_some());
    }
}
