//! Threads in groups of one name: what they did to a word, and how long they worked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tenure_model::recording::{Line, Process, Thread, UseCallers};
use tenure_model::{Access, Code, Use};

use super::names::ProcessNames;
use crate::lines;

/// Threads by what a reader calls them.
pub(crate) struct Groups<'a> {
    threads: BTreeMap<u32, (String, Cow<'a, Thread>)>,
    /// Accesses to contended lines of each thread.
    contended: BTreeMap<u32, u64>,
    access_ns: f64,
}

impl<'a> Groups<'a> {
    pub(crate) fn of(process: &'a Process, names: &ProcessNames<'_>) -> Self {
        let mut contended = BTreeMap::new();
        for entry in process.lines.iter().flat_map(|line| &line.entries) {
            *contended.entry(entry.thread).or_default() += entry.count;
        }
        let first = process.threads.first();
        let name = |thread: &'a Thread| {
            let own =
                thread.name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_#: ".contains(c));
            let is_own = first.is_some_and(|first| thread.name != first.name);
            let name = match thread.id {
                1 => "main".to_owned(),
                _ if is_own && !own.is_empty() => own.to_owned(),
                _ => names.function(thread.routine).unwrap_or_else(|| "thread".to_owned()),
            };
            (thread.id, (name, Cow::Borrowed(thread)))
        };
        let threads = process.threads.iter().map(name).collect();
        Self { threads, contended, access_ns: process.access_ns }
    }

    pub(crate) fn name(&self, thread: u32) -> &str {
        self.threads.get(&thread).map_or("thread", |(name, _)| name)
    }

    /// Whether no other thread has its name.
    pub(crate) fn is_single(&self, thread: u32) -> bool {
        let name = self.name(thread);
        self.threads.values().filter(|(other, _)| other == name).count() == 1
    }

    /// The same, for when the recording is gone.
    pub(crate) fn into_owned(self) -> Groups<'static> {
        let own = |(id, (name, thread)): (u32, (String, Cow<'_, Thread>))| {
            (id, (name, Cow::Owned(thread.into_owned())))
        };
        Groups {
            threads: self.threads.into_iter().map(own).collect(),
            contended: self.contended,
            access_ns: self.access_ns,
        }
    }

    fn thread(&self, thread: u32) -> Option<&Thread> {
        self.threads.get(&thread).map(|(_, thread)| &**thread)
    }

    /// Nanoseconds that a thread would have run if no line had been contended, and nothing been recorded.
    pub(crate) fn worked(&self, thread: u32) -> f64 {
        let Some(thread) = self.thread(thread) else { return 0.0 };
        let contended = self.contended.get(&thread.id).copied().unwrap_or(0);
        let others = thread.accesses.saturating_sub(contended);
        let least = Thread::least(others);
        // What it took to record those to contended lines is a part of what was waited.
        let recorded = thread.recorded(others, self.access_ns);
        let ran = (thread.cpu as f64 - recorded).max(least);
        let waited = thread.waited as f64;
        let between = (thread.between as f64 - recorded).clamp(least, ran);
        if between + waited > ran {
            // Each was timed with nothing else under way. A core does some of both at once.
            return (between * ran / (between + waited)).max(least);
        }
        // As long as a thread may have slept, what is left of its processor time says whether it has.
        let left = ran - waited - between;
        // It does not work while other threads have its CPU.
        let long = thread.long_between.saturating_sub(thread.delayed) as f64;
        if thread.between == 0 && thread.long_between == 0 {
            ran - waited
        } else {
            between + left.min(long)
        }
    }

    /// How much of the time that a thread ran and did not wait for lines was work. The rest was recording.
    pub(crate) fn work_part(&self, thread: u32) -> f64 {
        let busy = self.thread(thread).map_or(0, |it| it.cpu.saturating_sub(it.waited));
        if busy > 0 { (self.worked(thread) / busy as f64).min(1.0) } else { 1.0 }
    }

    /// The thread on whose stack a line lies: of several that had the same stack one after the other, the last one
    /// that used the line, or else the last.
    pub(crate) fn owner_of_stack(&self, line: &Line) -> Option<&str> {
        let owners =
            self.threads.values().filter(|(_, thread)| thread.stack.contains(&line.address));
        let uses = |id: u32| line.entries.iter().any(|entry| entry.thread == id);
        let (name, _) = owners.max_by_key(|(_, thread)| (uses(thread.id), thread.id))?;
        Some(name)
    }

    /// What is done to a word, by group of threads, operation and line of code: the most frequent first.
    pub(crate) fn uses(&self, word: &lines::UsedWord, names: &ProcessNames<'_>) -> Vec<Use> {
        type Key = (String, Access, Option<(String, Option<String>)>);
        let mut all: BTreeMap<Key, MergedUse> = BTreeMap::new();
        for use_ in word.uses.iter().filter(|use_| is_reported(use_.access)) {
            let code = names.code(use_.code);
            let mut called: BTreeMap<UseCallers, Vec<Code>> = BTreeMap::new();
            for (&thread, &count) in &use_.threads {
                let line = code.clone().map(|code| (code.function, code.line));
                let key = (self.name(thread).to_owned(), use_.access, line);
                let first = || MergedUse { code: code.clone(), ..MergedUse::default() };
                let merged = all.entry(key).or_insert_with(first);
                *merged.threads.entry(thread).or_default() += count;
                for (from, count) in use_.callers_of(thread) {
                    let callers = called.entry(from);
                    let callers = callers.or_insert_with(|| names.callers(use_.code, from));
                    merged.add_callers(callers, count);
                    merged.is_unwound |= from != UseCallers::default();
                }
            }
        }
        let mut uses: Vec<_> = all
            .into_iter()
            .map(|((threads, operation, _), merged)| {
                let counts = &merged.threads;
                let seconds: f64 = counts.keys().map(|&thread| self.seconds(thread)).sum();
                Use {
                    threads,
                    count: counts.len() as u64,
                    ids: counts.keys().map(|&thread| thread.into()).collect(),
                    operation,
                    per_second: counts.values().sum::<u64>() as f64 / seconds,
                    code: merged.code.clone(),
                    callers: merged.main_callers(),
                }
            })
            .collect();
        uses.sort_by(|one, other| {
            let rate = |use_: &Use| use_.per_second * use_.count as f64;
            rate(other).total_cmp(&rate(one))
        });
        uses
    }

    fn seconds(&self, thread: u32) -> f64 {
        // A thread that has lived for less was seen too late.
        self.thread(thread).map_or(1.0, |thread| (thread.lived as f64 / 1e9).max(1e-3))
    }
}

