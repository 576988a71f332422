//! What a thread does in an iteration: its accesses to contended lines, and the work between them.
//!
//! Their order is not recorded. How long a thread was away from a line after an access is: so it is known how often it
//! comes back in an iteration, and how long it holds a lock.

use std::collections::BTreeMap;

use tenure_model::Access as Did;
use tenure_model::recording::Gaps;
use tenure_sim::pattern::{Operation, PatternAccess};

use crate::lines::{CodeUse, UsedWord, is_of_lock};
use crate::naming::threads::is_reported;

/// How often something is done to a word, by its place among the words.
pub(crate) type AccessCounts = BTreeMap<(usize, Did), f64>;

/// A step that is done less often per iteration does not matter.
const LEAST_TIMES: f64 = 1e-4;
/// Nor does less work, in nanoseconds.
const LEAST_WORK: f64 = 0.1;
/// At most so many instructions are told apart, and each one's accesses are split into at most so many pieces.
const MAX_PIECES: usize = 8;

/// What a thread works in an iteration.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) nanoseconds: f64,
    /// The part of the recorded time that it was.
    pub(crate) part: f64,
}

/// What an instruction did to a word: how often, and the work after it, if that was timed.
type TimedAccess = (f64, Option<f64>);

/// How many iterations each of these threads has done: as many as the write that they did most often by one instruction,
/// or the read if they only read. A reference that is taken and put is two additions in an iteration.
pub(crate) fn iterations(words: &[(UsedWord, String)], threads: &[u32]) -> Option<f64> {
    let most = |wanted: &dyn Fn(Did) -> bool| {
        let uses = words.iter().flat_map(|(word, _)| &word.uses);
        let uses = uses.filter(|use_| is_reported(use_.access) && wanted(use_.access));
        uses.map(|use_| count(use_, threads)).max().filter(|most| *most > 0)
    };
    most(&Did::writes).or_else(|| most(&|_| true)).map(|most| most as f64 / threads.len() as f64)
}

/// How often these threads did it.
fn count(use_: &CodeUse, threads: &[u32]) -> u64 {
    threads.iter().filter_map(|thread| use_.threads.get(thread)).sum()
}

/// What these threads do in an iteration, as often as `counts` says, to the words that have a place in the pattern.
pub(crate) fn steps(
    words: &[(UsedWord, String)],
    counts: &AccessCounts,
    places: &BTreeMap<usize, usize>,
    threads: &[u32],
    work: Work,
) -> Vec<PatternAccess> {
    use Did::{Add, CompareExchange, Exchange, Load, Lock, Read, Store, Unlock, Write};
    let sites = |word: &UsedWord, by: &[Did]| sites(word, by, threads, work.part);
    let lock = places.keys().copied().find(|at| words[*at].0.is_lock());
    let (mut steps, mut guarded, mut locks) = (Vec::new(), Vec::new(), Vec::new());
    for (&at, &place) in places {
        let word = &words[at].0;
        let times = |did: Did| rounded(counts.get(&(at, did)).copied().unwrap_or(0.0));
        if word.is_lock() {
            // A lock of std's is taken by a compare-exchange, or by code that is not recorded if that has failed. It is
            // given back by another operation each time.
            let given_back = times(Did::Add) + times(Did::Exchange) + times(Did::Store);
            let taken = times(Did::Lock).max(times(Did::CompareExchange));
            let takes = sites(word, &[Lock, CompareExchange]);
            let (times, held, free) = if given_back < taken / 4.0 && times(Did::Lock) == 0.0 {
                // Both ways by a compare-exchange, as parking_lot does: it is held for less time than it is free.
                let each = || takes.iter().filter_map(|(_, work)| *work);
                ((taken + given_back) / 2.0, each().reduce(f64::min), each().reduce(f64::max))
            } else {
                let gives = sites(word, &[Unlock, Add, Exchange, Store]);
                (taken.max(given_back), behind(&takes), behind(&gives))
            };
            locks.push((Some(at) == lock, times, place, held.unwrap_or(0.0), free));
            continue;
        }
        let is_guarded = lock.is_some_and(|lock| {
            let (lock, path) = &words[lock];
            let is_its = word.is_written() || is_of_lock(&words[at].1, path) != Some(false);
            is_its && is_guarded(word, lock)
        });
        let stores = times(Did::Write) + times(Did::Store);
        // A compare-exchange begins with a load.
        let loads = times(Did::Read) + times(Did::Load) - times(Did::CompareExchange);
        let (load, store) = (Operation::Load(place), Operation::Store(place));
        // Of an update LLVM has only the write recorded. It waits for the line where it loads.
        let is_update = loads < LEAST_TIMES && !is_guarded && times(Did::Write) > LEAST_TIMES;
        let stored = if is_update { vec![load.clone(), store] } else { vec![store] };
        let exchange = Operation::CompareExchange(place);
        let adds = times(Did::Add) + times(Did::Exchange);
        let all = [
            (loads, vec![load], [Read, Load]),
            (times(Did::CompareExchange), vec![exchange], [CompareExchange; 2]),
            (adds, vec![Operation::Add(place)], [Add, Exchange]),
            (stores, stored, [Write, Store]),
        ];
        let spread = all
            .into_iter()
            .filter(|(times, ..)| *times > LEAST_TIMES)
            .flat_map(|(times, operations, by)| spread(times, &operations, &sites(word, &by)));
        if is_guarded {
            guarded.extend(spread);
        } else {
            steps.extend(spread);
        }
    }
    locks.retain(|(_, times, ..)| *times > LEAST_TIMES);
    if !locks.iter().any(|(is_first, ..)| *is_first) {
        steps.append(&mut guarded);
    }
    for (is_first, times, place, held, free) in locks {
        let mut inside = vec![PatternAccess { times: 1.0, operation: Operation::Work(held) }];
        if is_first {
            guarded.iter_mut().for_each(|step| step.times /= times);
            guarded.retain(|step| step.times > LEAST_TIMES);
            inside.append(&mut guarded);
        }
        steps.extend(spread(times, &[Operation::Lock(place, inside)], &[(times, free)]));
    }
    steps.retain(|step| step.times > LEAST_TIMES);
    cleaned(fitted(steps, work.nanoseconds))
}

