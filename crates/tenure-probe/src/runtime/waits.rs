//! How long threads take for accesses to contended lines.
//!
//! A thread's processor time is its own work, what recording adds, and the time that it waits for lines. Only the first is
//! there without contention, so the observer subtracts the others: what the calls of the
//! runtime take is measured at the start, by [`measure`], and what else accesses to contended lines take is timed here. One in
//! 16 is, because a look at the clock takes as long as the access.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::threads::{self, Local, TIMED_EVERY};
use super::{shadow, store, sys};

/// Nanoseconds. A thread that took longer was switched out or has slept, which is no processor time.
const LONGEST: u64 = 20_000;

/// What a look at the clock takes, and one at the thread's processor time.
static CLOCK: AtomicU64 = AtomicU64::new(0);
static PROCESSOR_CLOCK: AtomicU64 = AtomicU64::new(0);

/// Does an access, which gets to know whether its line is contended, and times it if that is so and its turn has come.
#[inline(always)]
pub(super) fn timed<R>(address: usize, access: impl FnOnce(bool) -> R) -> R {
    let local = threads::current().filter(|_| shadow::is_contended(address));
    let since = local.map_or(0, since);
    let result = access(local.is_some());
    if since != 0 {
        add(since);
    }
    result
}

/// The time, if this access to a contended line is to be timed; otherwise 0.
#[inline(always)]
pub(super) fn since(local: &Local) -> u64 {
    if local.has_failed() {
        end_failure(local);
    }
    if local.is_due() { sys::now() } else { 0 }
}

/// A compare-exchange has failed. If it was to take a lock, the thread waits from now on, where it calls nothing of ours,
/// until it uses a contended line again. Some of these times are taken, as processor time: a thread may sleep meanwhile.
#[cold]
pub(super) fn failed(address: usize) {
    if let Some(local) = threads::current()
        && shadow::is_contended(address)
        && local.is_due()
    {
        local.set_failed(sys::cpu_time());
    }
}

#[cold]
fn end_failure(local: &Local) {
    let took = sys::cpu_time().saturating_sub(local.take_failed());
    add_sample(local, took, PROCESSOR_CLOCK.load(Relaxed));
}

/// Adds what was timed, for all that were not, and the two looks at the clock themselves, of which `took` contains one.
fn add_sample(local: &Local, took: u64, clock: u64) {
    local.add_wait(took.saturating_sub(clock) * u64::from(TIMED_EVERY) + 2 * clock);
}

/// Does something that threads do only because others are in their way.
pub(super) fn waited<R>(what: impl FnOnce() -> R) -> R {
    let Some(local) = threads::current() else { return what() };
    let start = sys::cpu_time();
    let result = what();
    local.add_wait(sys::cpu_time().saturating_sub(start) + PROCESSOR_CLOCK.load(Relaxed));
    result
}

/// Adds the time of an access that began then.
#[cold]
pub(super) fn add(since: u64) {
    let took = sys::now().wrapping_sub(since);
    if took < LONGEST
        && let Some(local) = threads::current()
    {
        add_sample(local, took, CLOCK.load(Relaxed));
    }
}

/// Measures what recording adds to an access to memory that the thread has to itself, which is what `access` records. Best
/// of some tries, as the thread may be switched out in any of them.
pub(super) fn measure(access: impl Fn(usize)) {
    const TRIES: usize = 8;
    const ACCESSES: usize = 256;
    let Some(local) = threads::current() else { return };
    let best = |of: &dyn Fn()| {
        let tries = (0..TRIES).map(|_| {
            let start = sys::now();
            of();
            sys::now() - start
        });
        tries.min().unwrap_or(0)
    };
    let clock = best(&|| {});
    CLOCK.store(clock, Relaxed);
    PROCESSOR_CLOCK.store(best(&|| _ = sys::cpu_time()), Relaxed);
    let memory = [0_u64; 32];
    let all = best(&|| {
        for at in 0..ACCESSES {
            access(&raw const memory[at % memory.len()] as usize);
        }
    });
    local.discount((TRIES * ACCESSES) as u64);
    store::set_access(all.saturating_sub(clock) * 1000 / ACCESSES as u64);
}