/// What threads of one name do by several instructions of one line of code.
#[derive(Default)]
struct MergedUse {
    code: Option<Code>,
    /// How often each thread does it.
    threads: BTreeMap<u32, u64>,
    /// How often it is done for each list of callers: the line may be inlined into many functions, and its function be called from
    /// many.
    callers: Vec<(Vec<Code>, u64)>,
    /// Whether some of them were found on the stack.
    is_unwound: bool,
}

impl MergedUse {
    fn add_callers(&mut self, callers: &[Code], count: u64) {
        match self.callers.iter_mut().find(|(known, _)| known == callers) {
            Some((_, sum)) => *sum += count,
            None => self.callers.push((callers.to_vec(), count)),
        }
    }

    /// The callers, as far as it is mostly done for the same functions: of each the line that is seen most. Of code that is only
    /// inlined, those for which it is done most.
    fn main_callers(mut self) -> Vec<Code> {
        /// The least part of the uses that has one caller. If two have half each, either would seem to be the only one.
        const MAIN: f64 = 0.6;
        let part = if self.is_unwound { MAIN } else { 0.0 };
        self.callers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut main: Vec<Code> = Vec::new();
        loop {
            let mut of = 0;
            let mut next: Vec<(&Code, u64)> = Vec::new();
            let is_below = |it: &[Code]| {
                it.len() >= main.len()
                    && it.iter().zip(&main).all(|(one, other)| is_same_function(one, other))
            };
            for (callers, count) in self.callers.iter().filter(|(it, _)| is_below(it)) {
                of += count;
                let Some(caller) = callers.get(main.len()) else { continue };
                match next.iter_mut().find(|(known, _)| is_same_function(known, caller)) {
                    Some((_, sum)) => *sum += count,
                    None => next.push((caller, *count)),
                }
            }
            match next.into_iter().max_by_key(|(_, count)| *count) {
                Some((caller, count)) if count as f64 >= part * of as f64 => {
                    main.push(caller.clone());
                }
                _ => return main,
            }
        }
    }
}

