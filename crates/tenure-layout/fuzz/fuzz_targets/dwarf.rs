//! `cargo +nightly fuzz run dwarf corpus/dwarf ../../tenure-types/tests/fixtures/dwarf -- -rss_limit_mb=1024`, in this
//! crate's folder: the fixtures of the tests are its corpus too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_layout_fuzz::as_file(bytes));
