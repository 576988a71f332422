use std::sync::Arc;
use std::time::Duration;

use crate::scripted::{Counter, Request, made, memcached, send, settings};
use tenure_serve::load::memcached::{Keys, Plan};
use tenure_serve::load::outcome::ErrorKind;
use tenure_serve::load::settings::{Length, Settings};
use tenure_serve::load::{Outcome, run};

/// 20 keys, half gets and half sets.
fn plan(settings: Settings) -> Plan {
    Plan { sets: 1, gets: 1, keys: 20, ..Plan::new(settings) }
}

fn kind(outcome: &Outcome, name: &str) -> (u64, u64, u64) {
    let kind = outcome.kinds.iter().find(|kind| kind.name == name).unwrap();
    (kind.ops, kind.hits, kind.misses)
}

#[test]
fn answers_that_come_byte_by_byte_are_all_right() {
    let target = memcached(|_, _, answer, stream| answer.iter().all(|byte| send(&[*byte], stream)));
    let settings = settings(target, 2, Length::Requests(200));
    let outcome = made(Plan { value: 3..=9, ..plan(Settings { pipeline: 3, ..settings }) });
    let (gets, sets) = (kind(&outcome, "get"), kind(&outcome, "set"));
    assert_eq!((outcome.ops, gets.0 + sets.0), (200, 200));
    assert_eq!((gets.2, sets.2), (0, 0), "all keys were set before");
    assert!(gets.1 > 0 && sets.1 > 0);
    assert_eq!(outcome.errors, []);
    assert!(outcome.passed);
}

#[test]
fn every_key_is_set_once_before_and_so_many_requests_are_made_as_were_asked_for() {
    let (sets, gets) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
    let counters = (Arc::clone(&sets), Arc::clone(&gets));
    let target = memcached(move |_, request, answer, stream| {
        match request {
            Request::Get(_) => counters.1.add(),
            Request::Set(..) => counters.0.add(),
        };
        send(&answer, stream)
    });
    let settings =
        Settings { threads: 3, pipeline: 4, ..settings(target, 2, Length::Requests(1_000)) };
    let outcome = made(Plan { sets: 0, keys: 50, ..plan(settings) });
    assert_eq!((outcome.ops, sets.get(), gets.get()), (1_000, 50, 1_000));
    assert_eq!(kind(&outcome, "get"), (1_000, 1_000, 0));
    assert_eq!(outcome.series.iter().map(|second| second.ops).sum::<u64>(), 1_000);
    assert_eq!(outcome.unanswered, Some(0));
}

#[test]
fn keys_that_are_not_there_are_misses_and_no_errors() {
    let target = memcached(|_, _, answer, stream| send(&answer, stream));
    let all = plan(settings(target, 1, Length::Requests(50)));
    let outcome = made(Plan { sets: 0, preload: false, ..all });
    assert_eq!(kind(&outcome, "get"), (50, 0, 50));
    assert!(outcome.passed && outcome.errors.is_empty());
}

#[test]
fn a_hot_key_is_the_only_one_that_is_asked_for() {
    let others = Arc::new(Counter::default());
    let counter = Arc::clone(&others);
    let target = memcached(move |_, request, answer, stream| {
        if !matches!(request, Request::Get(key) | Request::Set(key, _) if key == "k-1") {
            counter.add();
        }
        send(&answer, stream)
    });
    let all = plan(settings(target, 1, Length::Requests(50)));
    made(Plan { choice: Keys::Hot, preload: false, prefix: "k-".to_owned(), ..all });
    assert_eq!(others.get(), 0);
}

#[test]
fn a_wrong_value_fails_the_run_and_says_what_was_wrong() {
    let target = memcached(|_, request, mut answer, stream| {
        if matches!(request, Request::Get(key) if key == "tenure-3") {
            let at = answer.len() - 9;
            answer[at] ^= 1;
        }
        send(&answer, stream)
    });
    let outcome = made(plan(settings(target, 1, Length::Requests(500))));
    let wrong = outcome.count(ErrorKind::Wrong);
    assert!(wrong > 0 && !outcome.passed);
    assert_eq!(outcome.ops + wrong, 500, "every request was answered, and the others rightly");
    assert!(outcome.errors[0].first.contains("key 3"), "{:?}", outcome.errors);
}

#[test]
fn a_server_that_ends_connections_is_asked_again_on_others() {
    let target = memcached(|count, _, answer, stream| {
        if count >= 20 && count % 10 == 0 {
            send(&answer[..3], stream);
            return false;
        }
        send(&answer, stream)
    });
    let outcome = made(plan(settings(target, 2, Length::Requests(100))));
    let ended = outcome.count(ErrorKind::Closed) + outcome.count(ErrorKind::Reset);
    assert!((5..=10).contains(&ended), "{:?}", outcome.errors);
    assert_eq!(outcome.ops + ended, 100);
    assert!(outcome.passed);
}

#[test]
fn a_server_that_answers_nothing_is_given_up_after_the_timeout() {
    let target = memcached(|_, _, _, _| true);
    let stalled = Settings {
        timeout: Duration::from_millis(200),
        ..settings(target, 2, Length::Time(Duration::from_secs(1)))
    };
    let outcome = made(Plan { preload: false, ..plan(stalled) });
    assert!(outcome.count(ErrorKind::Timeout) >= 2, "{:?}", outcome.errors);
    assert_eq!((outcome.ops, outcome.passed, outcome.latency), (0, false, None));
}

