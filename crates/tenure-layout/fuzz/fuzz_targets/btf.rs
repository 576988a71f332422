//! `cargo +nightly fuzz run btf corpus/btf seeds/btf`, in this crate's folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_layout_fuzz::as_btf(bytes));
