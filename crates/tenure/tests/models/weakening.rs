//! One ordering of the library, made weaker while a model runs, at the place where it is written.
//!
//! The operations of [`Loom`](super::memory::Loom) know their caller, so a [`Site`] names an ordering by the source
//! lines of its operation: no copy of the code, no new build. [`orderings_in`] reads the sites from the source.
//!
//! A function that is `#[track_caller]` hides its own lines: of its operations, those of one kind and ordering are
//! weakened together. An ordering that is an argument is weakened in the function it goes to.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::panic::Location;
use std::sync::{LazyLock, Once};
use tenure::memory::Ordering;

/// The environment variable that has a process of the tests weaken one [`Site`] everywhere.
pub(crate) const VARIABLE: &str = "TENURE_WEAKENED";
/// Printed when such a process first meets it.
pub(crate) const MET: &str = "the weakened ordering was met";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) operation: String,
    pub(crate) order: Ordering,
    pub(crate) to: Ordering,
    /// The end of a file's path, the first line, the last. Empty: anywhere but in the library.
    pub(crate) lines: (String, u32, u32),
}

impl Site {
    fn is(&self, operation: &str, order: Ordering, caller: &Location<'_>) -> bool {
        let (file, first, last) = &self.lines;
        self.order == order
            && self.operation == operation
            && match file.as_str() {
                "" => !caller.file().contains("tenure/src/"),
                file => caller.file().ends_with(file) && (first..=last).contains(&&caller.line()),
            }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let mut next = || parts.next();
        let (operation, order, to) = (next()?.into(), ordering(next()?)?, ordering(next()?)?);
        let lines = (next()?.into(), next()?.parse().ok()?, next()?.parse().ok()?);
        Some(Self { operation, order, to, lines })
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, order, to, lines: (file, first, last) } = self;
        write!(f, "{operation};{order:?};{to:?};{file};{first};{last}")
    }
}

fn ordering(name: &str) -> Option<Ordering> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    [Relaxed, Acquire, Release, AcqRel, SeqCst]
        .into_iter()
        .find(|order| format!("{order:?}") == name)
}

static OF_PROCESS: LazyLock<Option<Site>> = LazyLock::new(|| {
    let text = std::env::var(VARIABLE).ok()?;
    Some(Site::parse(&text).unwrap_or_else(|| panic!("{VARIABLE} is no site: {text}")))
});

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static WEAKENED: Cell<Option<&'static Site>> = Cell::new(OF_PROCESS.as_ref());
    static WAS_MET: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the site's operations came up.
pub(crate) fn weakened(site: Site, act: impl FnOnce()) -> bool {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            WEAKENED.set(OF_PROCESS.as_ref());
        }
    }
    let _restore = Restore;
    WEAKENED.set(Some(Box::leak(Box::new(site))));
    WAS_MET.set(false);
    act();
    WAS_MET.get()
}

#[track_caller]
pub(crate) fn effective(operation: &str, order: Ordering) -> Ordering {
    static SAID: Once = Once::new();
    match WEAKENED.get() {
        Some(site) if site.is(operation, order, Location::caller()) => {
            WAS_MET.set(true);
            if OF_PROCESS.is_some() {
                // Not `eprintln!`, which the test harness keeps to itself.
                SAID.call_once(|| writeln!(std::io::stderr(), "{MET}").expect("standard error"));
            }
            site.to
        }
        _ => order,
    }
}

/// The end of its path, and its text.
pub(crate) type File = (&'static str, &'static str);

/// By its path from the root of the crate.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)))
    };
}
pub(crate) use file;

/// An ordering that asks for something, as written.
pub(crate) struct Written {
    pub(crate) path: &'static str,
    pub(crate) line: usize,
    /// With its type: `Counts::upgrade`.
    pub(crate) function: String,
    pub(crate) order: Ordering,
    /// The operation or function that takes it, `failing` for the second of a compare-exchange; and a number from the
    /// second of that ordering in the function on.
    pub(crate) operation: String,
    pub(crate) site: Site,
}

const OPERATIONS: [&str; 7] = [
    "load",
    "store",
    "fetch_add",
    "fetch_sub",
    "fetch_or",
    "compare_exchange",
    "compare_exchange_weak",
];

struct Function {
    name: String,
    /// Lines from 0.
    first: usize,
    last: usize,
    is_track_caller: bool,
}

struct Source {
    path: &'static str,
    /// Without comments and unit tests.
    code: String,
    functions: Vec<Function>,
}

