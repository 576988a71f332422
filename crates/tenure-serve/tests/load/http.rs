use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::scripted::{Counter, head, made, send, server, settings};
use tenure_serve::load::http::Plan;
use tenure_serve::load::outcome::ErrorKind;
use tenure_serve::load::settings::{Length, Settings};

const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Calls `answer` with each request's head; a connection ends where that returns `false`.
fn http(
    answer: impl Fn(&str, &mut TcpStream) -> bool + Send + Sync + 'static,
) -> (SocketAddr, Arc<Counter>) {
    let connections = Arc::new(Counter::default());
    let counter = Arc::clone(&connections);
    let address = server(move |_, stream| {
        let mut output = stream.try_clone().unwrap();
        let mut input = BufReader::new(stream);
        let mut asked = false;
        while let Some(head) = head(&mut input) {
            if !asked {
                asked = true;
                counter.add();
            }
            if !answer(&head, &mut output) {
                return;
            }
        }
    });
    (address, connections)
}

#[test]
fn connections_stay_and_carry_requests_in_pipelines() {
    let (target, connections) = http(|_, stream| send(HELLO.as_bytes(), stream));
    let settings = Settings { pipeline: 4, ..settings(target, 3, Length::Requests(500)) };
    let outcome = made(Plan::new(settings));
    assert_eq!((outcome.ops, connections.get()), (500, 3));
    assert!(outcome.passed && outcome.errors.is_empty());
}

#[test]
fn with_close_every_request_has_a_connection_and_says_so() {
    let (target, connections) = http(|head, stream| {
        assert!(head.contains("Connection: close\r\n"), "{head}");
        assert!(head.starts_with("GET /x?y HTTP/1.1\r\nHost: there\r\n"), "{head}");
        send(LAST, stream);
        false
    });
    let settings = settings(target, 3, Length::Requests(100));
    let (path, host) = ("/x?y".to_owned(), Some("there".to_owned()));
    let outcome = made(Plan { path, host, close: true, ..Plan::new(settings) });
    assert_eq!((outcome.ops, connections.get()), (100, 100));
    assert!(outcome.passed && outcome.errors.is_empty(), "{:?}", outcome.errors);
}

#[test]
fn answers_that_come_byte_by_byte_are_all_right() {
    for text in
        [HELLO, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"]
    {
        let (target, _) = http(|_, stream| text.bytes().all(|byte| send(&[byte], stream)));
        let outcome = made(Plan::new(settings(target, 2, Length::Requests(40))));
        assert_eq!(outcome.ops, 40);
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    }
}

#[test]
fn a_server_that_announces_the_end_of_a_connection_makes_no_error() {
    let (target, connections) = http(|_, stream| {
        send(LAST, stream);
        false
    });
    let outcome = made(Plan::new(settings(target, 2, Length::Requests(30))));
    assert_eq!((outcome.ops, connections.get()), (30, 30));
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
}

#[test]
fn requests_behind_the_last_answer_of_a_connection_are_unanswered() {
    let (target, _) = http(|_, stream| {
        send(LAST, stream);
        false
    });
    let settings = Settings { pipeline: 8, ..settings(target, 3, Length::Requests(400)) };
    let outcome = made(Plan::new(settings));
    let errors = outcome.errors.iter().map(|error| error.count).sum::<u64>();
    assert_eq!(outcome.ops + errors + outcome.unanswered.unwrap(), 400);
    assert!((40..200).contains(&outcome.ops), "{} of 400", outcome.ops);
}

#[test]
fn a_number_of_requests_ends_when_the_server_has_gone() {
    let asked = Counter::default();
    let (target, _) = http(move |_, stream| asked.add() < 100 && send(HELLO.as_bytes(), stream));
    let timeout = Duration::from_millis(300);
    let settings = Settings { timeout, ..settings(target, 3, Length::Requests(400)) };
    let outcome = made(Plan::new(settings));
    assert_eq!(outcome.ops, 100);
    assert!(!outcome.errors.is_empty());
}

#[test]
fn a_body_without_a_length_ends_with_its_connection() {
    let (target, _) = http(|_, stream| {
        send(b"HTTP/1.1 200 OK\r\n\r\nhello", stream);
        false
    });
    let outcome = made(Plan::new(settings(target, 2, Length::Requests(30))));
    assert_eq!(outcome.ops, 30);
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
}

#[test]
fn an_answer_that_is_cut_short_is_an_error_and_the_run_goes_on() {
    let counter = Counter::default();
    let (target, _) = http(move |_, stream| {
        let is_short = counter.add() % 5 == 4;
        let end = if is_short { HELLO.len() - 1 } else { HELLO.len() };
        send(&HELLO.as_bytes()[..end], stream) && !is_short
    });
    let outcome = made(Plan::new(settings(target, 1, Length::Requests(50))));
    assert_eq!((outcome.ops, outcome.count(ErrorKind::Closed)), (40, 10));
    assert!(outcome.passed);
}

#[test]
fn a_status_that_refuses_is_counted_with_its_number() {
    let text = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let (target, _) = http(|_, stream| send(text, stream));
    let outcome = made(Plan::new(settings(target, 1, Length::Requests(20))));
    assert_eq!((outcome.ops, outcome.count(ErrorKind::Refused)), (0, 20));
    assert_eq!(outcome.errors[0].first, "status 404");
    assert!(!outcome.passed);
}

#[test]
fn a_server_of_another_protocol_fails_the_run() {
    let (target, _) = http(|_, stream| send(b"ERROR\r\n", stream));
    let outcome = made(Plan::new(settings(target, 1, Length::Requests(5))));
    assert!(outcome.count(ErrorKind::Wrong) > 0 && !outcome.passed);
    assert_eq!(outcome.errors[0].first, "ERROR");
}
