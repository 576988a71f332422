//! Records the faults of the calling thread alone, so that tests can run side by side.

use std::cell::RefCell;
use std::sync::Once;
use tenure::fault::Fault;
use tenure::process::set_fault_hook;

thread_local! {
    static SEEN: RefCell<Vec<Fault>> = const { RefCell::new(Vec::new()) };
}

fn record(fault: &Fault) {
    SEEN.with_borrow_mut(|seen| seen.push(*fault));
}

pub(crate) fn recorded<R>(action: impl FnOnce() -> R) -> (R, Vec<Fault>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        set_fault_hook(Some(record));
    });
    SEEN.with_borrow_mut(Vec::clear);
    let result = action();
    (result, SEEN.take())
}
