//! What a change says to do, and what to write: docs/changes.md has each of them with its price and its sources.

use tenure_model::{
    Access, Declaration, Finding, Language, Origin, Remedy, Repair, Role, Sharing, Storage, Target,
    Word, short_path,
};

use crate::{language, words, written};

/// A remedy of some words, by their paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemedyOf {
    /// What is done.
    pub remedy: Remedy,
    /// To which words; none for all that the target has.
    pub words: Vec<String>,
}

/// Remedies that are made one after another, as a report has them. `bytes` is what they cost an object, or with `per_thread` a
/// thread.
#[must_use]
pub fn repair(steps: &[RemedyOf], target: &Target, bytes: u64, per_thread: bool) -> Repair {
    let names: Vec<_> = steps.iter().map(|step| step.remedy.name()).collect();
    let briefs: Vec<_> = steps.iter().map(|step| step.brief(target, bytes)).collect();
    let mut texts: Vec<_> = steps.iter().map(|step| step.text(target)).collect();
    texts.extend(place(target));
    Repair {
        name: names.join(" + "),
        remedies: steps.iter().map(|step| step.remedy).collect(),
        target: target.clone(),
        brief: briefs.join(", and "),
        text: texts.join(" "),
        code: steps.iter().flat_map(|step| step.code(target)).collect(),
        edits: Vec::new(),
        bytes,
        per_thread,
    }
}

impl RemedyOf {
    /// What to change: an imperative in the program's own words. `bytes` as of [`repair`].
    #[must_use]
    pub fn brief(&self, target: &Target, bytes: u64) -> String {
        // Those that are as long as a line only lie across two.
        let pad = if bytes == 0 { "align" } else { "pad" };
        let listed = words::listed(&self.words, target);
        let object = words::object(target).map_or_else(|| listed.clone(), |it| format!("`{it}`"));
        let counted =
            words::counted(target).map_or_else(|| "object".to_owned(), |it| format!("`{it}`"));
        match self.remedy {
            Remedy::Apart | Remedy::ReadMostlyApart => match &target.declaration {
                Some(
                    Declaration::Elements { .. } | Declaration::Words { .. } | Declaration::Boxed,
                ) => {
                    format!("{pad} elements of {object} to a cache line")
                }
                Some(Declaration::Array { name, .. }) if !name.is_empty() => {
                    format!("{pad} elements of `{name}` to a cache line")
                }
                Some(Declaration::Variables { names }) if names.len() > 1 => {
                    format!("put {} on cache lines of their own", words::listed(names, target))
                }
                _ if self.words.len() > 1 => format!("put {listed} on cache lines of their own"),
                _ => format!("put {listed} on its own cache line"),
            },
            Remedy::AddForLoop => format!("add to {listed} once, without a loop"),
            Remedy::AddForLock => format!("add to {listed} without the lock"),
            Remedy::Cells => format!("count {listed} per thread"),
            Remedy::Batch => format!("add to {listed} once in 64 times"),
            Remedy::OwnObject => match words::held(target) {
                Some(held) => format!("keep a `{held}` per thread"),
                None if target.object.is_empty() => "keep the pool's objects per thread".to_owned(),
                None => format!("keep objects of {object} per thread"),
            },
            Remedy::Borrow if target.language == Some(Language::Rust) => {
                format!("borrow {counted}, do not clone it")
            }
            Remedy::Borrow => format!("use {counted} without a reference"),
            Remedy::Revocable => format!("keep one {counted} reference per thread"),
            Remedy::ReadUnlocked => format!("read what {listed} guards without taking it"),
            Remedy::SharedLock => format!("let readers of {listed} not share it"),
            Remedy::Shard => format!("shard {object} by key"),
            Remedy::TestBeforeStore => format!("test {listed} before storing it"),
        }
    }

