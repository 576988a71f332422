//! Any bytes as a connection to the memcached server, in two cuts. The first byte says where the second one is.
//!
//! `cargo +nightly fuzz run memcached -- -dict=memcached.dict`, in this crate's folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::count::TicketRef;
use tenure_serve::memcached::{Cache, Config};
use tenure_serve_fuzz::{Conversation, converse};

/// Talks to an empty server. Afterwards nothing is left of the connection.
fn talk<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Conversation {
    let cache: Cache<TicketRef, TicketRef> = Cache::new(&Config::default());
    let mut handler = cache.handler();
    let conversation = converse(&mut handler, pieces);
    drop(handler);
    let (current, alive) = cache.items();
    assert_eq!((current, cache.peers()), (alive, 0));
    conversation
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let whole = talk([bytes].into_iter());
    let pieces = talk(bytes.chunks(usize::from(size).max(1)));
    // A line that is too long is one only while its end has not come, and `stats` tells what is different each time.
    let long = bytes.split(|byte| *byte == b'\n').any(|line| line.len() > 2048);
    let tells = bytes.windows(5).any(|word| word == b"stats");
    assert!(long || tells || whole == pieces);
});
