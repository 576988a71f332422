//! What mends neighbours that no type holds: elements of an array, and variables.
//!
//! What comes next follows right behind, so aligning a word keeps off only what lies in front of it. A struct that is aligned to a
//! line takes whole lines.

use super::words::listed;
use crate::lines::Layouts;
use crate::sharing::{Array, Found, Site};
use tenure_find::Repair;
use tenure_report::words::counted;
use tenure_types::model::{Declared, Format, TypeId};

/// The name by which a run calls this repair too.
const APART: &str = "apart";

/// Lines of their own for the elements or variables of a finding. Members of a type are for [`suggest`](super::suggest).
pub(crate) fn apart(layouts: &Layouts<'_>, found: &Found) -> Option<Repair> {
    match found.site {
        Site::Type { .. } => None,
        Site::Elements { array, element, stride, count } => {
            elements(layouts, found, (array, element), (stride, count))
        }
        Site::Statics { index } => variables(layouts, found, index),
    }
}

fn elements(
    layouts: &Layouts<'_>,
    found: &Found,
    (array, element): (Array, TypeId),
    (stride, count): (u64, u64),
) -> Option<Repair> {
    let (model, line) = (layouts.model, layouts.line_bytes);
    let padded = stride.checked_next_multiple_of(line)?;
    if padded == stride {
        let text = format!(
            "Align the array to {line} bytes: its elements of {stride} then have lines of their own."
        );
        return Some(repair(text, None, 0));
    }
    let (many, bytes) = match count {
        0 => (String::new(), padded - stride),
        _ => (format!("{} of ", whole(count)), (padded - stride).saturating_mul(count)),
    };
    let cost = bytes_of(bytes) + if count == 0 { " each" } else { " in all" };
    // A number or a lock has no type of its own that could be aligned.
    let (what, code) = if found.word.is_whole() {
        let (name, declared) = match array {
            Array::Static(index) => {
                let variable = &model.statics()[index];
                (format!(" {}", variable.name), variable.declared.as_ref())
            }
            Array::Member { owner, .. } => (String::new(), model[owner].declared.as_ref()),
            Array::Pointed => (String::new(), model[element].declared.as_ref()),
        };
        let number = if count == 0 { String::new() } else { format!("{count}") };
        let code = match language(layouts, declared) {
            Some(Language::C) => Some(format!("{}{name}[{number}];", in_struct(line))),
            Some(Language::Rust) => Some(format!("[tenure::line::Isolated<…>; {number}]")),
            None => None,
        };
        ("Give each element".to_owned() + its_lines(padded, line), code)
    } else {
        (format!("Align `{}` to {line} bytes", layouts.spelled(element)), None)
    };
    let text = format!("{what}: {many}{padded} bytes in place of {stride}, {cost}.");
    Some(repair(text, code, bytes))
}

fn variables(layouts: &Layouts<'_>, found: &Found, index: usize) -> Option<Repair> {
    let (model, line) = (layouts.model, layouts.line_bytes);
    let contended = found.victims.iter().filter(|victim| victim.leaf.role.is_contended());
    let mut all = vec![index];
    for other in contended.map(|victim| victim.variable) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    let (mut bytes, mut names) = (0_u64, Vec::new());
    for variable in all.iter().map(|at| &model.statics()[*at]) {
        let size = layouts.size_of(variable.ty);
        // What lies in front leaves a gap.
        let gap = line - model[model.resolved(variable.ty)].align.clamp(1, line);
        bytes = bytes.checked_add(size.checked_next_multiple_of(line)? - size + gap)?;
        names.push(variable.name.to_string());
    }
    let variable = &model.statics()[index];
    let its = match names.len() {
        1 => its_lines(layouts.size_of(variable.ty), line),
        _ => " lines of their own",
    };
    let text = format!("Give {}{its}: {} at most.", listed(&names), bytes_of(bytes));
    let code = language(layouts, variable.declared.as_ref()).map(|language| match language {
        Language::C => format!("{} {};", in_struct(line), variable.name),
        Language::Rust => format!("static {}: tenure::line::Isolated<…>", variable.name),
    });
    Some(repair(text, code, bytes))
}

fn repair(text: String, code: Option<String>, bytes: u64) -> Repair {
    let code = code.into_iter().collect();
    Repair { name: APART.to_owned(), text, code, bytes, per_thread: false }
}

fn its_lines(size: u64, line: u64) -> &'static str {
    if size <= line { " a line of its own" } else { " lines of its own" }
}

fn in_struct(line: u64) -> String {
    format!("struct {{ … }} __attribute__((aligned({line})))")
}

fn whole(number: u64) -> String {
    tenure_report::words::grouped(&number.to_string())
}

fn bytes_of(bytes: u64) -> String {
    format!("+{}", counted(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"))
}

enum Language {
    C,
    Rust,
}

/// None where the debugging information does not tell.
fn language(layouts: &Layouts<'_>, declared: Option<&Declared>) -> Option<Language> {
    match declared {
        Some(at) if at.file.ends_with(".rs") => Some(Language::Rust),
        Some(_) => Some(Language::C),
        None => (layouts.model.format() == Format::Btf).then_some(Language::C),
    }
}
