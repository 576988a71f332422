//! Reports whose texts and figures no analysis would make: renderers survive them and let nothing through.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use tenure_report::chart::checks;
use tenure_report::terminal::Style;

use crate::html::HtmlExporter;
use crate::json::JsonExporter;
use crate::terminal::TerminalExporter;
use crate::{Exporter, clean, fixtures};
use tenure_model::Report;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{200e}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{feff}\u{fffe}\u{ffff}a/:.]{0,12}",
        "(a::|<|>|\\[[0-9]\\]|`|/|\\.|::|\\*|é|缓){0,40}",
        "(</script>|<script>|&lt;|\"|'|--|\\]\\]>){0,4}",
    ]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..200_u64, any::<u64>(), Just(u64::MAX)]
}

/// A fixture with other texts, and a run's with other figures too.
fn report() -> impl Strategy<Value = Report> {
    let names = 0..fixtures::all().len();
    (names, vec(text(), 1..24), vec(count(), 1..24), vec(any::<f64>(), 1..24)).prop_map(
        |(fixture, texts, counts, figures)| {
            let mut next = 0;
            let mut value = serde_json::to_value(&fixtures::all()[fixture].1).unwrap();
            let is_a_run = value["source"]["kind"] == "run";
            change("", &mut value, &mut |field, value| {
                next += 1;
                match value {
                    Value::String(text) if !fixtures::is_a_word(field) => {
                        text.clone_from(&texts[next % texts.len()]);
                    }
                    _ if !is_a_run || ["line_bytes", "status"].contains(&field) => {}
                    Value::Number(number) if number.is_f64() => {
                        *value = figures[next % figures.len()].into();
                    }
                    Value::Number(_) => {
                        let count = counts[next % counts.len()];
                        let signed = count.cast_signed();
                        let is_signed = ["line_offset", "offset"].contains(&field);
                        *value = if is_signed { signed.into() } else { count.into() };
                    }
                    _ => {}
                }
            });
            // Figures that are not finite have become `null`: as in `clean`.
            let text = value.to_string().replace("null", "0.0");
            serde_json::from_str(&text).unwrap()
        },
    )
}

fn change(field: &str, value: &mut Value, with: &mut impl FnMut(&str, &mut Value)) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|each| change(field, each, with)),
        Value::Object(all) => all.iter_mut().for_each(|(field, each)| change(field, each, with)),
        leaf => with(field, leaf),
    }
}

fn is_harmless(text: &str) -> bool {
    text.chars().all(|each| each == '\n' || !clean::steers(each))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_terminal_gets_no_character_that_steers_it(report in report(), width in 0..200_usize) {
        let plain = TerminalExporter::new(Style { width, colour: false }).export(&report);
        prop_assert!(is_harmless(&plain));
        let coloured = TerminalExporter::new(Style { width, colour: true }).export(&report);
        prop_assert!(is_harmless(&console::strip_ansi_codes(&coloured)));
    }

    #[test]
    fn a_page_gets_none_either_and_no_markup(report in report()) {
        let page = HtmlExporter.export(&report);
        let data = page.find("<script type=\"application/json\"").unwrap();
        prop_assert!(is_harmless(&page[..data]));
        prop_assert_eq!(page.matches("<script").count(), 3);
        checks::charts_are_sound(&page);
    }

    #[test]
    fn json_read_back_is_what_was_written(report in report()) {
        prop_assert_eq!(serde_json::from_str::<Report>(&JsonExporter.export(&report)).unwrap(), report);
    }
}
