//! Members, variables and types on lines of their own.

use super::program::{Program, members_apart, strings};
use tenure_edit::SourceChange;

/// What a program of one file has for `crossbeam_utils`.
const CROSSBEAM: &str = "
mod crossbeam_utils {
    #[repr(align(128))]
    #[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
    pub struct CachePadded<T> { value: T }
    impl<T> CachePadded<T> {
        pub const fn new(value: T) -> Self { Self { value } }
        pub fn into_inner(self) -> T { self.value }
    }
    impl<T> From<T> for CachePadded<T> { fn from(value: T) -> Self { Self::new(value) } }
    impl<T: std::fmt::Display> std::fmt::Display for CachePadded<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.value.fmt(f) }
    }
    impl<T> std::ops::Deref for CachePadded<T> { type Target = T; fn deref(&self) -> &T { &self.value } }
    impl<T> std::ops::DerefMut for CachePadded<T> { fn deref_mut(&mut self) -> &mut T { &mut self.value } }
}
";

const STATS: &str = "\
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Größe: what was seen – «so far».
#[derive(Debug, Default)]
pub struct Stats {
    /// How often, naïvely.
    #[doc(alias = \"count\")] // häufig
    pub hits: AtomicU64, /* kept */
    misses: AtomicU64,
}

impl Stats {
    pub const fn new(misses: AtomicU64) -> Self {
        Self { hits: AtomicU64::new(0), misses }
    }
}

static ALL: Stats = Stats { hits: AtomicU64::new(1), misses: AtomicU64::new(2) };

fn made(hits: u64) -> Stats {
    let hits = AtomicU64::new(hits);
    Stats { hits, ..Default::default() }
}

fn bump(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Relaxed)
}

fn main() {
    let stats = Stats::new(AtomicU64::new(5));
    bump(&stats.hits);
    bump(&made(7).hits);
    let Stats { hits, misses } = &stats;
    println!(\"{} {} {:?} {:?}\", hits.load(Relaxed), misses.load(Relaxed), ALL, vec![made(3)]);
}
";

#[test]
fn a_member_apart_keeps_its_comments_and_attributes_and_the_program_its_output() {
    let edited = Program::own(STATS, "pub struct Stats", members_apart(&["hits"])).runs();
    assert!(edited.contains(
        "    /// How often, naïvely.
    #[doc(alias = \"count\")] // häufig
    pub hits: LinePadded<AtomicU64>, /* kept */
    misses: AtomicU64,
}

/// A value on cache lines of its own.
#[repr(C, align(64))]
"
    ));
    assert!(edited.contains("Self { hits: LinePadded::new(AtomicU64::new(0)), misses }"));
    assert!(edited.contains(
        "Stats { hits: LinePadded::new(AtomicU64::new(1)), misses: AtomicU64::new(2) };"
    ));
    assert!(edited.contains("Stats { hits: LinePadded::new(hits), ..Default::default() }"));
    assert!(edited.contains("pub struct LinePadded<T> {\n    pub padded: T,"));
}

#[test]
fn line_ends_stay_as_they_are() {
    let text = STATS.replace('\n', "\r\n");
    let edited =
        Program::own(&text, "    misses: AtomicU64,", members_apart(&["hits", "misses"])).runs();
    assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count());
    assert!(
        edited.contains(
            "{ hits: LinePadded::new(AtomicU64::new(0)), misses: LinePadded::new(misses) }"
        )
    );
}

#[test]
fn a_byte_order_mark_is_counted() {
    let text = format!("\u{feff}{STATS}");
    let edited = Program::own(&text, "pub hits", members_apart(&["hits"])).runs();
    assert!(
        edited.starts_with('\u{feff}')
            && edited.contains("pub hits: LinePadded<AtomicU64>, /* kept */")
    );
}

#[test]
fn crossbeams_type_is_named_by_its_whole_path() {
    let text = STATS.to_owned() + CROSSBEAM;
    let edited = Program::crossbeam(&text, "pub hits", members_apart(&["hits"])).edited().unwrap();
    assert!(edited.contains("pub hits: crossbeam_utils::CachePadded<AtomicU64>,"));
    assert!(
        edited.contains(
            "Self { hits: crossbeam_utils::CachePadded::new(AtomicU64::new(0)), misses }"
        )
    );
}

const USES: &str = "\
use std::fmt::Debug;

#[derive(Clone, Debug, PartialEq)]
enum State { Idle, Busy(String) }

