//! The claim "plain loads and stores" of revocable references and cells, read from the machine code.
//!
//! The library is compiled with `std`, since only then light barriers can be none, against a stand-in for libc. What a
//! light barrier does is decided at run time, so a function has several ways from its entry to a return. The fast path
//! is the shortest that passes a number of light barriers, all of them compiler fences.

use crate::{RAW, rustc};
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

struct Case {
    function: &'static str,
    light_barriers: usize,
    /// To memory that is not the stack.
    stores: usize,
}

const fn case(function: &'static str, light_barriers: usize, stores: usize) -> Case {
    Case { function, light_barriers, stores }
}

const CASES: [Case; 5] = [
    // In use; no longer in use, which has a barrier.
    case("local_enter", 1, 2),
    case("local_kept", 2, 2),
    case("reader_load", 2, 2),
    // Nothing is written.
    case("mask_enter", 0, 0),
    case("mask_kept", 0, 0),
];

const COMPILER_FENCE: &str = "#MEMBARRIER";

fn assembly() -> &'static str {
    static ASSEMBLY: OnceLock<String> = OnceLock::new();
    ASSEMBLY.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen_revocable");
        std::fs::create_dir_all(&out).unwrap();
        let at = |name: &str| out.join(name);
        let external = |name: &str, file: &str| format!("--extern={name}={}", at(file).display());
        rustc(&package.join("tests/codegen/libc.rs"), &at("liblibc.rlib"), &[]);
        rustc(
            &package.join("src/lib.rs"),
            &at("libtenure.rlib"),
            &[
                "--crate-name=tenure",
                "--crate-type=rlib",
                "--cfg=feature=\"alloc\"",
                "--cfg=feature=\"std\"",
                RAW,
                &external("libc", "liblibc.rlib"),
            ],
        );
        rustc(
            &package.join("tests/codegen/revocable_shipped.rs"),
            &at("revocable_shipped.s"),
            &[
                "--emit=asm",
                // As in a program: a thread-local has its place without a call.
                "-Crelocation-model=pie",
                &external("tenure", "libtenure.rlib"),
                &format!("-Ldependency={}", out.display()),
            ],
        );
        std::fs::read_to_string(at("revocable_shipped.s")).unwrap()
    })
}

fn lines_of(function: &str) -> Vec<&'static str> {
    let label = format!("{function}:");
    let lines = assembly().lines().map(str::trim).skip_while(|line| *line != label).skip(1);
    let lines = Vec::from_iter(lines.take_while(|line| !line.starts_with(".Lfunc_end")));
    assert!(!lines.is_empty(), "no function {function} in the assembly");
    lines
}

/// A way through a function: its instructions and compiler fences.
type Way = Vec<&'static str>;

struct Function {
    lines: Vec<&'static str>,
    labels: HashMap<&'static str, usize>,
}

impl Function {
    fn new(name: &str) -> Self {
        let lines = lines_of(name);
        let labels = lines.iter().enumerate().filter_map(|(at, line)| {
            let label = line.split('#').next()?.trim().strip_suffix(':')?;
            Some((label, at))
        });
        let labels = labels.collect();
        Self { lines, labels }
    }

    /// All ways to a return that call nothing and go nowhere twice.
    fn ways(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        self.go_on(0, &mut Vec::new(), &mut ways);
        ways
    }

    fn go_on(&self, from: usize, way: &mut Vec<usize>, ways: &mut Vec<Way>) {
        let length = way.len();
        let mut at = from;
        while let Some(line) = self.lines.get(at).copied() {
            if way.contains(&at) || line.starts_with("call") {
                break;
            }
            way.push(at);
            if line.starts_with("ret") {
                ways.push(way.iter().map(|&at| self.lines[at]).filter(|l| is_code(l)).collect());
                break;
            }
            if let Some(target) = line.strip_prefix('j') {
                let (_, target) =
                    target.split_once(char::is_whitespace).expect("jumps have a target");
                // A jump out of the function is a call.
                let Some(&target) = self.labels.get(target.trim()) else { break };
                if line.starts_with("jmp") {
                    at = target;
                    continue;
                }
                self.go_on(target, way, ways);
            }
            at += 1;
        }
        way.truncate(length);
    }
}

fn is_code(line: &str) -> bool {
    line == COMPILER_FENCE
        || !(line.starts_with(['.', '#']) || line.contains(':') || line.is_empty())
}

fn count(way: &Way, counts: impl Fn(&str) -> bool) -> usize {
    way.iter().filter(|line| counts(line)).count()
}

/// An exchange with memory locks by itself.
fn is_locked(line: &str) -> bool {
    line.starts_with("lock") || line.starts_with("xchg") || line.contains("fence")
}

/// A move whose last operand is memory, not the stack.
fn is_store(line: &str) -> bool {
    line.starts_with("mov") && line.ends_with(')') && !line.ends_with("(%rsp)")
}

fn fast_path(case: &Case) -> Option<Way> {
    let ways = Function::new(case.function).ways().into_iter();
    let fences = |way: &Way| count(way, |line| line == COMPILER_FENCE) == case.light_barriers;
    let wanted = ways.filter(|way| fences(way) && count(way, is_locked) == 0);
    wanted.min_by_key(Vec::len)
}

#[test]
fn a_use_is_plain_loads_and_stores_without_a_call() {
    for case in &CASES {
        let function = case.function;
        let way = fast_path(case).unwrap_or_else(|| {
            panic!("{function} locks or calls:\n{}", lines_of(function).join("\n"))
        });
        assert_eq!(count(&way, is_store), case.stores, "stores of {function}:\n{}", way.join("\n"));
    }
}

/// Where light barriers are not free the fast paths find no word as they want it, and go on in functions of their own,
/// which pass real ones.
#[test]
fn a_use_where_the_system_has_no_barrier_goes_on_elsewhere() {
    for function in ["resolve", "kept_slowly", "protect_slowly"] {
        let mangled = format!("{}{function}", function.len());
        let mut labels = assembly().lines().filter_map(|line| line.trim().strip_suffix(':'));
        let label = labels.find(|label| label.contains(&mangled)).expect("it is not inlined");
        assert!(lines_of(label).into_iter().any(is_locked), "{function} passes no fence");
    }
}

/// See `by_register` in `memory/native`.
#[test]
fn a_cell_is_changed_once_at_an_address_without_an_index() {
    for (function, light_barriers) in [("counter_add", 0), ("shared_clone", 1)] {
        let way = fast_path(&case(function, light_barriers, 1)).unwrap_or_else(|| {
            panic!("{function} locks or calls:\n{}", lines_of(function).join("\n"))
        });
        let compares = |line: &&str| line.starts_with("cmp") || line.starts_with("test");
        let changes = way.iter().filter(|line| line.ends_with(')') && !compares(line));
        let [change] = Vec::from_iter(changes)[..] else {
            panic!("{function} changes one word:\n{}", way.join("\n"))
        };
        let (_, address) = change.rsplit_once('(').expect("it ends with one");
        assert!(!address.contains(','), "{function} has an index in {change}");
    }
}

#[test]
fn a_use_that_counts_is_not_taken_for_one_that_does_not() {
    let counted = case("counted_enter", 0, 0);
    assert!(fast_path(&counted).is_none());
    let locks = lines_of("strong_clone").into_iter().filter(|line| is_locked(line)).count();
    assert!(locks > 0 && fast_path(&case("strong_clone", 0, 0)).is_none());
}
