use super::*;
use crate::fixtures::{Maker, structure};
use tenure_debuginfo::model::{BitField, Member, Shape, TypeKind};

/// dst_entry and rtable with the offsets of Linux 6.1 or those since 6.4.
fn routes(repaired: bool) -> Model {
    let mut maker = Maker::new();
    let (int, long) = (maker.int, maker.number("long", 8));
    let (lwtstate, rcu_head, size, genid) =
        if repaired { (128, 80, 136, 136) } else { (80, 88, 112, 112) };
    let members = [
        ("dev", 0, long),
        ("__refcnt", 64, int),
        ("__use", 68, int),
        ("lastuse", 72, long),
        ("lwtstate", lwtstate, long),
        ("rcu_head", rcu_head, long),
    ];
    let dst = maker.add("dst_entry", size, &members);
    maker.add(
        "rtable",
        176,
        &[("dst", 0, dst), ("rt_genid", genid, int), ("rt_flags", genid + 4, int)],
    );
    maker.finish()
}

fn checked(model: &Model, rules: &str) -> Vec<(bool, String)> {
    let rules = Rules::parse(rules, "r.toml").unwrap();
    check(&rules, model, 64).into_iter().map(|check| (check.passed, check.found)).collect()
}

fn one(model: &Model, rules: &str) -> (bool, String) {
    let mut checks = checked(model, rules);
    assert_eq!(checks.len(), 1, "{checks:?}");
    checks.remove(0)
}

/// Checks that a rule holds, or fails, and how the message begins.
#[track_caller]
fn says(model: &Model, rules: &str, passed: bool, begin: &str) {
    let (is_passed, found) = one(model, rules);
    assert!(is_passed == passed && found.starts_with(begin), "{is_passed}: {found}");
}

const DST: &str = "[[apart]]\ntype = 'dst_entry'\nmember = 'lwtstate'\nfrom = '__refcnt'\n";
const RTABLE: &str = "[[apart]]\ntype = 'rtable'\nmember = 'rt_*'\nfrom = 'dst.__refcnt'\n";

#[test]
fn members_beside_the_count_fail_and_pass_once_they_moved() {
    for (repaired, expected) in [
        (false, "lwtstate at 80 (8 bytes) and __refcnt at 64 (4 bytes) are both on line 1"),
        (true, "lwtstate at 128 (8 bytes) on line 2; __refcnt at 64 (4 bytes) on line 1"),
    ] {
        let assumed = ", if dst_entry begins on a line (it is aligned to 8 bytes only)";
        assert_eq!(one(&routes(repaired), DST), (repaired, format!("{expected}{assumed}")));
    }
}

#[test]
fn members_of_the_outer_type_are_seen_beside_the_embedded_count() {
    let both = "rt_genid at 112 (4 bytes) and dst.__refcnt at 64 (4 bytes) are both on line 1, \
        rt_flags at 116 (4 bytes) and dst.__refcnt at 64 (4 bytes) are both on line 1";
    says(&routes(false), RTABLE, false, both);
    says(&routes(true), RTABLE, true, "rt_genid at 136 (4 bytes) on line 2");
}

#[test]
fn a_check_that_finds_no_type_or_no_member_fails() {
    let model = routes(true);
    for (rules, expected) in [
        (
            DST.replace("dst_entry", "dst_entri"),
            "there is no type `dst_entri` with members, did you mean `dst_entry`?",
        ),
        (DST.replace("dst_entry", "x*"), "there is no type `x*` with members"),
        (
            DST.replace("lwtstate", "lwt_state"),
            "dst_entry has no member `lwt_state`, did you mean `lwtstate`?",
        ),
        (DST.replace("__refcnt", "*count*"), "dst_entry has no member `*count*`"),
        (RTABLE.replace("dst.__", "dst.x"), "rtable has no member `dst.xrefcnt`"),
        (
            "[[within]]\ntype='rtable'\ngroup='g'\nmember='dst'".to_owned(),
            "rtable has no markers of a cacheline group `g`: `__cacheline_group_begin__g` and `__cacheline_group_end__g`",
        ),
    ] {
        assert_eq!(one(&model, &rules), (false, expected.to_owned()));
    }
}

