//! In this crate's folder: `cargo +nightly fuzz run dwarf corpus/dwarf ../../tenure-debuginfo/tests/fixtures/dwarf --
//! -rss_limit_mb=1024`. The tests' fixtures are seeds too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_layout_fuzz::as_file(bytes));
