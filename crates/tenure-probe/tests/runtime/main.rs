//! Instrumented programs with the runtime: they do what they did, and their segments say what they contended for.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod allocators;
mod hostile;
mod plugins;
mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use program::{Program, Segment, compilers, finish, succeed};
use tenure_probe::library;
use tenure_probe::segment::{AccessKind, Entry, Line, StartFailure};

const OPTIMISATIONS: [&str; 2] = ["-O0", "-O2"];

/// All compilers, without optimisation and with.
fn builds(source: &str) -> impl Iterator<Item = (&str, Program)> {
    compilers().into_iter().flat_map(move |compiler| {
        OPTIMISATIONS.map(|level| (level, Program::compile_by(compiler, source, &[level])))
    })
}

#[test]
fn contended_lines_are_recorded_and_others_are_not() {
    for (optimisation, program) in builds("contend.c") {
        const ROUNDS: u64 = 300_000;
        let segment = program.run_well(&[&ROUNDS.to_string()]);
        assert_eq!((segment.header.failure, segment.header.dropped), (0, 0));
        let contended = |symbol| {
            let address = program.address(symbol);
            segment
                .line(address)
                .unwrap_or_else(|| panic!("{optimisation}: {symbol} is not contended"))
        };
        // The one that came first had the line to itself until the other came; the rest is counted.
        let most = |count: u64| count > ROUNDS / 4 && count <= ROUNDS;
        let adjacent = contended("adjacent");
        let writes = segment.writes(adjacent);
        let offsets: BTreeSet<u8> = writes.keys().map(|(_, offset)| *offset).collect();
        assert_eq!(offsets, BTreeSet::from([0, 8]), "{writes:?}");
        assert!(writes.values().copied().any(most), "{writes:?}");
        assert!(segment.sum(contended("hot"), AccessKind::Add) > ROUNDS / 2);
        let lock = contended("lock");
        assert!(segment.sum(lock, AccessKind::Lock) > ROUNDS / 32);
        // What recording takes, and waiting: no thread can have waited for longer than it has run.
        assert!((50..1_000_000).contains(&segment.header.access_ps), "{:?}", segment.header);
        let ended = segment.threads.iter().filter(|thread| thread.ended != 0);
        for thread in ended {
            let waited = thread.waited as f64 / thread.cpu as f64;
            assert!((0.02..1.5).contains(&waited), "{optimisation}: {thread:?}");
            // What threads do between accesses is less than what they do.
            let between = thread.between as f64 / (thread.ended - thread.started) as f64;
            assert!((0.001..1.0).contains(&between), "{optimisation}: {thread:?}");
        }
        assert!(
            segment.sum(lock, AccessKind::Lock).abs_diff(segment.sum(lock, AccessKind::Unlock))
                <= 2
        );
        for symbol in ["read_only", "padded"] {
            let line = segment.line(program.address(symbol));
            assert!(line.is_none(), "{optimisation}: {symbol}: {line:?}");
        }
        // Of the heap, only `object` was used by both.
        let heap =
            segment.lines.iter().filter(|line| line.class > 0 && segment.users(line).len() > 1);
        let heap: Vec<_> = heap.collect();
        assert!(
            matches!(heap[..], [line] if segment.classes[line.class as usize].size == 64),
            "{optimisation}: {heap:?}"
        );
    }
}

#[test]
fn blocks_lie_where_they_lie_without_recording() {
    let program = Program::compile("heap.c", &["-O1"]);
    let plain = program.directory.path().join("plain");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/heap.c");
    succeed(Command::new("cc").args(["-O1", "-pthread", source, "-o"]).arg(&plain));
    let said = |output: Output| {
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (blocks, last) = text.split_once("after a thread: ").unwrap();
        (blocks.to_owned(), last.trim().parse::<u64>().unwrap())
    };
    let (blocks, last) = said(finish(&mut Command::new(plain)));
    let (recorded, segments) = program.run(&[]);
    let (recorded_blocks, recorded_last) = said(recorded);
    assert_eq!((segments.len(), recorded_blocks), (1, blocks));
    // A new thread has a word more of glibc's for each library with thread-local variables, in blocks of 16 bytes.
    assert_eq!(recorded_last, (last + 16) % 4096);
}

