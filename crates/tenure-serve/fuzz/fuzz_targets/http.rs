//! `cargo +nightly fuzz run http corpus/http seeds/http`, in this crate's folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_serve_fuzz::as_http(bytes));
