//! Every text of a report or a comparison, without what must not reach a terminal or a page.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The report without characters that act instead of showing (control characters, marks that turn text around).
pub(super) fn cleaned<T: Serialize + DeserializeOwned>(report: &T) -> T {
    changed(report, &|_, text| {
        if text.chars().any(steers) {
            *text = text.chars().map(|each| if steers(each) { '\u{fffd}' } else { each }).collect();
        }
    })
}

/// Control characters, Unicode's directional marks, embeddings, overrides and isolates, and what XML does not allow.
pub(super) fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// The report with every text changed, given the name of its field. By way of its JSON, so that no text is left out.
pub(super) fn changed<T: Serialize + DeserializeOwned>(
    report: &T,
    with: &dyn Fn(&str, &mut String),
) -> T {
    let mut value =
        serde_json::to_value(report).expect("a report is made of strings, numbers and lists");
    each_text("", &mut value, with);
    serde_json::from_value(value).expect("its form is the same")
}

fn each_text(field: &str, value: &mut Value, with: &dyn Fn(&str, &mut String)) {
    match value {
        Value::String(text) => with(field, text),
        Value::Array(all) => all.iter_mut().for_each(|each| each_text(field, each, with)),
        Value::Object(all) => all.iter_mut().for_each(|(field, each)| each_text(field, each, with)),
        // A field that may be empty is left out: this is a figure that is not finite.
        Value::Null => *value = 0.into(),
        Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_figure_that_is_not_finite_is_survived() {
        let mut report = fixtures::route();
        report.findings[0].score = f64::NAN;
        assert_eq!(cleaned(&report).findings[0].score, 0.0);
    }
}
