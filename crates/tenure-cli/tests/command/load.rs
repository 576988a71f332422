use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use super::support::{is_refused, refused, tenure, tenure_in, text};

/// An HTTP server with one answer. Its threads end with this process.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut output = stream.unwrap();
            let input = BufReader::new(output.try_clone().unwrap());
            thread::spawn(move || {
                for line in input.lines() {
                    let sent = match line {
                        Ok(line) if line.is_empty() => output.write_all(answer.as_bytes()),
                        Ok(_) => Ok(()),
                        Err(error) => Err(error),
                    };
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn short(address: &str) -> [&str; 11] {
    [
        "load",
        "http",
        address,
        "--requests",
        "50",
        "--clients",
        "2",
        "--threads",
        "1",
        "--warmup",
        "0",
    ]
}

/// With only that program on `PATH`.
fn with_program(folder: &Path, name: &str, script: &str, words: &[&str]) -> Output {
    let program = folder.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(words)
        .current_dir(folder)
        .env("PATH", folder)
        .output()
        .unwrap()
}

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| refused("load", words, said);
    let there = "127.0.0.1:1";
    refused(&["redis", there], &["redis"]);
    refused(&[], &["no command given", "tenure load --help"]);
    refused(&["memcached"], &["ADDR", "tenure load memcached --help"]);
    refused(&["memcached", "here"], &["`here`", "HOST:PORT"]);
    refused(&["memcached", "127.0.0.1"], &["HOST:PORT"]);
    refused(&["http", there], &["cannot connect to 127.0.0.1:1", "is the server running?"]);
    refused(&["http", there, "--threads", "0"], &["threads", "1 to"]);
    refused(&["http", there, "--clients", "0"], &["clients", "1 to"]);
    refused(&["http", there, "--pipeline", "0"], &["pipeline", "1 to"]);
    refused(&["http", there, "--seconds", "0"], &["--seconds"]);
    refused(&["http", there, "--seconds", "1e9"], &["more than a day"]);
    refused(&["http", there, "--requests", "0"], &["no requests"]);
    refused(&["http", there, "--requests", "1", "--seconds", "1"], &["--requests", "--seconds"]);
    refused(&["http", there, "--rate", "0"], &["--rate is above 0"]);
    refused(&["http", there, "--rate", "1", "--with", "wrk"], &["open loop", "--with"]);
    refused(&["http", there, "--path", "x"], &["`x` is not a path"]);
    refused(&["http", there, "--path", "/\r\nX: y"], &["no blanks"]);
    refused(&["http", there, "--host", ""], &["host"]);
    refused(&["http", there, "--close", "--pipeline", "2"], &["--close or --pipeline"]);
    refused(&["http", there, "--with", "ab"], &["memtier", "wrk"]);
    refused(&["http", there, "--with", "memtier"], &["--with wrk"]);
    refused(&["http", there, "--with", "wrk", "--requests", "9"], &["--seconds"]);
    refused(&["http", there, "--with", "wrk", "--seconds", "0.5"], &["whole seconds"]);
    refused(&["memcached", there, "--with", "wrk"], &["--with memtier"]);
    refused(&["memcached", there, "--with", "memtier", "--hot"], &["--with"]);
    refused(&["memcached", there, "--ratio", "1"], &["--ratio", "1:100"]);
    refused(&["memcached", there, "--ratio", "0:0"], &["0:0", "1:100"]);
    refused(&["memcached", there, "--keys", "0"], &["keys"]);
    refused(&["memcached", there, "--prefix", "a b"], &["no blanks"]);
    refused(&["memcached", there, "--prefix", &"x".repeat(250)], &["250 bytes"]);
    refused(&["memcached", there, "--value", "9-1"], &["--value", "32-1024"]);
    refused(&["memcached", there, "--value", "999999999"], &["values"]);
    refused(&["memcached", there, "--zipf=-1"], &["Zipf", "0 to 10"]);
    refused(&["memcached", there, "--zipf", "11"], &["Zipf", "0 to 10"]);
    refused(&["memcached", there, "--zipf", "1", "--hot"], &["--zipf", "--hot"]);
    refused(&["http", there, "--json", "/"], &["cannot write", "another path"]);
}

#[test]
fn a_table_is_plain_in_a_pipe_and_has_the_figures() {
    let address = server(HELLO);
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<_> = short(&address).into_iter().chain(["--json", "out.json"]).collect();
    let output = tenure_in(folder.path(), &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(!table.contains('\u{1b}'));
    for word in
        [&address[..], "GET /", "1 thread, 2 clients each", "closed loop", "99.9 %", "request"]
    {
        assert!(table.contains(word), "`{word}` in:\n{table}");
    }
    let json = std::fs::read(folder.path().join("out.json")).unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&outcome["schema"], &outcome["ops"]), (&"tenure-load/1".into(), &50.into()));
}

#[test]
fn json_on_standard_output_is_an_outcome_and_nothing_else() {
    let address = server(HELLO);
    let words: Vec<_> = short(&address).into_iter().chain(["--close", "--json", "-"]).collect();
    let output = tenure(&words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["request"]["close"], true);
    assert_eq!(outcome["kinds"][0]["name"], "request");
}

#[test]
fn a_wrong_answer_fails_the_run_after_the_figures() {
    let output = tenure(&short(&server("hello\r\n")));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("wrong answers; the first: hello"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_generator_that_is_not_there_is_named_in_one_line() {
    let (address, folder) = (server(HELLO), tempfile::tempdir().unwrap());
    let wrk = ["load", "http", &address, "--seconds", "1", "--with", "wrk"];
    let output = with_program(folder.path(), "other", "exit 0", &wrk);
    is_refused(&output, &["wrk is not on PATH", "install it"]);
}

#[test]
fn what_another_generator_prints_becomes_the_same_outcome() {
    const PRINTS: &str = r#"
[ "$*" = "--latency -t 2 -c 100 -d 1s --timeout 10s -H Connection: close http://$ADDRESS/" ] ||
    { echo "unable to do: $*" >&2; exit 1; }
echo '    Latency     1.25ms  203.47us   8.97ms   92.53%
     50%    1.23ms
     90%    1.50ms
     99%    2.00ms
  1000 requests in 1.00s, 1.00MB read
Requests/sec:   1000.00
Transfer/sec:      1.00MB'"#;
    let (address, folder) = (server(HELLO), tempfile::tempdir().unwrap());
    let script = PRINTS.replace("$ADDRESS", &address);
    let words =
        ["load", "http", &address, "--seconds", "1", "--close", "--with", "wrk", "--json", "-"];
    let output = with_program(folder.path(), "wrk", &script, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&outcome["generator"], &outcome["ops"]), (&"wrk".into(), &1_000.into()));
    assert_eq!(outcome["latency"]["p50_ns"], 1.23e6);
    let output = with_program(folder.path(), "wrk", &script, &words[..5]);
    assert!(output.status.success(), "the own generator is not asked for by name");
    let other = ["load", "http", &address, "--seconds", "1", "--with", "wrk"];
    let output = with_program(folder.path(), "wrk", &script, &other);
    is_refused(&output, &["wrk failed: unable to do: --latency"]);
}
