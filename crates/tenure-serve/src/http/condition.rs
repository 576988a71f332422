//! Conditional requests and ranges: the part of a file to send, in the order of RFC 9110, section 13.2.2.

use std::ops::Range;
use std::time::SystemTime;

use super::file::{File, Version};
use super::request::{Conditions, Field, Method};
use crate::number::unsigned;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    Part(Range<u64>),
    NotModified,
    Failed,
    /// Outside the file.
    NoSuchPart,
}

pub(super) fn wanted(method: Method, conditions: &Conditions<'_>, file: &File) -> Wanted {
    let Some(version) = &file.version else { return Wanted::All };
    // A date counts only where there are no tags.
    let unwanted = match (&conditions.if_match[..], conditions.if_unmodified_since.once()) {
        ([], Some(date)) => parse_date(date).is_some_and(|date| version.modified > date),
        ([], None) => false,
        (lists, _) => !has(lists, version, Comparison::Strong),
    };
    if unwanted {
        return Wanted::Failed;
    }
    let known = match (&conditions.if_none_match[..], conditions.if_modified_since.once()) {
        ([], Some(date)) => parse_date(date).is_some_and(|date| version.modified <= date),
        ([], None) => false,
        (lists, _) => has(lists, version, Comparison::Weak),
    };
    if known {
        return Wanted::NotModified;
    }
    let same = match conditions.if_range.once() {
        Some(tag) if tag.starts_with(b"\"") || tag.starts_with(b"W/") => {
            tag == version.tag.as_bytes()
        }
        Some(date) => parse_date(date) == Some(version.modified),
        // With two, neither can be trusted: the client might join parts of two versions.
        None => conditions.if_range == Field::Absent,
    };
    match conditions.range.once() {
        Some(text) if method == Method::Get && same => range(text, file.len),
        _ => Wanted::All,
    }
}

/// Our tags are strong: no weak one equals them strongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Whether a list of tags, over any number of lines, is `*` or has ours, which has no comma.
fn has(lines: &[&[u8]], version: &Version, comparison: Comparison) -> bool {
    let mut tags = lines.iter().flat_map(|line| line.split(|byte| *byte == b','));
    let is_ours = |tag: &[u8]| {
        let opaque = tag.strip_prefix(b"W/").filter(|_| comparison == Comparison::Weak);
        opaque.unwrap_or(tag) == version.tag.as_bytes()
    };
    lines.contains(&&b"*"[..]) || tags.any(|tag| is_ours(tag.trim_ascii()))
}

fn parse_date(text: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()
}

/// Only a single valid range counts.
fn range(text: &[u8], len: u64) -> Wanted {
    let Some((unit, text)) = split(text, b'=') else { return Wanted::All };
    let Some((first, last)) = split(text.trim_ascii(), b'-') else { return Wanted::All };
    let numbers = first.iter().chain(last).all(u8::is_ascii_digit);
    // A Content-Range cannot describe an empty file.
    if !unit.eq_ignore_ascii_case(b"bytes") || !numbers || len == 0 {
        return Wanted::All;
    }
    // Beyond any file.
    let number = |text| unsigned(text).unwrap_or(u64::MAX);
    let part = match (first, last) {
        (b"", b"") => return Wanted::All,
        (b"", last) => len.saturating_sub(number(last))..len,
        (first, b"") => number(first)..len,
        (first, last) if number(first) > number(last) => return Wanted::All,
        (first, last) => number(first)..number(last).saturating_add(1).min(len),
    };
    if part.is_empty() { Wanted::NoSuchPart } else { Wanted::Part(part) }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|byte| *byte == at)?;
    Some((&text[..position], &text[position + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_is_a_part_of_the_file_or_says_that_there_is_none() {
        use Wanted::{All, NoSuchPart, Part};
        for (text, wanted) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=2-4", Part(2..5)),
            ("BYTES= 2-4 ", Part(2..5)),
            ("bytes=2-", Part(2..10)),
            ("bytes=2-99", Part(2..10)),
            ("bytes=2-99999999999999999999", Part(2..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-99", Part(0..10)),
            ("bytes=-0", NoSuchPart),
            ("bytes=10-", NoSuchPart),
            ("bytes=99999999999999999999-", NoSuchPart),
            ("bytes=4-2", All),
            ("bytes=0-1,3-4", All),
            ("bytes=-", All),
            ("bytes=", All),
            ("bytes", All),
            ("bytes=a-b", All),
            ("bytes=1-+2", All),
            ("lines=1-2", All),
            ("", All),
        ] {
            assert_eq!(range(text.as_bytes(), 10), wanted, "{text}");
        }
        assert_eq!(range(b"bytes=0-", 0), All);
    }

    proptest! {
        #[test]
        fn a_part_is_never_empty_and_within_the_file(text in "(bytes=)?[0-9]{0,21}-[0-9]{0,21}", len: u64) {
            if let Wanted::Part(part) = range(text.as_bytes(), len) {
                prop_assert!(part.start < part.end && part.end <= len);
            }
        }
    }
}
