//! The rules file: knowledge of types and members, and checks.
//!
//! The built-in knowledge and users' rules share one TOML format. A first part says what words *are*, as [`Role`]s; a
//! second part says which *checks* have to pass. `tenure layout FILE --rules my-rules.toml` reads the first part,
//! `--check my-rules.toml` both.
//!
//! ```
//! use tenure_layout::rules::Rules;
//!
//! let text = r#"
//!     ## What a value of a type is, wherever it lies. Its own members then do not count.
//!     [types]
//!     "spinlock_t" = "lock"
//!     "std::atomic<*>" = "atomic"
//!     "callback_head" = "cold"
//!
//!     ## What a pointer is, by the type that it points to; `(function)` is any function.
//!     [pointers]
//!     "*_ops" = "read_mostly"
//!
//!     ## What a member is: TYPE.MEMBER.
//!     [members]
//!     "dst_entry.lwtstate" = "read_mostly"
//!     "*.__pad*" = "cold"
//!
//!     ## The same for several members of one type, which reads better. The quotes may go
//!     ## where names have only letters, digits, `_` and `-`.
//!     [members.rtable]
//!     rt_genid = "read_mostly"
//!     rt_flags = "read_mostly"
//!
//!     ## What an atomic word is whose type does not tell, by the name of the member or the
//!     ## variable, or by TYPE.MEMBER.
//!     [atomics]
//!     "*refcnt*" = "count"
//!     "net.passive" = "count"
//!
//!     ## What lies between the kernel's markers, by the name of the cacheline group.
//!     [cacheline_groups]
//!     "*_read_*" = "read_mostly"
//!
//!     ## What a variable is, by its name, and by the section that it lies in.
//!     [statics]
//!     "requests_served" = "written"
//!     [sections]
//!     ".data..read_mostly" = "read_mostly"
//!
//!     ## A check: these members must not share a line with those.
//!     [[apart]]
//!     type = "dst_entry"
//!     member = ["lwtstate", "error"]
//!     from = "__refcnt"
//!
//!     ## A check: these members take up no more than so many lines.
//!     [[group]]
//!     type = "rtable"
//!     name = "lookup"
//!     members = ["rt_genid", "rt_flags", "rt_type"]
//!     lines = 1
//!
//!     ## A check: these members lie in that group.
//!     [[within]]
//!     type = "tcp_sock"
//!     group = "tcp_sock_read_tx"
//!     member = ["max_window", "tsoffset"]
//!
//!     ## Types and variables of which nothing is reported: of the file given to --rules or --check.
//!     [[suppress]]
//!     type = "mutex_stats"
//!     reason = "debugging only"
//! "#;
//! let rules = Rules::parse(text, "my-rules.toml")?;
//! assert_eq!(rules.count(), 13);
//! # Ok::<(), tenure_layout::Error>(())
//! ```
//!
//! # Patterns
//!
//! In names `*` stands for any letters, also for none. Names are those of the debugging information, with paths and
//! parameters and without `struct`: `std::atomic<int>`, `dst_entry`; a type without a name has its `typedef`'s.
//!
//! In `TYPE.MEMBER` the type ends at the first dot outside brackets. `MEMBER` may be a path: `rtable.dst.__refcnt`
//! leads through the embedded `dst`, `pool.shards.lock` through every element of the array `shards`. Anonymous structs
//! and unions and base classes are not spelled. A rule for a member holds wherever its type is embedded.
//!
//! # Roles
//!
//! | word | meaning |
//! |---|---|
//! | `count` | a reference count: its neighbours are innocent readers |
//! | `lock` | a lock: it guards its neighbours |
//! | `sequence` | a sequence count: written by few, read before and after its neighbours by all |
//! | `atomic` | another atomic word |
//! | `written` | a plain word that many CPUs write |
//! | `read_mostly` | read often, written hardly ever |
//! | `cold` | used where time does not matter |
//! | `plain` | of no interest, also inside: takes back a built-in rule |
//!
//! # Which rule wins
//!
//! 1. Your rules win over the built-in ones.
//! 2. A rule for the member wins, then one for its type, its cacheline group, its pointee. For a variable: name,
//!    section, type.
//! 3. The pattern with fewer stars wins, then the one with more letters, then the later one.
//! 4. Of a type's several names, the outermost that a rule knows wins: `spinlock_t` over `spinlock`, the struct that
//!    it stands for. An array is what its elements are.
//!
//! Without a rule, `const` members are read mostly and `_Atomic` ones are atomic.
//!
//! # Checks
//!
//! `type` is a pattern or a list of patterns. Every matching type is checked; **a pattern that finds no type or no
//! member fails the check**. (A pattern such as `__r*` fits both `__refcnt` and `__rcuref`; each name of a list has to
//! be there.)
//!
//! Lines are counted from the start of the type. With `any_placement = true` the check has to hold wherever the type's
//! alignment lets it begin.
//!
//! | check | keys | passes if |
//! |---|---|---|
//! | `[[apart]]` | `member`, `from` | no member of the first shares a line with one of the second |
//! | `[[group]]` | `name`, `members`, `lines` or `bytes` or both | the members are on at most so many lines, and at most so many bytes from the first to the last |
//! | `[[within]]` | `group`, `member` | each member lies within the group |
//!
//! A group without `members` lies between the kernel's markers `__cacheline_group_begin__NAME` and
//! `__cacheline_group_end__NAME`: `[[within]]` is the kernel's `CACHELINE_ASSERT_GROUP_MEMBER`, and `[[group]]` with
//! `bytes` its `CACHELINE_ASSERT_GROUP_SIZE`. A `[[within]]` may also name a `[[group]]` of the same file and `type`.
//!
//! # The kernel's access tables
//!
//! `Documentation/networking/net_cachelines/*.rst` has a row for each member; the columns fastpath_tx_access and
//! fastpath_rx_access say `read_mostly`, `read_write`, or nothing if that path does not touch the member.
//!
//! | tx, rx | rule |
//! |---|---|
//! | `read_mostly` in one or both, no `read_write` | `"TYPE.NAME" = "read_mostly"` |
//! | `read_write` in one or both | `"TYPE.NAME" = "written"` **if several CPUs write it at a time**; no rule if the writer owns the object, as the user of a `tcp_sock` does |
//! | both empty | no rule, or `"TYPE.NAME" = "cold"` to let it move beside contended words |
//!
//! Of `tcp_sock.rst`, `max_window` (`read_mostly`, empty), `lost_out` (`read_mostly` twice), `write_seq` (`read_write`)
//! and `compressed_ack_rcv_nxt` (both empty) become
//!
//! ```
//! # use tenure_layout::rules::Rules;
//! let rules = Rules::parse(
//!     r#"
//!     [members.tcp_sock]
//!     max_window = "read_mostly"
//!     lost_out = "read_mostly"
//!     ## write_seq: written by the socket's owner alone
//!     compressed_ack_rcv_nxt = "cold"
//!     "#,
//!     "tcp_sock.toml",
//! )?;
//! assert_eq!(rules.count(), 3);
//! # Ok::<(), tenure_layout::Error>(())
//! ```
//!
//! [`Role`]: tenure_model::Role