/// Whether a lock on the line may guard a word: no thread changes the word atomically, or uses it and never the lock.
fn is_guarded(word: &UsedWord, lock: &UsedWord) -> bool {
    let plain = |use_: &CodeUse| matches!(use_.access, Did::Read | Did::Write | Did::Load);
    let locks = |thread: &u32| lock.uses.iter().any(|use_| use_.threads.contains_key(thread));
    word.uses.iter().all(|use_| plain(use_) && use_.threads.keys().all(locks))
}

/// The instructions that did this to a word, in the order of the code.
fn sites(word: &UsedWord, by: &[Did], threads: &[u32], part: f64) -> Vec<TimedAccess> {
    let mut uses: Vec<_> = word.uses.iter().filter(|use_| by.contains(&use_.access)).collect();
    uses.sort_by_key(|use_| use_.code);
    let site = |use_: &CodeUse| {
        let mut gaps = Gaps::default();
        threads.iter().filter_map(|thread| use_.gaps.get(thread)).for_each(|its| gaps.add(*its));
        (count(use_, threads) as f64, gaps.mean().map(|gap| gap * part))
    };
    uses.into_iter().map(site).filter(|(count, _)| *count > 0.0).collect()
}

/// The work after these instructions, on average over those that were timed.
fn behind(sites: &[TimedAccess]) -> Option<f64> {
    let timed = || sites.iter().filter_map(|(count, work)| Some((count, (*work)?)));
    let count: f64 = timed().map(|(count, _)| count).sum();
    let sum: f64 = timed().map(|(count, work)| count * work).sum();
    (count > 0.0).then(|| sum / count)
}

/// Operations that are done so often, one after the other, by each instruction with the work after it.
fn spread(times: f64, operations: &[Operation], sites: &[TimedAccess]) -> Vec<PatternAccess> {
    let mean = behind(sites).unwrap_or(0.0);
    let as_one = [(1.0, Some(mean))];
    let sites = if sites.is_empty() || sites.len() > MAX_PIECES { &as_one } else { sites };
    let all: f64 = sites.iter().map(|(count, _)| count).sum();
    let mut steps = Vec::new();
    for (count, work) in sites {
        let (times, work) = (rounded(times * count / all), work.unwrap_or(mean));
        let pieces = if work > 0.0 { times.round().clamp(1.0, MAX_PIECES as f64) } else { 1.0 };
        for _ in 0..pieces as usize {
            let all = operations.iter().cloned().chain([Operation::Work(work)]);
            steps.extend(all.map(|operation| PatternAccess { times: times / pieces, operation }));
        }
    }
    steps
}

