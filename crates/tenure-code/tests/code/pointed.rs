use tenure_debuginfo::program::{AllocatedBlock, AllocationAccess, TypeEvidence};

use super::compile::{each, numbers};

#[test]
fn the_base_of_an_access_is_followed_to_a_pointer_with_a_type() {
    each("pointed.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        for name in ["parameter", "member", "variable", "inlined", "element", "row"] {
            let found = code.pointed(numbers(&lines, "code", name)[0]);
            let [one] = &found[..] else { panic!("{what}: {name}: {found:?}") };
            assert_eq!(
                (&*one.object.type_name, one.object.size, one.offset),
                ("peer", 16, 8),
                "{what}: {name}"
            );
            assert_eq!(
                code.program().member(&one.object, one.offset, 8).path,
                "hits",
                "{what}: {name}"
            );
            assert!(!one.is_argument, "{what}: {name}");
            let row = code.program().row(&one.object, 3);
            assert_eq!((row.size, &*code.program().member(&row, 24, 8).path), (48, "[1].hits"));
        }
        // The lock is a number; what it is a member of is not.
        let found = code.pointed(numbers(&lines, "code", "lock")[0]);
        let [one] = &found[..] else { panic!("{what}: {found:?}") };
        assert_eq!((&*one.object.type_name, one.offset), ("guarded", 8), "{what}");
        // An allocation may have more bytes than the object, as that of `aligned_alloc`.
        let access =
            AllocationAccess { code: numbers(&lines, "code", "parameter")[0], offset: 8, size: 4 };
        let block = AllocatedBlock { size: 100, ..AllocatedBlock::default() };
        let object = code.allocation(&[access], &block).unwrap();
        assert_eq!((&*object.type_name, object.evidence), ("peer", TypeEvidence::Access), "{what}");
        let elsewhere = AllocationAccess { offset: 12, ..access };
        assert_eq!(code.allocation(&[elsewhere], &block), None, "{what}");
        // A number says nothing of what it is a part of.
        assert_eq!(code.pointed(numbers(&lines, "code", "number")[0]), [], "{what}");
        assert_eq!(code.pointed(0), []);
    });
    each("pointed.c", false, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        assert_eq!(code.pointed(numbers(&lines, "code", "parameter")[0]), [], "{what}");
    });
}