impl Source {
    fn read((path, text): File) -> Self {
        let mut lines = Vec::from_iter(
            text.lines()
                .map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end()),
        );
        let is_test = |pair: &[&str]| {
            pair[0].starts_with("#[cfg(") && pair[0].contains("test") && pair[1].starts_with("mod ")
        };
        if let Some(at) = lines.windows(2).position(is_test) {
            lines.truncate(at);
        }
        let functions = (0..lines.len()).filter_map(|first| Function::at(&lines, first)).collect();
        Self { path, functions, code: lines.join("\n") }
    }

    fn lines(&self, function: &Function) -> (String, u32, u32) {
        if function.is_track_caller {
            return (String::new(), 0, 0);
        }
        (self.path.to_owned(), function.first as u32 + 1, function.last as u32 + 1)
    }

    fn line_of(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count()
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The item ends at the first bracket that stands as far in.
fn end_of(lines: &[&str], first: usize) -> usize {
    let ends = |line: &&str| line.trim() == "}" && indent(line) == indent(lines[first]);
    lines[first..].iter().position(ends).map_or(lines.len(), |length| first + length)
}

impl Function {
    fn at(lines: &[&str], first: usize) -> Option<Self> {
        let (before, after) = lines[first].split_once("fn ")?;
        let is_item = before.split_whitespace().all(|word| {
            word.starts_with("pub") || matches!(word, "unsafe" | "const") || word.ends_with(')')
        });
        let name =
            after.split(['(', '<']).next().filter(|_| is_item && !lines[first].ends_with(';'))?;
        let is_track_caller = |line: &str| line.trim() == "#[track_caller]";
        let mut above =
            lines[..first].iter().rev().take_while(|line| line.trim_start().starts_with("#["));
        let name = match owner_of(lines, first) {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_owned(),
        };
        let last = end_of(lines, first);
        Some(Self { name, first, last, is_track_caller: above.any(|line| is_track_caller(line)) })
    }
}

fn owner_of<'l>(lines: &[&'l str], line: usize) -> Option<&'l str> {
    let is_owner = |at: &usize| {
        let opens =
            ["impl", "unsafe impl", "pub trait", "pub unsafe trait", "trait", "pub(crate) trait"];
        let text = lines[*at].trim_start();
        opens.iter().any(|word| text.starts_with(word)) && (*at..end_of(lines, *at)).contains(&line)
    };
    let header = lines[(0..line).rev().find(is_owner)?].trim_start();
    let named = header.rsplit_once(" for ").map_or(header, |(_, after)| after);
    // Past the parameters of the block itself.
    let mut depth = 0;
    let named =
        named.trim_start_matches("unsafe ").trim_start_matches("impl").trim_start_matches(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth > 0 || c == '>'
        });
    let name = named
        .split_whitespace()
        .find(|word| !matches!(*word, "pub" | "pub(crate)" | "unsafe" | "trait"))?;
    name.split(['<', ':', '{']).next()
}

/// Where its name begins, the name, and which argument the place is.
fn call_around(code: &str, at: usize) -> Option<(usize, &str, usize)> {
    let (mut depth, mut argument) = (0, 0);
    for (open, bracket) in code[..at].char_indices().rev() {
        match bracket {
            ')' | ']' | '}' => depth += 1,
            '(' if depth == 0 => {
                let name =
                    code[..open].rsplit(|c: char| c != '_' && !c.is_alphanumeric()).next()?;
                return (!name.is_empty()).then_some((open - name.len(), name, argument));
            }
            '[' | '{' if depth == 0 => return None,
            '(' | '[' | '{' => depth -= 1,
            ',' if depth == 0 => argument += 1,
            _ => {}
        }
    }
    None
}

fn operation_of_parameter<'s>(source: &'s Source, function: &Function) -> Option<&'s str> {
    let code = Vec::from_iter(
        source.code.lines().skip(function.first).take(function.last - function.first + 1),
    );
    let parameter = code.iter().find_map(|line| line.split_once(": Ordering"))?.0;
    let parameter = parameter.rsplit(|c: char| c != '_' && !c.is_alphanumeric()).next()?;
    let of = |line: &&'s str| {
        let is_given =
            line.contains(&format!(", {parameter}")) || line.contains(&format!("({parameter}"));
        OPERATIONS.into_iter().rev().find(|name| is_given && line.contains(&format!(".{name}(")))
    };
    code.iter().find_map(of)
}

/// Where orderings are written that ask for something. `files` have the functions that take them.
pub(crate) fn orderings_in(file: File, files: &[File]) -> Vec<Written> {
    let sources = Vec::from_iter([&file].into_iter().chain(files).map(|file| Source::read(*file)));
    let source = &sources[0];
    let mut found: Vec<Written> = Vec::new();
    for (at, _) in source.code.match_indices("Ordering::") {
        let name = source.code[at..].split("::").nth(1).expect("it was found");
        let name = name.split(|c: char| !c.is_alphanumeric()).next().expect("the first of all");
        let Some(order) = ordering(name).filter(|order| *order != Ordering::Relaxed) else {
            continue;
        };
        let line = source.line_of(at);
        let holds = |function: &&Function| (function.first..=function.last).contains(&line);
        let function = source.functions.iter().rfind(holds).expect("an ordering is in a function");
        let (begins, called, argument) =
            call_around(&source.code, at).unwrap_or((at, "nothing", 0));
        let mut operation = called.to_owned();
        let mut lines = source.lines(function);
        let mut weakened = called.to_owned();
        if OPERATIONS.contains(&called) {
            if argument == 3 {
                operation += " failing";
                weakened += " failing";
            }
            if !function.is_track_caller {
                let line = source.line_of(begins) as u32 + 1;
                lines = (source.path.to_owned(), line, line);
            }
        } else {
            let is_called =
                |function: &&Function| function.name.rsplit("::").next() == Some(called);
            let callee = sources.iter().find_map(|source| {
                let function = source.functions.iter().find(is_called)?;
                Some((source, function, operation_of_parameter(source, function)?))
            });
            if let Some((source, function, given)) = callee {
                lines = source.lines(function);
                weakened = given.to_owned();
            }
        }
        let same = |written: &&Written| {
            (&written.function, written.order) == (&function.name, order)
                && written.operation.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ')
                    == operation
        };
        let number = found.iter().filter(same).count() + 1;
        if number > 1 {
            operation = format!("{operation} {number}");
        }
        let site = Site { operation: weakened, order, to: Ordering::Relaxed, lines };
        let function = function.name.clone();
        found.push(Written { path: source.path, line: line + 1, function, order, operation, site });
    }
    found
}

pub(crate) fn lines_of(file: File, name: &str) -> (String, u32, u32) {
    let source = Source::read(file);
    let function = source.functions.iter().find(|function| function.name == name);
    let function = function.unwrap_or_else(|| panic!("{} has no function {name}", file.0));
    (source.path.to_owned(), function.first as u32 + 1, function.last as u32 + 1)
}
