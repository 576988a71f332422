//! What is asked of an editor, and how it refuses.

use std::fmt;
use std::path::PathBuf;

/// A change that is an edit of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceChange {
    /// Members of the struct at the place, or of one that it has, get lines of their own.
    MembersApart {
        /// Their names, or their paths such as `queue.head`: those of one list may share a line.
        lines: Vec<Vec<String>>,
    },
    /// The struct at the place takes whole lines, as elements of arrays do then.
    TypeApart,
    /// Variables get lines of their own: the place is that of one of them.
    VariablesApart {
        /// Their names.
        names: Vec<String>,
    },
    /// The members of the struct at the place are declared in another order.
    Order {
        /// All members, in their new order.
        members: Vec<String>,
    },
    /// Additions to a member of the struct at the place, or to the variable there, are counted per thread.
    CountPerThread {
        /// Its name.
        name: String,
    },
    /// The store at the place is made only if it changes the value.
    TestBeforeStore {
        /// What is stored to: the last part of its path.
        name: String,
    },
    /// The clone at the place is borrowed.
    Borrow,
}

impl SourceChange {
    /// The names that the change is about, without the members that lead to them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let last = |path: &String| path.rsplit('.').next().unwrap_or_default().to_owned();
        match self {
            Self::MembersApart { lines } => lines.iter().flatten().map(last).collect(),
            Self::VariablesApart { names } | Self::Order { members: names } => names.clone(),
            Self::CountPerThread { name } | Self::TestBeforeStore { name } => vec![name.clone()],
            Self::TypeApart | Self::Borrow => Vec::new(),
        }
    }
}

/// A place in the source, as debugging information has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
}

/// How edits are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditOptions {
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// What Rust types are padded with.
    pub padding: Padding,
}

/// What Rust types are padded with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Padding {
    /// `crossbeam_utils::CachePadded`: of a crate that most trees already have.
    #[default]
    Crossbeam,
    /// `tenure::cache_line::CachePadded`.
    Tenure,
    /// A type of the program's own, written beside its first use: no dependency.
    Own,
}

/// Why a change is not edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub place: SourcePlace,
    /// Why: a clause such as "`hits` is declared by a macro".
    pub why: String,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

impl std::error::Error for Refusal {}
