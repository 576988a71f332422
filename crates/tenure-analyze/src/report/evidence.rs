//! What a finding rests on, and how sure it is.

use std::collections::BTreeSet;

use tenure_model::{Confidence, Evidence, Level};

use crate::lines::Contended;
use crate::proportion::interval;
use tenure_model::recording::{Process, Watched};

/// A share that is known to within this factor is known well.
const WELL: f64 = 2.0;

/// A share that is known to within this factor is known roughly.
const ROUGHLY: f64 = 10.0;

/// The samples and probes at a finding's lines; `None` if every access was counted.
pub(super) fn of(process: &Process, contended: &Contended) -> Option<Evidence> {
    let watched = contended.lines.iter().filter_map(|&line| process.lines[line].watched);
    watched.reduce(together).map(evidence)
}

fn together(one: Watched, other: Watched) -> Watched {
    Watched {
        samples: one.samples + other.samples,
        polled: one.polled + other.polled,
        of: one.of.max(other.of),
        probes: one.probes + other.probes,
        met: one.met + other.met,
        cost: one.cost + other.cost,
    }
}

/// The share is a product: of the samples on the line, and of the probes that met another thread there. So is its interval. A
/// thread that polls the line waits in any case.
fn evidence(watched: Watched) -> Evidence {
    let Watched { samples, polled, of, probes, met, cost } = watched;
    let [fewest, most] = interval((samples - polled) as f64, of as f64);
    let [rarely, often] = interval(met as f64, probes as f64);
    let [least, greatest] = match polled {
        0 => [0.0; 2],
        polled => interval(polled as f64, of as f64),
    };
    let share = [(fewest * rarely + least).min(cost), (most * often + greatest).max(cost).min(1.0)];
    Evidence { samples, probes, met, share }
}

/// The most that one of the lines may cost that threads met on and wrote, but that are not `shown` in a finding.
pub(super) fn most_left_out(process: &Process, shown: &BTreeSet<usize>) -> f64 {
    let others = process.lines.iter().enumerate().filter(|(at, _)| !shown.contains(at));
    let written = others.filter(|(_, line)| line.entries.iter().any(|it| it.access.writes()));
    let watched = written.filter_map(|(_, line)| line.watched);
    watched.map(|watched| evidence(watched).share[1]).fold(0.0, f64::max)
}

/// How sure a finding is, and why.
pub(super) fn confidence(process: &Process, contended: &Contended) -> Confidence {
    let (level, why) = match of(process, contended) {
        None => {
            let buckets = contended.possible.buckets;
            (Level::High, format!("threads used it in {buckets} intervals of 50 ms"))
        }
        Some(evidence) => (level(&evidence), why(&evidence)),
    };
    Confidence { level, placements: 1.0, why }
}

fn level(evidence: &Evidence) -> Level {
    let [low, high] = evidence.share;
    match high / low {
        // One sample, or one meeting, may be chance.
        _ if evidence.samples < 2 || evidence.met < 2 => Level::Low,
        ..WELL => Level::High,
        ..ROUGHLY => Level::Medium,
        _ => Level::Low,
    }
}

fn why(evidence: &Evidence) -> String {
    let &Evidence { samples, probes, met, .. } = evidence;
    let plural = if samples == 1 { "" } else { "s" };
    format!(
        "{samples} sample{plural}, and {met} of {probes} probes by breakpoints met another thread on the line"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::entry;
    use tenure_model::Access;
    use tenure_model::recording::Line;

    fn of(samples: u64, of: u64, met: u64, probes: u64) -> Evidence {
        let cost = samples as f64 / of as f64 * met as f64 / probes as f64;
        evidence(Watched { samples, polled: 0, of, probes, met, cost })
    }

    #[test]
    fn a_thread_that_polls_a_line_waits_even_if_no_other_is_met() {
        let polled = Watched { samples: 60, polled: 50, of: 100, probes: 100, met: 2, cost: 0.502 };
        let [low, high] = evidence(polled).share;
        assert!(0.35 < low && low < 0.5 && 0.52 < high && high < 0.7, "{low} {high}");
    }

    #[test]
    fn one_sample_of_many_is_no_fact_however_many_probes_met_a_thread() {
        for (about, evidence, expected) in [
            ("each of bind9's four findings", of(1, 197, 9, 10), Level::Low),
            ("one meeting", of(150, 197, 1, 50), Level::Low),
            ("a few of both", of(10, 197, 8, 10), Level::Medium),
            ("half of the samples, and most probes", of(100, 197, 45, 50), Level::High),
            ("two samples are all that there are", of(2, 2, 2, 2), Level::Medium),
        ] {
            assert_eq!(level(&evidence), expected, "{about}: {evidence:?}");
            let [low, high] = evidence.share;
            assert!(0.0 < low && low < high && high <= 1.0, "{about}: {evidence:?}");
        }
    }

    #[test]
    fn what_is_left_out_may_cost_as_much_as_the_worst_line_that_is_written_and_not_shown() {
        let line = |samples, access| Line {
            entries: vec![entry((1, 0, access, 0))],
            watched: Some(Watched { samples, of: 100, probes: 10, met: 5, ..Watched::default() }),
            ..Line::default()
        };
        let lines = vec![
            line(60, Access::Write),
            line(20, Access::Add),
            line(40, Access::Read),
            Line::default(),
        ];
        let process = Process { lines, ..Process::default() };
        let most = |shown: &[usize]| most_left_out(&process, &shown.iter().copied().collect());
        assert!(most(&[]) > 0.5 && most(&[0]) > 0.1 && most(&[0]) < 0.3);
        assert_eq!(most(&[0, 1]), 0.0);
    }

    #[test]
    fn the_interval_of_several_lines_has_their_cost_in_it() {
        let line = |samples, met| Watched {
            samples,
            of: 100,
            probes: 10,
            met,
            cost: samples as f64 / 100.0,
            ..Watched::default()
        };
        let both = evidence(together(line(40, 1), line(2, 10)));
        assert_eq!((both.samples, both.probes, both.met), (42, 20, 11));
        assert!(both.share[0] <= 0.42 && both.share[1] >= 0.42, "{both:?}");
    }
}
