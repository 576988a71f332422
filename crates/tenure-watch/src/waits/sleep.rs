//! Why a thread sleeps, from its system call.

use std::fs;

use nix::libc;
use tenure_debuginfo::names;
use tenure_model::TimeCause;

use super::stack;
use crate::callers::Callers;
use crate::sys::process::LiveProcess;

/// What a thread sleeps for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sleep {
    pub(super) cause: TimeCause,
    /// The system call, and what it was about.
    pub(super) call: String,
    /// The word of a futex.
    pub(super) word: Option<u64>,
    /// The return address in the program's own code.
    pub(super) code: Option<u64>,
    /// The thread that holds the lock, if the lock says so.
    pub(super) holder: Option<u32>,
}

/// A line of `/proc/PID/task/TID/syscall` of a thread that sleeps.
#[derive(Debug, PartialEq, Eq)]
struct BlockedCall {
    number: i64,
    arguments: [u64; 6],
    stack: u64,
    ip: u64,
}

impl BlockedCall {
    /// `202 0x55… 0x80 0x2 0x0 0x0 0x0 0x7ffd… 0x7f…`, or `-1 0x7ffd… 0x7f…` outside of system calls.
    fn parsed(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let all: Vec<u64> = words.map(hexadecimal).collect::<Option<_>>()?;
        let (rest, &[stack, ip]) = all.split_last_chunk()?;
        let mut arguments = [0; 6];
        arguments.iter_mut().zip(rest).for_each(|(into, from)| *into = *from);
        Some(Self { number, arguments, stack, ip })
    }
}

/// System calls in which threads usually sleep, with what they wait on.
const CALLS: [(i64, &str); 22] = [
    (libc::SYS_read, "read"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_pread64, "pread"),
    (libc::SYS_write, "write"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pwrite64, "pwrite"),
    (libc::SYS_recvfrom, "recv"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "send"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_epoll_pwait, "epoll_wait"),
    (libc::SYS_ppoll, "poll"),
    (libc::SYS_pselect6, "select"),
    (libc::SYS_io_getevents, "io_getevents"),
    (libc::SYS_wait4, "wait"),
    (libc::SYS_waitid, "wait"),
    (libc::SYS_rt_sigtimedwait, "sigwait"),
];

/// System calls that change a process's memory.
const MAPPING: [i64; 6] = [
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_brk,
];

#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [(i64, &str); 3] =
    [(libc::SYS_epoll_wait, "epoll_wait"), (libc::SYS_poll, "poll"), (libc::SYS_select, "select")];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: [(i64, &str); 0] = [];

impl Sleep {
    /// What `/proc` says of a thread that sleeps, as a reason.
    pub(super) fn of(line: &str, process: &LiveProcess, callers: &mut Callers) -> Self {
        let Some(call) = BlockedCall::parsed(line) else { return Self::of_call(TimeCause::Io, "") };
        let (names, code) = stack::callers(call.ip, call.stack, process, callers);
        match call.number {
            libc::SYS_futex => {
                let word = call.arguments[0];
                let cause = futex(&call, &names);
                let holder = (cause == TimeCause::Lock).then(|| holder(word, process)).flatten();
                Self { word: Some(word), code, holder, ..Self::of_call(cause, "futex") }
            }
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => {
                Self { code, ..Self::of_call(TimeCause::Timer, "sleep") }
            }
            // Of all threads of a process one at a time changes its memory, or none if another has a fault.
            number if number < 0 || MAPPING.contains(&number) => {
                Self { code, ..Self::of_call(TimeCause::Kernel, "memory mapping") }
            }
            number => {
                let known = CALLS.iter().chain(&OLD_CALLS).find(|(of, _)| *of == number);
                let name =
                    known.map_or_else(|| format!("system call {number}"), |it| it.1.to_owned());
                let [first, second, ..] = call.arguments;
                // Without files there is nothing to wait for but the time.
                let is_timer = name == "poll" && second == 0 || name == "select" && first == 0;
                if is_timer {
                    return Self { code, ..Self::of_call(TimeCause::Timer, "sleep") };
                }
                let file = match name.as_str() {
                    "poll" | "select" | "epoll_wait" | "io_getevents" | "wait" | "sigwait" => None,
                    _ => file(process.pid, first),
                };
                let call = file.map(|file| format!("{name} of {file}")).unwrap_or(name);
                Self { code, ..Self::of_call(TimeCause::Io, &call) }
            }
        }
    }

