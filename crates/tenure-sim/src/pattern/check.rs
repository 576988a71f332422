//! Patterns that cannot be simulated, or not in bounded time.

use super::{Copies, Operation, Pattern, PatternAccess};
use crate::error::SimulationError;
use crate::machine::{LINE_BYTES, MAX_CPUS};
use std::collections::HashSet;

/// Limit of objects, and of words: a pattern is what a person can read.
const MAX_WORDS: usize = 1024;
const MAX_ROLES: usize = 64;
/// The most copies of an object.
const MAX_COPIES: usize = 1 << 16;
/// The largest object.
const MAX_OBJECT_BYTES: usize = 1 << 16;
/// The most accesses of an iteration.
const MAX_ACCESSES: f64 = 1e5;
/// The most of anything per iteration, and the least.
const TIMES: std::ops::RangeInclusive<f64> = 1e-6..=1e5;
/// Nanoseconds of work: from the least that the simulator knows to a second.
const WORK_NS: std::ops::RangeInclusive<f64> = 1e-3..=1e9;
/// The shortest iteration: an endless loop of nothing never ends.
const MIN_ITERATION_NS: f64 = 0.1;
/// Locks within locks.
const MAX_NESTED_LOCKS: usize = 4;
const MAX_NAME_BYTES: usize = 200;

/// The part of a pattern that a fault is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternPlace {
    Whole,
    Object(usize),
    Word(usize),
    Role(usize),
    /// A role and its step, the outermost one.
    Step(usize, usize),
}

#[derive(Debug)]
pub(super) struct PatternFault {
    pub(super) place: PatternPlace,
    pub(super) what: String,
}

/// What an iteration costs at least, without any contention.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Effort {
    pub(super) accesses: f64,
    pub(super) ns: f64,
}

impl Pattern {
    /// Finds out whether the pattern can be simulated.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in one line.
    pub fn check(&self) -> Result<(), SimulationError> {
        self.faults().map_err(|fault| SimulationError::Pattern { line: None, what: fault.what })
    }

    pub(super) fn faults(&self) -> Result<(), PatternFault> {
        let whole = |what: String| Err(PatternFault { place: PatternPlace::Whole, what });
        if self.name.is_empty() || self.name.len() > MAX_NAME_BYTES {
            return whole(format!("its name has 1 to {MAX_NAME_BYTES} bytes"));
        }
        for (what, count, most) in [
            ("objects", self.objects.len(), MAX_WORDS),
            ("words", self.words.len(), MAX_WORDS),
            ("roles", self.roles.len(), MAX_ROLES),
        ] {
            if count == 0 || count > most {
                return whole(format!("it has {count} {what}; it can have 1 to {most}"));
            }
        }
        self.check_names()?;
        self.check_objects()?;
        self.check_words()?;
        self.check_roles()
    }

    fn check_names(&self) -> Result<(), PatternFault> {
        let objects =
            self.objects.iter().enumerate().map(|(at, it)| (PatternPlace::Object(at), &it.name));
        let words =
            self.words.iter().enumerate().map(|(at, it)| (PatternPlace::Word(at), &it.name));
        let roles =
            self.roles.iter().enumerate().map(|(at, it)| (PatternPlace::Role(at), &it.name));
        let mut seen = HashSet::new();
        for (place, name) in objects.chain(words).chain(roles) {
            if name.is_empty() || name.len() > MAX_NAME_BYTES {
                return Err(PatternFault {
                    place,
                    what: format!("a name has 1 to {MAX_NAME_BYTES} bytes"),
                });
            }
            if !seen.insert((std::mem::discriminant(&place), name)) {
                return Err(PatternFault { place, what: format!("there is another '{name}'") });
            }
        }
        Ok(())
    }

