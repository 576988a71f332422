//! The whole program as one access pattern: what its contended lines cost together, and what fixing them would give.

use std::collections::BTreeMap;

use tenure_advise::repair;
use tenure_model::{Curve, Finding, Forecast, Point, Target};
use tenure_sim::pattern::{Operation, Pattern, PatternAccess, PatternRole};

use super::pattern::{self, RecordedPattern};
use super::simulator::Simulator;
use super::steps;
use crate::answer::ProgramGains;
use crate::naming::threads::Groups;

const CPUS: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];

/// Threads with less than this part of the most have no role. Each role takes a CPU, and there may be two.
const SIGNIFICANT: f64 = 0.01;
const MAX_ROLES: usize = 8;

/// A finding, as far as it can be simulated.
pub(crate) struct FindingPart {
    pub(crate) rank: u64,
    pub(crate) recorded: RecordedPattern,
    /// The place in the source that its repairs change.
    pub(crate) target: Target,
    /// Whether it is of the process that is simulated: processes do not share their lines.
    pub(crate) is_of_program: bool,
    /// Its pattern with the best repair.
    pub(crate) fixed: Option<Pattern>,
}

impl FindingPart {
    /// The part of a finding, which gets the repairs that apply; `is_of_program` if its process is the one that is simulated.
    pub(crate) fn of(
        finding: &mut Finding,
        recorded: RecordedPattern,
        is_of_program: bool,
        line_bytes: u32,
    ) -> Self {
        let target = repair::target(finding, line_bytes.into());
        finding.repairs = pattern::candidates(&recorded.pattern, &target);
        finding.pattern = Some(recorded.pattern.to_toml());
        Self { rank: finding.rank, recorded, target, is_of_program, fixed: None }
    }

    fn pattern(&self, fixed: bool) -> &Pattern {
        self.fixed.as_ref().filter(|_| fixed).unwrap_or(&self.recorded.pattern)
    }
}

/// Threads that have the same roles in all findings.
struct ThreadClass {
    name: String,
    threads: Vec<u32>,
    /// The role in each finding, if the threads have one.
    roles: Vec<Option<usize>>,
}

/// The pattern of all findings together, the worst first, with those `fixed` that have a repair; `None` if it cannot be
/// simulated.
pub(crate) fn pattern(
    parts: &[&FindingPart],
    fixed: &[usize],
    groups: &Groups<'_>,
) -> Option<Pattern> {
    let mut whole = Pattern::new("program");
    whole.about =
        "All contended lines together; each name begins with its finding's rank".to_owned();
    // Where each finding's words begin among all words.
    let mut firsts = Vec::new();
    let mut patterns = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let pattern = part.pattern(fixed.contains(&at));
        let objects = whole.objects.len();
        firsts.push(whole.words.len());
        for object in &pattern.objects {
            let mut object = object.clone();
            object.name = format!("{}: {}", part.rank, object.name);
            whole.object(object);
        }
        for word in &pattern.words {
            let name = format!("{}: {}", part.rank, word.name);
            let at = whole.word(objects + word.object, name, word.offset, word.bytes);
            whole.words[at].value = word.value;
        }
        patterns.push(pattern);
    }
    let classes = classes(parts, groups);
    let are_alike = classes.len() == 1 || classes.iter().any(|class| class.threads.len() > 1);
    for class in classes {
        let members = || {
            let roles = class.roles.iter().enumerate();
            roles.filter_map(|(part, role)| Some((part, (*role)?)))
        };
        let did = |part: usize, role: usize| &parts[part].recorded.members[role];
        let most = members().map(|(part, role)| did(part, role).iterations).fold(0.0, f64::max);
        let mut role = PatternRole::pool(class.name);
        role.share = pattern::share(&class.threads, groups, are_alike);
        let work = pattern::worked(&class.threads, groups) / most;
        let findings = members().map(|(part, its)| {
            let steps = patterns[part].roles[its].steps.iter();
            let moved = steps.map(|step| PatternAccess {
                times: step.times,
                operation: moved(&step.operation, firsts[part]),
            });
            (did(part, its).iterations / most, moved.collect())
        });
        role.steps = steps::together(work, findings);
        whole.role(role);
    }
    whole.check().is_ok().then_some(whole)
}

