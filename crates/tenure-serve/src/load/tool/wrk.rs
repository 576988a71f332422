//! wrk, and the text that it prints.

use std::process::Command;

use tenure_report::Progress;

use super::{output, unreadable};
use crate::load::Error;
use crate::load::outcome::{ErrorKind, Errors, Kind, Latency, Outcome};
use crate::load::settings::{Length, Settings};

pub(super) fn run(
    arguments: &[String],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    let seconds = match settings.length {
        Length::Time(time) => time.as_secs(),
        Length::Requests(_) => 0,
    };
    let mut command = Command::new("wrk");
    command
        .arg("--latency")
        .args(["-t", &settings.threads.to_string()])
        .args(["-c", &settings.connections().to_string()])
        .args(["-d", &format!("{seconds}s")])
        .args(["--timeout", &format!("{}s", settings.timeout.as_secs().max(1))])
        .args(arguments);
    parse(&output(&mut command, progress)?)
}

fn parse(text: &str) -> Result<Outcome, Error> {
    let missing = |what: &str| unreadable("wrk", what);
    let words = |starts: &str| {
        text.lines()
            .map(str::trim)
            .find_map(|line| line.strip_prefix(starts))
            .map(str::split_whitespace)
    };
    let time = |starts: &str, at: usize| words(starts)?.nth(at).and_then(nanoseconds);
    let summary = text.lines().find(|line| line.contains(" requests in "));
    let mut summary = summary.ok_or_else(|| missing("number of requests"))?.split_whitespace();
    let ops: u64 = summary
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| missing("number of requests"))?;
    let seconds = summary
        .nth(2)
        .and_then(|word| nanoseconds(word.trim_end_matches(',')))
        .ok_or_else(|| missing("duration"))?
        / 1e9;
    let ops_per_second: f64 = words("Requests/sec:")
        .and_then(|mut words| words.next()?.parse().ok())
        .ok_or_else(|| missing("requests per second"))?;
    let latency = |starts, at| time(starts, at).ok_or_else(|| missing("latency"));
    let latency = Latency {
        mean_ns: latency("Latency ", 0)?,
        p50_ns: latency("50%", 0)?,
        p90_ns: time("90%", 0),
        p99_ns: latency("99%", 0)?,
        p999_ns: None,
        max_ns: time("Latency ", 2),
    };
    let (latency, refused) = ((ops > 0).then_some(latency), refused(text));
    Ok(Outcome {
        generator: "wrk".to_owned(),
        seconds,
        ops: ops - refused.min(ops),
        ops_per_second,
        received_per_second: words("Transfer/sec:").and_then(|mut words| bytes(words.next()?)),
        latency,
        kinds: vec![Kind {
            name: "request".to_owned(),
            ops,
            ops_per_second,
            hits: ops - refused.min(ops),
            misses: 0,
            latency,
        }],
        errors: errors(text, refused),
        ..Outcome::default()
    })
}

fn refused(text: &str) -> u64 {
    let line = text.lines().find(|line| line.contains("Non-2xx or 3xx responses:"));
    line.and_then(|line| line.split_whitespace().last()?.parse().ok()).unwrap_or(0)
}

fn errors(text: &str, refused: u64) -> Vec<Errors> {
    let line = text.lines().find(|line| line.contains("Socket errors:")).unwrap_or_default();
    let count = |word: &str| -> u64 {
        let words: Vec<_> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|found| *found == word);
        at.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(0)
    };
    [
        (ErrorKind::Connect, count("connect"), "connect"),
        (ErrorKind::Reset, count("read") + count("write"), "read or write"),
        (ErrorKind::Timeout, count("timeout"), "timeout"),
        (ErrorKind::Refused, refused, "Non-2xx or 3xx responses"),
    ]
    .into_iter()
    .filter(|(_, count, _)| *count > 0)
    .map(|(kind, count, first)| Errors { kind, count, first: first.to_owned() })
    .collect()
}

/// `93.00us`, `2.36ms`, `1.10s`, `1.05m`.
fn nanoseconds(word: &str) -> Option<f64> {
    scaled(word, &[("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3_600e9)])
}

/// `74.99MB`, as wrk counts them: in steps of 1,024.
fn bytes(word: &str) -> Option<f64> {
    let step = |times| 1024_f64.powi(times);
    scaled(word, &[("KB", step(1)), ("MB", step(2)), ("GB", step(3)), ("TB", step(4)), ("B", 1.0)])
}

fn scaled(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    units
        .iter()
        .find_map(|(unit, scale)| Some(word.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Running 2s test @ http://127.0.0.1:8080/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.25ms  203.47us   8.97ms   92.53%
    Req/Sec    40.12k     1.09k   42.77k    75.00%
  Latency Distribution
     50%    1.23ms
     75%    1.31ms
     90%  980.00us
     99%    1.88s
  159712 requests in 2.10s, 129.61MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 12
Requests/sec:  76086.98
Transfer/sec:     61.75MB
";

    #[test]
    fn what_it_prints_is_read() {
        let outcome = parse(TEXT).unwrap();
        assert_eq!((outcome.ops, outcome.kinds[0].ops), (159_700, 159_712));
        assert_eq!((outcome.seconds, outcome.ops_per_second), (2.1, 76_086.98));
        let latency = outcome.latency.unwrap();
        assert_eq!((latency.mean_ns, latency.max_ns), (1.25e6, Some(8.97e6)));
        assert_eq!((latency.p50_ns, latency.p90_ns, latency.p99_ns), (1.23e6, Some(980e3), 1.88e9));
        assert_eq!(outcome.received_per_second, Some(61.75 * 1024.0 * 1024.0));
        let counts = [ErrorKind::Connect, ErrorKind::Reset, ErrorKind::Timeout, ErrorKind::Refused];
        assert_eq!(counts.map(|kind| outcome.count(kind)), [1, 5, 4, 12]);
    }

    #[test]
    fn without_errors_there_are_none() {
        let text: String = TEXT
            .lines()
            .filter(|line| !line.contains("errors") && !line.contains("Non-2xx"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(parse(&text).unwrap().errors, []);
    }

    #[test]
    fn other_text_is_refused_in_one_line() {
        for (cut, says) in [
            (" requests in ", "number of requests"),
            ("Requests/sec:", "requests per second"),
            ("50%", "latency"),
        ] {
            let line = parse(&TEXT.replace(cut, "x")).unwrap_err().to_string();
            assert!(line.contains(says) && line.lines().count() == 1, "{line}");
        }
    }
}
