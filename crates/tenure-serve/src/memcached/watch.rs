//! `watch`: a connection follows what others do.
//!
//! A thread that logs an event writes a line into the buffer of each watcher of that kind; the worker of the watcher's
//! connection sends it a little later. A full buffer drops lines, and a later line says how many: no thread waits for a
//! slow watcher.
//!
//! Without a watcher, an event costs one load of a number that is hardly ever written. With one, each event of its
//! kinds takes one more lock.

use std::fmt;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use tenure::count::RefCount;
use tenure::sync::Arc;

use super::clock::Seconds;
use super::item::{ItemRef, state};
use super::words::InUrl;
use crate::lock::Lock;
use crate::relaxed::Relaxed;

pub(super) mod kind {
    pub(crate) const FETCHERS: u32 = 1;
    /// Values that are stored or refused.
    pub(crate) const MUTATIONS: u32 = 2;
    pub(crate) const EVICTIONS: u32 = 4;
    pub(crate) const CONNEVENTS: u32 = 8;
    pub(crate) const DELETIONS: u32 = 16;
}

/// Lookups by default.
pub(super) fn kinds(words: &[&[u8]]) -> Option<u32> {
    if words.is_empty() {
        return Some(kind::FETCHERS);
    }
    words.iter().try_fold(0, |kinds, word| match *word {
        b"fetchers" => Some(kinds | kind::FETCHERS),
        b"mutations" => Some(kinds | kind::MUTATIONS),
        b"evictions" => Some(kinds | kind::EVICTIONS),
        b"connevents" => Some(kinds | kind::CONNEVENTS),
        b"deletions" => Some(kinds | kind::DELETIONS),
        _ => None,
    })
}

/// Most watchers at once: each has a buffer.
const MOST: usize = 20;

/// Bytes that wait for a watcher.
const BUFFER: usize = 256 << 10;

const NOTE: usize = 32;

pub(super) struct Watcher {
    kinds: u32,
    waiting: Lock<Waiting>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Lines dropped since the last one that fitted.
    skipped: u64,
}

