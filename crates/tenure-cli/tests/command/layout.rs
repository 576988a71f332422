use std::fs;
use std::path::{Path, PathBuf};

use super::support::{is_refused, refused, tenure, tenure_in, text};

/// BTF of Linux's routes before 6.4 and since.
fn fixture(name: &str) -> String {
    format!("{}/../tenure-debuginfo/tests/fixtures/btf/{name}.btf", env!("CARGO_MANIFEST_DIR"))
}

fn rules(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

const APART: &str = r#"
[[apart]]
type = "dst_entry"
member = "lwtstate"
from = "__r*"
"#;

#[test]
fn the_routes_of_a_kernel_before_the_repair_are_found() {
    let output = tenure(&["layout", &fixture("before")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    for word in ["dst_entry", "__refcnt", "lwtstate", "rtable", "rt_genid"] {
        assert!(found.contains(word), "{word} in:\n{found}");
    }
    assert!(!found.contains('\u{1b}'), "a pipe gets no colours");
}

#[test]
fn a_suppressed_type_is_left_out_with_its_reason() {
    let (_folder, path) = rules(
        "[[suppress]]\ntype = 'dst_*'\nreason = 'fixed in 6.4'\n\
         [[suppress]]\ntype = 'none'\nreason = 'gone'",
    );
    let output = tenure(&["layout", &fixture("before"), "--rules", word(&path)]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = text(&output.stdout);
    assert!(found.contains("suppressed: fixed in 6.4."), "{found}");
    assert!(words(found).contains("is for no finding and can go: gone."), "{found}");
    assert!(!found.contains("   1. ") && found.contains("   2. "), "{found}");
    let unsuppressed = tenure(&["layout", &fixture("before")]);
    assert!(text(&unsuppressed.stdout).len() > found.len(), "{found}");
}

#[test]
fn the_guide_shows_what_the_command_says() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let guide = include_str!("../../../../docs/layout.md");
    let shown = guide.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let output = tenure(&["layout", &fixture("before"), "--top", "1"]);
    let said = words(text(&output.stdout));
    assert!(said.contains(&words(shown)), "{shown}\n{said}");
}

#[test]
fn a_type_that_was_named_is_drawn_and_mended() {
    let output = tenure(&["layout", &fixture("before"), "dst_entry", "--suggest"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no type grows"), "{}", text(&output.stdout));
}

#[test]
fn json_has_its_schema_and_the_page_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["layout", &fixture("before"), "--json", "-", "--html", "page.html"];
    let output = tenure_in(folder.path(), &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], "tenure-render/1");
    assert!(report["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("dst_entry"));
}

#[test]
fn a_page_may_take_the_place_of_the_text() {
    let output = tenure(&["layout", &fixture("before"), "--html", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
}

#[test]
fn a_report_is_compared_with_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let written = tenure_in(folder.path(), &["layout", &fixture("before"), "--json", "old.json"]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    let of =
        |name: &str| tenure_in(folder.path(), &["layout", &fixture(name), "--diff", "old.json"]);
    let same = of("before");
    assert!(text(&same.stdout).contains("Nothing differs"), "{}", text(&same.stderr));
    let repaired = of("repaired");
    let said = text(&repaired.stdout);
    assert!(repaired.status.success() && said.contains("better"), "{said}");
}

#[test]
fn a_program_is_compared_with_an_older_build_to_its_last_finding() {
    let output =
        tenure(&["layout", "--diff", &fixture("before"), &fixture("repaired"), "--top", "1"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("Compared with the older report") && said.contains("better"), "{said}");
    assert!(said.contains("rtable: "), "{said}");
    assert!(!said.contains("\n   2. "), "{said}");
    let worse = tenure(&["layout", "--diff", &fixture("repaired"), &fixture("before")]);
    assert_eq!(worse.status.code(), Some(1), "{}", text(&worse.stderr));
    assert!(text(&worse.stdout).contains("worse"), "{}", text(&worse.stdout));
}

#[test]
fn a_check_that_fails_ends_with_1_and_says_where() {
    let (_folder, path) = rules(APART);
    let output = tenure(&["layout", &fixture("before"), "--check", word(&path)]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    assert!(found.contains("lwtstate") && found.contains("80") && found.contains("64"), "{found}");
    let output = tenure(&["layout", &fixture("repaired"), "--check", word(&path)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn a_check_of_what_is_not_there_fails() {
    let (_folder, path) = rules(&APART.replace("lwtstate", "no_such_member"));
    let output = tenure(&["layout", &fixture("before"), "--check", word(&path)]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no_such_member"));
}

#[test]
fn rules_change_what_is_known() {
    let (_folder, path) = rules("[members]\n\"dst_entry.lwtstate\" = \"cold\"\n");
    let victims = |extra: &[&str]| {
        let fixture = fixture("before");
        let words: Vec<&str> = ["layout", &fixture, "dst_entry", "--json", "-"]
            .into_iter()
            .chain(extra.iter().copied())
            .collect();
        let report: serde_json::Value = serde_json::from_slice(&tenure(&words).stdout).unwrap();
        report["findings"].to_string()
    };
    assert!(victims(&[]).contains("\"path\":\"lwtstate\""));
    assert!(!victims(&["--rules", word(&path)]).contains("\"path\":\"lwtstate\""));
}

#[test]
fn what_cannot_be_done_is_refused_in_one_line() {
    let before = fixture("before");
    let refused = |words: &[&str], said: &[&str]| refused("layout", words, said);
    refused(&[], &["--kernel", "FILE"]);
    refused(&["/no/such/file"], &["/no/such/file"]);
    refused(&[env!("CARGO_MANIFEST_DIR")], &["directory"]);
    refused(&[&before, "dst_entri"], &["dst_entri", "did you mean `dst_entry`"]);
    refused(&[&before, "--suggest", "--pin", "no_such_member"], &["no_such_member"]);
    refused(&[&before, "--pin", "dst_entry.ops"], &["--pin", "--suggest"]);
    refused(&[&before, "--json", "x", "--html", "x"], &["--json", "--html"]);
    refused(&[&before, "--line", "48"], &["48", "power of two"]);
    refused(&[&before, "--top", "many"], &["many", "tenure layout --help"]);
    refused(&[&before, "--format", "pdb"], &["pdb", "dwarf, btf"]);
    refused(&[&before, "--format", "dwarf"], &["has no DWARF", "--format"]);
    refused(&[&before, ""], &["not the name of a type"]);
    refused(&[&before, "--in", "*"], &["--in", "BTF"]);
    refused(&["--kernel", "--base", &before], &["--kernel", "--base"]);
    refused(&["--kernel", "--perf", "perf.data"], &["--kernel", "--perf"]);
    refused(&[&before, "--perf", "perf.data", "--no-code"], &["--no-code", "--perf"]);
    refused(&[&before, "--perf", "perf.data"], &["before.btf", "not a program"]);
    refused(&["--kernel", &before], &["leave out", "before.btf"]);
    refused(&[&before, "--debug-file", "x"], &["--debug-file is for programs"]);
    let program = env!("CARGO_BIN_EXE_tenure");
    refused(&[program, "--base", &before], &["--base is for the BTF"]);
    refused(&[program, "--debug-file", &before], &["name one with DWARF"]);
    refused(&[program, "--perf", "/no/such/perf.data"], &["cannot read /no/such/perf.data"]);
    refused(&[program, "--perf", &before], &["before.btf", "neither a perf.data file"]);
    refused(&[&before, "--rules", "/no/such/rules.toml"], &["/no/such/rules.toml"]);
    refused(&[&before, "--diff", "/no/such/old.json"], &["/no/such/old.json"]);
    let neither = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refused(&[&before, "--diff", neither], &["Cargo.toml", "neither an object file"]);
    refused(&[&before, "--json", "/proc/no/such"], &["/proc/no/such"]);
    let (folder, path) = rules("[types]\n\"a\" = \"cuont\"\n");
    refused(&[&before, "--rules", word(&path)], &["rules.toml", "cuont", "count"]);
    let text = folder.path().join("text");
    fs::write(&text, "no program\n").unwrap();
    refused(&[word(&text)], &["text"]);
    let truncated = folder.path().join("truncated.btf");
    fs::write(&truncated, &fs::read(&before).unwrap()[..1000]).unwrap();
    refused(&[word(&truncated)], &["truncated.btf"]);
    let empty = folder.path().join("empty.toml");
    fs::write(&empty, "").unwrap();
    refused(&[&before, "--check", word(&empty)], &["empty.toml", "no check"]);
}

#[test]
fn the_running_kernel_is_read_or_said_to_be_missing() {
    let output = tenure(&["layout", "--kernel", "dst_entry", "rtable"]);
    if Path::new("/sys/kernel/btf/vmlinux").exists() {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("dst_entry"));
    } else {
        is_refused(&output, &["/sys/kernel/btf/vmlinux"]);
    }
}

#[test]
fn the_readme_hides_no_line_of_an_example_as_others_show_and_paste_it_whole() {
    let readme = include_str!("../../../../README.md");
    let examples = readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for example in examples {
        assert!(!example.lines().any(|line| line == "#" || line.starts_with("# ")), "{example}");
    }
    assert_eq!(readme.matches("```rust\n").count(), 1);
}
