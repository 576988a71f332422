//! Files that no compiler wrote: an error in one line or fewer names, soon, and never a panic.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::compile::{Line, Sample};
use tenure_types::code::Program;

/// Asks everything of a file.
fn survives(path: &Path, lines: &[Line]) {
    let start = Instant::now();
    match Program::open(path) {
        Err(error) => {
            let error = error.to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "{error:?}");
        }
        Ok(program) => {
            for line in lines {
                for address in &line.numbers {
                    let _ = program.frames(*address);
                    if let Some(object) = program.variable(*address) {
                        let _ = program.member(&object, address.wrapping_sub(object.address), 8);
                    }
                }
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20), "it ends");
}

#[test]
fn changed_and_cut_files_are_refused_or_read() {
    let Some(sample) = Sample::new("plain.cpp", &["-g", "-O2"]) else { return };
    let lines = sample.run();
    let bytes = fs::read(&sample.path).unwrap();
    let hostile = sample.path.with_extension("hostile");
    for turn in 0..120 {
        let mut changed = bytes.clone();
        // Most of the file is strings; what refers to them is hit by many changes at once.
        for hit in 0..64_usize {
            let at = (turn * 7919 + hit * 104_729) % bytes.len();
            changed[at] ^= 1 << ((turn + hit) % 8);
        }
        fs::write(&hostile, &changed).unwrap();
        survives(&hostile, &lines);
    }
    for length in (0..bytes.len()).step_by(bytes.len() / 20) {
        fs::write(&hostile, &bytes[..length]).unwrap();
        survives(&hostile, &lines);
    }
}

#[test]
fn what_is_no_program_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = Program::open(&folder.path().join("missing")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read"), "{error}");
    let text = folder.path().join("text");
    fs::write(&text, "#!/bin/sh\n").unwrap();
    let error = Program::open(&text).unwrap_err().to_string();
    assert!(error.contains("is not a program or library"), "{error}");
}
