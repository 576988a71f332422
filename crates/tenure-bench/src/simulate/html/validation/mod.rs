//! How far the simulator is from what was measured and published elsewhere.

mod dots;

use serde::Serialize;

use super::words;
use crate::simulate::result::Check;
use dots::Dot;

/// The section.
#[derive(Serialize)]
pub(super) struct Validation {
    headline: String,
    /// All residuals on one axis, by family.
    overview: String,
    families: Vec<Family>,
}

#[derive(Serialize)]
struct Family {
    name: String,
    tally: String,
    checks: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: String,
    machine: String,
    cpus: String,
    published: String,
    simulated: String,
    unit: String,
    residual: String,
    svg: String,
    within: bool,
    fitted: bool,
    source: String,
    note: String,
}

/// The section; `None` if nothing was compared.
pub(super) fn of(checks: &[Check]) -> Option<Validation> {
    if checks.is_empty() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for check in checks {
        if !names.contains(&check.family.as_str()) {
            names.push(&check.family);
        }
    }
    let families: Vec<(&str, Vec<&Check>)> = names
        .into_iter()
        .map(|name| (name, checks.iter().filter(|check| check.family == name).collect()))
        .collect();
    let tracks: Vec<_> = families
        .iter()
        .map(|(name, checks)| dots::Track {
            name,
            tally: tally(checks),
            dots: checks.iter().map(|check| dot(check)).collect(),
        })
        .collect();
    let headline = words::validity(checks);
    Some(Validation {
        overview: dots::overview(&tracks, "validation-overview", &headline),
        headline,
        families: families
            .iter()
            .enumerate()
            .map(|(family, (name, checks))| Family {
                name: (*name).to_owned(),
                tally: tally(checks),
                checks: checks
                    .iter()
                    .enumerate()
                    .map(|(at, check)| row(check, &format!("validation-{family}-{at}")))
                    .collect(),
            })
            .collect(),
    })
}

fn tally(checks: &[&Check]) -> String {
    let within = checks.iter().filter(|check| check.within).count();
    format!("{} of {}", words::whole(within), words::whole(checks.len()))
}

fn dot(check: &Check) -> Dot {
    Dot { residual: check.residual, within: check.within, fitted: check.fitted }
}

fn row(check: &Check, id: &str) -> Row {
    let [low, high] = check.published.map(words::short);
    let residual = if check.residual.is_finite() {
        format!("{}×", words::ratio(check.residual))
    } else {
        words::number(check.residual)
    };
    Row {
        what: check.what.clone(),
        machine: check.machine.clone(),
        cpus: words::whole(check.cpus),
        published: if low == high { low } else { format!("{low} to {high}") },
        simulated: words::number(check.simulated),
        unit: if check.unit == "x" { "×".to_owned() } else { check.unit.clone() },
        svg: dots::single(dot(check), id, &residual),
        residual,
        within: check.within,
        fitted: check.fitted,
        source: check.source.clone(),
        note: check.note.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn every_check_is_in_its_family_whatever_its_outcome() {
        let checks = fixtures::xeon().validation;
        let section = of(&checks).unwrap();
        let tallies: Vec<_> =
            section.families.iter().map(|it| (it.name.as_str(), it.tally.as_str())).collect();
        assert_eq!(
            tallies,
            [("retries", "2 of 3"), ("add-cas", "2 of 3"), ("core to core", "1 of 1")]
        );
        let rows: usize = section.families.iter().map(|family| family.checks.len()).sum();
        assert_eq!(rows, checks.len());
    }

    #[test]
    fn a_range_has_two_ends_and_a_value_has_one() {
        let checks = fixtures::xeon().validation;
        assert_eq!(row(&checks[0], "a").published, "3.3");
        assert_eq!(row(&checks[1], "a").published, "1.2 to 1.6");
        assert_eq!(row(&checks[3], "a").unit, "×");
    }

    #[test]
    fn without_checks_there_is_no_section() {
        assert!(of(&[]).is_none());
    }
}
