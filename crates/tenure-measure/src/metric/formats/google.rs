//! google-benchmark 1.5 to 1.9, as text. Its JSON is read with the same rules.

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number, number_and_unit};

/// google-benchmark's table, with counters as `name=value` or in columns.
#[derive(Default)]
pub(super) struct Google {
    /// The columns after `Iterations`, once the table has begun.
    columns: Option<Vec<String>>,
    repetitions: Repetitions,
}

impl ToolFormat for Google {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static HEAD: Form = Form::new("Iterations", r"^Benchmark\s+Time\s+CPU\s+Iterations(.*)$");
        static ROW: Form = Form::new(
            "",
            r"^(\S.*?)\s+(\S+) (ns|us|ms|s|%)\s+(\S+) (ns|us|ms|s|%)\s+[0-9]+(|\s.*)$",
        );
        if let Some([columns]) = HEAD.parts(line) {
            self.columns = Some(columns.split_whitespace().map(str::to_owned).collect());
            return true;
        }
        let Some(columns) = &self.columns else { return false };
        let Some([name, time, unit, cpu, cpu_unit, rest]) = ROW.parts(line) else { return false };
        let Some(name) = self.repetitions.name(name, figures) else { return true };
        figures.add(name, number(time), unit);
        figures.add_beside(name, "cpu", number(cpu), cpu_unit);
        let words: Vec<_> = rest.split_whitespace().collect();
        if columns.len() == words.len() && !columns.iter().any(|it| it == "UserCounters...") {
            for (counter, value) in columns.iter().zip(words) {
                add_counter(name, counter, value, figures);
            }
        } else {
            for (counter, value) in words.iter().filter_map(|it| it.split_once('=')) {
                add_counter(name, counter, value, figures);
            }
        }
        true
    }
}

/// Adds a counter if it is a rate (`1.5M/s`) or a time (`3.2ns`): others do not say which figure is better.
fn add_counter(name: &str, counter: &str, value: &str, figures: &mut Figures) {
    let Some(rate) = value.strip_suffix("/s") else {
        if let Some((time, unit @ ("ns" | "us" | "ms" | "s"))) = number_and_unit(value) {
            figures.add_derived(name, counter, Some(time), unit);
        }
        return;
    };
    // Before 1.9, `bytes_per_second` was scaled by 1024 without saying so.
    let is_binary = counter == "bytes_per_second" && rate.ends_with(['k', 'M', 'G', 'T']);
    let value = number(&if is_binary { format!("{rate}i") } else { rate.to_owned() });
    let what = counter.strip_suffix("_per_second").unwrap_or(counter);
    figures.add_derived(name, counter, value, &format!("{what}/s"));
}

/// Repetitions of a benchmark are followed by their mean, median, deviation and coefficient of variation.
#[derive(Default)]
pub(in crate::metric) struct Repetitions {
    last: String,
    /// The benchmark whose aggregates these are.
    repeated: String,
}

impl Repetitions {
    /// The name under which a row is read. The median takes the place of the repetitions and of their mean; a deviation is no
    /// performance. A benchmark may be called `x_median`: aggregates are known by their order.
    pub(in crate::metric) fn name<'a>(
        &mut self,
        row: &'a str,
        figures: &mut Figures,
    ) -> Option<&'a str> {
        let last = std::mem::replace(&mut self.last, row.to_owned());
        let (base, aggregate) = row.rsplit_once('_').unwrap_or((row, ""));
        match aggregate {
            "median" if last.strip_suffix("_mean") == Some(base) => {
                base.clone_into(&mut self.repeated);
                figures.remove(base);
                figures.remove(&last);
                Some(base)
            }
            "stddev" | "cv" if self.repeated == base => None,
            _ => Some(row),
        }
    }
}
