//! The same requests to this server and to the real memcached: the answers are the same bytes.

mod support;

use support::{Real, Server, TRANSCRIPTS, text};

#[test]
fn the_real_memcached_answers_every_transcript_as_this_server_does() {
    let Some(real) = Real::start("transcripts") else {
        return;
    };
    let mut server = Server::new();
    for (name, requests, _) in TRANSCRIPTS {
        let ours = server.cut(requests, 16 << 10);
        let theirs = real.ask(requests);
        assert_eq!(text(&ours), text(&theirs), "{name}");
        assert_eq!(server.cut(b"flush_all\r\n", 100), real.ask(b"flush_all\r\n"));
    }
}
