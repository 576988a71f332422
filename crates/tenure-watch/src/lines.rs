//! What samples and breakpoints have shown of each line.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use tenure_analyze::possible::{self, Share};
use tenure_analyze::proportion::interval;
use tenure_model::Access;
use tenure_model::recording::{self as record, Entry, Gaps, Possible, UseCallers};

use crate::arch::USER_END;
use crate::code::{Lost, Touch};
use crate::heap::{self, HeapBlock};
use crate::lanes::{self, Lane, Life};
use crate::sys::process::LiveProcess;

/// The time of an access to a contended line, about. A thread whose samples all lie there does one after another.
const ACCESS_SECONDS: f64 = 100e-9;

/// Nanoseconds for each hit at which traps come as fast as they can be handled: the word may be in use far more often.
const HIT_AT_ONCE_NS: u64 = 200_000;

/// Hits on a word from which on they say better than its samples which instructions touch it.
const MIN_HITS: u64 = 8;

/// A line on which threads were met in so many probes is known, and after so many probes without that it is known to be
/// private. From then on, the more is known the later comes the next probe.
const PROBES_TO_KNOW: u64 = 40;
const PROBES_TO_CLEAR: u64 = 160;
const MAX_PATIENCE: u64 = 40;

/// The most uses of a line whose callers are told apart.
const MAX_USES: usize = 1024;

/// Bytes of a word that is watched.
const WORD: u8 = 8;

/// All lines that were seen.
#[derive(Debug)]
pub(crate) struct WatchedLines {
    line_bytes: u64,
    /// Threads cannot meet on different CPUs.
    has_one_cpu: bool,
    lines: FxHashMap<u64, WatchedLine>,
    /// The samples of each thread.
    samples: FxHashMap<u32, Sampled>,
}

/// Samples of a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Sampled {
    all: u64,
    /// Those of which it is known what they touched, if anything.
    seen: u64,
}

/// What all lines together have shown.
#[derive(Debug, Default)]
pub(crate) struct RecordedLines {
    /// Those that several threads were met on.
    pub(crate) lines: Vec<record::Line>,
    /// Threads that stand for others.
    pub(crate) lanes: Vec<Lane>,
    /// None of the other lines costs more than this share of the time that could be seen, with 95 % confidence.
    pub(crate) excludes: f64,
}

/// What is known of one line.
#[derive(Debug, Default)]
pub(crate) struct WatchedLine {
    seen: BTreeMap<UseKey, UseCounts>,
    /// How each thread and word was watched.
    exposed: FxHashMap<(u32, u8), Exposed>,
    /// The block of the allocator that its most used word lies in.
    block: Option<HeapBlock>,
    pub(crate) samples: u64,
    /// Those of threads that poll it, and so wait for another thread, whether that is met or not.
    polled: u64,
    /// The last sample's thread and CPU.
    pub(crate) last: (u32, u32),
    /// And its goroutine, if it had one.
    pub(crate) goroutine: Option<u64>,
    pub(crate) arms: u64,
    /// Arms in which another thread than the one sampled was met.
    pub(crate) met: u64,
    /// The same, on another CPU.
    pub(crate) met_apart: u64,
    /// How many arms it would have taken to watch as much, had each watched the whole line in all threads that run.
    pub(crate) covered: f64,
}

/// How a word was watched in a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Exposed {
    /// While the thread ran.
    nanoseconds: u64,
    probes: u64,
    /// Those in which the word was hit again and again.
    at_once: u64,
    /// Hits of the probe that is under way.
    hits: u64,
}

