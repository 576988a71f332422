//! Any bytes as BTF: alone, as a module's on top of a kernel's, and as the kernel's below a module's.
//!
//! `cargo +nightly fuzz run btf corpus/btf seeds/btf`, in this crate's folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_layout::model::{Kind, Model};
use tenure_layout::read::btf;

const KERNEL: &[u8] = include_bytes!("../../tests/fixtures/btf/before.btf");
const MODULE: &[u8] = include_bytes!("../../tests/fixtures/btf/module.btf");

fuzz_target!(|bytes: &[u8]| {
    for result in
        [btf::parse(bytes, None), btf::parse(bytes, Some(KERNEL)), btf::parse(MODULE, Some(bytes))]
    {
        match result {
            Ok(model) => check(&model),
            Err(error) => assert!(!error.to_string().contains(char::is_control)),
        }
    }
});

/// What everything after the readers relies on: the rules of the module `model`.
fn check(model: &Model) {
    for (id, ty) in model.iter() {
        assert!(ty.align.is_power_of_two());
        let _ = (model.resolved(id), model.spelled(id));
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
