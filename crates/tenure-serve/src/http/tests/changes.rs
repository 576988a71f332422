//! Files that change, shrink or go while they are served, links, and large files.

use std::os::unix::fs::symlink;

use super::*;

fn body(client: &mut Client, name: &str) -> (String, String) {
    let answer = client.ask(&format!("GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].to_owned(), body.to_owned())
}

fn ok(body: &str) -> (String, String) {
    ("200".to_owned(), body.to_owned())
}

#[test]
fn a_change_is_seen_after_a_second_and_a_file_that_went_is_gone() {
    let (directory, site) = site();
    let file = directory.path().join("root/file");
    let mut client = Client::of(&site);
    assert_eq!(body(&mut client, "file").0, "404");
    fs::write(&file, "first").unwrap();
    assert_eq!(body(&mut client, "file"), ok("first"), "that there was none is not remembered");
    fs::write(&file, "second one").unwrap();
    assert_eq!(body(&mut client, "file"), ok("first"));
    client.second();
    assert_eq!(body(&mut client, "file"), ok("second one"));
    fs::write(directory.path().join("new"), "the third").unwrap();
    fs::rename(directory.path().join("new"), &file).unwrap();
    client.second();
    assert_eq!(body(&mut client, "file"), ok("the third"));
    fs::remove_file(&file).unwrap();
    client.second();
    assert_eq!(body(&mut client, "file").0, "404");
    fs::create_dir(&file).unwrap();
    assert_eq!(body(&mut client, "file").0, "301");
}

#[test]
fn workers_share_one_object_for_each_version_and_it_goes_with_the_last_that_has_it() {
    let (directory, site) = site();
    let mut clients = [Client::of(&site), Client::of(&site)];
    let entries = |clients: &mut [Client]| {
        let find = |client: &mut Client| {
            client.http.cache.find(&site.root, b"index.html", client.http.now).unwrap()
        };
        clients.iter_mut().map(find).collect::<Vec<_>>()
    };
    let before = entries(&mut clients);
    assert!(std::ptr::eq(&*before[0], &*before[1]));
    fs::write(directory.path().join("root/index.html"), "another").unwrap();
    clients[0].second();
    let after = entries(&mut clients);
    assert!(std::ptr::eq(&*before[0], &*after[1]) && !std::ptr::eq(&*before[0], &*after[0]));
    drop((before, after));
    for client in &mut clients {
        client.http.now += Duration::from_secs(60);
        let now = client.http.now;
        client.http.cache.sweep(now);
    }
    assert_eq!(site.statistics().files, 0);
}

#[test]
fn a_cache_that_is_full_drops_what_was_not_asked_for() {
    let (directory, _) = site();
    let root = directory.path().join("root");
    for at in 0..10 {
        fs::write(root.join(format!("file{at}")), vec![b'a' + at; 100]).unwrap();
    }
    let limits = Limits { cached_files: 4, cached_bytes: 350, ..Limits::default() };
    let site = Arc::new(Site::new(&Config { limits, ..config(&root) }).unwrap());
    let mut client = Client::of(&site);
    for round in 0..30_u8 {
        let at = round * 7 % 10;
        let expected = String::from_utf8(vec![b'a' + at; 100]).unwrap();
        assert_eq!(body(&mut client, &format!("file{at}")), ok(&expected));
        client.http.now += Duration::from_millis(10);
        assert!(site.statistics().files <= 3);
    }
    assert_eq!(body(&mut client, "index.html"), ok(PAGE));
}

#[test]
fn links_are_followed_within_the_root_only() {
    let (directory, site) = site();
    let root = directory.path().join("root");
    symlink("index.html", root.join("within")).unwrap();
    symlink("sub", root.join("sublink")).unwrap();
    symlink("../secret", root.join("out")).unwrap();
    symlink(directory.path().join("secret"), root.join("absolute")).unwrap();
    symlink(root.join("index.html"), root.join("absolute-within")).unwrap();
    symlink(root.join("sub"), root.join("absolute-sub")).unwrap();
    symlink(&root, root.join("absolute-root")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let mut client = Client::of(&site);
    assert_eq!(body(&mut client, "within"), ok(PAGE));
    assert_eq!(body(&mut client, "sublink/"), ok("sub"));
    assert_eq!(body(&mut client, "absolute-within"), ok(PAGE));
    assert_eq!(body(&mut client, "absolute-sub/"), ok("sub"));
    assert_eq!(body(&mut client, "absolute-root/absolute-sub/index.html"), ok("sub"));
    for name in ["out", "absolute", "absolute-root/out", "up/secret", "up/", "up", "magic", "loop"]
    {
        assert_eq!(body(&mut client, name).0, "404", "{name}");
    }
}

#[test]
fn what_is_no_file_or_may_not_be_read_is_forbidden() {
    let (directory, site) = site();
    let pipe = directory.path().join("root/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert_eq!(body(&mut Client::of(&site), "pipe").0, "403");
}

#[test]
fn a_file_that_is_replaced_all_the_time_is_never_sent_as_a_mixture() {
    let (directory, site) = site();
    let (file, next) = (directory.path().join("root/file"), directory.path().join("next"));
    fs::write(&file, "a".repeat(50_000)).unwrap();
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let site = Arc::clone(&site);
            std::thread::spawn(move || {
                let mut client = Client::of(&site);
                let mut seen = [false; 26];
                for _ in 0..300 {
                    let (status, body) = body(&mut client, "file");
                    let first = body.as_bytes()[0];
                    assert_eq!(
                        (status.as_str(), body.len() % 1000),
                        ("200", usize::from(first - b'a'))
                    );
                    assert!(body.bytes().all(|byte| byte == first));
                    seen[usize::from(first - b'a')] = true;
                    client.second();
                }
                seen.into_iter().filter(|seen| *seen).count()
            })
        })
        .collect();
    let mut letters = (b'a'..=b'z').cycle();
    while !workers.iter().all(std::thread::JoinHandle::is_finished) {
        let letter = letters.next().unwrap_or_default();
        let len = 50_000 + usize::from(letter - b'a');
        fs::write(&next, vec![letter; len]).unwrap();
        fs::rename(&next, &file).unwrap();
    }
    for worker in workers {
        assert!(worker.join().unwrap() > 1, "changes are seen");
    }
    assert_eq!(site.statistics().files, 0);
}

/// Too large to be held in memory.
fn large(directory: &TempDir) -> Vec<u8> {
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|at| (at % 251) as u8).collect();
    fs::write(directory.path().join("root/large"), &bytes).unwrap();
    bytes
}

fn sent(client: &Client) -> &[u8] {
    let head = client.connection.sent.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    &client.connection.sent[head + 4..]
}

#[test]
fn a_large_file_is_sent_in_pieces_and_what_follows_it_after_it() {
    let (directory, site) = site();
    let bytes = large(&directory);
    let mut client = Client::of(&site);
    client.receive(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!(&sent(&client)[..bytes.len()], bytes);
    assert!(client.connection.sent.ends_with(PAGE.as_bytes()));
    assert_eq!(client.connection.next, Next::End);
    let mut client = Client::of(&site);
    client.receive(b"HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(sent(&client).is_empty());
}

#[test]
fn of_a_large_file_no_more_is_read_than_may_wait() {
    let (directory, site) = site();
    large(&directory);
    let mut client = Client::of(&site);
    let request = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
    let progress = client.handle(request);
    assert_eq!((progress.consumed, progress.next), (request.len(), Next::Room));
    let waits = client.connection.output.pending();
    assert!((256 << 10..512 << 10).contains(&waits), "{waits}");
    // Nothing more comes until some is sent.
    let again = client.handle(b"");
    assert_eq!((again.next, client.connection.output.pending()), (Next::Room, waits));
}

#[test]
fn a_large_file_that_is_cut_short_ends_its_answer_early() {
    let (directory, site) = site();
    let bytes = large(&directory);
    let mut client = Client::of(&site);
    let request = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
    let progress = client.handle(request);
    assert_eq!(progress.next, Next::Room);
    let file = fs::File::options().write(true).open(directory.path().join("root/large")).unwrap();
    file.set_len(300_000).unwrap();
    client.connection.sent = client.connection.output.to_vec();
    client.connection.output.advance(client.connection.sent.len());
    client.receive(b"");
    assert_eq!(client.connection.next, Next::End);
    assert_eq!(sent(&client), &bytes[..300_000]);
}

#[test]
fn a_large_file_that_is_replaced_or_deleted_is_sent_to_its_end() {
    let (directory, site) = site();
    let bytes = large(&directory);
    let mut client = Client::of(&site);
    let progress = client.handle(b"GET /large HTTP/1.0\r\n\r\n");
    assert_eq!(progress.next, Next::Room);
    fs::remove_file(directory.path().join("root/large")).unwrap();
    client.second();
    assert_eq!(body(&mut Client::of(&site), "large").0, "404");
    client.receive(b"");
    assert_eq!(sent(&client), bytes);
}

#[test]
fn a_held_file_that_is_cut_short_is_sent_as_it_was() {
    let (directory, site) = site();
    let mut client = Client::of(&site);
    let progress = client.handle(b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(progress.next, Next::End);
    fs::write(directory.path().join("root/index.html"), "").unwrap();
    assert!(client.connection.output.to_vec().ends_with(PAGE.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_range_is_that_part_of_the_file(first in 0..1_000_010_u64, len in 0..1_000_010_u64, held: bool) {
        let (directory, small) = site();
        let bytes = large(&directory);
        let root = directory.path().join("root");
        let limits = Limits { held: 2_000_000, ..Limits::default() };
        let site = if held { Arc::new(Site::new(&Config { limits, ..config(&root) }).unwrap()) } else { small };
        let last = first + len;
        let mut client = Client::of(&site);
        let request = format!("GET /large HTTP/1.1\r\nHost: x\r\nRange: bytes={first}-{last}\r\n\r\n");
        client.receive(request.as_bytes());
        let end = bytes.len().min(last as usize + 1);
        match bytes.get(first as usize..end).filter(|part| !part.is_empty()) {
            Some(part) => {
                prop_assert!(client.connection.sent.starts_with(b"HTTP/1.1 206 "));
                prop_assert!(sent(&client) == part);
            }
            None => prop_assert!(client.connection.sent.starts_with(b"HTTP/1.1 416 ")),
        }
    }
}
