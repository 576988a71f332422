//! The observer, on segments that are written here.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tenure_probe::segment::{
    AccessKind, BLOCK_BYTES, Entry, Header, Line, MAGIC, Module, RECORDS_START, RecordKind, Thread,
    place,
};

use super::{BUCKET, Observer};
use tenure_model::recording::{Allocation, Possible, Process};

/// A segment as a process writes it.
struct Segment(Vec<u8>);

impl Segment {
    fn new() -> Self {
        let mut segment = Self(vec![0; BLOCK_BYTES]);
        segment.header(std::mem::offset_of!(Header, magic), &MAGIC);
        segment.header(std::mem::offset_of!(Header, pid), &std::process::id().to_ne_bytes());
        segment.header(std::mem::offset_of!(Header, line_bytes), &64_u32.to_ne_bytes());
        segment.header(std::mem::offset_of!(Header, most_blocks), &100_u32.to_ne_bytes());
        segment.header(std::mem::offset_of!(Header, blocks), &1_u32.to_ne_bytes());
        segment
    }

    fn header(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Appends a block of this kind, for records that [`Self::put`] puts there.
    fn block(&mut self, kind: RecordKind) -> usize {
        let start = self.0.len();
        self.0.resize(start + BLOCK_BYTES, 0);
        self.0[start..][..4].copy_from_slice(&(kind as u32).to_ne_bytes());
        let blocks = u32::try_from(self.0.len() / BLOCK_BYTES).unwrap();
        self.header(std::mem::offset_of!(Header, blocks), &blocks.to_ne_bytes());
        start
    }

    /// Writes fields of the record at a place of a block, which has at least so many records from now on.
    fn put(&mut self, block: usize, kind: RecordKind, place: usize, fields: &[(usize, &[u8])]) {
        let record = block + RECORDS_START + place * kind.stride();
        for (offset, bytes) in fields {
            self.0[record + offset..][..bytes.len()].copy_from_slice(bytes);
        }
        let used =
            u32::from_ne_bytes(self.0[block + 4..][..4].try_into().unwrap()).max(place as u32 + 1);
        self.0[block + 4..][..4].copy_from_slice(&used.to_ne_bytes());
    }

    /// Writes how often a thread did this to a place of a line.
    fn entry(
        &mut self,
        block: usize,
        at: usize,
        (line, thread, offset): (u32, u32, u8),
        access: AccessKind,
        count: u64,
    ) {
        let fields: [(usize, &[u8]); 5] = [
            (std::mem::offset_of!(Entry, count), &count.to_ne_bytes()),
            (std::mem::offset_of!(Entry, code), &(0x1000 + at as u64).to_ne_bytes()),
            (std::mem::offset_of!(Entry, line), &line.to_ne_bytes()),
            (std::mem::offset_of!(Entry, thread), &thread.to_ne_bytes()),
            (std::mem::offset_of!(Entry, place), &place(offset, 8, access).to_ne_bytes()),
        ];
        self.put(block, RecordKind::Entries, at, &fields);
    }

    fn line(&mut self, block: usize, at: usize, address: u64, object: u64, class: u32) {
        let fields: [(usize, &[u8]); 5] = [
            (std::mem::offset_of!(Line, address), &address.to_ne_bytes()),
            (std::mem::offset_of!(Line, object), &object.to_ne_bytes()),
            (std::mem::offset_of!(Line, class), &class.to_ne_bytes()),
            (std::mem::offset_of!(Line, objects), &3_u32.to_ne_bytes()),
            (std::mem::offset_of!(Line, index), &(at as u32).to_ne_bytes()),
        ];
        self.put(block, RecordKind::Lines, at, &fields);
    }

    fn write(&self, folder: &Path) {
        fs::write(folder.join("1-0.probe"), &self.0).unwrap();
    }
}

fn the_process(mut observer: Observer) -> Process {
    observer.end_bucket(BUCKET);
    let mut processes = observer.finish();
    assert_eq!(processes.len(), 1);
    processes.remove(0)
}

#[test]
fn buckets_of_time_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut segment = Segment::new();
    let (lines, entries) = (segment.block(RecordKind::Lines), segment.block(RecordKind::Entries));
    segment.line(lines, 0, 0x1000, 0, 0);
    segment.line(lines, 1, 0x1040, 0, 0);
    let mut observer = Observer::new(folder.path());
    // Line 0: both threads in each bucket. Line 1: one after the other.
    for (bucket, [one, other]) in [[100, 100], [250, 300]].into_iter().enumerate() {
        segment.entry(entries, 0, (0, 1, 0), AccessKind::Add, one);
        segment.entry(entries, 1, (0, 2, 8), AccessKind::Add, other);
        segment.entry(entries, 2 + bucket, (1, 1 + bucket as u32, 0), AccessKind::Add, 5000);
        segment.write(folder.path());
        observer.end_bucket(BUCKET);
    }
    assert_eq!(observer.so_far(), (2, 199 + 300));
    let process = the_process(observer);
    let [together, one_after_the_other] = &process.lines[..] else { panic!("{process:?}") };
    let possible = Possible { changes: 499, same_word: 0, capped: 499, buckets: 2 };
    assert_eq!(together.possible, possible);
    assert_eq!(together.entries.iter().map(|entry| entry.count).sum::<u64>(), 550);
    assert_eq!(one_after_the_other.possible, Possible::default());
    assert_eq!(one_after_the_other.entries.len(), 2);
}

