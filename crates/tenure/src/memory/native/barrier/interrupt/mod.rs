//! Interrupting the other threads of this process, on Linux.
//!
//! Each way makes every CPU that runs a thread of this process pass a full fence between the call and the return. They
//! are tried in order, since a sandbox that is entered late may refuse any of them:
//!
//! | way | costs, on 2 CPUs | where it is right |
//! |---|---|---|
//! | [`membarrier`] | 15 us | everywhere |
//! | [`unmap`] a page | 25 us | on x86-64 CPUs whose kernel flushes other CPUs' TLBs by interrupting them |
//! | [`visit`] every CPU | 50 us and more | where this thread may run on every CPU that another one may run on |
//!
//! A refusal, which costs a fraction of a microsecond, is not remembered: filters belong to threads, and another thread
//! may have none.

#[cfg(target_arch = "x86_64")]
mod cpu;
mod unmap;
mod visit;

#[cfg(all(test, not(sanitized)))]
pub(super) use visit::Cpus;

use std::io::Write as _;

/// Returns whether it interrupted the others.
pub(super) type Way = fn() -> bool;

pub(super) const WAYS: [Way; 3] = [membarrier, unmap::a_page, visit::every_cpu];

fn call(command: libc::c_int) -> bool {
    // SAFETY: the system call takes three integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Returns whether threads can be interrupted from now on.
pub(super) fn register() -> bool {
    call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Source: membarrier(2); Linux `kernel/sched/membarrier.c`, since 4.14.
fn membarrier() -> bool {
    let interrupted = || call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    // A forked process may have to register again.
    interrupted() || (register() && interrupted())
}

/// Interrupts the others, or ends the process.
pub(super) fn others() {
    if !WAYS.iter().any(|way| way()) {
        // Light barriers are compiler fences by now: going on would be a race, and after unwinding others would wait
        // for this thread. The lock is held to the end: other threads come here too, and one line is enough. Not
        // `eprintln`, which may panic.
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(
            stderr,
            "tenure: cannot interrupt other threads: the system refuses membarrier, which it granted before, and all \
             that could replace it (a seccomp filter?). Allow membarrier, or call tenure::process::use_full_fences() \
             first thing in main"
        );
        std::process::abort();
    }
}

#[cfg(all(test, not(sanitized)))]
pub(super) fn is_there() -> bool {
    // SAFETY: as in `call`.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    let all =
        libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    commands >= 0 && commands & libc::c_long::from(all) == libc::c_long::from(all)
}
