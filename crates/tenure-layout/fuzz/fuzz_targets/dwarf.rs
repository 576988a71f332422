//! Any bytes are either a model or an error: no panic, no endless loop, no memory without bound.
//!
//! `cargo +nightly fuzz run dwarf corpus/dwarf ../tests/fixtures/dwarf -- -rss_limit_mb=1024`, in
//! this crate's folder: the fixtures of the tests are its corpus too.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tenure_layout::model::{Kind, Model};
use tenure_layout::progress::Silent;
use tenure_layout::read::{Input, Options, read};

/// In memory: the disk would be what is tested.
static PATH: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/tenure-fuzz-{}", std::process::id())));

fuzz_target!(|bytes: &[u8]| {
    if fs::write(&*PATH, bytes).is_ok() {
        let input = Input::File(PATH.clone());
        match read(&input, &Options::default(), &Silent) {
            Ok(model) => check(&model),
            Err(error) => {
                let line = error.to_string();
                assert!(!line.is_empty() && !line.contains(char::is_control));
            }
        }
    }
});

/// What everything after the readers relies on: the rules of the module `model`.
fn check(model: &Model) {
    for (id, ty) in model.iter() {
        assert!(ty.align.is_power_of_two());
        let _ = (model.resolved(id), model.spelled(id), model.holes(id));
        if let Kind::Composite { members, .. } = &ty.kind {
            assert!(members.is_sorted_by_key(|member| member.offset));
            for member in members {
                assert!(member.ty.index() < model.types().len());
                assert!(member.bits.is_none_or(|bits| bits.first < 8 && bits.count > 0));
                assert!(member.offset <= ty.size);
            }
        }
    }
    assert!(model.statics().iter().all(|variable| variable.ty.index() < model.types().len()));
}
