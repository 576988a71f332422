use super::clients::{missing, output, run, text};
use super::server::{Protocol, Server};

/// For clients of libmemcached.
fn servers(server: &Server) -> String {
    format!("--servers={}", server.address)
}

#[test]
fn memccapable_finds_the_text_protocol_whole() {
    let server = Server::start(Protocol::Memcached, &[]);
    let port = server.address.port().to_string();
    let words = ["-h", "127.0.0.1", "-p", &port, "-a", "-t", "20"];
    // Debian's name; elsewhere it has one c less.
    let Some(report) = run("memccapable", &words) else { return };
    assert!(report.contains("All tests passed") && !report.contains("[FAIL]"), "{report}");
    server.wait_for_no_clients();
    server.stop();
}

#[test]
fn the_tools_of_libmemcached_store_find_and_remove() {
    let server = Server::start(Protocol::Memcached, &[]);
    let file = server.folder.path().join("thing");
    std::fs::write(&file, "hello\nworld").unwrap();
    let at = servers(&server);
    let Some(_) = run("memccp", &[&at, file.to_str().unwrap()]) else { return };
    assert_eq!(run("memccat", &[&at, "thing"]).unwrap(), "hello\nworld\n");
    run("memcexist", &[&at, "thing"]);
    run("memctouch", &[&at, "--expire=1000", "thing"]);
    run("memcping", &[&at]);
    let report = run("memcstat", &[&at]).unwrap();
    assert!(report.contains("curr_items: 1\n"), "{report}");
    run("memcrm", &[&at, "thing"]);
    let gone = output("memcexist", &[&at, "thing"]).unwrap();
    assert!(!gone.status.success(), "{}", text(&gone.stdout));
    run("memcflush", &[&at]);
    // memcexist tests a key by adding an item that has expired.
    server.talk(b"delete thing noreply\r\nquit\r\n");
    server.wait_for_no_clients();
    let left = server.figures();
    assert_eq!((left["curr_items"], left["bytes"]), (0, 0), "{left:?}");
    server.stop();
}

#[test]
fn memcslap_stores_and_gets_from_many_threads() {
    let server = Server::start(Protocol::Memcached, &[]);
    let at = servers(&server);
    for test in ["--test=set", "--test=get", "--test=mget"] {
        let words = [&at, "--concurrency=10", "--execute-number=300", "--flush", test];
        if run("memcslap", &words).is_none() {
            return;
        }
    }
    let stored = server.figures();
    assert!(stored["cmd_set"] >= 3000 && stored["get_hits"] >= 3000, "{stored:?}");
    server.wait_for_no_clients();
    server.stop();
}

/// The port is its argument.
const PYTHON: &str = r#"
import sys
from pymemcache.client.base import Client, PooledClient
from pymemcache.exceptions import MemcacheClientError

address = ("127.0.0.1", int(sys.argv[1]))
client = Client(address, timeout=20)
assert client.version() and client.get("a") is None
assert client.set("a", b"1", noreply=False) and client.get("a") == b"1"
assert not client.add("a", b"2", noreply=False) and client.add("b", b"2", noreply=False)
assert client.replace("b", b"3", noreply=False)
assert client.append("b", b"4", noreply=False) and client.prepend("b", b"2", noreply=False)
assert client.get_many(["a", "b", "none"]) == {"a": b"1", "b": b"234"}
value, cas = client.gets("a")
assert client.cas("a", b"9", cas, noreply=False) is True
assert client.cas("a", b"8", cas, noreply=False) is False
assert client.cas("none", b"8", cas, noreply=False) is None
assert client.incr("a", 5) == 14 and client.decr("a", 20) == 0
assert client.incr("none", 1) is None
assert client.touch("a", expire=1000, noreply=False) and client.get("a").strip() == b"0"
try:
    client.set("has blank", b"")
    raise SystemExit("a key with a blank was stored")
except MemcacheClientError:
    pass
assert client.set_many({f"key{at}": bytes([at]) * at * 100 for at in range(100)}) == []
assert client.get_many([f"key{at}" for at in range(100)])["key99"] == bytes([99]) * 9900
assert client.delete_many([f"key{at}" for at in range(100)], noreply=False)
large = bytes(range(256)) * 4000
assert client.set("large", large, noreply=False) and client.get("large") == large
stats = client.stats()
assert int(stats[b"curr_items"]) == 3, stats
for key in ("a", "b", "large"):
    assert client.delete(key, noreply=False)
client.quit()

pool = PooledClient(address, max_pool_size=4, timeout=20)
assert pool.set("a", b"1", noreply=False) and pool.get("a") == b"1" and pool.flush_all(noreply=False)
assert pool.get("a") is None
pool.close()
print("done")
"#;

#[test]
fn pymemcache_is_content() {
    let found = output("python3", &["-c", "import pymemcache"]);
    if !found.is_some_and(|found| found.status.success()) {
        return missing("pymemcache, a module of Python,").unwrap_or_default();
    }
    let server = Server::start(Protocol::Memcached, &[]);
    let port = server.address.port().to_string();
    assert_eq!(run("python3", &["-c", PYTHON, &port]).unwrap(), "done\n");
    server.wait_for_no_clients();
    server.stop();
}
