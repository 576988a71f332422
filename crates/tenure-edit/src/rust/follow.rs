//! From the compiler's messages to edits: each error to the rule of its change.

use super::count::{self, Count};
use super::diagnostic::{self, Diagnostic};
use super::place::{Mentions, declarations};
use super::source::RustSource;
use super::stand_in::{StandIn, line_before};
use super::uses::{self, ErrorSite};
use crate::{EditOptions, Refusal, SourceChange, SourcePlace};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use tenure_model::SourceEdit;

/// What the first edits were made of.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The text of the place's file, before any edit.
    pub before: &'a str,
    /// The change.
    pub change: &'a SourceChange,
    /// Its place, in that text.
    pub place: &'a SourcePlace,
    /// How edits are written.
    pub options: &'a EditOptions,
}

/// The edits that the compiler's errors ask for, after [`edits`](super::edits) or an earlier call. None are left to make if
/// there is no error.
///
/// `messages` is what `cargo build --message-format=json` or `rustc --error-format=json` printed. `read` gives the text, as
/// it is now, of a file that the messages name: one that may be edited, so none of the standard library or of a registry.
/// The edits' files are named as in the messages. Where nothing but warnings is left, imports that a count no longer needs
/// are removed.
///
/// # Errors
///
/// A [`Refusal`] if nothing can be edited for an error, with the compiler's words.
pub fn follow_up(
    asked: &Asked<'_>,
    messages: &str,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Vec<SourceEdit>, Refusal> {
    let messages = diagnostic::parse(messages);
    let counts = matches!(asked.change, SourceChange::CountPerThread { .. });
    let is_asked =
        |message: &&Diagnostic| message.is_error() || counts && message.code() == "unused_imports";
    let errors: Vec<&Diagnostic> = messages.iter().filter(is_asked).collect();
    let texts = texts(&errors, read);
    let mut sources = BTreeMap::new();
    for (name, text) in &texts {
        if let Ok(source) = RustSource::parse(Path::new(name), text) {
            sources.insert(name.as_str(), source);
        }
    }
    let before = RustSource::parse(&asked.place.file, asked.before)?;
    let is_known = |name: &str| sources.contains_key(name);
    let mut edits = BTreeSet::new();
    let mut refused = None;
    for error in errors {
        let span = error.primary().map(|span| span.in_file(&is_known));
        let here = span.is_some_and(|span| is_same(&asked.place.file, Path::new(&span.file_name)));
        let site = span.and_then(|span| {
            let source = sources.get(span.file_name.as_str())?;
            Some(ErrorSite { source, error, range: span.range(), here })
        });
        let found = match site {
            Some(site) => fix(asked, &before, &site).map_err(|mut refusal| {
                if here {
                    let line = line_before(asked.before, site.source.text, refusal.place.line);
                    refusal.place.line = line;
                }
                refusal
            })?,
            None => None,
        };
        match found {
            Some(found) => edits.extend(found),
            None if refused.is_none() && error.is_error() => {
                let place = span.map_or_else(
                    || asked.place.clone(),
                    |span| {
                        let text = texts.get(&span.file_name).filter(|_| here);
                        let line = text.map_or(span.line_start, |text| {
                            line_before(asked.before, text, span.line_start)
                        });
                        SourcePlace { file: (&span.file_name).into(), line }
                    },
                );
                let why = format!("it does not compile then: {}", error.message);
                refused = Some(Refusal { place, why });
            }
            None => {}
        }
    }
    match refused {
        // Other errors may come of these: they are seen again if they do not.
        Some(refusal) if edits.is_empty() => Err(refusal),
        _ => Ok(apart_from_each_other(edits)),
    }
}

fn texts(
    errors: &[&Diagnostic],
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for error in errors {
        for name in error.files() {
            if !texts.contains_key(name)
                && let Ok(text) = read(Path::new(name))
            {
                texts.insert(name.to_owned(), text);
            }
        }
    }
    texts
}

/// Whether two names are of one file: the compiler's may be relative to another directory.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.ends_with(other) || other.ends_with(one)
}

fn fix(
    asked: &Asked<'_>,
    before: &RustSource<'_>,
    site: &ErrorSite<'_>,
) -> Result<Option<Vec<SourceEdit>>, Refusal> {
    let all = declarations(before);
    let written = |stand_in: StandIn| {
        if site.here { stand_in.in_file(site.source) } else { stand_in }
    };
    match asked.change {
        SourceChange::MembersApart { .. } | SourceChange::VariablesApart { .. } => {
            let names = asked.change.names();
            let found = match (asked.change, names.first()) {
                (SourceChange::VariablesApart { .. }, Some(name)) => {
                    all.static_at(asked.place, name)?
                }
                _ => all.type_at(asked.place, &names)?,
            };
            let (padded, _) = StandIn::padding(before, &found.scope, asked.options);
            Ok(uses::fix(site, &written(padded), &Mentions(&names)))
        }
        SourceChange::CountPerThread { name } => {
            if site.error.code() == "unused_imports" {
                return Ok(unused_imports(site));
            }
            let found = count::declaration(&all, before, name, asked.place)?;
            let mut count = Count::of(before, found, name, asked.options)?;
            count.stand_in = written(count.stand_in);
            count::fix(site, &count, name)
        }
        _ => Ok(None),
    }
}

/// Imports of atomics that nothing in the file needs any more.
fn unused_imports(site: &ErrorSite<'_>) -> Option<Vec<SourceEdit>> {
    let names = site.error.message.split('`').skip(1).step_by(2);
    for name in names {
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_word = |(at, _): &(usize, &str)| {
            let beside = |text: Option<char>| text.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !beside(site.source.text[..*at].chars().next_back())
                && !beside(site.source.text[at + last.len()..].chars().next())
        };
        // Those of a type that this change wrote have their whole path.
        let is_used =
            |(at, _): &(usize, &str)| !site.source.text[..*at].ends_with("core::sync::atomic::");
        let words = site.source.text.match_indices(last).filter(is_word).filter(is_used);
        let is_atomic = name.contains("Atomic")
            || name.contains("atomic")
            || ["Ordering", "Relaxed", "Acquire", "Release", "SeqCst", "AcqRel"].contains(&last);
        if !is_atomic || words.count() > 1 {
            return None;
        }
    }
    let removed = site.error.suggestions().map(|span| site.source.replace(span.range(), ""));
    Some(removed.collect::<Vec<_>>()).filter(|removed| !removed.is_empty())
}

/// Of edits that overlap, the first: the compiler asks for the others again.
fn apart_from_each_other(edits: BTreeSet<SourceEdit>) -> Vec<SourceEdit> {
    let mut kept: Vec<SourceEdit> = Vec::new();
    for edit in edits {
        let overlaps =
            kept.last().is_some_and(|last| last.file == edit.file && edit.range[0] < last.range[1]);
        if !overlaps {
            kept.push(edit);
        }
    }
    kept
}
