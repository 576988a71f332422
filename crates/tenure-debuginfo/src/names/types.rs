//! Types: what they hold, whose they are, and how to spell them short.

use super::symbols::cut;

/// An object and its counts, as the library lays them out: findings in it are listed under the object's own name.
const HOLDERS: [&str; 5] = [
    "alloc::sync::ArcInner<",
    "triomphe::arc::ArcInner<",
    "servo_arc::ArcInner<",
    "std::_Sp_counted_ptr_inplace<",
    "std::__1::__shared_ptr_emplace<",
];

/// What Rust's and C++'s libraries have as the default of a parameter, which nearly every program leaves.
const DEFAULTS: [&str; 8] = [
    "Global",
    "RandomState",
    "allocator",
    "char_traits",
    "default_delete",
    "less",
    "hash",
    "equal_to",
];

/// The type that is counted: `T` of `alloc::sync::ArcInner<T>`; of other types the whole name.
#[must_use]
pub fn held(name: &str) -> &str {
    let Some(rest) = HOLDERS.iter().find_map(|holder| name.strip_prefix(holder)) else {
        return name;
    };
    rest.split_at(end_of_argument(rest)).0
}

/// The name without its parameters, except for what it holds: instances of one generic type have the same.
#[must_use]
pub fn generic(name: &str) -> String {
    let inner = held(name);
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut short = String::new();
    for c in inner.chars() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push(c),
            _ => {}
        }
        before = c;
    }
    if inner.len() == name.len() { short } else { format!("counted {short}") }
}

/// The path before the last step: `server::session` of `server::session::State<T>`.
#[must_use]
pub fn module(name: &str) -> String {
    let whole = generic(held(name));
    let path = whole.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    path.rsplit_once("::").map_or_else(String::new, |(module, _)| module.to_owned())
}

/// The first step of a path, if there are several.
#[must_use]
pub fn first(name: &str) -> &str {
    let path = held(name).trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    if path[end..].starts_with("::") { &path[..end] } else { "" }
}

/// Without parameters that are the default: `Vec<u8>` for `Vec<u8, alloc::alloc::Global>`.
#[must_use]
pub fn shortened(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(", ") {
        let argument = &rest[at + 2..];
        short.push_str(&rest[..at]);
        if is_default(argument) {
            rest = &argument[end_of_argument(argument)..];
        } else {
            short.push_str(", ");
            rest = argument;
        }
    }
    short.push_str(rest);
    short
}

/// A type without modules and arguments that have defaults: `Arc<Session>`, `vector<Worker>`.
#[must_use]
pub fn type_name(path: &str) -> String {
    let path = shortened(cut(path)).replace("(anonymous namespace)::", "");
    let mut short = String::with_capacity(path.len());
    let mut start = 0;
    let mut rest = path.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            ':' if rest.peek() == Some(&':') => {
                rest.next();
                let part = &short[start..];
                if part.starts_with(char::is_uppercase) {
                    short.push_str("::");
                } else {
                    short.truncate(start);
                }
            }
            _ => short.push(next),
        }
        let in_path = next.is_alphanumeric() || matches!(next, '_' | '{' | '}' | '#' | ':');
        if !in_path || short.ends_with("::") {
            start = short.len();
        }
    }
    let short = short.replace(" >", ">");
    match short.split_once('<') {
        Some(("ArcInner", rest)) => format!("Arc<{rest}"),
        Some(("RcInner" | "RcBox", rest)) => format!("Rc<{rest}"),
        Some(("_Sp_counted_ptr_inplace", rest)) => {
            let of = rest.split(',').next().unwrap_or(rest);
            format!("shared_ptr<{}>", of.trim_end_matches('>'))
        }
        _ => short,
    }
}

/// Whether what text begins with is a default: `std::allocator<int>`; libc++ has `std::__1::allocator<int>`.
fn is_default(text: &str) -> bool {
    let path = text.split(['<', '>', ',']).next().unwrap_or(text).trim_end();
    ["std::", "alloc::"].iter().any(|library| path.starts_with(library))
        && DEFAULTS.contains(&super::last(path))
}

