use tenure_debuginfo::program::{AllocatedBlock, AllocationAccess, Object, Program, TypeEvidence};

use super::compile::{Line, Sample, each, numbers};

fn accesses(lines: &[Line], name: &str) -> Vec<AllocationAccess> {
    let of = lines.iter().filter(|line| line.kind == "access" && line.name == name);
    of.map(|line| {
        let [offset, size, code] = line.numbers[..] else { panic!() };
        AllocationAccess { code, offset, size: u8::try_from(size).unwrap() }
    })
    .collect()
}

fn block(size: u64, stack: &[u64]) -> AllocatedBlock<'_> {
    AllocatedBlock { size, stack, stride: None }
}

fn stack<'l>(lines: &'l [Line], name: &str) -> &'l [u64] {
    let of = lines.iter().find(|line| line.kind == "code" && line.name == name);
    &of.unwrap_or_else(|| panic!("no code {name}")).numbers
}

fn paths(program: &Program, object: &Object, accesses: &[AllocationAccess]) -> Vec<String> {
    let path = |one: &AllocationAccess| program.member(object, one.offset, one.size.into()).path;
    accesses.iter().map(path).collect()
}

/// What an allocation is known as, with the call that made it and without, and what its accesses are to.
#[track_caller]
fn known(
    sample: &Sample,
    (accessed, size): (&str, u64),
    call: Option<&str>,
    type_name: &str,
    expected: &[&str],
) {
    let (code, lines) = (crate::code_of(sample), sample.run());
    let accesses = accesses(&lines, accessed);
    for stack in call.map(|call| stack(&lines, call)).into_iter().chain([&[][..]]) {
        let object = code.allocation(&accesses, &block(size, stack)).unwrap();
        let mut paths = paths(code.program(), &object, &accesses);
        paths.sort();
        assert_eq!(
            (&*object.type_name, paths),
            (type_name, expected.iter().map(|it| (*it).to_owned()).collect())
        );
    }
}

#[test]
fn a_struct_is_known_by_the_pointer_that_it_is_accessed_through() {
    each("plain.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "session");
        let object = code.allocation(&accesses, &block(56, &[])).unwrap();
        assert_eq!(
            (&*object.type_name, object.evidence),
            ("session", TypeEvidence::Access),
            "{what}"
        );
        assert_eq!(paths(code.program(), &object, &accesses), ["refs", "quota.used"], "{what}");
        let stack = stack(&lines, "allocate session");
        let object = code.allocation(&accesses, &block(56, stack)).unwrap();
        assert_eq!(object.evidence, TypeEvidence::Allocation, "{what}");
        assert!(object.declared.is_some(), "{what}");
    });
}

#[test]
fn several_in_a_row_are_elements() {
    each("plain.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "workers");
        let stack = stack(&lines, "allocate workers");
        for stack in [stack, &[]] {
            let object = code.allocation(&accesses, &block(96, stack)).unwrap();
            assert_eq!(object.type_name, "worker", "{what}");
            assert_eq!(
                paths(code.program(), &object, &accesses),
                ["[3].misses", "[1].misses"],
                "{what}"
            );
            assert_eq!(code.program().member(&object, 80, 8).element, Some(3), "{what}");
            assert_eq!(code.program().elements(&object), Some((0, 24)), "{what}");
        }
    });
}

#[test]
fn elements_have_no_type_that_contradicts_their_distance() {
    each("plain.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "workers");
        for (stride, expected) in [(24, true), (48, true), (40, false)] {
            let block = AllocatedBlock { stride: Some(stride), ..block(240, &[]) };
            let found = code.allocation(&accesses, &block);
            let is_worker = found.is_some_and(|object| object.type_name == "worker");
            assert_eq!(is_worker, expected, "{what}: {stride}");
        }
    });
}

#[test]
fn where_nothing_points_to_a_type_the_only_one_that_fits_is_taken() {
    each("plain.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "opaque");
        let object = code.allocation(&accesses, &block(56, &[])).unwrap();
        assert_eq!(
            (&*object.type_name, object.evidence),
            ("session", TypeEvidence::Size),
            "{what}"
        );
        // In the padding of the one and in the middle of the other.
        let nowhere = [AllocationAccess { offset: 3, ..accesses[0] }];
        assert_eq!(code.allocation(&nowhere, &block(56, &[])), None, "{what}");
        assert_eq!(code.allocation(&accesses, &block(57, &[])), None, "{what}");
    });
}

