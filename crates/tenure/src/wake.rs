//! [`wake_all`]: many wakers, some of which may panic.

use core::task::Waker;

/// Wakes all of them, whichever panics. A second panic aborts, as in other destructors.
pub(crate) fn wake_all(wakers: impl Iterator<Item = Waker>) {
    struct Rest<I: Iterator<Item = Waker>>(I);

    impl<I: Iterator<Item = Waker>> Drop for Rest<I> {
        fn drop(&mut self) {
            self.0.by_ref().for_each(Waker::wake);
        }
    }

    Rest(wakers).0.by_ref().for_each(Waker::wake);
}
