//! [`Place`]: which of a measurement's threads does an operation.

/// One of the threads that use an object at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number, from 0.
    pub thread: usize,
    /// How many there are.
    pub of: usize,
}

impl Place {
    /// The only thread.
    pub const ALONE: Self = Self { thread: 0, of: 1 };
}