#[test]
fn a_class_is_known_by_its_methods_and_by_the_call_of_new() {
    each("plain.cpp", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "queue");
        let stack = stack(&lines, "allocate queue");
        for (stack, evidence) in [(stack, TypeEvidence::Allocation), (&[], TypeEvidence::Access)] {
            let object = code.allocation(&accesses, &block(48, stack)).unwrap();
            assert_eq!((&*object.type_name, object.evidence), ("Queue", evidence), "{what}");
            let expected = ["head", "counters[1].value"];
            assert_eq!(paths(code.program(), &object, &accesses), expected, "{what}");
        }
    });
}

#[test]
fn elements_of_a_vector_and_what_a_shared_pointer_leads_to_have_types() {
    each("plain.cpp", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let vector = accesses(&lines, "vector");
        let object = code.allocation(&vector, &block(48, &[])).unwrap();
        assert_eq!(object.type_name, "Counter", "{what}");
        let expected = ["[0].value", "[1].value", "[2].value"];
        assert_eq!(paths(code.program(), &object, &vector), expected, "{what}");
        let shared = accesses(&lines, "shared");
        let object = code.allocation(&shared, &block(56, &[])).unwrap();
        assert_eq!(object.type_name, "shared_ptr<Shared>", "{what}");
    });
}

#[test]
fn an_arc_is_known_by_self_and_by_the_parameter_of_new() {
    each("plain.rs", true, |_, sample| {
        let expected = ["data.limits.bytes", "data.refs", "strong"];
        known(sample, ("arc", 96), Some("allocate 96"), "Arc<Session>", &expected);
    });
}

#[test]
fn elements_of_a_vec_are_known_by_its_type_parameter() {
    each("plain.rs", true, |_, sample| {
        let expected = ["[2].misses", "[2].seen[1]", "[3].misses", "[3].seen[1]"];
        known(sample, ("vec", 192), Some("allocate 192"), "Worker", &expected);
    });
}

#[test]
fn a_struct_may_end_with_an_array_of_any_length() {
    each("plain.c", true, |_, sample| {
        known(sample, ("message", 35), None, "message", &["body[3]", "seen"]);
    });
}

#[test]
fn an_array_at_the_end_is_refused_where_accesses_are_to_parts_of_its_elements() {
    each("plain.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let accesses = accesses(&lines, "item");
        let object = code.allocation(&accesses, &block(40, &[])).unwrap();
        assert_eq!(paths(code.program(), &object, &accesses), ["data[1].cas"], "{what}");
        // Something else that the same code accesses, such as a row of locks.
        let locks = [24, 28, 36].map(|offset| AllocationAccess { offset, size: 4, ..accesses[0] });
        assert_eq!(code.allocation(&locks, &block(40, &[])), None, "{what}");
    });
}

#[test]
fn what_members_of_self_own_has_types() {
    each("plain.rs", true, |_, sample| {
        known(sample, ("rows", 256), None, "Padded", &["[2]"]);
        let size = numbers(&sample.run(), "data", "mutex")[0];
        known(sample, ("mutex", size), None, "Arc<Mutex<Shared>>", &["data.data.limit"]);
    });
}

#[test]
fn pairs_of_a_hash_table_and_elements_behind_counts_have_types() {
    each("plain.rs", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let map = accesses(&lines, "map");
        let slice = accesses(&lines, "slice");
        let stacks = [stack(&lines, "allocate 116"), stack(&lines, "allocate 64")];
        for [of_map, of_slice] in [stacks, [&[], &[]]] {
            let object = code.allocation(&map, &block(116, of_map)).unwrap();
            assert_eq!(object.type_name, "(u64, Slot)", "{what}");
            let path = &paths(code.program(), &object, &map)[0];
            assert!(path.starts_with('[') && path.ends_with("].1.other"), "{what}: {path}");
            let object = code.allocation(&slice, &block(64, of_slice)).unwrap();
            assert_eq!(object.type_name, "Arc<[Slot]>", "{what}");
            assert_eq!(paths(code.program(), &object, &slice), ["data[1].other"], "{what}");
        }
    });
}

#[test]
fn allocations_of_any_size_and_accesses_anywhere_end() {
    each("plain.cpp", true, |_, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let known = accesses(&lines, "queue");
        for size in (0..70).chain([u64::MAX - 1, u64::MAX]) {
            for offset in [0, 1, 8, size, u64::MAX] {
                let one = AllocationAccess { offset, ..known[0] };
                for bytes in [0, 1, 8, 255] {
                    let accesses = [known[1], AllocationAccess { size: bytes, ..one }];
                    if let Some(object) =
                        code.allocation(&accesses, &block(size, &[0, 1, u64::MAX]))
                    {
                        let _ = code.program().member(&object, offset, bytes.into());
                    }
                }
            }
        }
    });
}
