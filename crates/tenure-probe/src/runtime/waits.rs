//! How long threads take for accesses to contended lines, and for what they do between them.
//!
//! A thread's processor time is its own work, what recording adds, and the time that it waits for lines. Only the first is
//! there without contention. So the time from an access to a contended line to the next is taken, and so is that of the
//! access, which the observer subtracts from the processor time where a thread may have slept between the two. One access in 16
//! is timed, because reading the clock takes as long as the access. What a call of the runtime takes is measured at the
//! start, by [`measure`], and again now and then; what recording does beside accesses is timed as well, by [`recording`].
//!
//! The *gap* after an access is the time until the thread is back at the line. Some are timed, and say where among its
//! accesses a thread's work lies.

use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::entries;
use super::threads::{self, ThreadState};
use super::times::TIMED_EVERY;
use super::{shadow, store, sys};

/// Nanoseconds. A thread that took longer was switched out or has slept, which is no processor time.
const MAX_TIMED_NS: u64 = 20_000;

/// Nanoseconds from one measurement of what recording takes to the next.
const MEASURED_EVERY_NS: u64 = 50_000_000;

/// When the next one is due; never, before the first and while a thread measures.
static NEXT: AtomicU64 = AtomicU64::new(NEVER);
const NEVER: u64 = u64::MAX;

/// How many there were.
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// The sum of what reading the clock took in them.
static CLOCKS: AtomicU64 = AtomicU64::new(0);

/// The sum of what recording a write took in them, in picoseconds.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// What reading the clock took the first time, and what [`BETWEEN`] was then.
static FIRST_CLOCK: AtomicU64 = AtomicU64::new(0);
static FIRST_BETWEEN: AtomicU64 = AtomicU64::new(0);

/// What reading the clock takes, and reading the thread's processor time.
static CLOCK: AtomicU64 = AtomicU64::new(0);
static PROCESSOR_CLOCK: AtomicU64 = AtomicU64::new(0);

/// The time from one access to the next, as it is taken, if a thread does nothing between them.
static BETWEEN: AtomicU64 = AtomicU64::new(0);

/// Does an access, which gets to know whether its line is contended, and times it if that is so and its turn has come.
#[inline(always)]
pub(super) fn timed<R>(address: usize, code: u64, access: impl FnOnce(bool) -> R) -> R {
    timed_if(|| shadow::is_contended(address), address, code, access)
}

#[inline(always)]
fn timed_if<R>(
    is_contended: impl FnOnce() -> bool,
    address: usize,
    code: u64,
    access: impl FnOnce(bool) -> R,
) -> R {
    let local = threads::current().filter(|_| is_contended());
    let since = local.map_or(0, |local| since(local, address, false));
    let result = access(local.is_some());
    if since != 0 {
        add(since, address, code, false);
    }
    result
}

/// The time, if this access to a contended line, a plain write or not, is to be timed; otherwise 0.
#[inline(always)]
pub(super) fn since(local: &ThreadState, address: usize, is_plain_write: bool) -> u64 {
    if local.times.has_failed() {
        end_failure(local);
    }
    let is_back = local.times.is_back(address);
    if local.times.timed_until() != 0 || is_back {
        end_between(local, is_back, is_plain_write);
    }
    if local.times.is_due() { sys::now() } else { 0 }
}

/// A compare-exchange has failed. If it was to take a lock, the thread waits from now on, where it calls nothing of ours,
/// until it uses a contended line again. Some of these times are taken, as processor time: a thread may sleep meanwhile.
#[cold]
pub(super) fn failed(address: usize) {
    if let Some(local) = threads::current() {
        local.times.interrupt();
        if shadow::is_contended(address) && local.times.is_due() {
            local.times.set_failed(sys::cpu_time());
        }
    }
}

#[cold]
fn end_between(local: &ThreadState, is_back: bool, is_plain_write: bool) {
    let now = sys::now();
    let nothing = BETWEEN.load(Relaxed);
    if is_back {
        end_gap(local, now, nothing, is_plain_write);
    }
    if local.times.timed_until() != 0 {
        let took = local.times.end_between(now, is_plain_write, CLOCK.load(Relaxed));
        let took = took.saturating_sub(nothing);
        local.add_between(took * u64::from(TIMED_EVERY), took >= MAX_TIMED_NS);
    }
}

fn end_gap(local: &ThreadState, now: u64, nothing: u64, is_plain_write: bool) {
    let (entry, took) = local.times.end_gap(now, nothing, is_plain_write);
    // SAFETY: `add` began the gap with an entry of this thread's, or with null.
    unsafe { entries::add_gap(entry, took, MAX_TIMED_NS) };
}

#[cold]
fn end_failure(local: &ThreadState) {
    let took = sys::cpu_time().saturating_sub(local.times.take_failed());
    local.add_wait(for_all(took, PROCESSOR_CLOCK.load(Relaxed)));
}

/// What was timed, for all that were not, and the two readings of the clock themselves, of which `took` contains one.
fn for_all(took: u64, clock: u64) -> u64 {
    took.saturating_sub(clock) * u64::from(TIMED_EVERY) + 2 * clock
}

/// Does what only recording needs, beside counting accesses.
#[inline(always)]
pub(super) fn recording<R>(what: impl FnOnce() -> R) -> R {
    let is_due = threads::current().is_some_and(|local| local.times.is_recording_due());
    let since = is_due.then(sys::now);
    let result = what();
    if let Some(since) = since {
        add_recording(sys::now().wrapping_sub(since));
    }
    result
}

