//! Why a thread sleeps, from its system call.

use std::fs;

use tenure_debuginfo::names;
use tenure_model::TimeCause;
use tenure_model::recording::MEMORY_CALLS;

use super::stack;
use crate::callers::Callers;
use crate::sys::process::{self, LiveProcess};

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

/// Those whose first argument is no file.
const WITHOUT_FILE: [&str; 14] = [
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "io_getevents",
    "wait4",
    "waitid",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "pause",
    "vfork",
];

impl Sleep {
    /// The same sleep a while later: a lock may have changed hands.
    pub(super) fn later(&self, process: &LiveProcess) -> Self {
        let word = self.word.filter(|_| self.cause == TimeCause::Lock);
        Self { holder: word.and_then(|word| holder(word, process)), ..self.clone() }
    }

    /// What `/proc` says of a thread that sleeps, as a reason; of an empty line, which could not be read, nothing.
    pub(super) fn of(line: &str, tid: u32, process: &LiveProcess, callers: &mut Callers) -> Self {
        let Some(call) = BlockedCall::parsed(line) else {
            return Self::of_call(TimeCause::Unseen, "");
        };
        let words = stack::words(call.stack, process);
        let (names, code) = stack::callers(call.ip, &words, process, callers);
        // What the kernel sleeps in says whether it waits for a lock of its own.
        let in_kernel_lock = || {
            let function = process::sleeps_in(process.pid, tid).unwrap_or_default();
            ["rwsem", "mutex", "vma", "mmap_lock"].iter().any(|lock| function.contains(lock))
        };
        let Ok(number) = u64::try_from(call.number) else {
            let cause = if in_kernel_lock() { TimeCause::Kernel } else { TimeCause::Io };
            return Self { code, ..Self::of_call(cause, "page fault") };
        };
        let name = process::call_name(number);
        let [first, second, ..] = call.arguments;
        match &*name {
            "futex" => {
                let cause = futex(&call, &names);
                let holder = (cause == TimeCause::Lock).then(|| holder(first, process)).flatten();
                Self { word: Some(first), code, holder, ..Self::of_call(cause, "futex") }
            }
            "nanosleep" | "clock_nanosleep" => {
                Self { code, ..Self::of_call(TimeCause::Timer, "sleep") }
            }
            // A call with a time, after an interruption. Its arguments are not shown.
            "restart_syscall" => {
                let cause = by_names(&names).unwrap_or(TimeCause::Timer);
                Self { code, ..Self::of_call(cause, "sleep") }
            }
            // Without files there is nothing to wait for but the time.
            "poll" | "ppoll" if second == 0 => {
                Self { code, ..Self::of_call(TimeCause::Timer, "sleep") }
            }
            "select" | "pselect6" if first == 0 => {
                Self { code, ..Self::of_call(TimeCause::Timer, "sleep") }
            }
            call if MEMORY_CALLS.contains(&call) => {
                Self { code, ..Self::of_call(TimeCause::Kernel, call) }
            }
            _ if in_kernel_lock() => Self { code, ..Self::of_call(TimeCause::Kernel, &name) },
            call if WITHOUT_FILE.contains(&call) => {
                Self { code, ..Self::of_call(TimeCause::Io, call) }
            }
            call => {
                let file = file(process.pid, first);
                let call = file.map_or_else(|| call.to_owned(), |file| format!("{call} of {file}"));
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
    let is_lock = value & u64::from(u32::MAX) == CONTENDED;
    by_names(names).unwrap_or(if is_lock { TimeCause::Lock } else { TimeCause::OtherThreads })
}

/// What library functions are about: a lock, or other threads.
pub(super) fn by_names(names: &[String]) -> Option<TimeCause> {
    // A condition's wait ends by taking its lock again: what says that it is one comes first.
    if names.iter().any(|name| names::waits_for_thread(name)) {
        return Some(TimeCause::OtherThreads);
    }
    let is_of_lock = |name: &String| names::takes_lock(name) || names::mentions_lock(name);
    names.iter().any(is_of_lock).then_some(TimeCause::Lock)
}

/// The thread that holds one of glibc's mutexes: its number is behind the word.
fn holder(word: u64, process: &LiveProcess) -> Option<u32> {
    const OWNER: u64 = 8;
    let owner = process.word(word + OWNER)? as u32;
    process.has_thread(owner).then_some(owner)
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
    use nix::libc;

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
    fn a_thread_that_may_not_be_asked_sleeps_for_no_known_reason() {
        let process = LiveProcess::open(std::process::id()).unwrap();
        let sleep = Sleep::of("", 1, &process, &mut Callers::default());
        assert_eq!(sleep.cause, TimeCause::Unseen);
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
