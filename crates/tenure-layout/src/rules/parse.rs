//! From TOML to rules, with errors that say where and what instead.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::checks::{Assertion, CheckRule};
use super::glob::Glob;
use super::path::{MemberPath, MemberPattern};
use super::{NAMED_TABLES, Rules, SuppressedTypes, WordPattern};
use crate::Error;
use tenure_model::Role;

const TABLES: [&str; 11] = [
    "types",
    "pointers",
    "members",
    "atomics",
    "cacheline_groups",
    "statics",
    "sections",
    "apart",
    "group",
    "within",
    "suppress",
];

const ROLES: [(&str, Role); 8] = [
    ("count", Role::Count),
    ("lock", Role::Lock),
    ("sequence", Role::Sequence),
    ("atomic", Role::Atomic),
    ("written", Role::Written),
    ("read_mostly", Role::ReadMostly),
    ("cold", Role::Cold),
    ("plain", Role::Plain),
];

struct RuleError {
    at: usize,
    what: String,
}

type Result<T> = std::result::Result<T, RuleError>;

fn wrong<T>(at: usize, what: impl Into<String>) -> Result<T> {
    Err(RuleError { at, what: what.into() })
}

pub(super) fn rules(text: &str, file: &str) -> std::result::Result<Rules, Error> {
    let parsed = DeTable::parse(text).map_err(|error| RuleError {
        at: error.span().map_or(0, |span| span.start),
        what: error.message().lines().collect::<Vec<_>>().join(", "),
    });
    parsed.and_then(|table| of_table(table.get_ref())).map_err(|wrong| {
        let (line, column) = position(text, wrong.at);
        Error::new(format!("{file}:{line}:{column}: {}", wrong.what))
    })
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}

fn of_table(table: &DeTable<'_>) -> Result<Rules> {
    let mut rules = Rules::default();
    let mut checks = Vec::new();
    for (key, value) in table {
        match &**key.get_ref() {
            "members" => {
                rules.members = in_order(value, |text| {
                    let member = MemberPattern::parse(text)?;
                    // The same for every type: looked up by the member's name alone.
                    let name = member.path.single().filter(|_| member.ty.is_any()).cloned();
                    Ok(name.map_or(WordPattern::Member(member), WordPattern::Name))
                })?;
            }
            "atomics" => {
                rules.atomics = in_order(value, |text| {
                    // A name has a dot only where it is TYPE.MEMBER; std::atomic<T>::x has none.
                    Ok(match text.contains('.') {
                        true => WordPattern::Member(MemberPattern::parse(text)?),
                        false => WordPattern::Name(Glob::new(text)),
                    })
                })?;
            }
            kind @ ("apart" | "group" | "within") => {
                for (at, entry) in entries(kind, key.span().start, value)? {
                    checks.push((at, check(kind, at, entry)?));
                }
            }
            "suppress" => {
                for (at, entry) in entries("suppress", key.span().start, value)? {
                    let keys = Keys { kind: "suppress", at, table: entry };
                    keys.only(&["type", "reason"])?;
                    let types = keys.required("type", |text| Ok(Glob::new(text)))?;
                    rules.suppressed.push(SuppressedTypes { types, reason: keys.word("reason")? });
                }
            }
            other => match NAMED_TABLES.iter().position(|name| *name == other) {
                Some(table) => rules.named[table] = globs(value)?,
                None => return unknown_key(key.span().start, other, "table", &TABLES),
            },
        }
    }
    checks.sort_by_key(|(at, _)| *at);
    rules.checks = checks.into_iter().map(|(_, check)| check).collect();
    find_groups(&mut rules.checks);
    Ok(rules)
}

/// Gives each [`Assertion::Within`] the members of its group.
fn find_groups(checks: &mut [CheckRule]) {
    let groups = checks.to_vec();
    for check in checks {
        let Assertion::Within { group: wanted, of } = &mut check.claim else { continue };
        let is_it = |other: &&CheckRule| {
            matches!(&other.claim, Assertion::Fits { group, .. } if group == wanted)
                && other.types == check.types
        };
        if let Some(found) = groups.iter().find(is_it) {
            of.clone_from(&found.members);
        }
    }
}

fn globs(table: &Spanned<DeValue<'_>>) -> Result<Vec<(Glob, Role)>> {
    in_order(table, |text| match text.is_empty() {
        true => Err("an empty name".to_owned()),
        false => Ok(Glob::new(text)),
    })
}

/// A table of roles in the file's order. Nested tables make longer names: `[members.a]` with `b` is `a.b`.
fn in_order<P>(
    table: &Spanned<DeValue<'_>>,
    pattern: impl Fn(&str) -> std::result::Result<P, String>,
) -> Result<Vec<(P, Role)>> {
    let mut entries = Vec::new();
    flatten("", table, &mut entries)?;
    entries.sort_by_key(|(at, ..)| *at);
    let read = |(at, name, role): (usize, String, Role)| match pattern(&name) {
        Ok(pattern) => Ok((pattern, role)),
        Err(what) => wrong(at, what),
    };
    entries.into_iter().map(read).collect()
}

/// The TOML parser bounds the recursion.
fn flatten(
    prefix: &str,
    table: &Spanned<DeValue<'_>>,
    entries: &mut Vec<(usize, String, Role)>,
) -> Result<()> {
    let DeValue::Table(of) = table.get_ref() else {
        return wrong(table.span().start, "write a table of NAME = \"ROLE\"");
    };
    for (key, value) in of {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(_) => flatten(&format!("{name}."), value, entries)?,
            DeValue::String(word) => {
                entries.push((key.span().start, name, role(value.span().start, word)?));
            }
            _ => return wrong(value.span().start, format!("a role is {}", words(&names()))),
        }
    }
    Ok(())
}

