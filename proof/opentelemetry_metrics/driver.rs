//! One counter to which THREADS threads add 1, with ATTRIBUTES attributes. It is collected when they are done, or as `delta`
//! every 10 ms, and has to have what they added.

use opentelemetry::{metrics::MeterProvider as _, KeyValue};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{
    InMemoryMetricExporterBuilder, PeriodicReader, SdkMeterProvider, Temporality,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod timed;

static ADDED: AtomicU64 = AtomicU64::new(0);

/// What a thread has added.
struct Added(u64);

impl Added {
    fn one(&mut self) {
        self.0 += 1;
    }
}

impl Drop for Added {
    fn drop(&mut self) {
        ADDED.fetch_add(self.0, Ordering::Relaxed);
    }
}

fn sum(metrics: &AggregatedMetrics) -> u64 {
    match metrics {
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            sum.data_points().map(|point| point.value()).sum()
        }
        other => panic!("{other:?} is no sum"),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let (temporality, interval) = match &words[2][..] {
        "delta" => (Temporality::Delta, Duration::from_millis(10)),
        _ => (Temporality::Cumulative, Duration::from_secs(60)),
    };
    let exporter = InMemoryMetricExporterBuilder::new().with_temporality(temporality).build();
    let reader = PeriodicReader::builder(exporter.clone()).with_interval(interval).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let counter = provider.meter("driver").u64_counter("requests").build();
    let attributes = [("method", "GET"), ("status", "200"), ("path", "/api/v1/users")]
        .map(|(key, value)| KeyValue::new(key, value));
    timed::rate(number(0), |_| {
        let (counter, attributes, mut added) = (&counter, &attributes[..number(1)], Added(0));
        move || {
            counter.add(1, attributes);
            added.one();
        }
    });
    provider.force_flush().unwrap();
    let exported = exporter.get_finished_metrics().unwrap();
    let sums = exported
        .iter()
        .flat_map(|it| it.scope_metrics())
        .flat_map(|it| it.metrics())
        .map(|it| sum(it.data()));
    let found = if temporality == Temporality::Delta { sums.sum() } else { sums.last().unwrap() };
    assert_eq!(found, ADDED.load(Ordering::Relaxed), "not what the threads added");
}
