//! Declarations whose value has lines of its own, as code.
//!
//! Aligning a word keeps off only what precedes it, since the next word follows at once. A struct that is aligned to a line takes
//! whole lines.

use tenure_model::{Declaration, Language, Target, short_path};

/// Rust's struct that takes whole lines, around anything. `CachePadded` is larger where processors fetch lines in pairs: where the
/// bytes are said, it would have another price.
const LINE: &str = "Line<…>";

/// What to write in place of the declaration; nothing where that is not known.
pub(crate) fn on_lines_of_its_own(target: &Target) -> Vec<String> {
    let (Some(language), Some(declaration)) = (target.language, &target.declaration) else {
        return Vec::new();
    };
    match language {
        Language::C | Language::Cpp => in_c(target.line_bytes, declaration),
        Language::Rust => in_rust(target.line_bytes, declaration),
        Language::Go => in_go(target.line_bytes, declaration),
        Language::Java => in_java(declaration),
        Language::JavaScript => in_javascript(target.line_bytes, declaration),
    }
}

/// Go aligns nothing to a line: bytes before and after a word keep others off.
fn in_go(line_bytes: u64, declaration: &Declaration) -> Vec<String> {
    match declaration {
        Declaration::Member { name, type_name } => {
            vec![format!("_ [{line_bytes}]byte; {name} {type_name}; _ [{line_bytes}]byte")]
        }
        Declaration::Elements { .. } => {
            vec![format!("_ [{line_bytes}]byte // the last field of the element")]
        }
        Declaration::Words { type_name } => {
            vec![format!("[]struct {{ value {type_name}; _ [{line_bytes}]byte }}")]
        }
        Declaration::Variables { names } => {
            let padded =
                |name: &String| format!("var {name} struct {{ value …; _ [{line_bytes}]byte }}");
            names.iter().map(padded).collect()
        }
        Declaration::Array { .. } | Declaration::Boxed => Vec::new(),
    }
}

/// The virtual machine ignores the annotation outside the JDK unless the second line's options are set.
fn in_java(declaration: &Declaration) -> Vec<String> {
    match declaration {
        Declaration::Member { name, type_name } => vec![
            format!("@jdk.internal.vm.annotation.Contended {type_name} {name};"),
            "-XX:-RestrictContended --add-exports java.base/jdk.internal.vm.annotation=ALL-UNNAMED"
                .to_owned(),
        ],
        Declaration::Elements { .. } | Declaration::Words { .. } => {
            vec!["array[i << 4] // longs: 16 of them are two lines".to_owned()]
        }
        _ => Vec::new(),
    }
}

fn in_javascript(line_bytes: u64, declaration: &Declaration) -> Vec<String> {
    match declaration {
        Declaration::Elements { .. } | Declaration::Words { .. } => {
            vec![format!("const at = i => i * {}; // an Int32Array's index", line_bytes / 4)]
        }
        _ => Vec::new(),
    }
}

fn in_c(line_bytes: u64, declaration: &Declaration) -> Vec<String> {
    let in_struct = format!("struct {{ … }} __attribute__((aligned({line_bytes})))");
    match declaration {
        Declaration::Member { name, type_name } => {
            vec![format!("alignas({line_bytes}) {type_name} {name}; // align the next member, too")]
        }
        Declaration::Elements { type_name } => {
            vec![format!("alignas({line_bytes}) // before the first member of {type_name}")]
        }
        Declaration::Words { type_name } => vec![format!(
            "struct {{ alignas({line_bytes}) {type_name} value; }} // as the array's element"
        )],
        Declaration::Variables { names } => {
            names.iter().map(|name| format!("{in_struct} {name};")).collect()
        }
        Declaration::Array { name, counts, .. } if !name.is_empty() => {
            let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
            vec![format!("{in_struct} {name}{counts};")]
        }
        Declaration::Array { .. } | Declaration::Boxed => Vec::new(),
    }
}

