//! [`CachedGuard`]: a read without a reader.

use crate::lazy::guard::guard;
use crate::lazy::seat::InUse;
use crate::lazy::{Seat, Shootdown};
use crate::memory::{Native, Threads};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr;

/// The guard of [`Cached::read`](super::Cached::read): the value as it was read, until the drop. Stays on its thread.
///
/// Not counted. If the value is replaced meanwhile the guard keeps it, and its drop may be the one that drops the value.
/// Forgetting a guard makes later reads of this thread slower.
#[must_use = "the value is in use until the guard is dropped"]
pub struct CachedGuard<'c, T, M: Threads = Native> {
    in_use: ManuallyDrop<InUse<'c, T, Shootdown, M>>,
    seat: GuardStaysOnItsThread,
}

/// Where the thread's own slot was in use: a box of a `Seat`. Otherwise null. (Guards are covariant in `T`, which seats are
/// not.)
///
/// Not `Send`: another thread would leave a slot that its owner may be entering. The name is for the compiler's message.
struct GuardStaysOnItsThread(*mut ());

// SAFETY: through a shared reference the value is shared, and handles are taken; the drop is not there.
unsafe impl<T: Send + Sync, M: Threads> Sync for CachedGuard<'_, T, M> {}

impl<'c, T, M: Threads> CachedGuard<'c, T, M> {
    #[inline(always)]
    pub(super) fn new(
        in_use: InUse<'c, T, Shootdown, M>,
        seat: Option<Box<Seat<T, Shootdown, M>>>,
    ) -> Self {
        let seat = seat.map_or(ptr::null_mut(), |seat| Box::into_raw(seat).cast());
        Self { in_use: ManuallyDrop::new(in_use), seat: GuardStaysOnItsThread(seat) }
    }
}

impl<T, M: Threads> Drop for CachedGuard<'_, T, M> {
    #[inline(always)]
    fn drop(&mut self) {
        let GuardStaysOnItsThread(seat) = self.seat;
        let has_seat = !seat.is_null();
        // SAFETY: from a box, and the guard goes. The seat goes after what uses it, also if that panics.
        let _seat =
            has_seat.then(|| unsafe { Box::from_raw(seat.cast::<Seat<T, Shootdown, M>>()) });
        // SAFETY: it is not used again.
        let in_use = unsafe { ManuallyDrop::take(&mut self.in_use) };
        // A thread that is destroying its thread-locals, of which the guard was one, has given its slot up.
        if !has_seat && M::thread().is_none() {
            // SAFETY: the slot was this thread's; whoever has it next leaves it alone while it is active.
            unsafe { in_use.leave_for_good() };
        }
    }
}

guard!([T, M: Threads] CachedGuard<'_, T, M>, in_use, Shootdown, "A [`Context`](crate::lazy::Context) of the value, unless it has been replaced meanwhile and its last context is gone. One atomic add on its count.\n\nTo keep a value for long, or to send it elsewhere, ask [`Cached::context`](super::Cached::context) for it at once.");
