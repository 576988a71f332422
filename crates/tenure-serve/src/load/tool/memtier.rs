//! memtier_benchmark, and the JSON that it writes.

use std::process::Command;
use std::{fs, io};

use serde_json::Value;
use tempfile::NamedTempFile;
use tenure_report::Progress;

use super::{output, unreadable};
use crate::load::Error;
use crate::load::outcome::{ErrorKind, Errors, Kind, Latency, Outcome, Second};
use crate::load::settings::{Length, Settings};

pub(super) fn run(
    arguments: &[String],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    let cannot = |error: io::Error| {
        Error::new(format!("cannot have memtier_benchmark write a temporary file: {error}"))
    };
    // A file, not a pipe: memtier seeks in it.
    let json = NamedTempFile::new().map_err(cannot)?;
    let mut command = Command::new("memtier_benchmark");
    command.args(of_settings(settings)).args(arguments).arg("--json-out-file").arg(json.path());
    output(&mut command, progress)?;
    parse(&fs::read_to_string(json.path()).map_err(cannot)?)
}

/// Keys count from 1, as memtier has no key 0.
fn of_settings(settings: &Settings) -> Vec<String> {
    let length = match settings.length {
        Length::Time(time) => format!("--test-time={}", time.as_secs()),
        Length::Requests(count) => {
            format!("--requests={}", count.div_ceil(settings.connections() as u64))
        }
    };
    vec![
        format!("--server={}", settings.target.ip()),
        format!("--port={}", settings.target.port()),
        "--protocol=memcache_text".to_owned(),
        format!("--threads={}", settings.threads),
        format!("--clients={}", settings.clients),
        format!("--pipeline={}", settings.pipeline),
        "--key-minimum=1".to_owned(),
        "--key-pattern=R:R".to_owned(),
        "--hide-histogram".to_owned(),
        "--print-percentiles=50,90,99,99.9".to_owned(),
        length,
    ]
}

fn parse(text: &str) -> Result<Outcome, Error> {
    let missing = |what: &str| unreadable("memtier_benchmark", what);
    let report: Value = serde_json::from_str(text).map_err(|_| missing("JSON"))?;
    let stats = &report["ALL STATS"];
    let totals = &stats["Totals"];
    let seconds =
        stats["Runtime"]["Total duration"].as_f64().ok_or_else(|| missing("duration"))? / 1e3;
    let ops = totals["Count"].as_u64().ok_or_else(|| missing("number of operations"))?;
    let kinds = [("get", "Gets"), ("set", "Sets")];
    Ok(Outcome {
        generator: "memtier_benchmark".to_owned(),
        seconds,
        ops,
        ops_per_second: totals["Ops/sec"].as_f64().ok_or_else(|| missing("rate"))?,
        received_per_second: totals["KB/sec RX"].as_f64().map(|kib| kib * 1024.0),
        sent_per_second: totals["KB/sec TX"].as_f64().map(|kib| kib * 1024.0),
        latency: latency(totals),
        kinds: kinds.into_iter().map(|(name, key)| kind(name, &stats[key], seconds)).collect(),
        errors: errors(totals),
        series: series(&totals["Time-Serie"]),
        ..Outcome::default()
    })
}

fn kind(name: &str, of: &Value, seconds: f64) -> Kind {
    let ops = of["Count"].as_u64().unwrap_or(0);
    let misses = (of["Misses/sec"].as_f64().unwrap_or(0.0) * seconds).round() as u64;
    Kind {
        name: name.to_owned(),
        ops,
        ops_per_second: of["Ops/sec"].as_f64().unwrap_or(0.0),
        hits: ops - misses.min(ops),
        misses,
        latency: latency(of),
    }
}

/// memtier has milliseconds.
fn latency(of: &Value) -> Option<Latency> {
    let ns = |value: &Value| value.as_f64().map(|ms| ms * 1e6);
    let at = |name: &str| ns(&of["Percentile Latencies"][name]);
    of["Count"].as_u64().filter(|count| *count > 0)?;
    Some(Latency {
        mean_ns: ns(&of["Average Latency"]).or_else(|| ns(&of["Latency"]))?,
        p50_ns: at("p50.00")?,
        p90_ns: at("p90.00"),
        p99_ns: at("p99.00")?,
        p999_ns: at("p99.90"),
        max_ns: ns(&of["Max Latency"]),
    })
}

fn errors(totals: &Value) -> Vec<Errors> {
    let count = totals["Connection Errors"].as_u64().unwrap_or(0);
    let first = "connection errors".to_owned();
    Vec::from_iter((count > 0).then_some(Errors { kind: ErrorKind::Connect, count, first }))
}

