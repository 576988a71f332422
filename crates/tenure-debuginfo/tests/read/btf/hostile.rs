use proptest::prelude::*;
use tenure_debuginfo::model::Malformed;
use tenure_debuginfo::read::btf;

use super::encoder::*;

fn everything(big: bool) -> Vec<u8> {
    let mut file = Encoder::new(big).with_layout(vec![(0, 0); 20]);
    let int = file.int("int", 4);
    let odd = file.add("unsigned int", INT << 24, 4, &[3]);
    let array = file.array(int, int, 4);
    let forward = file.plain(FWD, "hidden", 0);
    let pointer = file.plain(PTR, "", forward);
    let qualified =
        [VOLATILE, CONST, RESTRICT].iter().fold(array, |of, kind| file.plain(*kind, "", of));
    let tagged = file.plain(TYPE_TAG, "user", qualified);
    let alias = file.plain(TYPEDEF, "alias", tagged);
    let members = [("a", alias, 0), ("b", odd, 128), ("c", pointer, 192)];
    let structure = file.structure("s", 32, &members);
    file.composite(UNION << 24 | FLAG, "u", 32, &[("s", structure, 0), ("bit", int, 1 << 24 | 9)]);
    file.add("e", ENUM << 24 | 1, 4, &[0, 1]);
    file.add("e64", ENUM64 << 24 | 1, 8, &[0, 1, 2]);
    file.plain(FLOAT, "double", 8);
    let proto = file.add("", FUNC_PROTO << 24 | 1, int, &[0, pointer]);
    file.plain(FUNC, "f", proto);
    let variable = file.add("v", VAR << 24, structure, &[1]);
    file.section(".bss", 64, &[[variable, 0, 32]]);
    file.add("tag", DECL_TAG << 24, structure, &[1]);
    file.finish()
}

/// One line without control characters.
fn check(result: &Result<tenure_debuginfo::model::Model, Malformed>) {
    if let Err(error) = result {
        let line = error.to_string();
        assert!(
            !line.is_empty() && line.len() < 2000 && !line.contains(char::is_control),
            "{line}"
        );
    }
}

fn error(make: impl FnOnce(&mut Encoder)) -> String {
    let mut file = Encoder::new(false);
    make(&mut file);
    btf::parse(&file.finish(), None).unwrap_err().to_string()
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for big in [false, true] {
        let file = everything(big);
        assert!(btf::parse(&file, None).is_ok());
        for end in 0..file.len() {
            let result = btf::parse(&file[..end], None);
            check(&result);
            assert!(result.is_err(), "{end}");
        }
    }
}

#[test]
fn types_cut_off_anywhere_are_refused_or_fewer() {
    let file = everything(false);
    let types = u32::from_le_bytes(file[12..16].try_into().unwrap());
    for length in 0..types {
        let mut cut = file.clone();
        cut[12..16].copy_from_slice(&length.to_le_bytes());
        check(&btf::parse(&cut, None));
    }
}

#[test]
fn a_corrupted_byte_anywhere_is_refused_or_harmless() {
    for big in [false, true] {
        let (file, module) = (everything(big), everything(big));
        for at in 0..file.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, file[at] ^ 1, file[at] ^ 0x10] {
                let mut file = file.clone();
                file[at] = value;
                check(&btf::parse(&file, None));
                check(&btf::parse(&module, Some(&file)));
            }
        }
    }
}

proptest! {
    #[test]
    fn anything_at_all_is_refused_or_harmless(
        types in prop::collection::vec((0_u32..24, 0_u32..20, 0_u32..4, prop::collection::vec(0_u32..40, 0..9)), 0..24),
        big: bool,
    ) {
        let mut file = Encoder::new(big);
        file.name("name");
        for (kind, word, count, rest) in types {
            file.add("", kind << 24 | count, word, &rest);
        }
        check(&btf::parse(&file.finish(), None));
    }
}