/// Whether two places are of one function, which may call from several lines.
fn is_same_function(one: &Code, other: &Code) -> bool {
    let file = |code: &Code| {
        code.line.as_deref().and_then(|line| Some(line.rsplit_once(':')?.0.to_owned()))
    };
    one.function == other.function && file(one) == file(other)
}

/// Not what belongs to another access: a lock that is given back, a compare-exchange that failed.
pub(crate) fn is_reported(access: Access) -> bool {
    !matches!(access, Access::Failed | Access::Unlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::entry;
    use crate::naming::names::Programs;
    use tenure_debuginfo::program::Frame;
    use tenure_model::recording::{Entry, Module};

    /// The callers that a use is shown with: of a function that is inlined or called. (address, its functions) and what
    /// is done by (code, return addresses, count).
    fn shown_callers(frames: &[(u64, &[&str])], uses: &[(u64, UseCallers, u64)]) -> Vec<String> {
        let frame = |function: &&str| Frame {
            function: (*function).to_owned(),
            file: Some("src/main.rs".to_owned()),
            line: 1,
        };
        let frames = frames.iter().map(|(at, all)| (*at, all.iter().map(frame).collect()));
        let programs = Programs::with_frames("a", frames);
        let modules = [Module { path: "a".to_owned(), start: 0, end: 99, bias: 0 }];
        let names = ProcessNames::new(&modules, &[], &programs);
        let process = Process::default();
        let entries = uses.iter().map(|&(code, callers, count)| Entry {
            callers,
            count,
            ..entry((1, 0, Access::Add, code))
        });
        let line = Line { entries: entries.collect(), ..lines::tests::line(0, None, &[]) };
        let found = lines::contended(&lines::tests::process(vec![line]));
        let uses = Groups::of(&process, &names).uses(&found[0].words[0], &names);
        let [only] = &uses[..] else { panic!("{uses:?}") };
        assert_eq!(only.code.as_ref().unwrap().function, "add");
        only.callers.iter().map(|code| code.function.clone()).collect()
    }

    #[test]
    fn a_use_by_several_instructions_has_the_callers_for_which_it_is_done_most() {
        // The loop of one caller is unrolled.
        let frames: [(u64, &[&str]); 3] =
            [(1, &["add", "once"]), (2, &["add", "often"]), (3, &["add", "often"])];
        let uses = |once, often| [(1, [0; 2], once), (2, [0; 2], often), (3, [0; 2], often)];
        assert_eq!(shown_callers(&frames, &uses(50, 40)), ["often"]);
        assert_eq!(shown_callers(&frames, &uses(80, 41)), ["often"], "by little");
    }

    #[test]
    fn a_function_that_is_called_has_the_callers_that_call_it_most() {
        let frames: [(u64, &[&str]); 5] = [
            (1, &["add"]),
            (10, &["seldom"]),
            (20, &["often"]),
            (30, &["serve", "main"]),
            (40, &["admin"]),
        ];
        for (about, uses, expected) in [
            ("nine of ten", &[([10, 30], 1), ([20, 30], 9)][..], &["often", "serve"][..]),
            ("the first call is inlined into another", &[([30, 20], 9)], &["serve", "main"]),
            ("its caller is called from two", &[([20, 30], 5), ([20, 40], 5)], &["often"]),
            ("two callers alike", &[([10, 30], 11), ([20, 30], 10)], &[]),
            ("most stacks are not known", &[([0, 0], 5), ([20, 30], 5)], &[]),
            ("a caller without one", &[([20, 0], 9), ([20, 30], 1)], &["often"]),
            ("no caller of the program", &[([0, 0], 9)], &[]),
        ] {
            let uses: Vec<_> = uses.iter().map(|(from, count)| (1, *from, *count)).collect();
            assert_eq!(shown_callers(&frames, &uses), expected, "{about}");
        }
        // What it is inlined into comes first.
        let frames: [(u64, &[&str]); 2] = [(1, &["add", "push"]), (20, &["often", "serve"])];
        assert_eq!(shown_callers(&frames, &[(1, [20, 0], 9)]), ["push", "often"]);
    }

    #[test]
    fn work_is_what_lies_between_accesses_and_of_long_times_what_is_left_of_the_processors() {
        // Accesses take 2 ns to record, a quarter of it in the program; 1,000 of the 11,000 are to contended lines.
        for (cpu, waited, between, [long_between, delayed], recording, expected) in [
            // Between them were 100 µs of work, and 20 µs to record the others.
            (900_000, 300_000, 120_000, [0, 0], 0, 100_000.0),
            // 10,000 accesses to own memory take 3 µs at least.
            (900_000, 300_000, 10_000, [0, 0], 0, 3_000.0),
            // A thread does no more than it runs.
            (90_000, 0, 400_000, [0, 0], 0, 70_000.0),
            // A core has waited and worked at once.
            (240_000, 300_000, 120_000, [0, 0], 0, 55_000.0),
            // In the longer times it has slept, ...
            (420_000, 300_000, 120_000, [9_000_000, 0], 0, 100_000.0),
            // ... has worked all the time, ...
            (920_000, 300_000, 120_000, [500_000, 0], 0, 600_000.0),
            // ... or has done either.
            (720_000, 300_000, 120_000, [9_000_000, 0], 0, 400_000.0),
            // ... or another thread has had its CPU.
            (720_000, 300_000, 120_000, [9_000_000, 8_800_000], 0, 300_000.0),
            // It has done too few accesses to know.
            (920_000, 300_000, 0, [0, 0], 0, 600_000.0),
            // To record allocations took 40 µs.
            (900_000, 300_000, 120_000, [0, 0], 40_000, 60_000.0),
        ] {
            let thread = Thread {
                id: 1,
                accesses: 11_000,
                cpu,
                waited,
                between,
                long_between,
                delayed,
                recording,
                ..Thread::default()
            };
            let entry = Entry { count: 1000, ..entry((1, 0, Access::Add, 0)) };
            let line = Line { entries: vec![entry], ..Line::default() };
            let process = Process {
                threads: vec![thread],
                lines: vec![line],
                access_ns: 1.5,
                ..Process::default()
            };
            let programs = Programs::default();
            let groups = Groups::of(&process, &ProcessNames::new(&[], &[], &programs));
            assert_eq!(groups.worked(1), expected, "{:?}", process.threads);
            let part = (expected / (cpu - waited.min(cpu)) as f64).min(1.0);
            assert_eq!(groups.work_part(1), part, "{:?}", process.threads);
        }
    }

    #[test]
    fn a_line_on_a_stack_has_the_last_thread_of_that_stack_that_used_it() {
        let thread = |id: u32, name: &str, stack| Thread {
            id,
            name: name.to_owned(),
            stack,
            ..Thread::default()
        };
        let threads = vec![
            thread(1, "server", 0x9000..0xa000),
            thread(2, "first", 0x1000..0x2000),
            thread(3, "second", 0x1000..0x2000),
            thread(4, "third", 0x1000..0x2000),
            thread(5, "unknown", 0..0),
        ];
        let process = Process { threads, ..Process::default() };
        let programs = Programs::default();
        let groups = Groups::of(&process, &ProcessNames::new(&[], &[], &programs));
        let used = |address, threads: &[u32]| {
            let entries =
                threads.iter().map(|thread| entry((*thread, 0, Access::Write, 0))).collect();
            let line = Line { address, entries, ..Line::default() };
            groups.owner_of_stack(&line).map(str::to_owned)
        };
        assert_eq!(used(0x9fc0, &[2, 3]).as_deref(), Some("main"));
        assert_eq!(used(0x1fc0, &[1, 2, 3]).as_deref(), Some("second"));
        assert_eq!(used(0x1fc0, &[1]).as_deref(), Some("third"));
        assert_eq!(used(0x5000, &[1, 2]), None);
    }
}
