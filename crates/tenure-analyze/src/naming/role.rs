//! What a word is: by its name, by the code that uses it, and by what threads do to it (docs/changes.md, "Roles").
//!
//! Names say what a change may rest on; behaviour alone says only what is shown. So a count of references is one by name, and
//! what merely looks like it gets no change that relies on it.

use std::collections::BTreeSet;

use tenure_advise::words::word;
use tenure_debuginfo::names;
use tenure_model::{Access, Role};

use crate::lines::{CodeUse, Guarded, Meaning, USES_BY_TRY, UsedWord};

/// At most this part of all uses of a word that is mostly read are writes.
const READ_MOSTLY: u64 = 50;
/// Counts that differ by less than this part are of operations that are done in turn.
const PAIRED: f64 = 0.25;
/// A lock with this share of holders that only read is a lock for readers.
pub(crate) const MOSTLY_READERS: f64 = 0.99;

/// The names that are known of a word.
#[derive(Debug, Default)]
pub(crate) struct WordNames {
    /// The member's path.
    pub(crate) path: String,
    /// The member's type.
    pub(crate) type_name: String,
    /// The type or variable that has it.
    pub(crate) object: String,
    /// The code that writes it.
    pub(crate) writes: Vec<WriteNames>,
}

/// What is known of an instruction that writes a word.
#[derive(Debug, Default)]
pub(crate) struct WriteNames {
    pub(crate) access: Option<Access>,
    /// How often it does.
    pub(crate) count: u64,
    /// The functions that it is part of, the innermost first, without those that do just one atomic operation.
    pub(crate) functions: Vec<String>,
    /// Their files.
    pub(crate) files: Vec<String>,
    /// The function of a library that it calls.
    pub(crate) called: Option<String>,
    /// The constant that it stores, and whether that may publish what was written before.
    pub(crate) stored: Option<(u64, bool)>,
}

impl WriteNames {
    /// The function that changes the word.
    fn function(&self) -> &str {
        let function =
            self.called.as_deref().or_else(|| self.functions.first().map(String::as_str));
        function.unwrap_or_default()
    }

    fn is(&self, wanted: &[Access]) -> bool {
        self.access.is_some_and(|access| wanted.contains(&access))
    }
}

const EXCHANGES: [Access; 2] = [Access::CompareExchange, Access::Exchange];

impl WordNames {
    /// What the names say.
    pub(crate) fn meaning(&self) -> Meaning {
        Meaning {
            role: self.role(),
            likely: self.likely(),
            guards: self.guards(),
            readers: self.readers(),
            is_restored: self.is_restored(),
            is_conditional: self.by(&EXCHANGES).any(|it| has_word(names::last(it), &PUTS)),
        }
    }

    fn by(&self, wanted: &'static [Access]) -> impl Iterator<Item = &str> {
        self.writes.iter().filter(|write| write.is(wanted)).map(WriteNames::function)
    }

    fn role(&self) -> Option<Role> {
        let types = self.type_name.split('<').next().unwrap_or_default();
        let is_lock = || {
            let mut changing = self.by(&EXCHANGES).chain([types]);
            let adding: Vec<_> = self.by(&[Access::Add]).collect();
            self.path.split('.').any(names::is_lock)
                || changing.any(names::mentions_lock)
                // A lock that is taken by an addition: a ticket, or the readers of a lock of Go's.
                || !adding.is_empty() && adding.iter().all(|it| names::mentions_lock(it))
        };
        let by_functions = || {
            // What is exchanged has more in it than the number.
            let mut all = self.by(&[Access::Add, Access::CompareExchange, Access::Exchange]);
            self.by(&[Access::Add]).next().is_some() && all.all(changes_references)
        };
        let is_budget = || {
            has_word(last(&self.path), &BUDGETS)
                || names::words(&self.object, char::is_alphanumeric)
                    .windows(2)
                    .any(|pair| pair[0] == "rate" && pair[1].starts_with("limit"))
        };
        if counts_references(&self.path) || by_functions() {
            Some(Role::Count)
        } else if is_lock() {
            Some(Role::Lock)
        } else if is_budget() {
            Some(Role::Budget)
        } else if self.path.split('.').any(is_end) {
            Some(Role::QueueEnd)
        } else {
            None
        }
    }

