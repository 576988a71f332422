//! Repairs: what helps against contention, as other patterns.
//!
//! Each remedy knows when it applies, what it makes of a pattern, and what it costs in memory. Whether it pays, a simulation of the
//! new pattern says, and [`together()`] compares. The table of [`repairs`] has all conditions.

mod apart;
mod counts;
mod flag;
mod lock;
mod pool;
mod together;

pub use together::together;

use super::layout::visit;
use super::{Copies, Operation, Pattern, PatternAccess, StoredValue};
use tenure_model::Remedy;

/// A pattern after a remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Repaired {
    /// What was done.
    pub remedy: Remedy,
    /// The pattern after it.
    pub pattern: Pattern,
    /// The memory that it costs: bytes for each object, or each thread.
    pub bytes: usize,
    /// Whether the bytes are for each thread.
    pub per_thread: bool,
    /// The words that change, by their index in the pattern: before and after it is the same.
    pub words: Vec<usize>,
}

/// All repairs that apply to a pattern, in a fixed order.
///
/// | repair | its words | its values | what threads do |
/// |---|---|---|---|
/// | `apart` | any | any | written, and used by other roles, or read by some; packed copies |
/// | `read_mostly_apart` | any | any | written in at most 1 % of its accesses, beside a word that is written more |
/// | `one_add` | changed by compare-exchange loops | unknown, statistic, references | no store, no lock |
/// | `one_add` | a lock that guards one word, and nothing elsewhere | that word: unknown, statistic | one store each time, at most 20 ns of work, no use without the lock |
/// | `cells` | once | unknown, statistic | additions, at most one load for 100; no store, no lock |
/// | `batch` | once | statistic | additions, 1 to 100 loads for 100 by roles that do not add; no store, no lock |
/// | `own_object` | once | pool | any |
/// | `borrow` | once | references | as `revocable`, and held for at most 10 µs |
/// | `revocable` | once | unknown, references | two additions an iteration in a pool; no store, no lock |
/// | `read_unlocked` | a lock, once, that guards nothing elsewhere | of what it guards: any | loads, at most one holder in 100 stores; no other change inside |
/// | `shared_lock` | a lock, once | read lock, read guard | any |
/// | `shard` | a lock, once | table | any |
/// | `test_before_store` | any | flag | stores and loads alone |
///
/// A pattern that `tenure run` or `tenure watch` recorded never has an unknown value where threads add or
/// compare-exchange.
#[must_use]
pub fn repairs(pattern: &Pattern) -> Vec<Repaired> {
    if pattern.check().is_err() {
        return Vec::new();
    }
    let one_add = counts::one_add(pattern);
    // A count that a lock guarded can be in cells as well.
    let added = one_add.as_ref().map_or(pattern, |repair| &repair.pattern);
    let cells = counts::cells(pattern).or_else(|| counts::cells(added));
    let all = [
        apart::apart(pattern),
        apart::read_mostly_apart(pattern),
        one_add,
        cells,
        counts::batch(pattern),
        pool::own_object(pattern),
        counts::borrow(pattern),
        counts::revocable(pattern),
        lock::read_unlocked(pattern),
        lock::shared_lock(pattern),
        lock::shard(pattern),
        flag::test_before_store(pattern),
    ];
    let mut repairs: Vec<Repaired> = Vec::new();
    for repair in all.into_iter().flatten() {
        let is_new = repairs.iter().all(|other| other.pattern != repair.pattern);
        if is_new && repair.pattern.check().is_ok() {
            repairs.push(repair);
        }
    }
    repairs
}

/// The values of words that a repair leaves right.
impl StoredValue {
    /// An addition that cannot fail, in place of a loop that adds: what else the loop may do is lost.
    const fn is_added_to(self) -> bool {
        matches!(self, Self::Unknown | Self::Statistic | Self::References)
    }

