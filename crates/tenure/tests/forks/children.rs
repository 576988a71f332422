//! Children that go on where a fork has left their parent's other threads behind.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::{ptr, thread};
use tenure::memory::{Memory, Native, Ordering};

/// Seconds, after which a child hangs.
const PATIENCE: u32 = 20;

/// Runs `child` in a process of its own with one thread, which has to end well.
#[track_caller]
pub(crate) fn in_child(child: impl FnOnce()) {
    let process = fork();
    if process == 0 {
        end_child(child);
    }
    expect_well(process);
}

/// Returns 0 in the child, which is to come to [`end_child`], and its number in the parent.
pub(crate) fn fork() -> libc::pid_t {
    // SAFETY: the child has this thread alone, whose code is made for that, and ends before it returns to others'.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "no process to be had");
    if process == 0 {
        // SAFETY: sets a timer.
        unsafe { libc::alarm(PATIENCE) };
    }
    process
}

/// Ends the child, well unless this panics.
pub(crate) fn end_child(child: impl FnOnce()) -> ! {
    let failed = catch_unwind(AssertUnwindSafe(child)).is_err();
    // SAFETY: ends the process, and runs nothing of what the other threads registered.
    unsafe { libc::_exit(libc::c_int::from(failed)) };
}

#[track_caller]
pub(crate) fn expect_well(process: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` is a place for the status of a child of this thread alone.
    let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(ended, process);
    let how = if status == libc::SIGALRM { "hangs" } else { "failed" };
    assert_eq!(status, 0, "the child {how}");
}

/// A thread of a child.
///
/// The standard library takes a lock of its own when a thread starts or ends. A fork in that moment, by another test's
/// thread, leaves it locked in the child, whose first [`thread::spawn`] would wait for ever. The C library resets
/// its own locks in a child.
pub(crate) struct Started<T> {
    thread: libc::pthread_t,
    result: Arc<Mutex<Option<thread::Result<T>>>>,
}

/// Starts a thread in a child.
pub(crate) fn start<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Started<T> {
    // SAFETY: it borrows nothing.
    unsafe { start_borrowing(run) }
}

/// Runs `run` in a thread of its own of a child.
pub(crate) fn in_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    // SAFETY: joined while what it borrows lives.
    unsafe { start_borrowing(run) }.join()
}

/// # Safety
///
/// What `run` borrows lives until the thread is joined.
unsafe fn start_borrowing<T: Send>(run: impl FnOnce() -> T + Send) -> Started<T> {
    type Run<'a> = Box<dyn FnOnce() + Send + 'a>;
    extern "C" fn begin(run: *mut c_void) -> *mut c_void {
        // SAFETY: made by `Box::into_raw` below, for this thread.
        let run = unsafe { Box::from_raw(run.cast::<Run<'_>>()) };
        run();
        ptr::null_mut()
    }
    let result = Arc::new(Mutex::new(None));
    let (to, mut thread) = (Arc::clone(&result), 0);
    let run: Run<'_> = Box::new(move || {
        let ended = catch_unwind(AssertUnwindSafe(run));
        *to.lock().unwrap() = Some(ended);
    });
    let run = Box::into_raw(Box::new(run));
    // SAFETY: `begin` is called once with what it takes, which the caller keeps alive, and does not unwind.
    let error = unsafe { libc::pthread_create(&raw mut thread, ptr::null(), begin, run.cast()) };
    assert_eq!(error, 0, "no thread to be had");
    Started { thread, result }
}

impl<T> Started<T> {
    /// Waits until it has ended, its thread-locals' destructors too.
    pub(crate) fn join(self) -> T {
        // SAFETY: started above, and joined once.
        assert_eq!(unsafe { libc::pthread_join(self.thread, ptr::null_mut()) }, 0);
        self.result.lock().unwrap().take().expect("it has ended").unwrap()
    }
}

struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Calls `forks` so often, while threads are at work that goes on as long as they are told.
///
/// One test at a time: where there are few CPUs, forks that wait for the threads of several take minutes.
pub(crate) fn forked_under_use(
    threads: usize,
    times: usize,
    work: impl Fn(usize, &dyn Fn() -> bool) + Sync,
    forks: impl Fn(),
) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = <Native as Memory>::AtomicU32::new(0);
    // Relaxed, here and below: only a flag.
    let goes_on = || stop.load(Ordering::Relaxed) == 0;
    thread::scope(|scope| {
        let (work, goes_on) = (&work, &goes_on);
        (0..threads).for_each(|thread| drop(scope.spawn(move || work(thread, goes_on))));
        // Stops the others when a child failed too.
        let _stop = AtEnd(|| stop.store(1, Ordering::Relaxed));
        (0..times).for_each(|_| forks());
    });
}

/// Runs `other` in a thread, and `test` while that is in a call of its argument, which it calls once.
pub(crate) fn while_another_waits<T: Send>(
    other: impl FnOnce(&(dyn Fn() + Sync)) -> T + Send,
    test: impl FnOnce(),
) -> T {
    let (begins, goes_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let waits = || [&begins, &goes_on].iter().for_each(|barrier| _ = barrier.wait());
        let other = scope.spawn(move || other(&waits));
        begins.wait();
        let end = AtEnd(|| _ = goes_on.wait());
        test();
        drop(end);
        other.join().unwrap()
    })
}
