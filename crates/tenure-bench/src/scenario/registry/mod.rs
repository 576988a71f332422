//! Group `registry`: one live object per key, on the real machine alone.

mod tables;
mod turns;

use super::refs::Bare;
use super::{BenchGroup, BenchScenario, Variant};
use tables::{InRegistry, Lingering, LockedTable, MokaCache, ShardedTable};
use tenure::cache_line::CachePadded;
use tenure::count::generic::TicketRef;
use tenure::memory::Native;
use turns::{churn, hit, spread};

type Isolating = CachePadded<TicketRef>;

/// Turns in which the last reference is never dropped.
macro_rules! hits {
    ($turn:ident) => {
        [
            $turn::<LockedTable>("mutex map"),
            $turn::<ShardedTable>("dashmap"),
            $turn::<MokaCache>("moka"),
            $turn::<InRegistry<TicketRef>>("registry"),
            $turn::<InRegistry<Isolating>>("registry, isolated"),
        ]
    };
}

pub(super) fn group() -> BenchGroup {
    BenchGroup {
        name: "registry",
        title: "One live object per key",
        about: "Objects that threads share by key while one uses them, and that are gone when none does. What \
                programs do about it today is a map of std's Weak, behind one lock (mutex map) or many (dashmap); \
                an object that goes removes its own entry. moka is a cache: it keeps what is not in use, and is here \
                for the price of a lookup. All maps hash with std's RandomState.",
        scenarios: vec![
            BenchScenario::new(
                "registry/hit",
                "acquire + drop one key",
                "One operation acquires the object of the one key that there is, which another thread holds \
                 as well, reads it and drops the reference. The limit is a bare addition and subtraction of \
                 one shared word.",
                "mutex map",
                [&[Variant::of::<Bare<Native>>("limit")][..], &hits!(hit)].concat(),
            )
            .with_rivals(&["dashmap"]),
            BenchScenario::new(
                "registry/spread",
                "acquire + drop, many keys",
                "The same with 1,024 keys, which each thread goes through from a place of its own.",
                "mutex map",
                hits!(spread),
            )
            .with_rivals(&["dashmap"]),
            BenchScenario::new(
                "registry/churn",
                "an object comes and goes",
                "One operation acquires a key that no thread holds, which creates the object, reads it, and drops \
                 the only reference, which destroys it. Each thread has 64 keys of its own, and 1,024 \
                 other objects are there all the time. Where objects linger it stays, and is found again.",
                "mutex map",
                vec![
                    churn::<LockedTable>("mutex map"),
                    churn::<ShardedTable>("dashmap"),
                    churn::<InRegistry<TicketRef>>("registry"),
                    churn::<InRegistry<Isolating>>("registry, isolated"),
                    churn::<Lingering>("registry, lingering"),
                ],
            )
            .with_rivals(&["dashmap"]),
        ],
    }
}
