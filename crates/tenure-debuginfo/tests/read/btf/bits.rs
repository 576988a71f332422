use tenure_debuginfo::model::{BitField, Malformed, TypeKind};
use tenure_debuginfo::read::btf;

use super::encoder::*;

fn place(
    big: bool,
    make: impl Fn(&mut Encoder) -> (u32, u32, u32),
) -> Result<(u64, Option<BitField>), Malformed> {
    let mut file = Encoder::new(big);
    let (flag, ty, at) = make(&mut file);
    file.composite(STRUCT << 24 | flag, "s", 8, &[("m", ty, at)]);
    let model = btf::parse(&file.finish(), None)?;
    let (_, _, members) = model.composites().next().unwrap();
    Ok((members[0].offset, members[0].bits))
}

fn bits(first: u8, count: u32) -> Option<BitField> {
    Some(BitField { first, count })
}

#[test]
fn with_the_flag_a_place_is_a_width_and_an_offset() {
    for big in [false, true] {
        let at = |place_word: u32| {
            place(big, |file| (FLAG, file.int("unsigned int", 4), place_word)).unwrap()
        };
        assert_eq!(at(3 << 24 | 13), (1, bits(5, 3)));
        assert_eq!(at(1 << 24 | 63), (7, bits(7, 1)));
        assert_eq!(at(32 << 24), (0, bits(0, 32)));
        assert_eq!(at(32), (4, None));
    }
}

#[test]
fn without_the_flag_the_type_has_the_width() {
    let old = |offset: u32, count: u32, at: u32| {
        place(false, |file| {
            let int = file.add("unsigned int", INT << 24, 4, &[offset << 16 | count]);
            let constant = file.plain(CONST, "", int);
            (0, file.plain(TYPEDEF, "flag_t", constant), at)
        })
    };
    assert_eq!(old(0, 3, 13).unwrap(), (1, bits(5, 3)));
    assert_eq!(old(4, 3, 32).unwrap(), (4, bits(4, 3)));
    assert_eq!(old(0, 8, 32).unwrap(), (4, bits(0, 8)));
    assert_eq!(old(0, 32, 32).unwrap(), (4, None));
    assert_eq!(old(0, 32, 36).map(|_| ()).unwrap_err().to_string().matches("member 0").count(), 1);
}

#[test]
fn without_the_flag_a_whole_number_may_still_begin_within_a_byte() {
    let found = place(false, |file| (0, file.int("unsigned char", 1), 12)).unwrap();
    assert_eq!(found, (1, bits(4, 8)));
}

#[test]
fn only_numbers_begin_within_a_byte() {
    for flag in [0, FLAG] {
        let error = place(false, |file| {
            let int = file.int("int", 4);
            (flag, file.plain(PTR, "", int), 4)
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("within a byte"), "{error}");
    }
}

#[test]
fn an_alias_in_a_circle_is_no_bit_field_and_refused() {
    let mut file = Encoder::new(false);
    file.plain(TYPEDEF, "a", 2);
    file.plain(TYPEDEF, "b", 1);
    file.structure("s", 8, &[("m", 1, 4)]);
    assert!(btf::parse(&file.finish(), None).is_err());
}

#[test]
fn a_bit_field_beyond_its_struct_is_refused() {
    let error = place(false, |file| (FLAG, file.int("int", 4), 2 << 24 | 63)).unwrap_err();
    assert_eq!(error.to_string(), "BTF type 2 has a member 0 at bit 63 of its 8 bytes");
}

#[test]
fn bit_fields_of_one_byte_stay_in_order() {
    let mut file = Encoder::new(false);
    let int = file.int("int", 4);
    file.composite(
        STRUCT << 24 | FLAG,
        "s",
        4,
        &[("c", int, 3 << 24 | 5), ("a", int, 2 << 24), ("b", int, 3 << 24 | 2)],
    );
    let model = btf::parse(&file.finish(), None).unwrap();
    let (_, ty, _) = model.composites().next().unwrap();
    let TypeKind::Composite { members, .. } = &ty.kind else { panic!() };
    let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}
