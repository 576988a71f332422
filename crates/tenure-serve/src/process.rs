//! The process that a server runs in: its limit of open files, and its memory.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections.
const OTHERS: u64 = 64;

/// Raises the limit of open files for `count` connections, as far as it may. Returns whether they all fit.
#[must_use]
pub fn allow_connections(count: usize) -> bool {
    let needed = count as u64 + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return true;
    }
    let allowed = limit.maximum.is_none_or(|maximum| maximum >= needed);
    let wanted = if allowed { Some(needed) } else { limit.maximum };
    setrlimit(Resource::Nofile, Rlimit { current: wanted, ..limit }).is_ok() && allowed
}

/// Has the allocator return free memory to the system: glibc's keeps what lies below memory in use.
pub(crate) fn return_to_system() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes a number, and locks each arena that it trims.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has the allocator map each large piece of memory by itself, so that freeing it returns it to the system. glibc's stops
/// that after the first one is freed, and then tables of a map lie between small pieces that stay.
pub(crate) fn map_large_pieces() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes two numbers.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 512 << 10);
    }
}
