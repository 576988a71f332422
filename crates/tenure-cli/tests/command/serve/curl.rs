use std::os::unix::fs::symlink;

use super::clients::{missing_where, output, run, text};
use super::server::{Protocol, Server};

#[track_caller]
fn curl(server: &Server, words: &[&str], name: &str) -> Option<(String, String)> {
    let url = server.url(name);
    let words = [&["-sS", "--path-as-is", "-w", "\n%{http_code}"], words, &[&url]].concat();
    let said = run("curl", &words)?;
    let (body, status) = said.rsplit_once('\n').unwrap();
    Some((status.to_owned(), body.to_owned()))
}

fn started() -> Server {
    let server = Server::start(Protocol::Http, &[]);
    server.file("index.html", "<p>hello</p>\n");
    server.file("large", vec![b'x'; 5_000_001]);
    server.file("a b", "blank");
    std::fs::create_dir(server.folder.path().join("root/sub")).unwrap();
    server.file("sub/index.html", "sub");
    std::fs::write(server.folder.path().join("secret"), "secret").unwrap();
    symlink("../secret", server.folder.path().join("root/link")).unwrap();
    server
}

#[test]
fn curl_gets_files_parts_of_them_and_refusals() {
    let server = started();
    for (words, name, status, body) in [
        (&[][..], "", "200", "<p>hello</p>\n"),
        (&["--http1.0"], "index.html", "200", "<p>hello</p>\n"),
        (&[], "a%20b", "200", "blank"),
        (&["-r", "3-7"], "", "206", "hello"),
        (&["-r", "-5"], "", "206", "</p>\n"),
        (&["-r", "100-"], "", "416", ""),
        (&["-z", "6 Nov 2037"], "", "304", ""),
        (&["-z", "6 Nov 1994"], "", "200", "<p>hello</p>\n"),
        (&["-H", "If-None-Match: *"], "", "304", ""),
        (&[], "sub", "301", ""),
        (&["-L"], "sub", "200", "sub"),
        (&[], "none", "404", "404 Not Found\n"),
        (&[], "link", "404", "404 Not Found\n"),
        (&[], "../secret", "400", "400 Bad Request\n"),
        (&[], "%2e%2e/secret", "400", "400 Bad Request\n"),
        (&["-d", "a=b"], "", "405", "405 Method Not Allowed\n"),
        (&["-X", "BREW"], "", "501", "501 Not Implemented\n"),
        (&["-H", "Host:"], "", "400", "400 Bad Request\n"),
    ] {
        match curl(&server, words, name) {
            Some(got) => {
                assert_eq!(got, (status.to_owned(), body.to_owned()), "{words:?} {name}");
            }
            None => return,
        }
    }
    let left = server.stop();
    assert_eq!(left["curr_connections"], 0);
}

#[test]
fn curl_asks_for_the_head_and_for_several_files_over_one_connection() {
    let server = started();
    let Some(head) = run("curl", &["-sS", "-I", &server.url("large")]) else { return };
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("\r\nContent-Length: 5000001\r\n"),
        "{head}"
    );
    let url = server.url("");
    let said = run("curl", &["-sS", "-w", "%{num_connects}\n", &url, &url, &url]).unwrap();
    let page = "<p>hello</p>\n";
    assert_eq!(said, format!("{page}1\n{page}0\n{page}0\n"));
    server.stop();
}

#[test]
fn curl_gets_a_large_file_whole_and_resumed() {
    let server = started();
    let (url, file) = (server.url("large"), server.folder.path().join("got"));
    let path = file.to_str().unwrap();
    for words in [&["-sS", "-o", path, &url][..], &["-sS", "-C", "-", "-o", path, &url]] {
        if run("curl", words).is_none() {
            return;
        }
        let got = std::fs::read(&file).unwrap();
        assert!(got.len() == 5_000_001 && got.iter().all(|&byte| byte == b'x'));
        std::fs::write(&file, &got[..2_000_000]).unwrap();
    }
    // The file loses its end during a slow download, and curl notices.
    let shortened = server.folder.path().join("root/large");
    let slow = ["-sS", "--limit-rate", "4M", "-o", path, url.as_str()];
    let cut = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::fs::File::options().write(true).open(shortened).unwrap().set_len(4_000_000).unwrap();
    });
    let ended = output("curl", &slow).unwrap();
    cut.join().unwrap();
    // Status 18 is a partial file: curl may have been fast enough to get all of it.
    assert!(matches!(ended.status.code(), Some(0 | 18)), "{}", text(&ended.stderr));
    server.stop();
}

#[test]
fn curl_uploads_more_than_is_read_and_still_sees_why_not() {
    let server = started();
    let file = server.folder.path().join("upload");
    std::fs::write(&file, vec![b'u'; 3_000_000]).unwrap();
    let path = file.to_str().unwrap();
    let Some((status, _)) = curl(&server, &["-H", "Expect:", "-T", path], "") else { return };
    assert_eq!(status, "405");
    let (status, _) = curl(&server, &["-H", "Transfer-Encoding: chunked", "-T", path], "").unwrap();
    assert_eq!(status, "405");
    server.stop();
}

#[test]
fn a_client_that_is_not_there_is_skipped() {
    assert_eq!(missing_where::<()>(false, "no-such-client"), None);
}

#[test]
#[should_panic = "no-such-client is not installed"]
fn a_required_client_that_is_not_there_is_a_failure() {
    missing_where::<()>(true, "no-such-client");
}
