//! Group `pool`: slots that are used again.
//!
//! | module | subject |
//! |---|---|
//! | `slots` | what is compared: pools of slots, here the free lists; acquire and release by one thread |
//! | `public` | the library's pools as programs use them, on the real machine alone |
//! | `others` | what else there is, there too |
//! | `one_way`, `ring` | acquire by one thread and release by another, and the channel between them |
//! | `churn` | connections that come and go |

mod churn;
mod one_way;
mod others;
mod public;
mod ring;
mod slots;

use super::workers::Workers;
use super::{Group, Host, Scenario, Variant, add};
use churn::Churn;
use one_way::OneWay;
use others::{Bounded, LockedVec, Nothing, Sharded, Unbounded, borrowed};
use public::{Buffers, Objects};
use slots::{Cycle, Listed};
use tenure::memory::Native;
use tenure::pool::list::{Magazines, Scan, TaggedStack};

/// The variants of acquire and release with so many slots in use, on `$host`.
macro_rules! lists {
    ($host:ident, $in_use:literal) => {
        vec![
            Variant::of::<Cycle<Listed<Scan<$host, false>>, $in_use>>("scan (published)"),
            Variant::of::<Cycle<Listed<Scan<$host>>, $in_use>>("scan"),
            Variant::of::<Cycle<Listed<TaggedStack<$host>>, $in_use>>("tagged stack"),
            Variant::of::<Cycle<Listed<Magazines<$host>>, $in_use>>("magazines"),
        ]
    };
}

/// What runs on the real machine alone, with so many slots in use: others, and the library's pools.
macro_rules! native {
    ($in_use:literal) => {
        [
            vec![
                Variant::of::<Cycle<LockedVec, $in_use>>("mutex vec"),
                Variant::of::<Cycle<Bounded, $in_use>>("array queue"),
                Variant::of::<Cycle<Unbounded, $in_use>>("seg queue"),
                Variant::of::<Cycle<Sharded, $in_use>>("sharded-slab"),
                borrowed($in_use),
            ],
            vec![
                Variant::of::<Cycle<Objects, $in_use>>("SlotPool"),
                Variant::of::<Cycle<Buffers, $in_use>>("BufferPool"),
            ],
        ]
    };
}

/// The walk at its best.
const SCAN: &[&str] = &["scan"];

/// Acquire and release with some in use.
fn cycle(id: &'static str, title: &'static str, variants: Vec<Variant>) -> Scenario {
    let about = "One operation acquires a slot and releases it. Those in use lie before those that are free, \
                 where a walk that takes the first free one leaves them.";
    Scenario::new(id, title, about, "scan (published)", variants)
}

pub(super) fn group<M: Host>() -> Group {
    Group {
        name: "pool",
        title: "Slots that are used again",
        about: "Free lists of a pool. Scan walks all slots under a read lock and claims the first that is free, \
                as Linux's SMC does it: as published with a compare-exchange on each, and at its best with a \
                look first. The tagged stack is one lock-free list, and magazines give every thread some \
                free slots of its own. All hand out slot numbers, and make a slot where none is free.",
        scenarios: vec![
            cycle("pool/in-use-10", "acquire + release, 10 in use", lists!(M, 10)).with_rivals(SCAN),
            cycle("pool/in-use-200", "acquire + release, 200 in use", lists!(M, 200)).with_rivals(SCAN),
            Scenario::new(
                "pool/in-use",
                "magazines with ever more in use",
                "One operation acquires a slot from magazines and releases it. What is in use beside \
                        does not matter.",
                "10 in use",
                vec![
                    Variant::of::<Cycle<Listed<Magazines<M>>, 10>>("10 in use"),
                    Variant::of::<Cycle<Listed<Magazines<M>>, 200>>("200 in use"),
                    Variant::of::<Cycle<Listed<Magazines<M>>, 1_000>>("1000 in use"),
                    Variant::of::<Cycle<Listed<Magazines<M>>, 100_000>>("100000 in use"),
                ],
            )
            .unshared(),
            Scenario::new(
                "pool/one-way",
                "acquire on one thread, release on another",
                "Threads come in pairs: one acquires slots and sends them, the other receives and \
                        releases them. One operation is a slot on either side; a thread without another \
                        does both. The limit is the channel without a pool.",
                "tagged stack",
                vec![
                    Variant::placed::<OneWay<Nothing, M>>("limit"),
                    Variant::placed::<OneWay<Listed<TaggedStack<M>>, M>>("tagged stack"),
                    Variant::placed::<OneWay<Listed<Magazines<M>>, M>>("magazines"),
                ],
            ),
            Scenario::new(
                "pool/churn",
                "close a connection and open another",
                "Every thread has 200 connections, each with a slot to send from and one to receive \
                        into. One operation closes the oldest and opens another: two releases and two \
                        acquires.",
                "tagged stack",
                vec![
                    Variant::placed::<Workers<Churn<Listed<TaggedStack<M>>>>>("tagged stack"),
                    Variant::placed::<Workers<Churn<Listed<Magazines<M>>>>>("magazines"),
                ],
            ),
        ],
    }
}

/// Adds what runs on the real machine alone: other crates, and what is too long to be simulated.
pub(super) fn extend(group: &mut Group) {
    let behind = group.scenarios.iter().position(|scenario| scenario.id == "pool/in-use-200");
    let at = behind.map_or(0, |at| at + 1);
    // A walk of 100,000 takes a millisecond.
    let long = [
        cycle("pool/in-use-1000", "acquire + release, 1,000 in use", lists!(Native, 1_000))
            .with_rivals(SCAN),
        cycle(
            "pool/in-use-100000",
            "acquire + release, 100,000 in use",
            lists!(Native, 100_000).split_off(2),
        ),
    ];
    group.scenarios.splice(at..at, long);

    add(group, "pool/in-use-10", "array queue", native!(10));
    add(group, "pool/in-use-200", "scan (published)", native!(200));
    add(group, "pool/in-use-1000", "scan (published)", native!(1_000));
    add(group, "pool/in-use-100000", "array queue", native!(100_000));
    let one_way = [
        vec![
            Variant::placed::<OneWay<LockedVec, Native>>("mutex vec"),
            Variant::placed::<OneWay<Bounded, Native>>("array queue"),
            Variant::placed::<OneWay<Unbounded, Native>>("seg queue"),
            Variant::placed::<OneWay<Sharded, Native>>("sharded-slab"),
        ],
        vec![
            Variant::placed::<OneWay<Objects, Native>>("SlotPool"),
            Variant::placed::<OneWay<Buffers, Native>>("BufferPool"),
        ],
    ];
    add(group, "pool/one-way", "array queue", one_way);
    let churn = [
        vec![
            Variant::placed::<Workers<Churn<Listed<Scan<Native, false>>>>>("scan (published)"),
            Variant::placed::<Workers<Churn<Listed<Scan>>>>("scan"),
            Variant::placed::<Workers<Churn<LockedVec>>>("mutex vec"),
            Variant::placed::<Workers<Churn<Bounded>>>("array queue"),
            Variant::placed::<Workers<Churn<Unbounded>>>("seg queue"),
            Variant::placed::<Workers<Churn<Sharded>>>("sharded-slab"),
        ],
        vec![
            Variant::placed::<Workers<Churn<Objects>>>("SlotPool"),
            Variant::placed::<Workers<Churn<Buffers>>>("BufferPool"),
        ],
    ];
    add(group, "pool/churn", "scan (published)", churn);
}