impl Watcher {
    pub(super) fn has_news(&self) -> bool {
        !self.waiting.lock().lines.is_empty()
    }

    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.waiting.lock().lines)
    }

    /// Returns whether there was room.
    fn push(&self, line: &[u8]) -> bool {
        let mut waiting = self.waiting.lock();
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

#[derive(Default)]
pub(super) struct Watchers {
    wanted: Relaxed<u32>,
    all: Lock<Vec<Arc<Watcher>>>,
    /// Lines so far, which number them. These three are written under the lock.
    lines: Relaxed<u64>,
    sent: Relaxed<u64>,
    skipped: Relaxed<u64>,
}

impl Watchers {
    fn note_wanted(&self, all: &[Arc<Watcher>]) {
        self.wanted.set(all.iter().fold(0, |wanted, watcher| wanted | watcher.kinds));
    }

    #[inline]
    pub(super) fn want(&self, kinds: u32) -> bool {
        self.wanted.get() & kinds != 0
    }

    /// `None` if there are too many.
    pub(super) fn join(&self, kinds: u32) -> Option<Arc<Watcher>> {
        let mut all = self.all.lock();
        if all.len() == MOST {
            return None;
        }
        let watcher = Arc::new(Watcher { kinds, waiting: Lock::default() });
        all.push(watcher.clone());
        self.note_wanted(&all);
        Some(watcher)
    }

    pub(super) fn leave(&self, watcher: &Arc<Watcher>) {
        let mut all = self.all.lock();
        all.retain(|other| !Arc::ptr_eq(other, watcher));
        self.note_wanted(&all);
    }

    /// Watchers, lines written for them, and lines dropped.
    pub(super) fn figures(&self) -> [u64; 3] {
        [self.all.lock().len() as u64, self.sent.get(), self.skipped.get()]
    }

    #[cold]
    fn log(&self, kind: u32, what: fmt::Arguments<'_>) {
        let all = self.all.lock();
        self.lines.count(1);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, micros, number) = (time.as_secs(), time.subsec_micros(), self.lines.get());
        let mut line = String::new();
        let _ = writeln!(line, "ts={seconds}.{micros:06} gid={number} {what}"); // A string takes all.
        for watcher in all.iter().filter(|watcher| watcher.kinds & kind != 0) {
            let to = if watcher.push(line.as_bytes()) { &self.sent } else { &self.skipped };
            to.count(1);
        }
    }

    pub(super) fn log_get<C: RefCount + 'static>(
        &self,
        key: &[u8],
        item: Option<&ItemRef<C>>,
        connection: u64,
    ) {
        if self.want(kind::FETCHERS) {
            let (key, status) = (InUrl(key), if item.is_some() { "found" } else { "not_found" });
            let (class, size) = item.map_or((0, 0), |item| (item.class.number(), item.len()));
            self.log(kind::FETCHERS, format_args!(
                "type=item_get key={key} status={status} clsid={class} cfd={connection} size={size}"
            ));
        }
    }

    pub(super) fn log_store<C: RefCount + 'static>(
        &self,
        item: &ItemRef<C>,
        status: &str,
        command: &str,
        now: Seconds,
        connection: u64,
    ) {
        if self.want(kind::MUTATIONS) {
            let (key, ttl) = (InUrl(item.key()), item.expiry.get().saturating_sub(now));
            let (class, size) = (item.class.number(), item.len());
            self.log(kind::MUTATIONS, format_args!(
                "type=item_store key={key} status={status} cmd={command} ttl={ttl} clsid={class} \
                 cfd={connection} size={size}"
            ));
        }
    }

    pub(super) fn log_delete<C: RefCount + 'static>(&self, item: &ItemRef<C>, command: &str) {
        if self.want(kind::DELETIONS) {
            let (key, class, size) = (InUrl(item.key()), item.class.number(), item.len());
            self.log(
                kind::DELETIONS,
                format_args!("type=deleted key={key} cmd={command} clsid={class} size={size}"),
            );
        }
    }

    pub(super) fn log_eviction<C: RefCount + 'static>(&self, item: &ItemRef<C>, now: Seconds) {
        if self.want(kind::EVICTIONS) {
            let (key, class, size) = (InUrl(item.key()), item.class.number(), item.len());
            let fetched = if item.state() & state::FETCHED == 0 { "no" } else { "yes" };
            let expiry = item.expiry.get();
            let ttl = if expiry == 0 { -1 } else { i64::from(expiry) - i64::from(now) };
            let idle = now.saturating_sub(item.time());
            self.log(kind::EVICTIONS, format_args!(
                "type=eviction key={key} fetch={fetched} ttl={ttl} la={idle} clsid={class} size={size}"
            ));
        }
    }

    /// A connection begins, or ends for that reason.
    pub(super) fn log_connection(&self, from: IpAddr, connection: u64, end: Option<&str>) {
        if self.want(kind::CONNEVENTS) {
            let transport = if from.is_unspecified() { "local" } else { "tcp" };
            let (event, reason) = match end {
                None => ("conn_new", String::new()),
                Some(reason) => ("conn_close", format!(" reason={reason}")),
            };
            self.log(
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
    fn a_slow_watcher_learns_how_many_lines_it_missed() {
        let watchers = Watchers::default();
        let slow = watchers.join(kind::DELETIONS).unwrap();
        let other = watchers.join(kind::EVICTIONS).unwrap();
        assert!(watchers.want(kind::DELETIONS) && !watchers.want(kind::FETCHERS));
        let long = "x".repeat(1000);
        (0..300).for_each(|_| watchers.log(kind::DELETIONS, format_args!("{long}")));
        let first = slow.take();
        let kept = first.iter().filter(|byte| **byte == b'\n').count();
        assert!((200..300).contains(&kept) && first.len() <= BUFFER);
        assert!(!slow.has_news() && !other.has_news());
        watchers.log(kind::DELETIONS, format_args!("next"));
        let next = String::from_utf8(slow.take()).unwrap();
        assert!(next.starts_with(&format!("skipped={}\nts=", 300 - kept)), "{next}");
        assert!(next.ends_with(" gid=301 next\n"), "{next}");
        assert_eq!(watchers.figures(), [2, kept as u64 + 1, 300 - kept as u64]);
        watchers.leave(&slow);
        assert!(!watchers.want(kind::DELETIONS) && watchers.want(kind::EVICTIONS));
    }

    #[test]
    fn there_are_not_too_many_watchers() {
        let watchers = Watchers::default();
        let all: Vec<_> = (0..MOST).map(|_| watchers.join(kind::FETCHERS).unwrap()).collect();
        assert!(watchers.join(kind::FETCHERS).is_none());
        watchers.leave(&all[0]);
        assert!(watchers.join(kind::FETCHERS).is_some());
    }
}
