//! One process while it is observed.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustc_hash::FxHashMap;
use rustix::time::{ClockId, clock_gettime};
use tenure_model::Access;
use tenure_probe::segment::{AccessKind, Entry, Line, Module, StartFailure, Thread};

use super::reader::{SegmentReader, WithTail};
use tenure_analyze::possible::{self, Share};
use tenure_model::recording::{self as record, Gaps, Possible};

#[derive(Debug)]
pub(crate) struct ObservedProcess {
    reader: SegmentReader,
    /// The counts of [`SegmentReader::entries`] at the end of the last bucket.
    counts: Vec<u64>,
    /// How many of [`SegmentReader::lines`] there were at the end of the last bucket.
    lines: usize,
    /// When it was last seen alive, on the segment's clock.
    alive: u64,
    /// Threads when they were last asked for, by [`Thread::id`].
    living: FxHashMap<u32, Living>,
    /// What was possible on each line, by its number.
    possible: FxHashMap<u32, Possible>,
}

/// What the kernel says of a thread.
#[derive(Debug, Default)]
struct Living {
    /// Processor time in nanoseconds.
    cpu: u64,
    /// Nanoseconds for which it could have run and had no CPU.
    delayed: u64,
    /// It may get its name after its first access.
    name: String,
}

impl Living {
    fn ask(pid: u32, thread: u32) -> Option<Self> {
        let ask = |what| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{what}")).ok();
        let times = ask("schedstat")?;
        let mut times = times.split(' ').map(|time| time.parse().ok());
        let (cpu, delayed) = (times.next()??, times.next()??);
        Some(Self { cpu, delayed, name: ask("comm")?.trim_end_matches('\n').to_owned() })
    }
}

