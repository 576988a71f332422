//! A thread's record; its beginning and its end.
//!
//! A thread finds its record through the one thread-local word. The record lies in the segment, so that the observer
//! sees the thread's accesses grow; what only the runtime needs lies after it.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
};

use super::entries::{self, ThreadEntries};
use super::line_words::{self, User};
use super::store::{self, Locked};
use super::times::Times;
use super::{shadow, sys};
use crate::segment::{RecordKind, Thread};

/// The thread-local word of a thread that is not recorded: it is being attached, or has ended.
pub(super) const IGNORED: usize = 1;

const THREADS: usize = line_words::THREADS as usize;

/// A thread's record, and what the runtime knows of the thread.
#[repr(C, align(64))]
pub(super) struct ThreadState {
    record: UnsafeCell<Thread>,
    /// The shadow word of the lines that it uses alone, without the time.
    own: u32,
    /// Accesses to memory that threads do not contend for, until the next that is noted.
    until_sample: AtomicI32,
    /// The thread that created this one; 0 if that is not known.
    creator: u32,
    /// The clock's time then.
    birth: u16,
    busy: AtomicBool,
    /// Whether it is in a function of the allocator.
    allocating: AtomicBool,
    /// What it does to contended lines.
    pub(super) entries: ThreadEntries,
    /// Which accesses to contended lines are timed.
    pub(super) times: Times,
}

/// Where the fields are that every access uses.
pub(super) const OWN: usize = core::mem::offset_of!(ThreadState, own);
pub(super) const UNTIL_SAMPLE: usize = core::mem::offset_of!(ThreadState, until_sample);

const _: () = assert!(size_of::<ThreadState>() <= RecordKind::Threads.stride());

/// Whether the process records.
static RECORDING: AtomicU32 = AtomicU32::new(0);
/// Records by number, modulo [`line_words::THREADS`].
static BY_NUMBER: [AtomicPtr<ThreadState>; THREADS] =
    [const { AtomicPtr::new(null_mut()) }; THREADS];
static LAST: AtomicU32 = AtomicU32::new(0);
/// The block that the next thread's record goes into.
static BLOCK: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// The stack of the thread that has forked, for the record that it gets in the child.
static STACK: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// A word that is 1, and 0 in a copy of the process that the C library has not seen being made: by `_Fork`, or by `clone`
/// itself. A copy must not touch its parent's records.
static OWNER: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// Records from now on.
pub(super) fn start() {
    if OWNER.load(Relaxed).is_null() {
        OWNER.store(sys::reserve_for_this_process(size_of::<AtomicU32>()).cast(), Relaxed);
    }
    let owner = OWNER.load(Relaxed);
    if !owner.is_null() {
        // SAFETY: the mapping stays, and is only accessed atomically.
        unsafe { (*owner).store(1, Relaxed) };
    }
    // Release: pairs with the Acquire in `attach`.
    RECORDING.store(1, Release);
}

fn is_a_copy() -> bool {
    let owner = OWNER.load(Relaxed);
    // SAFETY: as in `start`.
    !owner.is_null() && unsafe { (*owner).load(Relaxed) } == 0
}

/// Forgets all threads: a forked child starts anew.
pub(super) fn restart() {
    if let Some(local) = current() {
        let (start, end) = local.stack();
        STACK.0.store(start, Relaxed);
        STACK.1.store(end, Relaxed);
    }
    RECORDING.store(0, Relaxed);
    BLOCK.store(null_mut(), Relaxed);
    entries::restart();
    for slot in &BY_NUMBER {
        if !slot.load(Relaxed).is_null() {
            slot.store(null_mut(), Relaxed);
        }
    }
    sys::set_local(0);
}

/// This thread's record, if it has one.
#[inline(always)]
pub(super) fn current() -> Option<&'static ThreadState> {
    let word = sys::local();
    // SAFETY: a word other than 0 and IGNORED is the address of this thread's own record, which stays mapped.
    (word > IGNORED).then(|| unsafe { &*(word as *const ThreadState) })
}

/// This thread's record, made if need be; `None` if it is not to be recorded.
///
/// May be called in a signal handler, so it does not find out the stack's bounds, for which the C library allocates.
#[cold]
pub(super) fn attach() -> Option<&'static ThreadState> {
    attach_born(shadow::time(), 0, 0, || (STACK.0.swap(0, Relaxed), STACK.1.swap(0, Relaxed)))
}

