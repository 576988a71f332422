//! The rules file: what is known of types and members, and what has to stay so.
//!
//! One format serves both the knowledge that comes with Tenure and that which users add. It is TOML.
//! A first part says what words *are*, as [`Role`]s; a second part says which *checks* have to pass.
//! `tenure layout FILE --rules my-rules.toml` reads the first part, `--check my-rules.toml` both.
//!
//! ```
//! use tenure_layout::rules::Rules;
//!
//! let text = r#"
//!     ## What a value of a type is, wherever it lies. Its own members are then not looked at.
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
//! "#;
//! let rules = Rules::parse(text, "my-rules.toml")?;
//! assert_eq!(rules.checks().len(), 3);
//! # Ok::<(), tenure_layout::Error>(())
//! ```
//!
//! # Patterns
//!
//! In every name `*` stands for any letters, also for none; there are no other special ones. Names
//! are spelled as the debugging information has them, with their paths and parameters and without
//! `struct`: `std::atomic<int>`, `core::sync::atomic::AtomicUsize`, `dst_entry`. A type that is
//! known by a `typedef` only has that name.
//!
//! In `TYPE.MEMBER` the type ends at the first dot outside brackets. `MEMBER` may be a path:
//! `rtable.dst.__refcnt` leads through the embedded `dst`, and `pool.shards.lock` through every
//! element of the array `shards`. Anonymous structs and unions and base classes are not spelled:
//! their members are those of the type around them. What is said of a member at the end of a path is
//! said of it wherever its type is embedded.
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
//! | `plain` | nothing to be said, and nothing to look for inside: takes back what a rule that comes with Tenure says |
//!
//! # Which rule wins
//!
//! 1. A rule of yours wins over all that come with Tenure.
//! 2. Among these, what is said of a member wins over what is said of its type, that over what is
//!    said of the cacheline group it lies in, and that over what is said of what it points to. Of a
//!    variable: its name, its section, its type.
//! 3. Among these, the pattern with fewer stars wins, then the one with more letters, then the later
//!    one.
//! 4. Where a type has several names, the outermost one that a rule knows wins: a rule for `spinlock_t`
//!    wins over a rule for `spinlock`, the struct behind it. An array is what its elements are.
//!
//! `const` members are read mostly and `_Atomic` ones are atomic without a rule.
//!
//! # Checks
//!
//! Each names its types with `type`: a pattern or a list of patterns. If several types have the name
//! each of them is checked; **if a pattern of a check finds no type or no member, the check
//! fails**. (For a member that has another name in another version write a pattern that fits both, such
//! as `__r*` for `__refcnt` and `__rcuref`: each name of a list has to be there.)
//!
//! Lines are counted from the start of the type, as if it began on one. If its alignment does not make
//! sure of that, `any_placement = true` makes a check hold for every place where the alignment lets it
//! begin.
//!
//! | check | keys | passes if |
//! |---|---|---|
//! | `[[apart]]` | `member`, `from` | no member of the first shares a line with one of the second |
//! | `[[group]]` | `name`, `members`, `lines` or `bytes` or both | the members take up no more than so many lines, and from the first to the last no more than so many bytes |
//! | `[[within]]` | `group`, `member` | each member lies between the begin and the end of the group |
//!
//! A group without `members` is what lies between the kernel's markers
//! `__cacheline_group_begin__NAME` and `__cacheline_group_end__NAME`. So `[[within]]` is the kernel's
//! `CACHELINE_ASSERT_GROUP_MEMBER`, and `[[group]]` with `bytes` its `CACHELINE_ASSERT_GROUP_SIZE`. The
//! group of a `[[within]]` may also be a `[[group]]` of the same file with the same `type`: it goes from
//! its first to its last member.
//!
//! # The kernel's access tables
//!
//! `Documentation/networking/net_cachelines/*.rst` has a row for each member with the columns type,
//! name, fastpath_tx_access, fastpath_rx_access and a comment. Each access is `read_mostly`,
//! `read_write`, or empty where that path does not touch the member:
//!
//! | tx, rx | rule |
//! |---|---|
//! | `read_mostly` in one or both, no `read_write` | `"TYPE.NAME" = "read_mostly"` |
//! | `read_write` in one or both | `"TYPE.NAME" = "written"` **if several CPUs do so at a time**; no rule if whoever writes it owns the object then, as the user of a `tcp_sock` does |
//! | both empty | no rule, or `"TYPE.NAME" = "cold"` if its neighbours should be seen to be free to move there |
//!
//! These rows of `tcp_sock.rst`
//!
//! ```text
//! Type      Name            fastpath_tx_access  fastpath_rx_access  Comments
//! u32       max_window      read_mostly                             tcp_bound_to_half_wnd(tx),forced_push(tx)
//! u32       lost_out        read_mostly         read_mostly         tcp_left_out(tx,rx)
//! u32       write_seq       read_write                              tcp_rate_check_app_limited,...
//! u32       compressed_ack_rcv_nxt
//! ```
//!
//! become
//!
//! ```
//! # use tenure_layout::{find::Role, rules::Rules};
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
//! assert_eq!(rules.len(), 3);
//! # Ok::<(), tenure_layout::Error>(())
//! ```
//!
//! [`Role`]: crate::find::Role