#[test]
fn any_placement_asks_for_more_than_a_start_on_a_line() {
    let anywhere = |rules: &str| format!("{rules}any_placement = true");
    let (passed, found) = one(&routes(true), &anywhere(RTABLE));
    assert!(passed && !found.contains("begins"), "{found}");
    // 48 bytes apart: some start puts both on one line.
    let rules = "[[apart]]\ntype='dst_entry'\nmember='rcu_head'\nfrom='lwtstate'\n";
    assert!(one(&routes(true), rules).0);
    let (passed, found) = one(&routes(true), &anywhere(rules));
    assert!(!passed && found.contains("where dst_entry begins"), "{found}");
}

#[test]
fn a_star_means_all_members_but_the_one_to_stay_away_from() {
    let rules = "[[apart]]\ntype='rtable'\nmember='*'\nfrom='dst.__refcnt'\n";
    let (passed, found) = one(&routes(true), rules);
    assert!(!passed);
    // `dst` contains the count, so the result is about the rest of it.
    assert!(found.starts_with("dst.__use at 68 (4 bytes) and dst.__refcnt at 64"), "{found}");
    assert!(found.contains("dst.lastuse") && !found.contains("dst at 0"), "{found}");
    let spelled_out = rules.replace('*', "dst");
    says(&routes(true), &spelled_out, false, "dst at 0 (136 bytes) and dst.__refcnt");
}

#[test]
fn a_group_fits_in_the_lines_that_its_members_touch() {
    let model = routes(true);
    let rules = "[[group]]\ntype='dst_entry'\nname='g'\nmembers=['dev', 'lwtstate']\nlines=2\n";
    assert!(one(&model, rules).0);
    assert_eq!(
        one(&model, &rules.replace("=2", "=1")),
        (false, "it lies from 0 to 136 (136 bytes) and takes up 2 lines, if dst_entry begins on a line (it is aligned to 8 \
                 bytes only): dev at 0 (8 bytes) on line 0, lwtstate at 128 (8 bytes) on line 2".to_owned())
    );
    let rules = "[[group]]\ntype='rtable'\nname='g'\nmembers='rt_*'\nlines=1\n";
    assert!(one(&model, rules).0);
    let bytes = rules.replace("lines=1", "bytes=8");
    assert!(one(&model, &bytes).0);
    assert!(!one(&model, &bytes.replace('8', "7")).0);
}

#[test]
fn a_group_of_eight_aligned_bytes_takes_one_line_wherever_it_lies_and_one_of_twelve_does_not() {
    let rules = "[[group]]\ntype='dst_entry'\nname='g'\nmembers=['__refcnt', '__use']\nlines=1\n\
        any_placement=true\n";
    assert!(one(&routes(true), rules).0);
    let (passed, found) = one(&routes(true), &rules.replace("__use", "lastuse"));
    assert!(!passed);
    assert!(found.contains("2 lines, where dst_entry begins 56 bytes into a line"), "{found}");
}

#[test]
fn a_group_between_the_kernel_s_markers_has_a_size_and_members_lie_in_it_or_outside() {
    let mut maker = Maker::new();
    let (int, mark) = (maker.int, maker.array(maker.int, 0));
    let members = [
        ("first", 0, int),
        ("__cacheline_group_begin__g", 4, mark),
        ("a", 4, int),
        ("b", 8, int),
        ("__cacheline_group_end__g", 12, mark),
        ("c", 12, int),
    ];
    maker.add("s", 16, &members);
    let model = maker.finish();
    let within = "[[within]]\ntype='s'\ngroup='g'\nmember=['a', 'b']";
    let inside = "a at 4 (4 bytes) on line 0, b at 8 (4 bytes) on line 0; group g lies from 4 to 12 on line 0";
    assert_eq!(one(&model, within), (true, inside.to_owned()));
    let outside = "c at 12 (4 bytes) on line 0 lies outside: group g lies from 4 to 12 on line 0";
    assert_eq!(one(&model, &within.replace("'b'", "'c'")), (false, outside.to_owned()));
    let size = "[[group]]\ntype='s'\nname='g'\nbytes=8\nlines=1";
    assert!(one(&model, size).0);
    assert!(!one(&model, &size.replace("=8", "=7")).0);
}

