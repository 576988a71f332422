//! Checks a rules file against a model.
//!
//! ```
//! use tenure_types::model::{Builder, Format, Kind, Member, Scalar, Shape};
//! use tenure_layout::{check::check, rules::Rules};
//!
//! let mut builder = Builder::new();
//! let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
//! let members = vec![Member::new("__refcnt", 64, int), Member::new("error", 104, int)];
//! builder.add("dst_entry", 112, Kind::Composite { shape: Shape::Struct, members });
//! let model = builder.finish(Format::Btf, 1)?;
//!
//! let text = "[[apart]]\ntype = 'dst_entry'\nmember = 'error'\nfrom = '__refcnt'";
//! let rules = Rules::parse(text, "my-rules.toml")?;
//! let checks = check(&rules, &model, 64);
//! assert!(!checks[0].passed);
//! assert_eq!(checks[0].rule, "dst_entry.error must not share a line with dst_entry.__refcnt");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod holds;
mod subject;

use crate::rules::{CheckRule, Rules};
use tenure_model::Check;
use tenure_types::model::Model;

/// Runs the checks in their order: one result for each type that a check names, and a failed one where there is none.
///
/// # Panics
///
/// `line_bytes` is not a power of two or above 4096.
#[must_use]
pub fn check(rules: &Rules, model: &Model, line_bytes: u64) -> Vec<Check> {
    let possible = line_bytes.is_power_of_two() && line_bytes <= 4096;
    assert!(possible, "a line of {line_bytes} bytes");
    let mut checks = Vec::new();
    for rule in rules.checks() {
        for pattern in rule.types() {
            let subjects = subject::of_pattern(model, pattern, line_bytes);
            if subjects.is_empty() {
                let found = subject::none_of(model, pattern);
                checks.push(Check { rule: rule.of_type(pattern.as_str()), passed: false, found });
            }
            for subject in subjects {
                let result = match rule {
                    CheckRule::Apart(apart) => holds::apart(apart, &subject),
                    CheckRule::Group(group) => holds::fits(group, &subject),
                    CheckRule::Within(within) => holds::contains(within, &subject),
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
