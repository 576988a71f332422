use super::*;
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

const LINE: usize = 64;

const fn layout(align: usize, fields: &'static [Field]) -> Layout {
    let mut layout = Layout::of::<()>("S", fields);
    layout.align = align;
    layout
}

const fn contended(name: &'static str, offset: usize, size: usize) -> Field {
    Field::new(name, offset, size).role(Role::Contended)
}

const fn read_mostly(name: &'static str, offset: usize, size: usize) -> Field {
    Field::new(name, offset, size).role(Role::ReadMostly)
}

const fn embedded(name: &'static str, offset: usize, layout: &'static Layout) -> Field {
    Field::new(name, offset, layout.size).role(Role::Embedded(layout))
}

fn findings(layout: &Layout) -> Vec<String> {
    let report = report(layout, LINE);
    let findings: Vec<_> = report
        .as_str()
        .lines()
        .filter_map(|line| line.strip_prefix("  - "))
        .map(Into::into)
        .collect();
    assert_eq!(report.is_empty(), findings.is_empty());
    findings
}

/// The box is given back: there are hundreds of thousands, and a leak is an error under the sanitizers.
fn findings_of(fields: Vec<Field>, layout: impl Fn(&'static [Field]) -> Layout) -> Vec<String> {
    let fields = Box::into_raw(fields.into_boxed_slice());
    // SAFETY: the box is ours until the end of this function, where nothing refers to it: the layouts that tests make
    // of it end here, and findings are text of their own.
    let found = findings(&layout(unsafe { &*fields }));
    // SAFETY: from a box, given back once.
    drop(unsafe { Box::from_raw(fields) });
    found
}

fn pair(align: usize, a: (usize, usize), b: (usize, usize)) -> bool {
    let fields = std::vec![contended("a", a.0, a.1), read_mostly("b", b.0, b.1)];
    !findings_of(fields, |fields| layout(align, fields)).is_empty()
}

#[test]
fn two_fields_share_a_line_exactly_if_they_do_at_some_address() {
    for align in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        for a in 0..140 {
            for b in (0..140).filter(|b| a != *b) {
                for size in [1, 8, 70] {
                    let ((a_end, b_end), overlap) =
                        ((a + size, b + size), a < b + size && b < a + size);
                    let shares = |start: usize| {
                        (start + a) / LINE <= (start + b_end - 1) / LINE
                            && (start + b) / LINE <= (start + a_end - 1) / LINE
                    };
                    if !overlap {
                        assert_eq!(
                            pair(align, (a, size), (b, size)),
                            (0..256).step_by(align).any(shares),
                            "align {align}, {a} and {b}, {size} bytes"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_finding_names_both_fields_their_offsets_and_the_line() {
    const FIELDS: &[Field] =
        &[Field::new("id", 0, 8), contended("refs", 64, 4), read_mostly("next", 80, 8)];
    assert_eq!(
        report(&layout(64, FIELDS), LINE).as_str(),
        "the cache lines of `S`:\n  \
         - contended `refs` (offset 64, 4 bytes) shares line 1 with read-mostly `next` (offset 80, \
         8 bytes)\n  \
         = note: a line has 64 bytes\n  \
         = help: order the fields by who touches them, cold ones in between; or wrap the smaller \
         side in `tenure::cache_line::CachePadded`"
    );
}

#[test]
fn where_only_the_address_is_to_blame_the_advice_is_to_align() {
    const FIELDS: &[Field] = &[contended("refs", 8, 4), read_mostly("next", 64, 8)];
    assert_eq!(
        report(&layout(8, FIELDS), LINE).as_str(),
        "the cache lines of `S`:\n  \
         - contended `refs` (offset 8, 4 bytes) can share a line with read-mostly `next` (offset \
         64, 8 bytes)\n  \
         = note: a line has 64 bytes; `S` starts at any multiple of 8\n  \
         = help: `#[repr(align(64))]` settles it, or `#[line(assume_aligned)]` if its memory \
         starts on a line anyway"
    );
    assert!(findings(&layout(64, FIELDS)).is_empty());
    assert!(findings(&layout(8, FIELDS).assume_aligned()).is_empty());
}

#[test]
fn every_pair_is_named() {
    const FIELDS: &[Field] = &[
        read_mostly("before", 0, 8),
        contended("refs", 8, 8),
        contended("lock", 16, 8),
        read_mostly("behind", 24, 8),
        read_mostly("far", 64, 8),
    ];
    let findings = findings(&layout(64, FIELDS));
    assert_eq!(findings.len(), 4);
    for (finding, (contended, read)) in findings.iter().zip([
        ("`refs`", "`before`"),
        ("`refs`", "`behind`"),
        ("`lock`", "`before`"),
        ("`lock`", "`behind`"),
    ]) {
        assert!(finding.contains(contended) && finding.contains(read), "{finding}");
    }
}

#[test]
fn a_field_over_several_lines_meets_neighbours_on_each_of_them() {
    assert!(pair(64, (0, 130), (184, 8)));
    assert!(!pair(64, (0, 128), (128, 8)));
    assert!(pair(64, (192, 8), (60, 133)));
}

#[test]
fn fields_without_bytes_and_fields_without_a_role_share_no_line() {
    const FIELDS: &[Field] = &[
        contended("marker", 0, 0),
        read_mostly("first", 0, 8),
        Field::new("unmarked", 8, 8),
        Field::new("cold", 16, 8).role(Role::Cold),
    ];
    assert!(findings(&layout(64, FIELDS)).is_empty());
    const WRITTEN: &[Field] = &[contended("refs", 0, 8), read_mostly("marker", 8, 0), FIELDS[2]];
    assert!(findings(&layout(64, WRITTEN)).is_empty());
}

#[test]
fn contended_fields_share_a_line_unless_they_are_of_different_groups() {
    const HEAD: Field = contended("head", 0, 8).group("producer");
    const TAIL: Field = contended("tail", 8, 8);
    assert!(findings(&layout(64, &[HEAD, TAIL])).is_empty());
    assert!(findings(&layout(64, const { &[HEAD, TAIL.group("producer")] })).is_empty());
    assert_eq!(
        findings(&layout(64, const { &[HEAD, TAIL.group("consumer")] })),
        ["contended `head` (offset 0, 8 bytes, group \"producer\") shares line 0 with contended \
          `tail` (offset 8, 8 bytes, group \"consumer\")"]
    );
}

#[test]
fn apart_asks_for_more_than_a_line_and_never_for_less() {
    const FIELDS: &[Field] = &[contended("refs", 0, 4), read_mostly("next", 64, 8)];
    assert_eq!(
        findings(&layout(128, FIELDS).apart(128)),
        ["contended `refs` (offset 0, 4 bytes) shares bytes 0 to 127 with read-mostly `next` \
          (offset 64, 8 bytes)"]
    );
    const FAR: &[Field] = &[contended("refs", 72, 4), read_mostly("next", 128, 8)];
    assert!(findings(&layout(128, FAR).apart(128)).is_empty());
    let aligned_to_a_line = report(&layout(64, FAR).apart(128), LINE);
    let text = aligned_to_a_line.as_str();
    assert!(text.contains("can share an aligned block of 128 bytes"), "{text}");
    assert!(text.ends_with("  = help: `#[repr(align(128))]` settles it"), "{text}");
    const NEAR: &[Field] = &[contended("refs", 0, 4), read_mostly("next", 32, 8)];
    assert_eq!(findings(&layout(64, NEAR).apart(32)).len(), 1);
}

#[test]
fn an_embedded_struct_brings_its_fields_to_any_depth() {
    const COUNT: &[Field] = &[contended("value", 4, 4)];
    static COUNT_LAYOUT: Layout = Layout { size: 8, ..layout(4, COUNT) };
    const ENTRY: &[Field] = &[Field::new("key", 0, 8), embedded("refs", 8, &COUNT_LAYOUT)];
    static ENTRY_LAYOUT: Layout = Layout { size: 16, ..layout(8, ENTRY) };
    const OUTER: &[Field] = &[
        read_mostly("ahead", 0, 8),
        embedded("entry", 64, &ENTRY_LAYOUT),
        read_mostly("behind", 80, 8),
    ];
    assert_eq!(
        findings(&layout(64, OUTER)),
        [
            "contended `entry.refs.value` (offset 76, 4 bytes) shares line 1 with read-mostly `behind` \
          (offset 80, 8 bytes)"
        ]
    );
}

#[test]
fn an_embedded_structs_distance_is_kept_from_the_fields_around_it() {
    const INNER: &[Field] = &[contended("refs", 0, 8)];
    static INNER_LAYOUT: Layout = Layout { size: 64, ..layout(64, INNER) }.apart(128);
    const OUTER: &[Field] = &[embedded("inner", 0, &INNER_LAYOUT), read_mostly("next", 64, 8)];
    assert_eq!(findings(&layout(128, OUTER)).len(), 1);
}

#[test]
fn a_group_takes_the_lines_that_it_touches_and_no_others() {
    const FIELDS: &[Field] = &[
        Field::new("last", 320, 8).group("tx"),
        Field::new("first", 0, 8).group("tx"),
        Field::new("second", 8, 64).group("tx"),
        Field::new("marker", 128, 0).group("tx"),
        Field::new("other", 192, 8),
    ];
    assert!(findings(&layout(64, FIELDS).groups(&[("rx", 1), ("tx", 3)])).is_empty());
    assert_eq!(
        findings(&layout(64, FIELDS).groups(&[("tx", 2)])),
        ["group \"tx\" takes 3 lines and may take 2: `last` (offset 320), `first` (offset 0), \
          `second` (offset 8), `marker` (offset 128)"]
    );
}

#[test]
fn a_group_may_take_one_line_if_nothing_is_declared() {
    const TOGETHER: &[Field] =
        &[Field::new("a", 0, 8).group("g"), Field::new("b", 56, 8).group("g")];
    assert!(findings(&layout(64, TOGETHER)).is_empty());
    const SPREAD: &[Field] = &[Field::new("a", 0, 8).group("g"), Field::new("b", 64, 8).group("g")];
    assert_eq!(findings(&layout(64, SPREAD)).len(), 1);
}

#[test]
fn a_group_counts_its_lines_at_the_worst_address() {
    const FIELDS: &[Field] = &[Field::new("a", 0, 8).group("g"), Field::new("b", 8, 8).group("g")];
    assert!(findings(&layout(16, FIELDS)).is_empty());
    let text = report(&layout(8, FIELDS), LINE);
    assert!(text.as_str().contains("group \"g\" can take 2 lines and may take 1"));
    assert!(text.as_str().contains("#[repr(align(64))]"));
    let text = |size| std::vec![Field::new("text", 0, size).group("g")];
    let may_take_2 =
        |align, size| findings_of(text(size), |fields| layout(align, fields).groups(&[("g", 2)]));
    assert!(may_take_2(1, 65).is_empty());
    assert_eq!(may_take_2(1, 66).len(), 1);
    assert!(may_take_2(2, 66).is_empty());
    assert_eq!(may_take_2(2, 67).len(), 1);
}

#[test]
fn groups_of_an_embedded_struct_are_counted_where_it_lies() {
    const INNER: &[Field] = &[Field::new("a", 0, 8).group("g"), Field::new("b", 8, 8).group("g")];
    static INNER_LAYOUT: Layout = Layout { size: 16, ..layout(8, INNER) };
    let at = |offset| {
        let fields = std::vec![embedded("inner", offset, &INNER_LAYOUT)];
        findings_of(fields, |fields| layout(64, fields))
    };
    assert!(at(48).is_empty());
    assert_eq!(
        at(56),
        ["group \"g\" takes 2 lines and may take 1: `inner.a` (offset 56), `inner.b` (offset 64)"]
    );
}

#[test]
fn a_struct_that_is_assumed_to_start_on_a_line_is_embedded_at_the_start_of_one() {
    static INNER: Layout = Layout { size: 64, ..layout(8, &[]) }.assume_aligned();
    const AT_0: &[Field] = &[embedded("inner", 0, &INNER)];
    const AT_8: &[Field] = &[embedded("inner", 8, &INNER)];
    assert!(findings(&layout(64, AT_0)).is_empty());
    assert!(findings(&layout(8, AT_0).assume_aligned()).is_empty());
    assert_eq!(
        findings(&layout(8, AT_0)),
        ["`inner` (offset 0) is a `S`, which is assumed to start on a line, and `S` can start \
          anywhere"]
    );
    assert_eq!(
        findings(&layout(64, AT_8)),
        ["`inner` (offset 8) is a `S`, which is assumed to start on a line, and does not"]
    );
}

#[test]
fn more_findings_than_fit_are_counted() {
    const FIELDS: [Field; 64] = {
        let mut fields = [contended("w", 0, 1); 64];
        let mut offset = 1;
        while offset < 64 {
            let read = offset % 2 == 1;
            fields[offset] =
                if read { read_mostly("r", offset, 1) } else { contended("w", offset, 1) };
            offset += 1;
        }
        fields
    };
    let report = report(&layout(64, &FIELDS), LINE);
    let listed = report.as_str().matches("contended `w`").count();
    let more = std::format!("  - and {} more\n", 32 * 32 - listed);
    assert!(listed > 30 && report.as_str().contains(&more), "{}", report.as_str());
}

#[test]
fn the_compiler_evaluates_the_rules() {
    const FIELDS: &[Field] = &[contended("refs", 8, 4), read_mostly("next", 64, 8)];
    const { assert!(report(&layout(64, FIELDS), LINE).is_empty()) };
    const { assert!(!report(&layout(8, FIELDS), LINE).is_empty()) };
}

#[test]
fn a_field_that_is_too_wide_for_its_group_is_not_to_be_moved() {
    let advice = |fields: Vec<Field>| {
        let fields = Box::into_raw(fields.into_boxed_slice());
        // SAFETY: the box is ours until the end of this closure, and the advice is text of its own.
        let text = String::from(report(&layout(128, unsafe { &*fields }), LINE).as_str());
        // SAFETY: from a box, given back once.
        drop(unsafe { Box::from_raw(fields) });
        text.split_once("bytes\n").map(|(_, advice)| String::from(advice)).unwrap()
    };
    const LARGER: &str = "  = help: a field takes 2 lines by itself: make it smaller, or let its group take more lines: \
         `#[line(group(name = \"...\", lines = 2))]` on the struct";
    let alone = std::vec![Field::new("table", 0, 96).group("g")];
    assert_eq!(advice(alone), LARGER);
    let one_of_two =
        std::vec![Field::new("table", 0, 96).group("g"), Field::new("len", 96, 8).group("g")];
    assert_eq!(advice(one_of_two), LARGER);
    // A `CachePadded` in another type.
    let wrapped = advice(std::vec![Field::new("refs", 0, ISOLATION_BYTES.max(128)).group("g")]);
    assert!(wrapped.starts_with("  = help: a field takes"), "{wrapped}");
    assert!(
        wrapped.contains("if it wraps a `tenure::cache_line::CachePadded`, use that"),
        "{wrapped}"
    );
    assert!(!wrapped.contains("side by side"), "{wrapped}");
}

#[test]
fn the_only_field_of_a_group_is_to_start_a_line() {
    const FIELDS: &[Field] = &[Field::new("key", 0, 40), Field::new("text", 40, 40).group("g")];
    let text = report(&layout(64, FIELDS), LINE);
    assert!(
        text.as_str()
            .ends_with("= help: put it first, or wrap it in `tenure::cache_line::CachePadded`")
    );
}

#[test]
fn what_may_be_padding_takes_no_line_of_a_group() {
    // As `CachePadded<u64>` on x86-64, through a type parameter.
    const OPAQUE: &[Field] = &[Field::new("refs", 0, 128).group("g").opaque(128)];
    assert!(findings(&layout(128, OPAQUE)).is_empty());
    const LONG: &[Field] = &[Field::new("refs", 0, 256).group("g").opaque(128)];
    assert_eq!(findings(&layout(128, LONG)).len(), 1);
    assert_eq!(OPAQUE[0].opaque(256).padding, 127);
    assert_eq!(Field::new("nothing", 0, 0).opaque(8).padding, 0);
}

#[test]
fn in_a_packed_struct_what_may_be_padding_is_counted() {
    const FIELDS: &[Field] = &[Field::new("value", 60, 8).group("g").opaque(8)];
    assert!(findings(&Layout { align: 64, ..layout(64, FIELDS) }).is_empty());
    assert_eq!(findings(&layout(1, FIELDS)).len(), 1);
}

#[test]
fn a_struct_of_many_fields_stays_within_the_compilers_patience() {
    const MANY: usize = 800;
    // Half are written, in two groups; the compiler may order them as it likes.
    static FIELDS: [Field; MANY] = {
        let mut fields = [contended("w", 0, 1); MANY];
        let mut i = 0;
        while i < MANY {
            fields[i] = if i < MANY / 2 {
                contended("w", i, 1).group("written")
            } else {
                read_mostly("r", i + LINE, 1).group("read")
            };
            i += 1;
        }
        fields
    };
    const GROUPS: &[(&str, usize)] = &[("written", 8), ("read", 8)];
    const { assert!(report(&layout(64, &FIELDS).groups(GROUPS), LINE).is_empty()) };
    // And where everything is wrong.
    static CLOSE: [Field; MANY / 2] = {
        let mut fields = [contended("w", 0, 1); MANY / 2];
        let mut i = 0;
        while i < fields.len() {
            if i % 2 == 0 {
                fields[i] = read_mostly("r", 0, 1);
            }
            fields[i].offset = i;
            i += 1;
        }
        fields
    };
    const { assert!(!report(&layout(64, &CLOSE), LINE).is_empty()) };
}