    fn check_objects(&self) -> Result<(), PatternFault> {
        for (at, object) in self.objects.iter().enumerate() {
            let wrong = |what: String| Err(PatternFault { place: PatternPlace::Object(at), what });
            let name = &object.name;
            if object.phase >= LINE_BYTES {
                return wrong(format!(
                    "object '{name}' has a phase of {} bytes; it must be 0 to {}",
                    object.phase,
                    LINE_BYTES - 1
                ));
            }
            match object.copies {
                Copies::Once if object.stride != 0 => {
                    return wrong(format!("object '{name}' exists once and needs no stride"));
                }
                Copies::Random(0) | Copies::InTurn(0) => {
                    return wrong(format!("object '{name}' has no copies; it needs at least 1"));
                }
                Copies::Random(copies) | Copies::InTurn(copies) if copies > MAX_COPIES => {
                    return wrong(format!(
                        "object '{name}' has {copies} copies; it can have 1 to {MAX_COPIES}"
                    ));
                }
                Copies::PerThread | Copies::Random(_) | Copies::InTurn(_)
                    if !(1..=MAX_OBJECT_BYTES).contains(&object.stride) =>
                {
                    return wrong(format!(
                        "object '{name}' has copies {} bytes from each other; say a stride of 1 to {MAX_OBJECT_BYTES}",
                        object.stride
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_words(&self) -> Result<(), PatternFault> {
        for (at, word) in self.words.iter().enumerate() {
            let wrong = |what: String| Err(PatternFault { place: PatternPlace::Word(at), what });
            let name = &word.name;
            let Some(object) = self.objects.get(word.object) else {
                return wrong(format!(
                    "word '{name}' is of object {}, which does not exist",
                    word.object
                ));
            };
            if !(1..=64).contains(&word.bytes) {
                return wrong(format!(
                    "word '{name}' has {} bytes; it can have 1 to 64",
                    word.bytes
                ));
            }
            let most = if object.stride == 0 { MAX_OBJECT_BYTES } else { object.stride };
            if word.offset.saturating_add(word.bytes) > most {
                return wrong(format!(
                    "word '{name}' ends beyond byte {most}, where object '{}' ends",
                    object.name
                ));
            }
        }
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by_key(|&at| (self.words[at].object, self.words[at].offset));
        for pair in order.windows(2) {
            let (one, other) = (&self.words[pair[0]], &self.words[pair[1]]);
            if one.object == other.object && one.offset + one.bytes > other.offset {
                let what = format!("words '{}' and '{}' overlap", one.name, other.name);
                return Err(PatternFault { place: PatternPlace::Word(pair[0].max(pair[1])), what });
            }
        }
        Ok(())
    }

    fn check_roles(&self) -> Result<(), PatternFault> {
        for (at, role) in self.roles.iter().enumerate() {
            let wrong = |what: String| Err(PatternFault { place: PatternPlace::Role(at), what });
            let name = &role.name;
            if role.share as usize > MAX_CPUS {
                return wrong(format!(
                    "role '{name}' has {} shares; it can have 1 to {MAX_CPUS}",
                    role.share
                ));
            }
            for (step, access) in role.steps.iter().enumerate() {
                self.check_step(access, &mut Vec::new())
                    .map_err(|what| PatternFault { place: PatternPlace::Step(at, step), what })?;
            }
            let effort = self.effort(&role.steps, 1.0, 1.0);
            if effort.accesses > MAX_ACCESSES {
                return wrong(format!(
                    "role '{name}' does {:.0} accesses per iteration; it can do {MAX_ACCESSES}",
                    effort.accesses
                ));
            }
            if effort.ns < MIN_ITERATION_NS {
                return wrong(format!(
                    "role '{name}' does nothing in most iterations; add a step of work"
                ));
            }
            if effort.ns > *WORK_NS.end() {
                return wrong(format!("an iteration of role '{name}' takes more than a second"));
            }
        }
        Ok(())
    }

    fn check_step(&self, access: &PatternAccess, locked: &mut Vec<usize>) -> Result<(), String> {
        if !TIMES.contains(&access.times) {
            let PatternAccess { times, .. } = access;
            return Err(format!(
                "a step is done {times:e} times per iteration; it can be {:e} to {:e}",
                TIMES.start(),
                TIMES.end()
            ));
        }
        if let Operation::Work(ns) = access.operation
            && !WORK_NS.contains(&ns)
        {
            return Err(format!(
                "work takes {ns:e} ns; it can take {:e} to {:e}",
                WORK_NS.start(),
                WORK_NS.end()
            ));
        }
        let Some(word) = access.operation.word() else { return Ok(()) };
        let Some(named) = self.words.get(word) else {
            return Err(format!("a step uses word {word}, which does not exist"));
        };
        if let Operation::Lock(..) = access.operation {
            if locked.contains(&word) {
                return Err(format!("lock '{}' is locked while it is held", named.name));
            }
            if locked.len() == MAX_NESTED_LOCKS {
                return Err(format!("more than {MAX_NESTED_LOCKS} locks are held at once"));
            }
            locked.push(word);
            access.operation.inside().iter().try_for_each(|it| self.check_step(it, locked))?;
            locked.pop();
        }
        Ok(())
    }

    /// An iteration of `steps` where a load or store takes `hit` nanoseconds and a read-modify-write `rmw`.
    pub(super) fn effort(&self, steps: &[PatternAccess], hit: f64, rmw: f64) -> Effort {
        steps.iter().fold(Effort::default(), |sum, access| {
            let (accesses, ns) = match &access.operation {
                Operation::Work(ns) => (0.0, *ns),
                Operation::Load(_) | Operation::Store(_) => (1.0, hit),
                Operation::Add(_) => (1.0, rmw),
                Operation::CompareExchange(_) => (2.0, hit + rmw),
                Operation::LoadAll(word) => {
                    let copies = self.most_copies(*word) as f64;
                    // One, of a machine of one CPU, for the time.
                    (copies, hit)
                }
                Operation::Lock(_, inside) => {
                    let inside = self.effort(inside, hit, rmw);
                    (2.0 + inside.accesses, 2.0 * rmw + inside.ns)
                }
            };
            Effort {
                accesses: sum.accesses + access.times * accesses,
                ns: sum.ns + access.times * ns,
            }
        })
    }

    fn most_copies(&self, word: usize) -> usize {
        match self.objects[self.words[word].object].copies {
            Copies::Once => 1,
            Copies::PerThread => MAX_CPUS,
            Copies::Random(copies) | Copies::InTurn(copies) => copies,
        }
    }
}