#[test]
fn what_a_thread_did_alone_counts_if_it_was_much() {
    for (accesses, changes) in [(100_u32, 0), (40_000, 800)] {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::new();
        let (lines, entries) =
            (segment.block(RecordKind::Lines), segment.block(RecordKind::Entries));
        segment.line(lines, 0, 0x1000, 0, 0);
        // Thread 1 wrote the second eighth and read the first.
        let used = accesses | 1 << 16 | 2 << 24;
        let fields: [(usize, &[u8]); 2] = [
            (std::mem::offset_of!(Line, before), &1_u32.to_ne_bytes()),
            (std::mem::offset_of!(Line, before_use), &used.to_ne_bytes()),
        ];
        segment.put(lines, RecordKind::Lines, 0, &fields);
        segment.entry(entries, 0, (0, 2, 16), AccessKind::Write, 400);
        segment.write(folder.path());
        let process = the_process(Observer::new(folder.path()));
        assert_eq!(process.lines[0].possible.changes, changes);
    }
}

#[test]
fn records_keep_their_places_when_blocks_of_several_kinds_grow() {
    let folder = tempfile::tempdir().unwrap();
    let mut segment = Segment::new();
    let (lines, first, second) = (
        segment.block(RecordKind::Lines),
        segment.block(RecordKind::Entries),
        segment.block(RecordKind::Entries),
    );
    segment.line(lines, 0, 0x1000, 0, 0);
    segment.entry(second, 0, (0, 2, 0), AccessKind::Write, 10);
    let mut observer = Observer::new(folder.path());
    segment.write(folder.path());
    observer.end_bucket(BUCKET);
    // An entry in the earlier block is seen later.
    segment.entry(first, 0, (0, 1, 0), AccessKind::Write, 20);
    segment.entry(second, 0, (0, 2, 0), AccessKind::Write, 30);
    segment.write(folder.path());
    let process = the_process(observer);
    assert_eq!(process.lines[0].possible.changes, 39);
    let counts: Vec<_> =
        process.lines[0].entries.iter().map(|entry| (entry.thread, entry.count)).collect();
    assert_eq!(counts, [(2, 30), (1, 20)]);
}

