//! What a report has left out, and what would give it more: each a sentence.

use tenure_model::recording::Process;
use tenure_model::{Finding, Use};

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

/// Lines that are left out since a lock elsewhere seems to guard them.
#[derive(Debug, Default)]
pub(super) struct Guarded {
    pub(super) lines: usize,
    pub(super) accesses: u64,
}

impl Guarded {
    /// That they are left out, which may be wrong: the threads could take the lock for something else as often.
    pub(super) fn said(&self, of: u64) -> Option<String> {
        const WORTH_SAYING: f64 = 0.01;
        let part = self.accesses as f64 / of.max(1) as f64;
        let (lines, seem, are) = match self.lines {
            1 => ("line", "seems", "is"),
            _ => ("lines", "seem", "are"),
        };
        (part >= WORTH_SAYING).then(|| {
            format!(
                "{} {lines} ({:.0} % of all accesses to contended lines) {seem} to be guarded by a lock elsewhere, and \
                 {are} left out.",
                self.lines,
                100.0 * part
            )
        })
    }
}

/// What a line may cost that is no finding though threads met on it, where that is more than the bound on the lines that none met on.
pub(super) fn beyond_bound(most: f64, excludes: f64) -> Option<String> {
    (most > excludes).then(|| {
        format!(
            "Lines are left out on which threads met, but which change hands too seldom, or follow a lock or a hand-over elsewhere. \
             One of them may cost up to {:.0} % of the time that could be seen.",
            (100.0 * most).ceil()
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
    use tenure_model::recording::Function;

    #[test]
    fn a_report_says_what_part_is_too_rare_once_it_is_a_tenth() {
        assert_eq!(too_rare(9, 100), None);
        assert_eq!(too_rare(0, 0), None);
        let said = too_rare(94, 100).unwrap();
        assert!(said.starts_with("94 % of all accesses to contended lines"), "{said}");
    }

    #[test]
    fn a_report_says_what_a_lock_elsewhere_seems_to_guard_once_it_is_a_hundredth() {
        let said = |lines, accesses, of| Guarded { lines, accesses }.said(of);
        assert_eq!(said(0, 0, 0), None);
        assert_eq!(said(3, 9, 1000), None);
        let expected = "3 lines (1 % of all accesses to contended lines) seem to be guarded by a lock elsewhere, and are \
                        left out.";
        assert_eq!(said(3, 10, 1000).as_deref(), Some(expected));
        let one = said(1, 50, 100).unwrap();
        assert!(one.starts_with("1 line (50 %") && one.contains(") seems to be"), "{one}");
        assert!(one.ends_with("and is left out."), "{one}");
    }

    #[test]
    fn a_line_that_is_left_out_is_named_if_it_may_cost_more_than_the_bound_on_others() {
        assert_eq!(beyond_bound(0.03, 0.03), None);
        let said = beyond_bound(0.12, 0.03).unwrap();
        assert!(said.ends_with("up to 12 % of the time that could be seen."), "{said}");
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
