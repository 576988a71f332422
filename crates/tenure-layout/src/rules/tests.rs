use super::*;

fn error(text: &str) -> String {
    Rules::parse(text, "r.toml").unwrap_err().to_string()
}

#[test]
fn an_error_says_where_and_what_is_allowed() {
    for (text, expected) in [
        (
            "[types]\n\"spinlock_t\" = \"lok\"",
            "r.toml:2:16: unknown role `lok`, did you mean `lock`? (there are `count`, `lock`, `sequence`, `atomic`, `written`, `read_mostly`, `cold`, `plain`)",
        ),
        (
            "[typs]\na = \"lock\"",
            "r.toml:1:2: unknown table `typs`, did you mean `types`? (there are `types`, `pointers`, `members`, `atomics`, `cacheline_groups`, `statics`, `sections`, `apart`, `group`, `within`, `suppress`)",
        ),
        (
            "[[apart]]\ntype = 'a'\nmembers = 'b'\nfrom = 'c'",
            "r.toml:3:1: unknown key of [[apart]] `members`, did you mean `member`? (there are `type`, `member`, `from`, `any_placement`)",
        ),
        ("[[apart]]\ntype = 'a'\nmember = 'b'", "r.toml:1:1: [[apart]] needs `from`"),
        ("[[apart]]\nmember = 'b'\nfrom = 'c'", "r.toml:1:1: [[apart]] needs `type`"),
        (
            "[[group]]\ntype = 'a'\nname = 'g'",
            "r.toml:1:1: [[group]] needs `lines` or `bytes`: how many it may take",
        ),
        ("[[group]]\ntype = 'a'\nname = 'g'\nlines = 0", "r.toml:4:9: `lines` is a number from 1"),
        (
            "[[group]]\ntype = 'a'\nname = 'g'\nlines = '2'",
            "r.toml:4:9: `lines` is a number from 1",
        ),
        (
            "[[within]]\ntype = 'a'\ngroup = ''\nmember = 'm'",
            "r.toml:3:9: `group` is a name in quotes",
        ),
        ("[[within]]\ntype = []\ngroup = 'g'\nmember = 'm'", "r.toml:2:8: `type` is an empty list"),
        (
            "[[within]]\ntype = 'a'\ngroup = 'g'\nmember = ['m', 3]",
            "r.toml:4:16: `member` is a name or a list of names",
        ),
        (
            "[[apart]]\ntype = 'a'\nmember = 'b'\nfrom = 'c'\nany_placement = 1",
            "r.toml:5:17: `any_placement` is true or false",
        ),
        ("[[suppress]]\ntype = 'a'", "r.toml:1:1: [[suppress]] needs `reason`"),
        ("[[suppress]]\nreason = 'a'", "r.toml:1:1: [[suppress]] needs `type`"),
        ("[apart]\ntype = 'a'", "r.toml:1:2: write [[apart]]: there may be many"),
        ("types = 3", "r.toml:1:9: write a table of NAME = \"ROLE\""),
        ("[members]\n\"lwtstate\" = \"cold\"", "r.toml:2:1: `lwtstate` does not say TYPE.MEMBER"),
        ("[members]\n\"a<b.c\" = \"cold\"", "r.toml:2:1: a bracket of `a<b.c` is not closed"),
        ("[members]\n\"a..c\" = \"cold\"", "r.toml:2:1: `.c` is not the name of a member"),
        ("[types]\n\"\" = \"cold\"", "r.toml:2:1: an empty name"),
        (
            "[types]\na = 1",
            "r.toml:2:5: a role is `count`, `lock`, `sequence`, `atomic`, `written`, `read_mostly`, `cold`, `plain`",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
}

#[test]
fn what_is_not_toml_is_refused_in_one_line() {
    for text in [
        "[types",
        "a = ",
        "\"a\" = \"b\"\n\"a\" = \"c\"",
        "[types]\n[types]",
        "\0",
        "= = =",
        "a = \"\n",
    ] {
        let error = error(text);
        assert!(error.starts_with("r.toml:") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn tables_nested_without_end_are_refused() {
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("[members]\na = {}", "{ a = ".repeat(100_000)),
        format!("[members{}]\nx = 'cold'", ".a".repeat(100_000)),
    ] {
        let error = error(&text);
        assert!(error.len() < 1000, "{}", &error[..200]);
    }
}

#[test]
fn columns_count_characters() {
    assert_eq!(error("[types]\n\"größe\" = 1").split_once(": ").unwrap().0, "r.toml:2:11");
}

#[test]
fn members_of_one_type_can_be_a_table_of_their_own() {
    let one = "[members]\n\"rtable.rt_flags\" = \"read_mostly\"\n\"rtable.dst.error\" = \"cold\"";
    let other = "[members.rtable]\nrt_flags = \"read_mostly\"\ndst.error = \"cold\"";
    assert_eq!(Rules::parse(one, "r").unwrap(), Rules::parse(other, "r").unwrap());
}

#[test]
fn rules_and_checks_keep_the_order_of_the_file() {
    let text = "[[group]]\ntype='a'\nname='z'\nlines=1\n[types]\nz='cold'\na='lock'\n\
        [[apart]]\ntype='b'\nmember='m'\nfrom='n'\n[[group]]\ntype='c'\nname='y'\nlines=1";
    let rules = Rules::parse(text, "r").unwrap();
    let types: Vec<_> =
        rules.named[NamedTable::Types as usize].iter().map(|(glob, _)| glob.as_str()).collect();
    assert_eq!(types, ["z", "a"]);
    let checks: Vec<_> = rules.checks.iter().map(ToString::to_string).collect();
    assert_eq!(
        checks,
        [
            "group z of a must fit in 1 line",
            "b.m must not share a line with b.n",
            "group y of c must fit in 1 line"
        ]
    );
}

#[test]
fn a_file_that_is_missing_binary_or_endless_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.toml");
    assert!(Rules::read(&path).unwrap_err().to_string().starts_with("cannot read "));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(Rules::read(&path).unwrap_err().to_string().ends_with("it is not UTF-8"));
    std::fs::write(&path, vec![b'#'; 5 << 20]).unwrap();
    assert!(Rules::read(&path).unwrap_err().to_string().contains("more than"));
    std::fs::write(&path, "[types]\na = 'lock'").unwrap();
    assert_eq!(Rules::read(&path).unwrap().count(), 1);
}

#[test]
fn no_byte_that_is_lost_or_exchanged_makes_it_panic() {
    let text = "[types]\n'a<*>' = 'lock'\n[members.b]\n'c' = 'cold'\n[[apart]]\ntype = 'a'\n\
        member = ['b', 'c.*']\nfrom = 'd'\n[[group]]\ntype = 'e'\nname = 'f'\nlines = 0x2\n";
    assert!(Rules::parse(text, "r").is_ok());
    for at in 0..text.len() {
        let (before, after) = (&text[..at], &text[at + 1..]);
        for other in ["", "\0", "'", "\"", "[", "]", "*", ".", "=", "\n", "é", "9"] {
            if let Err(error) = Rules::parse(&format!("{before}{other}{after}"), "r") {
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}
