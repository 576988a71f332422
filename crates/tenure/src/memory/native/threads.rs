//! Numbers for the threads of this process, and what is to be done when one ends.
//!
//! A number belongs to a *record*. Records are linked into a list that only grows and are never freed:
//! as many as there ever were threads at once. A thread claims the first that nobody has, by one
//! compare-exchange, and adds a record if there is none. No lock: a process that was forked while
//! another thread was in here goes on. Records of threads that the fork left behind stay claimed, and say
//! so: each has the number of forks that its thread has lived through, counted by the C library's hook.

use super::super::{Ordering, Resident, Threads};
use super::Native;
use alloc::boxed::Box;
use alloc::sync::Weak;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};

struct Record {
    number: usize,
    claimed: AtomicBool,
    /// [`FORKS`] when the thread was last known to live; of a record that nobody has, [`FORKS`].
    forks: AtomicU32,
    /// Set before the record is published, and never again.
    next: *const Record,
}

static RECORDS: AtomicPtr<Record> = AtomicPtr::new(ptr::null_mut());
static NUMBERS: AtomicUsize = AtomicUsize::new(0);

const NOT_ASKED: usize = usize::MAX;
/// Set beside the number of a thread that is ending.
const ENDING: usize = 1 << (usize::BITS - 1);
/// The thread has given its number up.
const ENDED: usize = usize::MAX - 1;

std::thread_local! {
    /// The number, where asking for it is one load.
    static NUMBER: Cell<usize> = const { Cell::new(NOT_ASKED) };
    /// What happens when the thread ends. Initialised together with its number.
    static EXIT: Exit = Exit::new();
}

// SAFETY: a number belongs to a record, which one thread has claimed; the thread tells its number no more before it gives
// the record up. Threads that a fork leaves behind do not run.
unsafe impl Threads for Native {
    #[inline(always)]
    fn thread() -> Option<usize> {
        let number = NUMBER.get();
        if number < ENDING { Some(number) } else { first_asked(number) }
    }

    fn is_lost(thread: usize) -> bool {
        // Relaxed: forks are counted while there is one thread.
        forks() != 0
            && records().any(|record| {
                record.number == thread
                    && record.forks.load(Ordering::Relaxed) != FORKS.load(Ordering::Relaxed)
            })
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn borrow_number() -> Option<usize> {
        Some(claim().number)
    }

    unsafe fn return_number(thread: usize) {
        let borrowed = records().find(|record| record.number == thread);
        // Release: pairs with the Acquire in `claim`, as where a thread ends.
        borrowed.expect("records stay").claimed.store(false, Ordering::Release);
    }

    fn at_exit(resident: Weak<dyn Resident>) {
        // A thread that is ending has left everything already.
        let _ = EXIT.try_with(|exit| exit.add(resident));
    }
}

#[cold]
fn first_asked(number: usize) -> Option<usize> {
    if number != NOT_ASKED {
        return None;
    }
    EXIT.try_with(|exit| exit.record.number).inspect(|&number| NUMBER.set(number)).ok()
}

/// A thread's record, and what waits for its end.
struct Exit {
    record: &'static Record,
    residents: RefCell<Residents>,
}

impl Exit {
    fn new() -> Self {
        Self { record: claim(), residents: RefCell::new(Residents::default()) }
    }

    fn add(&self, resident: Weak<dyn Resident>) {
        self.residents.borrow_mut().add(resident);
    }
}

impl Drop for Exit {
    fn drop(&mut self) {
        // First: destructors that residents run, and those of thread-locals to come, find no number.
        NUMBER.set(ENDING | self.record.number);
        for resident in self.residents.get_mut().list.drain(..) {
            if let Some(resident) = resident.upgrade() {
                // SAFETY: this thread has the number, which `thread` does not tell any more.
                unsafe { resident.leave(self.record.number) };
            }
        }
        // From here on a fork in this thread finds that the record is not its own.
        NUMBER.set(ENDED);
        // Release: pairs with the Acquire in `claim`: the next thread sees what this one did.
        self.record.claimed.store(false, Ordering::Release);
    }
}

#[derive(Default)]
struct Residents {
    list: Vec<Weak<dyn Resident>>,
    /// The length at which those that are gone are swept out: threads outlive residents.
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

/// All records there are.
fn records() -> impl Iterator<Item = &'static Record> {
    // Acquire: pairs with the Release in `claim`, so that the records are initialised.
    let first = RECORDS.load(Ordering::Acquire).cast_const();
    // SAFETY: records are never freed, and initialised before they are published.
    let shared = |record: *const Record| unsafe { record.as_ref() };
    core::iter::successors(shared(first), move |record| shared(record.next))
}

fn claim() -> &'static Record {
    count_forks();
    let unclaimed = |record: &&Record| {
        // Acquire: pairs with the Release of the thread that had the number before.
        let claim =
            record.claimed.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        claim.is_ok()
    };
    if let Some(record) = records().find(unclaimed) {
        return record;
    }
    let record = Box::leak(Box::new(Record {
        // Relaxed: the number itself is all that is passed on.
        number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        claimed: AtomicBool::new(true),
        // Relaxed: as in `is_lost`.
        forks: AtomicU32::new(FORKS.load(Ordering::Relaxed)),
        next: ptr::null(),
    }));
    // Acquire: what is published below includes the records behind this one.
    let mut first = RECORDS.load(Ordering::Acquire);
    loop {
        record.next = first;
        // Release: pairs with the Acquire in `records`. Acquire on failure, as above.
        match RECORDS.compare_exchange(first, record, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return record,
            Err(found) => first = found,
        }
    }
}

/// How many forks lie between the first process that asked and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Forks that were counted, from the first process that asked for a thread's number to this one.
pub(crate) fn forks() -> u32 {
    // Relaxed: forks are counted while there is one thread.
    FORKS.load(Ordering::Relaxed)
}

/// Has forks counted from now on.
#[cfg(all(unix, not(miri)))]
fn count_forks() {
    static COUNTED: AtomicBool = AtomicBool::new(false);
    /// In the child, on its only thread.
    unsafe extern "C" fn in_child() {
        // Relaxed: there is no other thread.
        let forks = FORKS.fetch_add(1, Ordering::Relaxed) + 1;
        // One that has not asked, or has given its number up, has no record, and no record has this number then.
        let number = NUMBER.get() & !ENDING;
        // Those that nobody has as well, so that nobody need write to them later, when there are other threads,
        // who might take the next owner for lost until they see that.
        let lives =
            |record: &&Record| record.number == number || !record.claimed.load(Ordering::Relaxed);
        records().filter(lives).for_each(|record| record.forks.store(forks, Ordering::Relaxed));
    }
    // Acquire: pairs with the Release below. Threads that come at once all register, and forks count for more
    // than one, which is as good. None of them goes on before it has.
    if !COUNTED.load(Ordering::Acquire) {
        // SAFETY: the function touches statics and a thread-local without destructor, and neither allocates
        // nor locks, so that it may run in the child of a program with threads.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        COUNTED.store(true, Ordering::Release);
    }
}

#[cfg(not(all(unix, not(miri))))]
fn count_forks() {}

// SAFETY: `next` points to records, which are shared between threads, and is never written after
// publication.
unsafe impl Sync for Record {}