mod checks;
mod glob;
mod parse;
mod path;

use std::io::Read;
use std::path::Path as FilePath;
use std::sync::Arc;

pub(crate) use parse::closest;

pub use checks::{Apart, CheckRule, Group, Within};
pub use glob::Glob;
pub use path::{MemberPattern, Path, Place};

pub(crate) use checks::counted;
pub(crate) use glob::{Specificity, letters_of};
pub(crate) use path::Elements;

use crate::Error;
use crate::find::Role;

/// The most bytes of a rules file.
const MOST_BYTES: u64 = 4 << 20;

/// The contents of a rules file: see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    file: Arc<str>,
    pub(crate) types: Vec<(Glob, Role)>,
    pub(crate) pointers: Vec<(Glob, Role)>,
    pub(crate) members: Vec<(MemberPattern, Role)>,
    pub(crate) atomics: Vec<(AtomicPattern, Role)>,
    pub(crate) cacheline_groups: Vec<(Glob, Role)>,
    pub(crate) statics: Vec<(Glob, Role)>,
    pub(crate) sections: Vec<(Glob, Role)>,
    checks: Vec<CheckRule>,
}

/// Which atomic words a rule of `[atomics]` speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AtomicPattern {
    /// Members and variables of that name.
    Name(Glob),
    /// A member.
    Member(MemberPattern),
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
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let shown = path.display();
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Error::new(format!("{shown} has more than {MOST_BYTES} bytes")));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::new(format!("{shown} is not a rules file: it is not UTF-8")))?;
        Self::parse(&text, &shown.to_string())
    }

    /// Reads the text of a rules file; `file` is what errors call it.
    ///
    /// # Errors
    ///
    /// One line with the file, the line, the column, and what is wrong: not TOML; a key, a role or a
    /// value that does not belong there, with what does; a pattern that names no type or member.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        parse::rules(text, file)
    }

    /// Without rules.
    pub(crate) fn none(file: &str) -> Self {
        Self {
            file: file.into(),
            types: Vec::new(),
            pointers: Vec::new(),
            members: Vec::new(),
            atomics: Vec::new(),
            cacheline_groups: Vec::new(),
            statics: Vec::new(),
            sections: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Adds what another file says, as if it stood at the end of this one.
    pub(crate) fn append(&mut self, other: Self) {
        self.types.extend(other.types);
        self.pointers.extend(other.pointers);
        self.members.extend(other.members);
        self.atomics.extend(other.atomics);
        self.cacheline_groups.extend(other.cacheline_groups);
        self.statics.extend(other.statics);
        self.sections.extend(other.sections);
        self.checks.extend(other.checks);
    }

    /// What errors call the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The checks, in the order of the file.
    #[must_use]
    pub fn checks(&self) -> &[CheckRule] {
        &self.checks
    }

    /// How many rules there are, checks not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.len()
            + self.pointers.len()
            + self.members.len()
            + self.atomics.len()
            + self.cacheline_groups.len()
            + self.statics.len()
            + self.sections.len()
    }

    /// Whether there are no rules; there may be checks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
