//! [`Wake`]: wakers out of `Arc`s.

use super::Arc;
use core::mem::ManuallyDrop;
use core::task::{RawWaker, RawWakerVTable, Waker};

/// Wakes a task: [`std::task::Wake`] for this crate's [`Arc`], as an argument: std's trait has it as a receiver, which
/// stable Rust grants to std's `Arc` alone.
///
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use std::task::Waker;
/// use tenure::arc::Wake;
/// use tenure::sync::Arc;
///
/// struct Task { ready: Sender<u32>, id: u32 }
///
/// impl Wake for Task {
///     fn wake(this: Arc<Self>) {
///         this.ready.send(this.id).unwrap();
///     }
/// }
///
/// let (ready, queue) = channel();
/// let waker = Waker::from(Arc::new(Task { ready, id: 7 }));
/// waker.wake();
/// assert_eq!(queue.recv(), Ok(7));
/// ```
///
/// [`std::task::Wake`]: https://doc.rust-lang.org/std/task/trait.Wake.html
pub trait Wake {
    /// Wakes the task, and uses the `Arc` up.
    fn wake(this: Arc<Self>);

    /// Wakes the task. Clones the `Arc` unless it is overridden.
    fn wake_by_ref(this: &Arc<Self>) {
        Self::wake(Arc::clone(this));
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    /// No allocation; clones and drops of the waker are those of the `Arc`.
    fn from(waker: Arc<W>) -> Self {
        // SAFETY: the table keeps RawWaker's contract: its functions are thread-safe (`W: Send + Sync`), clone takes a
        // reference, wake and drop give one back, and `wake_by_ref` does neither.
        unsafe { Self::from_raw(waker.into()) }
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for RawWaker {
    /// The `Arc`'s reference goes into the raw waker.
    fn from(waker: Arc<W>) -> Self {
        Self::new(Arc::into_raw(waker).cast(), vtable::<W>())
    }
}

fn vtable<W: Wake + Send + Sync + 'static>() -> &'static RawWakerVTable {
    &RawWakerVTable::new(clone::<W>, wake::<W>, wake_by_ref::<W>, release::<W>)
}

/// # Safety
///
/// In this and the next functions `waker` is from `Arc::<W>::into_raw`, and its reference is alive.
unsafe fn clone<W: Wake + Send + Sync + 'static>(waker: *const ()) -> RawWaker {
    // SAFETY: see above; the caller owns a reference throughout.
    unsafe { Arc::increment_strong_count(waker.cast::<W>()) };
    RawWaker::new(waker, vtable::<W>())
}

/// # Safety
///
/// As [`clone`]; the reference is the callee's.
unsafe fn wake<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: the caller gives its reference.
    W::wake(unsafe { Arc::from_raw(waker.cast::<W>()) });
}

/// # Safety
///
/// As [`clone`].
unsafe fn wake_by_ref<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: the caller keeps its reference: this Arc is only looked at.
    let waker = ManuallyDrop::new(unsafe { Arc::from_raw(waker.cast::<W>()) });
    W::wake_by_ref(&waker);
}

/// # Safety
///
/// As [`clone`]; the reference is the callee's.
unsafe fn release<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: the caller gives its reference.
    unsafe { Arc::decrement_strong_count(waker.cast::<W>()) };
}