impl Exposed {
    fn add(&mut self, nanoseconds: u64) {
        self.nanoseconds += nanoseconds;
        self.probes += u64::from(nanoseconds > 0);
        let hits = std::mem::take(&mut self.hits);
        self.at_once += u64::from(hits > 0 && nanoseconds / hits < HIT_AT_ONCE_NS);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UseKey {
    thread: u32,
    offset: u8,
    size: u8,
    access: Access,
    code: u64,
    callers: UseCallers,
}

#[derive(Debug, Clone, Copy, Default)]
struct UseCounts {
    samples: u64,
    hits: u64,
}

impl UseKey {
    fn word(self) -> u8 {
        self.offset / WORD
    }
}

impl WatchedLines {
    pub(crate) fn new(line_bytes: u64, has_one_cpu: bool) -> Self {
        let (lines, samples) = (FxHashMap::default(), FxHashMap::default());
        Self { line_bytes, has_one_cpu, lines, samples }
    }

    /// A thread was sampled. The line that it touched.
    pub(crate) fn sampled(
        &mut self,
        thread: u32,
        cpu: u32,
        touch: Result<Option<&Touch>, Lost>,
    ) -> Option<&mut WatchedLine> {
        let samples = self.samples.entry(thread).or_default();
        samples.all += 1;
        samples.seen += u64::from(touch.is_ok());
        let touch = touch.ok()?.filter(|touch| touch.address < USER_END)?;
        let (start, key) = self.key(thread, touch);
        let line = self.lines.entry(start).or_default();
        line.counts(key).samples += 1;
        line.samples += 1;
        line.polled += u64::from(touch.is_polled);
        line.last = (thread, cpu);
        Some(line)
    }

    /// A thread met a breakpoint.
    pub(crate) fn hit(&mut self, thread: u32, touch: &Touch) {
        let (start, key) = self.key(thread, touch);
        let line = self.lines.entry(start).or_default();
        line.counts(key).hits += 1;
        line.exposed.entry((thread, key.word())).or_default().hits += 1;
    }

    /// A thread had breakpoints on a word for this time.
    pub(crate) fn exposed(&mut self, address: u64, thread: u32, nanoseconds: u64) {
        let start = address - address % self.line_bytes;
        let word = offset(address - start) / WORD;
        let line = self.lines.entry(start).or_default();
        line.exposed.entry((thread, word)).or_default().add(nanoseconds);
    }

    /// Samples of a thread.
    pub(crate) fn samples(&self, thread: u32) -> u64 {
        self.samples.get(&thread).map_or(0, |samples| samples.all)
    }

    fn seen(&self, thread: u32) -> u64 {
        self.samples.get(&thread).map_or(0, |samples| samples.seen)
    }

    /// Forgets lines of one sample when there are too many.
    pub(crate) fn prune(&mut self) {
        const MAX_LINES: usize = 1 << 15;
        if self.lines.len() > MAX_LINES {
            self.lines.retain(|_, line| line.samples > 1 || line.met > 0);
        }
    }

    fn key(&self, thread: u32, touch: &Touch) -> (u64, UseKey) {
        let inside = touch.address % self.line_bytes;
        let &Touch { access, code, callers, size, .. } = touch;
        let key = UseKey { thread, offset: offset(inside), size, access, code, callers };
        (touch.address - inside, key)
    }

    pub(crate) fn get_mut(&mut self, start: u64) -> Option<&mut WatchedLine> {
        self.lines.get_mut(&start)
    }

    /// Finds the allocator's block, while it is likely to be there.
    pub(crate) fn allocated(&mut self, start: u64, process: &LiveProcess) {
        let Some(line) = self.lines.get_mut(&start) else { return };
        if line.block.is_none() && process.is_anonymous(start) {
            let uses = |(_, seen): &(&UseKey, &UseCounts)| seen.samples + seen.hits;
            let Some((key, _)) = line.seen.iter().max_by_key(uses) else { return };
            let address = start + u64::from(key.offset);
            // One call for nearly all words.
            let mut bytes = [0; heap::HEADS_BYTES as usize];
            let first = (address & !7).saturating_sub(heap::HEADS_BYTES - 8);
            let count = process.read_some(first, &mut bytes);
            let known = |at: u64| {
                let start = usize::try_from(at.checked_sub(first)?).ok()?;
                let word = bytes[..count].get(start..start + 8)?;
                word.try_into().ok().map(u64::from_le_bytes)
            };
            line.block = heap::block(address, &|at| known(at).or_else(|| process.word(at)));
        }
    }

    /// The line to probe next: the one with most samples for each probe so far. A line that no second thread was met
    /// on soon is probed rarely.
    pub(crate) fn next(&self) -> Option<u64> {
        let worth = |line: &WatchedLine| {
            let probes = (1 + line.arms) as f64;
            let doubt = if line.met == 0 { probes } else { 1.0 };
            line.samples as f64 / (probes * doubt)
        };
        let sampled = self.lines.iter().filter(|(_, line)| line.samples > 0);
        let best = sampled
            .max_by(|(one, a), (other, b)| worth(a).total_cmp(&worth(b)).then(other.cmp(one)));
        best.map(|(start, _)| *start)
    }

    /// How many times as long a probe of a line may wait as one of a line that is hardly known.
    pub(crate) fn patience(&self, start: u64) -> u32 {
        let Some(line) = self.lines.get(&start) else { return 1 };
        let known = match line.met {
            0 => line.arms / PROBES_TO_CLEAR,
            met => met / PROBES_TO_KNOW,
        };
        u32::try_from(known.clamp(1, MAX_PATIENCE)).unwrap_or(1)
    }

    /// Up to `most` words of a line to watch: those that are known to be used, and others in turn.
    pub(crate) fn words(&self, start: u64, most: usize) -> Vec<u64> {
        let Some(line) = self.lines.get(&start) else { return Vec::new() };
        let count = self.line_bytes / u64::from(WORD);
        let mut known: BTreeMap<u8, u64> = BTreeMap::new();
        for (key, seen) in &line.seen {
            *known.entry(key.word()).or_default() += seen.samples + seen.hits;
        }
        let mut known: Vec<_> = known.into_iter().collect();
        known.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
        let probes = usize::try_from(line.arms).unwrap_or(0);
        let first = known.first().map(|(word, _)| u64::from(*word));
        let mut words: Vec<u64> = first.into_iter().collect();
        // The most used one always, the other known ones and the rest in turn.
        let others: Vec<u64> = known.iter().skip(1).map(|(word, _)| u64::from(*word)).collect();
        let turn = |list: &[u64], wanted: usize| -> Vec<u64> {
            (0..wanted.min(list.len()))
                .map(|at| list[(probes * wanted + at) % list.len()])
                .collect()
        };
        words.extend(turn(&others, most / 2 - 1));
        let rest: Vec<u64> = (0..count).filter(|word| !words.contains(word)).collect();
        words.extend(turn(&rest, most - words.len()));
        words.into_iter().map(|word| start + word * u64::from(WORD)).collect()
    }

    /// What was found, for threads with these numbers and lives. What touches lines that other processes map as well is not seen.
    pub(crate) fn recorded(
        &self,
        threads: &FxHashMap<u32, (u32, Life)>,
        nanoseconds: u64,
        is_shared: &dyn Fn(u64) -> bool,
    ) -> RecordedLines {
        let lives = threads.values().copied().collect();
        let mut lanes = Vec::new();
        let all: u64 = self.samples.values().map(|samples| samples.seen).sum();
        // Threads that share a CPU, or follow each other on memory that is used again, cost each other nothing.
        let met = self.lines.iter().filter(|(_, line)| self.met(line) > 0);
        let mut lines: Vec<_> = met
            .filter_map(|(address, line)| {
                let mut entries = line.entries(threads, &|thread| self.seen(thread));
                let of_line = lanes::merge(&mut entries, &lives);
                // No two of its threads have lived at a time.
                if of_line.len() < 2 {
                    return None;
                }
                lanes.extend(of_line);
                let shares: Vec<_> = entries.iter().map(share).collect();
                let mut possible = Possible::default();
                possible::add(&mut possible, &shares, nanoseconds);
                let waits = (line.samples - line.polled) as f64 * self.met(line) as f64;
                let waits = waits / line.arms.max(1) as f64 + line.polled as f64;
                let watched = record::Watched {
                    samples: line.samples,
                    polled: line.polled,
                    of: all,
                    probes: line.arms,
                    met: self.met(line),
                    cost: waits / all.max(1) as f64,
                };
                Some(record::Line {
                    address: *address,
                    allocation: line.block.map(|block| record::Allocation {
                        size: block.size,
                        line_offset: address.wrapping_sub(block.start).cast_signed(),
                        stack: Vec::new(),
                        objects: 1,
                        type_name: None,
                    }),
                    entries,
                    possible,
                    watched: Some(watched),
                })
            })
            .collect();
        lines.sort_by_key(|line| line.address);
        let is_known = |start: &u64| lines.binary_search_by_key(start, |line| line.address).is_ok();
        let others = self.lines.iter().filter(|(start, _)| !is_known(start));
        let most = others.map(|(start, line)| line.most(self.met(line), all, is_shared(*start)));
        let [_, unsampled] = interval(0.0, all as f64);
        RecordedLines { excludes: most.fold(unsampled, f64::max), lines, lanes }
    }

    /// Probes in which threads met: on different CPUs if there are several.
    fn met(&self, line: &WatchedLine) -> u64 {
        if self.has_one_cpu { line.met } else { line.met_apart }
    }

    /// The part of a thread's samples that lie on lines where several threads were met.
    pub(crate) fn waited(&self, thread: u32) -> f64 {
        let met = self.lines.values().filter(|line| line.met > 0).flat_map(|line| &line.seen);
        let on_them: u64 =
            met.filter(|(key, _)| key.thread == thread).map(|(_, seen)| seen.samples).sum();
        on_them as f64 / self.seen(thread).max(1) as f64
    }
}

impl WatchedLine {
    /// What was seen of a use. The callers of a line with very many uses are no longer told apart.
    fn counts(&mut self, key: UseKey) -> &mut UseCounts {
        let is_full = self.seen.len() >= MAX_USES && !self.seen.contains_key(&key);
        let callers = if is_full { UseCallers::default() } else { key.callers };
        self.seen.entry(UseKey { callers, ..key }).or_default()
    }

    /// The most that it may cost of the time that could be seen, by so many samples in all: the part of them that lies here, times
    /// the part of its arms that `met` another thread. Of both the upper end of an interval with 97.5 % on that side, so 95 % of both.
    fn most(&self, met: u64, all: u64, is_shared: bool) -> f64 {
        let [_, sampled] = interval(self.samples as f64, all as f64);
        let [_, met] = interval(met as f64, self.covered.max(met as f64));
        // Other processes are not watched.
        if is_shared { sampled } else { sampled * met }
    }

    fn entries(
        &self,
        threads: &FxHashMap<u32, (u32, Life)>,
        samples: &dyn Fn(u32) -> u64,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        // Plain code that touches a word which others touch by atomic instructions loads and stores it.
        let atomic: Vec<u8> = self
            .seen
            .keys()
            .filter(|key| !matches!(key.access, Access::Read | Access::Write))
            .map(|key| key.word())
            .collect();
        let mut words: BTreeMap<(u32, u8), UseCounts> = BTreeMap::new();
        // What a thread waits for it does as often as it can.
        let mut visits: BTreeMap<u32, f64> = BTreeMap::new();
        for (key, seen) in &self.seen {
            let word = words.entry((key.thread, key.word())).or_default();
            word.samples += seen.samples;
            word.hits += seen.hits;
            if seen.samples > 0 {
                let of_thread = samples(key.thread).max(1);
                *visits.entry(key.thread).or_default() +=
                    seen.samples as f64 / of_thread as f64 / ACCESS_SECONDS;
            }
        }
        // A thread that only stores does not wait, and has no samples.
        let unsampled = visits.values().copied().reduce(f64::min).unwrap_or(0.0);
        for (key, seen) in &self.seen {
            let Some((id, Life { ran_ns, .. })) = threads.get(&key.thread) else { continue };
            let place = (key.thread, key.word());
            let of_word = words[&place];
            let exposed = self.exposed.get(&place).copied().unwrap_or_default();
            let by_hits = of_word.hits as f64 / (exposed.nanoseconds.max(1) as f64 / 1e9);
            let by_hits = if exposed.nanoseconds == 0 { 0.0 } else { by_hits };
            // Samples fall on the access that waits for the line, and not on those that follow while it is there: a
            // lock, and not what it guards. So all words that are met at once are in use as often as the line.
            let at_once = match exposed.probes {
                0 => f64::from(u8::from(of_word.samples > 0)),
                probes => exposed.at_once as f64 / probes as f64,
            };
            let of_line = visits.get(&key.thread).copied().unwrap_or(unsampled);
            let rate = by_hits.max(at_once * of_line);
            let (part, of_all) = match of_word.hits {
                0..MIN_HITS => (seen.samples + seen.hits, of_word.samples + of_word.hits),
                hits => (seen.hits, hits),
            };
            let part = part as f64 / of_all.max(1) as f64;
            let access = match key.access {
                Access::Read if atomic.contains(&key.word()) => Access::Load,
                Access::Write if atomic.contains(&key.word()) => Access::Store,
                access => access,
            };
            let count = (rate * part * *ran_ns as f64 / 1e9).round() as u64;
            if count > 0 {
                let &UseKey { offset, size, code, callers, .. } = key;
                let (thread, gaps) = (*id, Gaps::default());
                entries.push(Entry { thread, offset, size, access, code, callers, count, gaps });
            }
        }
        entries
    }
}

fn share(entry: &Entry) -> Share {
    let &Entry { thread, offset, size, count, .. } = entry;
    Share { thread, offset, size, writes: entry.access.writes(), count }
}

fn offset(inside: u64) -> u8 {
    u8::try_from(inside).expect("less than a line")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 0x1000;

    fn touch(access: Access, word: u64, code: u64) -> Touch {
        Touch { code, callers: [0; 2], access, address: LINE + word * 8, size: 8, is_polled: false }
    }

    /// A probe of a word that a thread hits twice, after so many nanoseconds each.
    fn probe(lines: &mut WatchedLines, thread: u32, touch: &Touch, nanoseconds: u64) {
        lines.hit(thread, touch);
        lines.hit(thread, touch);
        lines.exposed(touch.address, thread, 2 * nanoseconds);
    }

    /// What two threads did that run for a second.
    fn entries(lines: &WatchedLines) -> Vec<Entry> {
        let life = Life { first: 0, last: 1_000_000_000, ran_ns: 1_000_000_000 };
        let threads = [1, 2].map(|id| (id, (id, life))).into_iter().collect();
        lines.lines[&LINE].entries(&threads, &|thread| lines.seen(thread))
    }

    /// How often a second each thread did each thing.
    fn rates(lines: &WatchedLines) -> BTreeMap<(u32, Access, u8), f64> {
        entries(lines)
            .into_iter()
            .map(|it| ((it.thread, it.access, it.offset / 8), it.count as f64))
            .collect()
    }

    #[test]
    fn words_that_are_met_at_once_are_in_use_as_often_as_the_line() {
        let mut lines = WatchedLines::new(64, false);
        let (take, add) = (touch(Access::CompareExchange, 0, 1), touch(Access::Write, 1, 2));
        // Half of the samples lie on the lock, and none on what it guards.
        for sample in 0..100 {
            lines.sampled(1, 0, Ok(Some(&take).filter(|_| sample % 2 == 0)));
        }
        for _ in 0..10 {
            probe(&mut lines, 1, &take, 30_000);
            probe(&mut lines, 1, &add, 30_000);
            // The other thread only stores, which takes no time that samples show.
            probe(&mut lines, 2, &touch(Access::Write, 2, 3), 30_000);
        }
        let rates = rates(&lines);
        assert_eq!(rates[&(1, Access::CompareExchange, 0)], 5e6);
        assert_eq!(rates[&(1, Access::Write, 1)], 5e6);
        assert_eq!(rates[&(2, Access::Write, 2)], 5e6);
    }

    #[test]
    fn a_use_is_told_apart_by_its_callers() {
        let mut lines = WatchedLines::new(64, false);
        let called =
            |from, times| (Touch { callers: [from, 0], ..touch(Access::Add, 0, 1) }, times);
        for (touch, times) in [called(8, 9), called(9, 1)] {
            (0..times).for_each(|_| probe(&mut lines, 1, &touch, 30_000));
        }
        let counts = entries(&lines).into_iter().map(|it| (it.callers[0], it.count));
        let counts: Vec<(u64, u64)> = counts.collect();
        let [(8, often), (9, seldom)] = counts[..] else { panic!("{counts:?}") };
        assert_eq!((often as f64 / seldom as f64).round(), 9.0);
        // A function that is called from everywhere does not take all memory.
        (1..).take(2 * MAX_USES).for_each(|from| lines.hit(1, &called(from, 1).0));
        assert_eq!(lines.lines[&LINE].seen.len(), MAX_USES + 1);
    }

    #[test]
    fn a_line_whose_threads_never_met_on_different_cpus_is_no_finding_unless_there_is_one_cpu() {
        let life = Life { first: 0, last: 1_000_000_000, ran_ns: 1_000_000_000 };
        let threads = [1, 2].map(|id| (id, (id, life))).into_iter().collect();
        for (has_one_cpu, met_apart, expected) in [(false, 0, 0), (false, 1, 1), (true, 0, 1)] {
            let mut lines = WatchedLines::new(64, has_one_cpu);
            for thread in [1, 2] {
                let add = touch(Access::Add, thread, 1);
                lines.sampled(thread as u32, 0, Ok(Some(&add)));
                probe(&mut lines, thread as u32, &add, 30_000);
            }
            let line = lines.get_mut(LINE).unwrap();
            (line.arms, line.met, line.met_apart) = (2, 2, met_apart);
            let recorded = lines.recorded(&threads, 1_000_000_000, &|_| false);
            assert_eq!(recorded.lines.len(), expected);
            for line in recorded.lines {
                let watched = line.watched.unwrap();
                assert_eq!(watched.met, if has_one_cpu { 2 } else { met_apart });
                assert_eq!(watched.cost, watched.met as f64 / 2.0);
            }
        }
    }

    #[test]
    fn what_is_excluded_takes_samples_and_looks_and_no_line_that_other_processes_map() {
        let excluded = |samples: u64, lost: u64, covered: f64, is_shared: bool| {
            let mut lines = WatchedLines::new(64, false);
            for _ in 0..samples {
                lines.sampled(1, 0, Ok(Some(&touch(Access::Read, 0, 1))));
            }
            (0..lost).for_each(|_| _ = lines.sampled(1, 0, Err(Lost)));
            if let Some(line) = lines.get_mut(LINE) {
                line.covered = covered;
            }
            lines.recorded(&FxHashMap::default(), 1, &|_| is_shared).excludes
        };
        for (about, most, expected) in [
            ("nothing was seen", excluded(0, 0, 0.0, false), 1.0..=1.0),
            ("two samples, no probe", excluded(2, 0, 0.0, false), 0.9..=1.0),
            ("many samples, no probe", excluded(219, 0, 0.0, false), 0.9..=1.0),
            ("few samples, many probes", excluded(2, 0, 100.0, false), 0.0..=0.7),
            ("many of both", excluded(400, 0, 100.0, false), 0.0..=0.04),
            ("many of both, shared", excluded(400, 0, 100.0, true), 0.99..=1.0),
            ("only samples that were lost", excluded(0, 400, 0.0, false), 1.0..=1.0),
        ] {
            assert!(expected.contains(&most), "{about}: {most}");
        }
    }

    #[test]
    fn a_line_that_is_known_is_looked_at_less_often() {
        let patience = |arms, met| {
            let mut lines = WatchedLines::new(64, false);
            lines.lines.insert(LINE, WatchedLine { arms, met, ..WatchedLine::default() });
            lines.patience(LINE)
        };
        assert_eq!([patience(159, 0), patience(320, 0)], [1, 2]);
        assert_eq!([patience(80, 39), patience(80, 80), patience(4000, 4000)], [1, 2, 40]);
    }

    #[test]
    fn a_word_that_is_met_late_is_in_use_as_often_as_it_was_met() {
        let mut lines = WatchedLines::new(64, false);
        for _ in 0..100 {
            lines.sampled(1, 0, Ok(Some(&touch(Access::Read, 0, 1))));
        }
        let rare = touch(Access::Write, 0, 2);
        for _ in 0..10 {
            probe(&mut lines, 1, &touch(Access::Read, 0, 1), 10_000);
            probe(&mut lines, 2, &rare, 1_000_000);
        }
        let rates = rates(&lines);
        assert_eq!(rates[&(2, Access::Write, 0)], 1000.0);
        assert!(rates[&(1, Access::Read, 0)] > 1e6);
        // One probe of several that meets it at once says how much of the time it is busy.
        probe(&mut lines, 2, &rare, 1_000);
        let busy = self::rates(&lines)[&(2, Access::Write, 0)];
        assert!(busy > 5e5 && busy < 2e6, "{busy}");
    }
}
