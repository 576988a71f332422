//! What findings and their parts are called: the same in every output, and in budgets.

use std::collections::{BTreeMap, BTreeSet};

use super::origin::package;
use super::{Finding, Kind, Observed, Role, Sharing, Storage, Word};

impl Finding {
    /// The words of the line with their object, those that are written first: `Session.refs and Session.limits`.
    #[must_use]
    pub fn title(&self) -> String {
        let base = self.object().unwrap_or_default();
        let words = self.written_first();
        let name = |word: &&Word| match (base.as_str(), of_lock(&word.path)) {
            _ if self.has_outside(word) => format!("its neighbour at {:+}", word.offset),
            (base, "") if word.path.is_empty() => {
                format!("{base} {:+}", word.offset).trim_start().to_owned()
            }
            (base, "") => base.to_owned(),
            ("", path) => short_path(path, 1),
            (base, path) if path.starts_with('[') => format!("{base}{path}"),
            (base, path) => format!("{base}.{path}"),
        };
        let mut names: Vec<String> = words.iter().map(name).collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        match names.as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            [one, two] => format!("{one} and {two}"),
            [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
        }
    }

    /// What the words are in: the array, the variable, the type, or the memory where none has a name. None if they are
    /// variables themselves.
    #[must_use]
    pub fn object(&self) -> Option<String> {
        let storage = self.observed.as_ref().map(|observed| &observed.storage);
        Some(match (&self.sharing, storage) {
            (Sharing::Elements { array, .. }, _) if !array.is_empty() => short_path(array, 1),
            (Sharing::Statics { .. }, _) => return None,
            (_, Some(Storage::Static { name })) if !name.is_empty() => short_path(name, 1),
            _ if !self.type_name.is_empty() => short_path(&self.type_name, 1),
            (_, Some(Storage::Heap { .. })) => "heap object".to_owned(),
            (_, Some(Storage::Stack { .. })) => "stack".to_owned(),
            (_, Some(Storage::Static { .. })) => "variable".to_owned(),
            (_, Some(Storage::Mapped) | None) => "mapped memory".to_owned(),
        })
    }

    /// What is wrong, with the contended word: `count beside read-mostly words`.
    #[must_use]
    pub fn fault(&self) -> String {
        match (self.kind, self.contended.role.name()) {
            (Kind::BesideReadMostly, "") => "a written word beside read-mostly ones".to_owned(),
            (Kind::BesideReadMostly, role) => format!("{role} beside read-mostly words"),
            (kind, _) => kind.name().to_owned(),
        }
    }

    /// Where a change is made: at the declaration, that of a base if this has the member, or else where the line is used most.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        let mut uses = self.written_first().into_iter().flat_map(|word| &word.uses);
        let is_heap =
            matches!(&self.observed, Some(Observed { storage: Storage::Heap { .. }, .. }));
        let of_base = self.contended.member_of.as_ref().filter(|_| is_heap);
        let of_base = of_base.and_then(|it| it.declared.as_deref());
        of_base
            .or(self.declared.as_deref())
            .or_else(|| uses.find_map(|it| it.code.as_ref()?.line.as_deref()))
    }

    /// Whether elements of an array share the line, and each of those is used by one thread.
    #[must_use]
    pub fn has_owned_elements(&self) -> bool {
        let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
        for word in self.words() {
            let (Some(element), Some(owner)) = (word.element(), word.owner()) else { return false };
            if *owners.entry(element).or_insert(owner) != owner {
                return false;
            }
        }
        owners.values().collect::<BTreeSet<_>>().len() > 1
    }

    /// The words of the line, those that are written first.
    #[must_use]
    pub fn written_first(&self) -> Vec<&Word> {
        let mut words = self.words();
        words.sort_by_key(|word| !word.role.is_contended());
        words
    }

    /// Whether a word is part of another object, which shares a line with the one that the finding is of.
    fn has_outside(&self, word: &Word) -> bool {
        let Some(Observed { storage: Storage::Heap { .. }, size: Some(size), .. }) = &self.observed
        else {
            return false;
        };
        u64::try_from(word.offset).map_or(true, |offset| offset >= *size)
    }
}

