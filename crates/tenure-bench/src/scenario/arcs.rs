//! The scenarios of group `refs` in which std's `Arc` and `Weak` meet ours.

use super::{Operation, Scenario, Variant, refs::Bare};
use std::hint::black_box;
use tenure::line::Isolated;
use tenure::memory::Native;

/// The same three operations on two libraries' `Arc`.
macro_rules! operations {
    ($room:ident, $sync:path) => {
        mod $room {
            use super::{Isolated, Operation, black_box};
            use $sync::{Arc, Weak};

            pub(super) struct Upgrade {
                _alive: Arc<Isolated<u64>>,
                weak: Weak<Isolated<u64>>,
            }
            impl Operation for Upgrade {
                fn prepare() -> Self {
                    let alive = Arc::new(Isolated::new(0));
                    Self { weak: Arc::downgrade(&alive), _alive: alive }
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    drop(black_box(self.weak.upgrade()));
                }
            }

            pub(super) struct Cloned(Arc<Isolated<u64>>);
            impl Operation for Cloned {
                fn prepare() -> Self {
                    Self(Arc::new(Isolated::new(0)))
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    drop(black_box(Arc::clone(&self.0)));
                }
            }

            pub(super) struct Downgrade(Arc<Isolated<u64>>);
            impl Operation for Downgrade {
                fn prepare() -> Self {
                    Self(Arc::new(Isolated::new(0)))
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    drop(black_box(Arc::downgrade(&self.0)));
                }
            }

            pub(super) struct UpgradeDead(pub(super) Weak<Isolated<u64>>);
            impl Operation for UpgradeDead {
                fn prepare() -> Self {
                    Self(Arc::downgrade(&Arc::new(Isolated::new(0))))
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    drop(black_box(self.0.upgrade()));
                }
            }

            pub(super) struct New;
            impl Operation for New {
                fn prepare() -> Self {
                    Self
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    drop(black_box(Arc::new(black_box(0_u64))));
                }
            }

            pub(super) struct NewWithWeak;
            impl Operation for NewWithWeak {
                fn prepare() -> Self {
                    Self
                }
                #[inline(always)]
                fn step(&self, _retries: &mut u64) {
                    let strong = black_box(Arc::new(black_box(0_u64)));
                    let weak = black_box(Arc::downgrade(&strong));
                    drop(strong);
                    drop(weak);
                }
            }
        }
    };
}

operations!(ours, tenure::sync);
operations!(stds, std::sync);

/// [`ours::UpgradeDead`] by a program that asks first, which writes nothing.
struct AskDead(ours::UpgradeDead);

impl Operation for AskDead {
    fn prepare() -> Self {
        Self(Operation::prepare())
    }
    #[inline(always)]
    fn step(&self, retries: &mut u64) {
        if !black_box(self.0.0.is_dead()) {
            self.0.step(retries);
        }
    }
}

/// The scenarios, for group `refs`.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new(
            "refs/upgrade",
            "Weak::upgrade + drop on one object",
            "One operation upgrades a Weak and drops the Arc.",
            "std",
            vec![
                Variant::of::<Bare<Native>>("limit"),
                Variant::of::<stds::Upgrade>("std"),
                Variant::of::<ours::Upgrade>("tenure"),
            ],
        ),
        Scenario::new(
            "refs/upgrade-dead",
            "Weak::upgrade that fails, on one object",
            "One operation finds that the value is gone. std reads; ours adds, unless the \
                    program asks Weak::is_dead first.",
            "std",
            vec![
                Variant::of::<stds::UpgradeDead>("std"),
                Variant::of::<ours::UpgradeDead>("tenure"),
                Variant::of::<AskDead>("tenure is_dead"),
            ],
        ),
        Scenario::new(
            "refs/clone",
            "Arc::clone + drop on one object",
            "One operation clones an Arc and drops the clone.",
            "std",
            vec![
                Variant::of::<Bare<Native>>("limit"),
                Variant::of::<stds::Cloned>("std"),
                Variant::of::<ours::Cloned>("tenure"),
            ],
        ),
        Scenario::new(
            "refs/downgrade",
            "Arc::downgrade + drop on one object",
            "One operation makes a Weak and drops it.",
            "std",
            vec![
                Variant::of::<Bare<Native>>("limit"),
                Variant::of::<stds::Downgrade>("std"),
                Variant::of::<ours::Downgrade>("tenure"),
            ],
        ),
        Scenario::new(
            "refs/new",
            "Arc::new + drop",
            "One operation allocates an Arc of eight bytes and drops it.",
            "std",
            vec![Variant::of::<stds::New>("std"), Variant::of::<ours::New>("tenure")],
        )
        .unshared(),
        Scenario::new(
            "refs/new-weak",
            "Arc::new + downgrade + both drops",
            "One operation allocates an Arc, makes a Weak of it, and drops both.",
            "std",
            vec![
                Variant::of::<stds::NewWithWeak>("std"),
                Variant::of::<ours::NewWithWeak>("tenure"),
            ],
        )
        .unshared(),
    ]
}
