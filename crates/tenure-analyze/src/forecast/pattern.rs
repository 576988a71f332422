//! A finding as an access pattern for the simulator, and what fixing it would give.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use tenure_advise::repair::{self, RemedyOf};
use tenure_model::{Access as Did, Curve, Forecast, Point, Remedy, Repair, Target};
use tenure_sim::pattern::{self, Copies, Operation, Pattern, PatternObject, PatternRole, Repaired};

use super::simulator::Simulator;
use super::steps::{self, AccessCounts, Work};
use crate::lines::{Elements, UsedWord};
use crate::naming::threads::{Groups, is_reported};
use crate::naming::value::value;

/// The numbers of CPUs that are simulated, of those that the machine has.
const CPUS: [usize; 4] = [2, 8, 64, 128];

/// A repair is reported if it gives at least this much on this many CPUs, or on all if there are fewer.
const WORTH: f64 = 1.05;
const JUDGED: usize = 64;
/// Repairs that differ by less are alike.
const ALIKE: f64 = 1.05;

/// A thread with less than this part of the accesses of the one that has most has no role.
const SIGNIFICANT: f64 = 0.01;
const MAX_ROLES: usize = 6;
/// The highest share that the simulator takes: a thread for each of the most CPUs.
const MAX_SHARE: u32 = 1024;

/// Bytes of a line of the simulator.
const PATTERN_LINE: i64 = 64;

/// The memory that a pattern is of.
pub(crate) struct PatternMemory {
    pub(crate) name: String,
    /// Where the line starts, as [`UsedWord::offset`].
    pub(crate) line: i64,
    pub(crate) line_bytes: u64,
    pub(crate) elements: Option<Elements>,
    /// How many objects there are, and the bytes of each.
    pub(crate) objects: u64,
    pub(crate) size: u64,
    /// Plain writes of each thread to other contended lines; `None` if not all of them were counted.
    pub(crate) written_elsewhere: Option<BTreeMap<u32, u64>>,
}

impl PatternMemory {
    /// Whether threads that take this lock write elsewhere: then it may guard what they write there.
    fn guards_more(&self, lock: &UsedWord) -> bool {
        /// As many writes, for each time that it is taken, leave what it guards read mostly.
        const RARELY: f64 = 0.01;
        let Some(written) = &self.written_elsewhere else { return true };
        let (mut takes, mut writes) = (0, 0);
        let takers = lock.uses.iter().filter(|use_| use_.access.writes());
        let mut seen = BTreeSet::new();
        for (thread, count) in takers.flat_map(|use_| &use_.threads) {
            takes += count;
            if seen.insert(*thread) {
                writes += written.get(thread).copied().unwrap_or(0);
            }
        }
        writes as f64 > RARELY * takes as f64
    }
}

/// A pattern, and whom its roles stand for.
pub(crate) struct RecordedPattern {
    pub(crate) pattern: Pattern,
    /// One for each role, in their order.
    pub(crate) members: Vec<RoleMembers>,
}

/// The threads of a role.
pub(crate) struct RoleMembers {
    pub(crate) threads: Vec<u32>,
    /// How many iterations each of them did, on average.
    pub(crate) iterations: f64,
    /// How many accesses to the finding's lines.
    pub(crate) accesses: f64,
}

