//! Any bytes are either a model or an error: no panic, no endless loop, no memory without bound.
//!
//! `cargo +nightly fuzz run dwarf corpus/dwarf ../../tenure-types/tests/fixtures/dwarf -- -rss_limit_mb=1024`, in
//! this crate's folder: the fixtures of the tests are its corpus too.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tenure_types::read::{Input, Options, read};
use tenure_layout_fuzz::check;

/// In memory: the disk would be what is tested.
static PATH: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/tenure-fuzz-{}", std::process::id())));

fuzz_target!(|bytes: &[u8]| {
    if fs::write(&*PATH, bytes).is_ok() {
        let input = Input::File(PATH.clone());
        check(read(&input, &Options::default(), &()));
    }
});
