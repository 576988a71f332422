//! criterion 0.3 to 0.8 and libtest, whose form criterion's `--output-format bencher` has too.

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number};

/// Criterion pads names to this width, in bytes. A longer name has a line of its own.
const CRITERION_NAME: usize = 24;

/// criterion: `name   time:   [1.2 ns 1.3 ns 1.4 ns]`, whose middle is the estimate.
#[derive(Default)]
pub(super) struct Criterion {
    /// The line before.
    before: String,
    /// The benchmark whose throughput may follow.
    timed: String,
}

impl ToolFormat for Criterion {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        // Changes since the last run have percentages there, which are no number and unit.
        static ESTIMATE: Form =
            Form::new(":  ", r"^(time: |thrpt:)  \[\S+ \S+ (\S+) (\S+) \S+ \S+\]$");
        let before = std::mem::replace(&mut self.before, line.to_owned());
        let timed = std::mem::take(&mut self.timed);
        let padded = line.split_at_checked(CRITERION_NAME);
        let Some((name, [what, value, unit])) =
            padded.and_then(|(name, rest)| Some((name, ESTIMATE.parts(rest)?)))
        else {
            return false;
        };
        let is_long = before.len() >= CRITERION_NAME && !before.starts_with(' ');
        match (what, name.trim()) {
            ("thrpt:", "") if !timed.is_empty() => {
                figures.add_derived(&timed, "thrpt", number(value), unit);
                true
            }
            ("time: ", "") if is_long => {
                figures.add(&before, number(value), unit);
                self.timed = before;
                true
            }
            ("time: ", name) if !name.is_empty() => {
                figures.add(name, number(value), unit);
                name.clone_into(&mut self.timed);
                true
            }
            _ => false,
        }
    }
}

/// libtest: `test name ... bench:  1,234.56 ns/iter (+/- 56.78) = 39384 MB/s`.
pub(super) struct Libtest;

impl ToolFormat for Libtest {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static BENCH: Form = Form::new(
            " ns/iter",
            r"^test (.+?)\s+\.\.\. bench:\s+(\S+) ns/iter \(\+/- [0-9.,]+\)(?: = )?(\S*)(?: MB/s)?$",
        );
        let Some([name, time, rate]) = BENCH.parts(line) else { return false };
        figures.add(name, number(time), "ns");
        figures.add_derived(name, "MB/s", number(rate), "MB/s");
        true
    }
}