impl Word {
    /// The thread that alone uses it, by far.
    #[must_use]
    pub fn owner(&self) -> Option<u64> {
        /// The part of the accesses that it makes.
        const PART: f64 = 0.9;
        let mut by_thread: BTreeMap<u64, f64> = BTreeMap::new();
        for it in &self.uses {
            for id in &it.ids {
                *by_thread.entry(*id).or_default() += it.per_second;
            }
        }
        let all: f64 = by_thread.values().sum();
        let (owner, most) = by_thread.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        (most >= PART * all).then_some(owner)
    }

    /// The index of the array's element that its path begins with: 1 of `[1].sum`.
    fn element(&self) -> Option<&str> {
        self.path.strip_prefix('[')?.split_once("].").map(|(index, _)| index)
    }

    /// Its path, or its offset where no name is known.
    #[must_use]
    pub fn name(&self) -> String {
        if self.path.is_empty() { format!("{:+}", self.offset) } else { self.path.clone() }
    }
}

impl Role {
    /// Its name in text; empty if nothing is known.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Lock => "lock",
            Self::Sequence => "sequence count",
            Self::Statistic => "statistic",
            Self::Budget => "budget",
            Self::Flag => "flag",
            Self::QueueEnd => "queue end",
            Self::Ticket => "ticket",
            Self::State => "state",
            Self::Atomic => "atomic",
            Self::Written => "written by many",
            Self::ReadMostly => "read-mostly",
            Self::Cold => "cold",
            Self::Plain => "",
        }
    }
}

impl Kind {
    /// Its name in text: `false sharing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FalseSharing => "false sharing",
            Self::BesideReadMostly => "written beside read-mostly",
            Self::HotWord => "one hot word",
            Self::Lock => "lock",
        }
    }
}

/// The path of a lock of the C library that a word is a member of; of other words their own.
fn of_lock(path: &str) -> &str {
    match path.split_once("__data.__") {
        Some((lock, _)) => lock.trim_end_matches('.'),
        None => path,
    }
}

/// A name of which each path has its last `parts` parts: `ArcInner<State>` for `alloc::sync::ArcInner<server::State>`.
/// Reports have whole names, by which JSON and budgets tell them apart: they are cut where they are shown.
#[must_use]
pub fn short_path(name: &str, parts: usize) -> String {
    let mut short = String::new();
    let mut path = String::new();
    let in_path = |letter: char| letter.is_alphanumeric() || "_:$#".contains(letter);
    for letter in name.chars().chain(['\0']) {
        if letter != '\0' && in_path(letter) {
            path.push(letter);
            continue;
        }
        let inner = match path.strip_prefix("::") {
            // Of a type in angle brackets.
            Some(inner) if !short.is_empty() => {
                short += "::";
                inner
            }
            _ => &path,
        };
        let pieces: Vec<&str> = inner.split("::").collect();
        short += &pieces[pieces.len().saturating_sub(parts)..].join("::");
        path.clear();
        if letter != '\0' {
            short.push(letter);
        }
    }
    short
}

/// A place in the source, with as little as tells it apart: `server.rs:52`, `src/main.rs:5`, and of what was not written for the
/// program its package: `dashmap-5.5.3 lock.rs:189`, `std mutex.rs:30`.
#[must_use]
pub fn short_place(line: &str) -> String {
    let short = without_folders(line);
    match package(line) {
        Some(package) => format!("{package} {short}"),
        None => short,
    }
}