/// The program's predicted throughput by number of CPUs: unmodified, with the change that gives most, and with all that pay.
pub(crate) fn forecast(
    parts: &[&FindingPart],
    groups: &Groups<'_>,
    gains: &ProgramGains,
    simulator: &mut Simulator<'_>,
) -> Option<Forecast> {
    let mut points = |fixed: &[usize]| -> Option<Vec<Point>> {
        Some(simulator.points(&pattern(parts, fixed, groups)?, &CPUS))
    };
    let unmodified = points(&[]).filter(|points| !points.is_empty())?;
    let paying: Vec<_> = gains.changes.iter().filter(|of| of.pays()).collect();
    let best = paying.first().map_or(0, |of| of.rank);
    let paying: Vec<usize> =
        paying.iter().filter_map(|of| parts.iter().position(|part| part.rank == of.rank)).collect();
    let mut repaired = Vec::new();
    for (fixed, name) in
        [(1, format!("change {best}")), (paying.len(), format!("all {} changes", paying.len()))]
    {
        if fixed <= paying.len() && fixed > repaired.len() {
            repaired.push(Curve { name, points: points(&paying[..fixed])? });
        }
    }
    Some(Forecast { machine: simulator.machine().to_owned(), unmodified, repaired })
}

fn classes(parts: &[&FindingPart], groups: &Groups<'_>) -> Vec<ThreadClass> {
    let mut roles: BTreeMap<u32, (Vec<Option<usize>>, f64)> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        for (role, members) in part.recorded.members.iter().enumerate() {
            for thread in &members.threads {
                let (its, accesses) =
                    roles.entry(*thread).or_insert_with(|| (vec![None; parts.len()], 0.0));
                its[at] = Some(role);
                *accesses += members.accesses;
            }
        }
    }
    let most = roles.values().map(|(_, accesses)| *accesses).fold(0.0, f64::max);
    roles.retain(|_, (_, accesses)| *accesses >= SIGNIFICANT * most);
    /// A name, and the roles.
    type Key<'a> = (&'a str, Vec<Option<usize>>);
    let mut classes: BTreeMap<Key<'_>, (Vec<u32>, f64)> = BTreeMap::new();
    for (thread, (its, accesses)) in roles {
        let (threads, sum) = classes.entry((groups.name(thread), its)).or_default();
        threads.push(thread);
        *sum += accesses;
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
    classes.truncate(MAX_ROLES);
    let mut classes: Vec<_> = classes
        .into_iter()
        .map(|((name, roles), (threads, _))| ThreadClass { name: name.to_owned(), threads, roles })
        .collect();
    pattern::tell_apart(classes.iter_mut().map(|class| &mut class.name));
    classes
}

