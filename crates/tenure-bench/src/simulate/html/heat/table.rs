//! The figures of all lines, as rows of a table.

use serde::Serialize;

use super::told;
use crate::simulate::html::words::number;
use crate::simulate::result::{Line, Member, Row};

/// A variant's lines.
#[derive(Serialize)]
pub(super) struct Variant {
    name: String,
    lines: Vec<Moved>,
}

#[derive(Serialize)]
struct Moved {
    /// Of the line as a whole: what moved, and from where.
    title: String,
    members: Vec<(String, Vec<String>)>,
}

/// The rows of a variant; `None` if nothing moved.
pub(super) fn variant(row: &Row) -> Option<Variant> {
    let lines: Vec<_> =
        row.lines.iter().enumerate().map(|(at, line)| moved(at + 1, line)).collect();
    (!lines.is_empty()).then(|| Variant { name: row.variant.clone(), lines })
}

fn moved(at: usize, line: &Line) -> Moved {
    let mut parts = super::origins(&line.transfers_per_op);
    if line.far_per_op > 0.0 {
        parts.push(format!("{} far", number(line.far_per_op)));
    }
    let moved = number(line.transfers_per_op.all);
    let origins = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    Moved {
        title: format!("line {at}: {moved} transfers/op{origins}"),
        members: line.members.iter().map(|it| (told::name(it), figures(it))).collect(),
    }
}

fn figures(member: &Member) -> Vec<String> {
    let mut figures = vec![member.offset.to_string(), member.bytes.to_string()];
    let per_op = [
        member.loads_per_op,
        member.stores_per_op,
        member.rmws_per_op,
        member.failed_per_op,
        member.misses_per_op,
        member.waited_ns_per_op,
    ];
    figures.extend(per_op.map(number));
    figures
}
