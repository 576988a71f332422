//! Options of the server.

use std::time::{Duration, Instant};

use tenure_serve::handler::{Handler, Next};
use tenure_serve::memcached::Passwords;
use tenure_serve::script;

use crate::support::{Client, Server, text};

fn server_with_passwords(lines: &str) -> (Server, Passwords, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines).unwrap();
    let passwords = Passwords::open(file.path()).unwrap();
    (Server::with(|config| config.passwords = Some(passwords.clone())), passwords, file)
}

#[test]
fn passwords_are_counted() {
    let (mut server, ..) = server_with_passwords("ann:one\n");
    let login = "set x 0 0 7\r\nann one\r\n";
    server.ask(format!("{}{login}", login.replace("one", "two")));
    let stats = server.ask(format!("{login}stats\r\nstats settings\r\n"));
    assert!(stats.contains("STAT auth_cmds 3\r\nSTAT auth_errors 1\r\n"), "{stats}");
    assert!(!stats.contains("STAT auth_enabled_ascii no\r\n"));
}

#[test]
fn a_password_that_never_ends_and_lines_that_are_none_end_the_connection() {
    let (mut server, ..) = server_with_passwords("ann:one\n");
    assert_eq!(server.ask("quit\r\nget key\r\n"), "");
    let long = format!("{}\r\nget key\r\n", "x".repeat(10_000));
    assert_eq!(text(&server.cut(long.as_bytes(), 1000)), "");
    let long = server.ask("set x 0 0 7\r\nann one!!\r\nget key\r\n");
    assert_eq!(long, "CLIENT_ERROR bad command line termination\r\n");
    let half = b"set x 0 0 7\r\nann";
    assert_eq!(text(&server.cut(half, 3)), "");
    assert_eq!(server.cache.peers(), 0);
}

#[test]
fn a_file_of_passwords_that_is_read_again_counts_for_new_connections() {
    let (mut server, passwords, file) = server_with_passwords("ann:one\n");
    let login = b"set x 0 0 7\r\nann one\r\n";
    let mut client = Client::new(&mut server);
    let _ = client.handle(&mut server, login);
    std::fs::write(file.path(), "ann:two\n").unwrap();
    passwords.reload().unwrap();
    assert_eq!(text(&server.cut(login, 99)), "CLIENT_ERROR authentication failure\r\n");
    assert_eq!(client.ask(&mut server, "mn\r\n"), "STORED\r\nMN\r\n");
    client.close(&mut server);
}

#[test]
fn a_connection_gives_way_after_its_number_of_requests() {
    let mut server = Server::with(|config| config.requests_per_turn = 2);
    let mut client = Client::new(&mut server);
    let requests = b"set a 0 0 1\r\nx\r\nget a a a\r\nmn\r\nget a\r\nmn\r\n";
    let mut at = 0;
    for (consumed, next) in [(27, Next::Turn), (11, Next::Turn), (4, Next::Input)] {
        let progress = client.handle(&mut server, &requests[at..]);
        assert_eq!((progress.consumed, progress.next), (consumed, next));
        at += consumed;
    }
    client.close(&mut server);
    // All are answered, and the same way.
    let mut other = Server::new();
    assert_eq!(server.cut(requests, 99), other.cut(requests, 99));
    assert!(server.ask("stats settings\r\n").contains("STAT reqs_per_event 2\r\n"));
}

#[test]
fn items_are_listed_by_size_class() {
    let mut server = Server::new();
    server.ask("set a 0 0 0\r\n\r\n");
    server.set("big", 66_560);
    assert!(server.ask("me big\r\n").contains(" cls=31 "));
    server.set("a", 66_560);
    let list = |server: &mut Server, classes: &str| {
        server.ask(format!("lru_crawler metadump {classes}\r\n")).lines().count() - 2
    };
    assert_eq!(["1", "31", "1,31", "all"].map(|classes| list(&mut server, classes)), [0, 2, 2, 2]);
}

