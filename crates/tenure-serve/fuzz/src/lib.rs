//! What the fuzz targets share: a connection without a socket, which holds handlers to their promises.

use std::net::{IpAddr, Ipv4Addr};

use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::{Handler, Next, Output};

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

/// Feeds a new connection one piece after the other, as the event loop does.
///
/// # Panics
///
/// If the handler breaks what [`Handler::handle`] promises.
pub fn converse<'a, H: Handler>(
    handler: &mut H,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Conversation {
    let pool = Buffers::new(PoolKind::Magazines, BUFFER).expect("a power of two");
    let mut output = Output::new(pool.acquire().expect("memory"));
    let mut session = handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("nobody is refused");
    let mut input = Vec::new();
    let mut conversation = Conversation { answers: Vec::new(), ended: false };
    'pieces: for piece in pieces {
        input.extend_from_slice(piece);
        let mut next = Next::Input;
        while !input.is_empty() || next == Next::Room {
            let seen = &input[..input.len().min(BUFFER)];
            let is_full = seen.len() == BUFFER;
            let progress = handler.handle(&mut session, seen, &mut output);
            input.drain(..progress.consumed);
            next = progress.next;
            let sent = output.pending();
            conversation.answers.extend(output.to_vec());
            output.advance(sent);
            match next {
                Next::Input if progress.consumed > 0 => {}
                Next::Input => {
                    assert!(!is_full, "a full buffer makes progress");
                    break;
                }
                Next::Turn => {}
                Next::Room => {
                    assert!(sent > 0 || progress.consumed > 0, "room is made of something")
                }
                Next::End | Next::Refuse(_) | Next::Linger => {
                    conversation.ended = true;
                    break 'pieces;
                }
            }
        }
    }
    handler.close(session);
    drop(output);
    assert_eq!(pool.statistics().total.in_use, 0);
    conversation
}
