//! A line map with its caption and its members.

use serde::Serialize;

use super::super::svg::{self, Alternative};
use crate::report::picture::{Block, Marks, Picture, State};
use crate::report::words;
use crate::result::{Report, TypeMap};

/// The most lines that a map shows in full; of more, those that matter.
const MOST_LINES: usize = 8;

/// The most of these.
const MOST_KEPT: usize = 12;

#[derive(Serialize)]
pub(super) struct MapView {
    caption: String,
    extent: String,
    svg: String,
    members: Vec<Member>,
    /// Whether that is all of them.
    whole: bool,
}

#[derive(Serialize)]
pub(super) struct Member {
    offset: u64,
    size: u64,
    path: String,
    type_name: String,
    says: String,
}

/// A picture of the lines that matter, and not of too many of those.
pub(super) fn folded(
    report: &Report,
    map: &TypeMap,
    marks: &Marks<'_>,
    keep: impl Fn(u64, &[Block]) -> bool,
) -> Picture {
    let kept = std::cell::Cell::new(0);
    Picture::of(map, report.source.line_bytes, marks, MOST_LINES, |index, blocks| {
        let keeps = kept.get() < MOST_KEPT && keep(index, blocks);
        kept.set(kept.get() + usize::from(keeps));
        keeps
    })
}

impl MapView {
    pub(super) fn of(map: &TypeMap, picture: &Picture, when: &str, id: &str) -> Self {
        let caption = format!("{}, {when}", map.name);
        let extent = words::extent(map);
        let marked = |state: State| -> Vec<&str> {
            picture
                .blocks()
                .filter(|block| block.state == state)
                .map(|block| block.path.as_str())
                .collect()
        };
        let mut description = format!("{extent}.");
        for (state, what) in [
            (State::Contended, "contended"),
            (State::Victim, "suffering"),
            (State::Relieved, "suffering no longer"),
        ] {
            let names = marked(state);
            if !names.is_empty() {
                description += &format!(" {what}: {}.", some(&names));
            }
        }
        let alternative = Alternative { id, title: &caption, description: &description };
        let shown = picture.rows.len() as u64;
        Self {
            svg: svg::map(picture, &alternative),
            members: picture.blocks().filter(|block| !block.continued).map(Member::of).collect(),
            whole: shown == map.line_count,
            caption,
            extent,
        }
    }

    /// The same without the table of its members.
    pub(super) fn without_members(self) -> Self {
        Self { members: Vec::new(), ..self }
    }
}

/// Names, as many as one hears.
fn some(names: &[&str]) -> String {
    const MOST: usize = 12;
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}

impl Member {
    fn of(block: &Block) -> Self {
        let hole = block.state == State::Hole;
        Self {
            offset: block.offset,
            size: block.size,
            path: if hole { "(hole)".to_owned() } else { block.path.clone() },
            type_name: block.type_name.clone(),
            says: if hole {
                String::new()
            } else {
                svg::says(block).collect::<Vec<_>>().join(", ")
            },
        }
    }
}
