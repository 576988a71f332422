//! db_bench of LevelDB 1 and RocksDB 4 to 9, and pgbench 9 to 18.

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number};

/// db_bench: `fillseq : 12.631 micros/op 79146 ops/sec 0.253 seconds 20000 operations; 8.8 MB/s`.
pub(super) struct DbBench;

impl ToolFormat for DbBench {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static ROW: Form = Form::new(" micros/op", r"^(\S+)\s+:\s+(\S+) micros/op(|[; ].*)$");
        let Some([name, time, rest]) = ROW.parts(line) else { return false };
        figures.add(name, number(time), "micros/op");
        let words: Vec<_> = rest.split([' ', ';']).filter(|it| !it.is_empty()).collect();
        for pair in words.windows(2) {
            if let unit @ ("ops/sec" | "MB/s") = pair[1] {
                figures.add_derived(name, unit, number(pair[0]), unit);
            }
        }
        true
    }
}

/// pgbench: `tps = 1234.5 (without initial connection time)`. Before 14 there were two such lines, of which the one that
/// excludes connections is read.
pub(super) struct Pgbench;

impl ToolFormat for Pgbench {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static RATE: Form = Form::new(
            "tps = ",
            r"^tps = (\S+) \((?:without initial connection time|excluding connections establishing|including reconnection times)\)$",
        );
        static LATENCY: Form = Form::new("latency average", r"^latency average(?: =|:) (\S+) ms$");
        if let Some([rate]) = RATE.parts(line) {
            figures.add("tps", number(rate), "tps");
        } else if let Some([latency]) = LATENCY.parts(line) {
            figures.add("latency average", number(latency), "ms");
        } else {
            return false;
        }
        true
    }
}
