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

/// Lines that could change hands often and are left out all the same.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Since a lock elsewhere seems to guard them, which may be wrong: the threads could take the lock for something else
    /// as often.
    pub(super) guarded: LinesLeftOut,
    /// Since only code that can have no data race writes them.
    pub(super) handed_over: LinesLeftOut,
    /// Since nothing is wrong with them: each written word has a thread of its own, and no neighbour that is used much.
    pub(super) harmless: LinesLeftOut,
}

/// Lines that are left out for one reason.
#[derive(Debug, Default)]
pub(super) struct LinesLeftOut {
    pub(super) lines: u64,
    pub(super) accesses: u64,
}

impl LinesLeftOut {
    /// Counts more lines, and all accesses to them.
    pub(super) fn add(&mut self, lines: usize, accesses: u64) {
        self.lines += lines as u64;
        self.accesses += accesses;
    }

    /// That they are left out, if they have this part of all accesses at least; `why` is of one line, and of several.
    fn said(&self, of: u64, worth_saying: f64, why: [&str; 2]) -> Option<String> {
        let part = self.accesses as f64 / of.max(1) as f64;
        let is_worth = self.lines > 0 && part >= worth_saying;
        let (line, why) = if self.lines == 1 { ("line", why[0]) } else { ("lines", why[1]) };
        let (lines, percent) = (self.lines, 100.0 * part);
        is_worth.then(|| {
            format!("{lines} {line} ({percent:.0} % of all accesses to contended lines) {why}.")
        })
    }
}

impl LeftOut {
    pub(super) fn lines(&self) -> u64 {
        self.guarded.lines + self.handed_over.lines + self.harmless.lines
    }

    /// Each reason with its lines. Beside findings, few lines are not worth a sentence.
    pub(super) fn said(&self, of: u64, has_findings: bool) -> Vec<String> {
        let worth = |part| if has_findings { part } else { 0.0 };
        let guarded = [
            "seems to be guarded by a lock elsewhere, and is left out",
            "seem to be guarded by a lock elsewhere, and are left out",
        ];
        let handed_over = [
            "is left out: no code that writes it can have a data race, so a lock or a hand-over elsewhere orders the writes",
            "are left out: no code that writes them can have a data race, so locks or hand-overs elsewhere order the writes",
        ];
        let harmless = [
            "is left out: one thread does nearly all that is done there, or hardly anything there is a write",
            "are left out: one thread does nearly all that is done to each, or hardly anything is a write",
        ];
        [
            self.guarded.said(of, worth(0.01), guarded),
            self.handed_over.said(of, worth(0.1), handed_over),
            self.harmless.said(of, worth(0.1), harmless),
        ]
        .into_iter()
        .flatten()
        .collect()
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
    fn a_report_says_what_it_leaves_out_if_that_is_much_or_it_has_no_findings() {
        let left_out = |[guarded, handed_over, harmless]: [(u64, u64); 3]| {
            let [guarded, handed_over, harmless] = [guarded, handed_over, harmless]
                .map(|(lines, accesses)| LinesLeftOut { lines, accesses });
            LeftOut { guarded, handed_over, harmless }
        };
        assert!(left_out([(0, 0); 3]).said(0, false).is_empty());
        assert!(left_out([(3, 9), (3, 99), (3, 99)]).said(1000, true).is_empty());
        let few = left_out([(3, 9), (1, 99), (1, 0)]);
        assert_eq!((few.lines(), few.said(1000, false).len()), (5, 3));
        let said = left_out([(3, 10), (1, 100), (2, 100)]).said(1000, true);
        let [guarded, handed_over, harmless] = &said[..] else { panic!("{said:?}") };
        let expected = "3 lines (1 % of all accesses to contended lines) seem to be guarded by a lock elsewhere, and are \
                        left out.";
        assert_eq!(guarded, expected);
        assert!(
            handed_over.contains("1 line (10 %") && handed_over.contains(" is left out: no code")
        );
        assert!(
            harmless.contains("2 lines (10 %") && harmless.contains(" are left out: one thread")
        );
        let one = &left_out([(1, 50), (0, 0), (0, 0)]).said(100, true)[0];
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