/// The pattern of these words; `None` if it cannot be simulated. Asks for return addresses whether the code there uses the
/// result.
pub(crate) fn pattern(
    memory: &PatternMemory,
    words: &[(UsedWord, String)],
    groups: &Groups<'_>,
    uses_result: &dyn Fn(u64) -> Option<bool>,
) -> Option<RecordedPattern> {
    let mut pattern = Pattern::new(&memory.name);
    let object = pattern.object(match memory.elements {
        Some(elements) => {
            let stride = usize::try_from(elements.stride).ok()?;
            let count = usize::try_from(elements.count).ok()?;
            let copies =
                if elements.owned { Copies::PerThread } else { Copies::Random(count.min(4096)) };
            let phase = (elements.start - memory.line).rem_euclid(PATTERN_LINE);
            PatternObject::several(&memory.name, copies, stride)
                .at_phase(usize::try_from(phase).ok()?)
        }
        None if memory.objects > 1 => {
            let copies = Copies::Random(usize::try_from(memory.objects.min(4096)).ok()?);
            let stride = usize::try_from(memory.size.next_multiple_of(16)).ok()?;
            PatternObject::several(&memory.name, copies, stride)
        }
        None => PatternObject::once(&memory.name),
    });
    // By the place of the word in `words`. Those on other lines are not part of it.
    let mut places = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (at, (word, name)) in words.iter().enumerate() {
        let (start, end) = match memory.elements {
            Some(elements) => (0, elements.stride),
            None => (memory.line, memory.line_bytes),
        };
        let Ok(offset) = u64::try_from(word.offset - start) else { continue };
        if offset < end {
            let mut name = if name.is_empty() { format!("+{}", word.offset) } else { name.clone() };
            if !names.insert(name.clone()) {
                name = format!("{name}+{offset}");
            }
            let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(word.size).ok()?);
            let value = value(word, uses_result, word.is_lock() && memory.guards_more(word));
            let place = pattern.word(object, name, offset, size);
            pattern.words[place].value = value;
            places.insert(at, place);
        }
    }
    let mut members = Vec::new();
    let roles = roles(words, groups);
    let are_alike = roles.len() == 1 || roles.iter().any(|(_, threads, _)| threads.len() > 1);
    for (name, threads, counts) in roles {
        let iterations = steps::iterations(words, &threads)?;
        let accesses: f64 = counts.values().sum();
        let mut role = PatternRole::pool(name);
        role.share = share(&threads, groups, are_alike);
        let per_iteration = counts.into_iter().map(|(did, count)| (did, count / iterations));
        let work = Work {
            nanoseconds: worked(&threads, groups) / iterations,
            part: mean(&threads, |thread| groups.work_part(thread)),
        };
        role.steps = steps::steps(words, &per_iteration.collect(), &places, &threads, work);
        pattern.role(role);
        members.push(RoleMembers { threads, iterations, accesses });
    }
    pattern.check().is_ok().then_some(RecordedPattern { pattern, members })
}

/// These threads' share of the CPUs; none for a thread that no other has the name of, or of several of which no two do the
/// same (not `are_alike`): more CPUs do not mean more of it.
pub(crate) fn share(threads: &[u32], groups: &Groups<'_>, are_alike: bool) -> u32 {
    match threads {
        [one] if !are_alike || groups.is_single(*one) => 0,
        threads => u32::try_from(threads.len()).map_or(MAX_SHARE, |share| share.min(MAX_SHARE)),
    }
}

/// Nanoseconds that each of these threads worked, on average, without its accesses to contended lines.
pub(crate) fn worked(threads: &[u32], groups: &Groups<'_>) -> f64 {
    mean(threads, |thread| groups.worked(thread))
}

fn mean(threads: &[u32], of: impl Fn(u32) -> f64) -> f64 {
    threads.iter().map(|thread| of(*thread)).sum::<f64>() / threads.len() as f64
}

