//! Group `dst`: false sharing beside the count, on the object where Linux had it.
//!
//! Two repairs, apart and together: the counter (inc_not_zero or a single add) and the layout (what is read shares the
//! count's line, or not): four cells, and the ticket count in either layout.

use super::refs::{OutlivedCount, acquired, still_held};
use super::route::{IsolatedRoute, Route, SharedRoute};
use super::{BenchGroup, BenchOperation, BenchScenario, Host, NamedMember, Variant};
use std::hint::black_box;
use tenure::count::RefCount;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};

/// A get, what every packet reads, and a put.
pub(crate) struct Lookup<R>(R);

impl<R: Route<Count: OutlivedCount> + 'static> BenchOperation for Lookup<R> {
    fn prepare() -> Self {
        Self(R::new_in())
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        let route = &self.0;
        acquired(route.refs().get());
        black_box(route.lwtstate());
        black_box(route.rt_genid());
        // SAFETY: the runner joins all threads before it drops the operation.
        still_held(route.refs().put(unsafe { R::Count::readable() }));
    }
    fn members(&self) -> Vec<NamedMember> {
        self.0.members()
    }
}

/// A packet's way: the route is validated before the get, and read again between pieces of work.
pub(crate) struct Packet<R>(R);

const WORK_NS: u32 = 30;

impl<R: Route<Count: OutlivedCount> + 'static> BenchOperation for Packet<R> {
    fn prepare() -> Self {
        Self(R::new_in())
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        let route = &self.0;
        // Each value is needed to go on, as by a branch.
        let mut state = black_box(u64::from(route.rt_genid()));
        acquired(route.refs().get());
        state = R::Host::work(state ^ black_box(route.lwtstate()), WORK_NS);
        state = R::Host::work(state ^ black_box(u64::from(route.rt_genid())), WORK_NS);
        black_box(state);
        // SAFETY: the runner joins all threads before it drops the operation.
        still_held(route.refs().put(unsafe { R::Count::readable() }));
    }
    fn members(&self) -> Vec<NamedMember> {
        self.0.members()
    }
}

macro_rules! cells {
    ($host:ident, $operation:ident) => {
        vec![
            Variant::of::<$operation<SharedRoute<$host, IncNotZero<$host>, 4>>>(
                "shared + inc_not_zero",
            ),
            Variant::of::<$operation<IsolatedRoute<$host, IncNotZero<$host>, 4>>>(
                "isolated + inc_not_zero",
            ),
            Variant::of::<$operation<SharedRoute<$host, RcuRef<$host>, 4>>>("shared + rcuref"),
            Variant::of::<$operation<IsolatedRoute<$host, RcuRef<$host>, 4>>>("isolated + rcuref"),
            Variant::of::<$operation<SharedRoute<$host, TicketRef<$host>, 0>>>("shared + ticket"),
            Variant::of::<$operation<IsolatedRoute<$host, TicketRef<$host>, 0>>>(
                "isolated + ticket",
            ),
        ]
    };
}

pub(super) fn group<M: Host>() -> BenchGroup {
    BenchGroup {
        name: "dst",
        title: "False sharing beside the count",
        about: "Linux's route object with the members and offsets of 6.1 (shared: what is read after \
                every get lies on the count's line) and of 6.4 (isolated: cold members lie there \
                instead, at the same size), each with the compare-exchange loop and with a single \
                add. Layout and counter are separate repairs.",
        scenarios: vec![
            BenchScenario::new(
                "dst/cells",
                "get, read two fields, put",
                "One operation takes a reference, reads lwtstate and rt_genid, and puts it.",
                "shared + inc_not_zero",
                cells!(M, Lookup),
            ),
            BenchScenario::new(
                "dst/packet",
                "validate, get, read, work, read again, work, put",
                "As a packet does it: rt_genid is read before the get, lwtstate after it, and \
                 rt_genid again later, with private work (60 ns in all at 4 GHz) between \
                 the reads and before the put.",
                "shared + inc_not_zero",
                cells!(M, Packet),
            ),
        ],
    }
}
