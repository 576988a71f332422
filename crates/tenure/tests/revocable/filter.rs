//! Tests in a child that enters a sandbox: a seccomp filter that refuses some system calls.

use std::process::{Command, Output};

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xC000_00B7;

pub(crate) const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

const fn statement(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

const fn unless_equal(value: u32, skip: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    libc::sock_filter { code: code as u16, jt: 0, jf: skip, k: value }
}

/// From now on these calls have this answer, in all present and future threads.
pub(crate) fn refuse(calls: &[libc::c_long], answer: u32) {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let mut filter = vec![
        statement(LOAD, std::mem::offset_of!(libc::seccomp_data, arch) as u32),
        unless_equal(THIS_ARCHITECTURE, 1 + 2 * calls.len() as u8),
        statement(LOAD, std::mem::offset_of!(libc::seccomp_data, nr) as u32),
    ];
    for &call in calls {
        filter.extend([unless_equal(call as u32, 1), statement(RETURN, answer)]);
    }
    filter.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes integers. An unprivileged process has to give new privileges up first.
    let gave_up = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(gave_up, 0, "{}", std::io::Error::last_os_error());
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

/// 0 or a set of bits, or an error.
pub(crate) fn membarrier(command: libc::c_int) -> Result<libc::c_long, Option<i32>> {
    // SAFETY: the system call takes three integers and touches no memory of ours.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if answer < 0 { Err(std::io::Error::last_os_error().raw_os_error()) } else { Ok(answer) }
}

/// Whether the system has barriers that interrupt other threads.
pub(crate) fn has_membarrier() -> bool {
    let all = libc::c_long::from(
        libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    );
    membarrier(libc::MEMBARRIER_CMD_QUERY).is_ok_and(|commands| commands & all == all)
}

/// Runs `test`, which has that name, in a process of its own, and returns its output; `None` there.
pub(crate) fn in_child(name: &str, test: impl FnOnce()) -> Option<Output> {
    const IN_CHILD: &str = "TENURE_TEST_IN_CHILD";
    if std::env::var_os(IN_CHILD).is_some() {
        test();
        return None;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    Some(child)
}

pub(crate) fn passes_in_child(name: &str, test: impl FnOnce()) {
    let Some(child) = in_child(name, test) else { return };
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{}: {said}\n{}",
        child.status,
        String::from_utf8_lossy(&child.stderr)
    );
}