/// Groups of threads that do the same, with what each does on average.
fn roles(
    words: &[(UsedWord, String)],
    groups: &Groups<'_>,
) -> Vec<(String, Vec<u32>, AccessCounts)> {
    let mut threads: BTreeMap<u32, AccessCounts> = BTreeMap::new();
    for (at, (word, _)) in words.iter().enumerate() {
        for use_ in word.uses.iter().filter(|use_| is_reported(use_.access)) {
            let place = (at, use_.access);
            for (thread, count) in &use_.threads {
                *threads.entry(*thread).or_default().entry(place).or_default() += *count as f64;
            }
        }
    }
    let most = threads.values().map(|counts| counts.values().sum()).fold(0.0, f64::max);
    threads.retain(|_, counts| counts.values().sum::<f64>() >= SIGNIFICANT * most);
    /// A name, and what is done.
    type Key<'a> = (&'a str, Vec<(usize, Did)>);
    let mut roles: BTreeMap<Key<'_>, (Vec<u32>, AccessCounts)> = BTreeMap::new();
    for (thread, counts) in &threads {
        let most = counts.values().copied().fold(0.0, f64::max);
        let usual = counts.iter().filter(|(_, count)| **count >= SIGNIFICANT * most);
        let key = (groups.name(*thread), usual.map(|(key, _)| *key).collect());
        let (members, sums) = roles.entry(key).or_default();
        members.push(*thread);
        for (key, count) in counts {
            *sums.entry(*key).or_default() += count;
        }
    }
    let mut roles: Vec<_> = roles
        .into_iter()
        .map(|((name, _), (members, mut counts))| {
            counts.values_mut().for_each(|count| *count /= members.len() as f64);
            (name.to_owned(), members, counts)
        })
        .collect();
    let weight = |(_, members, counts): &(String, Vec<u32>, AccessCounts)| {
        members.len() as f64 * counts.values().sum::<f64>()
    };
    roles.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    roles.truncate(MAX_ROLES);
    tell_apart(roles.iter_mut().map(|(name, ..)| name));
    roles
}

/// Changes names so that no two are the same.
pub(crate) fn tell_apart<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut known = BTreeSet::new();
    for (at, name) in names.enumerate() {
        if !known.insert(name.clone()) {
            *name += &format!(" {}", at + 1);
            known.insert(name.clone());
        }
    }
}

/// Remedies for a line.
#[derive(Default)]
pub(crate) struct Predictions {
    /// The best first.
    pub(crate) repairs: Vec<Repair>,
    /// What they would give; none if the pattern cannot be simulated.
    pub(crate) forecast: Option<Forecast>,
    /// The pattern with the best repair.
    pub(crate) best: Option<Pattern>,
}

/// Remedies to try on a pattern: whether it pays, only a simulation says.
pub(crate) fn candidates(pattern: &Pattern, target: &Target) -> Vec<Repair> {
    applicable(pattern).map(|repair| as_one(&[repair], target)).collect()
}

fn applicable(pattern: &Pattern) -> impl Iterator<Item = Repaired> {
    pattern::repairs(pattern).into_iter().filter(|repair| applies(repair, pattern))
}

fn applies(repair: &Repaired, to: &Pattern) -> bool {
    repair.remedy != Remedy::ReadUnlocked || !has_a_semaphore(to)
}

/// Remedies for a pattern, and what they would give; `None` if the simulator was stopped before that was known.
pub(crate) fn fixed(
    pattern: &Pattern,
    target: &Target,
    simulator: &mut Simulator<'_>,
) -> Option<Predictions> {
    let unmodified = simulator.points(pattern, &CPUS);
    let judged = |points: &[Point]| {
        let most = points.iter().rev().find(|point| point.cpus <= JUDGED as u64);
        most.map(|point| point.per_second)
    };
    let Some(now) = judged(&unmodified) else {
        return (!simulator.is_stopped()).then(Predictions::default);
    };
    let together = {
        let throughput = |pattern: &Pattern| simulator.judged(pattern, JUDGED);
        let applies = |repair: &Repaired| applies(repair, pattern);
        pattern::together(pattern, throughput, applies).unwrap_or_default()
    };
    let single = applicable(pattern).map(|repair| vec![repair]);
    let mut all: Vec<(f64, Repair, Curve, Pattern)> = Vec::new();
    for repairs in single.chain((together.len() > 1).then_some(together)) {
        let Some(after) = repairs.last().map(|last| last.pattern.clone()) else { continue };
        let points = simulator.points(&after, &CPUS);
        let Some(then) = judged(&points).filter(|then| *then >= now * WORTH) else { continue };
        let repair = as_one(&repairs, target);
        all.push((then, repair.clone(), Curve { name: repair.name, points }, after));
    }
    if simulator.is_stopped() {
        return None;
    }
    let most = all.iter().map(|(then, ..)| *then).fold(0.0, f64::max);
    // Of those that are alike the first asks least of the source.
    let alike = |then: f64| then * ALIKE >= most;
    all.sort_by(|(one, ..), (other, ..)| match (alike(*one), alike(*other)) {
        (true, true) => Ordering::Equal,
        _ => other.total_cmp(one),
    });
    let best = all.first().map(|(.., pattern)| pattern.clone());
    let (repairs, repaired) = all.into_iter().map(|(_, repair, curve, _)| (repair, curve)).unzip();
    let forecast = Some(Forecast { machine: simulator.machine().to_owned(), unmodified, repaired });
    Some(Predictions { repairs, forecast, best })
}