#[test]
fn what_leads_nowhere_is_refused_with_the_numbers() {
    type Make = fn(&mut Encoder);
    let ids_out_of_bounds: Make = |file| _ = file.plain(TYPEDEF, "t", 77);
    let types_in_a_circle: Make = |file| {
        file.structure("s", 4, &[("m", 2, 0)]);
        file.array(1, 1, 1);
    };
    let a_long_chain: Make = |file| {
        for id in 1..200_000 {
            file.plain(CONST, "", id + 1);
        }
        file.int("int", 4);
    };
    let a_member_beyond_its_struct: Make = |file| {
        let int = file.int("int", 4);
        file.structure("s", 4, &[("a", int, 0), ("b", int, 40)]);
    };
    let a_tag_of_a_missing_member: Make = |file| {
        let int = file.int("int", 4);
        let id = file.structure("s", 4, &[("a", int, 0)]);
        file.add("x", DECL_TAG << 24, id, &[1]);
    };
    let a_variable_beyond_its_section: Make = |file| {
        let int = file.int("int", 4);
        let id = file.add("x", VAR << 24, int, &[1]);
        file.section(".bss", 6, &[[id, 4, 4]]);
    };
    for (make, says) in [
        (ids_out_of_bounds, "BTF type 1 refers to type 77, and the last is 1"),
        (types_in_a_circle, "contains itself"),
        (a_long_chain, "nested"),
        (a_member_beyond_its_struct, "BTF type 2 has a member 1 at bit 40 of its 4 bytes"),
        (a_tag_of_a_missing_member, "BTF type 2 has 1 members, and type 3 tags number 1"),
        (a_variable_beyond_its_section, "4 bytes at 4 of its 6"),
    ] {
        let line = error(make);
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn a_value_of_a_variable_or_a_tag_is_refused() {
    for kind in [VAR, DECL_TAG] {
        let line = error(|file| {
            let int = file.int("int", 4);
            let id = file.add("x", kind << 24, int, &[u32::MAX]);
            file.structure("s", 4, &[("m", id, 0)]);
        });
        assert!(line.starts_with("BTF type 3 refers to 2, a variable"), "{line}");
    }
}

#[test]
fn a_count_beyond_the_file_is_refused_before_memory_is_taken() {
    for kind in [STRUCT, UNION, ENUM, FUNC_PROTO, DATASEC, ENUM64] {
        let line = error(|file| {
            file.add("s", kind << 24 | 0x00ff_ffff, 4, &[]);
        });
        assert!(line.contains("type 1 goes on beyond"), "{line}");
    }
}

#[test]
fn strings_need_an_end() {
    let mut file = Encoder::new(false);
    file.int("int", 4);
    let mut bytes = file.finish();
    *bytes.last_mut().unwrap() = b'x';
    let line = btf::parse(&bytes, None).unwrap_err().to_string();
    assert!(line.contains("no end"), "{line}");
}

#[test]
fn names_that_are_not_utf_8_are_kept_as_far_as_they_are() {
    let mut file = Encoder::new(false);
    file.int("i_t", 4);
    let mut bytes = file.finish();
    let at = bytes.iter().position(|byte| *byte == b'_').unwrap();
    bytes[at] = 0xff;
    let model = btf::parse(&bytes, None).unwrap();
    assert_eq!(&*model.types().last().unwrap().name, "i\u{fffd}t");
}

#[test]
fn names_that_would_fill_the_memory_are_refused() {
    // 20,000 types are named by other ends of one string of 20,000 letters.
    let mut file = Encoder::new(false);
    let long = file.name(&"x".repeat(20_000));
    for _ in 0..20_000 {
        file.plain(FWD, "", 0);
    }
    let mut bytes = file.finish();
    for which in 0..20_000 {
        let at = 24 + 12 * which;
        bytes[at..at + 4].copy_from_slice(&(long + which as u32).to_le_bytes());
    }
    let line = btf::parse(&bytes, None).unwrap_err().to_string();
    assert!(line.contains("overlaps"), "{line}");
}

#[test]
fn other_files_are_no_btf() {
    assert!(!btf::is_btf(b""));
    assert!(!btf::is_btf(b"\x9f"));
    assert!(!btf::is_btf(b"\x7fELF"));
    assert!(btf::is_btf(&everything(false)) && btf::is_btf(&everything(true)));
    let line = btf::parse(b"\x7fELF and more", None).unwrap_err().to_string();
    assert!(line.contains("does not begin as BTF does"), "{line}");
}
