//! Files that no compiler wrote: an error in one line, soon, and never a panic.

use std::fs;
use std::time::{Duration, Instant};

use gimli::{
    DW_AT_byte_size, DW_AT_data_member_location, DW_AT_declaration, DW_AT_name,
    DW_AT_specification, DW_AT_type, DW_FORM_data1, DW_FORM_flag_present, DW_FORM_ref4,
    DW_FORM_string, DW_FORM_strp, DW_TAG_compile_unit, DW_TAG_const_type, DW_TAG_member,
    DW_TAG_namespace, DW_TAG_pointer_type, DW_TAG_structure_type, DW_TAG_typedef,
};

use super::assembler::{Assembler, FIRST};
use super::{path, try_read};

/// Asserts what every reading has to hold.
fn survives(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile");
    fs::write(&file, bytes).unwrap();
    let start = Instant::now();
    let result = try_read(&file);
    assert!(start.elapsed() < Duration::from_secs(20), "it ends");
    if let Err(error) = &result {
        assert!(!error.is_empty() && !error.contains('\n'), "{error:?}");
    }
    result.map(drop)
}

#[test]
fn files_cut_anywhere_are_refused_or_read() {
    for name in ["kinds-gcc-5.o", "kinds-zlib-gnu.o", "library.a", "lto.so"] {
        let bytes = fs::read(path(name)).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            let _ = survives(&bytes[..length]);
        }
        assert!(survives(&bytes[..bytes.len() / 2]).is_err(), "{name}");
    }
}

#[test]
fn every_changed_byte_is_refused_or_read() {
    for name in ["dst.o", "kinds-units-4.o"] {
        let bytes = fs::read(path(name)).unwrap();
        for at in (0..bytes.len()).step_by(13) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let _ = survives(&changed);
            changed[at] = 0xff;
            let _ = survives(&changed);
        }
    }
}

#[test]
fn an_empty_file_and_one_of_zeros_are_refused() {
    assert!(survives(&[]).is_err());
    assert!(survives(&[0; 4096]).is_err());
}

#[test]
fn a_section_that_claims_to_become_huge_is_refused() {
    let mut bytes = fs::read(path("kinds-zlib.o")).unwrap();
    // The header of a compressed section: kind, reserved, size, alignment.
    let header = [1, 0, 0, 0, 0, 0, 0, 0];
    let mut claimed = 0;
    for at in 0..bytes.len() - 24 {
        let size = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        if bytes[at..at + 8] == header && (1000..1 << 20).contains(&size) && bytes[at + 16] == 1 {
            bytes[at + 8..at + 16].copy_from_slice(&(1_u64 << 40).to_le_bytes());
            claimed += 1;
        }
    }
    assert!(claimed > 0);
    let error = survives(&bytes).unwrap_err();
    assert!(error.contains("does not compress that well"), "{error}");
}

fn started() -> Assembler {
    let mut assembler = Assembler::default();
    assert_eq!(assembler.abbreviation(DW_TAG_compile_unit, true, &[]), 1);
    assembler
}

/// The abbreviation of a struct that says its name, and its size in a byte.
fn structure(assembler: &mut Assembler, has_members: bool) -> u8 {
    let of = [(DW_AT_name, DW_FORM_string), (DW_AT_byte_size, DW_FORM_data1)];
    assembler.abbreviation(DW_TAG_structure_type, has_members, &of)
}

fn reference(to: usize) -> [u8; 4] {
    u32::try_from(to).unwrap().to_le_bytes()
}

#[test]
fn a_struct_that_contains_itself_is_refused() {
    let mut assembler = started();
    let structure = structure(&mut assembler, true);
    let at = [(DW_AT_type, DW_FORM_ref4), (DW_AT_data_member_location, DW_FORM_data1)];
    let member = assembler.abbreviation(DW_TAG_member, false, &at);
    let alias = assembler.abbreviation(DW_TAG_typedef, false, &[(DW_AT_type, DW_FORM_ref4)]);
    // root, struct "s" of 8 bytes { member of the alias }, alias of the struct
    let mut entries = vec![1, structure, b's', 0, 8, member];
    let alias_at = FIRST + entries.len() + 4 + 1 + 1;
    entries.extend(reference(alias_at));
    entries.extend([0, 0, alias]);
    entries.extend(reference(FIRST + 1));
    entries.push(0);
    assembler.unit(&entries);
    let error = survives(&assembler.finish()).unwrap_err();
    assert!(error.contains("`s` contains itself") || error.contains("`` contains"), "{error}");
    assert!(error.contains("unit at .debug_info offset 0x0"), "{error}");
}

