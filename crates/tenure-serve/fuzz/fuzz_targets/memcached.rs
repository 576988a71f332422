//! Any bytes as a connection to the memcached server, in two cuts. The first byte says where the second one is.
//!
//! `cargo +nightly fuzz run memcached -- -dict=memcached.dict`, in this crate's folder.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tenure::count::TicketRef;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::memcached::{Cache, Config, script};

static BUFFERS: LazyLock<Buffers> =
    LazyLock::new(|| Buffers::new(PoolKind::Magazines, 16 << 10).expect("a pool"));

/// What an empty server answers. Afterwards nothing is left of the connection.
fn answers(requests: &[u8], piece: usize) -> Vec<u8> {
    let cache: Cache<TicketRef, TicketRef> = Cache::new(&Config::default());
    let ends = (1..).map(|at| at * piece).take_while(|at| *at < requests.len());
    let mut handler = cache.handler();
    let answers = script::answers(&mut handler, &BUFFERS, requests, ends).expect("a buffer");
    drop(handler);
    let (current, alive) = cache.items();
    assert_eq!(current, alive);
    assert_eq!(cache.peers(), 0);
    answers
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, requests)) = bytes.split_first() else {
        return;
    };
    let whole = answers(requests, requests.len().max(1));
    let cut = answers(requests, usize::from(*first) + 1);
    // Lines longer than the limit are taken as they come. What `stats` and `me` tell differs by itself.
    let long = requests.split(|byte| *byte == b'\n').any(|line| line.len() > 2000);
    let tells = |name: &[u8]| requests.windows(name.len()).any(|word| word == name);
    if !long && !tells(b"stats") {
        assert_eq!(whole, cut);
    }
});
