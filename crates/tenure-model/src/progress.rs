/// Shows the progress of long work. Several threads may call it at once.
pub trait Progress: Sync {
    /// Work of `total` units begins: `what` is one to three words, such as `reading types` or `measuring`.
    fn begin(&self, what: &str, total: u64);

    /// The present subject, such as `refs/get-put`, and condition, such as `2 threads`.
    fn at(&self, subject: &str, condition: &str) {
        let _ = (subject, condition);
    }

    /// `done` more units are done.
    fn advance(&self, done: u64);

    /// The work is over.
    fn end(&self);
}

/// Shows nothing.
impl Progress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
