//! Programs that are compiled for the runtime, and what they have recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tenure_probe::library;
use tenure_probe::segment::{
    AccessKind, BLOCK_BYTES, Block, Class, Entry, Header, Line, MAGIC, MAX_FRAMES, Module,
    RECORDS_START, RecordKind, Thread,
};

/// A compiler of C, and the same for C++.
#[derive(Clone, Copy)]
pub(crate) struct Compiler([&'static str; 2]);

pub(crate) const USUAL: Compiler = Compiler(["cc", "c++"]);

/// The usual one, and clang where it is installed.
pub(crate) fn compilers() -> Vec<Compiler> {
    let clang = Compiler(["clang", "clang++"]);
    if Command::new("clang").arg("--version").output().is_ok() {
        return vec![USUAL, clang];
    }
    assert!(!is_required(), "clang is not installed, and TENURE_PACKAGES asks for it");
    eprintln!("skipped: clang is not installed");
    vec![USUAL]
}

/// Whether tests fail for want of what `ci/packages.sh` installs, instead of being skipped.
pub(crate) fn is_required() -> bool {
    std::env::var("TENURE_PACKAGES").is_ok_and(|value| value == "required")
}

/// A program that is compiled for the runtime, in a directory of its own.
pub(crate) struct Program {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Program {
    pub(crate) fn compile(source: &str, options: &[&str]) -> Self {
        Self::compile_by(USUAL, source, options)
    }

    pub(crate) fn compile_by(compiler: Compiler, source: &str, options: &[&str]) -> Self {
        Self::compile_with(compiler, source, options, &[])
    }

    /// The same, linked with libraries.
    pub(crate) fn compile_with(
        compiler: Compiler,
        source: &str,
        options: &[&str],
        libraries: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = directory.path().join("libtsan.so.2");
        std::fs::write(&runtime, library(64).expect("this target has a runtime")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let compiler = compiler.0[usize::from(source.extension() == Some(OsStr::new("cpp")))];
        let (path, object) = (directory.path().join("program"), directory.path().join("program.o"));
        let mut compile = Command::new(compiler);
        compile.args(["-g", "-fno-omit-frame-pointer", "-fsanitize=thread", "-c"]).args(options);
        succeed(compile.arg(source).arg("-o").arg(&object));
        let mut link = Command::new(compiler);
        link.arg(&object).arg(&runtime).arg(format!("-Wl,-rpath,{}", directory.path().display()));
        link.args(["-Wl,--push-state,--no-as-needed"]).args(libraries).arg("-Wl,--pop-state");
        succeed(link.args(["-pthread", "-o"]).arg(&path));
        std::fs::create_dir(directory.path().join("segments")).unwrap();
        Self { directory, path }
    }

    pub(crate) fn segments_path(&self) -> PathBuf {
        self.directory.path().join("segments")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("TENURE_PROBE_DIR", self.segments_path());
        command
    }

    /// Runs it, and returns what its processes have recorded.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Output, Vec<Segment>) {
        (finish(self.command().args(arguments)), self.segments())
    }

    /// Runs it well, as one process.
    pub(crate) fn run_well(&self, arguments: &[&str]) -> Segment {
        let (output, mut segments) = self.run(arguments);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(segments.len(), 1);
        segments.remove(0)
    }

    /// Removes what was recorded.
    pub(crate) fn clear(&self) {
        std::fs::remove_dir_all(self.segments_path()).unwrap();
        std::fs::create_dir(self.segments_path()).unwrap();
    }

    pub(crate) fn segments(&self) -> Vec<Segment> {
        let files = std::fs::read_dir(self.segments_path()).unwrap();
        files.map(|file| Segment::read(&file.unwrap().path())).collect()
    }

    /// The address of a variable in the file.
    pub(crate) fn address(&self, symbol: &str) -> u64 {
        let output = succeed(Command::new("nm").arg(&self.path));
        let line =
            output.lines().find(|line| line.split_whitespace().last() == Some(symbol)).unwrap();
        u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
    }
}

/// Runs a command that takes seconds, and fails if it takes minutes.
pub(crate) fn finish(command: &mut Command) -> Output {
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

pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a process has recorded.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) modules: Vec<(Module, String)>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) classes: Vec<Class>,
    pub(crate) lines: Vec<Line>,
    pub(crate) entries: Vec<Entry>,
}

impl Segment {
    pub(crate) fn read(path: &Path) -> Self {
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
            let kind = RecordKind::from_number(kind).unwrap();
            assert!(used as usize <= kind.per_block());
            for record in block[RECORDS_START..].chunks(kind.stride()).take(used as usize) {
                match kind {
                    RecordKind::Modules => {
                        let path =
                            record[size_of::<Module>()..].split(|byte| *byte == 0).next().unwrap();
                        segment.modules.push((
                            Module::read(record),
                            String::from_utf8_lossy(path).into_owned(),
                        ));
                    }
                    RecordKind::Threads => segment.threads.push(Thread::read(record)),
                    RecordKind::Classes => segment.classes.push(Class::read(record)),
                    RecordKind::Lines => segment.lines.push(Line::read(record)),
                    RecordKind::Entries => segment.entries.push(Entry::read(record)),
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
            assert!((1..=MAX_FRAMES as u64).contains(&class.depth));
        }
    }

    /// The line of an address in the program's file.
    pub(crate) fn line(&self, address: u64) -> Option<&Line> {
        let (program, _) = &self.modules[0];
        self.lines.iter().find(|line| line.address == (address + program.bias) & !63)
    }

    /// How often each thread wrote each offset of a line.
    pub(crate) fn writes(&self, line: &Line) -> BTreeMap<(u32, u8), u64> {
        let mut writes = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.line == line.index) {
            if entry.access().unwrap().writes() {
                *writes.entry((entry.thread, entry.offset())).or_default() += entry.count;
            }
        }
        writes
    }

    /// All that was done to a line, by kind.
    pub(crate) fn sum(&self, line: &Line, access: AccessKind) -> u64 {
        let entries = self.entries.iter().filter(|entry| entry.line == line.index);
        entries.filter(|entry| entry.access() == Some(access)).map(|entry| entry.count).sum()
    }

    /// Threads that used a line after it was found to be contended.
    pub(crate) fn users(&self, line: &Line) -> BTreeSet<u32> {
        self.entries
            .iter()
            .filter(|entry| entry.line == line.index)
            .map(|entry| entry.thread)
            .collect()
    }
}
