//! `go test -bench` of Go 1.5 to 1.26, JMH 1.20 to 1.37 as text, hyperfine 1.10 to 1.19 as text.

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number};
use crate::metric::unit::FigureUnit;

/// `go test -bench`: `BenchmarkX-8   1000   1234 ns/op   56 B/op`.
pub(super) struct GoTest;

impl ToolFormat for GoTest {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static ROW: Form = Form::new("Benchmark", r"^(Benchmark[^a-z\s]\S*)\s+[0-9]+\s+(\S.*)$");
        let Some([name, metrics]) = ROW.parts(line) else { return false };
        let words: Vec<_> = metrics.split_whitespace().collect();
        if words.len() % 2 == 1 || words.chunks(2).any(|it| number(it[0]).is_none()) {
            return false;
        }
        for metric in words.chunks(2) {
            match metric[1] {
                unit @ "ns/op" => figures.add(name, number(metric[0]), unit),
                unit @ "MB/s" => figures.add_derived(name, unit, number(metric[0]), unit),
                unit => figures.add_beside(name, unit, number(metric[0]), unit),
            }
        }
        true
    }
}

/// JMH's closing table: `Adds.atomic  64  thrpt  3  70.097 ± 225.727  ops/us`, where 64 is a parameter's value.
#[derive(Default)]
pub(super) struct Jmh {
    /// The parameters' names, while rows may follow.
    parameters: Option<Vec<String>>,
}

impl ToolFormat for Jmh {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static HEAD: Form = Form::new(
            " Mode ",
            r"^Benchmark\s+((?:\(\S+\)\s+)*)Mode\s+Cnt\s+Score(?:\s+Error)?\s+Units$",
        );
        static ROW: Form = Form::new("", r"^(\S+)\s+(.*?)(thrpt|avgt|sample|ss)\s+(\S.*)$");
        if let Some([names]) = HEAD.parts(line) {
            let names = names.split_whitespace().map(|it| it.trim_matches(['(', ')']).to_owned());
            self.parameters = Some(names.collect());
            return true;
        }
        let Some(parameters) = self.parameters.take() else { return false };
        let Some([name, values, mode, rest]) = ROW.parts(line) else { return false };
        let values: Vec<_> = values.split_whitespace().collect();
        if values.len() == parameters.len() {
            let named = parameters.iter().map(String::as_str).zip(values);
            add_score(&jmh_name(name, named, mode), rest, figures);
        }
        self.parameters = Some(parameters);
        true
    }
}

/// Adds the score of `3  70.097 ± 225.727  ops/us`. A score such as `≈ 10⁻⁷` is an order of magnitude, and no figure.
fn add_score(name: &str, rest: &str, figures: &mut Figures) {
    static PERCENTILE: Form = Form::new(":", r":·?p[0-9]()");
    let words: Vec<_> = rest.split_whitespace().collect();
    let score = match *words {
        // Where the terminal knows no `±`, JMH's is a question mark.
        [.., score, "±" | "?" | "+-", _error, unit] => Some((score, unit)),
        [score, unit] | [_, score, unit] => Some((score, unit)),
        _ => None,
    };
    if let Some((score, unit)) = score
        && PERCENTILE.parts::<1>(name).is_none()
    {
        // Its locale may have a decimal comma; it prints no thousands separators.
        add_jmh(name, number(&score.replace(',', ".")), unit, figures);
    }
}

/// The name of a JMH benchmark with its parameters, in one of its modes.
pub(in crate::metric) fn jmh_name<'a>(
    name: &str,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    mode: &str,
) -> String {
    let parameters = parameters.into_iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{name}{} ({mode})", parameters.collect::<String>())
}

/// Adds a score of JMH if it is a time or operations per time: its profilers report bytes and counts in the same form.
pub(in crate::metric) fn add_jmh(
    name: &str,
    score: Option<f64>,
    unit: &str,
    figures: &mut Figures,
) {
    if FigureUnit::of(unit).is_some_and(|it| it.name == "ns" || it.name == "ops/s") {
        figures.add(name, score, unit);
    }
}

/// hyperfine: `Benchmark 1: command`, and then its mean.
#[derive(Default)]
pub(super) struct Hyperfine {
    command: Option<String>,
}

impl ToolFormat for Hyperfine {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static HEAD: Form = Form::new("Benchmark ", r"^Benchmark #?[0-9]+: (.+)$");
        static TIME: Form =
            Form::new("  Time (", r"^  Time \((?:mean ± σ|abs ≡)\):\s+(\S+) (ms|s|µs)(?:\s|$)");
        if let Some([command]) = HEAD.parts(line) {
            self.command = Some(command.to_owned());
            return true;
        }
        let Some([time, unit]) = TIME.parts(line) else { return false };
        if let Some(command) = self.command.take() {
            figures.add(&command, number(time), unit);
        }
        true
    }
}
