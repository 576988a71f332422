//! [`After`]: how a connection goes on after an answer, an error or an end.

use rustix::io::Errno;

use super::job::Job;
use super::protocol::Verdict;
use super::tally::Tally;
use crate::load::outcome::ErrorKind;

/// How a connection goes on.
pub(super) enum After {
    /// As it is.
    Go,
    /// It has ended, as it should.
    Closed,
    /// It has ended, and should not have.
    Lost(ErrorKind, String),
}

/// Counts an answer. The connection is lost with one that is none.
#[inline]
pub(super) fn count<P>(
    job: &Job<P>,
    tally: &mut Tally,
    kind: usize,
    verdict: Verdict,
    start_ns: u64,
    now_ns: u64,
) -> Result<(), After> {
    let hit = match verdict {
        Verdict::Done => true,
        Verdict::Miss => false,
        Verdict::Refused(said) => {
            tally.fail(ErrorKind::Refused, said);
            return Ok(());
        }
        Verdict::Wrong(said) => {
            tally.fail(ErrorKind::Wrong, said);
            return Ok(());
        }
        Verdict::Broken(said) => return Err(After::Lost(ErrorKind::Wrong, said)),
    };
    // With a fixed number of requests those count that were asked in time, otherwise those answered in time.
    let decides_ns = if job.quota.is_some() { start_ns } else { now_ns };
    if decides_ns >= job.from_ns && now_ns < job.until_ns {
        let at_ns = now_ns - job.from_ns;
        tally.record(kind, hit, now_ns.saturating_sub(start_ns), at_ns);
        tally.last_ns = now_ns;
    }
    Ok(())
}

/// A connection that failed like that: before anything came on it, it was not one.
pub(super) fn lost(answered: bool, error: Errno) -> After {
    let kind = match error {
        Errno::CONNREFUSED | Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH
            if !answered =>
        {
            ErrorKind::Connect
        }
        _ => ErrorKind::Reset,
    };
    After::Lost(kind, said(error))
}

/// What the system says of an error.
pub(super) fn said(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}
