//! What a remedy says to do, and what to write.

use tenure_model::{Declaration, Finding, Language, Remedy, Repair, Role, Sharing, Target, Word};

use crate::{code, language};

/// Remedies that are made one after another, as a report has them. `bytes` is what they cost an object, or with `per_thread` a
/// thread.
#[must_use]
pub fn repair(remedies: &[Remedy], target: &Target, bytes: u64, per_thread: bool) -> Repair {
    let names: Vec<_> = remedies.iter().map(|remedy| remedy.name()).collect();
    let texts: Vec<_> = remedies.iter().map(|remedy| text(*remedy)).collect();
    Repair {
        name: names.join(" + "),
        remedies: remedies.to_vec(),
        target: target.clone(),
        brief: String::new(),
        text: texts.join(" "),
        code: remedies.iter().flat_map(|remedy| code(*remedy, target)).collect(),
        bytes,
        per_thread,
    }
}

/// What to do: a sentence.
#[must_use]
pub const fn text(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Apart => {
            "Give words that different threads write, and those that they only read, lines of their own."
        }
        Remedy::ReadMostlyApart => {
            "Move the words that are hardly ever written off the line of those that are."
        }
        Remedy::AddForLoop => {
            "Count by one fetch_add, which cannot fail, if the compare-exchange loop only adds or subtracts."
        }
        Remedy::AddForLock => {
            "Count by one fetch_add without the lock, if it guards nothing but a count."
        }
        Remedy::Cells => {
            "Count in a cell for each thread, and sum the cells when the count is read."
        }
        Remedy::Revocable => {
            "Let each thread keep its reference between uses, if it uses the same object again and again."
        }
        Remedy::ReadUnlocked => {
            "Read without the lock, if it guards a value that is only ever replaced as a whole."
        }
    }
}

/// The type of the library `tenure` that does it, which is of use to Rust only.
#[must_use]
pub const fn library(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Apart | Remedy::ReadMostlyApart | Remedy::AddForLock => {
            "tenure::cache_line::CachePadded"
        }
        Remedy::AddForLoop => "tenure::count::RcuRef",
        Remedy::Cells => "tenure::counter::Counter",
        Remedy::Revocable | Remedy::ReadUnlocked => "tenure::rcu::RcuCell",
    }
}

/// What to write: a line or two; nothing where the language has no such thing, or is not known.
#[must_use]
pub fn code(remedy: Remedy, target: &Target) -> Vec<String> {
    let lines: &[&str] = match remedy {
        Remedy::Apart | Remedy::ReadMostlyApart => return code::on_lines_of_its_own(target),
        _ if target.language != Some(Language::Rust) => &[],
        Remedy::AddForLoop => {
            &["use tenure::count::RcuRef;", "refs: RcuRef, // refs.get(), refs.put()"]
        }
        Remedy::AddForLock => &[
            "count: CachePadded<AtomicU64>, // in place of Mutex<u64>",
            "count.fetch_add(1, Relaxed);",
        ],
        Remedy::Cells => &[
            "use tenure::counter::Counter;",
            "served: Counter, // served.add(1), served.sum(); a Gauge, if it also falls",
        ],
        Remedy::Revocable | Remedy::ReadUnlocked => &[
            "let mut state = cell.reader(); // once per thread; cell: RcuCell<State>",
            "state.load() // no count, no lock; cell.store(new) replaces it",
        ],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The place in the source that repairs of a finding change. Its language is that of the code that uses the line.
#[must_use]
pub fn target(finding: &Finding, line_bytes: u64) -> Target {
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    let lines = uses.filter_map(|it| it.code.as_ref()).filter_map(|code| code.line.as_deref());
    Target { language: language::of_lines(lines), line_bytes, declaration: declaration(finding) }
}

/// What lies on a line of its own once a finding is fixed; `None` if it has no name that can be written down.
fn declaration(finding: &Finding) -> Option<Declaration> {
    let words = finding.words();
    if let Sharing::Elements { .. } = finding.sharing {
        let is_word = words.iter().all(|word| ["", "[n]"].contains(&word.path.as_str()));
        let type_name = Some(finding.type_name.clone()).filter(|name| !name.is_empty())?;
        return Some(match is_word {
            true => Declaration::Words { type_name },
            false => Declaration::Elements { type_name },
        });
    }
    // A lock stays with what it guards.
    let is_moved = |word: &&&Word| word.role.is_contended() && word.role != Role::Lock;
    let word = words.iter().find(is_moved)?;
    let name = word.path.rsplit('.').next().filter(|name| is_identifier(name))?.to_owned();
    let type_name = Some(word.type_name.clone()).filter(|name| !name.is_empty())?;
    Some(Declaration::Member { name, type_name })
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |it: char| it.is_alphabetic() || it == '_';
    name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_of_several_remedies_has_the_words_and_code_of_each() {
        let declaration =
            Declaration::Member { name: "hits".to_owned(), type_name: "u64".to_owned() };
        let target =
            |language| Target { language, line_bytes: 64, declaration: Some(declaration.clone()) };
        let of = |language| repair(&[Remedy::Cells, Remedy::Apart], &target(language), 64, true);
        let rust = of(Some(Language::Rust));
        assert_eq!((&*rust.name, rust.bytes, rust.per_thread), ("cells + apart", 64, true));
        assert!(rust.text.starts_with("Count in a cell") && rust.text.ends_with("of their own."));
        assert_eq!(rust.code.len(), 4);
        assert_eq!(rust.code[3], "hits: CachePadded<u64>, // in place of u64");
        // The library is Rust's alone.
        let c = of(Some(Language::C));
        assert_eq!(c.code, ["alignas(64) u64 hits; // align the next member, too"]);
        assert!(of(None).code.is_empty());
    }
}
