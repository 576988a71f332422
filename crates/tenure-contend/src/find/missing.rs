//! What a report has left out, and what would give it more: each a sentence.

use tenure_find::{Finding, Use};

use crate::record::Process;

/// Which part of the accesses to contended lines is to lines that change hands too seldom to be findings.
pub(super) fn too_rare(accesses: u64, of: u64) -> Option<String> {
    /// A smaller part is nothing that a reader would look for.
    const WORTH_SAYING: f64 = 0.1;
    let part = accesses as f64 / of.max(1) as f64;
    (part >= WORTH_SAYING).then(|| {
        format!(
            "{:.0} % of all accesses to contended lines went to lines that are left out: they could change hands fewer than \
             1,000 times, or fewer than 10,000 times a second of processor time.",
            100.0 * part
        )
    })
}

/// Whether any of the code that findings name has a line.
pub(super) fn have_lines<'a>(mut findings: impl Iterator<Item = &'a Finding>) -> bool {
    let has_line = |use_: &Use| use_.code.as_ref().is_some_and(|code| code.line.is_some());
    findings.any(|finding| finding.words().iter().any(|word| word.uses.iter().any(has_line)))
}

/// What to compile with -g, if no code has a line and that would give it one.
pub(super) fn debugging(process: &Process, has_lines: bool) -> Option<String> {
    // Code that a virtual machine compiles has no file.
    let is_compiled = !has_lines && process.functions.is_empty();
    let program = process.program.as_deref().filter(|_| is_compiled)?;
    let name = program.rsplit('/').next().unwrap_or(program);
    Some(format!(
        "{name} has no debugging information: compile it with -g (Rust: debug = \"line-tables-only\" or more)."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Function;

    #[test]
    fn a_report_says_what_part_is_too_rare_once_it_is_a_tenth() {
        assert_eq!(too_rare(9, 100), None);
        assert_eq!(too_rare(0, 0), None);
        let said = too_rare(94, 100).unwrap();
        assert!(said.starts_with("94 % of all accesses to contended lines"), "{said}");
    }

    #[test]
    fn only_who_can_compile_a_program_is_asked_for_debugging_information() {
        let program = Some("/usr/bin/server".to_owned());
        let server = Process { program, ..Process::default() };
        let said = debugging(&server, false).unwrap();
        assert!(said.starts_with("server has no debugging information"), "{said}");
        assert_eq!(debugging(&server, true), None);
        let function = Function { start: 1, end: 2, name: "LazyCompile:*add".to_owned() };
        let node = Process { functions: vec![function], ..server };
        assert_eq!(debugging(&node, false), None);
    }
}
