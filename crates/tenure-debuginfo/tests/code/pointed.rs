use tenure_debuginfo::code::{Access, Block, Evidence};

use super::compile::{each, numbers};

#[test]
fn the_base_of_an_access_is_followed_to_a_pointer_with_a_type() {
    each("pointed.c", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        for name in ["parameter", "member", "variable", "inlined", "element", "row"] {
            let found = program.pointed(numbers(&lines, "code", name)[0]);
            let [one] = &found[..] else { panic!("{what}: {name}: {found:?}") };
            assert_eq!(
                (&*one.object.type_name, one.object.size, one.offset),
                ("peer", 16, 8),
                "{what}: {name}"
            );
            assert_eq!(program.member(&one.object, one.offset, 8).path, "hits", "{what}: {name}");
            assert!(!one.is_argument, "{what}: {name}");
            let row = program.row(&one.object, 3);
            assert_eq!((row.size, &*program.member(&row, 24, 8).path), (48, "[1].hits"));
        }
        // The lock is a number; what it is a member of is not.
        let found = program.pointed(numbers(&lines, "code", "lock")[0]);
        let [one] = &found[..] else { panic!("{what}: {found:?}") };
        assert_eq!((&*one.object.type_name, one.offset), ("guarded", 8), "{what}");
        // An allocation may have more bytes than the object, as that of `aligned_alloc`.
        let access = Access { code: numbers(&lines, "code", "parameter")[0], offset: 8, size: 4 };
        let block = Block { size: 100, ..Block::default() };
        let object = program.allocation(&[access], &block).unwrap();
        assert_eq!((&*object.type_name, object.evidence), ("peer", Evidence::Access), "{what}");
        let elsewhere = Access { offset: 12, ..access };
        assert_eq!(program.allocation(&[elsewhere], &block), None, "{what}");
        // A number says nothing of what it is a part of.
        assert_eq!(program.pointed(numbers(&lines, "code", "number")[0]), [], "{what}");
        assert_eq!(program.pointed(0), []);
    });
    each("pointed.c", false, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        assert_eq!(program.pointed(numbers(&lines, "code", "parameter")[0]), [], "{what}");
    });
}
