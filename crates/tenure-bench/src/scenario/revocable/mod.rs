//! Group `revocable`: references that are not counted while in use.

mod beside;
mod cached;
mod local;
mod others;
mod shootdown;

use super::refs::GetPut;
use super::{BenchGroup, BenchScenario, Host, Variant, add};
use local::{kept, objects, own_line};
use others::PaddedValue;
use shootdown::{batch, one};
use std::sync::Arc;
use tenure::count::generic::IncNotZero;
use tenure::revocable::generic::{Counted, Mask, On, Shootdown};

pub(crate) use local::same;

/// 192 CPUs that make 118 million context switches a second take so long for each.
pub(crate) const SWITCH_NS: u32 = 1_600;

fn switches<M: Host, const WORK_NS: u32>() -> Vec<Variant> {
    vec![
        own_line::<M, WORK_NS>("limit"),
        same::<On<M, Counted>, WORK_NS>("counted"),
        same::<On<M, Mask>, WORK_NS>("mask"),
        same::<On<M, Shootdown>, WORK_NS>("shootdown"),
    ]
}

pub(super) fn group<M: Host>() -> BenchGroup {
    BenchGroup {
        name: "revocable",
        title: "Revocable references",
        about: "Workers that go from object to object, and keep the last one while they are idle. Counted takes a \
                reference at every switch, as Linux did for the address space that an idle CPU keeps. Mask has a \
                bit for each worker, written when the worker changes objects. Shootdown writes nothing that is \
                shared; the thread that drops the last handle interrupts the others and takes the object from \
                idle ones. RcuCell is a value that all read, on top of it.",
        scenarios: vec![
            BenchScenario::new(
                "revocable/same",
                "enter + leave one object",
                "One operation enters the object that all workers use, reads it and leaves it: a switch \
                 through idle. The limit is a load and a store of a line of the thread's own.",
                "counted",
                switches::<M, 0>(),
            ),
            BenchScenario::new(
                "revocable/switch",
                "a context switch through idle, with its work",
                "The same, with the private work that a context switch has besides (1.6 us). The limit is \
                 that work.",
                "counted",
                switches::<M, SWITCH_NS>(),
            ),
            BenchScenario::new(
                "revocable/objects",
                "enter + leave the next of 16 objects",
                "All workers go round 16 objects. One operation enters the next one, reads it and leaves \
                 it: the local handle gives up what it kept.",
                "counted",
                vec![
                    objects::<On<M, Counted>>("counted"),
                    objects::<On<M, Mask>>("mask"),
                    objects::<On<M, Shootdown>>("shootdown"),
                ],
            ),
            BenchScenario::new(
                "revocable/kept",
                "use again what a local handle kept",
                "One operation uses what the local handle kept, without a strong one, reads it and leaves it. The \
                 compare-exchange loop is what std's Weak does for that.",
                "inc_not_zero",
                vec![
                    Variant::counting::<GetPut<IncNotZero<M>>>("inc_not_zero"),
                    kept::<On<M, Counted>>("counted"),
                    kept::<On<M, Mask>>("mask"),
                    kept::<On<M, Shootdown>>("shootdown"),
                ],
            ),
            BenchScenario::new(
                "revocable/read",
                "read a value that could be replaced",
                "One operation reads the current value. RcuReader is a handle for each thread; RcuCell::load, \
                 on the real machine alone, finds the thread's place by itself; clone counts.",
                "clone",
                vec![cached::by_clone::<M>(), cached::by_reader::<M>()],
            ),
        ],
    }
}

pub(super) fn extend(group: &mut BenchGroup) {
    let one = [
        vec![],
        vec![
            others::cloned::<Arc<PaddedValue>>("std Arc"),
            others::cloned::<tenure::sync::Arc<PaddedValue>>("tenure Arc"),
            others::swapped(),
            others::swapped_cache(),
            others::epoch(),
            others::entered(),
        ],
    ];
    add(group, "revocable/same", "counted", one);
    let next = [vec![], vec![others::std_arcs()]];
    add(group, "revocable/objects", "counted", next);
    let weak = [vec![], vec![others::std_weak()]];
    add(group, "revocable/kept", "inc_not_zero", weak);
    let read = [
        vec![others::locked(), others::swapped(), others::swapped_cache()],
        vec![cached::directly()],
    ];
    add(group, "revocable/read", "arc-swap load", read).rivals = &["arc-swap Cache"];
    group.scenarios.extend([end(), store()]);
}

fn end() -> BenchScenario {
    BenchScenario::new(
        "revocable/end",
        "the end of an object",
        "One operation makes an object, has one local handle enter and leave it, and drops the last strong handle, on the \
         first thread. The others go on with another object meanwhile; an operation of theirs lasts as \
         long. So many local handles are parked besides. Shootdown drops the object at once; counted and mask \
         at the local handle's next switch, however late that is.",
        "0 parked",
        vec![
            one::<Counted>("counted", 0),
            one::<Mask>("mask", 0),
            one::<Shootdown>("0 parked", 0),
            one::<Shootdown>("64 parked", 64),
            one::<Shootdown>("1024 parked", 1_024),
            batch::<Shootdown>("64 parked, 32 at once", 64),
        ],
    )
    .unshared()
}

fn store() -> BenchScenario {
    BenchScenario::new(
        "revocable/store",
        "replace a value that 64 parked threads have read",
        "One operation stores a new value and drops the old one, on the first thread. The others go on \
         reading; an operation of theirs lasts as long.",
        "arc-swap",
        vec![
            others::replace_locked().with_singles(),
            others::swap().with_singles(),
            cached::store().with_singles(),
        ],
    )
    .unshared()
}
