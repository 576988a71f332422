//! Each file in `messages/` beside what the compiler says, word for word; also those of `tenure`'s `unsize!`: one build
//! serves both. To record them anew: `TRYBUILD=overwrite cargo test -p tenure-derive`, and read the difference.

use std::process::Command;
use tenure::cache_line::{ISOLATION_BYTES, LINE_BYTES};

/// The compiler's words are around ours, and it chooses the place that it points to.
const RECORDED_WITH: u32 = 95;

#[test]
fn every_message_reads_as_recorded() {
    if let Some(reason) = other_words() {
        println!("not compared: {reason}");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/messages/attributes/*.rs");
    cases.compile_fail("tests/messages/layout/*.rs");
    cases.compile_fail("tests/messages/unsize/*.rs");
    cases.pass("tests/messages/accepted/*.rs");
}

/// Why the words, or the numbers in ours, differ from the recorded ones.
fn other_words() -> Option<String> {
    if (LINE_BYTES, ISOLATION_BYTES) != (64, 128) {
        return Some(format!("recorded for lines of 64 bytes, here they have {LINE_BYTES}"));
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version =
        Command::new(rustc).arg("--version").output().expect("cargo ran rustc a minute ago");
    let version = String::from_utf8(version.stdout).expect("rustc --version is ASCII");
    // "rustc 1.95.0 (59807616e 2026-04-14)". Nightlies and betas have a suffix.
    let release = version.split(' ').nth(1).unwrap_or_default();
    let minor = release.split('.').nth(1).and_then(|minor| minor.parse().ok());
    match minor {
        Some(RECORDED_WITH..) if !release.contains('-') => None,
        _ => Some(format!("recorded with Rust 1.{RECORDED_WITH}, this is {}", version.trim())),
    }
}
