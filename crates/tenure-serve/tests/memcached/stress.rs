use proptest::prelude::*;
use tenure::count::RefCount;
use tenure::registry::RegistryCount;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::Handler;
use tenure_serve::memcached::{Cache, Config, CountKind, LineKind, Visitor, with_cell};
use tenure_serve::script::{self, Connection};

use crate::requests::requests;
use crate::support::{Server, text};

const KEYS: u64 = 8;
const THREADS: usize = 4;
const ROUNDS: u64 = 3000;

/// Its key, its writer, and when.
fn token(key: u64, thread: u64, round: u64) -> String {
    format!("[{key} {thread} {round:>5} {}]", "x".repeat((round % 60) as usize))
}

/// Every value of a key is tokens of that key, none of them cut.
fn check(answers: &str, key: u64) {
    for (at, _) in answers.match_indices('[') {
        let end = at + answers[at..].find(']').expect("a whole token");
        let mut words = answers[at + 1..end].split_whitespace();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let written = (number(), number(), number());
        assert!(
            written.0 == key && written.1 < THREADS as u64 && written.2 < ROUNDS,
            "{written:?}"
        );
        assert_eq!(answers[at..=end], token(written.0, written.1, written.2));
    }
}

struct Stress;

impl Visitor for Stress {
    type Result = ();

    fn visit<C: RefCount + 'static, P: RegistryCount>(self, cache: Cache<C, P>) {
        let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
        script::in_threads(THREADS, |thread| {
            let mut handler = cache.handler();
            let thread = thread as u64;
            let mut seed = thread + 1;
            for round in 0..ROUNDS {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = (seed >> 40) % KEYS;
                let value = token(key, thread, round);
                let len = value.len();
                let request = match (seed >> 33) % 16 {
                    0 | 1 => format!("set k{key} 0 0 {len}\r\n{value}\r\n"),
                    2 => format!("append k{key} 0 0 {len}\r\n{value}\r\n"),
                    3 => format!("delete k{key}\r\n"),
                    4 => format!("mg k{key} N100 v\r\n"),
                    5 => format!("md k{key} I\r\nmg k{key} v\r\n"),
                    6 => format!("gat 1000 k{key}\r\nincr k{key} 1\r\n"),
                    7 if round % 500 == 0 => "flush_all\r\n".to_owned(),
                    _ => format!("get k{key}\r\ngets k{key}\r\n"),
                };
                let pieces = (1..).map(|at| at * 20).take_while(|at| *at < request.len());
                let answers = script::answers(&mut handler, &buffers, request.as_bytes(), pieces);
                check(&text(&answers), key);
            }
            (handler, ())
        });
        let (current, alive) = cache.items();
        assert_eq!(current, alive, "unlinked items have no references left");
        assert!(current <= KEYS && cache.peers() == 0);
    }
}

#[test]
fn with_every_cell_threads_read_what_was_written_and_leave_nothing() {
    for (count, _) in CountKind::ALL {
        for (line, _) in LineKind::ALL {
            let mut config = Config::default();
            (config.count, config.line) = (count, line);
            with_cell(&config, Stress);
        }
    }
}

struct Evicting;

impl Visitor for Evicting {
    type Result = ();

    fn visit<C: RefCount + 'static, P: RegistryCount>(self, cache: Cache<C, P>) {
        let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
        let script: Vec<u8> = (0..2000)
            .flat_map(|number| {
                let len = number * 7 % 3000;
                let data = "x".repeat(len);
                format!("set k{number} 0 0 {len}\r\n{data}\r\nget k{}\r\n", number / 2).into_bytes()
            })
            .collect();
        script::play(|| cache.handler(), &buffers, &script, 16 << 10, 3, 3).unwrap();
        assert!(cache.used() <= 1 << 20, "{} bytes", cache.used());
        let (current, alive) = cache.items();
        assert!(current == alive && current > 100, "{current} of {alive}");
    }
}

#[test]
fn threads_that_store_more_than_fits_stay_within_the_limit() {
    let mut config = Config::default();
    config.memory = 1 << 20;
    with_cell(&config, Evicting);
}

fn feed(bytes: &[u8], buffer: usize) {
    let mut server = Server::new();
    let mut connection = Connection::open(&mut server.handler, &server.buffers, buffer);
    connection.receive(&mut server.handler, bytes);
    server.handler.close(connection.session);
    assert_eq!(server.cache.peers(), 0);
}

fn word() -> impl Strategy<Value = String> {
    let known = prop::sample::select("get gets gat set ms mg ma".split(' ').collect::<Vec<_>>());
    let space = prop::sample::select(vec!["\r\n", " ", "\n"]);
    prop_oneof![
        7 => known.prop_map(str::to_owned),
        1 => "[a-z0-9 ]{0,20}",
        3 => space.prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_the_handler_panic_or_stop(
        bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        buffer in 2100..5000_usize,
    ) {
        feed(&bytes, buffer);
    }

    #[test]
    fn no_text_makes_the_handler_panic_or_stop(
        words in proptest::collection::vec(word(), 0..500),
        buffer in 2100..5000_usize,
    ) {
        feed(words.join(" ").as_bytes(), buffer);
    }

    #[test]
    fn requests_are_answered_the_same_however_they_are_cut(
        requests in requests(),
        mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut ends: Vec<usize> = cuts.drain(..).map(|cut| cut.index(requests.len())).collect();
        ends.sort_unstable();
        let whole = Server::new().cut(&requests, 16 << 10);
        let cut = Server::new().cut_at(&requests, ends.iter().copied());
        prop_assert_eq!(text(&whole), text(&cut));
    }
}