#[test]
fn the_figures_of_classes_add_up_to_those_of_all_items() {
    let mut server = Server::with_memory(1 << 20);
    for number in 0..3000_usize {
        let (len, expiry) = (number * 7 % 3000, number % 3 * 5);
        let value = "x".repeat(len);
        server.ask(format!("set k{} 0 {expiry} {len}\r\n{value}\r\n", number * 31 % 900));
        server.ask(format!("delete k{}\r\nincr k{0} 1\r\n", number % 50));
    }
    server.tick(30);
    server.ask("set k 0 0 1\r\nx\r\n");
    let total = |server: &mut Server, name: &str| -> u64 {
        let items = server.stats("items");
        let of_class = items.iter().filter(|(line, _)| line.ends_with(&format!(":{name}")));
        of_class.map(|(_, value)| value.parse::<u64>().unwrap()).sum()
    };
    assert_eq!(total(&mut server, "number"), server.stat("curr_items"));
    for name in ["evicted_unfetched", "reclaimed", "expired_unfetched", "crawler_reclaimed"] {
        assert!(server.stat(name) > 0, "{name}");
        assert_eq!(total(&mut server, name), server.stat(name), "{name}");
    }
    assert_eq!(total(&mut server, "evicted"), server.stat("evictions"));
    server.ask("stats reset\r\n");
    assert_eq!(total(&mut server, "evicted") + total(&mut server, "reclaimed"), 0);
    assert_eq!(total(&mut server, "number"), server.stat("curr_items"));
    // Another thread deletes all, and ends.
    let mut other = server.cache.handler();
    other.tick(Instant::now() + Duration::from_secs(40));
    let all: String = (0..900).map(|key| format!("delete k{key} noreply\r\n")).collect();
    let answers =
        script::answers(&mut other, &server.buffers, format!("{all}delete k\r\n").as_bytes(), []);
    assert_eq!(text(&answers), "DELETED\r\n");
    drop(other);
    assert_eq!((total(&mut server, "number"), total(&mut server, "mem_requested")), (0, 0));
}

#[test]
fn without_the_crawler_expired_items_stay_until_a_client_starts_a_crawl() {
    let mut server = Server::with(|config| config.crawl = false);
    for key in 0..100 {
        server.ask(format!("set k{key} 0 {} 1\r\nx\r\n", key % 2 * 2));
    }
    let mut second = 0;
    let mut wait = |server: &mut Server| {
        second += 5;
        server.tick(second);
    };
    (0..3).for_each(|_| wait(&mut server));
    assert_eq!(server.cache.items(), (100, 100));
    let disabled = "CLIENT_ERROR lru crawler disabled\r\n";
    assert_eq!(server.ask("lru_crawler crawl all\r\n"), disabled);
    assert!(server.ask("stats settings\r\n").contains("STAT lru_crawler no\r\n"));
    assert_eq!(server.ask("lru_crawler enable\r\n"), "OK\r\n");
    assert!(server.ask("stats settings\r\n").contains("STAT lru_crawler yes\r\n"));
    let crawl = "lru_crawler crawl 1,2\r\n";
    // An automatic one is under way.
    server.tick_at(Duration::from_millis(15_002));
    assert_eq!(server.stat("lru_crawler_running"), 1);
    assert_eq!(server.ask("lru_crawler crawl 0\r\n"), "BADCLASS invalid class id\r\n");
    assert_eq!(server.ask(crawl), "OK\r\n");
    assert_eq!(server.ask(crawl), "BUSY currently processing crawler request\r\n");
    assert_eq!(server.stat("lru_crawler_running"), 1);
    wait(&mut server);
    assert_eq!(server.stat("lru_crawler_running"), 0);
    assert_eq!((server.cache.items(), server.stat("crawler_reclaimed")), ((50, 50), 50));
    assert_eq!(server.ask("lru_crawler disable\r\n"), "OK\r\n");
    assert_eq!(server.ask(crawl), disabled);
}

#[test]
fn a_list_of_items_is_the_only_answer_under_way() {
    let mut server = Server::new();
    let error = "ERROR cannot pipeline other commands before metadump\r\n";
    assert_eq!(server.ask("mn\r\nlru_crawler metadump all\r\n"), format!("MN\r\n{error}"));
    assert_eq!(server.ask("lru_crawler metadump all\r\nmn\r\n"), "OK\r\nEND\r\nMN\r\n");
}

