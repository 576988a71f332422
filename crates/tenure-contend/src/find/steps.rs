//! What a thread does in an iteration: its accesses to contended lines, and the work between them.
//!
//! In which order they come is not recorded. How long a thread stays away from a line after an access is, and so it is known
//! how often it comes back in an iteration, and how long it holds a lock.

use std::collections::BTreeMap;

use tenure_find::Operation as Did;
use tenure_probe::segment::Access as Recorded;
use tenure_sim::pattern::{Access, Operation};

use super::words::operation;
use crate::contend::{Use, Word};

/// How often something is done to a word, by its place among the words.
pub(super) type Counts = BTreeMap<(usize, Did), f64>;

/// A step that is done less often per iteration does not matter.
const LEAST_TIMES: f64 = 1e-4;
/// So many nanoseconds of work neither.
const LEAST_WORK: f64 = 0.1;
/// The pieces that a step is done in at most, with work between them.
const MOST_PIECES: usize = 8;

/// How many iterations each of these threads has done: as many as the write that they did most often by one instruction,
/// or the read if they only read. A reference that is taken and put is two additions in an iteration.
pub(super) fn iterations(words: &[(Word, String)], threads: &[u32]) -> Option<f64> {
    let most = |wanted: &dyn Fn(Did) -> bool| {
        let uses = words.iter().flat_map(|(word, _)| &word.uses);
        let uses = uses.filter(|use_| operation(use_.access).is_some_and(wanted));
        uses.map(|use_| count(use_, threads)).max().filter(|most| *most > 0)
    };
    most(&Did::writes).or_else(|| most(&|_| true)).map(|most| most as f64 / threads.len() as f64)
}

/// How often these threads did it.
fn count(use_: &Use, threads: &[u32]) -> u64 {
    threads.iter().filter_map(|thread| use_.threads.get(thread)).sum()
}

/// What these threads do in an iteration, as often as `counts` says, to the words that have a place in the pattern, with
/// so many nanoseconds of work.
pub(super) fn steps(
    words: &[(Word, String)],
    counts: &Counts,
    places: &BTreeMap<usize, usize>,
    threads: &[u32],
    work: f64,
) -> Vec<Access> {
    use Recorded::{Add, CompareExchange, Exchange, Load, Lock, Read, Store, Unlock, Write};
    let lock = places.keys().copied().find(|at| words[*at].0.is_lock());
    let (mut steps, mut guarded, mut locks) = (Vec::new(), Vec::new(), Vec::new());
    for (&at, &place) in places {
        let word = &words[at].0;
        let times = |did: Did| rounded(counts.get(&(at, did)).copied().unwrap_or(0.0));
        if word.is_lock() {
            // A lock of std's is taken by a compare-exchange, or by code that is not recorded if that has failed. It is
            // given back by another operation each time.
            let given_back = times(Did::Add) + times(Did::Exchange) + times(Did::Store);
            let times = times(Did::Lock).max(times(Did::CompareExchange)).max(given_back);
            let held = gap(&sites(word, &[Lock, CompareExchange], threads));
            let free = gap(&sites(word, &[Unlock, Add, Exchange, Store], threads));
            let inside = vec![Access { times: 1.0, operation: Operation::Work(held) }];
            locks.push((Some(at) == lock, times, place, inside, free));
            continue;
        }
        let is_guarded = lock.is_some()
            && word.uses.iter().all(|use_| {
                matches!(operation(use_.access), Some(Did::Read | Did::Write | Did::Load))
            });
        // A compare-exchange begins with a load.
        let mut loads = times(Did::Read) + times(Did::Load) - times(Did::CompareExchange);
        if loads < LEAST_TIMES && !is_guarded {
            // Of an update LLVM has only the write recorded. It waits for the line where it loads.
            loads = times(Did::Write);
        }
        let into = if is_guarded { &mut guarded } else { &mut steps };
        for (times, operation, by) in [
            (loads, Operation::Load(place), [Read, Load]),
            (times(Did::CompareExchange), Operation::CompareExchange(place), [CompareExchange; 2]),
            (times(Did::Add) + times(Did::Exchange), Operation::Add(place), [Add, Exchange]),
            (times(Did::Write) + times(Did::Store), Operation::Store(place), [Write, Store]),
        ] {
            if times > LEAST_TIMES {
                spread(times, &operation, &sites(word, &by, threads), into);
            }
        }
    }
    locks.retain(|(_, times, ..)| *times > LEAST_TIMES);
    if !locks.iter().any(|(is_first, ..)| *is_first) {
        steps.append(&mut guarded);
    }
    for (is_first, times, place, mut inside, free) in locks {
        if is_first {
            guarded.iter_mut().for_each(|step| step.times /= times);
            guarded.retain(|step| step.times > LEAST_TIMES);
            inside.append(&mut guarded);
        }
        steps.push(Access { times, operation: Operation::Lock(place, inside) });
        steps.push(Access { times, operation: Operation::Work(free) });
    }
    match work_of(&steps) {
        0.0 => std::iter::once(Access { times: 1.0, operation: Operation::Work(work) })
            .chain(scaled(steps, 1.0))
            .filter(matters)
            .collect(),
        timed => scaled(steps, work / timed),
    }
}

