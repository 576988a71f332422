//! Ways to fix a contended line, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Language;

/// What a change does to the words of a line. The simulator knows what each makes of a pattern of accesses, `tenure-advise` how
/// it is written in a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Words that different threads write, and words that they only read, get lines of their own.
    Apart,
    /// Words that are hardly ever written leave the line of those that are.
    ReadMostlyApart,
    /// One addition replaces a compare-exchange loop that only adds.
    AddForLoop,
    /// One addition replaces a lock that guards nothing but a count.
    AddForLock,
    /// Each thread counts in a cell of its own, and a reader sums the cells.
    Cells,
    /// Each thread adds what it has counted once in a while.
    Batch,
    /// Each thread keeps objects of its own, in place of a pool that all take from and give back to.
    OwnObject,
    /// Threads use the object where it is, without a reference of their own.
    Borrow,
    /// Each thread keeps its reference between uses.
    Revocable,
    /// Threads read a value without the lock that guards it.
    ReadUnlocked,
    /// Readers of a lock no longer write a word that other readers write.
    SharedLock,
    /// Several locks, each of a part of what one guarded.
    Shard,
    /// A value is stored only if another one is there.
    TestBeforeStore,
}

impl Remedy {
    /// Its name in reports: a curve and a variant are called so.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apart => "apart",
            Self::ReadMostlyApart => "read_mostly_apart",
            Self::AddForLoop | Self::AddForLock => "one_add",
            Self::Cells => "cells",
            Self::Batch => "batch",
            Self::OwnObject => "own_object",
            Self::Borrow => "borrow",
            Self::Revocable => "revocable",
            Self::ReadUnlocked => "read_unlocked",
            Self::SharedLock => "shared_lock",
            Self::Shard => "shard",
            Self::TestBeforeStore => "test_before_store",
        }
    }

    /// Whether it changes where words lie, and nothing else.
    #[must_use]
    pub const fn is_layout(self) -> bool {
        matches!(self, Self::Apart | Self::ReadMostlyApart)
    }
}

/// The place in the source that a repair changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The language it is written in; `None` for any that no code can be proposed in, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// What gets lines of its own; `None` if that has no name which can be written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<Declaration>,
    /// The type or variable that holds the words; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Where to act, as `file:line`: the declaration, or where the program uses a type that is a library's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Whether the words are a library's: the program cannot change their declaration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_foreign: bool,
}

/// A declaration whose value gets a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Declaration {
    /// A member.
    Member {
        /// Its name.
        name: String,
        /// Its type.
        #[serde(rename = "type")]
        type_name: String,
    },
    /// The elements of an array, each of which is a struct.
    Elements {
        /// The struct.
        #[serde(rename = "type")]
        type_name: String,
    },
    /// The elements of an array, each of which is one word.
    Words {
        /// The word's type.
        #[serde(rename = "type")]
        type_name: String,
    },
    /// Variables, each of which takes whole lines.
    Variables {
        /// Their names.
        names: Vec<String>,
    },
    /// An array whose elements take whole lines.
    Array {
        /// Its name; empty for a member without one.
        name: String,
        /// How many elements it has, the outermost dimension first.
        counts: Vec<u64>,
        /// Whether it is a variable, not a member.
        is_variable: bool,
    },
    /// Elements on the heap that take whole lines.
    Boxed,
}