fn series(of: &Value) -> Vec<Second> {
    let Some(entries) = of.as_object() else { return Vec::new() };
    let mut seconds: Vec<(u64, Second)> = entries
        .iter()
        .filter_map(|(second, of)| {
            let slowest_ns = of["Max Latency"].as_f64().map(|ms| ms * 1e6);
            Some((second.parse().ok()?, Second { ops: of["Count"].as_u64()?, slowest_ns }))
        })
        .collect();
    seconds.sort_by_key(|(second, _)| *second);
    seconds.into_iter().map(|(_, of)| of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::memcached::Plan;
    use crate::load::workload::Workload as _;
    use std::time::Duration;

    const TEXT: &str = r#"{
        "configuration": { "server": "127.0.0.1" },
        "ALL STATS": {
            "Runtime": { "Total duration": 2004, "Time unit": "MILLISECONDS" },
            "Sets": {
                "Count": 10, "Ops/sec": 5.0, "Hits/sec": 0.00, "Misses/sec": 0.00,
                "Average Latency": 1.8, "Max Latency": 18.9, "KB/sec": 92.03,
                "Percentile Latencies": { "p50.00": 0.767, "p99.00": 11.967, "p99.90": 18.815 }
            },
            "Gets": {
                "Count": 1000, "Ops/sec": 499.0, "Hits/sec": 250.0, "Misses/sec": 249.501,
                "Average Latency": 1.5, "Max Latency": 20.0,
                "Percentile Latencies":
                    { "p50.00": 0.5, "p90.00": 1.25, "p99.00": 12.0, "p99.90": 18.0 }
            },
            "Totals": {
                "Count": 1010, "Ops/sec": 504.0, "Connection Errors": 3,
                "Average Latency": 1.503, "Max Latency": 20.0,
                "KB/sec RX": 8.0, "KB/sec TX": 2.0,
                "Time-Serie": {
                    "10": { "Count": 3 },
                    "0": { "Count": 1000, "Max Latency": 20.0 },
                    "1": { "Count": 7, "Max Latency": 2.5 }
                },
                "Percentile Latencies":
                    { "p50.00": 0.5, "p90.00": 1.25, "p99.00": 12.0, "p99.90": 18.0 }
            }
        }
    }"#;

    #[test]
    fn what_it_writes_is_read() {
        let outcome = parse(TEXT).unwrap();
        assert_eq!((outcome.seconds, outcome.ops, outcome.ops_per_second), (2.004, 1010, 504.0));
        assert_eq!(outcome.received_per_second, Some(8192.0));
        let [gets, sets] = &outcome.kinds[..] else { panic!("{:?}", outcome.kinds) };
        assert_eq!((gets.name.as_str(), gets.ops, gets.hits, gets.misses), ("get", 1000, 500, 500));
        assert_eq!((sets.name.as_str(), sets.ops, sets.hits, sets.misses), ("set", 10, 10, 0));
        let latency = outcome.latency.unwrap();
        assert_eq!((latency.mean_ns, latency.p50_ns), (1.503e6, 0.5e6));
        assert_eq!((latency.p90_ns, latency.max_ns), (Some(1.25e6), Some(20e6)));
        assert_eq!(sets.latency.unwrap().p90_ns, None);
        let series: Vec<_> = outcome.series.iter().map(|it| (it.ops, it.slowest_ns)).collect();
        assert_eq!(series, [(1000, Some(20e6)), (7, Some(2.5e6)), (3, None)]);
        assert_eq!(outcome.count(ErrorKind::Connect), 3);
    }

    #[test]
    fn other_text_is_refused_in_one_line() {
        for (cut, says) in [("{", "JSON"), ("Total duration", "duration"), ("Totals", "operations")]
        {
            let line = parse(&TEXT.replacen(cut, "x", 1)).unwrap_err().to_string();
            assert!(line.contains(says) && line.lines().count() == 1, "{line}");
        }
    }

    #[test]
    fn it_gets_the_same_load() {
        let settings = Settings::new("127.0.0.1:11211".parse().unwrap());
        let settings = Settings { length: Length::Time(Duration::from_secs(3)), ..settings };
        let plan = Plan { gets: 10, keys: 99, prefix: "k-".to_owned(), ..Plan::new(settings) };
        let given =
            |plan: &Plan| [of_settings(&plan.settings), plan.arguments()].concat().join(" ");
        let timed = given(&Plan { value: 32..=64, ..plan.clone() });
        for argument in [
            "--port=11211 ",
            "--clients=50 ",
            "--ratio=1:10 ",
            "--key-prefix=k- ",
            "--key-maximum=99 ",
            "--data-size-range=32-64",
            "--test-time=3 ",
        ] {
            assert!(timed.contains(argument), "{argument} in {timed}");
        }
        let settings = Settings { length: Length::Requests(1_001), ..plan.settings.clone() };
        let fixed = given(&Plan { settings, value: 8..=8, ..plan });
        assert!(fixed.ends_with("--data-size=8"));
        assert!(fixed.contains("--requests=11 "), "of each of 100 connections");
    }
}
