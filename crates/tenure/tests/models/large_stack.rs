//! Room for loom's threads. loom gives them 32 KiB, and its first thread cannot ask for more. Code with full debugging
//! information takes more for some models, above all while a panic unwinds or prints its backtrace.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::RefCell;
use std::convert::Infallible;

/// What std gives a thread. Only pages that were written to take memory.
pub(crate) const BYTES: usize = 2 << 20;

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static IDLE: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` on a stack of its own. Where loom switches threads it also switches away from this stack, and back.
pub(crate) fn on_a_large_stack<R: 'static>(body: impl FnOnce() -> R + 'static) -> R {
    let stack = IDLE.with_borrow_mut(Vec::pop);
    let stack = stack.unwrap_or_else(|| DefaultStack::new(BYTES).expect("there is memory"));
    let mut body = Coroutine::with_stack(stack, |_: &Yielder<(), Infallible>, ()| body());
    let CoroutineResult::Return(result) = body.resume(());
    IDLE.with_borrow_mut(|idle| idle.push(body.into_stack()));
    result
}
