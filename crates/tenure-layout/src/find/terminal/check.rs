//! Checks, one by one.

use console::Style as Look;

use super::text::Text;
use crate::find::Report;
use crate::find::words;

pub(super) fn render(text: &mut Text, report: &Report) {
    if report.checks.is_empty() {
        return;
    }
    let style = text.style();
    text.blank();
    text.strong("Checks");
    for check in words::ordered(&report.checks) {
        let (sign, look) = if check.passed {
            ("✓", Look::new().green())
        } else {
            ("✗", Look::new().red().bold())
        };
        let sentence = style.wrapped(&format!("{sign} {}", check.rule), "  ");
        text.line(&sentence.replacen(sign, &style.text(look, sign), 1));
        // What holds needs no words.
        if !check.passed {
            text.wrapped(&check.found, "    ");
        }
    }
    text.blank();
    text.strong(&words::checks(&report.checks));
}
