//! Files that no compiler wrote: an error in one line, soon, and never a panic.

use std::fs;
use std::time::{Duration, Instant};

use crate::{path, try_read};

/// Reads bytes; asserts what every reading has to hold.
fn survives(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile");
    fs::write(&file, bytes).unwrap();
    let start = Instant::now();
    let result = try_read(&file);
    assert!(start.elapsed() < Duration::from_secs(20), "it ends");
    if let Err(error) = &result {
        assert!(!error.is_empty() && !error.contains('\n'), "{error:?}");
    }
    result.map(drop)
}

#[test]
fn files_cut_anywhere_are_refused_or_read() {
    for name in ["kinds-gcc-5.o", "kinds-zlib-gnu.o", "library.a", "lto.so"] {
        let bytes = fs::read(path(name)).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            let _ = survives(&bytes[..length]);
        }
        assert!(survives(&bytes[..bytes.len() / 2]).is_err(), "{name}");
    }
}

#[test]
fn every_changed_byte_is_refused_or_read() {
    for name in ["dst.o", "kinds-units-4.o"] {
        let bytes = fs::read(path(name)).unwrap();
        for at in (0..bytes.len()).step_by(13) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let _ = survives(&changed);
            changed[at] = 0xff;
            let _ = survives(&changed);
        }
    }
}

#[test]
fn an_empty_file_and_one_of_zeros_are_refused() {
    assert!(survives(&[]).is_err());
    assert!(survives(&[0; 4096]).is_err());
}

#[test]
fn a_section_that_claims_to_become_huge_is_refused() {
    let mut bytes = fs::read(path("kinds-zlib.o")).unwrap();
    // The header of a compressed section: kind, reserved, size, alignment.
    let header = [1, 0, 0, 0, 0, 0, 0, 0];
    let mut claimed = 0;
    for at in 0..bytes.len() - 24 {
        let size = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        if bytes[at..at + 8] == header && (1000..1 << 20).contains(&size) && bytes[at + 16] == 1 {
            bytes[at + 8..at + 16].copy_from_slice(&(1_u64 << 40).to_le_bytes());
            claimed += 1;
        }
    }
    assert!(claimed > 0);
    let error = survives(&bytes).unwrap_err();
    assert!(error.contains("does not compress that well"), "{error}");
}
