//! Every answer, word for word.

use super::super::files::Missing;
use super::super::status::Status;
use super::*;

fn get(target: &str, lines: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n")
}

const PAGE_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 13\r\n\
                         Accept-Ranges: bytes\r\n";

#[test]
fn a_file_is_sent_by_its_name_and_a_directory_by_its_page() {
    let (_directory, site) = site();
    let mut client = Client::of(&site);
    let page = format!("{PAGE_HEAD}\r\n{PAGE}");
    for target in
        ["/", "/index.html", "/?query", "//index.html", "/%69ndex.html", "http://x/", "HTTP://x"]
    {
        assert_eq!(client.ask(&get(target, "")), page, "{target}");
    }
    let sub = client.ask(&get("/sub/", ""));
    assert!(sub.starts_with("HTTP/1.1 200 OK\r\n") && sub.ends_with("\r\n\r\nsub"), "{sub}");
    assert_eq!(
        client.ask(&get("/a%20b.txt", "")),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\
         Accept-Ranges: bytes\r\n\r\nblank"
    );
    assert_eq!(
        client.ask(&get("/empty.css", "")),
        "HTTP/1.1 200 OK\r\nContent-Type: text/css; charset=utf-8\r\nContent-Length: 0\r\n\
         Accept-Ranges: bytes\r\n\r\n"
    );
    assert_eq!(client.connection.next, Next::Input);
}

#[test]
fn the_answer_of_a_fixed_size_and_the_statistics_hide_files() {
    let (directory, site) = site();
    fs::write(directory.path().join("root/fixed"), "a file").unwrap();
    let mut client = Client::of(&site);
    let fixed = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n\r\nxxxxxxxxxx";
    for target in ["/fixed", "/%66ixed"] {
        // It has no versions, so conditions say nothing about it.
        assert_eq!(client.ask(&get(target, "If-None-Match: *\r\nRange: bytes=1-2\r\n")), fixed);
    }
    assert_eq!(
        client.ask(&get("/stats", "")),
        "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nContent-Type: application/json\r\n\
         Cache-Control: no-store\r\n\r\n{\"answers\": 42}"
    );
}

#[test]
fn without_a_root_there_are_no_files_and_without_its_path_no_statistics() {
    let site = Arc::new(Site::new(&Config::default()).unwrap());
    let mut client = Client::of(&site);
    for target in ["/", "/stats", "/fixed", "/etc/passwd"] {
        assert!(client.ask(&get(target, "")).starts_with("HTTP/1.1 404 Not Found\r\n"), "{target}");
    }
}

