//! Line maps of types, and better layouts of their members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Role;
use crate::SourceEdit;

/// How a type lies on lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TypeMap {
    /// Its name.
    pub name: String,
    /// `struct`, `union` or `variants`.
    pub shape: String,
    /// Bytes.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// Where it was declared, as `file:line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// Lines that it takes when it starts on one: more than [`lines`](Self::lines) has if the type
    /// is so large that its map was cut.
    pub line_count: u64,
    /// Bytes from its start. A line of which nothing is to be said but that an array or a large member
    /// covers it may be left out: see [`Line::index`].
    pub lines: Vec<Line>,
}

/// One cache line of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Number from 0.
    pub index: u64,
    /// What lies there, by offset, holes included: together they cover the line up to the type's
    /// end. Members of unions may lie over each other; of those only the first is a cell, and its
    /// path says so.
    pub cells: Vec<Cell>,
}

/// A member, or the part of it that lies on one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The path from the type; empty for a hole.
    pub path: String,
    /// Its type's name; empty for a hole.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Offset, from the start of the type, of the part that lies on this line.
    pub offset: u64,
    /// Bytes of the part that lies on this line. Bit fields that share bytes are one cell.
    pub size: u64,
    /// What is known of it. Of a hole: cold.
    pub role: Role,
    /// Whether it is a hole: bytes that belong to no member. Left out if not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hole: bool,
    /// Whether it began on the line before. Left out if not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continued: bool,
}

// By reference, as serde calls it.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// How a contended word is kept apart from its neighbours.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The order of the members alone.
    #[default]
    Order,
    /// Alignment: it has lines of its own in the object.
    Align,
    /// It lies elsewhere, and the object has a pointer to it.
    Split,
}

/// A new layout of a type: the one that is recommended, and the others in a line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The means by which it helps.
    #[serde(default)]
    pub means: Means,
    /// Bytes that an object takes more, with the lines that hold what is split off.
    #[serde(default)]
    pub price: i64,
    /// A sentence: what moves where and why, and what it costs.
    pub summary: String,
    /// Members that change place, in their new order.
    pub moves: Vec<Move>,
    /// All members of the type in the new order, as they would be written down; padding is a member
    /// named `(N bytes of padding)`.
    pub order: Vec<String>,
    /// The order as edits of the source, as those of a repair.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SourceEdit>,
    /// The type before and after.
    pub before: TypeMap,
    /// The same, after.
    pub after: TypeMap,
    /// Every type that embeds this one as a member.
    pub embedders: Vec<Embedder>,
    /// The sum of the scores of all findings of the type and of those through embedding it, before.
    pub score_before: f64,
    /// The same, after.
    pub score_after: f64,
    /// What still shares a line with a contended word afterwards, and what to check when applying
    /// the change. Each a sentence.
    pub notes: Vec<String>,
    /// The best by other means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
}

/// A layout that was built and scored, and is not drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// The means by which it helps.
    pub means: Means,
    /// A sentence: what to do, and what it costs.
    pub summary: String,
    /// Bytes of an object, without what is split off.
    pub size: u64,
    /// The same as [`Suggestion::price`].
    pub price: i64,
    /// The same as [`Suggestion::score_after`].
    pub score_after: f64,
}

/// A type for which no better layout was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unfixed {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Why not, and what else would help: a sentence.
    pub why: String,
}

/// A member that changes place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// Its name.
    pub member: String,
    /// Where it was.
    pub from: u64,
    /// Where it goes.
    pub to: u64,
}

/// A type that embeds another one whose order changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Embedder {
    /// Its name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its size before.
    pub size_before: u64,
    /// Its size after.
    pub size_after: u64,
    /// Its own members that move in the same repair, in their new order; empty where only the
    /// embedded type changes.
    pub moves: Vec<Move>,
    /// Before and after, for those that take part in the repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TypeMap>,
    /// The same, after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<TypeMap>,
}