    fn likely(&self) -> Option<Role> {
        const SEQUENCES: [&str; 7] =
            ["seq", "sequence", "seqcount", "seqno", "version", "epoch", "generation"];
        const STATES: [&str; 4] = ["state", "status", "mask", "bits"];
        const FLAGS: [&str; 18] = [
            "flag",
            "stop",
            "stopped",
            "done",
            "running",
            "shutdown",
            "ready",
            "closed",
            "enabled",
            "cancelled",
            "interrupted",
            "dirty",
            "quit",
            "active",
            "alive",
            "updated",
            "has",
            "is",
        ];
        let counts_waiters = |write: &WriteNames| {
            let words = names::words(write.function(), char::is_alphanumeric);
            let is_pair = |one, other| words.windows(2).any(|it| it[0] == one && it[1] == other);
            is_pair("wait", "group") || words.iter().any(|it| it == "latch")
        };
        if self.writes.iter().any(counts_waiters) {
            return Some(Role::Count);
        }
        let name = last(&self.path);
        let of = |wanted: &[&str]| has_word(name, wanted);
        match () {
            () if of(&SEQUENCES) => Some(Role::Sequence),
            () if of(&FLAGS) => Some(Role::Flag),
            () if of(&STATES) => Some(Role::State),
            () => None,
        }
    }

    /// Objects that the same threads take and give back, or a table, by the names of functions and types.
    fn guards(&self) -> Guarded {
        const TAKES: [&str; 8] =
            ["get", "take", "pop", "acquire", "alloc", "allocate", "pull", "borrow"];
        const GIVES: [&str; 9] =
            ["put", "give", "push", "release", "free", "dealloc", "recycle", "return", "attach"];
        const POOLS: [&str; 4] = ["pool", "freelist", "recycler", "magazine"];
        // Where taking an object is how work is limited or passed on.
        const NO_POOLS: [&str; 13] = [
            "thread",
            "threads",
            "worker",
            "job",
            "task",
            "queue",
            "channel",
            "connection",
            "conn",
            "manager",
            "managed",
            "semaphore",
            "client",
        ];
        const TABLES: [&str; 8] =
            ["map", "table", "hashtable", "dict", "dictionary", "cache", "registry", "catalog"];
        const LOOKUPS: [&str; 12] = [
            "get", "put", "insert", "lookup", "find", "remove", "entry", "contains", "update",
            "upsert", "delete", "set",
        ];
        // These tables keep an order, or are split already.
        const NO_TABLES: [&str; 17] = [
            "btree", "ordered", "sorted", "lru", "queue", "priority", "log", "wal", "mem",
            "memtable", "skip", "shard", "shards", "sharded", "segment", "bucket", "stripe",
        ];
        let mut said = names::words(&self.object, char::is_alphanumeric);
        let (mut takes, mut gives, mut looks_up) = (0, 0, false);
        for write in &self.writes {
            let path =
                write.functions.iter().flat_map(|it| names::words(it, char::is_alphanumeric));
            said.extend(path);
            for file in &write.files {
                // What precedes the crate is the machine's.
                let end: Vec<_> = file.rsplit('/').take(3).collect();
                said.extend(end.iter().flat_map(|it| names::words(it, char::is_alphanumeric)));
            }
            let does = |wanted: &[&str]| {
                write.functions.iter().any(|it| has_word(names::last(it), wanted))
            };
            looks_up |= does(&LOOKUPS);
            match (does(&TAKES), does(&GIVES)) {
                (true, false) => takes += write.count,
                (false, true) => gives += write.count,
                _ => {}
            }
        }
        let says = |wanted: &[&str]| said.iter().any(|word| wanted.contains(&word.as_str()));
        if takes > 0 && gives > 0 && says(&POOLS) && !says(&NO_POOLS) {
            // Counts of a program that is watched are estimates, and may be off by as much.
            let is_balanced = takes.max(gives) <= USES_BY_TRY * takes.min(gives);
            return if is_balanced { Guarded::Pool } else { Guarded::Unknown };
        }
        // A type that is looked up in by nothing but keys.
        let is_hashed = says(&["hash"]) && says(&["map"]) || says(&["unordered"]);
        match (is_hashed || looks_up && says(&TABLES)) && !says(&NO_TABLES) {
            true => Guarded::Table,
            false => Guarded::Unknown,
        }
    }

