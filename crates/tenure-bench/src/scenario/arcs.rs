//! Group `refs`: std's `Arc` and `Weak` beside ours.

use super::{BenchScenario, Variant, refs::Bare};
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::Native;
use tenure::sync::Arc;

macro_rules! operations {
    ($module:ident, $library:ident) => {
        mod $module {
            use super::{CachePadded, Variant, black_box};
            use $library::sync::Arc;

            const NAME: &str = stringify!($library);

            fn shared() -> Arc<CachePadded<u64>> {
                Arc::new(CachePadded::new(0))
            }
            pub(super) fn upgrade() -> Variant {
                let alive = || {
                    let alive = shared();
                    (Arc::downgrade(&alive), alive)
                };
                Variant::step(NAME, alive, |(weak, _)| drop(black_box(weak.upgrade())))
            }
            pub(super) fn upgrade_dead() -> Variant {
                let dead = || Arc::downgrade(&shared());
                Variant::step(NAME, dead, |dead| drop(black_box(dead.upgrade())))
            }
            pub(super) fn cloned() -> Variant {
                Variant::step(NAME, shared, |object| drop(black_box(Arc::clone(object))))
            }
            pub(super) fn downgrade() -> Variant {
                Variant::step(NAME, shared, |object| drop(black_box(Arc::downgrade(object))))
            }
            pub(super) fn new() -> Variant {
                Variant::step(NAME, || (), |()| drop(black_box(Arc::new(black_box(0_u64)))))
            }
            pub(super) fn new_with_weak() -> Variant {
                let step = |(): &()| {
                    let strong = black_box(Arc::new(black_box(0_u64)));
                    let weak = black_box(Arc::downgrade(&strong));
                    drop(strong);
                    drop(weak);
                };
                Variant::step(NAME, || (), step)
            }
        }
    };
}

operations!(ours, tenure);
operations!(stds, std);

/// [`ours::upgrade_dead`] after a question, which writes nothing.
fn ask_dead() -> Variant {
    let dead = || Arc::downgrade(&Arc::new(CachePadded::new(0_u64)));
    Variant::step("tenure is_dead", dead, |dead| {
        if !black_box(dead.is_dead()) {
            drop(black_box(dead.upgrade()));
        }
    })
}

pub(super) fn scenarios() -> Vec<BenchScenario> {
    vec![
        BenchScenario::new(
            "refs/upgrade",
            "Weak::upgrade + drop on one object",
            "One operation upgrades a Weak and drops the Arc.",
            "std",
            vec![Variant::of::<Bare<Native>>("limit"), stds::upgrade(), ours::upgrade()],
        ),
        BenchScenario::new(
            "refs/upgrade-dead",
            "Weak::upgrade that fails, on one object",
            "One operation finds that the value is gone. std reads; ours adds, unless the \
             program asks Weak::is_dead first.",
            "std",
            vec![stds::upgrade_dead(), ours::upgrade_dead(), ask_dead()],
        ),
        BenchScenario::new(
            "refs/clone",
            "Arc::clone + drop on one object",
            "One operation clones an Arc and drops the clone.",
            "std",
            vec![Variant::of::<Bare<Native>>("limit"), stds::cloned(), ours::cloned()],
        ),
        BenchScenario::new(
            "refs/downgrade",
            "Arc::downgrade + drop on one object",
            "One operation makes a Weak and drops it.",
            "std",
            vec![Variant::of::<Bare<Native>>("limit"), stds::downgrade(), ours::downgrade()],
        ),
        BenchScenario::new(
            "refs/new",
            "Arc::new + drop",
            "One operation allocates an Arc of eight bytes and drops it.",
            "std",
            vec![stds::new(), ours::new()],
        )
        .unshared(),
        BenchScenario::new(
            "refs/new-weak",
            "Arc::new + downgrade + both drops",
            "One operation allocates an Arc, makes a Weak of it, and drops both.",
            "std",
            vec![stds::new_with_weak(), ours::new_with_weak()],
        )
        .unshared(),
    ]
}
