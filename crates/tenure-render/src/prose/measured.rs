//! What `perf` has measured, as prose.

use super::{counted, ratio, whole};
use tenure_model::{Finding, Measured, MeasuredMember, Recorded, Report, Source};

/// The recording that was joined with the types, if any.
pub(crate) fn recorded(report: &Report) -> Option<&Recorded> {
    match &report.source {
        Source::Types(types) => types.recorded.as_deref(),
        Source::Run(_) => None,
    }
}

/// The share of a finding in the most telling measure, if it has any.
pub(crate) fn share(report: &Report, finding: &Finding) -> Option<f64> {
    let (recorded, measured) = (recorded(report)?, finding.measured.as_ref()?);
    let all = &recorded.program;
    let part = measured.telling(all);
    (part > 0).then(|| ratio(part, all.telling(all)))
}

/// What that measure is.
pub(crate) fn share_of(report: &Report) -> &'static str {
    match recorded(report).map(|it| it.program) {
        Some(Measured { hitm: 1.., .. }) => "of the program's HITM",
        Some(Measured { weight: 1.., .. }) => "of the samples' weight",
        _ => "of the samples",
    }
}

/// `HITM 1,234 of 5,000 (12 remote), 38 % of the weight, 2,100 of 9,000 samples`.
pub(crate) fn finding(report: &Report, finding: &Finding) -> Option<String> {
    let (recorded, measured) = (recorded(report)?, finding.measured.as_ref()?);
    Some(of_all(measured, &recorded.program))
}

fn of_all(measured: &Measured, all: &Measured) -> String {
    let mut parts = Vec::new();
    if all.hitm > 0 {
        let remote = match measured.remote_hitm {
            0 => String::new(),
            remote => format!(" ({} remote)", whole(remote)),
        };
        parts.push(format!("HITM {} of {}{remote}", whole(measured.hitm), whole(all.hitm)));
    }
    if all.weight > 0 {
        parts.push(format!("{} of the weight", percent(measured.weight, all.weight)));
    }
    parts.push(format!("{} of {}", whole(measured.samples), counted(all.samples, "sample")));
    parts.join(", ")
}

/// The same of one word, in short: `HITM 1,200, 3,100 stores`.
pub(crate) fn word(measured: &Measured) -> String {
    let Measured { samples, stores, hitm, .. } = *measured;
    match (hitm, stores) {
        (0, 0) => counted(samples, "sample"),
        (0, _) => counted(stores, "store"),
        (_, 0) => format!("HITM {}", whole(hitm)),
        _ => format!("HITM {}, {}", whole(hitm), counted(stores, "store")),
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.0} %", 100.0 * ratio(part, of))
}

/// What was read of a recording.
pub(crate) fn source(recorded: &Recorded) -> String {
    let Recorded { samples, program, attributed, elsewhere, .. } = recorded;
    let mut sentence = format!(
        "perf: {} with addresses, {} in this program; of {} the member or variable is known",
        counted(*samples, "sample"),
        whole(program.samples),
        percent(attributed.samples, program.samples)
    );
    if program.hitm > 0 {
        let unknown = program.hitm.saturating_sub(attributed.hitm);
        sentence += &format!("; HITM {}", whole(program.hitm));
        if unknown > 0 {
            let share = percent(unknown, program.hitm);
            sentence += &format!(", of which {share} on members or variables that are not known");
        }
    } else {
        sentence += "; no HITM";
    }
    if let Some(most) = elsewhere.first() {
        sentence += &format!("; most of the others in {}", most.path);
    }
    sentence
}

/// Rows of the table by type and member: the name, HITM, weight, samples, loads, and stores.
pub(crate) fn members(recorded: &Recorded) -> Vec<(String, [String; 5])> {
    let row = |one: &MeasuredMember| {
        let Measured { loads, stores, hitm, remote_hitm, weight, .. } = one.measured;
        let hitm = match remote_hitm {
            0 => whole(hitm),
            remote => format!("{} ({} remote)", whole(hitm), whole(remote)),
        };
        let weight = match recorded.program.weight {
            0 => String::new(),
            all => percent(weight, all),
        };
        let samples = whole(one.measured.samples);
        (name(one), [hitm, weight, samples, whole(loads), whole(stores)])
    };
    recorded.members.iter().map(row).collect()
}

/// The headings of the columns after the name.
pub(crate) const COLUMNS: [&str; 5] = ["HITM", "weight", "samples", "loads", "stores"];

fn name(one: &MeasuredMember) -> String {
    match (&*one.type_name, one.path.starts_with(['+', '['])) {
        ("", _) => one.path.clone(),
        (name, true) => format!("{name}{}", one.path),
        (name, false) => format!("{name}.{}", one.path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn what_was_measured_is_said_of_all_that_was() {
        let report = fixtures::measured();
        let said = finding(&report, &report.findings[0]).unwrap();
        assert_eq!(
            said,
            "HITM 1,234 of 5,000 (34 remote), 38 % of the weight, 2,100 of 9,000 samples"
        );
        let share = share(&report, &report.findings[0]).unwrap();
        assert!((share - 0.2468).abs() < 1e-9, "{share}");
        assert_eq!(finding(&report, report.findings.last().unwrap()), None);
        assert_eq!(share_of(&report), "of the program's HITM");
    }

    #[test]
    fn how_much_is_known_is_said() {
        let report = fixtures::measured();
        assert_eq!(
            source(recorded(&report).unwrap()),
            "perf: 12,000 samples with addresses, 9,000 in this program; of 89 % the member or variable is known; \
             HITM 5,000, of which 20 % on members or variables that are not known; most of the others in [kernel.kallsyms]"
        );
    }
}
