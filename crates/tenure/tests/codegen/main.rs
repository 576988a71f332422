//! The claim "at no cost", read from the machine code.
//!
//! `shipped.rs` calls the library, `by_hand.rs` does the same on core's atomics. Both are compiled as in a user's
//! release build; the fast path of each function, from its label to its first return, must be the same in both. Slow
//! paths are not compared.

#[cfg(target_arch = "x86_64")]
mod revocable;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const RAW: &str = "--cfg=feature=\"raw\"";

/// As in a user's release build.
fn rustc(source: &Path, output: &Path, arguments: &[&str]) {
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let result = Command::new(&rustc)
        .args(["--edition=2024", "-Copt-level=3", "-Ccodegen-units=1", "--cap-lints=allow"])
        .args(arguments)
        .arg("-o")
        .args([output, source])
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{}:\n{errors}", source.display());
}

/// The functions of both files, and the branches of their fast paths on x86-64.
const CASES: [(&str, usize); 12] = [
    // The baseline: a range check, and the loop.
    ("inc_not_zero_get", 2),
    ("inc_not_zero_put", 1),
    ("rcuref_get", 1),
    ("rcuref_put", 1),
    ("ticketref_get", 1),
    ("ticketref_get_held", 1),
    ("ticketref_put", 1),
    ("arc_clone", 1),
    ("arc_drop", 1),
    ("arc_downgrade", 1),
    ("weak_upgrade", 1),
    ("weak_clone", 0),
];

type Listings = HashMap<String, Vec<String>>;

struct Compiled {
    shipped: Listings,
    by_hand: Listings,
}

/// Compiles the library and the two sources, once. By rustc and not cargo: with `alloc` alone the library has no
/// dependencies, so this needs no network, no lock file, and nothing of the surrounding build's directories.
fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen");
        std::fs::create_dir_all(&out).unwrap();
        let library = out.join("libtenure.rlib");
        rustc(
            &package.join("src/lib.rs"),
            &library,
            &["--crate-name=tenure", "--crate-type=rlib", "--cfg=feature=\"alloc\"", RAW],
        );
        let listings = |name: &str| {
            let source = package.join("tests/codegen").join(name);
            let assembly = out.join(name).with_extension("s");
            let external = format!("--extern=tenure={}", library.display());
            rustc(&source, &assembly, &["--emit=asm", &external]);
            fast_paths(&std::fs::read_to_string(assembly).unwrap())
        };
        Compiled { shipped: listings("shipped.rs"), by_hand: listings("by_hand.rs") }
    })
}

fn fast_paths(assembly: &str) -> Listings {
    let mut listings = Listings::new();
    let mut aliases = Vec::new();
    let mut function: Option<(&str, Vec<&str>)> = None;
    for line in assembly.lines() {
        let code = line.split(['#', ';']).next().unwrap().split("//").next().unwrap().trim();
        match code.strip_suffix(':') {
            Some(label) if !label.starts_with(['.', 'L']) => {
                function = Some((label.trim_start_matches('_'), Vec::new()));
            }
            Some(label) => {
                if let Some((_, lines)) = &mut function {
                    lines.push(label);
                }
            }
            // A second name for a function whose code is the same.
            None if code.contains(" = ") || code.starts_with(".set") => {
                let names = code.trim_start_matches(".set").split_once(['=', ',']);
                aliases.extend(names.map(|(alias, name)| (alias.trim(), name.trim())));
            }
            None if code.is_empty() || code.starts_with('.') => {}
            None => {
                if let Some((name, lines)) = &mut function {
                    lines.push(code);
                    if is_return(code) {
                        listings.insert((*name).to_owned(), normalised(lines));
                        function = None;
                    }
                }
            }
        }
    }
    for (alias, name) in aliases {
        if let Some(lines) = listings.get(name).cloned() {
            listings.insert(alias.to_owned(), lines);
        }
    }
    listings
}

fn is_return(code: &str) -> bool {
    code.starts_with("ret") || matches!(code, "bx\tlr" | "blr" | "br\t%r14" | "jr\t$ra")
}

