//! What is measured: operations on shared objects, in several variants.
//!
//! An [`Operation`] is written once, over the [`Memory`](tenure::memory::Memory) it runs on. Here
//! it runs on the real machine, in a loop per thread ([`Variant`]); a simulator can run the same
//! type.
//!
//! ```text
//! Group "refs" ─┬─ Scenario "refs/get-put" ─┬─ Variant "limit"        (Bare)
//!               │                           ├─ Variant "inc_not_zero" (CountedGetPut)
//!               │                           └─ ...
//!               └─ Scenario "refs/get" ...
//! ```

pub mod arcs;
pub mod dst;
pub mod refs;
pub mod route;

use std::fmt;

/// One operation on an object that all threads share.
///
/// Private objects are made and dropped inside of [`step`](Self::step).
pub trait Operation: Sync {
    /// A fresh object.
    fn prepare() -> Self
    where
        Self: Sized;

    /// Does the operation once, on any thread. Adds failed compare-exchanges to `retries`.
    fn step(&self, retries: &mut u64);

    /// Undoes what `steps` calls of [`step`](Self::step) left behind. Not measured.
    fn settle(&self, steps: u64) {
        let _ = steps;
    }
}

/// An [`Operation`] in a loop: one virtual call for many steps.
pub trait Looped: Sync {
    /// Does `steps` operations and returns their retries.
    fn run(&self, steps: u64) -> u64;
    /// [`Operation::settle`].
    fn settle(&self, steps: u64);
}

impl<O: Operation> Looped for O {
    // Never inlined and alone in its function, so that no variant profits from its surroundings.
    #[inline(never)]
    fn run(&self, steps: u64) -> u64 {
        let mut retries = 0;
        for _ in 0..steps {
            self.step(&mut retries);
        }
        retries
    }

    fn settle(&self, steps: u64) {
        Operation::settle(self, steps);
    }
}

/// A way to do a scenario's operation.
#[derive(Clone, Copy)]
pub struct Variant {
    /// Its name in tables, unique in the scenario.
    pub name: &'static str,
    /// Whether its retries are counted.
    pub counts_retries: bool,
    /// Makes a fresh object.
    pub prepare: fn() -> Box<dyn Looped>,
}

impl Variant {
    /// A variant that does `O`.
    #[must_use]
    pub fn of<O: Operation + 'static>(name: &'static str) -> Self {
        Self { name, counts_retries: false, prepare: || Box::new(O::prepare()) }
    }

    /// [`of`](Self::of), for an operation that reports its retries.
    #[must_use]
    pub fn counting<O: Operation + 'static>(name: &'static str) -> Self {
        Self { counts_retries: true, ..Self::of::<O>(name) }
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Variants of one operation, compared with each other.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Unique: `refs/get-put`.
    pub id: &'static str,
    /// A heading.
    pub title: &'static str,
    /// What one operation is, in a sentence.
    pub about: &'static str,
    /// Whether all threads use one object. If not, one thread and all CPUs tell everything.
    pub shared: bool,
    /// The name of the variant that the others are compared with.
    pub baseline: &'static str,
    /// The name of the variant that shows what the hardware allows.
    pub limit: Option<&'static str>,
    /// The variants, in the order of the tables.
    pub variants: Vec<Variant>,
}

/// Scenarios under a name of the command line.
#[derive(Debug, Clone)]
pub struct Group {
    /// The name.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// What is measured and why, in a paragraph.
    pub about: &'static str,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
}

/// All groups, in the order in which they run.
#[must_use]
pub fn groups() -> Vec<Group> {
    let mut refs = refs::group();
    refs.scenarios.extend(arcs::scenarios());
    vec![refs, dst::group()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenarios() -> Vec<Scenario> {
        groups().into_iter().flat_map(|group| group.scenarios).collect()
    }

    #[test]
    fn ids_are_unique_and_begin_with_their_group() {
        let mut seen = Vec::new();
        for group in groups() {
            for scenario in group.scenarios {
                assert!(scenario.id.starts_with(&format!("{}/", group.name)), "{}", scenario.id);
                assert!(!seen.contains(&scenario.id), "{}", scenario.id);
                seen.push(scenario.id);
            }
        }
    }

    #[test]
    fn baseline_and_limit_are_variants_and_names_are_unique() {
        for scenario in scenarios() {
            let names: Vec<_> = scenario.variants.iter().map(|v| v.name).collect();
            assert!(names.contains(&scenario.baseline), "{}", scenario.id);
            assert!(scenario.limit.is_none_or(|limit| names.contains(&limit)), "{}", scenario.id);
            let unique: std::collections::HashSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{}", scenario.id);
        }
    }

    #[test]
    fn every_variant_runs_on_two_threads_and_settles() {
        for scenario in scenarios() {
            for variant in &scenario.variants {
                let object = (variant.prepare)();
                let retries: u64 = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..2)
                        .map(|_| {
                            scope.spawn(|| {
                                let retries = object.run(100_000);
                                object.settle(100_000);
                                retries
                            })
                        })
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
                });
                assert!(variant.counts_retries || retries == 0, "{}: {variant:?}", scenario.id);
            }
        }
    }
}