/// Repairs that are made one after another, as a report has them.
fn as_one(repairs: &[Repaired], target: &Target) -> Repair {
    let of = |repair: &Repaired| {
        let words = repair.words.iter().map(|&word| repair.pattern.words[word].name.clone());
        RemedyOf { remedy: repair.remedy, words: words.collect() }
    };
    let steps: Vec<_> = repairs.iter().map(of).collect();
    let bytes = repairs.iter().map(|repair| repair.bytes as u64).sum();
    let per_thread = repairs.iter().all(|repair| repair.per_thread);
    repair::repair(&steps, target, bytes, per_thread)
}

/// Whether a lock of the pattern may be a semaphore, or a lock that has its readers' number in it: what threads do is the
/// same, but nothing says that they then read. Locks of one holder have at most four bytes.
fn has_a_semaphore(pattern: &Pattern) -> bool {
    let mut steps = pattern.roles.iter().flat_map(|role| &role.steps);
    steps.any(|step| match step.operation {
        Operation::Lock(word, _) => pattern.words[word].bytes > 4,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use tenure_model::{Access as Did, Language, Role};
    use tenure_sim::Machine;
    use tenure_sim::pattern::PatternAccess;

    use super::*;
    use crate::lines;
    use crate::lines::tests::done;
    use crate::naming::names::{ProcessNames, Programs};
    use tenure_model::recording::{Process, Thread};

    fn word(offset: i64, uses: &[(Did, &[(u32, u64)])]) -> (UsedWord, String) {
        let uses = uses.iter().map(|(did, threads)| done(*did, 0, *threads));
        (lines::tests::word(offset, uses), String::new())
    }

    fn of(memory: &PatternMemory, words: &[(UsedWord, String)]) -> Pattern {
        // Ten million accesses, each of which took 4 ns of work, and 2 more to record.
        let thread = |id| Thread {
            id,
            accesses: 10_000_000,
            cpu: 100_000_000,
            waited: 40_000_000,
            ..Thread::default()
        };
        let threads = (1..=4).map(thread).collect();
        let process = Process { threads, access_ns: 1.5, ..Process::default() };
        let programs = Programs::default();
        let groups = Groups::of(&process, &ProcessNames::new(&[], &[], &programs));
        pattern(memory, words, &groups, &|_| Some(false)).expect("it can be simulated").pattern
    }

    fn fixed(pattern: &Pattern) -> Predictions {
        let machine = Machine::preset("epyc-2s-256").unwrap();
        let target = Target { language: Some(Language::Rust), ..Target::default() };
        super::fixed(pattern, &target, &mut Simulator::new(&machine, &|| true)).unwrap()
    }

    fn step(times: f64, operation: Operation) -> PatternAccess {
        PatternAccess { times, operation }
    }

    fn memory(elements: Option<Elements>) -> PatternMemory {
        PatternMemory {
            name: "Session".to_owned(),
            line: 0,
            line_bytes: 64,
            elements,
            objects: 1,
            size: 64,
            written_elsewhere: Some(BTreeMap::new()),
        }
    }

    const MILLION: u64 = 1_000_000;
    const POOL: &[(u32, u64)] = &[(2, MILLION), (3, MILLION), (4, MILLION)];

    #[test]
    fn threads_that_do_the_same_are_a_pool_and_others_stay_alone() {
        use Did::{Add, Read, Write};
        let words = [
            word(0, &[(Add, POOL)]),
            word(16, &[(Read, &[(2, 3 * MILLION), (3, 3 * MILLION), (4, 3 * MILLION)])]),
            word(24, &[(Write, &[(1, MILLION)])]),
        ];
        let pattern = of(&memory(None), &words);
        let roles: Vec<_> = pattern.roles.iter().map(|role| (&*role.name, role.share)).collect();
        assert_eq!(roles, [("thread", 3), ("main", 0)]);
        let steps = &pattern.roles[0].steps;
        // Ten accesses per iteration: the process has no lines, so all are counted as the threads' own.
        assert_eq!(steps[0], step(1.0, Operation::Work(40.0)));
        for often in [step(1.0, Operation::Add(0)), step(3.0, Operation::Load(1))] {
            assert!(steps.contains(&often), "{steps:?}");
        }
    }

    #[test]
    fn a_count_that_is_taken_and_put_can_be_kept_but_not_split() {
        let (mut count, _) = word(0, &[(Did::Add, POOL); 2]);
        count.uses[1].code = 1;
        count.meaning.role = Some(Role::Count);
        let pattern = of(&memory(None), &[(count, "strong".to_owned())]);
        let add = step(2.0, Operation::Add(0));
        assert!(pattern.roles[0].steps.contains(&add), "{:?}", pattern.roles);
        let fixed = fixed(&pattern);
        let names: Vec<_> = fixed.repairs.iter().map(|repair| &*repair.name).collect();
        assert_eq!(names, ["borrow", "revocable"]);
    }

    #[test]
    fn a_counter_beside_a_lock_is_fixed_with_it_and_one_beside_a_semaphore_is_not() {
        use Did::{Add, Lock, Read, Unlock};
        let words = [
            (word(0, &[(Lock, POOL), (Unlock, POOL)]), "lock"),
            (word(8, &[(Read, POOL)]), "settings"),
            (word(16, &[(Add, POOL)]), "served"),
        ];
        let mut words = words.map(|((word, _), name)| (word, name.to_owned()));
        words[0].0.size = 4;
        let of_lock = fixed(&of(&memory(None), &words));
        let both = &of_lock.repairs[0];
        let names: BTreeSet<_> = both.name.split(" + ").collect();
        assert_eq!(names, BTreeSet::from(["cells", "read_unlocked"]));
        assert_eq!((both.code.len(), both.bytes, both.per_thread), (4, 128, true));
        words[0].0.size = 8;
        let of_semaphore = fixed(&of(&memory(None), &words)).repairs;
        assert!(
            of_semaphore.iter().all(|repair| !repair.name.contains("unlocked")),
            "{of_semaphore:?}"
        );
    }

    #[test]
    fn a_lock_whose_holders_write_elsewhere_is_needed() {
        use Did::{Lock, Read, Unlock};
        // A map in a mutex: its root is read, and its entries are written.
        let mut lock = word(0, &[(Lock, POOL), (Unlock, POOL)]);
        lock.0.size = 4;
        let words = [lock, word(8, &[(Read, POOL)])];
        let is_offered = |written: Option<u64>| {
            let written_elsewhere = written.map(|written| [(2, written), (9, MILLION)].into());
            let pattern = of(&PatternMemory { written_elsewhere, ..memory(None) }, &words);
            pattern::repairs(&pattern).iter().any(|repair| repair.remedy == Remedy::ReadUnlocked)
        };
        assert!(is_offered(Some(0)));
        assert!(!is_offered(Some(MILLION / 2)));
        assert!(!is_offered(None), "watched: other lines are not known");
    }

    #[test]
    fn what_a_lock_guards_is_inside() {
        use Did::{Lock, Unlock, Write};
        let words = [word(0, &[(Lock, POOL), (Unlock, POOL)]), word(40, &[(Write, POOL)])];
        let pattern = of(&memory(None), &words);
        let lock = step(1.0, Operation::Lock(0, vec![step(1.0, Operation::Store(1))]));
        assert!(pattern.roles[0].steps.contains(&lock), "{:?}", pattern.roles);
    }

    #[test]
    fn elements_that_begin_within_a_line_scale_when_they_begin_at_one() {
        use Did::{Read, Write};
        // As calloc places them: 64 bytes each, 16 bytes after a line's start.
        let elements =
            Some(Elements { start: 0, stride: 64, count: 3, size: Some(192), owned: true });
        let memory = PatternMemory { line: 48, ..memory(elements) };
        let sum = |offset| word(offset, &[(Read, POOL), (Write, POOL)]);
        let pattern = of(&memory, &[sum(24), sum(56)]);
        assert_eq!(pattern.objects[0].phase, 16);
        let fixed = fixed(&pattern);
        assert_eq!((&*fixed.repairs[0].name, fixed.repairs[0].bytes), ("apart", 0));
    }

    #[test]
    fn elements_that_belong_to_threads_scale_when_they_are_apart() {
        let elements = Some(Elements { start: 0, stride: 8, count: 3, size: None, owned: true });
        let pattern = of(&memory(elements), &[word(0, &[(Did::Write, POOL)])]);
        assert_eq!(pattern.objects[0].copies, Copies::PerThread);
        let fixed = fixed(&pattern);
        assert_eq!(fixed.repairs[0].name, "apart");
        assert_ne!(fixed.best.unwrap().objects, pattern.objects);
        let forecast = fixed.forecast.unwrap();
        let last = |points: &[Point]| points.last().unwrap().per_second;
        let (before, after) = (last(&forecast.unmodified), last(&forecast.repaired[0].points));
        assert!(after > 1.5 * before, "{forecast:?}");
    }

    #[test]
    fn its_remedies_are_known_before_anything_is_simulated() {
        let elements = Some(Elements { start: 0, stride: 8, count: 3, size: None, owned: true });
        let pattern = of(&memory(elements), &[word(0, &[(Did::Write, POOL)])]);
        let names: Vec<_> = candidates(&pattern, &Target::default())
            .into_iter()
            .map(|repair| repair.name)
            .collect();
        assert_eq!(names, ["apart"]);
    }

    #[test]
    fn each_point_takes_a_bounded_number_of_accesses_and_none_begins_once_it_is_stopped() {
        use Did::Add;
        let elements = Some(Elements { start: 0, stride: 8, count: 3, size: None, owned: true });
        let pattern = of(&memory(elements), &[word(0, &[(Add, POOL)])]);
        let machine = Machine::preset("epyc-2s-256").unwrap();
        let mut simulator = Simulator::new(&machine, &|| true);
        assert!(super::fixed(&pattern, &Target::default(), &mut simulator).is_some());
        let (points, accesses) = simulator.effort();
        let most = points * crate::forecast::simulator::MAX_ACCESSES;
        assert!(points >= 2 * CPUS.len() as u64 && accesses <= most, "{accesses} in {points}");

        let asked = std::cell::Cell::new(0);
        let twice = || asked.replace(asked.get() + 1) < 2;
        let mut simulator = Simulator::new(&machine, &twice);
        assert!(super::fixed(&pattern, &Target::default(), &mut simulator).is_none());
        assert_eq!(simulator.effort().0, 2);
    }
}
