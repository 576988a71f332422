//! What is measured: operations on shared objects, in several variants.
//!
//! An operation is written once, over the [`Host`] it runs on, real ([`runner`](crate::runner)) or simulated
//! ([`simulate`](crate::simulate)): an [operation](BenchOperation), a [step](Variant::step) of a line or two, or the part of
//! [workers](Variant::workers) with state of their own.
//!
//! ```text
//! Group "refs" ─┬─ Scenario "refs/get-put" ─┬─ Variant "limit"        (Bare)
//!               │                           ├─ Variant "inc_not_zero" (CountedGetPut)
//!               │                           └─ ...
//!               └─ Scenario "refs/get" ...
//! ```

mod arcs;
mod choice;
pub(crate) mod dst;
mod host;
mod owner;
mod pool;
pub(crate) mod refs;
mod registry;
pub(crate) mod revocable;
pub(crate) mod route;
pub(crate) mod workers;

use std::fmt;
use std::sync::Arc;
use tenure::memory::Native;

pub use choice::{GroupInfo, Unknown};
pub(crate) use choice::{chosen, listed};
pub(crate) use host::{Host, ThreadPlace};

/// One operation on an object that all threads share.
///
/// [`step`](Self::step) makes and drops private objects.
pub(crate) trait BenchOperation: Send + Sync + Sized {
    fn prepare() -> Self;

    /// Adds failed compare-exchanges to `retries`.
    fn step(&self, retries: &mut u64);

    /// Undoes what `steps` calls of [`step`](Self::step) left behind, unmeasured.
    fn settle(&self, _steps: u64) {}

    /// The named parts of the object, which stays in its place from here on.
    fn members(&self) -> Vec<NamedMember> {
        Vec::new()
    }
}

pub(crate) struct NamedMember {
    pub(crate) name: &'static str,
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

impl NamedMember {
    pub(crate) fn of<T>(name: &'static str, part: &T) -> Self {
        Self { name, address: (&raw const *part).addr(), bytes: size_of::<T>() }
    }
}

/// An operation called virtually: one call for each, or one for many.
///
/// Every [`BenchOperation`] is one. Operations that differ by thread implement this, and are prepared for a number of
/// threads.
pub(crate) trait Looped: Send + Sync {
    /// Does `steps` operations at `place` and returns their retries, even if no other thread runs.
    fn run(&self, place: ThreadPlace, steps: u64) -> u64;
    /// [`BenchOperation::step`], on a machine that counts retries itself.
    fn step(&self, place: ThreadPlace) {
        self.run(place, 1);
    }
    fn settle(&self, _steps: u64) {}
    fn members(&self) -> Vec<NamedMember> {
        Vec::new()
    }
}

impl<O: BenchOperation> Looped for O {
    // Never inlined and alone in its function, so that no variant profits from its surroundings.
    #[inline(never)]
    fn run(&self, _place: ThreadPlace, steps: u64) -> u64 {
        let mut retries = 0;
        for _ in 0..steps {
            BenchOperation::step(self, &mut retries);
        }
        retries
    }

    fn settle(&self, steps: u64) {
        BenchOperation::settle(self, steps);
    }

    fn members(&self) -> Vec<NamedMember> {
        BenchOperation::members(self)
    }
}

struct Stepped<T, S>(T, S);

impl<T: Send + Sync, S: Fn(&T) + Send + Sync> Looped for Stepped<T, S> {
    #[inline(never)]
    fn run(&self, _place: ThreadPlace, steps: u64) -> u64 {
        for _ in 0..steps {
            (self.1)(&self.0);
        }
        0
    }
}

#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) counts_retries: bool,
    /// Whether the first thread also times single operations.
    pub(crate) times_singles: bool,
    pub(crate) prepare: Arc<dyn Fn(usize) -> Box<dyn Looped> + Send + Sync>,
}