#[test]
fn a_malformed_unit_is_left_out_and_said() {
    let mut assembler = started();
    let structure = structure(&mut assembler, false);
    assembler.unit(&[1, structure, b'a', 0, 8, 0]);
    // An abbreviation that is not there.
    assembler.unit(&[1, structure, b'b', 0, 8, 99, 0]);
    assembler.unit(&[1, structure, b'c', 0, 8, 0]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile");
    fs::write(&file, assembler.finish()).unwrap();
    let model = try_read(&file).unwrap();
    let names: Vec<_> = model.composites().map(|(_, ty, _)| &*ty.name).collect();
    assert_eq!(names, ["a", "c"]);
    let [skipped] = model.skipped() else { panic!("{:?}", model.skipped()) };
    assert!(skipped.contains("unit at .debug_info offset"), "{skipped}");
}

#[test]
fn pointers_and_qualifiers_in_circles_end() {
    let to = [(DW_AT_type, DW_FORM_ref4)];
    let circle = |tag| {
        let mut assembler = started();
        let itself = assembler.abbreviation(tag, false, &to);
        let alias = assembler.abbreviation(DW_TAG_typedef, false, &to);
        let mut entries = vec![1, itself];
        entries.extend(reference(FIRST + 1));
        entries.push(alias);
        entries.extend(reference(FIRST + 1));
        entries.push(0);
        assembler.unit(&entries);
        survives(&assembler.finish())
    };
    let _ = circle(DW_TAG_pointer_type);
    assert!(circle(DW_TAG_const_type).unwrap_err().contains("contains itself"));
}

#[test]
fn a_hundred_thousand_types_in_each_other_end_no_stack() {
    for in_namespaces in [false, true] {
        let mut assembler = started();
        let structure = structure(&mut assembler, true);
        let named = [(DW_AT_name, DW_FORM_string)];
        let namespace = assembler.abbreviation(DW_TAG_namespace, true, &named);
        let outer =
            if in_namespaces { vec![namespace, b'n', 0] } else { vec![structure, b's', 0, 8] };
        let mut entries = vec![1];
        entries.extend(outer.repeat(100_000));
        entries.extend([structure, b't', 0, 8]);
        entries.extend([0; 100_002]);
        assembler.unit(&entries);
        let _ = survives(&assembler.finish());
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_types_is_refused() {
    let chain = |tag| {
        let mut assembler = started();
        let code = assembler.abbreviation(tag, false, &[(DW_AT_type, DW_FORM_ref4)]);
        let mut entries = vec![1];
        for link in 1..=100_000 {
            entries.push(code);
            entries.extend(reference(FIRST + 1 + link * 5));
        }
        entries.extend([0; 6]);
        assembler.unit(&entries);
        survives(&assembler.finish())
    };
    assert!(chain(DW_TAG_typedef).unwrap_err().contains("nested more than"));
    // Unused qualified types are not in the model.
    let _ = chain(DW_TAG_const_type);
}

#[test]
fn declarations_that_complete_each_other_in_circles_end() {
    let mut assembler = started();
    let declared = assembler.abbreviation(
        DW_TAG_structure_type,
        false,
        &[(DW_AT_declaration, DW_FORM_flag_present), (DW_AT_specification, DW_FORM_ref4)],
    );
    let alias = assembler.abbreviation(DW_TAG_typedef, false, &[(DW_AT_type, DW_FORM_ref4)]);
    let mut entries = vec![1];
    for to in [1, 0, 2] {
        entries.push(declared);
        entries.extend(reference(FIRST + 1 + to * 5));
    }
    entries.push(alias);
    entries.extend(reference(FIRST + 1));
    entries.push(0);
    assembler.unit(&entries);
    let _ = survives(&assembler.finish());
}

#[test]
fn few_bytes_that_name_many_long_names_are_refused() {
    let mut assembler = started();
    let of = [(DW_AT_name, DW_FORM_strp), (DW_AT_byte_size, DW_FORM_data1)];
    let structure = assembler.abbreviation(DW_TAG_structure_type, false, &of);
    assembler.strings = vec![b'x'; 1 << 20];
    assembler.strings.push(0);
    let mut entries = vec![1];
    for name in 0..100_000 {
        entries.push(structure);
        entries.extend(reference(name));
        entries.push(8);
    }
    entries.push(0);
    assembler.unit(&entries);
    let error = survives(&assembler.finish()).unwrap_err();
    assert!(error.contains("names"), "{error}");
}

#[test]
fn entries_of_no_bytes_to_speak_of_are_refused() {
    let mut assembler = started();
    let pointer = assembler.abbreviation(DW_TAG_pointer_type, false, &[]);
    let mut entries = vec![1];
    entries.extend(vec![pointer; 1 << 20]);
    entries.push(0);
    assembler.unit(&entries);
    let error = survives(&assembler.finish()).unwrap_err();
    assert!(error.contains("more types and members"), "{error}");
    let mut assembler = started();
    let flags = [(DW_AT_declaration, DW_FORM_flag_present); 1000];
    let pointer = assembler.abbreviation(DW_TAG_pointer_type, false, &flags);
    assembler.unit(&[1, pointer, 0]);
    let error = survives(&assembler.finish()).unwrap_err();
    assert!(error.contains("1000 attributes"), "{error}");
}

#[test]
fn a_hundred_thousand_units_that_share_a_table_take_no_longer_for_it() {
    let mut assembler = started();
    for _ in 0..10_000 {
        assembler.abbreviation_unused();
    }
    for _ in 0..100_000 {
        assembler.unit(&[1, 0]);
    }
    let _ = survives(&assembler.finish());
}