impl ObservedProcess {
    /// Opens a process's segment; `None` if it is not ready.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let Some(reader) = SegmentReader::open(path)? else { return Ok(None) };
        let (counts, living, possible) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        Ok(Some(Self { reader, counts, lines: 0, alive: now(), living, possible }))
    }

    pub(crate) fn end_bucket(&mut self, took: Duration) {
        if fs::exists(format!("/proc/{}", self.reader.header.pid)).unwrap_or(false) {
            self.alive = now();
        }
        // A file that cannot be read has nothing new.
        if self.reader.refresh(false).is_err() {
            return;
        }
        self.ask_for_threads();
        self.counts.resize(self.reader.entries.len(), 0);
        let mut changed: Vec<(u32, Share)> = Vec::new();
        for (entry, before) in self.reader.entries.iter().zip(&mut self.counts) {
            let count = entry.count.saturating_sub(*before);
            let Some(access) = entry.access() else { continue };
            if count > 0 {
                *before = entry.count;
                let (offset, size, writes) = (entry.offset(), entry.size(), access.writes());
                changed.push((
                    entry.line,
                    Share { thread: entry.thread, offset, size, writes, count },
                ));
            }
        }
        for line in &self.reader.lines[self.lines..] {
            changed.extend(
                before(line, self.reader.header.line_bytes).map(|share| (line.index, share)),
            );
        }
        self.lines = self.reader.lines.len();
        changed.sort_by_key(|(line, _)| *line);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        for line in changed.chunk_by(|one, other| one.0 == other.0) {
            let shares: Vec<_> = line.iter().map(|(_, share)| *share).collect();
            let possible = self.possible.entry(line[0].0).or_default();
            possible::add(possible, &shares, nanoseconds);
        }
    }

    /// Asks the kernel for threads that have not ended, for the first ones if there are many.
    fn ask_for_threads(&mut self) {
        const MAX_THREADS_ASKED: usize = 64;
        let pid = self.reader.header.pid;
        for thread in
            self.reader.threads.iter().filter(|thread| thread.ended == 0).take(MAX_THREADS_ASKED)
        {
            if let Some(living) = Living::ask(pid, thread.tid) {
                self.living.insert(thread.id, living);
            }
        }
    }

    pub(crate) fn so_far(&self) -> (usize, u64) {
        let worst = self.possible.values().map(|possible| possible.capped).max();
        (self.reader.lines.len(), worst.unwrap_or(0))
    }

    pub(crate) fn finish(mut self) -> record::Process {
        // What was read before is still there if it cannot be read again.
        let _ = self.reader.refresh(true);
        let reader = &self.reader;
        let mut entries: FxHashMap<u32, Vec<record::Entry>> = FxHashMap::default();
        let mut objects: FxHashMap<u32, ObjectUses> = FxHashMap::default();
        for entry in &reader.entries {
            entries.entry(entry.line).or_default().extend(recorded(entry));
            let line_offset = i64::from(entry.into_object) - i64::from(entry.offset());
            let object = (entry.class, line_offset);
            *objects.entry(entry.line).or_default().entry(object).or_default() += entry.count;
        }
        let lines = reader.lines.iter().map(|line| record::Line {
            address: line.address,
            allocation: self.allocation(line, objects.get(&line.index)),
            entries: entries.remove(&line.index).unwrap_or_default(),
            possible: self.possible.get(&line.index).copied().unwrap_or_default(),
            watched: None,
        });
        record::Process {
            functions: Vec::new(),
            pid: reader.header.pid,
            program: reader.modules.first().map(WithTail::path),
            modules: reader.modules.iter().map(recorded_module).collect(),
            threads: reader.threads.iter().map(|thread| self.recorded_thread(thread)).collect(),
            lines: lines.collect(),
            line_bytes: reader.header.line_bytes,
            seconds: self.alive.saturating_sub(reader.header.started) as f64 / 1e9,
            access_ns: reader.header.access_ps as f64 / 1e3,
            dropped: reader.header.dropped,
            refused: reader.header.failure == StartFailure::NoAddressSpace as u32,
            one_at_a_time: one_at_a_time(&reader.threads),
            waits: None,
        }
    }

    fn recorded_thread(&self, thread: &Thread) -> record::Thread {
        let name: Vec<u8> =
            [thread.name, thread.name_rest].into_iter().flat_map(u64::to_ne_bytes).collect();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        // What has ended says it all; a number may belong to another thread by now.
        let seen = self.living.get(&thread.id);
        let living = seen.filter(|_| thread.ended == 0);
        let end = if thread.ended == 0 { self.alive } else { thread.ended };
        record::Thread {
            id: thread.id,
            name: living.map_or(name.into_owned(), |living| living.name.clone()),
            routine: thread.routine,
            accesses: thread.accesses,
            lived: end.saturating_sub(thread.started),
            cpu: living.map_or(thread.cpu, |living| living.cpu),
            delayed: seen.map_or(0, |seen| seen.delayed),
            stack: thread.stack..thread.stack_end,
            waited: thread.waited,
            between: thread.between,
            long_between: thread.long_between,
            recording: thread.recording,
        }
    }

    /// The allocation that a line is part of; of several, the one that was accessed most. Class 0 is memory that was not
    /// seen being allocated.
    fn allocation(&self, line: &Line, objects: Option<&ObjectUses>) -> Option<record::Allocation> {
        let first = (line.class, line.address.wrapping_sub(line.object).cast_signed());
        let (class, line_offset) = objects.and_then(most_used).unwrap_or(first);
        let class = self.reader.classes.get(class as usize).filter(|_| class > 0)?;
        Some(record::Allocation {
            size: class.record.size,
            line_offset,
            stack: class.stack(),
            objects: line.objects.max(1),
            type_name: None,
        })
    }
}

/// Whether several threads worked, and each was over before the next began. Then no line could be contended: those of one thread
/// are handed over to the next.
fn one_at_a_time(threads: &[Thread]) -> bool {
    /// Accesses of a thread that works; one with fewer has started others, and waited for them.
    const WORK: u64 = 1000;
    let working = threads.iter().filter(|thread| thread.accesses >= WORK);
    let mut lives: Vec<(u64, u64)> =
        working.map(|it| (it.started, if it.ended == 0 { u64::MAX } else { it.ended })).collect();
    lives.sort_unstable();
    lives.len() > 1 && lives.windows(2).all(|two| two[0].1 <= two[1].0)
}

fn recorded_module(module: &WithTail<Module>) -> record::Module {
    let Module { bias, start, end } = module.record;
    record::Module { path: module.path(), start, end, bias }
}

