#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "public for the targets")]
mod targets;

use std::fs;
use std::path::Path;

fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.is_file()).collect();
    assert!(!files.is_empty());
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn the_seeds_of_btf_whole_and_cut_are_models_or_errors() {
    for bytes in files("fuzz/seeds/btf") {
        for end in [bytes.len(), bytes.len() - 1, bytes.len() / 2] {
            targets::as_btf(&bytes[..end]);
        }
    }
}

#[test]
fn small_files_whole_and_cut_are_models_or_errors() {
    for bytes in files("../tenure-debuginfo/tests/fixtures/dwarf") {
        if bytes.len() < 16 << 10 {
            targets::as_file(&bytes);
            targets::as_file(&bytes[..bytes.len() / 2]);
        }
    }
}