    /// What to do, and what forbids it: a sentence or two.
    #[must_use]
    pub fn text(&self, target: &Target) -> String {
        let listed = words::listed(&self.words, target);
        let object =
            words::object(target).map_or_else(|| "the object".to_owned(), |it| format!("`{it}`"));
        let counted =
            words::counted(target).map_or_else(|| "the object".to_owned(), |it| format!("`{it}`"));
        let pool = words::object(target).map_or_else(|| "pool".to_owned(), |it| format!("`{it}`"));
        match self.remedy {
            Remedy::Apart | Remedy::ReadMostlyApart => {
                let beside = match &target.declaration {
                    Some(
                        Declaration::Elements { .. }
                        | Declaration::Words { .. }
                        | Declaration::Boxed,
                    ) => {
                        return format!(
                            "Give each element of {object} lines of its own: threads use neighbours at the same time."
                        );
                    }
                    _ if self.words.len() > 1 => "them",
                    _ => "it",
                };
                let own =
                    if self.words.len() > 1 { "lines of their own" } else { "a line of its own" };
                format!("Give {listed} {own}: other threads use what lies beside {beside}.")
            }
            Remedy::AddForLoop => format!(
                "Change {listed} by one addition, which cannot fail: the compare-exchange loop only adds or subtracts."
            ),
            Remedy::AddForLock => format!(
                "Add to {listed} by one atomic addition, without the lock: it guards nothing else. Not if code under the lock acts on the count."
            ),
            Remedy::Cells => format!(
                "Count {listed} in a cell for each thread, and sum the cells when it is read: no thread acts on what it adds to."
            ),
            Remedy::Batch => format!(
                "Let each thread add to {listed} once in 64 times: readers are too many to sum cells. They see up to 63 too few for each thread."
            ),
            Remedy::OwnObject if target.is_foreign => format!(
                "Own object per thread: give each thread a {pool} of its own, such as a clone of what has it, or keep what it took between uses. Not if the objects differ, or waiting for one is how work is limited."
            ),
            Remedy::OwnObject => format!(
                "Own object per thread: let each thread take from and give back to a list of its own, and go to the shared {pool} when that is empty or full. Not if the objects differ, or waiting for one is how work is limited."
            ),
            Remedy::Borrow => format!(
                "Use {counted} where it is, or move one clone into each thread or task: the reference is given back as soon as it was used. Not if it outlives the call."
            ),
            Remedy::Revocable => format!(
                "Let each thread keep its reference to {counted} between uses. Not for values that come and go."
            ),
            Remedy::ReadUnlocked => format!(
                "Read what {listed} guards without the lock, if it is a value that is only ever replaced as a whole."
            ),
            Remedy::SharedLock => format!(
                "Let readers of {listed} not write a word that they share: they hardly ever meet a writer. A writer then has to ask all of them."
            ),
            Remedy::Shard => format!(
                "Split {object} into 64 parts by a hash of the key, each with a lock on a line of its own. Not if the order of keys matters, or one key is most of the load."
            ),
            Remedy::TestBeforeStore => format!(
                "Load {listed} first, and store only if that changes it: the same value is stored again and again."
            ),
        }
    }

    /// What to write: a line or two; nothing where the language has no such thing or is not known, or where it would be
    /// written in a library.
    #[must_use]
    pub fn code(&self, target: &Target) -> Vec<String> {
        let is_of_caller = matches!(self.remedy, Remedy::Borrow | Remedy::Revocable);
        if target.is_foreign && !is_of_caller {
            return Vec::new();
        }
        written::code(self.remedy, &self.words, target)
    }
}

/// Where to act.
fn place(target: &Target) -> Option<String> {
    let place = target.place.as_deref()?;
    match target.is_foreign {
        true => Some(format!("A library's code does this: act where yours calls it, at {place}.")),
        false => Some(format!("`{}` is at {place}.", words::object(target)?)),
    }
}

/// The type of the library `tenure` that does it, which is of use to Rust only.
#[must_use]
pub const fn library(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::Apart | Remedy::ReadMostlyApart | Remedy::AddForLock | Remedy::Shard => {
            "tenure::cache_line::CachePadded"
        }
        Remedy::AddForLoop => "tenure::count::RcuRef",
        Remedy::Cells => "tenure::counter::Counter",
        Remedy::OwnObject => "tenure::pool::SlotPool",
        Remedy::Revocable => "tenure::owner::Owner",
        Remedy::ReadUnlocked => "tenure::rcu::RcuCell",
        Remedy::Batch | Remedy::Borrow | Remedy::SharedLock | Remedy::TestBeforeStore => {
            return None;
        }
    })
}

/// The place in the source that repairs of a finding change. Its language is that of the code that uses the line.
#[must_use]
pub fn target(finding: &Finding, line_bytes: u64) -> Target {
    let uses = || finding.words().into_iter().flat_map(|word| &word.uses);
    let places = || uses().flat_map(|it| it.code.iter().chain(&it.callers));
    let lines: Vec<&str> = places().filter_map(|code| code.line.as_deref()).collect();
    let own = lines.iter().find(|line| !is_of_library(line)).map(|line| (*line).to_owned());
    let declared = finding.declared.as_deref();
    let is_foreign = match declared {
        Some(declared) => is_of_library(declared),
        // Code that only a library has is of a type that only it knows.
        None => lines.first().is_some_and(|line| is_of_library(line)),
    };
    let place = if is_foreign { own } else { finding.declared.clone() };
    Target {
        language: language::of_lines(lines.iter().copied()),
        line_bytes,
        declaration: declaration(finding),
        object: finding.object().filter(|_| is_named(finding)).unwrap_or_default(),
        place,
        is_foreign,
    }
}

