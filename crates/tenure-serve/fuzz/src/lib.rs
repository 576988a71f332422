//! The fuzz targets: bytes as a connection, without a socket. `tests/memcached/fuzz.rs` runs them over the seeds.

use std::cell::RefCell;
use std::fs;
use std::process;

use tenure::count::TicketRef;
use tenure::sync::Arc;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::Handler;
use tenure_serve::http::{Config as HttpConfig, Fixed, Http, Limits, Site};
use tenure_serve::memcached::{Cache, Config};
use tenure_serve::script::Connection;

const SECRET: &str = "what nobody may see";

thread_local! {
    static HTTP: RefCell<Http> = RefCell::new(http());
}

fn http() -> Http {
    let directory = std::env::temp_dir().join(format!("tenure-fuzz-{}", process::id()));
    let root = directory.join("root");
    fs::create_dir_all(root.join("sub")).expect("a directory for the files");
    for (name, contents) in
        [("index.html", "<p>hello</p>"), ("sub/a", "a file"), ("large", &"0123456789".repeat(1000))]
    {
        fs::write(root.join(name), contents).expect("a file");
    }
    fs::write(directory.join("secret"), SECRET).expect("a file");
    let config = HttpConfig {
        root: Some(root),
        fixed: Some(Fixed { path: "/fixed".into(), bytes: 100 }),
        stats: Some("/stats".into()),
        limits: Limits { held: 5000, ..Limits::default() },
    };
    let site = Site::new(&config).expect("a directory");
    Http::new(Arc::new(site), || "{}".to_owned())
}

/// Requests at once, and in pieces as long as the first byte says, have the same answers, and none from outside the
/// root.
pub fn as_http(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    HTTP.with_borrow_mut(|http| {
        let whole = converse(http, [bytes].into_iter());
        let pieces = converse(http, bytes.chunks(usize::from(size).max(1)));
        assert_eq!(whole, pieces);
        let answers = String::from_utf8_lossy(&whole.answers);
        assert!(answers.is_empty() || answers.starts_with("HTTP/1.1 "));
        assert!(!answers.contains(SECRET));
    });
}

/// Asserts that nothing is left of the connection.
fn talk_to_cache<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Conversation {
    let cache: Cache<TicketRef, TicketRef> = Cache::new(&Config::default());
    let mut handler = cache.handler();
    let conversation = converse(&mut handler, pieces);
    drop(handler);
    let (current, alive) = cache.items();
    assert_eq!((current, cache.peers()), (alive, 0));
    conversation
}

/// As [`as_http`], for the cache.
pub fn as_memcached(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let whole = talk_to_cache([bytes].into_iter());
    let pieces = talk_to_cache(bytes.chunks(usize::from(size).max(1)));
    // An overlong line is one only while its end has not come, and `stats` differs each time.
    let long = bytes.split(|byte| *byte == b'\n').any(|line| line.len() > 2048);
    let tells = bytes.windows(5).any(|word| word == b"stats");
    assert!(long || tells || whole == pieces);
}

const BUFFER: usize = 16 << 10;

#[derive(Debug, PartialEq, Eq)]
struct Conversation {
    answers: Vec<u8>,
    ended: bool,
}

fn converse<'a, H: Handler>(
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