#[test]
fn a_group_that_the_file_lists_can_be_lain_in() {
    let of = |member: &str| {
        let group =
            "[[group]]\ntype='rtable'\nname='g'\nmembers=['dst.__refcnt', 'rt_genid']\nlines=9\n";
        let within = format!("{group}[[within]]\ntype='rtable'\ngroup='g'\nmember='{member}'");
        checked(&routes(true), &within).into_iter().map(|(passed, _)| passed).collect::<Vec<_>>()
    };
    assert_eq!((of("dst.lwtstate"), of("rt_flags")), (vec![true, true], vec![true, false]));
}

#[test]
fn every_type_of_a_name_is_checked_and_told_apart() {
    let mut maker = Maker::new();
    for (line, offset) in [(10, 4), (20, 64)] {
        let members = [("a", 0, maker.int), ("b", offset, maker.int)];
        maker.add_declared("twice", offset + 4, &members, "x.h", line);
    }
    maker.builder.add("twice", 0, TypeKind::Opaque);
    let checks = checked(&maker.finish_dwarf(), "[[apart]]\ntype='twice'\nmember='a'\nfrom='b'");
    assert_eq!(checks.iter().map(|(passed, _)| *passed).collect::<Vec<_>>(), [false, true]);
    assert!(checks[0].1.starts_with("(x.h:10) "), "{}", checks[0].1);
}

#[test]
fn bit_fields_arrays_and_parts_without_a_name_have_their_places() {
    let mut maker = Maker::new();
    let shard = maker.add("shard", 48, &[("lock", 0, maker.int), ("data", 4, maker.int)]);
    let shards = maker.array(shard, 3);
    let part = maker.add("", 4, &[("hidden", 0, maker.int)]);
    let bits = Some(BitField { first: 3, count: 2 });
    let flag = Member { bits, ..Member::new("flag", 8, maker.int) };
    let members = vec![Member::new("", 4, part), flag, Member::new("shards", 64, shards)];
    let pool = maker.builder.add("", 208, TypeKind::Composite { shape: Shape::Struct, members });
    maker.alias("pool_t", pool);
    let model = maker.finish_dwarf();
    let hidden = "hidden at 4 (4 bytes) and flag at 8 (2 bits) are both on line 0";
    says(&model, "[[apart]]\ntype='pool_t'\nmember='hidden'\nfrom='flag'", false, hidden);
    let shard =
        "shards[0].lock at 64 (4 bytes) and shards[0].data at 68 (4 bytes) are both on line 1";
    says(
        &model,
        "[[apart]]\ntype='pool_t'\nmember='shards.lock'\nfrom='shards.data'",
        false,
        shard,
    );
}

#[test]
fn an_endless_array_fails_the_check_in_words() {
    let mut maker = Maker::new();
    let inner = maker.add("inner", 4, &[("a", 0, maker.int)]);
    let array = maker.array(inner, u64::MAX);
    let members = structure(&[("x", u64::MAX - 1, array), ("y", u64::MAX, maker.int)]);
    maker.builder.add("huge", u64::MAX, members);
    let model = maker.finish();
    let rules = "[[apart]]\ntype='huge'\nmember='x.a'\nfrom='y'";
    let expected = "`x.a` stands for too many members to check";
    assert_eq!(one(&model, rules), (false, expected.to_owned()));
    assert!(!one(&model, &rules.replace("x.a", "x")).0);
    // Unrepresentable ends saturate.
    let rules = "[[group]]\ntype='huge'\nname='g'\nmembers='*'\nlines=1\nany_placement=true";
    for line_bytes in [1, 64, 4096] {
        assert_eq!(check(&Rules::parse(rules, "r").unwrap(), &model, line_bytes).len(), 1);
    }
}