    fn of_call(cause: TimeCause, call: &str) -> Self {
        Self { cause, call: call.to_owned(), word: None, code: None, holder: None }
    }
}

/// What a futex is: by the library functions that wait for it, or else by what they expect to find there.
fn futex(call: &BlockedCall, names: &[String]) -> TimeCause {
    /// The command without its flags.
    const COMMAND: u64 = 0x7f;
    const LOCK_PI: [u64; 2] = [6, 13];
    const WAIT_REQUEUE_PI: u64 = 11;
    /// What glibc's and std's mutexes hold while threads wait.
    const CONTENDED: u64 = 2;
    let [_, command, value, ..] = call.arguments;
    match command & COMMAND {
        command if LOCK_PI.contains(&command) => return TimeCause::Lock,
        WAIT_REQUEUE_PI => return TimeCause::OtherThreads,
        _ => {}
    }
    // A condition's wait ends by taking its lock again: what says that it is one comes first.
    let is_wait = names.iter().any(|name| names::waits_for_thread(name));
    let takes = |name: &String| names::takes_lock(name) || names::mentions_lock(name);
    let is_lock = names.iter().any(takes) || value & u64::from(u32::MAX) == CONTENDED;
    if is_lock && !is_wait { TimeCause::Lock } else { TimeCause::OtherThreads }
}

/// The thread that holds one of glibc's mutexes: its number is behind the word.
fn holder(word: u64, process: &LiveProcess) -> Option<u32> {
    const OWNER: u64 = 8;
    let owner = process.word(word + OWNER)? as u32;
    process.threads().contains(&owner).then_some(owner)
}

/// What a file descriptor is of.
fn file(pid: u32, descriptor: u64) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/fd/{}", descriptor as u32)).ok()?;
    let path = path.to_str()?.to_owned();
    Some(match path.split_once(':') {
        Some((kind @ ("pipe" | "socket"), _)) => format!("a {kind}"),
        _ => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn futex_of(command: u64, value: u64, names: &[&str]) -> TimeCause {
        let arguments = [0x1000, command, value, 0, 0, 0];
        let call = BlockedCall { number: libc::SYS_futex, arguments, stack: 0, ip: 0 };
        futex(&call, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_blocked_call_is_read_with_and_without_arguments() {
        let call =
            BlockedCall::parsed("202 0x5599 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f00\n").unwrap();
        assert_eq!((call.number, call.arguments[..3].to_vec()), (202, vec![0x5599, 0x80, 2]));
        assert_eq!((call.stack, call.ip), (0x7f_fd10, 0x7f00));
        let fault = BlockedCall::parsed("-1 0x7ffd10 0x7f00").unwrap();
        assert_eq!((fault.number, fault.stack, fault.ip), (-1, 0x7f_fd10, 0x7f00));
        for line in ["", "running", "202", "x 0x1 0x2", "202 0x1 y"] {
            assert_eq!(BlockedCall::parsed(line), None, "{line}");
        }
    }

    #[test]
    fn a_futex_is_a_lock_by_who_waits_or_by_what_is_expected() {
        use TimeCause::{Lock, OtherThreads};
        for (command, value, names, expected) in [
            (0x80, 2, &["pthread_mutex_lock"][..], Lock),
            (0x89, 2, &["std::sys::sync::mutex::futex::Mutex::lock_contended"], Lock),
            (0x89, 7, &["std::sys::sync::rwlock::futex::RwLock::write_contended"], Lock),
            (0x80, 1, &["parking_lot::raw_mutex::RawMutex::lock_slow"], Lock),
            (0x80, 1, &["parking_lot::condvar::Condvar::wait_until_internal"], OtherThreads),
            (0x89, 2, &["pthread_cond_wait"], OtherThreads),
            (0x89, 0, &["pthread_join"], OtherThreads),
            (0x89, 0xffff_ffff, &["std::thread::park"], OtherThreads),
            // Stripped.
            (0x80, 2, &[], Lock),
            (0x80, 0, &[], OtherThreads),
            (0x86, 0, &[], Lock),
            (0x8b, 0, &[], OtherThreads),
        ] {
            assert_eq!(futex_of(command, value, names), expected, "{command:#x} {value} {names:?}");
        }
    }
}