#[test]
fn it_is_timed_for_how_long_a_thread_stays_away_from_a_line() {
    const ROUNDS: u64 = 100_000;
    let program = Program::compile("visits.c", &["-O2"]);
    let segment = program.run_well(&[&ROUNDS.to_string()]);
    let line = segment.line(program.address("hot")).unwrap();
    let entries = segment.entries.iter().filter(|entry| entry.line == line.index);
    // By thread and, as the code lies in memory, by code.
    let mut visits: BTreeMap<u32, BTreeMap<u64, Entry>> = BTreeMap::new();
    for entry in entries.filter(|entry| entry.gaps > 100) {
        assert!(u64::from(entry.gaps) * 4 < entry.count, "one in 16 is timed: {entry:?}");
        visits.entry(entry.thread).or_default().insert(entry.code, *entry);
    }
    assert!(!visits.is_empty(), "{:?}", segment.entries);
    for visit in visits.values() {
        let means = visit.values().map(|entry| entry.gaps_ns / u64::from(entry.gaps));
        let [first, second] = means.collect::<Vec<_>>()[..] else { panic!("{visit:?}") };
        assert!(second > 4 * first && second <= 20_000, "{visit:?}");
    }
    // Allocations are recorded, which takes less time than the thread has had.
    for thread in segment.threads.iter().filter(|thread| thread.ended != 0) {
        assert!(thread.recording > 0 && thread.recording < thread.cpu, "{thread:?}");
    }
}

#[test]
fn threads_and_modules_have_names_and_allocations_a_stack() {
    let segment = Program::compile("contend.c", &["-O1"]).run_well(&["1000"]);
    assert_eq!(segment.threads.len(), 3);
    for (index, thread) in segment.threads.iter().enumerate() {
        assert_eq!(thread.id as usize, index + 1);
        let name = if index == 0 { b"program" } else { b"worker\0" };
        assert_eq!(&thread.name.to_ne_bytes()[..7], name);
        assert!(thread.accesses > 0);
        assert_eq!(
            thread.ended != 0,
            index > 0,
            "the first thread does not end before its process"
        );
        assert_eq!(thread.cpu != 0, index > 0);
        assert_eq!(thread.routine != 0, index > 0);
        assert!(thread.stack != 0 && thread.stack < thread.stack_end, "{thread:?}");
    }
    assert!(segment.modules.iter().any(|(_, path)| path.contains("libc.so")));
    let (program, path) = &segment.modules[0];
    assert!(path.ends_with("/program"), "{path}");
    assert!((program.start..program.end).contains(&segment.threads[1].routine));
    let object = segment.classes.iter().find(|class| class.size == 64).unwrap();
    assert!(object.depth >= 1);
}

#[test]
fn atomic_operations_give_what_they_should() {
    for (_, program) in builds("atomics.c") {
        program.run_well(&[]);
    }
}

#[test]
fn cpp_allocates_and_fails_to_as_without_the_runtime() {
    for compiler in compilers() {
        let program = Program::compile_by(compiler, "cpp.cpp", &["-O2", "-std=c++17"]);
        let segment = program.run_well(&[]);
        // A line can have several objects.
        let sizes = segment.entries.iter().map(|entry| segment.classes[entry.class as usize].size);
        let sizes: BTreeSet<_> = sizes.collect();
        assert!(sizes.contains(&16), "the session: {sizes:?}");
        assert!(sizes.contains(&128), "the aligned object: {sizes:?}");
    }
}