mod checks;
mod glob;
mod parse;
mod path;

use std::io::Read;
use std::path::Path as FilePath;

pub(crate) use parse::{closest, meant};

pub(crate) use checks::{Assertion, CheckRule};
pub(crate) use glob::{Glob, Specificity, letters_of};
pub(crate) use path::{ElementScope, MemberPath, MemberPattern, MemberPlace};

use crate::Error;
use tenure_model::Role;

/// Bytes of a rules file: the largest built-in one has 12 thousand.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The tables whose patterns are single names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NamedTable {
    Types,
    Pointers,
    CachelineGroups,
    Statics,
    Sections,
}

/// Their names in a file.
const NAMED_TABLES: [&str; 5] = ["types", "pointers", "cacheline_groups", "statics", "sections"];

/// A rules file's contents: see the [module](self).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// The rules of each [`NamedTable`].
    pub(crate) named: [Vec<(Glob, Role)>; NAMED_TABLES.len()],
    pub(crate) members: Vec<(WordPattern, Role)>,
    pub(crate) atomics: Vec<(WordPattern, Role)>,
    /// The checks in the order of the file.
    pub(crate) checks: Vec<CheckRule>,
    pub(crate) suppressed: Vec<SuppressedTypes>,
}

/// Types and variables of which no finding is reported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SuppressedTypes {
    pub(crate) types: Vec<Glob>,
    /// The reason, for the reader of the file and of the report.
    pub(crate) reason: String,
}

/// Which members and variables a rule is for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WordPattern {
    /// Those of that name, of any type.
    Name(Glob),
    Member(MemberPattern),
}

impl WordPattern {
    pub(crate) fn specificity(&self) -> Specificity {
        match self {
            Self::Name(name) => Glob::new("*").specificity().and(name.specificity()),
            Self::Member(member) => member.specificity(),
        }
    }
}

impl Rules {
    /// Reads a rules file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or [`parse`](Self::parse) refuses it.
    pub fn read(path: &FilePath) -> Result<Self, Error> {
        let unreadable = |error| Error::unreadable(path, &error);
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let shown = path.display();
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::new(format!("{shown} has more than {MAX_FILE_BYTES} bytes")));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::new(format!("{shown} is not a rules file: it is not UTF-8")))?;
        Self::parse(&text, &shown.to_string())
    }

    /// Reads the text of a rules file, which errors call `file`.
    ///
    /// # Errors
    ///
    /// One line with the file, the line, the column, and what is wrong: not TOML; an unknown key, role or value, with
    /// the possible ones; a pattern that names no type or member.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        parse::rules(text, file)
    }

    /// Adds rules as if they stood at the end of this file.
    pub(crate) fn append(&mut self, other: Self) {
        let named = self.named.iter_mut().zip(other.named);
        named.for_each(|(rules, others)| rules.extend(others));
        self.members.extend(other.members);
        self.atomics.extend(other.atomics);
        self.checks.extend(other.checks);
        self.suppressed.extend(other.suppressed);
    }

    /// The number of rules, not of checks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.named.iter().map(Vec::len).sum::<usize>() + self.members.len() + self.atomics.len()
    }
}

#[cfg(test)]
mod tests;