fn in_rust(line_bytes: u64, declaration: &Declaration) -> Vec<String> {
    let line_struct = || format!("#[repr(align({line_bytes}))] struct Line<T>(T);");
    let import = || "use tenure::cache_line::CachePadded;".to_owned();
    match declaration {
        Declaration::Member { name, type_name } => {
            let of = short_path(type_name, 1);
            vec![import(), format!("{name}: CachePadded<{of}>, // in place of {of}")]
        }
        Declaration::Elements { type_name } | Declaration::Words { type_name } => {
            let of = short_path(type_name, 1);
            let element = format!("CachePadded<{of}> // as the array's element, in place of {of}");
            vec![import(), element]
        }
        Declaration::Variables { names } => {
            let variables = names.iter().map(|name| format!("static {name}: {LINE}"));
            std::iter::once(line_struct()).chain(variables).collect()
        }
        Declaration::Array { name, counts, is_variable } => {
            let array = |inner, count: &u64| format!("[{inner}; {count}]");
            let array = counts.iter().rev().fold(LINE.to_owned(), array);
            let code = match is_variable {
                true => format!("static {name}: {array}"),
                // A tuple's members have no names in Rust.
                false if name.is_empty() || name.starts_with("__") => array,
                false => format!("{name}: {array}"),
            };
            vec![line_struct(), code]
        }
        Declaration::Boxed => vec![line_struct(), format!("Box<[{LINE}]>")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_the_declarations_name_and_type_and_the_lines_size() {
        let names = vec!["HITS".to_owned(), "MISSES".to_owned()];
        let array = |name: &str, is_variable| Declaration::Array {
            name: name.to_owned(),
            counts: vec![4, 2],
            is_variable,
        };
        let line = "#[repr(align(128))] struct Line<T>(T);";
        let import = "use tenure::cache_line::CachePadded;";
        for (declaration, rust, c) in [
            (
                Declaration::Member { name: "hits".to_owned(), type_name: "std::u64".to_owned() },
                &[import, "hits: CachePadded<u64>, // in place of u64"][..],
                &["alignas(128) std::u64 hits; // align the next member, too"][..],
            ),
            (
                Declaration::Elements { type_name: "Worker".to_owned() },
                &[import, "CachePadded<Worker> // as the array's element, in place of Worker"],
                &["alignas(128) // before the first member of Worker"],
            ),
            (
                Declaration::Words { type_name: "long".to_owned() },
                &[import, "CachePadded<long> // as the array's element, in place of long"],
                &["struct { alignas(128) long value; } // as the array's element"],
            ),
            (
                Declaration::Variables { names },
                &[line, "static HITS: Line<…>", "static MISSES: Line<…>"],
                &[
                    "struct { … } __attribute__((aligned(128))) HITS;",
                    "struct { … } __attribute__((aligned(128))) MISSES;",
                ],
            ),
            (
                array("cells", true),
                &[line, "static cells: [[Line<…>; 2]; 4]"],
                &["struct { … } __attribute__((aligned(128))) cells[4][2];"],
            ),
            (
                array("cells", false),
                &[line, "cells: [[Line<…>; 2]; 4]"],
                &["struct { … } __attribute__((aligned(128))) cells[4][2];"],
            ),
            (array("", false), &[line, "[[Line<…>; 2]; 4]"], &[]),
            (Declaration::Boxed, &[line, "Box<[Line<…>]>"], &[]),
        ] {
            for (language, expected) in [(Language::Rust, rust), (Language::C, c)] {
                let declaration = Some(declaration.clone());
                let language = Some(language);
                let target = Target { language, line_bytes: 128, declaration, ..Target::default() };
                assert_eq!(on_lines_of_its_own(&target), expected, "{target:?}");
            }
        }
        let unknown = Target { declaration: Some(Declaration::Boxed), ..Target::default() };
        assert!(on_lines_of_its_own(&unknown).is_empty());
    }
}
