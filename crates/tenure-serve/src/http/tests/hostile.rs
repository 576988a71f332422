//! Requests in pieces, many at once, or malformed.

use super::*;

/// Requests of all kinds; the last one ends the connection.
const REQUESTS: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n\
     HEAD /sub/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n\
     \r\nGET /none HTTP/1.1\nHost: x\n\n\
     GET /a%20b.txt HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n\
     GET /large HTTP/1.1\r\nHost: x\r\n\r\n\
     DELETE / HTTP/1.1\r\nHost: x\r\n\r\n\
     GET /fixed HTTP/1.1\r\nHost: x\r\n\r\n\
     GET /../secret HTTP/1.1\r\nHost: x\r\n\r\n\
     GET /sub HTTP/1.0\r\nConnection: close\r\n\r\n";

fn site_with_large() -> (TempDir, Arc<Site>) {
    let (directory, site) = site();
    fs::write(directory.path().join("root/large"), "0123456789".repeat(30_000)).unwrap();
    (directory, site)
}

#[test]
fn requests_are_answered_alike_however_they_are_cut() {
    let (_directory, site) = site_with_large();
    let whole = Client::of(&site).ask(REQUESTS);
    assert_eq!(whole.matches("HTTP/1.1 ").count(), 9);
    for cut in 0..=REQUESTS.len() {
        let mut client = Client::of(&site);
        client.receive(&REQUESTS.as_bytes()[..cut]);
        client.receive(&REQUESTS.as_bytes()[cut..]);
        assert!(client.answers() == whole, "cut at {cut}");
        assert_eq!(client.connection.next, Next::End);
    }
    let mut client = Client::of(&site);
    for byte in REQUESTS.bytes() {
        client.receive(&[byte]);
    }
    assert!(client.answers() == whole, "byte by byte");
}

#[test]
fn a_client_that_asks_faster_than_it_reads_waits() {
    let (_directory, site) = site();
    let mut client = Client::of(&site);
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let requests = request.repeat(500);
    let progress = client.handle(requests.as_bytes());
    assert_eq!(progress.next, Next::Room);
    assert!(progress.consumed < requests.len() && progress.consumed.is_multiple_of(request.len()));
    assert!(client.connection.output.is_full() && client.connection.output.pending() < 64 << 10);
    assert_eq!(Client::of(&site).ask(&requests).matches(PAGE).count(), 500);
}

#[test]
fn a_connection_that_ends_in_the_middle_leaves_nothing_behind() {
    let (_directory, site) = site_with_large();
    for cut in 0..REQUESTS.len() {
        let mut client = Client::of(&site);
        let _ = client.handle(&REQUESTS.as_bytes()[..cut]);
        client.http.close(client.connection.session);
        drop((client.http, client.connection.output));
        assert_eq!(site.statistics().files, 0);
    }
}

#[test]
fn no_spelling_of_a_way_out_of_the_root_leads_out() {
    let (_directory, site) = site();
    let ups = r"..|%2e%2e|.%2E|%2e.|..%2f|..%2f..|%2e%2e%2f|..\|..%5c|.../..|..;|%c0%ae%c0%ae";
    for up in ups.split('|') {
        for prefix in ["", "sub/", "sub//", "./", "sub/./", "/", "%2f"] {
            let target = format!("/{prefix}{up}/secret");
            let answer =
                Client::of(&site).ask(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
            let refused =
                ["HTTP/1.1 400 ", "HTTP/1.1 404 "].iter().any(|line| answer.starts_with(line));
            assert!(refused, "{target}: {answer}");
        }
    }
}

fn like_a_request() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "GET ", "HEAD ", "POST ", "/", "/large", "/sub", "/a%20b.txt", "/fixed", "..", "%2e", "http://", "?", "#", " ",
            "HTTP/1.1\r\n", "HTTP/1.0\r\n", "HTTP/1.2\r\n", " HTTP/1.", " HTTP/3\r\n", " http/1.1\r\n", " HTTP/1.1\r\nHost: x\r\n", "\r\n", "\r\n\r\n", "\n", "\0",
            "Connection: close\r\n", "Connection: keep-alive\r\n", "Content-Length: 3\r\n", "Expect: 100-continue\r\n",
            "Transfer-Encoding: chunked\r\n", "Range: bytes=1-2\r\n", "Range: bytes=-\r\n", "If-None-Match: *\r\n",
            "If-Match: \"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Host: ", ": ", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..20_000_usize).prop_map(|(byte, len)| vec![byte; len]),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_answered_alike_in_pieces_and_never_send_the_secret(
        bytes in like_a_request(),
        cuts in prop::collection::vec(1..2000_usize, 0..8),
    ) {
        let (_directory, site) = site_with_large();
        let mut whole = Client::of(&site);
        whole.receive(&bytes);
        let mut pieces = Client::of(&site);
        let mut rest = &bytes[..];
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.receive(piece);
            rest = after;
        }
        pieces.receive(rest);
        let ends = |client: &Client| matches!(client.connection.next, Next::End | Next::Linger);
        prop_assert_eq!(ends(&whole), ends(&pieces));
        let (whole, pieces) = (whole.answers(), pieces.answers());
        prop_assert!(!whole.contains("secret"));
        prop_assert_eq!(whole, pieces);
    }
}