/// Attaches this thread, which `creator` created at that time to run `routine`.
pub(super) fn attach_born(
    birth: u32,
    creator: u32,
    routine: u64,
    stack: impl FnOnce() -> (usize, usize),
) -> Option<&'static ThreadState> {
    super::start_forked();
    // Acquire: pairs with the Release in `start`.
    if sys::local() != 0 || RECORDING.load(Acquire) == 0 {
        return current();
    }
    // `stack` may allocate, and comes back into the runtime; so may a signal handler.
    sys::set_local(IGNORED);
    let stack = stack();
    let Some(entries) = ThreadEntries::new() else {
        store::drop_one();
        return None;
    };
    let lock = store::lock();
    let record = room(&lock);
    if record.is_null() {
        drop(lock);
        // SAFETY: nothing has used them.
        unsafe { entries.end() };
        store::drop_one();
        return None;
    }
    let id = LAST.load(Relaxed).wrapping_add(1);
    LAST.store(id, Relaxed);
    let [name, name_rest] = sys::thread_name();
    // SAFETY: the record has room for a `ThreadState` (asserted above) and is this thread's alone.
    unsafe {
        record.write(ThreadState {
            record: UnsafeCell::new(Thread {
                started: sys::now(),
                routine,
                id,
                tid: sys::thread_number(),
                name,
                name_rest,
                stack: stack.0 as u64,
                stack_end: stack.1 as u64,
                ..Thread::read(&[])
            }),
            own: line_words::exclusive(id),
            until_sample: AtomicI32::new(0),
            creator,
            // Stamps have 15 bits.
            birth: birth as u16,
            busy: AtomicBool::new(false),
            allocating: AtomicBool::new(false),
            entries,
            times: Times::new(id),
        });
        store::publish(BLOCK.load(Relaxed));
    }
    BY_NUMBER[id as usize % THREADS].store(record, Release);
    drop(lock);
    sys::set_local(record as usize);
    current()
}

/// Room for a thread's record.
fn room(lock: &Locked) -> *mut ThreadState {
    loop {
        let block = BLOCK.load(Relaxed);
        if !block.is_null() {
            // SAFETY: the block is one of threads, and the lock keeps others out.
            let record = unsafe { store::next_record(block, RecordKind::Threads) };
            if !record.is_null() {
                return record.cast();
            }
        }
        let new = store::block(lock, RecordKind::Threads);
        if new.is_null() {
            return null_mut();
        }
        BLOCK.store(new, Relaxed);
    }
}

/// Ends this thread's recording.
pub(super) fn detach() {
    let Some(local) = current() else { return };
    sys::set_local(IGNORED);
    let record = local.record.get();
    let set = |word: *mut u64, value: u64| {
        // SAFETY: a word of the record, which is this thread's own; the observer reads whole numbers.
        unsafe { AtomicU64::from_ptr(word) }.store(value, Relaxed);
    };
    // Threads get their names after they have been attached.
    let [name, name_rest] = sys::thread_name();
    // SAFETY: the record stays mapped, and only addresses are taken.
    unsafe {
        set(&raw mut (*record).name, name);
        set(&raw mut (*record).name_rest, name_rest);
        set(&raw mut (*record).cpu, sys::cpu_time());
        set(&raw mut (*record).ended, sys::now());
    }
    // SAFETY: the thread-local word no longer leads to them.
    unsafe { local.entries.end() };
}

/// Whether the thread of this number, modulo [`THREADS`], has ended and was created by `creator`.
pub(super) fn has_ended_for(number: u32, creator: u32) -> bool {
    let local = BY_NUMBER[number as usize].load(Acquire);
    // SAFETY: records stay mapped. The creator never changes, and the end is only accessed atomically after it was
    // written first.
    !local.is_null()
        && unsafe {
            (*local).creator == creator
                && AtomicU64::from_ptr(&raw mut (*(*local).record.get()).ended).load(Relaxed) != 0
        }
}

/// Marks a thread as being inside of the runtime until it is dropped.
pub(super) struct Busy<'a>(&'a ThreadState);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        self.0.busy.store(false, Relaxed);
    }
}

impl ThreadState {
    fn accesses(&self) -> &AtomicU64 {
        // SAFETY: the observer reads the number as a whole, and no other thread writes it.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.record.get()).accesses) }
    }

    /// A signal handler between the load and the store loses its own accesses.
    pub(super) fn count_accesses(&self, times: u32) {
        let accesses = self.accesses();
        accesses.store(accesses.load(Relaxed) + u64::from(times), Relaxed);
    }

    /// Passes so many accesses that need no more than to be counted, and says whether the next sample is among them.
    #[inline(always)]
    pub(super) fn passes(&self, accesses: i32) -> bool {
        let left = self.until_sample.load(Relaxed) - accesses;
        self.until_sample.store(left, Relaxed);
        left < 0
    }

