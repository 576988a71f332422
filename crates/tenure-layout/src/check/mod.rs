//! Checks a rules file against a model.

mod holds;
mod subject;

use crate::rules::{Assertion, Rules};
use tenure_debuginfo::model::Model;
use tenure_model::Check;

/// Runs the checks in their order: one result for each type that a check names, and a failed one where there is none.
pub(crate) fn check(rules: &Rules, model: &Model, line_bytes: u64) -> Vec<Check> {
    let possible = line_bytes.is_power_of_two() && line_bytes <= 4096;
    assert!(possible, "a line of {line_bytes} bytes");
    let mut checks = Vec::new();
    for rule in &rules.checks {
        for pattern in &rule.types {
            let subjects = subject::of_pattern(model, pattern, line_bytes);
            if subjects.is_empty() {
                let found = subject::none_of(model, pattern);
                checks.push(Check { rule: rule.of_type(pattern.as_str()), passed: false, found });
            }
            for subject in subjects {
                let result = match &rule.claim {
                    Assertion::Apart { from } => holds::apart(rule, from, &subject),
                    Assertion::Fits { group, lines, bytes } => {
                        holds::fits(rule, group, (*lines, *bytes), &subject)
                    }
                    Assertion::Within { group, of } => holds::contains(rule, group, of, &subject),
                };
                let (passed, found) = match result {
                    Ok(found) => (true, found),
                    Err(found) => (false, found),
                };
                let found = format!("{}{found}", subject.which());
                checks.push(Check { rule: rule.of_type(&subject.name), passed, found });
            }
        }
    }
    checks
}

#[cfg(test)]
mod tests;
