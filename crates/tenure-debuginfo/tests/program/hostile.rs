//! Files that no compiler wrote: an error in one line or fewer names, soon, and never a panic.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::assembler::{Assembler, FIRST};
use super::compile::{Line, Sample};
use tenure_debuginfo::program::Program;

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
        // Most of the file is strings; many changes at once hit references to them.
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

/// A unit's root and a function, both from 0x1000 to 0x2000, and the abbreviation of a block of the same range in it.
fn function(tag: gimli::DwTag) -> (Assembler, Vec<u8>, Vec<u8>) {
    let mut assembler = Assembler::default();
    let range =
        [(gimli::DW_AT_low_pc, gimli::DW_FORM_addr), (gimli::DW_AT_high_pc, gimli::DW_FORM_data4)];
    let addresses = [0x1000_u64.to_le_bytes().to_vec(), 0x1000_u32.to_le_bytes().to_vec()].concat();
    let with = |code: u8| [vec![code], addresses.clone()].concat();
    let root = assembler.abbreviation(gimli::DW_TAG_compile_unit, true, &range);
    let outer = assembler.abbreviation(gimli::DW_TAG_subprogram, true, &range);
    let block = assembler.abbreviation(tag, true, &range);
    (assembler, [with(root), with(outer)].concat(), with(block))
}

fn frames(assembler: Assembler) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made");
    fs::write(&path, assembler.finish()).unwrap();
    let start = Instant::now();
    let frames = Program::open(&path).unwrap().frames(0x1800);
    assert!(start.elapsed() < Duration::from_secs(20), "it ends");
    frames.len()
}

#[test]
fn blocks_and_calls_in_each_other_end_no_stack() {
    for (tag, expected) in
        [(gimli::DW_TAG_lexical_block, 1), (gimli::DW_TAG_inlined_subroutine, 100_001)]
    {
        let (mut assembler, mut entries, block) = function(tag);
        entries.extend(block.repeat(100_000));
        entries.extend([0; 100_002]);
        assembler.unit(&entries);
        assert_eq!(frames(assembler), expected, "{tag}");
    }
}

#[test]
fn entries_that_complete_each_other_in_circles_end() {
    let (mut assembler, entries, _) = function(gimli::DW_TAG_lexical_block);
    let of = [
        (gimli::DW_AT_low_pc, gimli::DW_FORM_addr),
        (gimli::DW_AT_high_pc, gimli::DW_FORM_data4),
        (gimli::DW_AT_abstract_origin, gimli::DW_FORM_ref4),
    ];
    let call = assembler.abbreviation(gimli::DW_TAG_inlined_subroutine, false, &of);
    let at = u32::try_from(FIRST + entries.len()).unwrap();
    let range = &entries[1..13];
    let entries = [&entries[..], &[call], range, &at.to_le_bytes(), &[0, 0]].concat();
    assembler.unit(&entries);
    assert_eq!(frames(assembler), 2);
}

#[test]
fn a_hundred_thousand_units_of_the_same_addresses_take_no_longer_than_one() {
    let (mut assembler, mut entries, _) = function(gimli::DW_TAG_lexical_block);
    // No function: each unit is asked in vain.
    entries.truncate(13);
    entries.push(0);
    for _ in 0..100_000 {
        assembler.unit(&entries);
    }
    assert_eq!(frames(assembler), 0);
}
