//! Group `pool`: slots that are used again.

mod churn;
mod one_way;
mod others;
mod public;
mod ring;
mod slots;

use super::{BenchGroup, BenchScenario, Host, Variant, add};
use churn::churn;
use one_way::OneWay;
use others::{Bounded, LockedVec, Nothing, ShardedSlab, Unbounded};
use public::{Buffers, PublicObjects};
use slots::{ListedSlots, cycle};
use tenure::memory::Native;
use tenure::pool::list::{Magazines, Scan, TaggedStack};

fn lists<M: Host>(in_use: u32) -> Vec<Variant> {
    vec![
        cycle::<ListedSlots<Scan<M, false>>>("scan (published)", in_use),
        cycle::<ListedSlots<Scan<M>>>("scan", in_use),
        cycle::<ListedSlots<TaggedStack<M>>>("tagged stack", in_use),
        cycle::<ListedSlots<Magazines<M>>>("magazines", in_use),
    ]
}

fn native(in_use: u32) -> [Vec<Variant>; 2] {
    let others = vec![
        cycle::<LockedVec>("mutex vec", in_use),
        cycle::<Bounded>("array queue", in_use),
        cycle::<Unbounded>("seg queue", in_use),
        cycle::<ShardedSlab>("sharded-slab", in_use),
    ];
    [
        others,
        vec![cycle::<PublicObjects>("SlotPool", in_use), cycle::<Buffers>("BufferPool", in_use)],
    ]
}

const SCAN: &[&str] = &["scan"];

fn in_use(id: &'static str, title: &'static str, variants: Vec<Variant>) -> BenchScenario {
    let about = "One operation acquires a slot and releases it. Those in use lie before those that are free, \
                 where a walk that takes the first free one leaves them.";
    BenchScenario::new(id, title, about, "scan (published)", variants)
}

pub(super) fn group<M: Host>() -> BenchGroup {
    BenchGroup {
        name: "pool",
        title: "Slots that are used again",
        about: "Free lists of a pool. Scan walks all slots under a read lock and claims the first that is free, \
                as Linux's SMC does: as published with a compare-exchange on each, and at its best with a \
                look first. The tagged stack is one lock-free list, and magazines give every thread some \
                free slots of its own. All hand out slot numbers, and make a slot where none is free.",
        scenarios: vec![
            in_use("pool/in-use-10", "acquire + release, 10 in use", lists::<M>(10)).with_rivals(SCAN),
            in_use("pool/in-use-200", "acquire + release, 200 in use", lists::<M>(200)).with_rivals(SCAN),
            BenchScenario::new(
                "pool/in-use",
                "magazines with ever more in use",
                "One operation acquires a slot from magazines and releases it. What is in use beside \
                 does not matter.",
                "10 in use",
                vec![
                    cycle::<ListedSlots<Magazines<M>>>("10 in use", 10),
                    cycle::<ListedSlots<Magazines<M>>>("200 in use", 200),
                    cycle::<ListedSlots<Magazines<M>>>("1000 in use", 1_000),
                    cycle::<ListedSlots<Magazines<M>>>("100000 in use", 100_000),
                ],
            )
            .unshared(),
            BenchScenario::new(
                "pool/one-way",
                "acquire on one thread, release on another",
                "Threads come in pairs: one acquires slots and sends them, the other receives and \
                 releases them. One operation is a slot on either side; a thread without another \
                 does both. The limit is the channel without a pool.",
                "tagged stack",
                vec![
                    OneWay::<Nothing, M>::variant("limit"),
                    OneWay::<ListedSlots<TaggedStack<M>>, M>::variant("tagged stack"),
                    OneWay::<ListedSlots<Magazines<M>>, M>::variant("magazines"),
                ],
            ),
            BenchScenario::new(
                "pool/churn",
                "close a connection and open another",
                "Every thread has 200 connections, each with a slot to send from and one to receive \
                 into. One operation closes the oldest and opens another: two releases and two \
                 acquires.",
                "tagged stack",
                vec![
                    churn::<ListedSlots<TaggedStack<M>>>("tagged stack"),
                    churn::<ListedSlots<Magazines<M>>>("magazines"),
                ],
            ),
        ],
    }
}

pub(super) fn extend(group: &mut BenchGroup) {
    let last = group.scenarios.iter().position(|scenario| scenario.id == "pool/in-use-200");
    let at = last.map_or(0, |at| at + 1);
    // A walk of 100,000 takes a millisecond.
    let long = [
        in_use("pool/in-use-1000", "acquire + release, 1,000 in use", lists::<Native>(1_000))
            .with_rivals(SCAN),
        in_use(
            "pool/in-use-100000",
            "acquire + release, 100,000 in use",
            lists::<Native>(100_000).split_off(2),
        ),
    ];
    group.scenarios.splice(at..at, long);

    add(group, "pool/in-use-10", "array queue", native(10));
    add(group, "pool/in-use-200", "scan (published)", native(200));
    add(group, "pool/in-use-1000", "scan (published)", native(1_000));
    add(group, "pool/in-use-100000", "array queue", native(100_000));
    let one_way = [
        vec![
            OneWay::<LockedVec, Native>::variant("mutex vec"),
            OneWay::<Bounded, Native>::variant("array queue"),
            OneWay::<Unbounded, Native>::variant("seg queue"),
            OneWay::<ShardedSlab, Native>::variant("sharded-slab"),
        ],
        vec![
            OneWay::<PublicObjects, Native>::variant("SlotPool"),
            OneWay::<Buffers, Native>::variant("BufferPool"),
        ],
    ];
    add(group, "pool/one-way", "array queue", one_way);
    let connections = [
        vec![
            churn::<ListedSlots<Scan<Native, false>>>("scan (published)"),
            churn::<ListedSlots<Scan>>("scan"),
            churn::<LockedVec>("mutex vec"),
            churn::<Bounded>("array queue"),
            churn::<Unbounded>("seg queue"),
            churn::<ShardedSlab>("sharded-slab"),
        ],
        vec![churn::<PublicObjects>("SlotPool"), churn::<Buffers>("BufferPool")],
    ];
    add(group, "pool/churn", "scan (published)", connections);
}