    /// The share of a lock's holders that only read, by the functions that take it; `None` if one of them does not say.
    fn readers(&self) -> Option<f64> {
        const READS: [&str; 7] =
            ["read", "shared", "share", "rdlock", "rlock", "tryrdlock", "reader"];
        let (mut reads, mut all, mut unknown) = (0, 0, 0);
        for write in self.writes.iter().filter(|write| !write.is(&[Access::Unlock, Access::Write]))
        {
            let words = names::words(write.function(), char::is_alphanumeric);
            let gives = |it: &String| {
                it.ends_with("unlock") || ["release", "drop", "guard"].contains(&it.as_str())
            };
            if words.iter().any(gives) {
                continue;
            }
            all += write.count;
            if !names::mentions_lock(write.function()) {
                unknown += write.count;
            } else if has_word(names::last(write.function()), &READS) {
                reads += write.count;
            }
        }
        (all > 0 && unknown == 0).then(|| reads as f64 / all as f64)
    }

    /// Whether one constant is all that is stored, and publishes nothing.
    fn is_restored(&self) -> bool {
        let constants: BTreeSet<_> = self.writes.iter().map(|write| write.stored).collect();
        let is_stored = |write: &WriteNames| write.is(&[Access::Write, Access::Store]);
        matches!(constants.iter().collect::<Vec<_>>()[..], [Some((_, false))])
            && self.writes.iter().all(is_stored)
    }
}

/// Words of functions that give a reference back.
const PUTS: [&str; 7] = ["release", "put", "drop", "dec", "unref", "free", "give"];

/// Names of numbers that threads take from if enough is left.
const BUDGETS: [&str; 8] =
    ["permits", "permit", "semaphore", "quota", "budget", "tokens", "credits", "available"];

/// The last name of a path that says something; empty if none does.
fn last(path: &str) -> &str {
    word(path).unwrap_or_default()
}

fn has_word(name: &str, wanted: &[&str]) -> bool {
    names::words(name, char::is_alphanumeric).iter().any(|it| wanted.contains(&it.as_str()))
}

/// Whether a member is an end of something: `head`, `tail_position`, and not `list_head_count`.
fn is_end(member: &str) -> bool {
    const ENDS: [&str; 7] = ["head", "tail", "top", "bottom", "front", "back", "rear"];
    let words = names::words(member, char::is_alphanumeric);
    words.len() <= 2 && words.first().is_some_and(|word| ENDS.contains(&word.as_str()))
}

/// Whether a member of this path is a number of references: the last one frees the object, whichever code that is.
fn counts_references(path: &str) -> bool {
    const REFERENCES: [&str; 7] =
        ["strong", "weak", "refs", "nrefs", "refcount", "refcnt", "references"];
    const OF: [&str; 4] = ["ref", "use", "strong", "weak"];
    let parts = names::words(path.rsplit('.').next().unwrap_or_default(), char::is_alphanumeric);
    let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(&part.as_str()));
    // `refs`, `refcount_`, `_M_use_count`, `refCnt`; not `weak_hits`.
    matches!(&parts[..], [only] if REFERENCES.contains(&only.as_str()))
        || has(&["refcount", "refcnt"])
        || has(&["count", "cnt"]) && has(&OF)
}

/// Whether a function gets or puts references: `Arc::clone`, `obj_retain`, `Py_INCREF`.
fn changes_references(function: &str) -> bool {
    let parts = names::words(function, char::is_alphanumeric);
    let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(&part.as_str()));
    has(&["retain", "incref", "decref", "addref", "refcount"])
        || has(&["arc"]) && has(&["clone", "drop", "upgrade"])
        || has(&["ref"]) && has(&["add", "inc", "dec"])
}

/// What a word is. Asks for return addresses whether the code there uses the result.
pub(crate) fn role(word: &UsedWord, uses_result: &dyn Fn(u64) -> Option<bool>) -> Role {
    let count = |wanted: &dyn Fn(Access) -> bool| -> u64 {
        let uses = word.uses.iter().filter(|use_| wanted(use_.access));
        uses.map(CodeUse::count).sum()
    };
    match count(&Access::writes) * READ_MOSTLY <= count(&|_| true) {
        true => Role::ReadMostly,
        false => written(word, uses_result),
    }
}