#[test]
fn each_process_has_a_segment_of_its_own() {
    let program = Program::compile("life.c", &["-O1"]);
    let counted = |segments: &[Segment]| -> Vec<u64> {
        let address = program.address("shared");
        segments
            .iter()
            .map(|it| it.line(address).map_or(0, |line| it.sum(line, AccessKind::Add)))
            .collect()
    };
    let (output, segments) = program.run(&["fork"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(segments.len(), 4);
    let first =
        segments.iter().find(|segment| segment.header.parent == std::process::id()).unwrap();
    assert_eq!(
        segments.iter().filter(|segment| segment.header.parent == first.header.pid).count(),
        3
    );
    for count in counted(&segments) {
        assert!(count > 0 && count <= 4_000_000, "{count}");
    }
}

#[test]
fn a_process_that_calls_exec_leaves_what_it_recorded() {
    let (output, segments) = Program::compile("life.c", &["-O1"]).run(&["exec"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(segments.len(), 2);
    assert_eq!(segments[0].header.pid, segments[1].header.pid);
}

#[test]
fn what_processes_do_they_can_still_do() {
    let program = Program::compile("life.c", &["-O1"]);
    for what in ["threads", "exits", "signals", "closes", "realloc", "large", "library"] {
        let (output, segments) = program.run(&[what]);
        assert!(output.status.success(), "{what}: {output:?}");
        let segment = segments.last().unwrap();
        match what {
            "threads" => assert_eq!(segment.threads.len(), 1001),
            "large" => assert_eq!(segment.lines.len(), 1, "of the lock alone"),
            "exits" => assert_eq!(segment.threads.len(), 20_001),
            "library" => assert!(segment.modules.iter().any(|(_, path)| path.contains("libm.so"))),
            _ => {}
        }
        program.clear();
    }
}

#[test]
fn objects_that_come_and_go_need_no_more_records_than_there_are_at_once() {
    let segment = Program::compile("life.c", &["-O1"]).run_well(&["churn"]);
    let is_object = |line: &&Line| segment.classes[line.class as usize].size == 64;
    let records: Vec<_> = segment.lines.iter().filter(is_object).collect();
    let place = |line: &Line| line.address.wrapping_sub(line.object).cast_signed();
    for &line in &records {
        let alike = records.iter().filter(|other| place(other) == place(line)).count();
        // 16 in slots and one in the hands of each of 6 threads.
        assert!(alike <= 22, "{alike} records of lines {} bytes from the object", place(line));
        // What was counted of an object that is gone was at the same place of it.
        let entries = segment.entries.iter();
        for entry in entries.filter(|it| it.line == line.index && it.class == line.class) {
            let counted = i64::from(entry.into_object) - i64::from(entry.offset());
            assert_eq!(counted, place(line), "{entry:?} of {line:?}");
        }
    }
    let stood_for: u64 = records.iter().map(|line| line.objects).sum();
    let records = records.len();
    assert!(stood_for > 50, "{records} records have stood for {stood_for} objects");
}

#[test]
fn a_process_that_is_killed_leaves_what_it_recorded() {
    let program = Program::compile("life.c", &["-O1"]);
    for (what, signal) in [("crash", 11), ("killed", 9)] {
        let (output, segments) = program.run(&[what]);
        assert_eq!(output.status.signal(), Some(signal));
        let segment = segments.last().unwrap();
        let line = segment.line(program.address("shared")).unwrap();
        assert!(segment.sum(line, AccessKind::Add) > 0, "{what}");
    }
}

#[test]
fn a_program_runs_where_nothing_can_be_recorded() {
    let program = Program::compile("life.c", &["-O1"]);
    for directory in ["/no/such/directory", ""] {
        let output = finish(program.command().arg("once").env("TENURE_PROBE_DIR", directory));
        assert!(output.status.success(), "{output:?}");
    }
    assert!(program.segments().is_empty());

    let limited = |limits: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limits}; exec \"$0\" once")]).arg(&program.path);
        let output = finish(shell.env("TENURE_PROBE_DIR", program.segments_path()));
        assert!(output.status.success(), "{limits}: {output:?}");
        program.segments()
    };
    // In blocks of 512 bytes: the segment is as large as files may be.
    let segments = limited("ulimit -f 4096");
    assert_eq!(segments[0].header.most_blocks, 128);
    program.clear();
    let segments = limited("ulimit -v 4000000");
    assert_eq!(segments[0].header.failure, StartFailure::NoAddressSpace as u32);
}

#[test]
fn lines_of_128_bytes_have_a_runtime_of_their_own() {
    let program = Program::compile("contend.c", &["-O1"]);
    std::fs::write(program.directory.path().join("libtsan.so.2"), library(128).unwrap()).unwrap();
    let segment = program.run_well(&["300000"]);
    assert_eq!(segment.header.line_bytes, 128);
    assert!(segment.lines.iter().all(|line| line.address % 128 == 0));
    let (module, _) = &segment.modules[0];
    let adjacent = (program.address("adjacent") + module.bias) & !127;
    assert!(segment.lines.iter().any(|line| line.address == adjacent));
    assert_eq!(library(32), None);
}

#[test]
fn a_full_segment_counts_what_it_has_no_room_for() {
    let program = Program::compile("life.c", &["-O1"]);
    let output = finish(program.command().arg("exits").env("TENURE_PROBE_MEMORY", "524288"));
    assert!(output.status.success(), "{output:?}");
    let segment = program.segments().remove(0);
    assert_eq!(segment.header.most_blocks, 32);
    assert!(segment.header.dropped > 0);
}