#[derive(Clone, Debug, PartialEq)]
pub struct Pool<T: Clone, const N: usize> where T: Debug {
    size: usize,
    open: bool,
    state: State,
    items: Vec<T>,
    name: Option<String>,
    limit: i64,
    rest: [T; N],
}

macro_rules! shown { ($pool:expr) => { format!(\"{}\", $pool.size) } }

fn add<T: std::ops::AddAssign>(to: &mut T, n: T) { *to += n; }

impl<T: Clone + Debug, const N: usize> Pool<T, N> {
    fn grow(&mut self, by: usize) -> usize {
        self.size += by;
        self.size -= 1;
        let mut sum = self.size + 1;
        sum += self.size;
        sum = 2 * self.size + sum - self.size;
        if self.size == 0 || 3 < self.size || self.size != by { sum += 1 }
        if self.open && !self.open { sum += 10 }
        for n in 0..self.size { sum += n }
        for item in &self.items { let _ = item; sum += 1 }
        for item in &mut self.items { let _ = item; sum += 1 }
        add(&mut self.size, 5);
        std::mem::swap(&mut self.size, &mut sum);
        std::mem::swap(&mut self.size, &mut sum);
        match self.state { State::Idle => sum += 1, State::Busy(ref name) => sum += name.len() }
        if let State::Busy(name) = &self.state { sum += name.len() }
        if let Some(name) = &mut self.name { name.push('ß'); sum += name.len() }
        let at = self.items[self.size % 2].clone();
        let most = if self.open { self.size } else { 0 };
        assert_eq!(self.size, self.size);
        assert!(self.size < 1000, \"ünter\");
        let limit = -self.limit as usize;
        self.limit = -9;
        let old = std::mem::replace(&mut self.limit, 4);
        println!(\"{} {} {:?} {:?} {limit} {old} {}\", self.size, self.open, self.state, at, shown!(self));
        let Pool { size, limit, .. } = self;
        *limit += 2;
        sum + *size + most + self.size as usize
    }

    fn state(&self) -> State { self.state.clone() }

    fn name(self) -> Option<String> { self.name }

    fn into_items(self) -> (Vec<T>, bool) { (self.items, self.open) }
}

fn main() {
    let mut pool = Pool::<u8, 2> {
        size: 3, open: true, state: State::Busy(\"a\".into()), items: vec![1, 2], name: Some(\"b\".into()),
        limit: -7, rest: [0; 2],
    };
    let other = Pool { limit: 3, ..pool.clone() };
    println!(\"{} {:?} {}\", pool.grow(2), pool.state(), pool == other);
    println!(\"{:?} {:?} {:?}\", pool.clone().name(), pool.into_items(), other);
}
";

#[test]
fn uses_by_value_take_the_value_out_of_its_padding() {
    let members = ["size", "open", "state", "items", "name", "limit", "rest"];
    let edited = Program::own(USES, "pub struct Pool", members_apart(&members)).runs();
    assert!(edited.contains("*self.size += by;"), "{edited}");
    assert!(edited.contains("match *self.state {"));
    assert!(edited.contains("add(&mut *self.size, 5);"));
    assert!(edited.contains("fn name(self) -> Option<String> { self.name.padded }"));
    assert!(edited.contains("size: LinePadded::new(3), open: LinePadded::new(true)"));
}

#[test]
fn crossbeams_values_are_taken_out_by_its_method() {
    let text = USES.to_owned() + CROSSBEAM;
    let members = members_apart(&["size", "open", "state", "items", "name", "limit", "rest"]);
    let edited = Program::crossbeam(&text, "pub struct Pool", members).edited().unwrap();
    assert!(edited.contains("fn name(self) -> Option<String> { self.name.into_inner() }"));
}

const NESTED: &str = "\
use std::cell::Cell;
use std::sync::Mutex;

pub mod outer {
    use super::Mutex;
    pub mod inner {
        use std::sync::atomic::AtomicUsize;

        /// A pair.
        #[derive(Default)]
        pub struct Pair(pub AtomicUsize, pub(crate) u32, pub super::Mutex<u8>);

        impl Pair {
            pub fn new() -> Self { Self(AtomicUsize::new(1), 2, super::Mutex::new(3)) }
        }
    }
    pub fn made() -> inner::Pair { inner::Pair(4.into(), 5, Mutex::new(6)) }
    pub(super) const EMPTY: inner::Pair = inner::Pair(std::sync::atomic::AtomicUsize::new(0), 7, Mutex::new(0));
}

use outer::inner::Pair;

fn total(pairs: &[Pair]) -> u32 {
    pairs.iter().map(|Pair(_, n, _)| n + 1).sum::<u32>() + pairs.iter().map(|pair| pair.1).max().unwrap_or(0)
}

fn main() {
    #[derive(Debug)]
    struct Local<'a> { seen: Cell<&'a str>, other: u8 }
    let local = Local { seen: Cell::new(\"é\"), other: 1 };
    local.seen.set(\"ü\");
    let pair = Pair::new();
    let mut pairs = vec![Pair::default(), outer::made(), outer::EMPTY];
    pairs[0].1 = 9;
    if let Some(Pair(count, n, _)) = pairs.first_mut() {
        *count.get_mut() += 1;
        *n += 1;
    }
    let Pair(count, n, lock) = pair;
    println!(\"{} {} {:?} {:?} {}\", total(&pairs), n, count, lock, count.load(std::sync::atomic::Ordering::Relaxed));
    println!(\"{:?} {} {}\", local, local.seen.get(), lock.into_inner().unwrap());
    println!(\"{:?}\", pairs.pop().map(|pair| pair.2.into_inner()));
}
";

#[test]
fn members_of_a_tuple_in_a_nested_module_are_wrapped() {
    for members in [&["__0"][..], &["1"], &["__0", "__1", "__2"]] {
        let edited = Program::own(NESTED, "pub struct Pair", members_apart(members)).runs();
        assert!(edited.contains(" struct LinePadded<T> {\n"), "{edited}");
    }
    let edited = Program::own(NESTED, "pub struct Pair", members_apart(&["0"])).runs();
    assert!(edited.contains("inner::Pair(inner::LinePadded::new(4.into()), 5, Mutex::new(6))"));
    let text = NESTED.to_owned() + CROSSBEAM;
    let text = text.replace("crossbeam_utils::", "crate::crossbeam_utils::");
    let change = members_apart(&["0", "1", "2"]);
    let refused = Program::crossbeam(&text, "pub struct Pair", change).refused();
    // The program's own module of that name is at its root alone.
    assert!(refused.contains("it does not compile then: "), "{refused}");
}

#[test]
fn a_struct_of_a_function_is_padded_in_it() {
    let edited = Program::own(NESTED, "struct Local", members_apart(&["seen"])).runs();
    assert!(edited.contains("seen: LinePadded<Cell<&'a str>>, other: u8 }"));
    assert!(edited.contains("    struct LinePadded<T> {\n        padded: T,"));
}

const STATICS: &str = "\
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Häufig.
pub static HITS: AtomicU64 = AtomicU64::new(0);
static NAMES: [&str; 2] = [\"a\", \"ß\"]; // both
static STOP: AtomicBool = const { AtomicBool::new(false) };
static ALL: [&AtomicU64; 1] = [&HITS];
const LONG: usize = 3;
static WIDTH: usize = LONG + 1;

mod inner {
    pub(super) static HITS: std::sync::Mutex<Vec<u8>> = std::sync::Mutex::new(Vec::new());
    pub fn count() -> usize {
        static CALLS: std::sync::Mutex<usize> = std::sync::Mutex::new(0);
        let mut calls = CALLS.lock().unwrap();
        *calls += 1;
        *calls
    }
}

fn seen(hits: &AtomicU64) -> u64 { hits.load(Relaxed) }

fn main() {
    HITS.fetch_add(2, Relaxed);
    STOP.store(true, Relaxed);
    inner::HITS.lock().unwrap().push(1);
    if STOP.load(Relaxed) && WIDTH > 1 { inner::count(); }
    for name in NAMES { print!(\"{name}\"); }
    println!(\"{} {} {} {} {}\", seen(&HITS), seen(ALL[0]), WIDTH + 1, inner::count(), NAMES[1]);
}
";

fn variables_apart(names: &[&str]) -> SourceChange {
    SourceChange::VariablesApart { names: strings(names) }
}

#[test]
fn statics_apart_have_their_types_and_values_wrapped() {
    let edited =
        Program::own(STATICS, "pub static HITS", variables_apart(&["HITS", "STOP", "WIDTH"]))
            .runs();
    assert!(
        edited.contains(
            "pub static HITS: LinePadded<AtomicU64> = LinePadded::new(AtomicU64::new(0));"
        )
    );
    assert!(edited.contains("[&HITS.padded]"));
    assert!(
        edited.contains(
            "static WIDTH: LinePadded<usize> = LinePadded::new(LONG + 1);\n\n/// A value"
        )
    );
    assert!(edited.contains("*WIDTH > 1"));
    let edited = Program::own(STATICS, "static CALLS", variables_apart(&["CALLS"])).runs();
    assert!(
        edited.contains(
            "        static CALLS: LinePadded<std::sync::Mutex<usize>> = LinePadded::new("
        )
    );
    Program::own(STATICS, "static NAMES", variables_apart(&["NAMES"])).runs();
    let text =
        STATICS.replace("static ALL: [&AtomicU64; 1] = [&HITS];", "").replace("ALL[0]", "&HITS")
            + CROSSBEAM;
    let edited =
        Program::crossbeam(&text, "static HITS", variables_apart(&["HITS", "STOP"])).runs();
    assert!(edited.contains("pub static HITS: crossbeam_utils::CachePadded<AtomicU64> = crossbeam_utils::CachePadded::new("));
}

#[test]
fn a_type_apart_is_aligned_whatever_it_is_represented_as() {
    let cases = [
        (
            "/// D.\n#[derive(Clone)]\nstruct S { a: u8 }",
            "/// D.\n#[derive(Clone)]\n#[repr(align(64))]\nstruct S { a: u8 }",
        ),
        (
            "#[repr(C)] // as C\npub struct S<T>(T);",
            "#[repr(C, align(64))] // as C\npub struct S<T>(T);",
        ),
        ("#[repr(align(16))]\nstruct S;", "#[repr(align(64))]\nstruct S;"),
        ("#[repr(align(16), C)]\nstruct S;", "#[repr(align(64), C)]\nstruct S;"),
        (
            "#[cfg_attr(unix, repr(align(8)), derive(Clone))]\nstruct S;",
            "#[cfg_attr(unix, repr(align(8)), derive(Clone))]\n#[repr(align(64))]\nstruct S;",
        ),
        ("#[repr(u8)]\npub enum S { A, B }", "#[repr(u8, align(64))]\npub enum S { A, B }"),
        ("pub(crate) enum S { A(u8), B }", "#[repr(align(64))]\npub(crate) enum S { A(u8), B }"),
        (
            "mod m {\n    // é\n    pub struct S;\n}",
            "mod m {\n    // é\n    #[repr(align(64))]\n    pub struct S;\n}",
        ),
        ("union S { a: u8, b: u8 }", "#[repr(align(64))]\nunion S { a: u8, b: u8 }"),
    ];
    for (before, after) in cases {
        let (before, after) =
            (format!("{before}\nfn main() {{}}\n"), format!("{after}\nfn main() {{}}\n"));
        assert_eq!(Program::own(&before, " S", SourceChange::TypeApart).edited(), Ok(after));
    }
}

#[test]
fn what_cannot_be_set_apart_is_refused_with_its_line() {
    let members = || members_apart(&["hits"]);
    let cases = [
        (
            "macro_rules! made { () => { struct S { hits: u8 } } }\nmade!();",
            "hits",
            members(),
            "1: a macro makes this declaration",
        ),
        (
            "macro_rules! made { ($($t:tt)*) => { $($t)* } }\nmade! {\n struct S {\n  hits: u8 }\n}",
            "  hits",
            members(),
            "4: a macro makes",
        ),
        (
            "#[cfg(unix)]\nstruct S { hits: u8 }\n#[cfg(not(unix))]\nstruct S { hits: u16 }",
            "u8",
            members(),
            "1: `S` is declared under conditions, here and at line 3",
        ),
        (
            "struct S { #[cfg(unix)] hits: u8, #[cfg(not(unix))] hits: u16 }",
            "u8",
            members(),
            "1: `hits` is declared several times",
        ),
        ("struct S { misses: u8 }", "S", members(), "1: `S` has no member `hits`"),
        ("#[repr(C, packed)]\nstruct S { hits: u8 }", "S", members(), "1: `S` is `repr(packed)`"),
        (
            "#[repr(transparent)]\nstruct S { hits: u8 }",
            "S",
            members(),
            "1: `S` is `repr(transparent)`",
        ),
        (
            "#[cfg_attr(unix, repr(align(8)), repr(C))]\nstruct S { hits: u8 }",
            "S",
            SourceChange::TypeApart,
            "1: its `repr` is under a condition",
        ),
        ("union U { hits: u8 }", "U", members(), "1: `U` is not a struct"),
        ("enum E { A { hits: u8 } }", "E", members(), "1: `E` is not a struct"),
        ("struct S { hits: [u8] }", "S", members(), "1: `[u8]` has no fixed size to pad"),
        (
            "struct S<T: ?Sized> { hits: T }",
            "S",
            members(),
            "the size for values of type `T` cannot be known",
        ),
        (
            "struct CachePadded<T>(T);\nstruct S { hits: CachePadded<u8> }",
            "S {",
            members(),
            "2: it has lines of its own already",
        ),
        (
            "#[repr(C)] pub struct S { hits: u8 }\nextern \"C\" { fn f(s: *const S); }",
            "S",
            members(),
            "2: `S` is laid out for code in another language",
        ),
        (
            "#[repr(C)] pub struct S { hits: u8 }\npub extern \"C\" fn f(_: &S) {}",
            "S",
            members(),
            "2: `S` is laid out for code in another language",
        ),
        (
            "#[repr(align(64))] struct S;",
            "S",
            SourceChange::TypeApart,
            "1: `S` has lines of its own already",
        ),
        (
            "\n\n\n\n\n\n// far\n\n\n\n\n\n",
            "far",
            SourceChange::TypeApart,
            "7: no type is declared here",
        ),
        (
            "#[no_mangle]\npub static HITS: u8 = 0;",
            "HITS",
            variables_apart(&["HITS"]),
            "1: `HITS` is a symbol that others see: #[no_mangle]",
        ),
        (
            "std::thread_local! { static HITS: u8 = 0; }",
            "HITS",
            variables_apart(&["HITS"]),
            "1: a macro makes this declaration",
        ),
        (
            "mod a { pub static HITS: u8 = 0; }\nmod b { pub static HITS: u8 = 0; }",
            "HITS",
            variables_apart(&["HITS"]),
            "1: several statics are named `HITS`",
        ),
        (
            "struct S { hits: u8 }\nimpl S { fn f(self) -> u8 { let S { hits: 0 | 1 } = self else { return 0 }; 1 } }",
            "S",
            members(),
            "2: it does not compile then: mismatched types",
        ),
        (
            "struct S { hits: u64 }\nfn f(s: S) -> u64 { unsafe { std::mem::transmute(s) } }",
            "S",
            members(),
            "2: it does not compile then: cannot transmute",
        ),
        (
            "struct S { hits: u8 }\nmacro_rules! made { () => { S { hits: 1 } } }\nfn f() -> S { made!() }",
            "S",
            members(),
            "2: it does not compile then: mismatched types",
        ),
        (
            "struct S { hits: u64 }\nconst _: () = assert!(size_of::<S>() == 8);",
            "S",
            members(),
            "2: it does not compile then: evaluation panicked",
        ),
    ];
    for (text, at, change, why) in cases {
        let text = format!("{text}\nfn main() {{}}\n");
        let refused = Program::own(&text, at, change).refused();
        assert!(refused.contains(why), "{text}\n{refused}");
    }
    let broken = "struct S {\n  hits: u8 8\n}\n";
    let refusal = Program::own(broken, "S", members()).first().unwrap_err();
    assert!(refusal.to_string().starts_with("main.rs:2: the file does not parse: "), "{refusal}");
}

#[test]
fn what_a_padded_pointer_points_to_is_reached_through_its_padding() {
    let text = "\
use std::cell::Cell;
use std::rc::Rc;

struct Shared { cell: Rc<Cell<u8>>, raw: *const Cell<u8> }
struct Other { cell: Box<u8> }

fn main() {
    let cell = Rc::new(Cell::new(1));
    let shared = Shared { raw: &*cell, cell };
    let copied = (*shared.cell).clone();
    shared.cell.set(7);
    let other = Other { cell: Box::new(*Box::new(3)) };
    let raw = unsafe { (*shared.raw).get() };
    println!(\"{} {} {raw}\", copied.get(), *other.cell);
}
";
    let edited = Program::own(text, "struct Shared", members_apart(&["cell", "raw"])).runs();
    assert!(edited.contains("let copied = (**shared.cell).clone();"));
    assert!(edited.contains("unsafe { (**shared.raw).get() }"));
    assert!(edited.contains("copied.get(), *other.cell);"));
}
