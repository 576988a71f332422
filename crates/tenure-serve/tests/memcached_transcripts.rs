//! Every command of the memcached server, by its transcript, however the connection is cut.

#![cfg(target_os = "linux")]

mod support;

use support::{Server, text, transcripts};

#[test]
fn every_transcript_is_answered_as_written() {
    for transcript in transcripts() {
        let answers = Server::new().ask(&transcript.requests);
        assert_eq!(answers, text(&transcript.answers), "{}", transcript.name);
    }
}

/// Byte by byte, and in pieces that end everywhere.
#[test]
fn no_transcript_is_answered_otherwise_when_it_is_cut() {
    for transcript in transcripts() {
        let len = transcript.requests.len();
        // Those with a megabyte of data in fewer pieces: a byte is a call of the handler.
        let pieces: Vec<usize> =
            if len < 4096 { (1..=len).collect() } else { vec![1001, 2048, 4096] };
        for piece in pieces {
            let answers = text(&Server::new().cut(&transcript.requests, piece));
            assert_eq!(answers, text(&transcript.answers), "{} by {piece}", transcript.name);
        }
    }
}

/// Twice in a row, so that the second part meets each state that a connection can be in.
#[test]
fn a_transcript_in_two_parts_is_answered_as_in_one() {
    for transcript in transcripts().iter().filter(|transcript| transcript.requests.len() < 4096) {
        for cut in 0..=transcript.requests.len() {
            let answers = text(&Server::new().cut_at(&transcript.requests, [cut]));
            assert_eq!(answers, text(&transcript.answers), "{} at {cut}", transcript.name);
        }
    }
}