/// Accesses to the objects on a line, by class and by the distance from the object's start to the line's.
type ObjectUses = FxHashMap<(u32, i64), u64>;

/// The class that was accessed most, and of its objects the one.
fn most_used(objects: &ObjectUses) -> Option<(u32, i64)> {
    let mut classes: FxHashMap<u32, u64> = FxHashMap::default();
    for ((class, _), count) in objects {
        *classes.entry(*class).or_default() += count;
    }
    let (class, _) = classes.into_iter().max_by_key(|(class, count)| (*count, *class))?;
    let of_class = objects.iter().filter(|((of, _), _)| *of == class);
    of_class.max_by_key(|(object, count)| (**count, **object)).map(|(object, _)| *object)
}

/// As many accesses by one thread are no longer how an object is made and handed over.
const MIN_ACCESSES_ALONE: u16 = 4096;

/// What a thread did to a line that it had to itself until another came: on a busy machine that may be all it does.
fn before(line: &Line, line_bytes: u32) -> impl Iterator<Item = Share> {
    // At most 16 bytes: lines have 64 or 128.
    let bytes = (line_bytes / 8) as u8;
    let (read, written) = (line.read_before(), line.written_before());
    let places = u64::from((read.count_ones() + written.count_ones()).max(1));
    let count = u64::from(line.accesses_before()) / places;
    let of = move |eighths: u8, writes| {
        (0..8).filter(move |eighth| eighths >> eighth & 1 == 1).map(move |eighth| Share {
            thread: line.before,
            offset: eighth * bytes,
            size: bytes,
            writes,
            count,
        })
    };
    let is_much = line.accesses_before() >= MIN_ACCESSES_ALONE;
    of(read, false).chain(of(written, true)).filter(move |_| is_much)
}

/// The clock of the segment, in nanoseconds.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn recorded(entry: &Entry) -> Option<record::Entry> {
    Some(record::Entry {
        thread: entry.thread,
        offset: entry.offset(),
        size: entry.size(),
        access: access(entry.access()?),
        code: entry.code,
        callers: Default::default(),
        count: entry.count,
        gaps: Gaps { count: entry.gaps.into(), nanoseconds: entry.gaps_ns },
    })
}

/// The word of the instruments for one of the segment's.
fn access(recorded: AccessKind) -> Access {
    macro_rules! same {
        ($($name:ident)*) => { match recorded { $(AccessKind::$name => Access::$name,)* } };
    }
    same!(Read Write Load Store Add CompareExchange Failed Lock Unlock Exchange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_of_the_class_that_is_used_most_however_many_objects_there_are() {
        let objects = [((1, 0), 50), ((2, -32), 40), ((2, 16), 30)];
        assert_eq!(most_used(&objects.into_iter().collect()), Some((2, -32)));
        assert_eq!(most_used(&ObjectUses::default()), None);
    }

    #[test]
    fn threads_that_are_over_before_the_next_begins_work_one_at_a_time() {
        let thread =
            |started, ended, accesses| Thread { started, ended, accesses, ..Thread::read(&[]) };
        // It has started the others, and waits for them.
        let first = thread(1, 0, 40);
        for (about, threads, expected) in [
            ("one after the other", vec![first, thread(10, 20, 5000), thread(30, 40, 5000)], true),
            ("at the same time", vec![first, thread(10, 35, 5000), thread(30, 40, 5000)], false),
            ("one goes on", vec![first, thread(10, 0, 5000), thread(30, 40, 5000)], false),
            ("one alone", vec![first, thread(10, 20, 5000)], false),
            ("the first works too", vec![thread(1, 0, 9000), thread(10, 20, 5000)], false),
        ] {
            assert_eq!(one_at_a_time(&threads), expected, "{about}");
        }
    }

    #[test]
    fn an_eighth_of_a_line_has_as_many_bytes_as_the_line_says() {
        let line = Line { before: 1, before_use: 1 << 16 | 1 << 31 | 40_000, ..Line::read(&[]) };
        for (line_bytes, places) in [(64, [(0, 8), (56, 8)]), (128, [(0, 16), (112, 16)])] {
            let shares = before(&line, line_bytes).map(|share| (share.offset, share.size));
            assert_eq!(shares.collect::<Vec<_>>(), places);
        }
    }
}
