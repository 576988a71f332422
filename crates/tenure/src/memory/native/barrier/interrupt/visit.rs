//! Running on every CPU in turn.
//!
//! While this thread runs on a CPU no other thread does. Suppose that another thread stores a word and loads a second
//! one on some CPU, without being switched out in between:
//!
//! - If this thread visits that CPU afterwards, the scheduler switched from the other one to this one: the store
//!   happened before the visit, and before whatever this thread does after it.
//! - If this thread visits it before, the load happens after the visit, and after whatever this thread did before.
//!
//! If the other thread is switched out in between, the CPU on which it goes on counts: if the visit is
//! later than that, the first case holds, and otherwise the second.
//!
//! So this is right on every architecture, if this thread sees every CPU on which others run. It may be confined
//! to fewer (by cpusets that differ between threads), which is found out after the round: each thread's CPUs have to be
//! among those that were visited. A thread that goes elsewhere later is switched in there after the round.
//!
//! What others may see: the CPUs that this thread is allowed to use change for some time, and a change that another
//! thread makes meanwhile is lost. Real-time threads that leave a CPU to nobody are waited for.

use std::io;

/// The most CPUs that Linux can be built for.
const MOST_CPUS: usize = 8192;
const WORD_BITS: usize = libc::c_ulong::BITS as usize;
/// CPUs come and go: a round in which they did says nothing.
const ROUNDS: usize = 3;

/// Returns whether the others passed a fence.
pub(super) fn every_cpu() -> bool {
    let Ok(before) = Cpus::of(0) else { return false };
    let all_seen = (0..ROUNDS).any(|_| {
        visit_all_allowed().is_ok_and(|visited| others_stay_within(&visited).unwrap_or(false))
    });
    // If the thread was free to run anywhere, it is so again on CPUs that are added later.
    let now = Cpus::ALL.allow().and_then(|()| Cpus::of(0));
    if !now.is_ok_and(|now| now == before) {
        // If that fails the CPUs of before are gone, and the kernel has chosen others.
        let _ = before.allow();
    }
    all_seen
}

/// Returns the CPUs that were visited.
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
    for entry in std::fs::read_dir("/proc/self/task")? {
        let name = entry?.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok());
        match Cpus::of(thread.ok_or(io::ErrorKind::InvalidData)?) {
            Ok(cpus) if cpus.is_within(visited) => {}
            Ok(_) => return Ok(false),
            // It has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A set of CPUs.
#[derive(PartialEq)]
pub(in super::super) struct Cpus([libc::c_ulong; MOST_CPUS / WORD_BITS]);

impl Cpus {
    const NONE: Self = Self([0; MOST_CPUS / WORD_BITS]);
    const ALL: Self = Self([libc::c_ulong::MAX; MOST_CPUS / WORD_BITS]);

    fn one(cpu: usize) -> Self {
        let mut one = Self::NONE;
        one.0[cpu / WORD_BITS] = 1 << (cpu % WORD_BITS);
        one
    }

    fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        (0..MOST_CPUS).filter(|cpu| self.0[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1)
    }

    fn is_within(&self, others: &Self) -> bool {
        self.0.iter().zip(&others.0).all(|(mine, others)| mine & !others == 0)
    }

    /// Where `thread` may run; the calling thread if that is 0.
    fn of(thread: libc::pid_t) -> io::Result<Self> {
        let mut cpus = Self::NONE;
        // SAFETY: the call writes at most the size that it is given, which is that of the set.
        let done = unsafe {
            libc::sched_getaffinity(thread, size_of::<Self>(), cpus.0.as_mut_ptr().cast())
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(cpus) }
    }

    /// Keeps the calling thread on one of the CPUs that it may use.
    #[cfg(test)]
    pub(in super::super) fn stay_on(nth: usize) {
        let allowed = Self::of(0).unwrap();
        Self::one(allowed.iter().cycle().nth(nth).unwrap()).allow().unwrap();
    }

    /// Has the calling thread run on these CPUs, as far as it may. It does when this returns.
    fn allow(&self) -> io::Result<()> {
        // SAFETY: the call reads the size that it is given, which is that of the set.
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
}
