use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tenure_debuginfo::program::Program;

/// Sources of the samples, for the tests of this crate and of the one that analyses code.
const SAMPLES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure-debuginfo/tests/program/samples");

pub(crate) struct Sample {
    folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Sample {
    /// A file of `tests/program/samples`, for this machine. None without its compiler.
    pub(crate) fn new(source: &str, flags: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let samples = Path::new(SAMPLES);
        let name = source.replace('.', "_");
        let path = folder.path().join(name);
        let compiler = match source.rsplit('.').next().unwrap() {
            "c" => "gcc",
            "cpp" => "g++",
            _ => "rustc",
        };
        let mut command = Command::new(compiler);
        command.current_dir(samples).args(flags).arg("-o").arg(&path).arg(source);
        if compiler == "rustc" {
            command.args(["--edition", "2024", "-A", "warnings"]);
        } else {
            command.arg("-pthread");
        }
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { folder, path })
    }

    pub(crate) fn open(&self) -> Program {
        Program::open(&self.path).unwrap()
    }

    /// Without symbols and debugging information. None without `strip`.
    pub(crate) fn stripped(&self) -> Option<PathBuf> {
        let path = self.folder.path().join("stripped");
        let status = Command::new("strip").arg("-o").arg(&path).arg(&self.path).status().ok()?;
        assert!(status.success());
        Some(path)
    }

    /// Its output: see `samples/hook.h`.
    pub(crate) fn run(&self) -> Vec<Line> {
        let output = Command::new(&self.path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(Line::parse).collect()
    }

    /// The line of the sample's source that ends with a comment.
    pub(crate) fn line_of(source: &str, comment: &str) -> u32 {
        let path = Path::new(SAMPLES).join(source);
        let text = fs::read_to_string(path).unwrap();
        let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
        u32::try_from(at.unwrap()).unwrap() + 1
    }
}

pub(crate) struct Line {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) numbers: Vec<u64>,
}

impl Line {
    fn parse(line: &str) -> Self {
        let (kind, rest) = line.split_once(' ').unwrap();
        let (mut name, mut numbers) = (String::new(), Vec::new());
        for word in rest.split(' ') {
            match u64::from_str_radix(word, 16) {
                // `allocate 96`: the size is part of the name.
                Ok(number) if !name.is_empty() && name != "allocate" => numbers.push(number),
                _ if name.is_empty() => name = word.to_owned(),
                _ => name = format!("{name} {word}"),
            }
        }
        Self { kind: kind.to_owned(), name, numbers }
    }
}

pub(crate) fn numbers<'l>(lines: &'l [Line], kind: &str, name: &str) -> &'l [u64] {
    let mut all = lines.iter().filter(|line| line.kind == kind && line.name == name);
    let found = all.next().unwrap_or_else(|| panic!("no {kind} {name}"));
    assert!(all.next().is_none(), "several: {kind} {name}");
    &found.numbers
}

/// At both levels of optimisation, with debugging information or without.
pub(crate) fn each(source: &str, debug: bool, claim: impl Fn(&str, &Sample)) {
    for level in ["0", "2"] {
        let level = match source.ends_with(".rs") {
            true => format!("-Copt-level={level}"),
            false => format!("-O{level}"),
        };
        let flags = if debug { vec![&*level, "-g"] } else { vec![&*level] };
        if let Some(sample) = Sample::new(source, &flags) {
            claim(&format!("{source} {flags:?}"), &sample);
        }
    }
}