#[test]
fn a_request_that_the_server_refuses_is_an_error_with_its_words() {
    let target = memcached(|_, request, answer, stream| match request {
        Request::Set(..) => send(b"SERVER_ERROR out of memory storing object\r\n", stream),
        Request::Get(_) => send(&answer, stream),
    });
    let both = plan(settings(target, 1, Length::Requests(100)));
    let outcome = made(Plan { preload: false, ..both.clone() });
    let refused = outcome.count(ErrorKind::Refused);
    assert!(refused > 0);
    assert_eq!(outcome.ops + refused, 100);
    assert_eq!(outcome.errors[0].first, "SERVER_ERROR out of memory storing object");
    let line = run(&both.into(), &()).unwrap_err().to_string();
    assert!(line.contains("cannot set the keys") && line.contains("out of memory"), "{line}");
}

#[test]
fn another_protocol_is_no_answer() {
    let target = memcached(|_, _, _, stream| send(b"HTTP/1.1 400 Bad Request\r\n\r\n", stream));
    let line = run(&plan(settings(target, 1, Length::Requests(9))).into(), &());
    let line = line.unwrap_err().to_string();
    assert!(line.contains("HTTP/1.1 400 Bad Request") && line.lines().count() == 1, "{line}");
}

/// A server that stops for so long at its 41st request.
fn hesitant(stop: Duration) -> Settings {
    let target = memcached(move |count, _, answer, stream| {
        if count == 40 {
            std::thread::sleep(stop);
        }
        send(&answer, stream)
    });
    settings(target, 1, Length::Time(Duration::from_secs(1)))
}

#[test]
fn an_open_loop_counts_the_wait_of_every_request_that_was_due() {
    let settings = Settings { rate: Some(200.0), ..hesitant(Duration::from_millis(300)) };
    let outcome = made(Plan { preload: false, ..plan(settings) });
    let latency = outcome.latency.unwrap();
    // 60 of at most 200 requests were due while the server stopped, and waited for 150 ms on average.
    assert!(latency.p90_ns.unwrap() >= 100e6, "{latency:?}");
    assert!(latency.max_ns.unwrap() >= 290e6, "{latency:?}");
    assert!(outcome.ops <= 201, "no more than the schedule has: {}", outcome.ops);
    assert!(outcome.ops + outcome.unanswered.unwrap() >= 199, "all that were due are counted");
}

#[test]
fn a_closed_loop_counts_the_wait_of_the_one_request_that_met_it() {
    let settings =
        Settings { length: Length::Requests(60), ..hesitant(Duration::from_millis(300)) };
    let outcome = made(Plan { preload: false, ..plan(settings) });
    assert!(outcome.latency.unwrap().max_ns.unwrap() >= 290e6);
    assert_eq!(outcome.ops, 60);
}

#[test]
fn an_open_loop_makes_its_number_of_requests_and_stops() {
    let target = memcached(|_, _, answer, stream| send(&answer, stream));
    let settings =
        Settings { threads: 2, rate: Some(2_000.0), ..settings(target, 3, Length::Requests(300)) };
    let outcome = made(plan(settings));
    assert_eq!((outcome.ops, outcome.unanswered), (300, Some(0)));
    assert!(outcome.seconds >= 0.14, "300 requests take 0.15 s at this rate: {}", outcome.seconds);
}

#[test]
fn a_server_that_is_not_there_ends_the_run_before_it_begins() {
    let target = "127.0.0.1:1".parse().unwrap();
    let plan = plan(settings(target, 1, Length::Requests(1)));
    let line = run(&plan.into(), &()).unwrap_err().to_string();
    assert!(line.contains("127.0.0.1:1") && line.contains("is the server running?"), "{line}");
}

#[test]
fn the_cpu_time_of_a_known_process_is_measured() {
    let target = memcached(|_, _, answer, stream| send(&answer, stream));
    let ours =
        Settings { pids: vec![std::process::id()], ..settings(target, 2, Length::Requests(2_000)) };
    let outcome = made(plan(ours.clone()));
    let (server, client) = (outcome.server_cpu.unwrap(), outcome.client_cpu.unwrap());
    assert!(server.ns_per_op > 0.0 && client.ns_per_op > 0.0);
    let gone = plan(Settings { pids: vec![u32::MAX], ..ours });
    let line = run(&gone.into(), &()).unwrap_err().to_string();
    assert!(line.contains("--pid"), "{line}");
}

#[test]
fn a_server_that_goes_away_in_the_middle_fails_the_run_and_its_seconds_count_as_nothing() {
    let target = memcached(|number, _, answer, stream| number < 500 && send(&answer, stream));
    let time = Length::Time(Duration::from_millis(2_200));
    let outcome = made(Plan { preload: false, ..plan(settings(target, 2, time)) });
    assert!(!outcome.passed);
    assert_eq!((outcome.ops, outcome.series.len()), (500, 3), "{:?}", outcome.series);
    assert!(outcome.silent_seconds >= 1, "{:?}", outcome.series);
    assert!((outcome.ops_per_second - 500.0 / 2.2).abs() < 1.0, "{}", outcome.ops_per_second);
}