/// Numbers the labels, forgets those that nothing jumps to, and calls all that lies elsewhere `cold`.
fn normalised(lines: &[&str]) -> Vec<String> {
    let is_label = |word: &str| word.starts_with(".L") || word.starts_with("LBB");
    let is_elsewhere = |word: &str| {
        is_label(word) || ["_ZN", "_R", "cold_"].iter().any(|start| word.starts_with(start))
    };
    let words = |line: &str| -> Vec<String> {
        line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let targets: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|label| is_label(label))
        .filter(|label| {
            lines.iter().any(|line| line != label && words(line).iter().any(|w| w == label))
        })
        .collect();
    let number = |word: &str| targets.iter().position(|label| *label == word);
    lines
        .iter()
        .filter(|line| !is_label(line) || number(line).is_some())
        .map(|line| {
            if let Some(label) = number(line) {
                return format!("{label}:");
            }
            let words = words(line).into_iter().map(|word| match number(&word) {
                Some(label) => format!("{label}"),
                None if is_elsewhere(&word) => "cold".to_owned(),
                None => word,
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn listing<'a>(listings: &'a Listings, function: &str) -> &'a [String] {
    listings.get(function).unwrap_or_else(|| {
        let mut found: Vec<_> = listings.keys().collect();
        found.sort();
        panic!("no function {function} in the assembly; there are {found:?}")
    })
}

fn beside(left: &[String], right: &[String]) -> String {
    let mut text = format!("{:40} {}\n", "shipped", "by hand");
    for line in 0..left.len().max(right.len()) {
        let side = |lines: &[String]| lines.get(line).cloned().unwrap_or_default();
        let (left, right) = (side(left), side(right));
        let mark = if left == right { ' ' } else { '*' };
        writeln!(text, "{left:40}{mark}{right}").unwrap();
    }
    text
}

#[cfg(target_arch = "x86_64")]
fn count(lines: &[String], counts: impl Fn(&str) -> bool) -> usize {
    lines.iter().filter(|line| counts(line)).count()
}

#[test]
fn every_fast_path_is_the_one_written_by_hand() {
    let Compiled { shipped, by_hand } = compiled();
    let mut differences = String::new();
    for (function, _) in CASES {
        let (left, right) = (listing(shipped, function), listing(by_hand, function));
        assert!(left.len() > 1, "{function} is empty");
        if left != right {
            writeln!(differences, "\n{function}\n{}", beside(left, right)).unwrap();
        }
    }
    assert!(differences.is_empty(), "the machine code differs:\n{differences}");
}

#[test]
fn a_twin_that_does_more_compares_as_different() {
    let Compiled { shipped, by_hand } = compiled();
    for (function, control) in [
        ("rcuref_get", "rcuref_get_with_a_load_more"),
        ("rcuref_get", "rcuref_get_with_a_branch_more"),
        ("ticketref_get", "ticketref_get_as_a_loop"),
        ("rcuref_get", "rcuref_put"),
    ] {
        let (left, right) = (listing(shipped, function), listing(by_hand, control));
        assert_ne!(left, right, "{control} is not {function}:\n{}", beside(left, right));
    }
}

/// One locked instruction, one branch (into the slow path), no call, no stack.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_fast_path_is_one_locked_instruction_and_one_branch() {
    let Compiled { shipped, by_hand } = compiled();
    for (function, branches) in CASES {
        let lines = listing(shipped, function);
        let both = beside(lines, listing(by_hand, function));
        // An exchange with memory locks by itself.
        let is_locked = |line: &str| line.starts_with("lock") || line.starts_with("xchg");
        assert_eq!(count(lines, is_locked), 1, "locked instructions of {function}:\n{both}");
        let is_branch = |line: &str| line.starts_with('j') && !line.starts_with("jmp");
        assert_eq!(count(lines, is_branch), branches, "branches of {function}:\n{both}");
        let is_call = |line: &str| line.starts_with("call") || line.starts_with("jmp");
        assert_eq!(count(lines, is_call), 0, "calls of {function}:\n{both}");
        let is_stack = |line: &str| line.contains("%rsp") || line.starts_with("push");
        assert_eq!(count(lines, is_stack), 0, "uses of the stack by {function}:\n{both}");
    }
}

#[test]
fn a_layout_that_is_described_and_checked_adds_no_code() {
    compiled();
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen");
    let external = format!("--extern=tenure={}", out.join("libtenure.rlib").display());
    let assembly = |name: &str, described: &[&str]| {
        let output = out.join(name);
        let arguments = [&["--emit=asm", external.as_str()], described].concat();
        rustc(&package.join("tests/codegen/line_layout.rs"), &output, &arguments);
        std::fs::read_to_string(output).unwrap()
    };
    let bare = assembly("bare.s", &[]);
    assert_eq!(bare, assembly("described.s", &["--cfg=described"]));
    assert_ne!(bare, assembly("used.s", &["--cfg=described", "--cfg=used"]));
}
