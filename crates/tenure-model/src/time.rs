//! Where the time of a program's threads went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Code;

/// Where the time of a program's threads went while they were watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSplit {
    /// How long the program was watched.
    pub seconds: f64,
    /// CPUs that it may use.
    pub cpus: f64,
    /// CPUs that it used, on average.
    pub used: f64,
    /// CPUs that its threads would have used but for other programs, on average.
    pub taken_by_others: f64,
    /// What holds it back most; its own work if nothing else takes a fifth of the CPUs.
    pub dominant: TimeCause,
    /// What its processor time went to, the largest part first. The shares add up to 1.
    pub running: Vec<TimePart>,
    /// Why its threads left CPUs idle, or to other programs, the largest part first. The shares are of the time of all its CPUs:
    /// together with [`used`](Self::used) and [`taken_by_others`](Self::taken_by_others) they add up to
    /// [`cpus`](Self::cpus).
    pub idle: Vec<TimePart>,
    /// The share of the threads' time in which they could run and had no CPU, other programs' part left out.
    pub without_cpu: f64,
}

/// A part of the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimePart {
    /// What the time went to.
    pub cause: TimeCause,
    /// The share, from 0 to 1.
    pub share: f64,
    /// The ends of its 95 % interval.
    pub interval: [f64; 2],
    /// What it consists of, the largest first: system calls, locks, places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<TimeDetail>,
}

/// What time went to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TimeCause {
    /// Threads waited for lines that other threads use.
    SharedLines,
    /// The kernel worked or, while CPUs were idle, let threads wait that change the memory of the process.
    Kernel,
    /// The program worked.
    OwnWork,
    /// It is not known.
    Unseen,
    /// Threads slept until another gave back a lock.
    Lock,
    /// Threads slept until another thread had something for them: a condition, a join, a barrier, an empty queue.
    OtherThreads,
    /// Threads slept until a file, a pipe or a socket was ready.
    Io,
    /// Threads slept for a time that they chose.
    Timer,
    /// Too few threads existed.
    NoThreads,
    /// More threads could run than there are CPUs. It can dominate, and is no part of the time.
    NoCpu,
}

/// A part of a [`TimePart`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeDetail {
    /// What it is: `futex`, `pool.lock`, `epoll_wait`, or a function of the program.
    pub name: String,
    /// The share, of the same whole as that of the [`TimePart`].
    pub share: f64,
    /// Where in the program it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Who called that, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Code>,
    /// The rank of the finding that is about the same word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<u64>,
    /// Who held the lock most often, and where: `worker, in Pool::take (pool.rs:80)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}
