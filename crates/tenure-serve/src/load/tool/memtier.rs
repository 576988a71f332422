//! memtier_benchmark, and the JSON that it writes.

use std::ops::RangeInclusive;
use std::process::Command;

use serde_json::Value;

use super::{output, unreadable};
use crate::load::error::Error;
use crate::load::outcome::{ErrorKind, Errors, Kind, Latency, Outcome, Second};
use crate::load::run::Progress;
use crate::load::settings::{Length, Settings};

/// What it is to ask for.
#[derive(Debug, Clone)]
pub(in crate::load) struct Keys {
    pub(in crate::load) sets: u32,
    pub(in crate::load) gets: u32,
    /// From 1 on, as it knows no key 0.
    pub(in crate::load) count: u32,
    pub(in crate::load) prefix: String,
    pub(in crate::load) value: RangeInclusive<usize>,
}

/// Runs it.
pub(super) fn run(
    keys: &Keys,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Outcome, Error> {
    let mut command = Command::new("memtier_benchmark");
    command.args(arguments(keys, settings)).arg("--json-out-file=/dev/stdout").arg("-o/dev/null");
    parse(&output(&mut command, progress)?)
}

fn arguments(keys: &Keys, settings: &Settings) -> Vec<String> {
    let length = match settings.length {
        Length::Time(time) => format!("--test-time={}", time.as_secs()),
        Length::Requests(count) => {
            format!("--requests={}", count.div_ceil(settings.connections() as u64))
        }
    };
    let value = if keys.value.start() == keys.value.end() {
        format!("--data-size={}", keys.value.start())
    } else {
        format!("--data-size-range={}-{}", keys.value.start(), keys.value.end())
    };
    vec![
        format!("--server={}", settings.target.ip()),
        format!("--port={}", settings.target.port()),
        "--protocol=memcache_text".to_owned(),
        format!("--threads={}", settings.threads),
        format!("--clients={}", settings.clients),
        format!("--pipeline={}", settings.pipeline),
        format!("--ratio={}:{}", keys.sets, keys.gets),
        format!("--key-prefix={}", keys.prefix),
        "--key-minimum=1".to_owned(),
        format!("--key-maximum={}", keys.count),
        "--key-pattern=R:R".to_owned(),
        "--hide-histogram".to_owned(),
        "--print-percentiles=50,90,99,99.9".to_owned(),
        length,
        value,
    ]
}

/// Reads what it writes.
fn parse(text: &str) -> Result<Outcome, Error> {
    let missing = |what: &str| unreadable("memtier_benchmark", what);
    let from = text.find('{').ok_or_else(|| missing("JSON"))?;
    let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    let report = values.next().and_then(Result::ok).ok_or_else(|| missing("JSON"))?;
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

/// It counts in milliseconds.
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
