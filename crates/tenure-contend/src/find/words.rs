//! The words of a finding with their names, and who does what with them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use tenure_model::{Access, Code, Role, Use, Word};
use tenure_types::code::{Block, Object, Place, Program};

use super::names::Names;
use super::value::{Known, names_a_lock};
use super::without_element;
use crate::contend::{self, Contended, Elements, Meaning};
use tenure_model::recording::{Line, Process, Thread};

/// What is known of the memory that a finding's words lie in.
pub(super) struct Named {
    /// The object of each word, in the words' order.
    places: Vec<Option<(Object, Place)>>,
    /// Of a variable: its address in the process.
    pub(super) start: Option<u64>,
    /// Of an array: where its first element lies, as [`contend::Word::offset`], and the bytes from one to the next.
    array: Option<(i64, u64)>,
}

impl Named {
    pub(super) fn new(contended: &Contended, worst: &Line, names: &Names<'_>) -> Self {
        let Some(allocation) = &worst.allocation else {
            let (mut start, mut array) = (None, None);
            let variable = |word: &contend::Word| {
                let (program, object, inside) = names.variable(word.offset.cast_unsigned())?;
                let offset = inside.checked_sub(object.address)?;
                start = start.or(Some(word.offset.cast_unsigned().wrapping_sub(offset)));
                let place = program.member(&object, offset, word.size);
                array = array.or_else(|| {
                    let (first, stride) = program.elements(&object)?;
                    Some((start?.checked_add(first)?.cast_signed(), stride))
                });
                Some((object, place))
            };
            let places = contended.words.iter().map(variable).collect();
            return Self { places, start, array };
        };
        let inside = |word: &contend::Word| {
            u64::try_from(word.offset).ok().filter(|offset| *offset < allocation.size)
        };
        let accesses: Vec<_> = contended
            .words
            .iter()
            .filter_map(|word| Some((inside(word)?, word)))
            .flat_map(|(offset, word)| {
                let size = u8::try_from(word.size).unwrap_or(u8::MAX);
                word.uses.iter().map(move |use_| (use_.code, offset, size))
            })
            .collect();
        let found: Option<(Rc<Program>, Object)> = match names.known.get(&worst.address) {
            Some(known) => Some(known.clone()),
            None => {
                let block = Block {
                    size: allocation.size,
                    stack: &allocation.stack,
                    stride: contended.elements.map(|elements| elements.stride),
                };
                let found = names.allocation(&accesses, &block);
                // What only fits a block does not name it; a pointer to a count with a value of just that size does.
                let is_count = |object: &Object| {
                    ["Arc<", "Rc<"].iter().any(|start| object.type_name.starts_with(start))
                };
                found.filter(|(_, it)| !allocation.stack.is_empty() || is_count(it))
            }
        };
        let place = |word: &contend::Word| {
            let (program, object) = found.as_ref()?;
            Some((object.clone(), program.member(object, inside(word)?, word.size)))
        };
        let mut places: Vec<_> = contended.words.iter().map(place).collect();
        let are_locks = contended.words.iter().zip(&places).all(|(word, place)| {
            let place = place.as_ref().map(|(_, place)| place);
            !is_lock_of_c(word)
                || place.is_none_or(|place| holds_lock_of_c(&place.path, &place.type_name))
        });
        let mut array = found.as_ref().and_then(|(program, object)| program.elements(object));
        if !are_locks {
            places.fill(None);
            array = None;
        }
        let array = array.map(|(start, stride)| (start.cast_signed(), stride));
        Self { places, start: None, array }
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.places.iter().flatten().map(|(object, _)| object)
    }

    pub(super) fn type_name(&self) -> String {
        self.objects().next().map(|object| object.type_name.clone()).unwrap_or_default()
    }

    pub(super) fn declared(&self) -> Option<String> {
        let declared = self.objects().find_map(|object| object.declared.as_ref())?;
        Some(format!("{}:{}", declared.file, declared.line))
    }

    pub(super) fn variable(&self) -> String {
        self.objects().find_map(|object| object.variable.clone()).unwrap_or_default()
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.objects().next().map(|object| object.size)
    }

    /// Of an array whose type is known: where its first element lies, as [`contend::Word::offset`], and the bytes from one
    /// to the next.
    pub(super) fn known_elements(&self) -> Option<(i64, u64)> {
        self.array.filter(|_| !self.is_of_several_variables())
    }

    pub(super) fn is_of_several_variables(&self) -> bool {
        self.objects().map(|object| object.address).collect::<BTreeSet<_>>().len() > 1
    }

