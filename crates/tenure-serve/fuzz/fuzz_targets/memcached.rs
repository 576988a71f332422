//! `cargo +nightly fuzz run memcached -- -dict=memcached.dict`, in this crate's folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_serve_fuzz::as_memcached(bytes));
