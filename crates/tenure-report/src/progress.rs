//! [`Progress`]: how whoever waits for a long piece of work sees it go on.

/// Shows how far long work is. Called from several threads.
pub trait Progress: Sync {
    /// A step of `total` units of work begins: `what` is two or three words, such as `reading types`.
    fn begin(&self, what: &str, total: u64);

    /// `done` more units are done.
    fn advance(&self, done: u64);

    /// The step is over.
    fn end(&self);
}

/// Shows nothing.
impl Progress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