    /// The words' elements, unless their names say that they are members.
    pub(super) fn elements(&self, contended: &Contended) -> Option<Elements> {
        let is_member = |(object, place): &(Object, Place)| {
            place.element.is_none() && !object.type_name.is_empty()
        };
        let are_members =
            self.places.iter().flatten().any(is_member) || self.is_of_several_variables();
        contended.elements.filter(|_| !are_members)
    }

    /// The array, by its variable or the type of its elements.
    pub(super) fn array(&self) -> String {
        match self.variable() {
            variable if variable.is_empty() => self.type_name(),
            variable => variable,
        }
    }

    /// What a word is, by its name and those of the functions that change it.
    pub(super) fn meaning(&self, at: usize, word: &contend::Word, names: &Names<'_>) -> Meaning {
        let functions = |wanted: &[Access]| {
            let uses = word.uses.iter().filter(|use_| wanted.contains(&use_.access));
            uses.filter_map(|use_| names.changing(use_.code)).collect()
        };
        let place = self.places[at].as_ref().map(|(_, place)| place);
        let known = Known {
            path: place.map(|place| place.path.clone()).unwrap_or_default(),
            type_name: place.map(|place| place.type_name.clone()).unwrap_or_default(),
            adding: functions(&[Access::Add]),
            exchanging: functions(&[Access::CompareExchange, Access::Exchange]),
        };
        known.meaning()
    }

    /// The path and the type of a word.
    fn word(&self, at: usize, is_element: bool) -> (String, String) {
        let Some((object, place)) = &self.places[at] else { return Default::default() };
        let path = if is_element { without_element(place) } else { place.path.clone() };
        // A distance is not a name.
        let path = if path.starts_with('+') { String::new() } else { path };
        let path = match &object.variable {
            Some(variable) if self.is_of_several_variables() && path.is_empty() => variable.clone(),
            Some(variable) if self.is_of_several_variables() && path.starts_with('[') => {
                format!("{variable}{path}")
            }
            Some(variable) if self.is_of_several_variables() => format!("{variable}.{path}"),
            _ => path,
        };
        (path, place.type_name.clone())
    }
}

/// Whether the C library's functions lock the word.
fn is_lock_of_c(word: &contend::Word) -> bool {
    word.uses.iter().any(|use_| matches!(use_.access, Access::Lock | Access::Unlock))
}

/// Whether a member can be such a lock: glibc's are structs of members such as `__data.__lock`, or a number with the name
/// of a type.
fn holds_lock_of_c(path: &str, type_name: &str) -> bool {
    path.contains("__") || type_name.contains("pthread_")
}

/// A finding with more words has those of its worst line.
const MOST_WORDS: usize = 64;

/// The words that are reported: those of one element of an array, or all.
pub(super) fn shown(
    contended: &Contended,
    named: &Named,
    worst: &Line,
    line_bytes: u32,
) -> Vec<contend::Word> {
    let folded = named.elements(contended).and(contended.folded());
    let mut words = folded.unwrap_or_else(|| contended.words.clone());
    if words.len() > MOST_WORDS && named.elements(contended).is_none() {
        let line = worst.start()..worst.start() + i64::from(line_bytes);
        words.retain(|word| line.contains(&word.offset));
    }
    words
}

/// [`shown`] with their names, each with how often it was written per second.
pub(super) fn words(
    worst: &Line,
    contended: &Contended,
    shown: &[contend::Word],
    named: &Named,
    names: &Names<'_>,
    groups: &Groups<'_>,
) -> Vec<(Word, u64)> {
    let elements = named.elements(contended);
    shown
        .iter()
        .map(|word| {
            // A word of an element has the name of the first that it stands for.
            let first = contended.words.iter().position(|it| {
                let offset = elements.and_then(|elements| elements.offset(it));
                offset.unwrap_or(it.offset) == word.offset
            });
            let (path, type_name) =
                first.map(|at| named.word(at, elements.is_some())).unwrap_or_default();
            let offset = match (&worst.allocation, elements) {
                (None, None) => word.offset - worst.address.cast_signed(),
                _ => word.offset,
            };
            let uses = groups.uses(word, names);
            let writes = uses.iter().filter(|use_| use_.operation.writes());
            let written = writes.map(|use_| (use_.per_second * use_.count as f64) as u64).sum();
            let role = role(word, &type_name);
            let word = Word {
                path,
                offset,
                size: word.size,
                type_name,
                role,
                weight: None,
                why: String::new(),
                uses,
                measured: None,
            };
            (word, written)
        })
        .collect()
}

