use std::cell::RefCell;

struct AtEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.take().unwrap()();
    }
}

thread_local! {
    static AT_END: RefCell<Vec<AtEnd>> = const { RefCell::new(Vec::new()) };
}

/// Calls `last` when the calling thread's thread-locals are destroyed: in the reverse order of their first use, so a
/// thread that asked for its number before still has it then.
pub(crate) fn at_end(last: impl FnOnce() + 'static) {
    AT_END.with_borrow_mut(|all| all.push(AtEnd(Some(Box::new(last)))));
}
