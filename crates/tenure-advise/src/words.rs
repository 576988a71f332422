//! What a program calls the words of a change.

use tenure_model::{Target, short_path};

/// A longer name of a type is cut to what precedes its arguments.
const MAX_TYPE: usize = 24;

/// Names of what holds a value and says nothing of it.
const WRAPPERS: [&str; 18] = [
    "data",
    "value",
    "inner",
    "v",
    "val",
    "raw",
    "buf",
    "ptr",
    "cap",
    "__data",
    "__lock",
    "_M_i",
    "__0",
    "0",
    "p",
    "repr",
    "[n]",
    "state_and_queue",
];

/// The name of a word by its path: `tail_position` of `tx.tail_position`, `stack` of `stack.inner`; `None` where no part of it
/// says anything.
#[must_use]
pub fn word(path: &str) -> Option<&str> {
    // The members of glibc's locks say nothing of the program.
    let path = path.split_once("__data.__").map_or(path, |(lock, _)| lock);
    // Neither do those of Rust's locks.
    let of_rust =
        [".inner.state", ".inner.futex", ".raw.state", "inner.state", "inner.futex", "raw.state"];
    let path = of_rust.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    let parts = path.rsplit('.').filter(|part| !part.starts_with('+') && !part.is_empty());
    let mut said = parts.filter(|part| !WRAPPERS.contains(part) && !part.starts_with('['));
    let word = said.next()?;
    // An element is of the array that its index follows.
    Some(word.split('[').next().unwrap_or(word)).filter(|word| !word.is_empty())
}

/// The words in quotes; what holds them where they have no names.
pub(crate) fn listed(paths: &[String], target: &Target) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in paths.iter().filter_map(|path| word(path)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match (&names[..], counted(target)) {
        ([], None) => "the word".to_owned(),
        ([], Some(object)) => format!("`{object}`"),
        ([one], _) => format!("`{one}`"),
        ([one, two], _) if one.len() + two.len() <= MAX_TYPE => format!("`{one}` and `{two}`"),
        ([one, rest @ ..], _) => format!("`{one}` and {} more", rest.len()),
    }
}

/// The type or variable that holds the words, short enough to be read.
pub(crate) fn object(target: &Target) -> Option<String> {
    Some(short(&target.object)).filter(|name| !name.is_empty())
}

/// What a pool or a lock has in it, if its type says so: `Cache` of `Pool<Cache, F>`.
pub(crate) fn held(target: &Target) -> Option<String> {
    let (_, arguments) = target.object.split_once('<')?;
    let mut depth = 0_usize;
    let end = arguments.find(|letter: char| {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' if depth > 0 => depth -= 1,
            ',' | '>' => return depth == 0,
            _ => {}
        }
        false
    })?;
    // A pool does not hold its constructor, a `dyn Fn`.
    Some(short(&arguments[..end])).filter(|name| !name.is_empty() && !name.contains("dyn "))
}

/// What a count counts the references to: `App` of `ArcInner<App>` and of `shared_ptr<App>`.
pub(crate) fn counted(target: &Target) -> Option<String> {
    let is_pointer = |name: &str| ["Arc", "Rc", "ArcInner", "shared_ptr"].contains(&name);
    let name = short_path(&target.object, 1);
    match name.split_once('<') {
        Some((pointer, _)) if is_pointer(pointer) => held(target),
        _ => object(target),
    }
}

fn short(name: &str) -> String {
    let name = short_path(name, 1);
    match name.split_once('<') {
        Some((generic, _)) if name.chars().count() > MAX_TYPE && !generic.is_empty() => {
            generic.to_owned()
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_last_name_that_says_something() {
        for (path, expected) in [
            ("refs", Some("refs")),
            ("tx.tail_position", Some("tail_position")),
            ("stack.inner", Some("stack")),
            ("data.hits.v.value", Some("hits")),
            ("mutex.__data.__lock", Some("mutex")),
            ("lru_locks[132].__data.__lock", Some("lru_locks")),
            ("lock.__data.__readers", Some("lock")),
            ("data.names.inner.state", Some("names")),
            ("raw.state", None),
            ("task.state", Some("state")),
            ("dst.__refcnt", Some("__refcnt")),
            ("data.value", None),
            ("+48", None),
            ("[n]", None),
            ("", None),
        ] {
            assert_eq!(word(path), expected, "{path}");
        }
    }

    #[test]
    fn types_say_what_they_hold() {
        let of = |name: &str| Target { object: name.to_owned(), ..Target::default() };
        let pool = of("a::Pool<b::Cache, Box<dyn Fn() -> b::Cache>>");
        assert_eq!((object(&pool).unwrap(), held(&pool).unwrap()), ("Pool".into(), "Cache".into()));
        let arc = of("alloc::sync::ArcInner<server::App>");
        assert_eq!(counted(&arc).unwrap(), "App");
        assert_eq!(counted(&of("Arc<[u8; 4096]>")).unwrap(), "[u8; 4096]");
        assert_eq!(counted(&of("leveldb::MemTable")).unwrap(), "MemTable");
        assert_eq!(held(&of("Pool<(u8, u16)>")).unwrap(), "(u8, u16)");
        assert_eq!((object(&of("")), held(&of("Pool"))), (None, None));
    }
}