/// The steps with so much work, in nanoseconds. A gap may have been longer than the iteration, if the next one used another
/// object, or longer than what is timed: so of those that no lock is held in the longest are cut, or the one that takes most
/// gets what is left.
fn fitted(mut steps: Vec<PatternAccess>, work: f64) -> Vec<PatternAccess> {
    let inside: f64 = steps.iter().map(held).sum();
    if inside > work {
        for step in &mut steps {
            scale(step, work / inside);
        }
    }
    let left = (work - inside).max(0.0);
    let outside = steps.iter_mut().filter_map(|step| match &mut step.operation {
        Operation::Work(nanoseconds) => Some((step.times, nanoseconds)),
        _ => None,
    });
    let mut outside: Vec<_> = outside.collect();
    outside.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let taken = |(times, work): &(f64, &mut f64)| times * **work;
    let sum: f64 = outside.iter().map(taken).sum();
    let most = outside.iter_mut().max_by(|one, other| taken(one).total_cmp(&taken(other)));
    match most {
        Some((times, most)) if sum <= left && **most > 0.0 => **most += (left - sum) / *times,
        _ if sum <= left => {
            let rest = Operation::Work(left - sum);
            steps.insert(0, PatternAccess { times: 1.0, operation: rest });
        }
        _ => {
            let level = level(&outside, left);
            outside.iter_mut().for_each(|(_, work)| **work = work.min(level));
        }
    }
    steps
}

/// To what the longest have to be cut so that all together are `left`: the longest first.
fn level(all: &[(f64, &mut f64)], left: f64) -> f64 {
    let (mut times_cut, mut rest) =
        (0.0, all.iter().map(|(times, work)| times * **work).sum::<f64>());
    for (at, (times, work)) in all.iter().enumerate() {
        times_cut += times;
        rest -= times * **work;
        let level = (left - rest) / times_cut;
        if all.get(at + 1).is_none_or(|(_, next)| level >= **next) {
            return level.max(0.0);
        }
    }
    0.0
}

/// Changes the work of a step, and that which is done while it holds a lock.
pub(crate) fn scale(step: &mut PatternAccess, by: f64) {
    match &mut step.operation {
        Operation::Work(nanoseconds) => *nanoseconds *= by,
        Operation::Lock(_, inside) => inside.iter_mut().for_each(|step| scale(step, by)),
        _ => {}
    }
}

/// Nanoseconds of work in all of these steps.
fn work_of(steps: &[PatternAccess]) -> f64 {
    let work = |step: &PatternAccess| match &step.operation {
        Operation::Work(nanoseconds) => step.times * nanoseconds,
        _ => held(step),
    };
    steps.iter().map(work).sum()
}

/// Nanoseconds of work while a step holds its lock.
fn held(step: &PatternAccess) -> f64 {
    step.times * work_of(step.operation.inside())
}

/// The steps that matter. What is done several times in a row is one step.
fn cleaned(steps: Vec<PatternAccess>) -> Vec<PatternAccess> {
    let mut all: Vec<PatternAccess> = Vec::new();
    for mut step in steps {
        match &mut step.operation {
            // What the simulator can do.
            Operation::Work(nanoseconds) => *nanoseconds = nanoseconds.clamp(1e-3, 1e8),
            Operation::Lock(_, inside) => *inside = cleaned(std::mem::take(inside)),
            _ => {}
        }
        match all.last_mut().filter(|last| last.operation == step.operation) {
            Some(last) => last.times = rounded(last.times + step.times),
            None => all.extend(Some(step).filter(matters)),
        }
    }
    all
}

fn matters(step: &PatternAccess) -> bool {
    let Operation::Work(nanoseconds) = step.operation else { return step.times > LEAST_TIMES };
    step.times > LEAST_TIMES && step.times * nanoseconds >= LEAST_WORK
}

/// A number close to a whole one is that: a few accesses at the start or the end were counted for one word and not for
/// another.
fn rounded(times: f64) -> f64 {
    let whole = times.round();
    if (times - whole).abs() < 0.03 * whole { whole } else { times }
}