#[test]
fn a_line_has_its_allocation_and_a_process_its_threads_and_modules() {
    let folder = tempfile::tempdir().unwrap();
    let mut segment = Segment::new();
    let [classes, lines, threads, modules] =
        [RecordKind::Classes, RecordKind::Lines, RecordKind::Threads, RecordKind::Modules]
            .map(|kind| segment.block(kind));
    segment.put(classes, RecordKind::Classes, 0, &[]);
    let class: [(usize, &[u8]); 4] = [
        (0, &200_u64.to_ne_bytes()),
        (8, &2_u64.to_ne_bytes()),
        (16, &7_u64.to_ne_bytes()),
        (24, &9_u64.to_ne_bytes()),
    ];
    segment.put(classes, RecordKind::Classes, 1, &class);
    segment.line(lines, 0, 0x1040, 0x1010, 1);
    segment.line(lines, 1, 0x2000, 0, 0);
    let thread: [(usize, &[u8]); 3] = [
        (std::mem::offset_of!(Thread, id), &1_u32.to_ne_bytes()),
        (std::mem::offset_of!(Thread, name), b"worker-1"),
        (std::mem::offset_of!(Thread, ended), &50_u64.to_ne_bytes()),
    ];
    segment.put(threads, RecordKind::Threads, 0, &thread);
    // One that lives, this one, got its name after its first access.
    let this = fs::read_link("/proc/thread-self").unwrap();
    let tid: u32 = this.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let thread: [(usize, &[u8]); 3] = [
        (std::mem::offset_of!(Thread, id), &2_u32.to_ne_bytes()),
        (std::mem::offset_of!(Thread, tid), &tid.to_ne_bytes()),
        (std::mem::offset_of!(Thread, name), b"before"),
    ];
    segment.put(threads, RecordKind::Threads, 1, &thread);
    let program: [(usize, &[u8]); 2] =
        [(0, &0x5000_u64.to_ne_bytes()), (size_of::<Module>(), b"/bin/server\0")];
    segment.put(modules, RecordKind::Modules, 0, &program);
    segment.put(modules, RecordKind::Modules, 1, &[(size_of::<Module>(), b"/lib/libc.so.6\0")]);
    segment.write(folder.path());
    let process = the_process(Observer::new(folder.path()));
    let allocation =
        Allocation { size: 200, line_offset: 0x30, stack: vec![7, 9], objects: 3, type_name: None };
    assert_eq!(process.lines[0].allocation, Some(allocation));
    assert_eq!(process.lines[1].allocation, None);
    assert_eq!((&*process.threads[0].name, process.threads[0].lived), ("worker-1", 50));
    let name = fs::read_to_string("/proc/thread-self/comm").unwrap();
    assert_eq!(process.threads[1].name, name.trim_end());
    let paths: Vec<_> = process.modules.iter().map(|module| &*module.path).collect();
    assert_eq!(paths, ["/bin/server", "/lib/libc.so.6"]);
    assert_eq!(process.program.as_deref(), Some("/bin/server"));
    assert_eq!(process.modules[0].bias, 0x5000);
}

#[test]
fn what_no_runtime_writes_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let mut segment = Segment::new();
    let (lines, entries) = (segment.block(RecordKind::Lines), segment.block(RecordKind::Entries));
    segment.line(lines, 0, 0x1000, 0x1000, 77);
    for (at, place) in [u32::MAX, 0xffff].into_iter().enumerate() {
        segment.entry(entries, at, (9, 1, 0), AccessKind::Write, 5);
        segment.put(
            entries,
            RecordKind::Entries,
            at,
            &[(std::mem::offset_of!(Entry, place), &place.to_ne_bytes())],
        );
    }
    // More records than a block has room for, more blocks than there are, a kind that is none.
    segment.0[entries + 4..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
    let odd = segment.block(RecordKind::Lines);
    segment.0[odd..][..4].copy_from_slice(&99_u32.to_ne_bytes());
    segment.header(std::mem::offset_of!(Header, blocks), &u32::MAX.to_ne_bytes());
    segment.write(folder.path());
    let process = the_process(Observer::new(folder.path()));
    assert_eq!(process.lines.len(), 1);
    assert_eq!(process.lines[0].allocation, None);
}

#[test]
fn a_segment_is_waited_for_until_its_header_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let mut observer = Observer::new(folder.path());
    fs::write(folder.path().join("1-0.probe"), "").unwrap();
    fs::write(folder.path().join("other"), "").unwrap();
    observer.end_bucket(Duration::ZERO);
    assert_eq!(observer.so_far(), (0, 0));
    let mut segment = Segment::new();
    let lines = segment.block(RecordKind::Lines);
    segment.line(lines, 0, 0x1000, 0, 0);
    segment.write(folder.path());
    assert_eq!(the_process(observer).lines.len(), 1);
}