/// A file without its folders; those that many folders have, with one.
fn without_folders(line: &str) -> String {
    let mut cuts = line.rmatch_indices('/').map(|(at, _)| at + 1);
    let name = &line[cuts.next().unwrap_or(0)..];
    let is_common = ["mod.rs", "lib.rs", "main.rs"].iter().any(|common| name.starts_with(common));
    if is_common { line[cuts.next().unwrap_or(0)..].to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;

    fn run() -> Report {
        serde_json::from_str(include_str!("../../fixtures/run.json")).unwrap()
    }

    #[test]
    fn a_word_of_a_neighbour_is_not_named_after_the_object() {
        let mut report = run();
        let session = &mut report.findings[0];
        let title_with = |session: &mut Finding, offset| {
            session.victims.truncate(1);
            session.victims[0].path.clear();
            session.victims[0].offset = offset;
            session.title()
        };
        for offset in [-16, 200] {
            let title = title_with(session, offset);
            assert!(title.ends_with(&format!(" and its neighbour at {offset:+}")), "{title}");
        }
        assert!(title_with(session, 192).ends_with(" and Session +192"));
    }

    #[test]
    fn elements_are_owned_if_each_is_used_by_one_thread_and_not_all_by_the_same() {
        let of = |one: &[u64], other: &[u64]| {
            let mut finding = run().findings.remove(0);
            finding.victims.truncate(1);
            for (path, ids, word) in [
                ("[0].sum", one, &mut finding.contended),
                ("[1].sum", other, &mut finding.victims[0]),
            ] {
                word.path = path.to_owned();
                word.uses.truncate(1);
                word.uses[0].ids = ids.to_vec();
            }
            finding.has_owned_elements()
        };
        assert!(of(&[1], &[2]));
        assert!(!of(&[1], &[1]));
        assert!(!of(&[1, 2], &[2]));
    }

    #[test]
    fn a_lock_of_the_c_library_is_one_name() {
        for (path, victim, expected) in [
            ("[132].__data.__lock", "[132].__data.__owner", "Session[132]"),
            ("__data.__lock", "__data.__nusers", "Session"),
            ("mutex.__data.__lock", "next", "Session.mutex and Session.next"),
        ] {
            let mut report = run();
            let session = &mut report.findings[0];
            session.victims.truncate(1);
            path.clone_into(&mut session.contended.path);
            victim.clone_into(&mut session.victims[0].path);
            assert_eq!(session.title(), expected);
        }
    }

    #[test]
    fn elements_of_an_unknown_type_are_words_of_their_object() {
        let mut report = run();
        let finding = &mut report.findings[0];
        finding.type_name.clear();
        finding.sharing = Sharing::Elements { array: String::new(), stride: 40, count: 4096 };
        assert_eq!(finding.object().unwrap(), "heap object");
    }

    #[test]
    fn paths_are_cut_inside_of_arguments_too() {
        for (name, one, two) in [
            ("server::Session", "Session", "server::Session"),
            (
                "alloc::sync::ArcInner<server::State>",
                "ArcInner<State>",
                "sync::ArcInner<server::State>",
            ),
            ("a::b::c::get", "get", "c::get"),
            ("std::pair<int, a::b::c>", "pair<int, c>", "std::pair<int, b::c>"),
            ("<a::b::C as d::E>::call", "<C as E>::call", "<b::C as d::E>::call"),
            (
                "core::sync::atomic::Atomic<alloc::Key, [u64; 2]>",
                "Atomic<Key, [u64; 2]>",
                "atomic::Atomic<alloc::Key, [u64; 2]>",
            ),
            ("plain", "plain", "plain"),
            ("", "", ""),
        ] {
            assert_eq!((&*short_path(name, 1), &*short_path(name, 2)), (one, two), "{name}");
        }
    }

    #[test]
    fn a_place_is_named_with_as_little_as_tells_it_apart() {
        for (line, shown) in [
            ("/home/me/project/src/server.rs:52", "server.rs:52"),
            ("/home/me/project/src/main.rs:5", "src/main.rs:5"),
            ("main.rs:5", "main.rs:5"),
            (
                "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/dashmap-5.5.3/src/lock.rs:189",
                "dashmap-5.5.3 lock.rs:189",
            ),
            (
                "/root/.cargo/git/checkouts/tokio-6ff3/a1b2/tokio/src/park.rs:7",
                "tokio-6ff3 park.rs:7",
            ),
            ("/home/me/project/vendor/bytes/src/lib.rs:9", "bytes src/lib.rs:9"),
            ("vendor/bytes/src/lib.rs:9", "bytes src/lib.rs:9"),
            ("/rustc/59807616e/library/std/src/sys/sync/mutex/futex.rs:30", "std futex.rs:30"),
            (
                "/root/go/pkg/mod/github.com/prometheus/client_golang@v1.19.0/prometheus/counter.go:3",
                "client_golang@v1.19.0 counter.go:3",
            ),
            ("third_party/snappy/snappy.cc:9", "snappy snappy.cc:9"),
            ("/home/me/oldvendor/bytes/entry.rs:9", "entry.rs:9"),
            // No version: a crate of the program's with that name.
            ("crates/registry/src/map/entry.rs:3", "entry.rs:3"),
            ("/root/.cargo/registry/src/", ""),
            ("", ""),
            ("/", ""),
        ] {
            assert_eq!(short_place(line), shown);
        }
    }
}
