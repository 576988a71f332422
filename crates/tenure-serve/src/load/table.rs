//! An outcome as text for a terminal.

use comfy_table::{Attribute, Cell, Table};
use tenure_report::grid::{self, aligned, line};
use tenure_report::terminal::Style;
use tenure_report::words::{counted, grouped, number};

use super::outcome::{Cpu, Latency, Outcome, Second};

/// The outcome as text that ends in a line break.
#[must_use]
pub fn render(outcome: &Outcome, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &style.strong(&title(outcome)));
    line(&mut text, &style.wrapped(&shape(outcome), ""));
    line(&mut text, "");
    let fullness = [true, false].map(|full| vec![kinds(outcome, style, full)]);
    line(&mut text, &grid::fitting(fullness, style));
    line(&mut text, "");
    for sentence in sentences(outcome) {
        line(&mut text, &style.wrapped(&sentence, ""));
    }
    for sentence in failures(outcome) {
        let red = console::Style::new().red();
        line(&mut text, &style.text(red, &style.wrapped(&sentence, "")));
    }
    text
}

fn title(outcome: &Outcome) -> String {
    let request = &outcome.request;
    format!("{} at {}: {}", request.protocol, request.address, request.load)
}

fn shape(outcome: &Outcome) -> String {
    let request = &outcome.request;
    let mut parts = vec![
        counted(request.threads, "thread"),
        format!("{} each", counted(request.clients, "client")),
    ];
    if request.pipeline > 1 {
        parts.push(format!("{} under way on each", counted(request.pipeline, "request")));
    }
    parts.push(match request.rate {
        Some(rate) => format!("open loop of {} requests/s", number(rate)),
        None => "closed loop".to_owned(),
    });
    format!("{}; {} s, by {}", parts.join(", "), number(outcome.seconds), outcome.generator)
}

/// A row for each kind of request, and one for all.
fn kinds(outcome: &Outcome, style: Style, full: bool) -> Table {
    let mut table = grid::table(style);
    let has_misses = outcome.kinds.iter().any(|kind| kind.misses > 0);
    let mut header = vec!["latency in µs", "ops/s"];
    header.extend(has_misses.then_some("misses"));
    header.extend(["mean", "50 %"]);
    header.extend(full.then_some("90 %"));
    header.extend(["99 %", "99.9 %", "slowest"]);
    table.set_header(
        header
            .into_iter()
            .enumerate()
            .map(|(index, name)| aligned(Cell::new(name).add_attribute(Attribute::Dim), index > 0)),
    );
    let mut row = |name: &str, rate: f64, misses: u64, latency: Option<Latency>| {
        let mut cells = vec![name.to_owned(), number(rate)];
        cells.extend(has_misses.then(|| grouped(&misses.to_string())));
        cells.extend(times(latency, full));
        let cells = cells.into_iter().enumerate();
        table.add_row(cells.map(|(index, text)| aligned(Cell::new(text), index > 0)));
    };
    for kind in outcome.kinds.iter().filter(|kind| kind.ops > 0) {
        row(&kind.name, kind.ops_per_second, kind.misses, kind.latency);
    }
    if outcome.kinds.iter().filter(|kind| kind.ops > 0).count() != 1 {
        let misses = outcome.kinds.iter().map(|kind| kind.misses).sum();
        row("all", outcome.ops_per_second, misses, outcome.latency);
    }
    table
}

fn times(latency: Option<Latency>, full: bool) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), |ns| number(ns / 1e3));
    let mut times = vec![time(latency.map(|of| of.mean_ns)), time(latency.map(|of| of.p50_ns))];
    times.extend(full.then(|| time(latency.and_then(|of| of.p90_ns))));
    times.push(time(latency.map(|of| of.p99_ns)));
    times.push(time(latency.and_then(|of| of.p999_ns)));
    times.push(time(latency.and_then(|of| of.max_ns)));
    times
}

/// What is to be said beside the table.
fn sentences(outcome: &Outcome) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(cpu) = outcome.server_cpu {
        sentences.push(format!("Server: {}.", used(cpu, outcome)));
    }
    if let Some(cpu) = outcome.client_cpu {
        sentences.push(format!("Generator: {}.", used(cpu, outcome)));
    }
    if let (Some(sent), Some(received)) = (outcome.sent_per_second, outcome.received_per_second) {
        let (sent, received) = (number(sent / 1e6), number(received / 1e6));
        sentences.push(format!("Sent {sent} MB/s, received {received} MB/s."));
    }
    sentences.extend(stability(&outcome.series, outcome.seconds));
    match (outcome.unanswered, outcome.request.rate) {
        (Some(count), Some(_)) if count > 0 => sentences.push(format!(
            "At the end {} had no answer, and {} not in the latencies.",
            counted(count as usize, "request that was due"),
            if count == 1 { "is" } else { "are" }
        )),
        _ => {}
    }
    sentences
}

fn used(cpu: Cpu, outcome: &Outcome) -> String {
    let cpus = if outcome.seconds > 0.0 { cpu.seconds / outcome.seconds } else { 0.0 };
    format!(
        "{} µs of CPU for each answer, {} CPUs on average",
        number(cpu.ns_per_op / 1e3),
        number(cpus)
    )
}

/// How even the run was, of its whole seconds.
fn stability(series: &[Second], seconds: f64) -> Option<String> {
    let whole = &series[..series.len().min(seconds as usize)];
    let (least, most) =
        (whole.iter().map(|it| it.ops).min()?, whole.iter().map(|it| it.ops).max()?);
    (whole.len() > 1).then(|| {
        let (least, most) = (grouped(&least.to_string()), grouped(&most.to_string()));
        format!("In a second: {least} to {most} answers.")
    })
}

fn failures(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = outcome
        .errors
        .iter()
        .map(|of| {
            let count = grouped(&of.count.to_string());
            format!("{count} {}; the first: {}", of.kind.words(), of.first)
        })
        .collect();
    if outcome.ops == 0 {
        lines.push("No request had an answer that counts.".to_owned());
    }
    lines
}
