//! What an analysis found: the types of `tenure layout --json`, from which its schema is generated.
//!
//! Everything that shows findings (tables, maps, the HTML page) reads a [`Report`] and nothing else.
//! Offsets and sizes are bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of this form. Fields may be added to it; a change to what is there makes a new one.
pub const SCHEMA: &str = "tenure-layout/1";

/// Everything that one call found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the command.
    pub tenure: String,
    /// What was read.
    pub source: Source,
    /// What was asked for and how much of it is here.
    pub scope: Scope,
    /// From the worst down.
    pub findings: Vec<Finding>,
    /// The maps of the types that findings and suggestions name, and of those asked for.
    pub maps: Vec<TypeMap>,
    /// Repairs, if they were asked for.
    pub suggestions: Vec<Suggestion>,
    /// The types for which a repair was asked for and none was found.
    pub unmended: Vec<Unmended>,
    /// What the checks of a rules file said, if there was one.
    pub checks: Vec<Check>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The path.
    pub path: String,
    /// `dwarf` or `btf`.
    pub format: String,
    /// Translation units; 1 for BTF.
    pub units: u64,
    /// Structs, unions and classes, each counted once.
    pub composites: u64,
    /// Of those, the ones that contain a contended word, by embedding too.
    pub contended: u64,
    /// Variables with fixed addresses.
    pub statics: u64,
    /// The size of a cache line that was assumed.
    pub line_bytes: u64,
}

/// What was asked for and how much of it is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The patterns of type names that were asked for; empty for all types.
    pub types: Vec<String>,
    /// How many findings there are in these types.
    pub findings: u64,
    /// The most that were asked for.
    pub top: u64,
}

/// What somebody does with a member.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A reference count, taken and given back by whoever uses the object.
    Count,
    /// A lock: it guards its neighbours, and whoever writes it is about to use them.
    Lock,
    /// A sequence count: written by few, read before and after its neighbours by all.
    Sequence,
    /// Another atomic word.
    Atomic,
    /// A plain word that a rules file says many CPUs write.
    Written,
    /// Read often, written hardly ever.
    ReadMostly,
    /// Used where time does not matter: when an object is made, freed or debugged.
    Cold,
    /// Nothing is known of it.
    Plain,
}

impl Role {
    /// Whether many CPUs write it.
    #[must_use]
    pub fn is_contended(self) -> bool {
        matches!(self, Self::Count | Self::Lock | Self::Sequence | Self::Atomic | Self::Written)
    }
}

/// A member that shares its line with a contended word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// From 1, among all findings of the input.
    pub rank: u64,
    /// The type to mend; the section for [`Sharing::Statics`], and the variable if that is an array of
    /// bare words.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Where it was declared, as `file:line`.
    pub declared: Option<String>,
    /// How the two come to share a line.
    pub sharing: Sharing,
    /// The word that many CPUs write.
    pub contended: Word,
    /// Those that suffer, the worst first. Never empty.
    pub victims: Vec<Victim>,
    /// From 0 to 100: see [`signals`](Self::signals).
    pub score: f64,
    /// Why the score is what it is: it is their product, times 100.
    pub signals: Vec<Signal>,
    /// How sure it is that they share a line at all.
    pub confidence: Confidence,
}

/// How a member and a contended word come to share a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Sharing {
    /// Both are in the type itself.
    Within,
    /// One of them is in `inner`, which the type contains as `member` at `offset`.
    Embedding {
        /// The embedded type.
        inner: String,
        /// The member that embeds it: its path.
        member: String,
        /// Where it lies.
        offset: u64,
    },
    /// They are in neighbouring elements of an array of the type.
    Elements {
        /// The variable or the member (`type.member`) that is the array.
        array: String,
        /// From one element to the next.
        stride: u64,
        /// Elements.
        count: u64,
    },
    /// They are variables next to each other.
    Statics {
        /// The section.
        section: String,
        /// Where the contended word lies.
        address: u64,
    },
}

/// A contended word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Word {
    /// The path from the type, such as `dst.__refcnt`, or the variable.
    pub path: String,
    /// From the start of the type; of a variable, from the start of its line.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Its type's name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What it is. Always contended.
    pub role: Role,
    /// Which line of the type it lies on, from 0.
    pub line: u64,
}

/// A member beside a contended word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Victim {
    /// The path from the type, or the variable.
    pub path: String,
    /// From the start of the type; of a variable, from the start of its line.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Its type's name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What is known of it.
    pub role: Role,
    /// How likely others read it while the word is written: from 0 to 1.
    pub weight: f64,
    /// Where the weight comes from, in a few words.
    pub why: String,
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    /// Its name, one of those that the documentation lists.
    pub name: String,
    /// What the score was multiplied by.
    pub factor: f64,
    /// What was seen, in words.
    pub seen: String,
}

/// How sure it is that two members share a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// In a word.
    pub level: Level,
    /// The share of the addresses that the type's alignment allows at which they do: 1 for an
    /// alignment of a line or more.
    pub placements: f64,
    /// The reason, in words.
    pub why: String,
}

/// How sure.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// At fewer than half of the placements.
    Low,
    /// At most placements.
    Medium,
    /// Wherever it lies.
    High,
}

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
    pub declared: Option<String>,
    /// Lines that it takes when it starts on one: more than [`lines`](Self::lines) has if the type
    /// is so large that its map was cut.
    pub line_count: u64,
    /// From its start. A line of which nothing is to be said but that an array or a large member
    /// covers it may be left out: see [`Line::index`].
    pub lines: Vec<Line>,
}

/// One cache line of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// From 0.
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
    /// From the start of the type, of the part that lies on this line.
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

/// A new order of a type's members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// In a sentence: what moves where and why, and what it costs.
    pub summary: String,
    /// Members that change place, in their new order.
    pub moves: Vec<Move>,
    /// All members of the type in the new order, as they would be written down; padding is a member
    /// named `(N bytes of padding)`.
    pub order: Vec<String>,
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
    /// What still shares a line with a contended word afterwards, and what to look after when
    /// applying the change. Each a sentence.
    pub notes: Vec<String>,
}

/// A renderer draws at most this many embedding types, and lists the moves and sizes of the others.
const MOST_DRAWN: usize = 3;

impl Suggestion {
    /// The embedding types to draw, with their maps before and after, and how many more take part.
    pub(super) fn drawn(&self) -> (Vec<(&Embedder, &TypeMap, &TypeMap)>, u64) {
        let with_maps = self
            .embedders
            .iter()
            .filter_map(|it| Some((it, it.before.as_ref()?, it.after.as_ref()?)));
        let mut drawn: Vec<_> = with_maps.collect();
        let more = drawn.len().saturating_sub(MOST_DRAWN) as u64;
        drawn.truncate(MOST_DRAWN);
        (drawn, more)
    }
}

/// A type for which no better order was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unmended {
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
    pub before: Option<TypeMap>,
    /// The same, after.
    pub after: Option<TypeMap>,
}

/// What one check of a rules file said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The check in words: `dst_entry.lwtstate must not share a line with dst_entry.__refcnt`.
    pub rule: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was found, with the offsets.
    pub found: String,
}
