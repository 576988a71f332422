//! What a repair says to write: in the program's language, with the member's name and type, or nothing.

use tenure_model::{Finding, Language, Repair, Role, Sharing};

/// The library is of use to Rust only. C and C++ can align what has to lie apart. Where the language is another, or not
/// known, what the repair does is said in words alone.
pub(super) fn translate(repairs: &mut [Repair], finding: &Finding, line_bytes: u32) {
    let words = finding.words().into_iter().flat_map(|word| &word.uses);
    let lines: Vec<&str> =
        words.filter_map(|it| it.code.as_ref()).filter_map(|code| code.line.as_deref()).collect();
    let language = language(&lines);
    let place = Place::of(finding);
    for repair in repairs {
        let place = place.as_ref().filter(|_| repair.name.contains("apart"));
        match (language, place) {
            (Some(Language::Rust), _) => {
                // What the simulator says is an example of a member.
                let is_example =
                    |line: &str| line.starts_with("refs: Iso") || line.starts_with("limits: Iso");
                match place {
                    Some(place) => {
                        let examples = repair.code.iter_mut().filter(|line| is_example(line));
                        examples.for_each(|line| *line = place.isolated());
                    }
                    None if repair.name.contains("apart") => {
                        repair
                            .code
                            .retain(|line| !is_example(line) && !line.contains("::CachePadded"));
                    }
                    None => {}
                }
            }
            (Some(Language::C), Some(place)) => repair.code = vec![place.aligned(line_bytes)],
            _ => repair.code.clear(),
        }
    }
}

/// The language of code at these lines, which are `file:line`. Libraries that Rust calls do not make it another's.
fn language(lines: &[&str]) -> Option<Language> {
    let files = lines.iter().map(|line| line.split(':').next().unwrap_or_default());
    let all: Vec<_> = files.map(Language::of_file).collect();
    let has = |language| all.contains(&Some(language));
    // A file of a third language: none of the two is known to be the program's.
    [Language::Rust, Language::C].into_iter().find(|language| has(*language))
}

/// What lies on a line of its own once a repair is made.
#[derive(Debug)]
enum Place<'a> {
    /// A variable or member, and its type.
    Member(&'a str, &'a str),
    /// Each element of an array, which is a struct.
    Struct(&'a str),
    /// Each element of an array, which is a word.
    Word(&'a str),
}

impl<'a> Place<'a> {
    /// `None` if it has no name that can be written down.
    fn of(finding: &'a Finding) -> Option<Self> {
        let words = finding.words();
        if let Sharing::Elements { .. } = finding.sharing {
            let is_word = words.iter().all(|word| ["", "[n]"].contains(&word.path.as_str()));
            let name = &*finding.type_name;
            let place = if is_word { Self::Word(name) } else { Self::Struct(name) };
            return (!finding.type_name.is_empty()).then_some(place);
        }
        // A lock stays with what it guards.
        let word = words.iter().find(|word| word.role.is_contended() && word.role != Role::Lock)?;
        let member = word.path.rsplit('.').next().filter(|name| is_name(name))?;
        let type_name = Some(&word.type_name).filter(|name| !name.is_empty())?;
        Some(Self::Member(member, type_name))
    }

    /// The repair as Rust code.
    fn isolated(&self) -> String {
        match self {
            Self::Member(name, of) => {
                let of = plain(of);
                format!("{name}: CachePadded<{of}>, // in place of {of}")
            }
            Self::Struct(of) | Self::Word(of) => {
                let of = plain(of);
                format!("CachePadded<{of}> // as the array's element, in place of {of}")
            }
        }
    }

    /// The repair as C or C++ code.
    fn aligned(&self, line_bytes: u32) -> String {
        match self {
            Self::Member(name, of) => {
                format!("alignas({line_bytes}) {of} {name}; // align the next member, too")
            }
            Self::Struct(of) => format!("alignas({line_bytes}) // before the first member of {of}"),
            Self::Word(of) => {
                format!("struct {{ alignas({line_bytes}) {of} value; }} // as the array's element")
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |it: char| it.is_alphabetic() || it == '_';
    name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it.is_numeric())
}

/// A type as a program has it that has imported it: without modules.
fn plain(type_name: &str) -> String {
    let of_path = |it: char| it.is_alphanumeric() || it == '_' || it == ':';
    let mut plain = String::new();
    let mut rest = type_name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|it: char| !of_path(it)).unwrap_or(rest.len()).max(first.len_utf8());
        let (path, after) = rest.split_at(end);
        plain += path.rsplit("::").next().unwrap_or(path);
        rest = after;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_files_if_it_is_known() {
        use Language::{C, Rust};
        for (lines, expected) in [
            (&["src/main.rs:3", "malloc.c:10"][..], Some(Rust)),
            (&["thread.c:71"], Some(C)),
            (&["db/memtable.cc:20", "std_mutex.h:5"], Some(C)),
            (&["main.go:11"], None),
            (&["server.js:11"], None),
            // A program without debugging information.
            (&[], None),
        ] {
            assert_eq!(language(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_to_write_has_the_members_name_and_type_and_the_lines_size() {
        let of = plain("core::sync::atomic::Atomic<alloc::Key, [u64; 2]>");
        assert_eq!(of, "Atomic<Key, [u64; 2]>");
        for (place, isolated, aligned) in [
            (
                Place::Member("in_count", "unsigned int"),
                "in_count: CachePadded<unsigned int>, // in place of unsigned int",
                "alignas(128) unsigned int in_count; // align the next member, too",
            ),
            (
                Place::Struct("Worker"),
                "CachePadded<Worker> // as the array's element, in place of Worker",
                "alignas(128) // before the first member of Worker",
            ),
            (
                Place::Word("long"),
                "CachePadded<long> // as the array's element, in place of long",
                "struct { alignas(128) long value; } // as the array's element",
            ),
        ] {
            assert_eq!((&*place.isolated(), &*place.aligned(128)), (isolated, aligned));
        }
    }
}
