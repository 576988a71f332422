//! What the fuzz targets share: a connection without a socket, which holds handlers to their promises.

use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::Handler;
use tenure_serve::script::Connection;

/// Bytes of a receive buffer.
pub const BUFFER: usize = 16 << 10;

/// What a connection came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Conversation {
    /// All that was sent.
    pub answers: Vec<u8>,
    /// Whether the handler ended it.
    pub ended: bool,
}

/// Feeds a new connection one piece after the other.
///
/// # Panics
///
/// If the handler breaks what [`Handler::handle`] promises.
pub fn converse<'a, H: Handler>(
    handler: &mut H,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Conversation {
    let pool = Buffers::new(PoolKind::Magazines, BUFFER).expect("a power of two");
    let mut connection = Connection::open(handler, &pool, BUFFER);
    pieces.for_each(|piece| connection.receive(handler, piece));
    let ended = connection.has_ended();
    handler.close(connection.session);
    drop(connection.output);
    assert_eq!(pool.statistics().total.in_use, 0);
    Conversation { answers: connection.sent, ended }
}