/// Whether a type or a variable is known: a stack or a heap is what any word may lie in.
fn is_named(finding: &Finding) -> bool {
    let storage = finding.observed.as_ref().map(|observed| &observed.storage);
    !finding.type_name.is_empty()
        || matches!(storage, Some(Storage::Static { name }) if !name.is_empty())
        || matches!(&finding.sharing, Sharing::Elements { array, .. } if !array.is_empty())
}

/// Whether a file is of a dependency, or of a standard library.
fn is_of_library(file: &str) -> bool {
    Origin::of_file(file) != Origin::Yours
}

/// What lies on a line of its own once a finding is fixed; `None` if it has no name that can be written down.
fn declaration(finding: &Finding) -> Option<Declaration> {
    let words = finding.words();
    if matches!(finding.sharing, Sharing::Elements { .. }) || finding.has_owned_elements() {
        let of = finding.contended.member_of.as_ref();
        let type_name = of.map_or(element(&finding.type_name), |it| &it.type_name).to_owned();
        if type_name.is_empty() {
            return None;
        }
        let is_word = words.iter().all(|word| ["", "[n]"].contains(&word.path.as_str()));
        let is_declared = of.is_some_and(|it| it.declared.is_some());
        return Some(match is_word && !is_declared && !is_struct_of_rust(&type_name) {
            true => Declaration::Words { type_name },
            false => Declaration::Elements { type_name },
        });
    }
    // A lock stays with what it guards.
    let is_moved = |word: &&&Word| word.role.is_contended() && word.role != Role::Lock;
    let word = words.iter().find(is_moved)?;
    let name = word.path.rsplit('.').next().filter(|name| is_identifier(name))?.to_owned();
    let type_name = Some(declared_type(word)).filter(|name| !name.is_empty())?;
    Some(Declaration::Member { name, type_name })
}

/// The type of an array's elements: `Slot` of `Slot[64]`.
fn element(type_name: &str) -> &str {
    let bounds = type_name.ends_with(']').then(|| type_name.find('[')).flatten();
    bounds.map_or(type_name, |start| &type_name[..start])
}

/// Whether a type is one of Rust's structs, which may have one word, and neither a number nor an atomic one. rustc does not say where
/// types are declared.
fn is_struct_of_rust(type_name: &str) -> bool {
    let last = short_path(type_name, 1);
    is_identifier(&last) && last.starts_with(char::is_uppercase) && !last.starts_with("Atomic")
}