#[cold]
fn add_recording(took: u64) {
    // A forked child may have found out meanwhile that it has no record.
    if let Some(local) = threads::current().filter(|_| took < MAX_TIMED_NS) {
        local.add_recording(for_all(took, CLOCK.load(Relaxed)));
    }
}

/// Does something that threads do only because others are in their way.
pub(super) fn waited<R>(what: impl FnOnce() -> R) -> R {
    let Some(local) = threads::current() else { return what() };
    local.times.interrupt();
    let start = sys::cpu_time();
    let result = what();
    local.add_wait(sys::cpu_time().saturating_sub(start) + PROCESSOR_CLOCK.load(Relaxed));
    result
}

/// Adds the time of this instruction's access to an address, a plain one or not, that began then.
#[cold]
pub(super) fn add(since: u64, address: usize, code: u64, is_plain: bool) {
    let Some(local) = threads::current() else { return };
    let now = sys::now();
    let took = now.wrapping_sub(since);
    local.times.begin_between(now, code, is_plain);
    if local.times.is_away_for(MAX_TIMED_NS, now) {
        end_gap(local, now, 0, false);
    }
    local.times.begin_gap(now, address, local.entries.last_of(code), is_plain);
    if took < MAX_TIMED_NS {
        local.times.add_usual(took);
        local.add_wait(for_all(took, CLOCK.load(Relaxed)));
    }
    measure_again(local, now);
}

/// Measures what recording takes, when the program starts.
pub(super) fn measure() {
    let Some(local) = threads::current() else { return };
    PROCESSOR_CLOCK.store(median(&|| _ = sys::cpu_time()), Relaxed);
    FIRST_CLOCK.store(measure_clock(local), Relaxed);
    let between = measure_between(local);
    FIRST_BETWEEN.store(between, Relaxed);
    BETWEEN.store(between, Relaxed);
    NEXT.store(sys::now() + MEASURED_EVERY_NS, Relaxed);
}

/// Measures it again, if it is time: a virtual CPU is half as fast for some milliseconds while its sibling works.
fn measure_again(local: &ThreadState, now: u64) {
    let next = NEXT.load(Relaxed);
    if now < next || NEXT.compare_exchange(next, NEVER, Relaxed, Relaxed).is_err() {
        return;
    }
    local.times.interrupt();
    let began = sys::cpu_time();
    measure_clock(local);
    // What slows the clock slows the rest.
    let first = FIRST_CLOCK.load(Relaxed).max(1);
    BETWEEN.store(FIRST_BETWEEN.load(Relaxed) * CLOCK.load(Relaxed) / first, Relaxed);
    if is_current(local) {
        local.add_recording(sys::cpu_time().saturating_sub(began));
    }
    NEXT.store(sys::now() + MEASURED_EVERY_NS, Relaxed);
}

/// Whether this is still the thread's state: a forked child finds out when it records that its parent's is not its own.
fn is_current(local: &ThreadState) -> bool {
    threads::current().is_some_and(|current| core::ptr::eq(current, local))
}

/// Memory that nothing else uses, on lines of its own.
#[repr(align(128))]
struct Unused([u64; 32]);

static UNUSED: Unused = Unused([0; 32]);

/// Measures what reading the clock takes, and what recording adds to an access to memory that the thread has to itself: after
/// reading the clock, as between accesses to contended lines, and so many that each try has some of those that are sampled.
/// Keeps the means of all times that it has done so; returns what the clock took now. One thread at a time does it.
fn measure_clock(local: &ThreadState) -> u64 {
    const ACCESSES: usize = 128;
    unsafe extern "C" {
        safe fn __tsan_write8(address: usize);
    }
    // As the program calls it. It writes nothing.
    let record: extern "C" fn(usize) = black_box(__tsan_write8);
    let clock = median(&|| {});
    let all = median(&|| {
        for at in 0..ACCESSES {
            record(&raw const UNUSED.0[at % UNUSED.0.len()] as usize);
        }
    });
    if is_current(local) {
        local.discount((TRIES * ACCESSES) as u64);
    }
    // The next time it is another thread's. Nothing else uses these lines, so they are not contended.
    let start = &raw const UNUSED as usize;
    for address in (start..start + size_of::<Unused>()).step_by(shadow::LINE_BYTES) {
        shadow::words(address).forget();
    }
    let write = all.saturating_sub(clock) * 1000 / ACCESSES as u64;
    let times = MEASURED.fetch_add(1, Relaxed) + 1;
    let mean = |sum: &AtomicU64, new| (sum.fetch_add(new, Relaxed) + new) / times;
    CLOCK.store(mean(&CLOCKS, clock), Relaxed);
    store::set_access(mean(&WRITES, write));
    clock
}

/// How often something is tried to see what it takes.
const TRIES: usize = 32;

/// The median of several tries: in some the thread may be switched out.
fn median(of: &dyn Fn()) -> u64 {
    let mut tries = [0; TRIES];
    for took in &mut tries {
        let start = sys::now();
        of();
        *took = sys::now() - start;
    }
    tries.sort_unstable();
    tries[TRIES / 2]
}

/// Has accesses to contended lines timed as they are in a program, at random, but for the access itself.
fn measure_between(local: &ThreadState) -> u64 {
    const ACCESSES: u64 = 4096;
    extern "C" fn access(address: usize) {
        // This memory is not contended, but the program's is.
        timed_if(|| !shadow::is_contended(address), address, 0, |_| ());
    }
    let access: extern "C" fn(usize) = black_box(access);
    let memory = 0_u64;
    for _ in 0..ACCESSES {
        access(&raw const memory as usize);
    }
    local.take_times() / ACCESSES
}