#[test]
fn a_watcher_sees_what_others_do_and_only_the_kinds_it_asked_for() {
    let mut server = Server::new();
    let mut all = Client::new(&mut server);
    assert_eq!(all.ask(&mut server, "watch mutations fetchers deletions\r\n"), "OK\r\n");
    let mut gets = Client::new(&mut server);
    assert_eq!(gets.ask(&mut server, "watch\r\n"), "OK\r\n");
    assert_eq!(server.stat("log_watchers"), 2);
    server.ask(
        "set a\x01 0 100 1\r\nx\r\nget a\x01 b\r\nadd a\x01 0 0 1\r\ny\r\nmd a\x01 I\r\nmd a\x01\r\nmd a\x01\r\n\
         mg b\r\ndelete b\r\nset c 0 0 2 noreply\r\nxx\r\nmg c v\r\ndelete c\r\n",
    );
    let news = all.news(&mut server);
    let expected = [
        "type=item_get key=a%01 status=not_found clsid=0",
        "type=item_store key=a%01 status=stored cmd=set ttl=100 clsid=1",
        "type=item_get key=a%01 status=found clsid=1",
        "type=item_get key=b status=not_found clsid=0",
        "type=item_get key=a%01 status=found clsid=1",
        "type=item_store key=a%01 status=not_stored cmd=add ttl=0 clsid=1",
        "type=deleted key=a%01 cmd=md clsid=1 size=1",
        "type=item_get key=b status=not_found clsid=0",
        "type=item_get key=c status=not_found clsid=0",
        "type=item_store key=c status=stored cmd=set ttl=0 clsid=1",
        "type=item_get key=c status=found clsid=1",
        "type=deleted key=c cmd=delete clsid=1 size=2",
    ];
    assert_eq!(news, expected);
    let of_gets: Vec<_> =
        expected.into_iter().filter(|line| line.starts_with("type=item_get")).collect();
    assert_eq!(gets.news(&mut server), of_gets);
    // A watcher's input is dropped, and its lines are sent once.
    assert_eq!(gets.ask(&mut server, "get a\r\nflush_all\r\n"), "");
    assert!(all.news(&mut server).is_empty());
    for client in [all, gets] {
        client.close(&mut server);
    }
    assert_eq!(server.stat("log_watchers"), 0);
}

#[test]
fn watchers_see_evictions_and_connections() {
    let mut server = Server::with_memory(1 << 20);
    let mut watcher = Client::new(&mut server);
    watcher.ask(&mut server, "watch evictions connevents\r\n");
    server.fill(0..12, 100_000);
    server.ask("GET / HTTP/1.1\r\n");
    let news = watcher.news(&mut server);
    let new = "type=conn_new rip=127.0.0.1 transport=tcp";
    let end = |reason| format!("type=conn_close rip=127.0.0.1 transport=tcp reason={reason}");
    assert_eq!(news[..2], [new.to_owned(), end("normal")]);
    assert_eq!(news.last(), Some(&end("error")));
    assert_eq!(news.iter().filter(|line| *line == new).count(), 13);
    let evictions = news
        .iter()
        .filter(|line| **line == "type=eviction key=k0 fetch=no ttl=-1 la=0 clsid=32 size=100000");
    assert_eq!(evictions.count(), 1, "{news:?}");
    watcher.close(&mut server);
}

#[test]
fn to_watch_is_refused_behind_other_requests() {
    let mut server = Server::new();
    let error = "ERROR cannot pipeline other commands before watch\r\n";
    assert_eq!(server.ask("mn\r\nwatch\r\nwatch everything\r\n"), format!("MN\r\n{error}{error}"));
}

#[test]
fn connections_are_listed_with_the_time_since_they_were_heard_of() {
    let mut server = Server::new();
    let (mut first, second) = (Client::new(&mut server), Client::new(&mut server));
    server.tick(7);
    let list = first.ask(&mut server, "stats conns\r\n");
    let (_, of_connections) = list.split_once(":requests 0\r\n").unwrap();
    assert_eq!(
        of_connections.replace("cmd 8", "cmd 7"),
        "STAT 1:addr tcp:127.0.0.1\r\nSTAT 1:secs_since_last_cmd 0\r\n\
         STAT 2:addr tcp:127.0.0.1\r\nSTAT 2:secs_since_last_cmd 7\r\nEND\r\n"
    );
    first.close(&mut server);
    second.close(&mut server);
    let left = server.ask("stats conns\r\n");
    assert!(!left.contains("STAT 2:") && left.contains("STAT 3:"), "{left}");
}