fn names() -> [&'static str; 8] {
    ROLES.map(|(name, _)| name)
}

fn role(at: usize, word: &str) -> Result<Role> {
    match ROLES.iter().find(|(name, _)| *name == word) {
        Some((_, role)) => Ok(*role),
        None => unknown_key(at, word, "role", &names()),
    }
}

/// The message lists the allowed words, the closest first.
fn unknown_key<T>(at: usize, word: &str, what: &str, allowed: &[&str]) -> Result<T> {
    let word: String = word.chars().take(60).collect();
    let meant = meant(&word, allowed.iter().copied());
    wrong(at, format!("unknown {what} `{word}`{meant} (there are {})", words(allowed)))
}

/// A guess at what a misspelled name means: a suffix for a message.
pub(crate) fn meant<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let closest = closest(word, names);
    closest.map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

pub(crate) fn closest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.len();
    names
        // Names of other lengths cannot be that close.
        .filter(|name| name.len().abs_diff(letters) <= letters / 3 + 1)
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, _)| *distance <= letters / 3 + 1 && *distance < letters.max(1))
        .min()
        .map(|(_, name)| name)
}

fn words(all: &[&str]) -> String {
    all.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

struct Keys<'a, 'i> {
    kind: &'a str,
    at: usize,
    table: &'a DeTable<'i>,
}

/// The tables of `[[kind]]`, with where each begins.
fn entries<'t, 'i>(
    kind: &str,
    at: usize,
    value: &'t Spanned<DeValue<'i>>,
) -> Result<Vec<(usize, &'t DeTable<'i>)>> {
    let DeValue::Array(entries) = value.get_ref() else {
        return wrong(at, format!("write [[{kind}]]: there may be many"));
    };
    let entry = |entry: &'t Spanned<DeValue<'i>>| match entry.get_ref() {
        DeValue::Table(table) => Ok((entry.span().start, table)),
        _ => wrong(entry.span().start, format!("write [[{kind}]] and keys below it")),
    };
    entries.iter().map(entry).collect()
}

fn check(kind: &str, at: usize, table: &DeTable<'_>) -> Result<CheckRule> {
    let keys = Keys { kind, at, table };
    let (allowed, members): (&[&str], _) = match kind {
        "apart" => (&["type", "member", "from", "any_placement"], "member"),
        "group" => (&["type", "name", "members", "lines", "bytes", "any_placement"], "members"),
        _ => (&["type", "group", "member"], "member"),
    };
    keys.only(allowed)?;
    let limits = (keys.number("lines")?, keys.number("bytes")?);
    if kind == "group" && limits == (None, None) {
        return wrong(at, "[[group]] needs `lines` or `bytes`: how many it may take");
    }
    Ok(CheckRule {
        types: keys.required("type", |text| Ok(Glob::new(text)))?,
        claim: match kind {
            "apart" => Assertion::Apart { from: keys.required("from", MemberPath::parse)? },
            "group" => {
                Assertion::Fits { group: keys.word("name")?, lines: limits.0, bytes: limits.1 }
            }
            _ => Assertion::Within { group: keys.word("group")?, of: Vec::new() },
        },
        members: match kind {
            "group" => keys.list(members, MemberPath::parse)?.unwrap_or_default(),
            _ => keys.required(members, MemberPath::parse)?,
        },
        any_placement: keys.boolean("any_placement")?,
    })
}

impl<'a, 'i> Keys<'a, 'i> {
    fn only(&self, allowed: &[&str]) -> Result<()> {
        let unknown = self.table.keys().find(|key| !allowed.contains(&&**key.get_ref()));
        match unknown {
            None => Ok(()),
            Some(key) => {
                let what = format!("key of [[{}]]", self.kind);
                unknown_key(key.span().start, key.get_ref(), &what, allowed)
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
        let found = self.table.iter().find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| value)
    }

    fn missing<T>(&self, key: &str) -> Result<T> {
        wrong(self.at, format!("[[{}]] needs `{key}`", self.kind))
    }

    fn word(&self, key: &str) -> Result<String> {
        match self.get(key) {
            None => self.missing(key),
            Some(value) => match value.get_ref() {
                DeValue::String(word) if !word.is_empty() => Ok(word.to_string()),
                _ => wrong(value.span().start, format!("`{key}` is a name in quotes")),
            },
        }
    }

    fn required<P>(
        &self,
        key: &str,
        read: impl Fn(&str) -> std::result::Result<P, String>,
    ) -> Result<Vec<P>> {
        match self.list(key, read)? {
            Some(list) => Ok(list),
            None => self.missing(key),
        }
    }

    fn list<P>(
        &self,
        key: &str,
        read: impl Fn(&str) -> std::result::Result<P, String>,
    ) -> Result<Option<Vec<P>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(word) if !word.is_empty() => {
                read(word).or_else(|what| wrong(value.span().start, what))
            }
            _ => wrong(value.span().start, format!("`{key}` is a name or a list of names")),
        };
        match value.get_ref() {
            DeValue::Array(list) if list.is_empty() => {
                wrong(value.span().start, format!("`{key}` is an empty list"))
            }
            DeValue::Array(list) => list.iter().map(one).collect::<Result<_>>().map(Some),
            _ => Ok(Some(vec![one(value)?])),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number {
            Some(1..) => Ok(number),
            _ => wrong(value.span().start, format!("`{key}` is a number from 1")),
        }
    }

    fn boolean(&self, key: &str) -> Result<bool> {
        match self.get(key).map(|value| (value.get_ref(), value.span().start)) {
            None => Ok(false),
            Some((DeValue::Boolean(yes), _)) => Ok(*yes),
            Some((_, at)) => wrong(at, format!("`{key}` is true or false")),
        }
    }
}
