//! BTF of pahole, clang, and the running kernel. See `fixtures/btf/make.sh`.

use std::fs;
use std::path::Path;

use tenure_debuginfo::model::{BitField, Member, Model, Type, TypeKind};
use tenure_debuginfo::read::btf;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/btf").join(name);
    fs::read(path).unwrap()
}

fn structure<'m>(model: &'m Model, name: &str) -> (&'m Type, &'m [Member]) {
    let mut all = model.composites().filter(|(_, ty, _)| &*ty.name == name);
    let (_, ty, members) = all.next().unwrap();
    assert!(all.next().is_none(), "{name}");
    (ty, members)
}

fn place(model: &Model, name: &str, member: &str) -> (u64, u64) {
    let (_, members) = structure(model, name);
    let member = members.iter().find(|it| &*it.name == member).unwrap();
    (member.offset, model.bytes_of(member))
}

fn sizes(model: &Model) -> [u64; 3] {
    ["dst_entry", "rtable", "rt6_info"].map(|name| structure(model, name).0.size)
}

#[test]
fn the_layout_of_linux_6_1() {
    let model = btf::parse(&fixture("before.btf"), None).unwrap();
    assert_eq!(sizes(&model), [112, 176, 232]);
    let at = |member| place(&model, "dst_entry", member);
    assert_eq!(at("__refcnt"), (64, 4));
    assert_eq!(at("__use"), (68, 4));
    assert_eq!(at("lastuse"), (72, 8));
    assert_eq!(at("lwtstate"), (80, 8));
    assert_eq!(at("callback_head"), (88, 16));
    assert_eq!(at("error"), (104, 2));
    assert_eq!(at("tclassid"), (108, 4));
    assert_eq!(at("dev_tracker"), (112, 0));
    let at = |member| place(&model, "rtable", member);
    assert_eq!(at("dst"), (0, 112));
    assert_eq!(at("rt_genid"), (112, 4));
    assert_eq!(at("rt_flags"), (116, 4));
    assert_eq!(at("rt_type"), (120, 2));
    assert_eq!(at("rt_iif"), (124, 4));
    let (_, members) = structure(&model, "rtable");
    let pmtu = members.iter().find(|it| &*it.name == "rt_pmtu").unwrap();
    assert_eq!((pmtu.offset, pmtu.bits), (148, Some(BitField { first: 1, count: 31 })));
}

#[test]
fn the_layout_since_linux_6_4() {
    let model = btf::parse(&fixture("repaired.btf"), None).unwrap();
    assert_eq!(sizes(&model), [136, 176, 224]);
    let at = |member| place(&model, "dst_entry", member);
    assert_eq!(at("__rcuref"), (64, 4));
    assert_eq!(at("callback_head"), (80, 16));
    assert_eq!(at("error"), (96, 2));
    assert_eq!(at("rt_uncached"), (104, 16));
    assert_eq!(at("rt_uncached_list"), (120, 8));
    assert_eq!(at("lwtstate"), (128, 8));
    assert_eq!(place(&model, "rtable", "rt_genid"), (136, 4));
}

#[test]
fn clang_for_a_big_endian_machine_says_the_same() {
    let (little, big) = (fixture("before.btf"), fixture("big.btf"));
    assert_ne!(little[..2], big[..2]);
    let [little, big] = [little, big].map(|bytes| btf::parse(&bytes, None).unwrap());
    for name in ["dst_entry", "rtable", "rt6_info"] {
        let of = |model: &Model| -> Vec<_> {
            let (_, members) = structure(model, name);
            let whole = members.iter().filter(|member| member.bits.is_none());
            whole.map(|m| (m.name.clone(), m.offset, model.bytes_of(m))).collect()
        };
        assert_eq!(of(&little), of(&big));
    }
    assert_eq!(big.statics(), []);
}

#[test]
fn a_module_embeds_what_the_kernel_has() {
    let base = fixture("before.btf");
    let model = btf::parse(&fixture("module.btf"), Some(&base)).unwrap();
    assert_eq!(place(&model, "cached_route", "embedded"), (8, 232));
    assert_eq!(place(&model, "cached_route", "users"), (256, 4));
    let (ty, _) = structure(&model, "cached_route");
    assert_eq!((ty.size, ty.align, ty.align_declared), (320, 64, true));
}

#[test]
fn the_running_kernel() {
    let path = "/sys/kernel/btf/vmlinux";
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            println!("nothing tested: cannot read {path}: {error}");
            return;
        }
    };
    assert!(btf::is_btf(&bytes));
    let model = btf::parse(&bytes, None).unwrap();
    assert!(model.composites().count() > 1000);
    let list = structure(&model, "list_head").0.size;
    let pointer = list / 2;
    let pointers = model.types().iter().filter(|ty| matches!(ty.kind, TypeKind::Pointer(_)));
    assert!(pointers.map(|ty| ty.size).all(|size| size == pointer));
    // Kernels without networking have no routes.
    if model.composites().any(|(_, ty, _)| &*ty.name == "dst_entry") {
        let (dst, members) = structure(&model, "dst_entry");
        let end = members.iter().map(|it| it.offset + model.bytes_of(it)).max().unwrap();
        assert!((end..=end + 64).contains(&dst.size), "{end} of {}", dst.size);
        let count = ["__rcuref", "__refcnt"].map(|name| members.iter().find(|m| &*m.name == name));
        let count = count.into_iter().flatten().next().unwrap();
        assert_eq!(model.bytes_of(count), 4);
    }
}
