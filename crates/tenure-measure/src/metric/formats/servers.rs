//! redis-benchmark 4 to 8, memtier_benchmark 1.2 to 2, wrk 4, wrk2 and hey.

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number, number_and_unit};

/// redis-benchmark, in each of its three forms.
#[derive(Default)]
pub(super) struct Redis {
    /// The test whose summary follows.
    test: Option<String>,
    /// The columns of the table whose rows follow: of `--csv`, or of a test's latencies.
    columns: Vec<String>,
}

impl ToolFormat for Redis {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static TEST: Form = Form::new("======", r"^====== (.+) ======$");
        static RATE: Form = Form::new(
            " requests per second",
            r"^(?:  throughput summary: )?([0-9]+\.[0-9]{2}) requests per second$",
        );
        static QUIET: Form = Form::new(
            " requests per second",
            r"^(\S.*): ([0-9]+\.[0-9]{2}) requests per second(?:, p50=)?(\S*)(?: msec)?$",
        );
        static CSV: Form = Form::new("\",\"", r#"^"(.+)"$"#);
        if let Some([test]) = TEST.parts(line) {
            self.test = Some(test.to_owned());
        } else if let (Some(test), Some([rate])) = (&self.test, RATE.parts(line)) {
            figures.add(test, number(rate), "requests/s");
        } else if let Some([test, rate, p50]) = QUIET.parts(line) {
            figures.add(test, number(rate), "requests/s");
            figures.add_beside(test, "p50", number(p50), "ms");
        } else if let Some([cells]) = CSV.parts(line) {
            let cells: Vec<_> = cells.split("\",\"").collect();
            return self.read_csv(&cells, figures);
        } else if self.test.is_some() && line.trim_start().starts_with("avg ") {
            self.columns = line.split_whitespace().map(str::to_owned).collect();
        } else if let Some(test) = self.test.take_if(|_| !self.columns.is_empty()) {
            let cells = line.split_whitespace();
            for (column, cell) in std::mem::take(&mut self.columns).iter().zip(cells) {
                if let what @ ("p50" | "p99") = column.as_str() {
                    figures.add_beside(&test, what, number(cell), "ms");
                }
            }
        } else {
            return false;
        }
        true
    }
}

impl Redis {
    fn read_csv(&mut self, cells: &[&str], figures: &mut Figures) -> bool {
        if let ["test", "rps", ..] = cells {
            self.columns = cells.iter().map(|&it| it.to_owned()).collect();
            return true;
        }
        let is_row = self.test.is_none() && self.columns.len() == cells.len();
        for (column, cell) in self.columns.iter().zip(cells).filter(|_| is_row) {
            match column.as_str() {
                "rps" => figures.add(cells[0], number(cell), "requests/s"),
                "p50_latency_ms" => figures.add_beside(cells[0], "p50", number(cell), "ms"),
                "p99_latency_ms" => figures.add_beside(cells[0], "p99", number(cell), "ms"),
                _ => {}
            }
        }
        is_row
    }
}

/// memtier_benchmark's table, of which the totals are read.
#[derive(Default)]
pub(super) struct Memtier {
    columns: Vec<String>,
}

impl ToolFormat for Memtier {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        if line.starts_with("Type ") && line.contains(" Ops/sec ") {
            let columns = line.split("  ").map(str::trim).filter(|it| !it.is_empty());
            self.columns = columns.map(str::to_owned).collect();
            return true;
        }
        let cells: Vec<_> = line.split_whitespace().collect();
        if cells.first() != Some(&"Totals") || cells.len() != self.columns.len() {
            return false;
        }
        for (column, cell) in std::mem::take(&mut self.columns).iter().zip(cells) {
            match column.as_str() {
                "Ops/sec" => figures.add("Totals", number(cell), "ops/s"),
                "p50 Latency" => figures.add_beside("Totals", "p50", number(cell), "ms"),
                "p99 Latency" => figures.add_beside("Totals", "p99", number(cell), "ms"),
                // Before 1.3 there was this one only: the average.
                "Latency" => figures.add_beside("Totals", "latency", number(cell), "ms"),
                _ => {}
            }
        }
        true
    }
}

/// wrk and wrk2: requests per second, and the distribution of latencies.
#[derive(Default)]
pub(super) struct Wrk {
    in_distribution: bool,
}

impl ToolFormat for Wrk {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static RATE: Form = Form::new("Requests/sec:", r"^\s*Requests/sec:\s+([0-9.]+)$");
        static PERCENTILE: Form = Form::new("%", r"^\s*([0-9.]+)%\s+([0-9.]+[a-z]+)$");
        if let Some([rate]) = RATE.parts(line) {
            figures.add("Requests/sec", number(rate), "requests/s");
        } else if line.starts_with("  Latency Distribution") {
            self.in_distribution = true;
        } else if let (true, Some([percentile, latency])) =
            (self.in_distribution, PERCENTILE.parts(line))
        {
            let what = match percentile {
                "50" | "50.000" => "latency p50",
                "99" | "99.000" => "latency p99",
                _ => return true,
            };
            if let Some((time, unit)) = number_and_unit(latency) {
                figures.add(what, Some(time), unit);
            }
        } else {
            self.in_distribution = false;
            return false;
        }
        true
    }
}