    /// Parts that no thread sums before it acts.
    const fn splits(self) -> bool {
        matches!(self, Self::Unknown | Self::Statistic)
    }

    /// A reference that a thread keeps, in place of one for each use.
    const fn is_kept(self) -> bool {
        matches!(self, Self::Unknown | Self::References)
    }

    /// A lock that may guard words which the pattern does not have.
    const fn guards_more(self) -> bool {
        matches!(self, Self::Guard | Self::ReadGuard | Self::Pool | Self::Table)
    }

    /// A lock whose readers let each other in.
    const fn is_read(self) -> bool {
        matches!(self, Self::ReadLock | Self::ReadGuard)
    }
}

/// The steps with others in place of those that `by` names, as often.
fn replaced(
    steps: &[PatternAccess],
    by: &impl Fn(&Operation) -> Option<Vec<PatternAccess>>,
) -> Vec<PatternAccess> {
    let replace = |access: &PatternAccess| {
        let instead = by(&access.operation).unwrap_or_else(|| {
            let operation = match &access.operation {
                Operation::Lock(word, inside) => Operation::Lock(*word, replaced(inside, by)),
                other => other.clone(),
            };
            vec![PatternAccess { times: 1.0, operation }]
        });
        let times = access.times;
        instead.into_iter().map(move |step| PatternAccess { times: times * step.times, ..step })
    };
    steps.iter().flat_map(replace).collect()
}

/// Steps that are done once each.
fn once(operations: impl IntoIterator<Item = Operation>) -> Vec<PatternAccess> {
    let step = |operation| PatternAccess { times: 1.0, operation };
    operations.into_iter().map(step).collect()
}

/// Whether there is one of the object that the word is in.
fn is_once(pattern: &Pattern, word: usize) -> bool {
    pattern.objects[pattern.words[word].object].copies == Copies::Once
}

impl Pattern {
    /// Reads and writes per iteration of each role.
    fn rates(&self) -> Vec<Vec<Rate>> {
        let rates = |steps: &[PatternAccess]| {
            let mut rates = vec![Rate::default(); self.words.len()];
            visit(steps, 1.0, &mut |access, times| {
                let Some(word) = access.operation.word() else { return };
                let rate = &mut rates[word];
                match access.operation {
                    Operation::Work(_) => {}
                    Operation::Load(_) => rate.loads += times,
                    Operation::LoadAll(_) => rate.sums += times,
                    Operation::Store(_) => rate.stores += times,
                    Operation::Add(_) => rate.adds += times,
                    Operation::CompareExchange(_) => rate.exchanges += times,
                    Operation::Lock(..) => rate.locks += times,
                }
            });
            rates
        };
        self.roles.iter().map(|role| rates(&role.steps)).collect()
    }

    /// What is done to each word by all roles, where a single thread counts as one share.
    fn totals(&self) -> Vec<Rate> {
        let mut totals = vec![Rate::default(); self.words.len()];
        for (role, rates) in self.roles.iter().zip(self.rates()) {
            let share = f64::from(role.share.max(1));
            for (total, rate) in totals.iter_mut().zip(rates) {
                total.loads += share * rate.loads;
                total.sums += share * rate.sums;
                total.stores += share * rate.stores;
                total.adds += share * rate.adds;
                total.exchanges += share * rate.exchanges;
                total.locks += share * rate.locks;
            }
        }
        totals
    }
}

/// How often a word is accessed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Rate {
    loads: f64,
    sums: f64,
    stores: f64,
    adds: f64,
    exchanges: f64,
    locks: f64,
}

impl Rate {
    fn writes(&self) -> f64 {
        self.stores + self.changes() + self.locks
    }

    /// Additions, by whatever means.
    fn changes(&self) -> f64 {
        self.adds + self.exchanges
    }

    fn reads(&self) -> f64 {
        self.loads + self.sums
    }

    fn all(&self) -> f64 {
        self.reads() + self.writes()
    }
}