/// The operation, on words that come after so many others.
fn moved(operation: &Operation, first: usize) -> Operation {
    match *operation {
        Operation::Work(nanoseconds) => Operation::Work(nanoseconds),
        Operation::Load(word) => Operation::Load(first + word),
        Operation::LoadAll(word) => Operation::LoadAll(first + word),
        Operation::Store(word) => Operation::Store(first + word),
        Operation::Add(word) => Operation::Add(first + word),
        Operation::CompareExchange(word) => Operation::CompareExchange(first + word),
        Operation::Lock(word, ref inside) => {
            let inside = inside.iter().map(|step| PatternAccess {
                times: step.times,
                operation: moved(&step.operation, first),
            });
            Operation::Lock(first + word, inside.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_sim::Machine;
    use tenure_sim::pattern::{Copies, PatternObject};

    use super::*;
    use crate::answer::ChangeGain;
    use crate::forecast::gains::gains;
    use crate::forecast::pattern::RoleMembers;
    use crate::naming::names::{ProcessNames, Programs};
    use tenure_model::recording::{Process, Thread};

    fn step(times: f64, operation: Operation) -> PatternAccess {
        PatternAccess { times, operation }
    }

    fn pattern(parts: &[FindingPart], fixed: &[usize], groups: &Groups<'_>) -> Option<Pattern> {
        super::pattern(&parts.iter().collect::<Vec<_>>(), fixed, groups)
    }

    fn forecast(parts: &[FindingPart], groups: &Groups<'_>) -> (ProgramGains, Forecast) {
        let machine = Machine::preset(crate::forecast::MACHINE).unwrap();
        let mut simulator = Simulator::new(&machine, &|| true);
        let parts = parts.iter().collect::<Vec<_>>();
        let gains = gains(&parts, groups, None, &mut simulator).unwrap();
        let forecast = super::forecast(&parts, groups, &gains, &mut simulator).unwrap();
        (gains, forecast)
    }

    /// A counter to which these threads have added so often, fixed by a counter for each.
    fn counter(rank: u64, threads: &[u32], iterations: f64) -> FindingPart {
        let of = |object: PatternObject| {
            let mut pattern = Pattern::new("counter");
            let object = pattern.object(object);
            let word = pattern.word(object, "count", 0, 8);
            let role = PatternRole::pool("thread").does(1.0, Operation::Work(1000.0));
            pattern.role(role.does(1.0, Operation::Add(word)));
            pattern
        };
        let members = RoleMembers { threads: threads.to_vec(), iterations, accesses: iterations };
        FindingPart {
            rank,
            recorded: RecordedPattern {
                pattern: of(PatternObject::once("one")),
                members: vec![members],
            },
            target: Target::default(),
            is_of_program: true,
            fixed: Some(of(PatternObject::several("own", Copies::PerThread, 64))),
        }
    }

    /// Four workers and a reloader beside the first thread, which have run for so long.
    fn check(milliseconds: u64, check: impl FnOnce(&Groups<'_>)) {
        let thread = |id| Thread {
            id,
            name: if id == 6 { "reloader" } else { "worker" }.to_owned(),
            accesses: 10_000_000,
            cpu: milliseconds * 1_000_000,
            waited: 50_000_000,
            ..Thread::default()
        };
        let mut threads: Vec<_> = (1..=6).map(thread).collect();
        threads[0].name = "server".to_owned();
        let process = Process { threads, access_ns: 1.5, ..Process::default() };
        let programs = Programs::default();
        check(&Groups::of(&process, &ProcessNames::new(&[], &[], &programs)));
    }

    #[test]
    fn threads_with_the_same_roles_in_all_findings_are_one_role() {
        let parts = [
            counter(1, &[2, 3, 4, 5, 6], 1e6),
            counter(2, &[2, 3], 0.5e6),
            // Too little to matter.
            counter(3, &[1], 1e3),
        ];
        check(100, |groups| {
            let pattern = pattern(&parts, &[], groups).unwrap();
            let roles = pattern.roles.iter().map(|role| (&*role.name, role.share));
            assert_eq!(
                roles.collect::<Vec<_>>(),
                [("worker", 2), ("worker 2", 2), ("reloader", 0)]
            );
            let [work, first, second] = &pattern.roles[0].steps[..] else { panic!("{pattern:?}") };
            // 100 ms, less 50 ms for contended lines, less 2 ns for each of 10 M accesses: 30 ms.
            assert_eq!(*work, step(1.0, Operation::Work(30.0)));
            assert_eq!(*first, step(1.0, Operation::Add(0)));
            assert_eq!(*second, step(0.5, Operation::Add(1)));
            assert_eq!(pattern.words[1].name, "2: count");
        });
    }

    #[test]
    fn threads_of_which_no_two_do_the_same_are_as_many_on_more_cpus() {
        let parts = [counter(1, &[2], 1e6), counter(2, &[3], 1e6)];
        check(100, |groups| {
            let pattern = pattern(&parts, &[], groups).unwrap();
            let shares = pattern.roles.iter().map(|role| role.share);
            assert_eq!(shares.collect::<Vec<_>>(), [0, 0]);
        });
    }

    #[test]
    fn where_the_roles_need_more_cpus_than_there_are_here_more_cpus_are_predicted() {
        let parts = [counter(1, &[2, 3, 4, 5, 6], 1e6), counter(2, &[2, 3], 0.5e6)];
        check(100, |groups| {
            let machine = Machine::preset(crate::forecast::MACHINE).unwrap();
            let mut simulator = Simulator::new(&machine, &|| true);
            let parts = parts.iter().collect::<Vec<_>>();
            let three_roles = super::pattern(&parts, &[], groups).unwrap();
            assert_eq!(three_roles.least_cpus(), 3);
            let gains = gains(&parts, groups, Some(2), &mut simulator).unwrap();
            let cpus = |of: &ChangeGain| of.gains.iter().map(|it| it.cpus).collect::<Vec<_>>();
            assert!(gains.changes.iter().all(|of| cpus(of) == [16]), "{gains:?}");
        });
    }

    #[test]
    fn of_equal_lines_each_change_moves_the_load_to_another_and_all_together_pay() {
        let workers = &[2, 3, 4, 5];
        let parts = [1, 2, 3, 4].map(|rank| counter(rank, workers, 1e6));
        check(100, |groups| {
            let (gains, forecast) = forecast(&parts, groups);
            let [least, most] = gains.together[0].range;
            assert!(3.0 < least && least <= most, "{gains:?}");
            for of in &gains.changes {
                let [least, most] = of.gains[0].range;
                assert!(least <= of.expected && of.expected <= most, "{gains:?}");
                assert!(of.expected < least.max(1.5) && of.pays(), "{gains:?}");
            }
            let names: Vec<_> = forecast.repaired.iter().map(|curve| &*curve.name).collect();
            let first = format!("change {}", gains.changes[0].rank);
            assert_eq!(names, [&*first, "all 4 changes"]);
            let on_128 = |points: &[Point]| points[CPUS.len() - 1].per_second;
            let repaired: Vec<_> = forecast.repaired.iter().map(|it| on_128(&it.points)).collect();
            let unmodified = on_128(&forecast.unmodified);
            assert!(
                repaired[0] < 1.5 * unmodified && repaired[1] > 10.0 * unmodified,
                "{forecast:?}"
            );
        });
    }

    #[test]
    fn gains_are_given_for_the_cpus_that_the_program_has_and_for_sixteen() {
        let parts = [counter(1, &[2, 3, 4, 5], 1e6)];
        let machine = Machine::preset(crate::forecast::MACHINE).unwrap();
        check(100, |groups| {
            for (here, expected) in
                [(Some(2), &[2, 16][..]), (Some(16), &[16]), (Some(1), &[16]), (None, &[16])]
            {
                let mut simulator = Simulator::new(&machine, &|| true);
                let parts = parts.iter().collect::<Vec<_>>();
                let gains = gains(&parts, groups, here, &mut simulator).unwrap();
                let [of] = &gains.changes[..] else { panic!("{gains:?}") };
                let cpus: Vec<_> = of.gains.iter().map(|gain| gain.cpus).collect();
                assert_eq!(cpus, expected);
                assert!(of.gains.is_sorted_by(|few, many| few.range[0] < many.range[0]), "{of:?}");
            }
        });
    }

    #[test]
    fn a_line_that_hardly_costs_anything_is_not_worth_a_change() {
        let workers = &[2, 3, 4, 5];
        let parts = [counter(1, workers, 1e6), counter(2, workers, 1e3)];
        check(100, |groups| {
            let (gains, forecast) = forecast(&parts, groups);
            let pay: Vec<_> = gains.changes.iter().map(ChangeGain::pays).collect();
            assert_eq!((pay, gains.together), (vec![true, false], Vec::new()));
            assert_eq!(forecast.repaired.len(), 1);
        });
    }

    #[test]
    fn a_finding_without_a_repair_stays_as_it_is() {
        let workers = &[2, 3, 4, 5];
        let mut parts = [1, 2].map(|rank| counter(rank, workers, 1e6));
        parts[0].fixed = None;
        check(100, |groups| {
            let (gains, _) = forecast(&parts, groups);
            assert_eq!(gains.changes.iter().map(|of| of.rank).collect::<Vec<_>>(), [2]);
            let fixed = pattern(&parts, &[0, 1], groups).unwrap();
            let names: Vec<_> = fixed.objects.iter().map(|object| &*object.name).collect();
            assert_eq!(names, ["1: one", "2: own"]);
        });
    }
}
