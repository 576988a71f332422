//! Running on every CPU in turn.
//!
//! While this thread runs on a CPU no other thread does. Suppose that another thread, on some CPU, stores a word and
//! loads a second one without being switched out in between:
//!
//! - If this thread visits that CPU afterwards, the scheduler switched from the other thread to this one: the store
//!   happened before the visit, and before all that this thread does after it.
//! - If this thread visits it before, the load happens after the visit, and after all that this thread did before.
//!
//! If the other thread is switched out in between, the CPU on which it goes on counts.
//!
//! So this is right on every architecture if this thread visits every CPU on which others run. Cpusets may confine it
//! to fewer CPUs than other threads; and a CPU that goes offline leaves every thread's set first, while a thread may go
//! on there for some milliseconds. So after the round each thread's allowed CPUs, and the CPU on which it runs, have to
//! be among those visited. A thread that moved meanwhile, or moves later, is switched in there.
//!
//! `/proc/self/task` lists the threads. A listing may be cut short when threads end, so two in a row have to agree. A
//! `/proc` that is older than the PID namespace shows other numbers, so the list has to have this thread's own.
//!
//! This misses tasks that share the memory without being threads of the process (`clone` with `CLONE_VM` and without
//! `CLONE_THREAD`, as in a child of `vfork`), which must not use this library if the two other ways may be refused.
//!
//! Others may see this thread's set of allowed CPUs change for some time; a change that another thread makes meanwhile
//! is lost. If a real-time thread never leaves a CPU, this waits for it.

use std::time::Duration;
use std::vec::Vec;
use std::{fs, io, thread};

/// The most CPUs that Linux can be built for.
const MAX_CPUS: usize = 8192;
const WORD_BITS: usize = libc::c_ulong::BITS as usize;
/// A round in which CPUs came or went does not count. One that goes offline may keep its threads for tens of
/// milliseconds; the pauses add up to 127 ms.
const ROUNDS: u32 = 8;
/// At most, for a round: threads come and go.
const LISTINGS: usize = 32;

pub(super) fn every_cpu() -> bool {
    let Ok(before) = Cpus::of(0) else { return false };
    let all_seen = (0..ROUNDS).any(|round| {
        if round > 0 {
            thread::sleep(Duration::from_millis(1 << (round - 1)));
        }
        visit_all_allowed().is_ok_and(|visited| others_stay_within(&visited).unwrap_or(false))
    });
    // A thread that was free to run anywhere stays so on CPUs that are added later.
    let now = Cpus::ALL.allow().and_then(|()| Cpus::of(0));
    if !now.is_ok_and(|now| now == before) {
        // If that fails, the CPUs of before are gone, and the kernel has chosen others.
        let _ = before.allow();
    }
    all_seen
}

fn visit_all_allowed() -> io::Result<Cpus> {
    Cpus::ALL.allow()?;
    let allowed = Cpus::of(0)?;
    for cpu in allowed.iter() {
        Cpus::one(cpu).allow()?;
        // SAFETY: takes nothing, and returns a number.
        let here = unsafe { libc::sched_getcpu() };
        if usize::try_from(here) != Ok(cpu) {
            return Err(io::ErrorKind::Unsupported.into());
        }
    }
    Ok(allowed)
}

/// Whether every thread of this process runs on CPUs of `visited` alone.
fn others_stay_within(visited: &Cpus) -> io::Result<bool> {
    for thread in agreed(own_number(), list_threads)? {
        match stays_within(thread, visited) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn agreed(
    own: libc::pid_t,
    mut list: impl FnMut() -> io::Result<Vec<libc::pid_t>>,
) -> io::Result<Vec<libc::pid_t>> {
    let mut last = list()?;
    for _ in 1..LISTINGS {
        let next = list()?;
        if next == last {
            let is_listed = next.contains(&own);
            return if is_listed { Ok(next) } else { Err(io::ErrorKind::Unsupported.into()) };
        }
        last = next;
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn list_threads() -> io::Result<Vec<libc::pid_t>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let name = entry?.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok());
        threads.push(thread.ok_or(io::ErrorKind::InvalidData)?);
    }
    threads.sort_unstable();
    Ok(threads)
}

fn own_number() -> libc::pid_t {
    // SAFETY: takes nothing, and returns a number. Old C libraries lack the function.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

fn stays_within(thread: libc::pid_t, visited: &Cpus) -> io::Result<bool> {
    let stat = fs::read(std::format!("/proc/self/task/{thread}/stat"))?;
    is_within(&stat, &Cpus::of(thread)?, visited).ok_or(io::ErrorKind::InvalidData.into())
}

/// Whether a thread with this `stat` and these allowed CPUs stays within `visited`.
fn is_within(stat: &[u8], allowed: &Cpus, visited: &Cpus) -> Option<bool> {
    let runs_on = runs_on(stat)?;
    Some(allowed.is_within(visited) && runs_on.is_none_or(|cpu| visited.has(cpu)))
}

fn has_ended(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT))
}

