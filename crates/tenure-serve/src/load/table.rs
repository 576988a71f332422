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
    let red = || console::Style::new().red();
    if let Some(sentence) = silence(outcome) {
        line(&mut text, &style.text(red(), &style.wrapped(&sentence, "")));
    }
    line(&mut text, &style.strong(&style.wrapped(&title(outcome), "")));
    line(&mut text, &style.wrapped(&shape(outcome), ""));
    line(&mut text, "");
    let fullness = [true, false].map(|full| vec![kinds(outcome, style, full)]);
    line(&mut text, &grid::fitting(fullness, style));
    line(&mut text, "");
    for sentence in sentences(outcome) {
        line(&mut text, &style.wrapped(&sentence, ""));
    }
    for sentence in failures(outcome) {
        line(&mut text, &style.text(red(), &style.wrapped(&sentence, "")));
    }
    text
}

fn silence(outcome: &Outcome) -> Option<String> {
    let whole = &outcome.series[..outcome.series.len().min(outcome.seconds as usize)];
    let first = whole.iter().position(|second| second.ops == 0)? + 1;
    (outcome.silent_seconds > 0).then(|| {
        let (count, all) = (outcome.silent_seconds, whole.len());
        format!("The server stopped answering: no answer came in {count} of {all} seconds, first in second {first}.")
    })
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
            "At the end, {} that {} due had no answer; the latencies are without.",
            counted(count as usize, "request"),
            if count == 1 { "was" } else { "were" }
        )),
        _ => {}
    }
    sentences
}

fn used(cpu: Cpu, outcome: &Outcome) -> String {
    let cpus = if outcome.seconds > 0.0 { cpu.seconds / outcome.seconds } else { 0.0 };
    if outcome.ops == 0 {
        return format!("{} CPUs on average", number(cpus));
    }
    format!(
        "{} µs of CPU for each answer, {} CPUs on average",
        number(cpu.ns_per_op / 1e3),
        number(cpus)
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::outcome::{ErrorKind, Errors, Kind, Request};

    fn latency(us: f64) -> Option<Latency> {
        Some(Latency {
            mean_ns: us * 1e3,
            p50_ns: us * 1e3,
            p90_ns: Some(us * 2e3),
            p99_ns: us * 3e3,
            p999_ns: Some(us * 4e3),
            max_ns: Some(us * 1e6),
        })
    }

    fn kind(name: &str, ops: u64, misses: u64, us: f64) -> Kind {
        let (ops_per_second, hits) = (ops as f64 / 3.0, ops - misses);
        Kind { name: name.to_owned(), ops, ops_per_second, hits, misses, latency: latency(us) }
    }

    fn second(ops: u64) -> Second {
        Second { ops, slowest_ns: None }
    }

    fn outcome() -> Outcome {
        Outcome {
            generator: "tenure".to_owned(),
            request: Request {
                protocol: "memcached".to_owned(),
                address: "127.0.0.1:11211".to_owned(),
                load: "set:get 1:10, 10000 keys (uniform), values of 100 bytes".to_owned(),
                threads: 2,
                clients: 50,
                pipeline: 16,
                ..Request::default()
            },
            seconds: 3.0,
            ops: 1_100,
            ops_per_second: 1_100.0 / 3.0,
            sent_per_second: Some(1.5e6),
            received_per_second: Some(3e6),
            latency: latency(52.5),
            kinds: vec![kind("get", 1_000, 1, 50.0), kind("set", 100, 0, 75.0)],
            series: [1_000, 50, 50, 0].map(second).to_vec(),
            client_cpu: Some(Cpu::new(1_500_000_000, 1_100)),
            server_cpu: Some(Cpu::new(3_000_000_000, 1_100)),
            unanswered: Some(7),
            passed: true,
            ..Outcome::default()
        }
    }

    #[test]
    fn a_row_for_each_kind_and_one_for_all_in_microseconds() {
        let text = render(&outcome(), Style::PLAIN);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [
            ["get", "333", "1", "50.0", "50.0", "100", "150", "200", "50,000"],
            ["set", "33.3", "0", "75.0", "75.0", "150", "225", "300", "75,000"],
            ["all", "367", "1", "52.5", "52.5", "105", "158", "210", "52,500"],
        ] {
            assert!(rows.iter().any(|words| words[..] == row), "{row:?} in\n{text}");
        }
        assert!(
            text.contains("2 threads, 50 clients each, 16 requests under way on each"),
            "{text}"
        );
        assert!(text.contains("Server: 2,727 µs of CPU for each answer, 1.00 CPUs"), "{text}");
        assert!(text.contains("In a second: 50 to 1,000 answers."), "{text}");
        assert!(!text.contains("At the end"), "a closed loop always has some under way");
    }

    #[test]
    fn one_kind_is_all_and_misses_are_shown_where_there_are_some() {
        let one = Outcome { kinds: vec![kind("request", 30, 0, 1.0)], ..outcome() };
        let text = render(&one, Style::PLAIN);
        assert!(text.contains("request") && !text.contains("misses"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("all")), "{text}");
    }

    #[test]
    fn an_open_loop_shows_what_waits_and_errors_come_with_the_first() {
        let request = Request { rate: Some(5_000.0), ..outcome().request };
        let first = "other bytes".to_owned();
        let errors = vec![Errors { kind: ErrorKind::Wrong, count: 1_234, first }];
        let text = render(&Outcome { request, errors, ..outcome() }, Style::PLAIN);
        assert!(text.contains("open loop of 5,000 requests/s"), "{text}");
        assert!(text.contains("7 requests that were due had no answer"), "{text}");
        assert!(text.contains("1,234 wrong answers; the first: other bytes"), "{text}");
    }

    #[test]
    fn a_server_that_stopped_answering_is_the_first_thing_said() {
        let series = [1_000, 0, 0].map(second).to_vec();
        let text = render(&Outcome { series, silent_seconds: 2, ..outcome() }, Style::PLAIN);
        let first =
            "The server stopped answering: no answer came in 2 of 3 seconds, first in second 2.";
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.contains("In a second: 0 to 1,000 answers."), "{text}");
    }

    #[test]
    fn it_fits_and_colour_is_all_that_colour_adds() {
        for width in [100, 80, 70] {
            let text = render(&outcome(), Style { width, colour: false });
            let widest = text.lines().map(console::measure_text_width).max().unwrap();
            assert!(widest <= width, "{widest} > {width}\n{text}");
        }
        grid::assert_colour_is_all_it_adds(|style| render(&outcome(), style));
    }

    #[test]
    fn an_outcome_of_nothing_is_survived() {
        let text = render(&Outcome::default(), Style::PLAIN);
        assert!(text.contains("No request had an answer that counts."), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
}
