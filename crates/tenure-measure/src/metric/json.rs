//! What tools export as JSON: google-benchmark, JMH and hyperfine. A program may print it among other lines.

use serde_json::{Deserializer, Value};

use super::figures::Figures;
use super::formats::{Repetitions, add_jmh, jmh_name};

/// Reads each JSON document that begins a line. Text that only begins like one is passed over, up to where it stops being JSON.
pub(super) fn read(text: &str, figures: &mut Figures) {
    let mut rest = text;
    while !rest.is_empty() {
        let mut skipped = 1;
        if rest.starts_with(['{', '[']) {
            let mut documents = Deserializer::from_str(rest).into_iter::<Value>();
            match documents.next() {
                Some(Ok(document)) => {
                    read_document(&document, figures);
                    rest = &rest[documents.byte_offset()..];
                }
                // Line 1 is this one. The line with the error may begin a document itself.
                Some(Err(error)) => skipped = error.line().saturating_sub(1).max(1),
                None => {}
            }
        }
        rest = rest.splitn(skipped + 1, '\n').nth(skipped).unwrap_or("");
    }
}

fn read_document(document: &Value, figures: &mut Figures) {
    let mut repetitions = Repetitions::default();
    for row in list(&document["benchmarks"]) {
        read_google(row, &mut repetitions, figures);
    }
    for row in list(document) {
        read_jmh(row, figures);
    }
    for row in list(&document["results"]) {
        if let (Some(command), Some(seconds)) = (row["command"].as_str(), typical(row)) {
            figures.add(command, Some(seconds), "s");
        }
    }
}

fn read_google(row: &Value, repetitions: &mut Repetitions, figures: &mut Figures) {
    let (Some(name), Some(unit)) = (row["name"].as_str(), row["time_unit"].as_str()) else {
        return;
    };
    let Some(name) = repetitions.name(name, figures) else { return };
    figures.add(name, row["real_time"].as_f64(), unit);
    figures.add_beside(name, "cpu", row["cpu_time"].as_f64(), unit);
    for (counter, value) in row.as_object().into_iter().flatten() {
        if let Some(what) = counter.strip_suffix("_per_second") {
            figures.add_derived(name, counter, value.as_f64(), &format!("{what}/s"));
        }
    }
}

fn read_jmh(row: &Value, figures: &mut Figures) {
    let (Some(name), Some(unit)) =
        (row["benchmark"].as_str(), row["primaryMetric"]["scoreUnit"].as_str())
    else {
        return;
    };
    let parameters = row["params"].as_object().into_iter().flatten();
    let parameters =
        parameters.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
    let name = jmh_name(name, parameters, row["mode"].as_str().unwrap_or_default());
    add_jmh(&name, row["primaryMetric"]["score"].as_f64(), unit, figures);
}

/// hyperfine's median, which others that write its format may leave out.
fn typical(row: &Value) -> Option<f64> {
    let times: Vec<_> = list(&row["times"]).iter().filter_map(Value::as_f64).collect();
    row["median"]
        .as_f64()
        .or_else(|| tenure_report::stats::median(&times))
        .or_else(|| row["mean"].as_f64())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
