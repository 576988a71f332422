//! Showing how far a long read is.

/// Is told how far a read has come. Called from several threads.
pub trait Progress: Sync {
    /// A step of `total` units of work begins: `what` is two or three words, such as `reading types`.
    fn begin(&self, what: &str, total: u64);

    /// `done` more units are done.
    fn advance(&self, done: u64);

    /// The step is over.
    fn end(&self);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
