//! The answer in short, at the head of a page.

use serde::Serialize;

use tenure_report::parts::{Parts, marked};

use crate::prose::answer as prose;
use tenure_model::{Report, Source};

/// The changes worth making, and where the time went.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// `on 16 CPUs`.
    on_cpus: String,
    changes: Vec<ChangeView>,
    not_worth: Option<String>,
    running: Vec<TimeRow>,
    /// How many CPUs it used.
    used: Option<String>,
    idle: Vec<TimeRow>,
}

#[derive(Serialize)]
struct ChangeView {
    number: String,
    place: String,
    what: Parts,
    gain: String,
    /// The place in the page of the finding that it fixes.
    anchor: Option<String>,
}

#[derive(Serialize)]
struct TimeRow {
    share: String,
    what: String,
    /// The share as a width.
    width: String,
}

impl AnswerView {
    /// That of a run; `anchor` says where the finding of a rank is.
    pub(super) fn of(report: &Report, anchor: impl Fn(u64) -> Option<String>) -> Option<Self> {
        let (Source::Run(run), Some(answer)) = (&report.source, &report.answer) else {
            return None;
        };
        let changes = prose::changes(answer).into_iter().map(|row| ChangeView {
            number: row.number,
            place: row.place,
            what: marked(&row.what),
            gain: row.gain,
            anchor: row.finding.and_then(&anchor),
        });
        let row = |(share, what): (String, String)| TimeRow {
            width: share.replace(' ', ""),
            share,
            what,
        };
        let time = run.time.as_ref();
        let rows = |of: Option<Vec<_>>| of.unwrap_or_default().into_iter().map(row).collect();
        Some(Self {
            on_cpus: prose::on_cpus(answer),
            changes: changes.collect(),
            not_worth: prose::not_worth(answer),
            running: rows(time.map(prose::running)),
            used: time.map(prose::used),
            idle: rows(time.map(prose::idle)),
        })
    }
}
