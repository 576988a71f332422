//! Group `owner`: references that are counted on lines of each thread, beside one count that all share.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod by_cpu;

use super::refs::{GetPut, still_held};
use super::workers::{WorkerValue, nameless};
use super::{BenchGroup, BenchOperation, BenchScenario, Host, NamedMember, Variant};
use arc_swap::ArcSwap;
use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread;
use tenure::cache_line::CachePadded;
use tenure::cells::{Table, ThreadRef, ThreadSum};
use tenure::count::generic::TicketRef;
use tenure::counter::Counter;
use tenure::memory::{Atomic, Native, Ordering};
use tenure::owner::{Owner, Shared};

/// The limit: a word of the thread's own goes up and down.
fn bare<M: Host, const PAIR: bool>() -> Variant {
    let own = |(): &(), _| CachePadded::new(M::AtomicU64::new(0));
    let step = |(): &(), word: &mut CachePadded<M::AtomicU64>| {
        // Or the compiler has one store stand for all.
        let word = || black_box(&**word);
        // Relaxed and Release: as the counts.
        word().store(word().load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if PAIR {
            word().store(word().load(Ordering::Relaxed) - 1, Ordering::Release);
        }
    };
    Variant::workers("limit", |_| (), own, step, nameless)
}

/// Scenarios for any machine.
struct ByThread<M: Host> {
    table: Table<M>,
    count: CachePadded<ThreadRef<M>>,
}

impl<M: Host> BenchOperation for ByThread<M> {
    fn prepare() -> Self {
        let table = Table::new_in();
        let count = CachePadded::new(ThreadRef::new_in(&table));
        Self { table, count }
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        let count = *black_box(&*self.count);
        // SAFETY: the count is of the table, and is never killed.
        unsafe {
            count.get(&self.table);
            still_held(count.put(&self.table));
        }
    }
    fn members(&self) -> Vec<NamedMember> {
        vec![NamedMember::of("handle", &*self.count)]
    }
}

struct SumByThread<M: Host> {
    table: Table<M>,
    sum: CachePadded<ThreadSum<M>>,
}

impl<M: Host> BenchOperation for SumByThread<M> {
    fn prepare() -> Self {
        let (table, sum) = (Table::new_in(), CachePadded::new(ThreadSum::new_in()));
        // Has its place: that is found once, and by all threads at once here.
        sum.add(&table, 1);
        Self { table, sum }
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        self.sum.add(&self.table, 1);
    }
}

struct OneWord<M: Host>(CachePadded<M::AtomicU64>);

impl<M: Host> BenchOperation for OneWord<M> {
    fn prepare() -> Self {
        Self(CachePadded::new(Atomic::new(0)))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        // Relaxed: a statistic.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn group<M: Host>() -> BenchGroup {
    BenchGroup {
        name: "owner",
        title: "References and counters that no two cores share",
        about: "A value with one owner, whose pointers are counted where they are cloned and dropped, \
                and a counter: each thread writes a word of its own. The limit row is a load and a \
                store of such a word for each change.",
        scenarios: vec![
            BenchScenario::new(
                "owner/get-put",
                "get + put on one object",
                "One operation takes a reference and gives it back, on one word that all threads add \
                 to (ticket), or on a word of each thread.",
                "ticket",
                vec![
                    bare::<M, true>(),
                    Variant::of::<GetPut<TicketRef<M>>>("ticket"),
                    Variant::of::<ByThread<M>>("by thread"),
                ],
            ),
            BenchScenario::new(
                "owner/count",
                "count an event",
                "One operation adds 1 to a counter.",
                "one word",
                vec![
                    bare::<M, false>(),
                    Variant::of::<OneWord<M>>("one word"),
                    Variant::of::<SumByThread<M>>("by thread"),
                ],
            ),
        ],
    }
}

/// What users write, on the real machine.
pub(super) fn extend(group: &mut BenchGroup) {
    let cloned = vec![
        bare::<Native, true>(),
        Variant::step(
            "std Arc",
            || Arc::new(WorkerValue::<Native>::new()),
            |it| {
                black_box(Arc::clone(it).read());
            },
        ),
        Variant::step(
            "tenure Arc",
            || tenure::sync::Arc::new(WorkerValue::<Native>::new()),
            |it| {
                black_box(tenure::sync::Arc::clone(it).read());
            },
        ),
        Variant::step(
            "arc-swap load",
            || CachePadded::new(ArcSwap::from_pointee(WorkerValue::<Native>::new())),
            |it| _ = black_box(it.load().read()),
        ),
        Variant::step("Shared", shared, |(_, it)| _ = black_box(Shared::clone(it).read())),
    ];
    let ended = vec![
        Variant::step(
            "std Arc",
            || (),
            |()| {
                let value = black_box(Arc::new(WorkerValue::<Native>::new()));
                drop(black_box(Arc::clone(&value)));
            },
        ),
        Variant::step(
            "Owner",
            || (),
            |()| {
                let value = black_box(Owner::new(WorkerValue::<Native>::new()));
                drop(black_box(value.share()));
            },
        ),
    ];
    group.scenarios.extend([
        BenchScenario::new(
            "owner/clone",
            "clone + drop of a pointer to one object",
            "One operation clones a pointer, reads the object and drops the clone. arc-swap: it takes a \
             guard, for an object that may be replaced.",
            "std Arc",
            cloned,
        ),
        BenchScenario::new(
            "owner/end",
            "make + share + end",
            "One operation makes an object, shares it and drops both pointers, on the first thread's own: \
             what an Owner costs that lives for nothing else.",
            "std Arc",
            ended,
        )
        .unshared(),
        BenchScenario::new(
            "owner/sum",
            "read a counter",
            "One operation sums a counter that 64 or 512 threads have added to, all at once. By CPU, here and \
             above: the alternative, an atomic addition to a word of the CPU that runs the thread, known by \
             rseq(2). There is no such row where the C library has not registered that.",
            "64 threads",
            vec![sum_of(64, "64 threads"), sum_of(512, "512 threads")],
        )
        .unshared(),
    ]);
    let mut add = |id, variant| {
        let scenario = group.scenarios.iter_mut().find(|scenario| scenario.id == id);
        scenario.expect("it is in the group").variants.push(variant);
    };
    add("owner/count", Variant::step("Counter", Counter::new, |counter| counter.add(1)));
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let ids = ["owner/get-put", "owner/count", "owner/sum"];
        for (id, by_cpu) in ids.into_iter().zip(by_cpu::variants().into_iter().flatten()) {
            add(id, by_cpu);
        }
    }
}

fn sum_of(threads: usize, name: &'static str) -> Variant {
    let added = move || {
        let (counter, all) = (SumByThread::<Native>::prepare(), Barrier::new(threads));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    counter.step(&mut 0);
                    // No thread takes the number of one that has ended.
                    all.wait();
                });
            }
        });
        counter
    };
    Variant::step(name, added, |counter| _ = black_box(counter.sum.sum(&counter.table)))
}

fn shared() -> (Owner<WorkerValue<Native>>, Shared<WorkerValue<Native>>) {
    let owner = Owner::new(WorkerValue::new());
    let shared = owner.share();
    (owner, shared)
}
