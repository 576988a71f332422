//! What happened on a server: each worker counts on lines of its own.

use tenure::line::Isolated;
use tenure::pool::BufferCounts;

use crate::relaxed::Relaxed;

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $field:ident $(= $name:literal)?,)*) => {
        #[derive(Default)]
        pub(super) struct Counters {
            $(pub(super) $field: Relaxed<u64>,)*
        }

        /// What happened on a server so far, and what it has now; read one after the other.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[doc = $doc])* pub $field: u64,)*
            /// All size classes together.
            pub buffers: BufferCounts,
        }

        impl Statistics {
            /// The sums over all workers.
            pub(super) fn of(workers: &[Isolated<Counters>], buffers: BufferCounts) -> Self {
                let sum = |figure: fn(&Counters) -> &Relaxed<u64>| {
                    workers.iter().fold(0_u64, |sum, worker| sum.wrapping_add(figure(worker).get()))
                };
                Self { $($field: sum(|worker| &worker.$field),)* buffers }
            }

            /// The figures with their names, but for [`paused`](Self::paused).
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let BufferCounts { in_use, idle, allocated, reused, freed, bytes, .. } = self.buffers;
                [
                    $($(($name, self.$field),)?)*
                    ("buffers_in_use", in_use),
                    ("buffers_idle", idle),
                    ("buffers_allocated", allocated),
                    ("buffers_reused", reused),
                    ("buffers_freed", freed),
                    ("buffer_bytes", bytes),
                ]
                .into_iter()
            }
        }
    };
}

counters! {
    /// Connections that are open or on their way to the worker. Other workers write it too.
    open = "curr_connections",
    /// Connections that arrived.
    accepted = "total_connections",
    /// Those closed at once: too many, or not wanted.
    refused = "rejected_connections",
    /// Closed because nothing moved for too long.
    timed_out = "idle_kicks",
    /// Ended by an error of the connection, such as a reset.
    broken = "broken_connections",
    /// Handed to a worker that had fewer.
    handed_over = "handed_over_connections",
    /// Closed because the pool had no buffer.
    without_buffer = "connections_without_buffer",
    /// Times without files for more connections.
    exhausted = "listen_disabled_num",
    /// Bytes read.
    read = "bytes_read",
    /// Bytes sent.
    written = "bytes_written",
    /// Times that a connection waited for room to write.
    stalled = "stalled_writes",
    /// Times that a connection had more to do and gave way to others.
    yielded = "conn_yields",
    /// Workers that accept nothing now, for want of files.
    paused,
}