/// The type that a word is declared with: of Rust's atomics the debugging information names what is inside.
fn declared_type(word: &Word) -> String {
    // Not `u8`, which is inside of an `AtomicBool` too.
    const NUMBERS: [&str; 9] = ["u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let is_plain = |access| matches!(access, Access::Read | Access::Write);
    let is_atomic = word.uses.iter().any(|it| !is_plain(it.operation));
    match NUMBERS.contains(&word.type_name.as_str()) && is_atomic {
        true => format!("Atomic{}{}", word.type_name[..1].to_uppercase(), &word.type_name[1..]),
        false => word.type_name.clone(),
    }
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |it: char| it.is_alphabetic() || it == '_';
    name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_model::Use;

    const ALL: [Remedy; 13] = [
        Remedy::Apart,
        Remedy::ReadMostlyApart,
        Remedy::AddForLoop,
        Remedy::AddForLock,
        Remedy::Cells,
        Remedy::Batch,
        Remedy::OwnObject,
        Remedy::Borrow,
        Remedy::Revocable,
        Remedy::ReadUnlocked,
        Remedy::SharedLock,
        Remedy::Shard,
        Remedy::TestBeforeStore,
    ];

    fn of(remedy: Remedy, word: &str) -> RemedyOf {
        RemedyOf { remedy, words: vec![word.to_owned()] }
    }

    fn member(language: Option<Language>) -> Target {
        let (name, type_name) = ("hits".to_owned(), "u64".to_owned());
        let declaration = Some(Declaration::Member { name, type_name });
        let object = "server::Stats".to_owned();
        let place = Some("src/stats.rs:9".to_owned());
        Target { language, line_bytes: 64, declaration, object, place, is_foreign: false }
    }

    #[test]
    fn a_change_is_said_in_the_programs_own_words() {
        for (remedy, word, object, expected) in [
            (Remedy::Apart, "refs", "Session", "put `refs` on its own cache line"),
            (Remedy::Cells, "data.hits", "ArcInner<App>", "count `hits` per thread"),
            (Remedy::Cells, "", "HITS", "count `HITS` per thread"),
            (Remedy::OwnObject, "stack.inner", "a::Pool<b::Cache, F>", "keep a `Cache` per thread"),
            (Remedy::OwnObject, "+48", "", "keep the pool's objects per thread"),
            (
                Remedy::Borrow,
                "strong",
                "alloc::sync::ArcInner<a::App>",
                "borrow `App`, do not clone it",
            ),
            (Remedy::Revocable, "strong", "Arc<App>", "keep one `App` reference per thread"),
            (Remedy::Shard, "lock", "index::Table", "shard `Table` by key"),
            (Remedy::TestBeforeStore, "stop", "Flags", "test `stop` before storing it"),
            (Remedy::SharedLock, "names.state", "Names", "let readers of `state` not share it"),
        ] {
            let target = Target {
                object: object.to_owned(),
                declaration: None,
                ..member(Some(Language::Rust))
            };
            let brief = of(remedy, word).brief(&target, 48);
            assert_eq!(brief, expected);
            assert!(brief.len() <= 40, "{brief}");
        }
    }

    #[test]
    fn a_repair_of_several_remedies_has_the_words_and_code_of_each() {
        let steps = [of(Remedy::Cells, "hits"), of(Remedy::Apart, "hits")];
        let of = |language| repair(&steps, &member(language), 64, true);
        let rust = of(Some(Language::Rust));
        assert_eq!((&*rust.name, rust.bytes, rust.per_thread), ("cells + apart", 64, true));
        assert_eq!(rust.brief, "count `hits` per thread, and put `hits` on its own cache line");
        assert!(rust.text.starts_with("Count `hits` in a cell"), "{}", rust.text);
        assert!(rust.text.ends_with("`Stats` is at src/stats.rs:9."), "{}", rust.text);
        assert_eq!(rust.code.len(), 4);
        assert_eq!(rust.code[3], "hits: CachePadded<u64>, // in place of u64");
        assert!(of(None).code.is_empty());
    }

    #[test]
    fn an_atomic_of_rust_is_declared_as_one() {
        let word = |type_name: &str, operation| {
            let uses = vec![Use {
                threads: String::new(),
                count: 1,
                ids: Vec::new(),
                operation,
                per_second: 1.0,
                code: None,
                callers: Vec::new(),
            }];
            let (path, why) = (String::new(), String::new());
            let (role, type_name) = (Role::Atomic, type_name.to_owned());
            Word {
                path,
                offset: 0,
                size: 8,
                type_name,
                member_of: None,
                role,
                weight: None,
                why,
                uses,
                measured: None,
            }
        };
        for (type_name, operation, expected) in [
            ("u64", Access::Add, "AtomicU64"),
            ("usize", Access::Load, "AtomicUsize"),
            ("bool", Access::Store, "bool"),
            ("u64", Access::Write, "u64"),
            ("long", Access::Add, "long"),
        ] {
            assert_eq!(declared_type(&word(type_name, operation)), expected);
        }
    }

    #[test]
    fn what_is_a_librarys_is_changed_where_it_is_used() {
        let target =
            Target { is_foreign: true, place: Some("src/main.rs:3".to_owned()), ..member(None) };
        let text = repair(&[of(Remedy::Shard, "lock")], &target, 0, false).text;
        assert!(text.ends_with("act where yours calls it, at src/main.rs:3."), "{text}");
        assert!(is_of_library("/root/.cargo/registry/src/x-1/dashmap-6/src/lock.rs:18"));
        assert!(is_of_library("vendor/dashmap/src/lock.rs:18"));
        assert!(!is_of_library("src/registry.rs:3"));
    }

    #[test]
    fn each_change_has_a_section_in_the_documentation_and_code_in_the_languages_that_have_it() {
        let page = include_str!("../../../docs/changes.md");
        for remedy in ALL {
            assert!(page.contains(&format!("`{}`", remedy.name())), "{remedy:?}");
            let has_code = |language| !of(remedy, "hits").code(&member(Some(language))).is_empty();
            assert!(
                has_code(Language::Rust) && has_code(Language::C) && has_code(Language::Cpp),
                "{remedy:?}"
            );
            // Collected objects have no counts, and one goroutine or worker nothing that another could be given.
            let is_of_counts = matches!(remedy, Remedy::Borrow | Remedy::Revocable);
            assert_ne!(has_code(Language::Go), is_of_counts, "{remedy:?}");
            assert_ne!(has_code(Language::Java), is_of_counts, "{remedy:?}");
        }
    }

    #[test]
    fn an_array_of_structs_is_told_from_one_of_numbers() {
        assert_eq!(
            [element("Slot[64]"), element("long[2][4]"), element("Arc<[u8]>")],
            ["Slot", "long", "Arc<[u8]>"]
        );
        assert!(is_struct_of_rust("SeqLock") && is_struct_of_rust("a::Slot"));
        assert!(!is_struct_of_rust("u64") && !is_struct_of_rust("core::sync::atomic::AtomicUsize"));
    }
}