fn role(word: &contend::Word, type_name: &str) -> Role {
    let (mut writes, mut all, mut is_atomic) = (0, 0, false);
    for use_ in &word.uses {
        all += use_.count();
        if use_.access.writes() {
            writes += use_.count();
            is_atomic |= use_.access != Access::Write;
        }
    }
    if writes * 50 <= all {
        Role::ReadMostly
    } else if word.is_lock() || names_a_lock(type_name) {
        Role::Lock
    } else if is_atomic {
        Role::Atomic
    } else {
        Role::Written
    }
}

/// Threads by what a reader calls them.
pub(super) struct Groups<'a> {
    threads: BTreeMap<u32, (String, Cow<'a, Thread>)>,
    /// Accesses to contended lines of each thread.
    contended: BTreeMap<u32, u64>,
    access_ns: f64,
}

impl<'a> Groups<'a> {
    pub(super) fn of(process: &'a Process, names: &Names<'_>) -> Self {
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

    pub(super) fn name(&self, thread: u32) -> &str {
        self.threads.get(&thread).map_or("thread", |(name, _)| name)
    }

    /// Whether no other thread has its name.
    pub(super) fn is_single(&self, thread: u32) -> bool {
        let name = self.name(thread);
        self.threads.values().filter(|(other, _)| other == name).count() == 1
    }

    /// The same, for when the recording is gone.
    pub(super) fn into_owned(self) -> Groups<'static> {
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
    pub(super) fn worked(&self, thread: u32) -> f64 {
        let Some(thread) = self.thread(thread) else { return 0.0 };
        let contended = self.contended.get(&thread.id).copied().unwrap_or(0);
        let least = Thread::least(thread.accesses.saturating_sub(contended));
        let recorded = thread.recorded(self.access_ns);
        let ran = (thread.cpu as f64 - recorded).max(least);
        let waited = thread.waited as f64;
        let between = (thread.between as f64 - recorded).clamp(least, ran);
        if between + waited > ran {
            // Each was timed with nothing else under way. A core does some of both at once.
            return (between * ran / (between + waited)).max(least);
        }
        // As long as a thread may have slept, what is left of its processor time says whether it has.
        let left = ran - waited - between;
        match (thread.between, thread.long_between) {
            (0, 0) => between + left,
            (_, long) => between + left.min(long as f64),
        }
    }

    /// How much of the time that a thread ran and did not wait for lines was work. The rest was recording.
    pub(super) fn work_part(&self, thread: u32) -> f64 {
        let busy = self.thread(thread).map_or(0, |it| it.cpu.saturating_sub(it.waited));
        if busy > 0 { (self.worked(thread) / busy as f64).min(1.0) } else { 1.0 }
    }

    /// The thread on whose stack a line lies: of several that had the same stack one after the other, the last one
    /// that used the line, or else the last.
    pub(super) fn owner_of_stack(&self, line: &Line) -> Option<&str> {
        let owners =
            self.threads.values().filter(|(_, thread)| thread.stack.contains(&line.address));
        let uses = |id: u32| line.entries.iter().any(|entry| entry.thread == id);
        let (name, _) = owners.max_by_key(|(_, thread)| (uses(thread.id), thread.id))?;
        Some(name)
    }

    /// What is done to a word, by group of threads, operation and line of code: the most frequent first.
    fn uses(&self, word: &contend::Word, names: &Names<'_>) -> Vec<Use> {
        type Key = (String, Access, Option<(String, Option<String>)>);
        let mut all: BTreeMap<Key, BTreeMap<u32, u64>> = BTreeMap::new();
        for use_ in word.uses.iter().filter(|use_| is_reported(use_.access)) {
            let code = names.code(use_.code).map(|code| (code.function, code.line));
            for (&thread, &count) in &use_.threads {
                let key = (self.name(thread).to_owned(), use_.access, code.clone());
                *all.entry(key).or_default().entry(thread).or_default() += count;
            }
        }
        let mut uses: Vec<_> = all
            .into_iter()
            .map(|((threads, operation, code), counts)| {
                let seconds: f64 = counts.keys().map(|&thread| self.seconds(thread)).sum();
                Use {
                    threads,
                    count: counts.len() as u64,
                    ids: counts.keys().map(|&thread| thread.into()).collect(),
                    operation,
                    per_second: counts.values().sum::<u64>() as f64 / seconds,
                    code: code.map(|(function, line)| Code { function, line }),
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

/// Not what belongs to another access: a lock that is given back, a compare-exchange that failed.
pub(super) fn is_reported(access: Access) -> bool {
    !matches!(access, Access::Failed | Access::Unlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::names::Programs;
    use tenure_model::recording::{Entry, Gaps};

    #[test]
    fn a_lock_of_the_c_library_is_no_number_of_another_type() {
        assert!(holds_lock_of_c("lock.__data.__lock", "int"));
        assert!(holds_lock_of_c("[3].spin", "pthread_spinlock_t"));
        assert!(!holds_lock_of_c("[3].reqlen", "int"));
    }

    #[test]
    fn work_is_what_lies_between_accesses_and_of_long_times_what_is_left_of_the_processors() {
        // Accesses take 2 ns to record, a quarter of it in the program; 1,000 of the 11,000 are to contended lines.
        for (cpu, waited, between, long_between, recording, expected) in [
            // Between accesses were 100 µs, and 22 µs to record.
            (900_000, 300_000, 122_000, 0, 0, 100_000.0),
            // 10,000 accesses to own memory take 3 µs at least.
            (900_000, 300_000, 10_000, 0, 0, 3_000.0),
            // A thread does no more than it runs.
            (90_000, 0, 400_000, 0, 0, 68_000.0),
            // A core has waited and worked at once.
            (242_000, 300_000, 122_000, 0, 0, 55_000.0),
            // In the longer times it has slept, ...
            (422_000, 300_000, 122_000, 9_000_000, 0, 100_000.0),
            // ... has worked all the time, ...
            (922_000, 300_000, 122_000, 500_000, 0, 600_000.0),
            // ... or has done either.
            (722_000, 300_000, 122_000, 9_000_000, 0, 400_000.0),
            // It has done too few accesses to know.
            (922_000, 300_000, 0, 0, 0, 600_000.0),
            // To record allocations took 40 µs.
            (900_000, 300_000, 122_000, 0, 40_000, 60_000.0),
        ] {
            let thread = Thread {
                id: 1,
                accesses: 11_000,
                cpu,
                waited,
                between,
                long_between,
                recording,
                ..Thread::default()
            };
            let entry = Entry {
                thread: 1,
                offset: 0,
                size: 8,
                access: Access::Add,
                code: 0,
                count: 1000,
                gaps: Gaps::default(),
            };
            let line = Line { entries: vec![entry], ..Line::default() };
            let process = Process {
                threads: vec![thread],
                lines: vec![line],
                access_ns: 1.5,
                ..Process::default()
            };
            let programs = Programs::default();
            let groups = Groups::of(&process, &Names::new(&process, &programs));
            assert_eq!(groups.worked(1), expected, "{:?}", process.threads);
            let part = (expected / (cpu - waited.min(cpu)) as f64).min(1.0);
            assert_eq!(groups.work_part(1), part, "{:?}", process.threads);
        }
    }

    #[test]
    fn a_clock_and_a_block_are_no_locks() {
        let written = |access| contend::Use {
            access,
            code: 0,
            threads: [(1, 9)].into(),
            gaps: BTreeMap::new(),
        };
        let word = contend::Word {
            offset: 0,
            size: 8,
            uses: vec![written(Access::Write)],
            meaning: Meaning::Unknown,
            is_owned: false,
        };
        for (type_name, expected) in [
            ("spinlock_t", Role::Lock),
            ("pthread_mutex_t", Role::Lock),
            ("RawRwLock", Role::Lock),
            ("BlockHeader", Role::Written),
            ("LogicalClock", Role::Written),
            ("std::atomic<unsigned>", Role::Written),
        ] {
            assert_eq!(role(&word, type_name), expected, "{type_name}");
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
        let groups = Groups::of(&process, &Names::new(&process, &programs));
        let used = |address, threads: &[u32]| {
            let entry = |&thread: &u32| Entry {
                thread,
                offset: 0,
                size: 8,
                access: Access::Write,
                code: 0,
                count: 1,
                gaps: Gaps::default(),
            };
            let entries = threads.iter().map(entry).collect();
            let line = Line { address, entries, ..Line::default() };
            groups.owner_of_stack(&line).map(str::to_owned)
        };
        assert_eq!(used(0x9fc0, &[2, 3]).as_deref(), Some("main"));
        assert_eq!(used(0x1fc0, &[1, 2, 3]).as_deref(), Some("second"));
        assert_eq!(used(0x1fc0, &[1]).as_deref(), Some("third"));
        assert_eq!(used(0x5000, &[1, 2]), None);
    }
}
