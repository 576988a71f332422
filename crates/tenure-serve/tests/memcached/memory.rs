//! How much memory the cache takes, and what it does without: each test in its own process.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::{Server, text};

/// Set in a process with one test.
const ALONE: &str = "TENURE_TEST_ALONE";

/// Runs a test in its own process. `true` there, `false` here once it has succeeded.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let this = std::env::current_exe().unwrap();
    let output =
        Command::new(this).args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = text(&[output.stdout, output.stderr].concat());
    assert!(output.status.success(), "{}: {said}", output.status);
    print!("{said}");
    false
}

/// Bytes of this process: all, and those in memory.
fn bytes() -> (u64, u64) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let mut words = pages.split_whitespace().map(|word| word.parse::<u64>().unwrap());
    let mut next = || words.next().unwrap() * rustix::param::page_size() as u64;
    (next(), next())
}

#[test]
fn resident_memory_is_at_most_three_tenths_above_the_limit_however_sizes_shift() {
    const LIMIT: u64 = 48 << 20;
    if !is_alone(
        "memory::resident_memory_is_at_most_three_tenths_above_the_limit_however_sizes_shift",
    ) {
        return;
    }
    let mut server = Server::with_memory(LIMIT);
    let value = "x".repeat(1 << 20);
    // Allocated before the first measure: these bytes are the test's.
    let mut requests = "x".repeat(2 << 20);
    let (_, before) = bytes();
    let mut random = fastrand::Rng::with_seed(7);
    let mut key = 0;
    for (second, size) in
        (1..).zip([50, 1_000_000, 200, 60_000, 3000, 500_000, 700, 20_000, 120, 9000, 1_000_000])
    {
        let mut left = LIMIT + LIMIT / 4;
        let mut hot = Vec::new();
        let (mut most, mut stats) = (0, String::new());
        while left > 0 {
            requests.clear();
            while requests.len() < 100_000 {
                let len = random.usize(size * 4 / 5..size * 21 / 20);
                requests += &format!("set k{key} 0 0 {len} noreply\r\n{}\r\n", &value[..len]);
                // Some are used and stay, while all around them go.
                if key % 16 == 0 {
                    hot.push(key);
                }
                key += 1;
                left = left.saturating_sub(len as u64 + 250);
            }
            for _ in 0..20.min(hot.len()) {
                requests += &format!("mg k{}\r\n", hot[random.usize(..hot.len())]);
            }
            server.ask(&requests);
            if bytes().1 - before > most {
                most = bytes().1 - before;
                stats = server.ask("stats\r\n");
            }
        }
        let arena: Vec<&str> =
            stats.lines().filter(|line| line.contains("arena") || line.contains("items")).collect();
        println!("{size}: {} KiB; {arena:?}", most >> 10);
        assert!(most * 10 <= LIMIT * 13, "values of {size} bytes: {most} bytes");
        server.tick(second);
    }
}

#[test]
fn without_memory_for_its_limit_the_cache_stores_what_there_is_memory_for() {
    if !is_alone("memory::without_memory_for_its_limit_the_cache_stores_what_there_is_memory_for") {
        return;
    }
    let mut server = Server::with_memory(1 << 30);
    let value = "x".repeat(200_000);
    let mut random = fastrand::Rng::with_seed(7);
    let most = bytes().0 + (100 << 20);
    let limit = Rlimit { current: Some(most), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).unwrap();
    let (mut stored, mut refused) = (0, 0);
    for key in 0..20_000 {
        let len = random.usize(20..200) * 10_usize.pow(random.u32(0..4));
        match server.ask(format!("set k{key} 0 0 {len}\r\n{}\r\n", &value[..len])).as_str() {
            "STORED\r\n" => stored += 1,
            "SERVER_ERROR out of memory storing object\r\n" => refused += 1,
            other => panic!("{other}"),
        }
        if key % 2000 == 0 {
            server.tick(1 + key / 2000);
        }
    }
    println!("{stored} stored, {refused} refused, {} bytes in use", server.cache.used());
    assert!(refused * 100 < stored, "{refused} refused, {stored} stored");
    assert!(server.cache.used() > 20 << 20, "{} bytes in use", server.cache.used());
    assert_eq!(
        server.ask("set new 0 0 1\r\nx\r\nget new\r\n"),
        "STORED\r\nVALUE new 0 1\r\nx\r\nEND\r\n"
    );
}
