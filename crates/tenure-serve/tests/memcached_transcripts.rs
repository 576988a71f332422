//! Every command of the memcached server, by its transcript.

mod support;

use support::{Server, TRANSCRIPTS, text};

#[test]
fn every_transcript_is_answered_as_written() {
    for (name, requests, answers) in TRANSCRIPTS {
        let mut server = Server::new();
        assert_eq!(server.ask(requests), text(answers), "{name}");
    }
}