#[test]
fn a_site_that_cannot_be_served_is_refused_in_a_line() {
    let (directory, _site) = site();
    let file = directory.path().join("secret");
    for (config, says) in [
        (
            Config { root: Some(file), ..Config::default() },
            "/secret: Not a directory (os error 20); give a directory",
        ),
        (Config { root: Some("/none".into()), ..Config::default() }, "No such file or directory"),
        (
            Config { stats: Some("stats".into()), ..Config::default() },
            "\"stats\" is not a path; give one such as /stats",
        ),
    ] {
        let error = Site::new(&config).unwrap_err();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_head_has_what_its_get_would_have_and_no_body() {
    let (_directory, site) = site();
    for target in ["/", "/sub/", "/sub", "/none", "/fixed", "/stats", "/..", "/empty.css"] {
        let got = Client::of(&site).ask(&get(target, ""));
        let head = Client::of(&site).ask(&get(target, "").replace("GET", "HEAD"));
        let (got_head, _) = got.split_once("\r\n\r\n").unwrap();
        assert_eq!(head, format!("{got_head}\r\n\r\n"), "{target}");
    }
}

#[test]
fn a_connection_ends_when_the_client_says_so_or_is_of_the_old_kind() {
    let (_directory, site) = site();
    let page = |line: &str| format!("{PAGE_HEAD}{line}\r\n{PAGE}");
    for (version, asked, line, next) in [
        ("1.1", "", "", Next::Input),
        ("1.1", "Connection: keep-alive\r\n", "", Next::Input),
        ("1.1", "Connection: close\r\n", "Connection: close\r\n", Next::End),
        ("1.1", "Connection: TE, Close\r\n", "Connection: close\r\n", Next::End),
        ("1.0", "", "Connection: close\r\n", Next::End),
        ("1.0", "Connection: keep-alive\r\n", "Connection: keep-alive\r\n", Next::Input),
        ("1.0", "Connection: keep-alive, close\r\n", "Connection: close\r\n", Next::End),
    ] {
        let host = if version == "1.1" { "Host: x\r\n" } else { "" };
        let request = format!("GET / HTTP/{version}\r\n{host}{asked}\r\n");
        let mut client = Client::of(&site);
        assert_eq!(client.ask(&request), page(line), "{request}");
        assert_eq!(client.connection.next, next, "{request}");
    }
    // A request behind it is not answered, and does not take the answer back.
    let mut client = Client::of(&site);
    let answer = client.ask("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!((answer, client.connection.next), (page("Connection: close\r\n"), Next::Linger));
}

fn refusal(status: &str, more: &str, ends: bool) -> String {
    let close = if ends { "Connection: close\r\n" } else { "" };
    let len = status.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {len}\r\nContent-Type: text/plain\r\n{more}{close}\r\n{status}\n"
    )
}

#[test]
fn what_is_not_there_or_not_done_is_refused_and_the_connection_stays() {
    let (_directory, site) = site();
    let allow = "Allow: GET, HEAD\r\n";
    for (request, status, more) in [
        (get("/none", ""), "404 Not Found", ""),
        (get("/sub/empty/", ""), "404 Not Found", ""),
        (get("/index.html/", ""), "404 Not Found", ""),
        (get(&format!("/{}", "a".repeat(5000)), ""), "404 Not Found", ""),
        (get("/../secret", ""), "400 Bad Request", ""),
        (get("/", "Expect: 200-ok\r\n"), "417 Expectation Failed", ""),
        (get("/", "If-Match: \"other\"\r\n"), "412 Precondition Failed", ""),
        (get("/", "").replace("GET", "POST"), "405 Method Not Allowed", allow),
        (get("*", "").replace("GET", "OPTIONS"), "405 Method Not Allowed", allow),
        (get("x:80", "").replace("GET", "CONNECT"), "405 Method Not Allowed", allow),
        (get("/", "").replace("GET", "get"), "501 Not Implemented", ""),
        (get("/", "").replace("GET", "BREW"), "501 Not Implemented", ""),
    ] {
        let mut client = Client::of(&site);
        assert_eq!(client.ask(&request), refusal(status, more, false), "{request}");
        assert_eq!(client.connection.next, Next::Input);
        assert!(client.ask(&get("/", "")).ends_with(PAGE));
    }
}

#[test]
fn a_request_whose_end_is_in_doubt_ends_the_connection() {
    let (_directory, site) = site();
    let many: String = (0..65).map(|at| format!("A{at}: b\r\n")).collect();
    for (request, status) in [
        ("GET /\r\n\r\n".to_owned(), "400 Bad Request"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n".into(), "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: x/y\r\n\r\n".into(), "400 Bad Request"),
        ("GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n".into(), "400 Bad Request"),
        (get("/", " folded: a\r\n"), "400 Bad Request"),
        (get("/", "a: b\r\n c\r\n"), "400 Bad Request"),
        (get("/", "a : b\r\n"), "400 Bad Request"),
        (get("/", "a\r\n"), "400 Bad Request"),
        (get("/", "a: \0\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: x\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: -1\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: +1\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: 1, 1\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: 99999999999999999999\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: 1\r\nContent-Length: 2\r\n"), "400 Bad Request"),
        (get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "400 Bad Request"),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(), "400 Bad Request"),
        (get("/", "Transfer-Encoding: gzip\r\n"), "400 Bad Request"),
        (get("/", "Transfer-Encoding: gzip, chunked\r\n"), "400 Bad Request"),
        (get("/", "Transfer-Encoding: xchunked\r\n"), "400 Bad Request"),
        (
            get("/", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            "400 Bad Request",
        ),
        (get("/", "").replace("HTTP", "http"), "400 Bad Request"),
        (get("/", "").replace("1.1", "1.10"), "400 Bad Request"),
        (get("/", "").replace("1.1", "1.x"), "400 Bad Request"),
        (get("/", "").replace("1.1", "3"), "505 HTTP Version Not Supported"),
        (get("/", "").replace("1.1", "2.0"), "505 HTTP Version Not Supported"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(), "505 HTTP Version Not Supported"),
        ("\u{16}\u{3}\u{1}\u{2}".into(), "400 Bad Request"),
        (get("/", &many), "431 Request Header Fields Too Large"),
        (
            get("/", &format!("a: {}\r\n", "b".repeat(20_000))),
            "431 Request Header Fields Too Large",
        ),
        (get(&format!("/{}", "a".repeat(20_000)), ""), "414 URI Too Long"),
    ] {
        let mut client = Client::of(&site);
        // What follows is not taken for a request.
        let answer = client.ask(&format!("{request}{}", get("/", "")));
        assert_eq!(
            (answer, client.connection.next),
            (refusal(status, "", true), Next::Linger),
            "{request}"
        );
    }
}

#[test]
fn a_head_that_is_refused_while_it_is_read_has_no_body() {
    let (_directory, site) = site();
    for lines in ["Content-Length: x\r\n", "Transfer-Encoding: gzip\r\n"] {
        let answer = Client::of(&site).ask(&get("/", lines).replacen("GET", "\r\nHEAD", 1));
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[test]
fn a_newer_minor_version_is_answered_as_http_1_1() {
    let (_directory, site) = site();
    for request in [get("/", ""), format!("\r\n{}", get("/", "a: b\r\n"))] {
        let request = request.replace("HTTP/1.1", "HTTP/1.2");
        for cut in 0..=request.len() {
            let mut client = Client::of(&site);
            client.receive(&request.as_bytes()[..cut]);
            client.receive(&request.as_bytes()[cut..]);
            assert_eq!(client.answers(), format!("{PAGE_HEAD}\r\n{PAGE}"), "cut at {cut}");
            assert_eq!(client.connection.next, Next::Input);
        }
    }
}

#[test]
fn a_request_with_a_body_is_answered_and_ends_the_connection() {
    let (_directory, site) = site();
    let page = format!("{PAGE_HEAD}Connection: close\r\n\r\n{PAGE}");
    let not_allowed = refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n", true);
    let smuggled = get("/secret", "");
    for (lines, body) in [
        ("Content-Length: 5\r\n", "hello"),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
        ("Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
        ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
        ("Transfer-Encoding: Chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
        ("Content-Length: 4000000000\r\n", smuggled.as_str()),
    ] {
        let request = get("/", lines) + body;
        let mut client = Client::of(&site);
        assert_eq!(
            (client.ask(&request), client.connection.next),
            (page.clone(), Next::Linger),
            "{request}"
        );
        let mut client = Client::of(&site);
        let post = request.replacen("GET", "POST", 1);
        assert_eq!(
            (client.ask(&post), client.connection.next),
            (not_allowed.clone(), Next::Linger),
            "{post}"
        );
    }
    let mut client = Client::of(&site);
    assert!(client.ask(&get("/", "Content-Length: 0\r\n")).ends_with(PAGE));
    assert_eq!(client.connection.next, Next::Input);
}

#[test]
fn a_directory_without_its_slash_is_elsewhere() {
    let (directory, site) = site();
    fs::create_dir(directory.path().join("root/a \"ö\r")).unwrap();
    for (target, location) in [
        ("/sub", "/sub/"),
        ("/sub?a=b&c", "/sub/?a=b&c"),
        ("//sub", "/sub/"),
        ("/./sub/empty", "/sub/empty/"),
        ("http://other/sub", "/sub/"),
        ("/a%20%22%c3%b6%0d", "/a%20%22%C3%B6%0D/"),
    ] {
        assert_eq!(
            Client::of(&site).ask(&get(target, "")),
            format!(
                "HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\nLocation: {location}\r\n\r\n"
            ),
        );
    }
}

fn value(client: &mut Client, name: &str) -> String {
    client.receive(get("/", "").as_bytes());
    let text = String::from_utf8(std::mem::take(&mut client.connection.sent)).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap().to_owned()
}

#[test]
fn a_version_that_the_client_has_is_not_sent_again() {
    let (_directory, site) = site();
    let mut client = Client::of(&site);
    let (tag, date) = (value(&mut client, "ETag"), value(&mut client, "Last-Modified"));
    let (past, future) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 06 Nov 2094 08:49:37 GMT");
    let not_modified = "HTTP/1.1 304 Not Modified\r\nAccept-Ranges: bytes\r\n\r\n";
    for lines in [
        format!("If-None-Match: {tag}\r\n"),
        format!("If-None-Match: W/{tag}\r\n"),
        format!("If-None-Match: \"a\", {tag}\r\n"),
        "If-None-Match: *\r\n".into(),
        format!("If-None-Match: {tag}\r\nIf-Modified-Since: {past}\r\n"),
        format!("If-Modified-Since: {date}\r\n"),
        format!("If-Modified-Since: {future}\r\n"),
        format!("If-Match: {tag}\r\nIf-None-Match: {tag}\r\nRange: bytes=0-0\r\n"),
        format!("If-None-Match: \"a\"\r\nIf-None-Match: {tag}\r\n"),
        format!("If-None-Match: {tag}\r\nIf-None-Match: \"a\", \"b\"\r\n"),
    ] {
        assert_eq!(client.ask(&get("/", &lines)), not_modified, "{lines}");
        assert_eq!(client.ask(&get("/", &lines).replace("GET", "HEAD")), not_modified, "{lines}");
    }
    for lines in [
        "If-None-Match: \"a\"\r\n".into(),
        format!("If-None-Match: \"a\"\r\nIf-Modified-Since: {future}\r\n"),
        format!("If-Modified-Since: {past}\r\n"),
        "If-Modified-Since: yesterday\r\n".into(),
        format!("If-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\nIf-Modified-Since: {future}\r\n"),
        format!("If-Match: {tag}\r\nIf-Match: {tag}\r\nIf-Unmodified-Since: {past}\r\n"),
        format!("If-Match: \"a\"\r\nIf-Match: {tag}\r\n"),
        format!("If-Match: {tag}\r\n"),
        "If-Match: *\r\n".into(),
        format!("If-Unmodified-Since: {date}\r\n"),
        "If-Unmodified-Since: yesterday\r\n".into(),
    ] {
        assert_eq!(client.ask(&get("/", &lines)), format!("{PAGE_HEAD}\r\n{PAGE}"), "{lines}");
    }
    for lines in [
        "If-Match: \"a\"\r\n".into(),
        "If-Match: \"a\"\r\nIf-Match: \"b\"\r\n".into(),
        format!("If-Match: W/{tag}\r\n"),
        format!("If-Unmodified-Since: {past}\r\n"),
        format!("If-Match: \"a\"\r\nIf-None-Match: {tag}\r\n"),
    ] {
        let answer = client.ask(&get("/", &lines));
        assert_eq!(answer, refusal("412 Precondition Failed", "", false), "{lines}");
    }
}

#[test]
fn a_range_is_sent_if_the_version_is_that_of_the_client() {
    let (_directory, site) = site();
    let mut client = Client::of(&site);
    let (tag, date) = (value(&mut client, "ETag"), value(&mut client, "Last-Modified"));
    let partial = "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\
                   Accept-Ranges: bytes\r\nContent-Range: bytes 3-7/13\r\n\r\nhello";
    for lines in ["", &format!("If-Range: {tag}\r\n"), &format!("If-Range: {date}\r\n")] {
        assert_eq!(
            client.ask(&get("/", &format!("Range: bytes=3-7\r\n{lines}"))),
            partial,
            "{lines}"
        );
    }
    for lines in [
        "Range: bytes=3-7\r\nIf-Range: \"a\"\r\n".into(),
        format!("Range: bytes=3-7\r\nIf-Range: W/{tag}\r\n"),
        "Range: bytes=3-7\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n".into(),
        "Range: bytes=3-7\r\nIf-Range: yesterday\r\n".into(),
        "Range: bytes=3-7\r\nIf-Range: \"a\"\r\nIf-Range: \"b\"\r\n".into(),
        "Range: bytes=3-7\r\nRange: bytes=3-7\r\n".into(),
        "Range: bytes=1-2,3-4\r\n".into(),
    ] {
        assert_eq!(client.ask(&get("/", &lines)), format!("{PAGE_HEAD}\r\n{PAGE}"), "{lines}");
    }
    assert_eq!(
        client.ask(&get("/", "Range: bytes=13-\r\n")),
        "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nContent-Range: bytes */13\r\n\r\n"
    );
    let head = get("/", "Range: bytes=3-7\r\n").replace("GET", "HEAD");
    assert_eq!(client.ask(&head), format!("{PAGE_HEAD}\r\n"));
}

#[test]
fn the_date_is_that_of_the_second() {
    let (_directory, site) = site();
    let mut client = Client::of(&site);
    let date = httpdate::parse_http_date(&value(&mut client, "Date")).unwrap();
    let age = std::time::SystemTime::now().duration_since(date).unwrap();
    assert!(age < Duration::from_secs(60), "{age:?}");
}

#[test]
fn what_the_system_cannot_do_now_may_be_asked_for_again() {
    use rustix::io::Errno;
    let (_directory, site) = site();
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN] {
        assert_eq!(Missing::from(errno), Missing::Busy);
    }
    assert_eq!(Missing::from(Errno::ACCESS), Missing::Refused(Status::FORBIDDEN));
    assert_eq!(Missing::from(Errno::IO), Missing::Refused(Status::SERVER_ERROR));
    let mut client = Client::of(&site);
    let ending = (Persistence::Keep, true);
    client.http.refuse(Status::UNAVAILABLE, ending, &mut client.connection.output);
    client.connection.sent = client.connection.output.to_vec();
    assert_eq!(client.answers(), refusal("503 Service Unavailable", "Retry-After: 1\r\n", false));
}
