use super::*;
use tenure_types::model::{Bits, Builder, Declared, Format, Kind, Member, Scalar, Shape, TypeId};

fn structure(members: Vec<Member>) -> Kind {
    Kind::Composite { shape: Shape::Struct, members }
}

/// dst_entry and rtable with the offsets of Linux 6.1 or those since 6.4.
fn routes(repaired: bool) -> Model {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let long = builder.add("long", 8, Kind::Scalar(Scalar::Integer));
    let (lwtstate, rcu_head, size, genid) =
        if repaired { (128, 80, 136, 136) } else { (80, 88, 112, 112) };
    let members = vec![
        Member::new("dev", 0, long),
        Member::new("__refcnt", 64, int),
        Member::new("__use", 68, int),
        Member::new("lastuse", 72, long),
        Member::new("lwtstate", lwtstate, long),
        Member::new("rcu_head", rcu_head, long),
    ];
    let dst = builder.add("dst_entry", size, structure(members));
    let members = vec![
        Member::new("dst", 0, dst),
        Member::new("rt_genid", genid, int),
        Member::new("rt_flags", genid + 4, int),
    ];
    builder.add("rtable", 176, structure(members));
    builder.finish(Format::Btf, 1).unwrap()
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

const DST: &str = "[[apart]]\ntype = 'dst_entry'\nmember = 'lwtstate'\nfrom = '__refcnt'\n";
const RTABLE: &str = "[[apart]]\ntype = 'rtable'\nmember = 'rt_*'\nfrom = 'dst.__refcnt'\n";

#[test]
fn members_beside_the_count_fail_and_pass_once_they_moved() {
    let assumed = ", if dst_entry begins on a line (it is aligned to 8 bytes only)";
    let (passed, found) = one(&routes(false), DST);
    assert!(!passed);
    let expected = "lwtstate at 80 (8 bytes) and __refcnt at 64 (4 bytes) are both on line 1";
    assert_eq!(found, format!("{expected}{assumed}"));
    let (passed, found) = one(&routes(true), DST);
    assert!(passed);
    let expected = "lwtstate at 128 (8 bytes) on line 2; __refcnt at 64 (4 bytes) on line 1";
    assert_eq!(found, format!("{expected}{assumed}"));
}

#[test]
fn members_of_the_outer_type_are_seen_beside_the_embedded_count() {
    let (passed, found) = one(&routes(false), RTABLE);
    assert!(!passed);
    assert!(
        found.starts_with(
            "rt_genid at 112 (4 bytes) and dst.__refcnt at 64 (4 bytes) are both on line 1, \
             rt_flags at 116 (4 bytes) and dst.__refcnt at 64 (4 bytes) are both on line 1"
        ),
        "{found}"
    );
    assert!(one(&routes(true), RTABLE).0);
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
    assert!(passed, "{found}");
    assert!(!found.contains("begins"), "{found}");
    // 60 bytes apart: some start puts both on one line.
    let rules = "[[apart]]\ntype='dst_entry'\nmember='dev'\nfrom='lastuse'\n";
    assert!(one(&routes(true), rules).0);
    let rules = rules.replace("dev", "__refcnt").replace("lastuse", "rcu_head");
    assert!(!one(&routes(true), &anywhere(&rules)).0);
    let rules = rules.replace("__refcnt", "rcu_head").replace("from='rcu_head'", "from='lwtstate'");
    assert!(one(&routes(true), &rules).0);
    let (passed, found) = one(&routes(true), &anywhere(&rules));
    assert!(!passed);
    assert!(
        found.ends_with("where dst_entry begins 48 bytes into a line") || found.contains("begins"),
        "{found}"
    );
}

#[test]
fn a_star_means_all_members_but_the_one_to_stay_away_from() {
    let rules = "[[apart]]\ntype='rtable'\nmember='*'\nfrom='dst.__refcnt'\n";
    let (passed, found) = one(&routes(true), rules);
    assert!(!passed);
    // `dst` contains the count, so the result is about the rest of it.
    assert!(found.starts_with("dst.__use at 68 (4 bytes) and dst.__refcnt at 64"), "{found}");
    assert!(found.contains("dst.lastuse"), "{found}");
    assert!(!found.contains("dst at 0"), "{found}");
    let spelled_out = rules.replace('*', "dst");
    let (_, found) = one(&routes(true), &spelled_out);
    assert!(found.starts_with("dst at 0 (136 bytes) and dst.__refcnt"), "{found}");
}

#[test]
fn a_group_fits_in_the_lines_that_its_members_touch() {
    let rules = |lines: u64| {
        format!(
            "[[group]]\ntype='dst_entry'\nname='g'\nmembers=['dev', 'lwtstate']\nlines={lines}\n"
        )
    };
    let model = routes(true);
    assert!(one(&model, &rules(2)).0);
    let (passed, found) = one(&model, &rules(1));
    assert!(!passed);
    assert_eq!(
        found,
        "it lies from 0 to 136 (136 bytes) and takes up 2 lines, if dst_entry begins on a line (it is \
         aligned to 8 bytes only): dev at 0 (8 bytes) on line 0, lwtstate at 128 (8 bytes) on line 2"
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

fn marked() -> Model {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let mark = builder.add("", 0, Kind::Array { element: int, count: 0 });
    let members = vec![
        Member::new("first", 0, int),
        Member::new("__cacheline_group_begin__g", 4, mark),
        Member::new("a", 4, int),
        Member::new("b", 8, int),
        Member::new("__cacheline_group_end__g", 12, mark),
        Member::new("c", 12, int),
    ];
    builder.add("s", 16, structure(members));
    builder.finish(Format::Btf, 1).unwrap()
}

#[test]
fn members_lie_within_the_kernel_s_markers_or_outside() {
    let rules = "[[within]]\ntype='s'\ngroup='g'\nmember=['a', 'b']";
    assert_eq!(
        one(&marked(), rules),
        (
            true,
            "a at 4 (4 bytes) on line 0, b at 8 (4 bytes) on line 0; group g lies from 4 to 12 on line 0"
                .to_owned()
        )
    );
    let (passed, found) = one(&marked(), &rules.replace("'b'", "'c'"));
    assert!(!passed);
    assert_eq!(
        found,
        "c at 12 (4 bytes) on line 0 lies outside: group g lies from 4 to 12 on line 0"
    );
}

#[test]
fn a_group_between_markers_has_a_size() {
    let rules = "[[group]]\ntype='s'\nname='g'\nbytes=8\nlines=1";
    assert!(one(&marked(), rules).0);
    assert!(!one(&marked(), &rules.replace("=8", "=7")).0);
}

#[test]
fn a_group_that_the_file_lists_can_be_lain_in() {
    let group =
        "[[group]]\ntype='rtable'\nname='g'\nmembers=['dst.__refcnt', 'rt_genid']\nlines=9\n";
    let within = "[[within]]\ntype='rtable'\ngroup='g'\nmember=";
    assert!(
        checked(&routes(true), &format!("{group}{within}'dst.lwtstate'")).iter().all(|(ok, _)| *ok)
    );
    assert!(!checked(&routes(true), &format!("{group}{within}'rt_flags'"))[1].0);
}

#[test]
fn every_type_of_a_name_is_checked_and_told_apart() {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    for (line, offset) in [(10, 4), (20, 64)] {
        let members = vec![Member::new("a", 0, int), Member::new("b", offset, int)];
        let id: TypeId = builder.reserve();
        let mut ty = tenure_types::model::Type::new("twice", offset + 4, structure(members));
        ty.declared = Some(Declared { file: "x.h".into(), line });
        builder.set(id, ty);
    }
    builder.add("twice", 0, Kind::Opaque);
    let model = builder.finish(Format::Dwarf, 1).unwrap();
    let checks = checked(&model, "[[apart]]\ntype='twice'\nmember='a'\nfrom='b'");
    assert_eq!(checks.iter().map(|(passed, _)| *passed).collect::<Vec<_>>(), [false, true]);
    assert!(checks[0].1.starts_with("(x.h:10) "), "{}", checks[0].1);
}

#[test]
fn bit_fields_arrays_and_parts_without_a_name_have_their_places() {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let mut flag = Member::new("flag", 8, int);
    flag.bits = Some(Bits { first: 3, count: 2 });
    let shard = vec![Member::new("lock", 0, int), Member::new("data", 4, int)];
    let shard = builder.add("shard", 48, structure(shard));
    let shards = builder.add("", 0, Kind::Array { element: shard, count: 3 });
    let part = vec![Member::new("hidden", 0, int)];
    let part = builder.add("", 4, structure(part));
    let members = vec![Member::new("", 4, part), flag, Member::new("shards", 64, shards)];
    let pool = builder.add("", 208, structure(members));
    builder.add("pool_t", 0, Kind::Alias(pool));
    let model = builder.finish(Format::Dwarf, 1).unwrap();
    let (passed, found) = one(&model, "[[apart]]\ntype='pool_t'\nmember='hidden'\nfrom='flag'");
    assert!(!passed);
    assert!(
        found.starts_with("hidden at 4 (4 bytes) and flag at 8 (2 bits) are both on line 0"),
        "{found}"
    );
    let (_, found) =
        one(&model, "[[apart]]\ntype='pool_t'\nmember='shards.lock'\nfrom='shards.data'");
    assert!(
        found.starts_with(
            "shards[0].lock at 64 (4 bytes) and shards[0].data at 68 (4 bytes) are both on line 1"
        ),
        "{found}"
    );
}

#[test]
fn an_endless_array_fails_the_check_in_words() {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let inner = builder.add("inner", 4, structure(vec![Member::new("a", 0, int)]));
    let array = builder.add("", 0, Kind::Array { element: inner, count: u64::MAX });
    let members = vec![Member::new("x", u64::MAX - 1, array), Member::new("y", u64::MAX, int)];
    builder.add("huge", u64::MAX, structure(members));
    let model = builder.finish(Format::Btf, 1).unwrap();
    let rules = "[[apart]]\ntype='huge'\nmember='x.a'\nfrom='y'";
    let expected = "`x.a` stands for too many members to look at";
    assert_eq!(one(&model, rules), (false, expected.to_owned()));
    assert!(!one(&model, &rules.replace("x.a", "x")).0);
    // Unrepresentable ends saturate.
    let rules = "[[group]]\ntype='huge'\nname='g'\nmembers='*'\nlines=1\nany_placement=true";
    for line_bytes in [1, 64, 4096] {
        assert_eq!(check(&Rules::parse(rules, "r").unwrap(), &model, line_bytes).len(), 1);
    }
}
