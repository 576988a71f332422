//! The same requests to this server and to the real memcached: the answers are the same bytes.

#![cfg(target_os = "linux")]

mod support;

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use support::{Real, Server, text, transcripts};

#[test]
fn the_real_memcached_answers_every_transcript_as_written() {
    for transcript in transcripts().iter().filter(|transcript| !transcript.is_ours) {
        let Some(real) = Real::start() else {
            return;
        };
        let answers = real.ask(&transcript.requests);
        assert_eq!(text(&answers), text(&transcript.answers), "{}", transcript.name);
    }
}

/// Numbers of values are told and compared only where a request has chosen them.
#[test]
fn the_real_memcached_answers_whatever_comes_as_this_server_does() {
    if Real::start().is_none() {
        return;
    }
    let config = Config { failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&support::requests::requests(), |requests| {
        let mut last = Ok(());
        // A second may end between a command and the next one: lifetimes and idle times then differ, once.
        for _ in 0..3 {
            let real = Real::start().expect("it was there");
            let (ours, theirs) = (Server::new().cut(&requests, 16 << 10), real.ask(&requests));
            if ours == theirs {
                return Ok(());
            }
            last = Err(TestCaseError::fail(format!(
                "{:?}\n  here {:?}\n  real {:?}",
                text(&requests),
                text(&ours),
                text(&theirs)
            )));
        }
        last
    });
    if let Err(TestError::Fail(reason, _)) = run {
        panic!("a connection is answered otherwise: {reason}");
    }
}
