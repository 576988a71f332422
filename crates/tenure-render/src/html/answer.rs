//! The answer in short, at the head of a page.

use serde::Serialize;

use tenure_report::parts::{Parts, marked};

use crate::prose::answer as prose;
use tenure_model::{Report, Source};

/// The changes worth making, and where the time went.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// `on 16 CPUs`, over each column of gains.
    on_cpus: Vec<String>,
    changes: Vec<ChangeView>,
    not_worth: Option<String>,
    read_so: Option<String>,
    try_it: Option<Parts>,
    /// Where the time of all CPUs went, and how many it used.
    time: Vec<TimeRow>,
    used: Option<String>,
}

#[derive(Serialize)]
struct ChangeView {
    number: Option<u64>,
    place: String,
    what: Parts,
    gains: Vec<String>,
    /// The place in the page of the finding that it fixes.
    anchor: Option<String>,
}

#[derive(Serialize)]
struct TimeRow {
    share: String,
    what: Parts,
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
            gains: row.gains,
            anchor: row.number.and_then(&anchor),
        });
        let row = |(share, what): (String, String)| TimeRow {
            width: share.replace(' ', ""),
            share,
            what: marked(&what),
        };
        let time = run.time.as_ref();
        Some(Self {
            changes: changes.collect(),
            on_cpus: prose::on_cpus(answer),
            not_worth: prose::not_worth(answer),
            read_so: prose::read_so(answer, run),
            try_it: prose::try_it(answer, run).map(|said| marked(&said)),
            time: time.map(prose::time).into_iter().flatten().map(row).collect(),
            used: time.map(prose::used),
        })
    }
}
