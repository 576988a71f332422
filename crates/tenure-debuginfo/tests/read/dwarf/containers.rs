//! Files of all kinds: compressed, linked, split, in libraries, apart from their programs.

use std::fs;

use tenure_debuginfo::model::{Format, Model};
use tenure_debuginfo::read::{Input, Options, read};

use super::{fixture, one, path, shown, try_read};

/// What two readings of one source have in common, whatever the order.
fn content(model: &Model) -> Vec<String> {
    let mut all: Vec<String> = model
        .composites()
        .map(|(id, ty, members)| {
            let members: Vec<_> = members
                .iter()
                .map(|one| (one.offset, one.bits, &*one.name, model.bytes_of(one)))
                .collect();
            format!("{} {} {} {members:?} {:?}", ty.name, ty.size, ty.align, model.holes(id))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn compressed_sections_read_as_plain_ones() {
    let plain = fixture("kinds-gcc-5.o");
    assert_eq!(fixture("kinds-zlib.o"), plain);
    assert_eq!(fixture("kinds-zstd.o"), plain);
    assert_eq!(fixture("kinds-zlib-gnu.o"), fixture("kinds-gcc-4.o"));
}

#[test]
fn type_units_read_as_types_in_the_unit_itself() {
    assert_eq!(content(&fixture("kinds-units-4.o")), content(&fixture("kinds-gcc-4.o")));
    assert_eq!(content(&fixture("kinds-units-5.o")), content(&fixture("kinds-gcc-5.o")));
}

#[test]
fn split_units_read_as_whole_ones() {
    let whole = fixture("dst.o");
    for version in [4, 5] {
        let split = fixture(&format!("dst-split-{version}.o"));
        assert_eq!(content(&split), content(&whole));
        assert_eq!((split.units(), split.statics().len()), (1, 2));
        assert_eq!(&*split.statics()[0].section, ".bss");
        let declared = one(&split, "rtable").1.declared.clone().unwrap();
        assert_eq!((&*declared.file, declared.line), ("dst.c", 40));
    }
}

#[test]
fn a_split_program_without_its_other_file_says_which_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone.o");
    fs::copy(path("dst-split-5.o"), &alone).unwrap();
    let error = try_read(&alone).unwrap_err();
    assert!(error.contains("dst-split-5.dwo is missing"), "{error}");
    assert!(error.contains("-gsplit-dwarf") && error.contains("alone.o.dwp"), "{error}");
    fs::copy(path("dst-split-4.dwo"), folder.path().join("dst-split-5.dwo")).unwrap();
    assert!(try_read(&alone).is_err());
}

#[test]
fn types_that_two_units_have_are_one_type() {
    let linked = fixture("linked.so");
    assert_eq!(linked.units(), 2);
    let apart = content(&fixture("kinds-gcc-5.o")).into_iter().chain(content(&fixture("dst.o")));
    let mut apart: Vec<String> = apart.collect();
    apart.sort();
    apart.dedup();
    assert_eq!(content(&linked), apart);
}

#[test]
fn units_that_refer_to_each_other_read_as_units_that_do_not() {
    // After link-time optimisation the types are in one unit and the variables in another.
    let lto = fixture("lto.so");
    let linked = fixture("linked.so");
    assert_eq!(content(&lto), content(&linked));
    let names = |model: &Model| {
        let mut names: Vec<_> = model.statics().iter().map(|one| one.name.clone()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&lto), names(&linked));
}

#[test]
fn a_library_is_all_its_members_that_have_debugging_information() {
    let library = fixture("library.a");
    assert_eq!(library.units(), 2);
    assert_eq!(content(&library), content(&fixture("linked.so")));
    assert_eq!(library.statics().len(), 14);
}

#[test]
fn a_stripped_program_is_read_with_its_debug_file() {
    let separate = fixture("stripped.so");
    assert_eq!(separate, fixture("linked.so.debug"));
    assert_eq!(content(&separate), content(&fixture("linked.so")));
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("program");
    fs::copy(path("stripped.so"), &elsewhere).unwrap();
    assert!(try_read(&elsewhere).unwrap_err().contains("no debugging information"));
    let options = Options { debug_file: Some(path("linked.so.debug")), ..Options::default() };
    let model = read(&Input::File(elsewhere), &options, &()).unwrap();
    assert_eq!(model, separate);
}

#[test]
fn the_model_does_not_depend_on_the_number_of_threads() {
    let files = ["library.a", "lto.so", "kinds-units-5.o"];
    let read_with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| files.map(fixture))
    };
    let first = read_with(1);
    for threads in [2, 3, 8] {
        assert_eq!(read_with(threads), first);
    }
}

#[test]
fn a_file_without_what_was_asked_for_says_so() {
    let with = |name: &str, format| {
        let options = Options { format: Some(format), ..Options::default() };
        let file = if name.contains('/') { name.into() } else { path(name) };
        read(&Input::File(file), &options, &()).unwrap_err().to_string()
    };
    assert!(with("dst.o", Format::Btf).contains("no section .BTF"));
    assert!(with("library.a", Format::Btf).contains("has no BTF"));
    let btf = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/btf/before.btf");
    assert!(with(btf, Format::Dwarf).contains("is BTF"));
    let error = try_read(&path("make.sh")).unwrap_err();
    assert!(error.contains("neither an object file nor BTF"), "{error}");
    let error = try_read(&path("no such file")).unwrap_err();
    assert!(error.starts_with("cannot read"), "{error}");
    let error = try_read(&path("")).unwrap_err();
    assert!(error.contains("is a directory"), "{error}");
}

#[test]
fn btf_files_are_known_by_their_contents() {
    let btf = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/btf/before.btf");
    let model = read(&Input::File(btf.into()), &Options::default(), &()).unwrap();
    assert_eq!(model.format(), Format::Btf);
    assert!(!shown(&model, "dst_entry").is_empty());
}