impl Variant {
    pub(crate) fn of<O: BenchOperation + 'static>(name: &'static str) -> Self {
        Self::new(name, |_| Box::new(O::prepare()))
    }

    pub(crate) fn step<T: Send + Sync + 'static>(
        name: &'static str,
        prepare: impl Fn() -> T + Send + Sync + 'static,
        step: impl Fn(&T) + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, move |_| Box::new(Stepped(prepare(), step)))
    }

    pub(crate) fn new(
        name: &'static str,
        prepare: impl Fn(usize) -> Box<dyn Looped> + Send + Sync + 'static,
    ) -> Self {
        let prepare = Arc::new(prepare);
        Self { name, counts_retries: false, times_singles: false, prepare }
    }

    /// [`of`](Self::of) an operation that reports its retries.
    pub(crate) fn counting<O: BenchOperation + 'static>(name: &'static str) -> Self {
        Self { counts_retries: true, ..Self::of::<O>(name) }
    }

    /// Times single operations too: if the slowest matter, and each is long beside two looks at the clock.
    fn with_singles(self) -> Self {
        Self { times_singles: true, ..self }
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct BenchScenario {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    /// If not, one thread and all CPUs are enough.
    pub(crate) shared: bool,
    pub(crate) baseline: &'static str,
    pub(crate) limit: Option<&'static str>,
    pub(crate) rivals: &'static [&'static str],
    pub(crate) variants: Vec<Variant>,
}

impl BenchScenario {
    /// A variant called `limit` is the limit.
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        about: &'static str,
        baseline: &'static str,
        variants: impl Into<Vec<Variant>>,
    ) -> Self {
        let variants = variants.into();
        let limit = variants.iter().map(|variant| variant.name).find(|name| *name == "limit");
        Self { id, title, about, shared: true, baseline, limit, rivals: &[], variants }
    }

    fn unshared(self) -> Self {
        Self { shared: false, ..self }
    }

    pub(crate) fn with_rivals(self, rivals: &'static [&'static str]) -> Self {
        Self { rivals, ..self }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct BenchGroup {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) scenarios: Vec<BenchScenario>,
}

/// That run on any machine, in this order.
pub(crate) fn groups<M: Host>() -> Vec<BenchGroup> {
    vec![
        refs::group::<M>(),
        dst::group::<M>(),
        pool::group::<M>(),
        revocable::group::<M>(),
        owner::group::<M>(),
    ]
}

/// All groups, with what runs on the real machine alone.
pub(crate) fn native() -> Vec<BenchGroup> {
    let mut groups = groups::<Native>();
    for group in &mut groups {
        match group.name {
            "refs" => group.scenarios.extend(arcs::scenarios()),
            "pool" => pool::extend(group),
            "revocable" => revocable::extend(group),
            "owner" => owner::extend(group),
            _ => {}
        }
    }
    groups.push(registry::group());
    groups
}

/// Adds variants before and after a scenario's, and compares with `baseline`.
fn add<'g>(
    group: &'g mut BenchGroup,
    id: &str,
    baseline: &'static str,
    [mut before, after]: [Vec<Variant>; 2],
) -> &'g mut BenchScenario {
    let mut all = group.scenarios.iter_mut();
    let scenario = all.find(|scenario| scenario.id == id).expect("it is in the group");
    before.append(&mut scenario.variants);
    before.extend(after);
    (scenario.variants, scenario.baseline) = (before, baseline);
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_sim::Simulated;

    fn scenarios() -> Vec<BenchScenario> {
        native().into_iter().flat_map(|group| group.scenarios).collect()
    }

    #[test]
    fn ids_are_unique_and_begin_with_their_group() {
        let mut seen = Vec::new();
        for group in native() {
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
            assert!(scenario.rivals.iter().all(|rival| names.contains(rival)), "{}", scenario.id);
            let unique: std::collections::HashSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{}", scenario.id);
        }
    }

    #[test]
    fn both_machines_run_the_same_scenarios() {
        let told = |groups: Vec<BenchGroup>| format!("{groups:?}");
        assert_eq!(told(groups::<Native>()), told(groups::<Simulated>()));
    }

    #[test]
    fn objects_that_threads_share_name_their_count_and_lie_on_lines_of_their_own() {
        for scenario in groups::<Simulated>().into_iter().flat_map(|group| group.scenarios) {
            let is_counted = ["refs/", "dst/"].iter().any(|group| scenario.id.starts_with(group));
            for variant in &scenario.variants {
                let object = (variant.prepare)(1);
                let members = object.members();
                let count = members.iter().find(|member| member.name == "refs");
                assert!(!is_counted || count.is_some() == scenario.shared, "{}", scenario.id);
                assert!(count.is_none_or(|count| count.address.is_multiple_of(64)), "{variant:?}");
            }
        }
    }
}
