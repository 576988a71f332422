use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a thread does to a word.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic load.
    Load,
    /// An atomic store.
    Store,
    /// An atomic addition or subtraction.
    Add,
    /// A compare-exchange that took effect.
    CompareExchange,
    /// A compare-exchange that failed. Reports leave it out.
    Failed,
    /// A lock of the C library, taken.
    Lock,
    /// A lock of the C library, given back. Reports leave it out.
    Unlock,
    /// Another atomic operation that cannot fail: an exchange, an `or` and its like.
    Exchange,
}

impl Access {
    /// Whether it may take a lock.
    #[must_use]
    pub const fn takes(self) -> bool {
        matches!(self, Self::Lock | Self::CompareExchange)
    }

    /// Whether the line has to be this core's alone for it. A failed compare-exchange takes the line as a write does.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Load)
    }
}
