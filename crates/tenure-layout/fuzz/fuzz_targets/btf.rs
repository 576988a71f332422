//! In this crate's folder: `cargo +nightly fuzz run btf corpus/btf seeds/btf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_layout_fuzz::as_btf(bytes));