/// One iteration of several findings, with so many nanoseconds of work. Each finding's steps keep their places in its own
/// iteration, and are done so often; which finding's come first is not known.
pub(crate) fn together(
    work: f64,
    findings: impl Iterator<Item = (f64, Vec<PatternAccess>)>,
) -> Vec<PatternAccess> {
    // By the part of the iteration's work that comes before.
    let mut placed: Vec<(f64, PatternAccess)> = Vec::new();
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
            placed.push((at, PatternAccess { times: rounded(step.times * often), ..step }));
        }
    }
    placed.retain(|(_, step)| step.times >= LEAST_TIMES);
    placed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    // Of locks within locks both have the inner work.
    let inside: f64 = placed.iter().map(|(_, step)| held(step)).sum();
    if inside > work {
        placed.iter_mut().for_each(|(_, step)| scale(step, work / inside));
    }
    let outside = (work - inside).max(0.0);
    let (mut steps, mut done) = (Vec::new(), 0.0);
    for (at, step) in placed.into_iter().map(|(at, step)| (at, Some(step))).chain([(1.0, None)]) {
        let before =
            PatternAccess { times: 1.0, operation: Operation::Work((at - done) * outside) };
        if matters(&before) {
            steps.push(before);
            done = at;
        }
        steps.extend(step);
    }
    cleaned(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: &[u32] = &[1, 2];

    /// A word with so many uses by each thread: what, by which code, how often, and the gap after it.
    fn word(offset: i64, uses: &[(Did, u64, u64, u64)]) -> (UsedWord, String) {
        let uses = uses.iter().map(|&(access, code, count, gap)| CodeUse {
            access,
            code,
            threads: THREADS.iter().map(|thread| (*thread, count)).collect(),
            callers: BTreeMap::new(),
            gaps: THREADS
                .iter()
                .map(|thread| (*thread, Gaps { count: 10, nanoseconds: 10 * gap }))
                .collect(),
        });
        (crate::lines::tests::word(offset, uses), String::new())
    }

    /// The steps of both threads, with so many nanoseconds of work, which were half of the recorded time.
    fn of(words: &[(UsedWord, String)], nanoseconds: f64) -> Vec<PatternAccess> {
        let iterations = iterations(words, THREADS).unwrap();
        let mut counts = AccessCounts::new();
        for (at, (word, _)) in words.iter().enumerate() {
            for use_ in word.uses.iter().filter(|use_| is_reported(use_.access)) {
                let did = use_.access;
                let often = count(use_, THREADS) as f64 / THREADS.len() as f64;
                *counts.entry((at, did)).or_default() += often / iterations;
            }
        }
        let places = (0..words.len()).map(|at| (at, at)).collect();
        steps(words, &counts, &places, THREADS, Work { nanoseconds, part: 0.5 })
    }

    fn step(times: f64, operation: Operation) -> PatternAccess {
        PatternAccess { times, operation }
    }

    fn add() -> PatternAccess {
        step(1.0, Operation::Add(0))
    }

    fn work(nanoseconds: f64) -> PatternAccess {
        step(1.0, Operation::Work(nanoseconds))
    }

    #[test]
    fn work_is_where_a_thread_was_away_from_the_line() {
        use Did::Add;
        let often = [word(0, &[(Add, 1, 1000, 200), (Add, 2, 1000, 0), (Add, 3, 1000, 400)])];
        let with = |first, second| [add(), work(first), step(2.0, Operation::Add(0)), work(second)];
        assert_eq!(of(&often, 300.0), with(100.0, 200.0));
        // A gap may have been longer than what is timed, or than the iteration.
        assert_eq!(of(&often, 900.0), with(100.0, 800.0));
        assert_eq!(of(&often, 250.0), with(100.0, 150.0));
        assert_eq!(of(&often, 150.0), with(75.0, 75.0));
    }

    #[test]
    fn each_threads_own_gaps_count() {
        let mut both = word(0, &[(Did::Add, 1, 1000, 100)]);
        both.0.uses[0].gaps.insert(3, Gaps { count: 1000, nanoseconds: 1000 * 20_000 });
        assert_eq!(of(&[both], 50.0), [add(), work(50.0)]);
    }

    #[test]
    fn without_gaps_all_work_comes_first() {
        let words = [word(0, &[(Did::Add, 1, 1000, 0)])];
        assert_eq!(of(&words, 300.0), [work(300.0), add()]);
        assert_eq!(of(&words, 0.0), [add()]);
    }

    #[test]
    fn what_is_done_often_by_one_instruction_has_work_between() {
        use Did::{Add, Read};
        let words = [word(0, &[(Add, 1, 1000, 0)]), word(8, &[(Read, 2, 3000, 100)])];
        let read = || step(1.0, Operation::Load(1));
        let expected = [add(), read(), work(50.0), read(), work(50.0), read(), work(50.0)];
        assert_eq!(of(&words, 150.0), expected);
    }

    #[test]
    fn what_is_done_seldom_has_its_work_as_seldom() {
        use Did::{Add, Read};
        let words = [word(0, &[(Add, 1, 1000, 100)]), word(8, &[(Read, 2, 250, 400)])];
        let seldom = |operation| step(0.25, operation);
        let expected =
            [add(), work(50.0), seldom(Operation::Load(1)), seldom(Operation::Work(200.0))];
        assert_eq!(of(&words, 100.0), expected);
    }

    #[test]
    fn a_critical_section_takes_as_long_as_the_lock_was_held() {
        use Did::{CompareExchange, Exchange, Lock, Unlock, Write};
        for by in [[Lock, Unlock], [CompareExchange, Exchange]] {
            let words = [
                word(0, &[(by[0], 1, 1000, 20), (by[1], 2, 1000, 300)]),
                word(8, &[(Write, 3, 1000, 80)]),
            ];
            let inside =
                |first, second| vec![work(first), step(1.0, Operation::Store(1)), work(second)];
            let lock = |first, second| step(1.0, Operation::Lock(0, inside(first, second)));
            assert_eq!(of(&words, 200.0), [lock(10.0, 40.0), work(150.0)]);
            assert_eq!(of(&words, 25.0), [lock(5.0, 20.0)]);
        }
    }

    #[test]
    fn a_long_critical_section_stays_under_its_lock() {
        use Did::{Lock, Read, Unlock};
        let words = [
            word(0, &[(Lock, 1, 1000, 20), (Unlock, 2, 1000, 10)]),
            word(8, &[(Read, 3, 1000, 2000)]),
        ];
        let inside = vec![work(10.0), step(1.0, Operation::Load(1)), work(1000.0)];
        let lock = step(1.0, Operation::Lock(0, inside));
        assert_eq!(of(&words, 1015.0), [lock, work(5.0)]);
        // Another thread reads the word, and never takes the lock.
        let mut words = words;
        words[1].0.uses[0].threads.insert(3, 1000);
        let lock = step(1.0, Operation::Lock(0, vec![work(10.0)]));
        let expected = [step(1.0, Operation::Load(1)), work(1000.0), lock, work(5.0)];
        assert_eq!(of(&words, 1015.0), expected);
    }

    #[test]
    fn a_lock_that_a_compare_exchange_gives_back_is_taken_half_as_often() {
        use Did::{CompareExchange, Store};
        let word = word(
            0,
            &[(CompareExchange, 1, 1000, 20), (CompareExchange, 2, 1000, 300), (Store, 3, 10, 0)],
        );
        let [lock, free] = &of(&[word], 160.0)[..] else { panic!() };
        assert_eq!(lock.operation, Operation::Lock(0, vec![work(10.0)]));
        assert!((lock.times - 1.0).abs() < 0.01 && (free.times - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_is_left_of_the_work_is_not_behind_a_rare_step() {
        use Did::{Add, Read};
        let words = [word(0, &[(Add, 1, 1000, 200)]), word(8, &[(Read, 2, 100, 400)])];
        let seldom = |operation| step(0.1, operation);
        let expected =
            [add(), work(980.0), seldom(Operation::Load(1)), seldom(Operation::Work(200.0))];
        assert_eq!(of(&words, 1000.0), expected);
    }

    #[test]
    fn a_lock_is_taken_again_and_again_with_work_between() {
        use Did::{Add, Lock, Unlock};
        let words = [
            word(0, &[(Lock, 1, 2000, 20), (Unlock, 2, 2000, 100)]),
            word(8, &[(Add, 3, 1000, 0)]),
        ];
        let lock = || step(1.0, Operation::Lock(0, vec![work(10.0)]));
        // Without the lock's first, which is the most frequent.
        let once = word(0, &[(Lock, 1, 1000, 20), (Unlock, 2, 1000, 100)]);
        assert_eq!(of(&[once], 60.0), [lock(), work(50.0)]);
        let half = |operation| step(0.5, operation);
        assert_eq!(of(&words, 60.0), [half(Operation::Add(1)), lock(), work(50.0)]);
    }

    #[test]
    fn an_update_waits_where_it_loads() {
        let words = [word(0, &[(Did::Write, 1, 1000, 40), (Did::Write, 2, 1000, 60)])];
        let [load, store] = [Operation::Load, Operation::Store].map(|it| step(1.0, it(0)));
        let update = |nanoseconds| [load.clone(), store.clone(), work(nanoseconds)];
        assert_eq!(of(&words, 50.0), [update(20.0), update(30.0)].concat());
    }

    #[test]
    fn a_release_that_was_never_timed_leaves_the_work_outside() {
        use Did::{Lock, Unlock};
        let mut words = [word(0, &[(Lock, 1, 1000, 20), (Unlock, 2, 1000, 0)])];
        words[0].0.uses[1].gaps.clear();
        let lock = step(1.0, Operation::Lock(0, vec![work(10.0)]));
        assert_eq!(of(&words, 100.0), [work(90.0), lock]);
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
        // Both have the work of a lock within a lock.
        let twice = [(1.0, vec![lock(80.0)]), (1.0, vec![lock(80.0)])];
        assert_eq!(together(100.0, twice.into_iter()), [step(2.0, lock(50.0).operation)]);
    }
}
