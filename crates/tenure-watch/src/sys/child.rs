//! Processes of our own that are copies of this one, and share memory with it.
//!
//! Other threads may have held locks when the copy was made. So what runs in it allocates nothing and takes no lock.

use std::io;
use std::ptr::NonNull;

use nix::libc;
use nix::unistd::{ForkResult, Pid, fork};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A value that is zero at first, in memory that a child shares.
pub(crate) struct SharedMemory<T>(NonNull<T>);

impl<T> std::fmt::Debug for SharedMemory<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Shared").field(&self.0).finish()
    }
}

impl<T> SharedMemory<T> {
    /// # Safety
    ///
    /// Zeros are a value of the type, which has no destructor.
    pub(crate) unsafe fn zeroed() -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping where the kernel finds room.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<T>(), protection, flags) }?;
        Ok(Self(NonNull::new(base.cast()).expect("no mapping lies there")))
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for SharedMemory<T> {
    fn drop(&mut self) {
        // SAFETY: `zeroed` mapped it, and references into it cannot outlive `self`.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<T>()) };
    }
}

/// Starts a copy of this process, which runs `work` with no descriptors but one.
///
/// # Safety
///
/// `work` allocates nothing, takes no lock and does not return; also not by a panic.
pub(crate) unsafe fn start(kept: Option<i32>, work: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: what the child does is as the caller says; `close_all_but` makes system calls only.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            close_all_but(kept);
            work();
            end();
        }
    }
}

/// Ends this process, without what others do at their end.
pub(crate) fn end() -> ! {
    // SAFETY: it takes a number, and does not return.
    unsafe { libc::_exit(0) }
}

/// What waits for a descriptor's end must not wait for a copy of it.
fn close_all_but(kept: Option<i32>) {
    let kept = kept.map_or(u32::MAX, i32::cast_unsigned);
    for (first, last) in [(0, kept.wrapping_sub(1)), (kept.saturating_add(1), u32::MAX)] {
        if first > last || kept == 0 && first == 0 {
            continue;
        }
        // SAFETY: it takes numbers only, and nothing in this process uses these descriptors any more.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } < 0 {
            // A kernel before 5.9, or a filter of system calls.
            for fd in first..last.min(4096) {
                // SAFETY: as above.
                unsafe { libc::close(fd.cast_signed()) };
            }
        }
    }
}

/// Nanoseconds of a clock that never goes back.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
