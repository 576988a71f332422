//! Instrumented programs with the runtime: they do what they did, and their segments say what they contended for.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tenure_probe::library;
use tenure_probe::segment::{
    Access, BLOCK_BYTES, Block, Class, Entry, Failure, Header, Kind, Line, MAGIC, MOST_FRAMES,
    Module, RECORDS_START, Thread,
};

/// A program that is compiled for the runtime, in a directory of its own.
struct Program {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Program {
    fn compile(source: &str, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = directory.path().join("libtsan.so.2");
        std::fs::write(&runtime, library(64).expect("this target has a runtime")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let compiler = if source.extension() == Some(OsStr::new("cpp")) { "c++" } else { "cc" };
        let (path, object) = (directory.path().join("program"), directory.path().join("program.o"));
        let mut compile = Command::new(compiler);
        compile.args(["-g", "-fno-omit-frame-pointer", "-fsanitize=thread", "-c"]).args(options);
        succeed(compile.arg(source).arg("-o").arg(&object));
        let mut link = Command::new(compiler);
        link.arg(&object).arg(&runtime).arg(format!("-Wl,-rpath,{}", directory.path().display()));
        succeed(link.args(["-pthread", "-o"]).arg(&path));
        std::fs::create_dir(directory.path().join("segments")).unwrap();
        Self { directory, path }
    }

    fn segments_path(&self) -> PathBuf {
        self.directory.path().join("segments")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("TENURE_PROBE_DIR", self.segments_path());
        command
    }

    /// Runs it, and returns what its processes have recorded.
    fn run(&self, arguments: &[&str]) -> (Output, Vec<Segment>) {
        (finish(self.command().args(arguments)), self.segments())
    }

    /// Runs it well, as one process.
    fn run_well(&self, arguments: &[&str]) -> Segment {
        let (output, mut segments) = self.run(arguments);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(segments.len(), 1);
        segments.remove(0)
    }

    fn segments(&self) -> Vec<Segment> {
        let files = std::fs::read_dir(self.segments_path()).unwrap();
        files.map(|file| Segment::read(&file.unwrap().path())).collect()
    }

    /// The address of a variable in the file.
    fn address(&self, symbol: &str) -> u64 {
        let output = succeed(Command::new("nm").arg(&self.path));
        let line =
            output.lines().find(|line| line.split_whitespace().last() == Some(symbol)).unwrap();
        u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
    }
}

/// Runs a command that takes seconds, and fails if it takes minutes.
fn finish(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{command:?} hangs: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a process has recorded.
#[derive(Debug)]
struct Segment {
    header: Header,
    modules: Vec<(Module, String)>,
    threads: Vec<Thread>,
    classes: Vec<Class>,
    lines: Vec<Line>,
    entries: Vec<Entry>,
}

impl Segment {
    fn read(path: &Path) -> Self {
        use std::io::Read;
        let mut bytes = Vec::new();
        let mut file = std::fs::File::open(path).unwrap();
        Read::by_ref(&mut file).take(BLOCK_BYTES as u64).read_to_end(&mut bytes).unwrap();
        let header = Header::read(&bytes);
        assert_eq!(header.magic, u64::from_ne_bytes(MAGIC));
        let len = header.blocks as usize * BLOCK_BYTES;
        file.take((len - BLOCK_BYTES) as u64).read_to_end(&mut bytes).unwrap();
        let mut segment = Self {
            header,
            modules: Vec::new(),
            threads: Vec::new(),
            classes: Vec::new(),
            lines: Vec::new(),
            entries: Vec::new(),
        };
        for block in bytes.chunks(BLOCK_BYTES).skip(1) {
            let Block { kind, used } = Block::read(block);
            let kind = Kind::from_number(kind).unwrap();
            assert!(used as usize <= kind.per_block());
            for record in block[RECORDS_START..].chunks(kind.stride()).take(used as usize) {
                match kind {
                    Kind::Modules => {
                        let path =
                            record[size_of::<Module>()..].split(|byte| *byte == 0).next().unwrap();
                        segment.modules.push((
                            Module::read(record),
                            String::from_utf8_lossy(path).into_owned(),
                        ));
                    }
                    Kind::Threads => segment.threads.push(Thread::read(record)),
                    Kind::Classes => segment.classes.push(Class::read(record)),
                    Kind::Lines => segment.lines.push(Line::read(record)),
                    Kind::Entries => segment.entries.push(Entry::read(record)),
                }
            }
        }
        segment.check();
        segment
    }

    /// Records only name records that are there.
    fn check(&self) {
        for (index, line) in self.lines.iter().enumerate() {
            assert_eq!(line.index as usize, index);
            assert!((line.class as usize) < self.classes.len());
            assert_eq!(line.address % u64::from(self.header.line_bytes), 0);
            if line.class > 0 {
                let class = self.classes[line.class as usize];
                let end = line.object + class.size;
                assert!(
                    line.object < line.address + u64::from(self.header.line_bytes)
                        && line.address < end
                );
            }
        }
        for entry in &self.entries {
            assert!((entry.line as usize) < self.lines.len());
            assert!(self.threads.iter().any(|thread| thread.id == entry.thread));
            assert!(
                u32::from(entry.offset()) < self.header.line_bytes
                    && entry.size() > 0
                    && entry.code > 0
            );
            assert!(entry.access().is_some());
            let class = self.classes[entry.class as usize];
            assert!(
                entry.class == 0 || u64::from(entry.into_object) < class.size,
                "{entry:?} {class:?}"
            );
        }
        for class in &self.classes[1..] {
            assert!((1..=MOST_FRAMES as u64).contains(&class.depth));
        }
    }

    /// The line of an address in the program's file.
    fn line(&self, address: u64) -> Option<&Line> {
        let (program, _) = &self.modules[0];
        self.lines.iter().find(|line| line.address == (address + program.bias) & !63)
    }

    /// How often each thread wrote each offset of a line.
    fn writes(&self, line: &Line) -> BTreeMap<(u32, u8), u64> {
        let mut writes = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.line == line.index) {
            if entry.access().unwrap().writes() {
                *writes.entry((entry.thread, entry.offset())).or_default() += entry.count;
            }
        }
        writes
    }

    /// All that was done to a line, by kind.
    fn sum(&self, line: &Line, access: Access) -> u64 {
        let entries = self.entries.iter().filter(|entry| entry.line == line.index);
        entries.filter(|entry| entry.access() == Some(access)).map(|entry| entry.count).sum()
    }

    /// Threads that used a line after it was found to be contended.
    fn users(&self, line: &Line) -> BTreeSet<u32> {
        self.entries
            .iter()
            .filter(|entry| entry.line == line.index)
            .map(|entry| entry.thread)
            .collect()
    }
}

const OPTIMISATIONS: [&str; 2] = ["-O0", "-O2"];

#[test]
fn contended_lines_are_recorded_and_others_are_not() {
    for optimisation in OPTIMISATIONS {
        const ROUNDS: u64 = 300_000;
        let program = Program::compile("contend.c", &[optimisation]);
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
        assert!(segment.sum(contended("hot"), Access::Add) > ROUNDS / 2);
        let lock = contended("lock");
        assert!(segment.sum(lock, Access::Lock) > ROUNDS / 32);
        assert!(segment.sum(lock, Access::Lock).abs_diff(segment.sum(lock, Access::Unlock)) <= 2);
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
fn threads_and_modules_have_names_and_allocations_a_stack() {
    let segment = Program::compile("contend.c", &["-O1"]).run_well(&["1000"]);
    assert_eq!(segment.threads.len(), 3);
    for (index, thread) in segment.threads.iter().enumerate() {
        assert_eq!(thread.id as usize, index + 1);
        assert_eq!(&thread.name.to_ne_bytes()[..7], b"program");
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
    for optimisation in OPTIMISATIONS {
        Program::compile("atomics.c", &[optimisation]).run_well(&[]);
    }
}

#[test]
fn cpp_allocates_and_fails_to_as_without_the_runtime() {
    let segment = Program::compile("cpp.cpp", &["-O2", "-std=c++17"]).run_well(&[]);
    let sizes: BTreeSet<_> =
        segment.lines.iter().map(|line| segment.classes[line.class as usize].size).collect();
    assert!(sizes.contains(&16), "the session: {sizes:?}");
    assert!(sizes.contains(&128), "the aligned object: {sizes:?}");
}

#[test]
fn each_process_has_a_segment_of_its_own() {
    let program = Program::compile("life.c", &["-O1"]);
    let counted = |segments: &[Segment]| -> Vec<u64> {
        let address = program.address("shared");
        segments
            .iter()
            .map(|it| it.line(address).map_or(0, |line| it.sum(line, Access::Add)))
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
        for file in std::fs::read_dir(program.segments_path()).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn objects_that_come_and_go_need_no_more_records_than_there_are_at_once() {
    let segment = Program::compile("life.c", &["-O1"]).run_well(&["churn"]);
    let objects = |line: &&Line| segment.classes[line.class as usize].size == 64;
    let stood_for: u32 = segment.lines.iter().filter(objects).map(|line| line.objects).sum();
    let records = segment.lines.iter().filter(objects).count();
    // 16 in slots and one in the hands of each of 6 threads.
    assert!(records <= 22, "{records} records");
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
        assert!(segment.sum(line, Access::Add) > 0, "{what}");
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
    std::fs::remove_dir_all(program.segments_path()).unwrap();
    std::fs::create_dir(program.segments_path()).unwrap();
    let segments = limited("ulimit -v 4000000");
    assert_eq!(segments[0].header.failure, Failure::NoAddressSpace as u32);
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