/// How often each instruction did something to a word, and the gap behind it, in the order of the code.
fn sites(word: &Word, by: &[Recorded], threads: &[u32]) -> Vec<(f64, f64)> {
    let mut uses: Vec<_> = word.uses.iter().filter(|use_| by.contains(&use_.access)).collect();
    uses.sort_by_key(|use_| use_.code);
    let sites = uses.into_iter().map(|use_| {
        let gap = use_.gaps.mean().unwrap_or(0.0);
        (count(use_, threads) as f64, gap)
    });
    sites.filter(|(count, _)| *count > 0.0).collect()
}

/// The gap behind these instructions, on average.
fn gap(sites: &[(f64, f64)]) -> f64 {
    let count: f64 = sites.iter().map(|(count, _)| count).sum();
    let sum: f64 = sites.iter().map(|(count, gap)| count * gap).sum();
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Appends a step in pieces, each with the work behind it.
fn spread(times: f64, operation: &Operation, sites: &[(f64, f64)], into: &mut Vec<Access>) {
    let mean = gap(sites);
    let together = [(1.0, mean)];
    let sites = if sites.is_empty() || sites.len() > MOST_PIECES { &together } else { sites };
    let all: f64 = sites.iter().map(|(count, _)| count).sum();
    for (count, gap) in sites {
        let times = rounded(times * count / all);
        let pieces = if *gap > 0.0 { times.ceil().clamp(1.0, MOST_PIECES as f64) } else { 1.0 };
        for _ in 0..pieces as usize {
            let times = times / pieces;
            into.push(Access { times, operation: operation.clone() });
            into.push(Access { times, operation: Operation::Work(*gap) });
        }
    }
}

/// Nanoseconds of work in all of these steps.
fn work_of(steps: &[Access]) -> f64 {
    let work = |step: &Access| match &step.operation {
        Operation::Work(nanoseconds) => step.times * nanoseconds,
        _ => held(step),
    };
    steps.iter().map(work).sum()
}

/// Nanoseconds of work while a step holds its lock.
fn held(step: &Access) -> f64 {
    step.times * work_of(step.operation.inside())
}

/// The steps with so many times as much work between them, where that is enough to matter. What is then done again and again
/// is one step.
fn scaled(steps: Vec<Access>, factor: f64) -> Vec<Access> {
    let mut all: Vec<Access> = Vec::new();
    for mut step in steps {
        step.operation = match step.operation {
            Operation::Work(nanoseconds) => Operation::Work((factor * nanoseconds).min(1e8)),
            Operation::Lock(word, inside) => Operation::Lock(word, scaled(inside, factor)),
            other => other,
        };
        match all.last_mut().filter(|last| last.operation == step.operation) {
            Some(last) => last.times = rounded(last.times + step.times),
            None => all.extend(Some(step).filter(matters)),
        }
    }
    all
}

fn matters(step: &Access) -> bool {
    let Operation::Work(nanoseconds) = step.operation else { return step.times > LEAST_TIMES };
    step.times > LEAST_TIMES && step.times * nanoseconds >= LEAST_WORK
}

/// A number close to a whole one is that: a few accesses at the start or the end were counted for one word and not for
/// another.
fn rounded(times: f64) -> f64 {
    let whole = times.round();
    if (times - whole).abs() < 0.03 * whole { whole } else { times }
}

/// One iteration of several findings with so many nanoseconds of work: the steps of each, so often, where they are in its own
/// iteration.
pub(super) fn together(
    work: f64,
    findings: impl Iterator<Item = (f64, Vec<Access>)>,
) -> Vec<Access> {
    // By the part of the iteration's work that comes before.
    let mut placed: Vec<(f64, Access)> = Vec::new();
    for (often, steps) in findings {
        let inside: f64 = steps.iter().map(held).sum();
        let all = work_of(&steps) - inside;
        let mut done = 0.0;
        for step in steps {
            if let Operation::Work(nanoseconds) = step.operation {
                done += step.times * nanoseconds;
                continue;
            }
            let at = if all > 0.0 { done / all } else { 1.0 };
            placed.push((at, Access { times: rounded(step.times * often), ..step }));
        }
    }
    placed.retain(|(_, step)| step.times >= LEAST_TIMES);
    placed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let outside = work - placed.iter().map(|(_, step)| held(step)).sum::<f64>();
    let (mut steps, mut done) = (Vec::new(), 0.0);
    for (at, step) in placed.into_iter().map(|(at, step)| (at, Some(step))).chain([(1.0, None)]) {
        let work =
            Access { times: 1.0, operation: Operation::Work((at - done) * outside.max(0.0)) };
        if matters(&work) {
            steps.push(work);
            done = at;
        }
        steps.extend(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Gaps;

    const THREADS: &[u32] = &[1, 2];

    /// A word with so many uses by each thread: what, by which code, how often, and the gap behind it.
    fn word(offset: i64, uses: &[(Recorded, u64, u64, u64)]) -> (Word, String) {
        let uses = uses.iter().map(|&(access, code, count, gap)| Use {
            access,
            code,
            threads: THREADS.iter().map(|thread| (*thread, count)).collect(),
            gaps: Gaps { count: 10, nanoseconds: 10 * gap },
        });
        (Word { offset, size: 8, uses: uses.collect(), counts_references: false }, String::new())
    }

    fn of(words: &[(Word, String)], work: f64) -> Vec<Access> {
        let iterations = iterations(words, THREADS).unwrap();
        let mut counts = Counts::new();
        for (at, (word, _)) in words.iter().enumerate() {
            for use_ in &word.uses {
                let Some(did) = operation(use_.access) else { continue };
                let often = count(use_, THREADS) as f64 / THREADS.len() as f64;
                *counts.entry((at, did)).or_default() += often / iterations;
            }
        }
        let places = (0..words.len()).map(|at| (at, at)).collect();
        steps(words, &counts, &places, THREADS, work)
    }

    fn step(times: f64, operation: Operation) -> Access {
        Access { times, operation }
    }

    fn add() -> Access {
        step(1.0, Operation::Add(0))
    }

    fn work(nanoseconds: f64) -> Access {
        step(1.0, Operation::Work(nanoseconds))
    }

    #[test]
    fn work_is_where_a_thread_was_away_from_the_line() {
        use Recorded::Add;
        // The times are those under recording: of the work, 300 ns, each gap has its part.
        let often = word(0, &[(Add, 1, 1000, 400), (Add, 2, 1000, 0), (Add, 3, 1000, 800)]);
        let all = of(&[often], 300.0);
        assert_eq!(all, [add(), work(100.0), step(2.0, Operation::Add(0)), work(200.0)]);
    }

    #[test]
    fn without_gaps_all_work_comes_first() {
        let words = [word(0, &[(Recorded::Add, 1, 1000, 0)])];
        assert_eq!(of(&words, 300.0), [work(300.0), add()]);
        assert_eq!(of(&words, 0.0), [add()]);
    }

    #[test]
    fn what_is_done_often_by_one_instruction_has_work_between() {
        use Recorded::{Add, Read};
        let words = [word(0, &[(Add, 1, 1000, 0)]), word(8, &[(Read, 2, 3000, 50)])];
        let read = || step(1.0, Operation::Load(1));
        let expected = [add(), read(), work(50.0), read(), work(50.0), read(), work(50.0)];
        assert_eq!(of(&words, 150.0), expected);
    }

    #[test]
    fn what_is_done_seldom_has_its_work_as_seldom() {
        use Recorded::{Add, Read};
        let words = [word(0, &[(Add, 1, 1000, 100)]), word(8, &[(Read, 2, 250, 400)])];
        let seldom = |operation| step(0.25, operation);
        let expected =
            [add(), work(50.0), seldom(Operation::Load(1)), seldom(Operation::Work(200.0))];
        assert_eq!(of(&words, 100.0), expected);
    }

    #[test]
    fn a_critical_section_takes_as_long_as_the_lock_was_held() {
        use Recorded::{CompareExchange, Exchange, Lock, Unlock, Write};
        for by in [[Lock, Unlock], [CompareExchange, Exchange]] {
            let words = [
                word(0, &[(by[0], 1, 1000, 20), (by[1], 2, 1000, 300)]),
                word(8, &[(Write, 3, 1000, 80)]),
            ];
            let inside = vec![work(10.0), step(1.0, Operation::Store(1)), work(40.0)];
            let expected = [step(1.0, Operation::Lock(0, inside)), work(150.0)];
            assert_eq!(of(&words, 200.0), expected);
        }
    }

    #[test]
    fn findings_meet_in_an_iteration_where_each_has_its_steps() {
        let first = vec![add(), work(50.0), add(), work(50.0)];
        let second = vec![work(30.0), step(1.0, Operation::Load(1)), work(10.0)];
        let all = together(1000.0, [(1.0, first), (0.5, second)].into_iter());
        let load = step(0.5, Operation::Load(1));
        assert_eq!(all, [add(), work(500.0), add(), work(250.0), load, work(250.0)]);
    }

    #[test]
    fn work_under_a_lock_stays_there() {
        let lock = |inside| step(1.0, Operation::Lock(0, vec![work(inside)]));
        let all = together(100.0, [(1.0, vec![work(30.0), lock(10.0)])].into_iter());
        assert_eq!(all, [work(90.0), lock(10.0)]);
    }
}
