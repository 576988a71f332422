//! Coherence: who has which line, who gets it next, and when.
//!
//! Each line has a *home*, a directory that knows its holders (MESIF: one owner, or readers of which one passes it on)
//! and serves one request after the other. A transfer over a latency `L` has two legs: the request's way to the home
//! and the holder, `(1 - handoff) * L`, and the line's way back, `handoff * L`. Where requests wait, the first leg is
//! over when their turn comes.
//!
//! ```text
//!  access ── hit? ── yes ──> cost of a hit or of a read-modify-write; done
//!               └─── no ───> request ──leg──> queue ──grant──leg──> delivery ──> as a hit
//!                                              ▲  who is next: Arbitration
//!                                              │  when: the owner's residency is over and what it
//!                                              └  has begun is finished
//! ```

mod line;

pub(crate) use line::{LineHolder, LineRequest, LineState, Sharers, Want};

use crate::machine::{Arbitration, AtomicKind, CoreIndex, Distance, Machine, Ps, ps};
use crate::random::Random;

/// A core writes one buffered store each cycle, and a hit takes four or five (Intel's optimization manual).
const DRAINED_PER_HIT: Ps = 4;

/// Times in picoseconds.
#[derive(Debug)]
pub(crate) struct Costs {
    pub(crate) hit: Ps,
    /// Time of a buffered store whose line is there.
    pub(crate) drain: Ps,
    pub(crate) rmw: Ps,
    pub(crate) pause: Ps,
    pub(crate) directory: Ps,
    pub(crate) home: Ps,
    pub(crate) system_call: Ps,
    pub(crate) wake: Ps,
    pub(crate) wake_send: Ps,
    pub(crate) interrupt_send: Ps,
    pub(crate) interrupt_latency: Ps,
    pub(crate) interrupt_handler: Ps,
    sibling: [Ps; 2],
    /// The whole latency by distance, lower and upper end.
    latency: [[Ps; 2]; Distance::ALL.len()],
    /// Twice the residency.
    longest_stay: Ps,
    /// `contention.handoff` in thousandths.
    handoff: Ps,
    /// The shortest way of a request to a line's home.
    pub(crate) lookahead: Ps,
    pub(crate) kind: AtomicKind,
    arbitration: Arbitration,
}

impl Costs {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share, checked")]
    pub(crate) fn of(machine: &Machine) -> Self {
        let (a, c, k) = (&machine.atomic, &machine.contention, &machine.kernel);
        let span = |distance| {
            let span = machine.latency(distance);
            [ps(span.low()), ps(span.high())]
        };
        let latency = Distance::ALL.map(span);
        let handoff = (c.handoff * 1e3).round() as Ps;
        let shortest = latency.iter().map(|[low, _]| *low).min().unwrap_or(0);
        let sibling = machine.latency.sibling.map_or([0, 0], |s| [ps(s.low()), ps(s.high())]);
        Self {
            hit: ps(machine.latency.hit),
            drain: ps(machine.latency.hit).div_ceil(DRAINED_PER_HIT),
            rmw: ps(a.rmw),
            pause: ps(c.pause),
            directory: ps(c.directory),
            home: ps(a.home.unwrap_or(0.0)),
            system_call: ps(k.system_call),
            wake: ps(k.wake),
            wake_send: ps(k.wake_send),
            interrupt_send: ps(k.interrupt_send),
            interrupt_latency: ps(k.interrupt_latency),
            interrupt_handler: ps(k.interrupt_handler),
            sibling,
            latency,
            longest_stay: 2 * ps(c.residency),
            handoff,
            lookahead: shortest - leg(shortest, handoff),
            kind: a.kind,
            arbitration: c.arbitration,
        }
    }

    /// A whole transfer with no other CPU at the line.
    fn latency(&self, distance: Distance, random: &mut Random) -> Ps {
        random.within(self.latency[distance as usize])
    }

    pub(crate) fn request(&self, distance: Distance, random: &mut Random) -> Ps {
        let whole = self.latency(distance, random);
        whole - leg(whole, self.handoff)
    }

    pub(crate) fn delivery(&self, distance: Distance, random: &mut Random) -> Ps {
        leg(self.latency(distance, random), self.handoff)
    }

    /// Time from one hardware thread to another of its core.
    pub(crate) fn sibling(&self, random: &mut Random) -> Ps {
        random.within(self.sibling)
    }

    /// How long a new owner keeps the line if others wait.
    pub(crate) fn stay(&self, random: &mut Random) -> Ps {
        random.within([0, self.longest_stay])
    }

    /// The index of the next request to serve.
    pub(crate) fn next(&self, waiting: usize, random: &mut Random) -> usize {
        match self.arbitration {
            Arbitration::Fifo => 0,
            Arbitration::Random => random.below(waiting),
        }
    }
}

fn leg(whole: Ps, thousandths: Ps) -> Ps {
    whole * thousandths / 1000
}

/// To read, from the nearest holder; to own, until the farthest holder has let go.
pub(crate) fn distance(
    machine: &Machine,
    holder: &LineHolder,
    core: CoreIndex,
    want: Want,
) -> Distance {
    let topology = &machine.topology;
    match holder {
        // The new owner is not known yet to the asking core.
        LineHolder::Moving => Distance::Cluster,
        LineHolder::Home => Distance::Socket,
        LineHolder::Memory => Distance::Memory,
        LineHolder::Owner(owner) if *owner == core => Distance::Cluster,
        LineHolder::Owner(owner) => topology.distance(*owner, core),
        LineHolder::Shared(sharers, last) => match want {
            Want::Read if sharers.any_in(topology.cluster(core), core) => Distance::Cluster,
            Want::Read if sharers.any_in(topology.socket(core), core) => Distance::Socket,
            Want::Read => topology.distance(*last, core),
            Want::Own | Want::Far => {
                let all = 0..topology.cores_in_all();
                let (socket, cluster) = (topology.socket(core), topology.cluster(core));
                let outside = |range: &std::ops::Range<usize>| {
                    sharers.any_in(0..range.start, core) || sharers.any_in(range.end..all.end, core)
                };
                if outside(&socket) {
                    Distance::Remote
                } else if outside(&cluster) {
                    Distance::Socket
                } else {
                    Distance::Cluster
                }
            }
        },
    }
}