/// The CPU of a thread with this `stat`. `Some(None)` if it sleeps, `None` if the line says nothing.
///
/// A sleeping thread keeps the number of its last CPU, which may be gone. It was switched out, or is on its way to that
/// in the kernel, behind the full barrier with which it says so.
///
/// Source: proc_pid_stat(5); Linux `set_current_state` in `include/linux/sched.h`.
fn runs_on(stat: &[u8]) -> Option<Option<usize>> {
    // The name before it is the program's choice, parentheses and spaces included.
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = core::str::from_utf8(&stat[name_ends + 1..]).ok()?.split_ascii_whitespace();
    // The third field and the 39th.
    let (state, cpu) = (fields.next()?, fields.nth(35)?.parse().ok()?);
    Some((state == "R").then_some(cpu))
}

#[derive(PartialEq)]
pub(in super::super) struct Cpus([libc::c_ulong; MAX_CPUS / WORD_BITS]);

impl Cpus {
    const NONE: Self = Self([0; MAX_CPUS / WORD_BITS]);
    const ALL: Self = Self([libc::c_ulong::MAX; MAX_CPUS / WORD_BITS]);

    fn one(cpu: usize) -> Self {
        let mut one = Self::NONE;
        one.0[cpu / WORD_BITS] = 1 << (cpu % WORD_BITS);
        one
    }

    fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        (0..MAX_CPUS).filter(|cpu| self.has(*cpu))
    }

    fn has(&self, cpu: usize) -> bool {
        self.0.get(cpu / WORD_BITS).is_some_and(|word| word >> (cpu % WORD_BITS) & 1 == 1)
    }

    fn is_within(&self, others: &Self) -> bool {
        self.0.iter().zip(&others.0).all(|(mine, others)| mine & !others == 0)
    }

    /// Where `thread` may run; 0 for the calling thread.
    fn of(thread: libc::pid_t) -> io::Result<Self> {
        let mut cpus = Self::NONE;
        // SAFETY: the call writes at most the size that it is given, the set's.
        let done = unsafe {
            libc::sched_getaffinity(thread, size_of::<Self>(), cpus.0.as_mut_ptr().cast())
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(cpus) }
    }

    #[cfg(all(test, not(sanitized)))]
    pub(in super::super) fn stay_on(nth: usize) {
        let allowed = Self::of(0).unwrap();
        Self::one(allowed.iter().cycle().nth(nth).unwrap()).allow().unwrap();
    }

    /// Has the calling thread run on these CPUs, as far as it may, from when this returns.
    fn allow(&self) -> io::Result<()> {
        // SAFETY: the call reads the size that it is given, the set's.
        let done = unsafe { libc::sched_setaffinity(0, size_of::<Self>(), self.0.as_ptr().cast()) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_leaves_the_thread_where_it_was_allowed_to_run() {
        let free = Cpus::of(0).unwrap();
        assert!(every_cpu());
        assert!(Cpus::of(0).unwrap() == free);

        let first = Cpus::one(free.iter().next().unwrap());
        first.allow().unwrap();
        assert!(every_cpu(), "a thread that is confined by itself may go elsewhere");
        assert!(Cpus::of(0).unwrap() == first);
    }

    #[test]
    fn a_round_that_leaves_out_a_cpu_of_another_thread_does_not_count() {
        let free = Cpus::of(0).unwrap();
        assert!(others_stay_within(&free).unwrap());
        let first = Cpus::one(free.iter().next().unwrap());
        assert_eq!(others_stay_within(&first).unwrap(), free == first);
    }

    /// A `stat` of a thread with that name and state on CPU 5.
    fn stat(name: &[u8], state: &str) -> Vec<u8> {
        let before = std::format!(") {state} 1{}", " 7".repeat(34));
        let after = " 5 0 0 0 0 0\n";
        [b"42 (", name, before.as_bytes(), after.as_bytes()].concat()
    }

    #[test]
    fn the_cpu_on_which_a_thread_runs_is_read_behind_whatever_name_it_has() {
        for name in [&b"worker"[..], b"", b"a b", b") S 1 (", b"))) R", b"\xff\xfe)"] {
            assert_eq!(runs_on(&stat(name, "R")), Some(Some(5)), "{name:?}");
            assert_eq!(runs_on(&stat(name, "S")), Some(None), "{name:?}");
        }
        let whole = stat(b"worker", "R");
        for cut in [0, 5, whole.len() - 13] {
            assert_eq!(runs_on(&whole[..cut]), None, "cut at {cut}");
        }
        assert_eq!(runs_on(b"42 (worker) R no numbers"), None);
    }

    #[test]
    fn a_thread_that_goes_on_where_it_may_not_run_any_more_has_to_be_visited_there() {
        let [here, elsewhere] = [5, 6].map(Cpus::one);
        let is_within = |state, visited| is_within(&stat(b"worker", state), &elsewhere, visited);
        assert_eq!(is_within("R", &elsewhere), Some(false), "its CPU goes offline");
        assert_eq!(is_within("R", &here), Some(false), "it may go elsewhere");
        assert_eq!(is_within("R", &Cpus::ALL), Some(true));
        assert_eq!(is_within("S", &elsewhere), Some(true), "its CPU went offline while it slept");
    }

    #[test]
    fn a_thread_that_runs_is_found_on_the_cpu_to_which_it_is_confined() {
        let free = Cpus::of(0).unwrap();
        for cpu in free.iter() {
            Cpus::one(cpu).allow().unwrap();
            let stat = fs::read(std::format!("/proc/self/task/{}/stat", own_number())).unwrap();
            assert_eq!(runs_on(&stat), Some(Some(cpu)));
        }
    }

    #[test]
    fn cpus_beyond_all_are_not_visited() {
        assert!(Cpus::ALL.has(MAX_CPUS - 1) && !Cpus::ALL.has(MAX_CPUS));
        assert!(Cpus::one(70).has(70) && !Cpus::one(70).has(6));
    }

    /// The result of these listings, the last one for ever, for thread 1.
    fn agreed_on(listings: &[&[libc::pid_t]]) -> Option<Vec<libc::pid_t>> {
        let last = listings.last().unwrap();
        let mut listings = listings.iter().chain(core::iter::repeat(last));
        agreed(1, || Ok(listings.next().unwrap().to_vec())).ok()
    }

    #[test]
    fn threads_are_listed_until_two_listings_agree() {
        assert_eq!(agreed_on(&[&[1, 2, 3]]).unwrap(), [1, 2, 3]);
        assert_eq!(agreed_on(&[&[1], &[1, 2, 3]]).unwrap(), [1, 2, 3]);
        assert_eq!(agreed_on(&[&[1, 2, 3], &[1, 2], &[1, 2, 3]]).unwrap(), [1, 2, 3]);
        let mut turn = 0;
        let never_the_same = || {
            turn += 1;
            Ok(Vec::from([1, turn]))
        };
        assert!(agreed(1, never_the_same).is_err());
        assert_eq!(turn as usize, LISTINGS);
    }

    #[test]
    fn listings_without_the_thread_that_asks_are_those_of_another_namespace() {
        assert_eq!(agreed_on(&[&[2, 3]]), None);
        assert_eq!(agreed_on(&[&[]]), None);
        assert!(list_threads().unwrap().contains(&own_number()));
    }
}