    /// Counts the accesses that have been passed, and those up to the next sample: 32 on average. Returns these.
    pub(super) fn next_sample(&self) -> u32 {
        // Not always the same number, or one access of a loop would be all samples.
        let random = (self.accesses().load(Relaxed) as u32).wrapping_mul(0x9e37_79b9) >> 16;
        let times = 17 + random % 31;
        // Accesses were counted up to 0; the sample itself is the first of those that are counted now.
        let passed = -1 - self.until_sample.load(Relaxed);
        self.until_sample.store(times as i32 - 1, Relaxed);
        self.count_accesses(times + passed.max(0) as u32);
        times
    }

    /// Adds to the time that the thread has waited.
    pub(super) fn add_wait(&self, nanoseconds: u64) {
        // SAFETY: as in `accesses`.
        unsafe { entries::add(&raw mut (*self.record.get()).waited, nanoseconds) };
    }

    /// Adds to the time that recording took beside accesses.
    pub(super) fn add_recording(&self, nanoseconds: u64) {
        // SAFETY: as in `accesses`.
        unsafe { entries::add(&raw mut (*self.record.get()).recording, nanoseconds) };
    }

    /// Adds to the time between accesses to contended lines.
    pub(super) fn add_between(&self, nanoseconds: u64, is_long: bool) {
        let record = self.record.get();
        // SAFETY: as in `accesses`.
        unsafe {
            let sum =
                if is_long { &raw mut (*record).long_between } else { &raw mut (*record).between };
            entries::add(sum, nanoseconds);
        }
    }

    /// Takes back what the runtime has timed itself, and returns the time between its accesses.
    pub(super) fn take_times(&self) -> u64 {
        self.times.forget();
        let record = self.record.get();
        // SAFETY: as in `accesses`.
        unsafe {
            let sums = [
                &raw mut (*record).between,
                &raw mut (*record).long_between,
                &raw mut (*record).waited,
                &raw mut (*record).recording,
            ];
            sums.map(|sum| AtomicU64::from_ptr(sum).swap(0, Relaxed))[0]
        }
    }

    /// Takes back accesses of the runtime's own.
    pub(super) fn discount(&self, accesses: u64) {
        self.accesses().store(self.accesses().load(Relaxed) - accesses, Relaxed);
    }

    /// The shadow word of lines that this thread uses alone.
    #[inline(always)]
    pub(super) fn own(&self) -> u32 {
        shadow::stamped(self.own)
    }

    pub(super) fn id(&self) -> u32 {
        // SAFETY: the number never changes.
        unsafe { (*self.record.get()).id }
    }

    /// The thread as a user of a line, now.
    pub(super) fn user(&self) -> User {
        User { own: self.own(), birth: u32::from(self.birth) }
    }

    /// The lowest address of the stack, and the one after its highest.
    pub(super) fn stack(&self) -> (usize, usize) {
        // SAFETY: the bounds never change.
        unsafe {
            let record = self.record.get();
            ((*record).stack as usize, (*record).stack_end as usize)
        }
    }

    /// Enters the runtime; `None` if a signal handler has interrupted the thread there, or if the record is that of another
    /// process.
    pub(super) fn busy(&self) -> Option<Busy<'_>> {
        if is_a_copy() {
            super::forked();
            return None;
        }
        if self.busy.load(Relaxed) {
            return None;
        }
        self.busy.store(true, Relaxed);
        // A signal handler on this thread sees the mark before anything that follows, in `drop` until all has been done.
        compiler_fence(SeqCst);
        Some(Busy(self))
    }

    /// Enters a function of the allocator, and says whether another has called it.
    pub(super) fn enter_allocator(&self) -> bool {
        let is_inner = self.allocating.load(Relaxed);
        self.allocating.store(true, Relaxed);
        is_inner
    }

    /// Leaves it. If it threw instead, the next function of the allocator passes for one that another has called.
    pub(super) fn leave_allocator(&self) {
        self.allocating.store(false, Relaxed);
    }

    /// Counts an access to a contended line. The first time, `object` says the class of the object that is accessed, and
    /// how far inside of it.
    pub(super) fn count(
        &self,
        line: u32,
        place: u32,
        code: u64,
        object: impl FnOnce(&Locked) -> (u32, u32),
    ) {
        let busy = self.busy();
        if busy.is_none() || !self.entries.count(self.id(), line, place, code, object) {
            store::drop_one();
        }
    }
}
