//! Lazy references where the system has no `membarrier`: with full fences on both sides.
//!
//! In a child of its own, which refuses itself the system call before the library asks for it: by a filter that has
//! the kernel say that there is none (`ENOSYS`), as an old kernel would and as some containers do.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    feature = "std",
    not(miri)
))]

mod lazies;

use lazies::{Kind, Token, Worker};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use tenure::lazy::{Cached, Counted, Domain, Mask, Shootdown};
use tenure::memory::{Memory, Native, Ordering};

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xC000_00B7;

const fn statement(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

const fn unless_equal(value: u32, skip: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    libc::sock_filter { code: code as u16, jt: 0, jf: skip, k: value }
}

/// What the kernel says to a membarrier: 0 or a set of bits, or an error.
fn membarrier(command: libc::c_int) -> Result<libc::c_long, Option<i32>> {
    // SAFETY: the system call takes three integers and touches no memory of ours.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if answer < 0 { Err(std::io::Error::last_os_error().raw_os_error()) } else { Ok(answer) }
}

/// From now on this process and its threads, which are yet to come, have no membarrier.
fn refuse_membarrier() {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        statement(LOAD, std::mem::offset_of!(libc::seccomp_data, arch) as u32),
        unless_equal(THIS_ARCHITECTURE, 3),
        statement(LOAD, std::mem::offset_of!(libc::seccomp_data, nr) as u32),
        unless_equal(libc::SYS_membarrier as u32, 1),
        statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: what an unprivileged process has to give up first; takes integers.
    let gave_up = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(gave_up, 0, "{}", std::io::Error::last_os_error());
    // On all threads: libtest's own has other ones beside this.
    // SAFETY: the program is there, and the kernel copies it.
    let filtered = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    assert_eq!(filtered, 0, "{}", std::io::Error::last_os_error());
}

const IN_CHILD: &str = "TENURE_WITHOUT_MEMBARRIER";

/// Runs `test`, whose name that is, in a process that has no membarrier.
fn without_membarrier(name: &str, test: impl FnOnce()) {
    if std::env::var_os(IN_CHILD).is_some() {
        refuse_membarrier();
        let refused = Err(Some(libc::ENOSYS));
        assert_eq!(membarrier(libc::MEMBARRIER_CMD_QUERY), refused, "the filter does nothing");
        test();
        // A library that had registered before would have been refused by now, and aborted: a heavy barrier never
        // goes on without.
        Native::heavy_barrier();
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{}: {said}\n{}",
        child.status,
        String::from_utf8_lossy(&child.stderr)
    );
}

type Flag = <Native as Memory>::AtomicU32;

/// Threads with a seat each, under which objects end.
fn race<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<Token, S>::new_in());
    let stop = Arc::new(Flag::new(0));
    let shared = domain.context(token.clone());
    let threads = Vec::from_iter((0..2).map(|_| {
        let (domain, stop, shared) = (domain.clone(), Arc::clone(&stop), shared.clone());
        let token = token.clone();
        thread::spawn(move || {
            let mut worker = Worker::new(&domain);
            let mut turns = 0_u32;
            // Relaxed: only a flag.
            while stop.load(Ordering::Relaxed) == 0 || turns < 1_000 {
                turns += 1;
                worker.enter(&shared);
                let context = domain.context(token.clone());
                worker.enter(&context);
                if turns % 2 == 0 {
                    worker.leave();
                }
                drop(context);
                worker.value().inspect(|value| value.check());
                if worker.lazy() {
                    worker.value().unwrap().check();
                }
            }
        })
    }));
    let mut seats = [(); 3].map(|()| domain.seat());
    for turn in 0..3_000 {
        let context = domain.context(token.clone());
        for seat in &mut seats[..turn % 3 + 1] {
            drop(seat.enter(&context));
        }
        drop(context);
        seats[0].enter(&shared).check();
    }
    // Relaxed: only a flag.
    stop.store(1, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop((seats, shared));
    assert_eq!(token.objects(), 0);
    assert_eq!(domain.statistics().barriers > 0, !S::KEEPS);
}

#[test]
fn objects_end_under_seats_without_membarrier() {
    without_membarrier("objects_end_under_seats_without_membarrier", || {
        race::<Shootdown>();
        race::<Shootdown<true>>();
        race::<Counted>();
        race::<Mask>();
    });
}

#[test]
fn values_are_read_and_stored_without_membarrier() {
    without_membarrier("values_are_read_and_stored_without_membarrier", || {
        let token = Token::new();
        let cached = Cached::new((0, token.clone()));
        let threads = Vec::from_iter((0..3).map(|_| {
            let cached = cached.clone();
            thread::spawn(move || {
                let (mut reader, mut seen) = (cached.reader(), 0);
                for turn in 0..5_000 {
                    for number in [reader.read().0, cached.read().0] {
                        assert!(number >= seen, "{number} after {seen}");
                        seen = number;
                    }
                    if turn % 2 == 0 {
                        cached.update(|(number, token)| {
                            token.check();
                            (number + 1, token.clone())
                        });
                    }
                }
            })
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(cached.read().0, 7_500);
        drop(cached);
        assert_eq!(token.objects(), 0);
    });
}

/// The control: the same child without the filter has a membarrier, where the system has one at all.
#[test]
fn a_library_that_was_granted_membarrier_does_not_go_on_without() {
    const NAME: &str = "a_library_that_was_granted_membarrier_does_not_go_on_without";
    if std::env::var_os(IN_CHILD).is_some() {
        Native::heavy_barrier();
        refuse_membarrier();
        Native::heavy_barrier();
        return;
    }
    let registers = libc::c_long::from(
        libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    );
    let has_one =
        membarrier(libc::MEMBARRIER_CMD_QUERY).is_ok_and(|all| all & registers == registers);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.success(), !has_one, "{}: {said}", child.status);
    assert_eq!(said.contains("membarrier was there when it was registered"), has_one, "{said}");
}
