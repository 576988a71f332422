//! Numbers for the threads of this process, and what to do when one ends.
//!
//! [`Numbers`] hands them on, and tells threads that a fork left behind from others; the C library's hook counts the
//! forks.

use super::super::numbers::{Claim, Numbers};
use super::super::{Resident, Threads};
use super::Native;
use alloc::sync::Weak;
use alloc::vec::Vec;
use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use core::{mem, ptr};

static NUMBERS: Numbers<Native> = Numbers {
    first: AtomicPtr::new(ptr::null_mut()),
    count: AtomicU32::new(0),
    forks: AtomicU32::new(0),
};

/// The thread has given its number up. No number is as great.
const ENDING: usize = 1 << (usize::BITS - 1);
/// The thread is getting its number. Until then the allocator works without one: the initialisation of one of std's
/// thread-locals must not start itself again.
const ASKING: usize = ENDING + 1;
/// The thread has not asked for its number yet. No number is as great.
const NOT_ASKED: usize = usize::MAX;

std::thread_local! {
    /// The number, where reading it is one load.
    static NUMBER: Cell<usize> = const { Cell::new(NOT_ASKED) };
    /// What belongs to the number.
    static WORD: Cell<*const ()> = const { Cell::new(ptr::null()) };
    /// Initialised together with the number.
    static EXIT: Exit = Exit::new();
}

// SAFETY: a number is that of one claim, and `thread` returns it no more when the claim is dropped. Threads that a fork
// left behind do not run.
unsafe impl Threads for Native {
    #[inline(always)]
    fn thread() -> Option<usize> {
        let number = NUMBER.get();
        if number < ENDING { Some(number) } else { first_asked(number) }
    }

    fn is_lost(thread: usize) -> bool {
        u32::try_from(thread).is_ok_and(|number| NUMBERS.is_lost(number))
    }

    #[inline(always)]
    fn numbered_word<R>(access: impl FnOnce(&Cell<*const ()>) -> R) -> Option<R> {
        Some(WORD.with(access))
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn forks() -> u32 {
        count_forks();
        NUMBERS.forks()
    }

    fn borrow_number() -> Option<usize> {
        count_forks();
        Some(mem::ManuallyDrop::new(NUMBERS.claim(own_address())).number() as usize)
    }

    unsafe fn return_number(thread: usize) {
        // SAFETY: the caller borrowed it: this is the claim that was forgotten then.
        drop(unsafe { NUMBERS.claim_of(thread as u32) });
    }

    fn at_exit(resident: Weak<dyn Resident>) {
        // A thread that is ending has left everything already.
        let _ = EXIT.try_with(|exit| exit.add(resident));
    }
}

/// The address of a thread-local without destructor, which exists up to the thread's end.
fn own_address() -> *mut () {
    NUMBER.with(|number| ptr::from_ref(number).cast_mut().cast())
}

#[cold]
fn first_asked(number: usize) -> Option<usize> {
    if number != NOT_ASKED {
        return None;
    }
    NUMBER.set(ASKING);
    EXIT.try_with(Exit::number).ok()
}

/// What waits for a thread's end, and its number.
struct Exit {
    residents: Cell<Residents>,
    /// Given up last.
    claim: Claim<Native>,
}

impl Exit {
    fn new() -> Self {
        count_forks();
        let claim = NUMBERS.claim(own_address());
        NUMBER.set(claim.number() as usize);
        Self { residents: Cell::default(), claim }
    }

    fn number(&self) -> usize {
        self.claim.number() as usize
    }

    fn add(&self, resident: Weak<dyn Resident>) {
        let mut residents = self.residents.take();
        residents.add(resident);
        // What the allocator has added meanwhile.
        let meanwhile = self.residents.replace(residents);
        meanwhile.list.into_iter().for_each(|resident| self.add(resident));
    }
}

impl Drop for Exit {
    fn drop(&mut self) {
        // First: destructors that residents run, and those of later thread-locals, find no number.
        let number = self.number();
        NUMBER.set(ENDING);
        WORD.set(ptr::null());
        for resident in self.residents.get_mut().list.drain(..) {
            if let Some(resident) = resident.upgrade() {
                // SAFETY: this thread has the number, which `thread` no longer returns.
                unsafe { resident.leave(number) };
            }
        }
    }
}

#[derive(Default)]
struct Residents {
    list: Vec<Weak<dyn Resident>>,
    /// The length at which residents that are gone are swept out: threads outlive them.
    sweep_at: usize,
}

impl Residents {
    fn add(&mut self, resident: Weak<dyn Resident>) {
        if self.list.len() >= self.sweep_at {
            self.list.retain(|resident| resident.strong_count() > 0);
            self.sweep_at = (self.list.len() * 2).max(16);
        }
        self.list.push(resident);
    }
}

/// Forks counted since the first process that asked for a thread's number.
#[cfg(feature = "registry")]
pub(crate) fn forks() -> u32 {
    NUMBERS.forks()
}

#[cfg(all(unix, not(miri)))]
fn count_forks() {
    use core::sync::atomic::{AtomicBool, Ordering};

    static COUNTED: AtomicBool = AtomicBool::new(false);
    /// Called in the child, on its only thread.
    unsafe extern "C" fn in_child() {
        NUMBERS.fork(own_address());
    }
    // Acquire: pairs with the Release below. Threads that come at once all register, and a fork counts for several,
    // which does no harm. None goes on before it has registered.
    if !COUNTED.load(Ordering::Acquire) {
        // SAFETY: the function touches statics and a thread-local without destructor, and neither allocates nor locks,
        // so it may run in the child of a program with threads.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        // A child that took lost threads for others would wait for them.
        assert_eq!(failed, 0, "pthread_atfork: no memory");
        COUNTED.store(true, Ordering::Release);
    }
}

#[cfg(not(all(unix, not(miri))))]
fn count_forks() {}
