//! What a repair says to write, in the program's language.

use tenure_find::{Finding, Language, Repair};

/// The library is of use to Rust only. C and C++ can align what has to lie apart.
pub(super) fn translate(repairs: &mut [Repair], finding: &Finding) {
    let words = finding.words().into_iter().flat_map(|word| &word.uses);
    let lines: Vec<&str> =
        words.filter_map(|it| it.code.as_ref()).filter_map(|code| code.line.as_deref()).collect();
    for repair in repairs {
        if let Some(code) = elsewhere(&lines, &repair.name) {
            repair.code = code.map(str::to_owned).into_iter().collect();
        }
    }
}

/// For a repair of code at these lines, which are `file:line`; `None` if it may be Rust.
fn elsewhere(lines: &[&str], repair: &str) -> Option<Option<&'static str>> {
    let has = |language| {
        let mut files = lines.iter().map(|line| line.split(':').next().unwrap_or_default());
        files.any(|file| Language::of_file(file) == Some(language))
    };
    if lines.is_empty() || has(Language::Rust) {
        return None;
    }
    let has_alignment = has(Language::C) && repair.contains("apart");
    Some(has_alignment.then_some("alignas(64) long refs; // and what follows it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_write_is_in_the_programs_language() {
        let aligned = Some(Some("alignas(64) long refs; // and what follows it"));
        for (lines, repair, expected) in [
            (&["src/main.rs:3", "malloc.c:10"][..], "apart", None),
            (&[], "apart", None),
            (&["thread.c:71"], "apart", aligned),
            (&["db/memtable.cc:20", "std_mutex.h:5"], "apart + one_add", aligned),
            (&["thread.c:71"], "cells", Some(None)),
            (&["main.go:11"], "apart", Some(None)),
        ] {
            assert_eq!(elsewhere(lines, repair), expected, "{lines:?} {repair}");
        }
    }
}