/// Where a parameter ends that begins at the start: at the next comma or the closing bracket.
fn end_of_argument(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            ',' if depth == 0 => return at,
            '>' | ')' | ']' | '}' if depth == 0 => return at,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_object_is_found_by_its_own_name() {
        assert_eq!(
            held("alloc::sync::ArcInner<server::State<u8, fn(u8) -> u8>>"),
            "server::State<u8, fn(u8) -> u8>"
        );
        assert_eq!(
            held("std::_Sp_counted_ptr_inplace<Session, std::allocator<Session>, 2>"),
            "Session"
        );
        assert_eq!(
            held("server::State<alloc::sync::ArcInner<u8>>"),
            "server::State<alloc::sync::ArcInner<u8>>"
        );
    }

    #[test]
    fn instances_of_one_type_have_one_generic_name() {
        assert_eq!(generic("tokio::Cell<a::b<c>, d>"), "tokio::Cell");
        assert_eq!(generic("f<fn(u8) -> u8>::g"), "f::g");
        assert_ne!(generic("alloc::sync::ArcInner<a::B>"), generic("alloc::sync::ArcInner<a::C>"));
        assert_ne!(generic("alloc::sync::ArcInner<a::B>"), generic("a::B"));
    }

    #[test]
    fn crates_and_modules_are_those_of_what_is_held() {
        for (name, krate, path) in [
            ("server::session::State<u8>", "server", "server::session"),
            ("alloc::sync::ArcInner<server::State>", "server", "server"),
            ("(&server::State, u8)", "server", "server"),
            ("session", "", ""),
        ] {
            assert_eq!((first(name), &*module(name)), (krate, path), "{name}");
        }
    }

    #[test]
    fn default_parameters_are_not_spelled() {
        for (name, short) in [
            ("Vec<Arc<u8, alloc::alloc::Global>, alloc::alloc::Global>", "Vec<Arc<u8>>"),
            (
                "HashMap<u8, u8, std::hash::random::RandomState, alloc::alloc::Global>",
                "HashMap<u8, u8>",
            ),
            ("std::vector<Session, std::allocator<Session> >", "std::vector<Session>"),
            ("std::__1::vector<int, std::__1::allocator<int>>", "std::__1::vector<int>"),
            ("app::Set<int, app::less>", "app::Set<int, app::less>"),
            (
                "a::Global<u8, alloc::alloc::GlobalThing>",
                "a::Global<u8, alloc::alloc::GlobalThing>",
            ),
        ] {
            assert_eq!(shortened(name), short);
        }
    }

    #[test]
    fn a_type_is_named_without_modules_and_default_arguments() {
        for (path, expected) in [
            ("alloc::sync::ArcInner<s::Session>", "Arc<Session>"),
            ("alloc::vec::Vec<s::WorkerState, alloc::alloc::Global>", "Vec<WorkerState>"),
            ("std::vector<app::Worker, std::allocator<app::Worker> >", "vector<Worker>"),
            ("core::sync::atomic::AtomicU64", "AtomicU64"),
            ("(anonymous namespace)::Hidden", "Hidden"),
            ("shapes::state::State::Running", "State::Running"),
            ("[core::sync::atomic::AtomicU64; 4]", "[AtomicU64; 4]"),
            ("int", "int"),
            (
                "std::map<int, app::Globals, std::less<int>, std::allocator<int>>",
                "map<int, Globals>",
            ),
            (
                "std::unordered_map<int, a::B, std::hash<int>, std::equal_to<int>, std::allocator<a::B> >",
                "unordered_map<int, B>",
            ),
        ] {
            assert_eq!(type_name(path), expected, "{path}");
        }
    }

    #[test]
    fn names_that_no_compiler_writes_end() {
        for name in ["", "::", "<", ">", "<<<>>>", "a<b", "a>b<", ", std::less, std::lessx", ", "] {
            let _ = (type_name(name), shortened(name), module(name));
        }
        let deep = "<".repeat(50_000) + &">".repeat(50_000);
        let open = ", std::less<".repeat(100_000);
        let _ = (type_name(&deep), shortened(&open), shortened(&open.replace("ss", "sser")));
    }
}
