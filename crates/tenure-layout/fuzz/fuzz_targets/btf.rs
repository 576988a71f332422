//! Any bytes as BTF: alone, as a module's on top of a kernel's, and as the kernel's below a module's.
//!
//! `cargo +nightly fuzz run btf corpus/btf seeds/btf`, in this crate's folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_types::read::btf;
use tenure_layout_fuzz::check;

const KERNEL: &[u8] = include_bytes!("../../../tenure-types/tests/fixtures/btf/before.btf");
const MODULE: &[u8] = include_bytes!("../../../tenure-types/tests/fixtures/btf/module.btf");

fuzz_target!(|bytes: &[u8]| {
    check(btf::parse(bytes, None));
    check(btf::parse(bytes, Some(KERNEL)));
    check(btf::parse(MODULE, Some(bytes)));
});
