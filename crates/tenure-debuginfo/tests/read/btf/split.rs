use tenure_debuginfo::model::TypeKind;
use tenure_debuginfo::read::btf;

use super::encoder::*;

fn base(big: bool) -> Encoder {
    let mut base = Encoder::new(big);
    let int = base.int("int", 4);
    base.structure("device", 8, &[("refs", int, 0), ("flags", int, 32)]);
    base
}

#[test]
fn a_module_uses_the_types_and_names_of_the_kernel() {
    for big in [false, true] {
        let base = base(big);
        let mut module = Encoder::on(&base);
        let long = module.int("long", 4);
        let pointer = module.plain(PTR, "", 2);
        let id = module.structure("driver", 16, &[("device", 2, 0), ("next", pointer, 64)]);
        assert_eq!((long, id), (3, 5));
        let model = btf::parse(&module.finish(), Some(&base.finish())).unwrap();
        let (_, _, members) = model.composites().nth(1).unwrap();
        let found: Vec<_> =
            members.iter().map(|m| (&*m.name, m.offset, model.bytes_of(m))).collect();
        assert_eq!(found, [("device", 0, 8), ("next", 8, 4)]);
        assert_eq!(&*model[members[0].ty].name, "device");
    }
}

#[test]
fn a_module_takes_names_out_of_the_kernels_strings() {
    let base = base(false);
    let mut module = Encoder::on(&base);
    module.int("new", 4);
    let mut bytes = module.finish();
    // The name of the only type becomes that of type 1 of the base.
    bytes[24..28].copy_from_slice(&1_u32.to_le_bytes());
    let model = btf::parse(&bytes, Some(&base.finish())).unwrap();
    assert_eq!(model.types().iter().filter(|ty| &*ty.name == "int").count(), 2);
}

#[test]
fn a_base_takes_no_names_out_of_the_file_on_top() {
    let mut base = base(false);
    let module = {
        let mut module = Encoder::on(&base);
        module.int("new", 4);
        module
    };
    base.add("", FWD << 24, 0, &[]);
    let mut bytes = base.finish();
    let strings = u32::from_le_bytes(bytes[20..24].try_into().unwrap());
    let last = 24 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize - 12;
    bytes[last..last + 4].copy_from_slice(&strings.to_le_bytes());
    let error = btf::parse(&module.finish(), Some(&bytes)).unwrap_err().to_string();
    assert!(error.contains("beyond the strings"), "{error}");
}

#[test]
fn a_module_without_its_kernel_is_refused_as_that() {
    let base = base(false);
    let mut module = Encoder::on(&base);
    module.structure("driver", 8, &[("device", 2, 0)]);
    let error = btf::parse(&module.finish(), None).unwrap_err().to_string();
    assert!(error.contains("builds on another BTF"), "{error}");
}

#[test]
fn what_is_wrong_with_the_base_is_said_of_the_base() {
    let bytes = base(false).finish();
    let error = btf::parse(&bytes, Some(b"ELF")).unwrap_err().to_string();
    assert!(error.starts_with("its base: "), "{error}");
}

#[test]
fn a_distilled_base_stands_in_for_the_kernel() {
    // Embedded structs keep their sizes, others are only declared.
    let mut base = Encoder::new(false);
    let device = base.add("device", STRUCT << 24, 64, &[]);
    let other = base.plain(FWD, "other", 0);
    let mut module = Encoder::on(&base);
    let pointer = module.plain(PTR, "", other);
    module.structure("driver", 72, &[("device", device, 0), ("other", pointer, 512)]);
    let model = btf::parse(&module.finish(), Some(&base.finish())).unwrap();
    let (_, _, members) = model.composites().nth(1).unwrap();
    assert_eq!(members.iter().map(|m| model.bytes_of(m)).collect::<Vec<_>>(), [64, 8]);
    assert!(
        matches!(&model[members[0].ty].kind, TypeKind::Composite { members, .. } if members.is_empty())
    );
}