/// What a word is that is not mostly read.
pub(crate) fn written(word: &UsedWord, uses_result: &dyn Fn(u64) -> Option<bool>) -> Role {
    use Access::{Add, CompareExchange, Exchange, Store};
    let of = |wanted: Access| word.uses.iter().filter(move |use_| use_.access == wanted);
    let has = |wanted: Access| of(wanted).next().is_some();
    let is_atomic =
        word.uses.iter().any(|use_| use_.access.writes() && use_.access != Access::Write);
    if word.is_lock() {
        return Role::Lock;
    }
    match word.meaning.role {
        Some(Role::Count) => return Role::Count,
        Some(role) if is_atomic => return role,
        _ => {}
    }
    let results: BTreeSet<_> = of(Add).map(|use_| uses_result(use_.code)).collect();
    let likely = word.meaning.likely;
    match (has(Exchange), has(CompareExchange), has(Add)) {
        (true, ..) if likely == Some(Role::Flag) => Role::Flag,
        (true, ..) => Role::State,
        (_, true, _) if likely.is_some() => likely.unwrap_or(Role::State),
        (_, true, true) if results.contains(&Some(true)) => Role::Count,
        (_, true, true) => Role::Budget,
        (_, true, false) => Role::Atomic,
        (_, _, true) if results == BTreeSet::from([Some(false)]) => Role::Statistic,
        (_, _, true) if results.contains(&None) => Role::Atomic,
        (_, _, true) if likely == Some(Role::Count) || is_paired(&of(Add).collect::<Vec<_>>()) => {
            Role::Count
        }
        (_, _, true) => Role::Ticket,
        _ if likely == Some(Role::Sequence) => Role::Sequence,
        _ if word.meaning.is_restored || likely == Some(Role::Flag) => Role::Flag,
        _ if has(Store) && word.size == 1 => Role::Flag,
        _ if has(Store) => Role::Atomic,
        _ => Role::Written,
    }
}

/// Whether what one instruction does the others do as often, by the same threads: what is taken is given back.
fn is_paired(adds: &[&CodeUse]) -> bool {
    let Some((first, others)) = adds.split_first() else { return false };
    !others.is_empty()
        && first.threads.iter().all(|(thread, count)| {
            let given = others.iter().filter_map(|other| other.threads.get(thread)).sum::<u64>();
            count.abs_diff(given) as f64 <= PAIRED * (*count).max(given) as f64
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_counts_references_and_what_is_a_lock() {
        use Role::{Budget, Count, Lock, QueueEnd};
        for (path, type_name, adding, exchanging, expected) in [
            ("data.strong", "Atomic<usize>", "", "", Some(Count)),
            ("_M_use_count", "int", "", "", Some(Count)),
            ("refcount_", "std::atomic<unsigned>", "", "", Some(Count)),
            ("refCnt", "int", "", "", Some(Count)),
            ("ref_count.value", "Atomic<usize>", "", "", None),
            ("weak_hits", "Atomic<usize>", "", "", None),
            ("prefs", "long", "", "", None),
            ("", "", "Arc::clone", "", Some(Count)),
            ("", "", "Archive::clone", "", None),
            // A task's state, of which the references are a part.
            ("header.state", "", "State::ref_inc", "State::transition_to_idle", None),
            ("", "", "Py_INCREF", "", Some(Count)),
            ("inner.state", "Atomic<u32>", "", "RwLock::read", Some(Lock)),
            ("raw.state", "Atomic<usize>", "", "RawRwLock::lock_shared", Some(Lock)),
            // What only adds to it as a part of more says nothing.
            ("served", "Atomic<usize>", "serve", "", None),
            ("item_lock", "int", "", "", Some(Lock)),
            ("queue.wlock", "int", "", "", Some(Lock)),
            ("lock_stats.waits", "long", "", "", None),
            ("", "std::sys::sync::mutex::futex::Mutex", "", "", Some(Lock)),
            ("", "", "", "block_on", None),
            ("top", "long", "", "lock_free::Queue::pop", Some(QueueEnd)),
            ("tx.tail_position", "Atomic<usize>", "", "", Some(QueueEnd)),
            ("list_head_count", "long", "", "", None),
            ("permits", "Atomic<usize>", "", "", Some(Budget)),
        ] {
            let write = |access, function: &str| WriteNames {
                access: Some(access),
                count: 1,
                functions: vec![function.to_owned()],
                ..WriteNames::default()
            };
            let mut writes =
                vec![write(Access::Add, adding), write(Access::CompareExchange, exchanging)];
            writes.retain(|write| !write.functions[0].is_empty());
            let (path, type_name) = (path.to_owned(), type_name.to_owned());
            let known = WordNames { path, type_name, object: String::new(), writes };
            assert_eq!(known.role(), expected, "{known:?}");
        }
    }
}
