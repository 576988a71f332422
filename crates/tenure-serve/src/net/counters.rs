//! What happened on a server: each worker counts on lines of its own.

use tenure::line::Isolated;
use tenure::memory::{Memory, Native, Ordering};
use tenure::pool::BufferCounts;

type Word = <Native as Memory>::AtomicU64;

/// A figure that one thread writes, and others may read.
pub(crate) struct Counter(Word);

impl Default for Counter {
    fn default() -> Self {
        Self(Word::new(0))
    }
}

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        // Relaxed: a statistic. Only its worker writes it, so that load and store make no race.
        self.0.store(self.get().wrapping_add(more), Ordering::Relaxed);
    }

    /// From another thread than the one that [adds](Self::add), which must not add then.
    pub(super) fn add_from_anywhere(&self, more: u64) {
        // Relaxed: a statistic.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn sub_from_anywhere(&self, less: u64) {
        // Relaxed: a statistic.
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one worker.
#[derive(Default)]
pub(super) struct Counters {
    /// Connections that the worker has, or that are on their way to it: written by whoever hands one over, too.
    pub(super) open: Counter,
    pub(super) accepted: Counter,
    pub(super) refused: Counter,
    pub(super) timed_out: Counter,
    pub(super) broken: Counter,
    pub(super) handed_over: Counter,
    pub(super) without_buffer: Counter,
    pub(super) exhausted: Counter,
    pub(super) read: Counter,
    pub(super) written: Counter,
    pub(super) stalled: Counter,
    pub(super) yielded: Counter,
    /// 1 while the worker accepts nobody.
    pub(super) paused: Counter,
}

/// What happened on a server so far, and what it has now. A snapshot: the figures are read one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Connections that are open now.
    pub open: u64,
    /// Connections that came.
    pub accepted: u64,
    /// Of those: closed at once, because there were too many or the handler did not want them.
    pub refused: u64,
    /// Closed because nothing moved for too long.
    pub timed_out: u64,
    /// Ended by an error of the connection, such as a reset.
    pub broken: u64,
    /// Handed to another worker, which had fewer.
    pub handed_over: u64,
    /// Closed because the pool had no buffer.
    pub without_buffer: u64,
    /// Times that the process had no more files for connections.
    pub exhausted: u64,
    /// Bytes that were read.
    pub read: u64,
    /// Bytes that were sent.
    pub written: u64,
    /// Times that a connection had to wait for room to write, so that nothing more was read from it.
    pub stalled: u64,
    /// Times that a connection had more to do and let others have their turn.
    pub yielded: u64,
    /// Workers that accept nobody now, because the process has no more files.
    pub paused: u64,
    /// The pool of buffers, all size classes together.
    pub buffers: BufferCounts,
}

impl Statistics {
    /// The figures with their names, but for [`paused`](Self::paused).
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 18] {
        [
            ("curr_connections", self.open),
            ("total_connections", self.accepted),
            ("rejected_connections", self.refused),
            ("idle_kicks", self.timed_out),
            ("broken_connections", self.broken),
            ("handed_over_connections", self.handed_over),
            ("connections_without_buffer", self.without_buffer),
            ("listen_disabled_num", self.exhausted),
            ("bytes_read", self.read),
            ("bytes_written", self.written),
            ("stalled_writes", self.stalled),
            ("conn_yields", self.yielded),
            ("buffers_in_use", self.buffers.in_use),
            ("buffers_idle", self.buffers.idle),
            ("buffers_allocated", self.buffers.allocated),
            ("buffers_reused", self.buffers.reused),
            ("buffers_freed", self.buffers.freed),
            ("buffer_bytes", self.buffers.bytes),
        ]
    }

    /// The sums over all workers.
    pub(super) fn of(workers: &[Isolated<Counters>], buffers: BufferCounts) -> Self {
        let sum = |figure: fn(&Counters) -> &Counter| {
            workers.iter().fold(0_u64, |sum, worker| sum.wrapping_add(figure(worker).get()))
        };
        Self {
            open: sum(|worker| &worker.open),
            accepted: sum(|worker| &worker.accepted),
            refused: sum(|worker| &worker.refused),
            timed_out: sum(|worker| &worker.timed_out),
            broken: sum(|worker| &worker.broken),
            handed_over: sum(|worker| &worker.handed_over),
            without_buffer: sum(|worker| &worker.without_buffer),
            exhausted: sum(|worker| &worker.exhausted),
            read: sum(|worker| &worker.read),
            written: sum(|worker| &worker.written),
            stalled: sum(|worker| &worker.stalled),
            yielded: sum(|worker| &worker.yielded),
            paused: sum(|worker| &worker.paused),
            buffers,
        }
    }
}
