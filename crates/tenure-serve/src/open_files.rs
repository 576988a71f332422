//! The limit of open files, which connections count as.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a process has beside its connections.
const OTHERS: u64 = 64;

/// Sees to it that this process may have so many connections, as far as it is allowed to. Says whether it may.
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
