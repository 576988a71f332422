//! Stores that are made only if they change the value.

use super::program::Program;
use tenure_edit::SourceChange;

/// A program with a flag that is stored to in a statement, and what else its implementation has.
fn program(statement: &str, others: &str) -> String {
    format!(
        "#![allow(unused)]\nuse std::sync::atomic::{{self, Ordering::{{self, *}}, *}};\n\
         #[derive(Default)]\nstruct Flags {{ stop: AtomicBool, level: AtomicUsize, all: [AtomicBool; 3], n: usize }}\n\
         fn next() -> usize {{ 3 }}\n\
         impl Flags {{\n    fn raise(&self, i: usize) {{\n        {statement} // é\n    }}\n{others}}}\n\
         fn main() {{\n    let flags = Flags {{ n: 1, ..Default::default() }};\n    flags.raise(1);\n    \
         println!(\"{{:?}} {{:?}} {{:?}}\", flags.stop.load(SeqCst), flags.level, flags.all);\n}}\n"
    )
}

fn test_before(name: &str) -> SourceChange {
    SourceChange::TestBeforeStore { name: name.to_owned() }
}

#[test]
fn a_store_is_made_if_it_changes_the_value() {
    let cases = [
        (
            "self.stop.store(true, Ordering::Relaxed);",
            "if !self.stop.load(Ordering::Relaxed) {\n            self.stop.store(true, Ordering::Relaxed);\n        } // é",
        ),
        ("self.stop.store(false, Relaxed);", "if self.stop.load(Relaxed) {"),
        (
            "self.stop.store(true, atomic::Ordering::Release);",
            "if !self.stop.load(atomic::Ordering::Relaxed) {",
        ),
        (
            "self.stop.store(true, Release);",
            "if !self.stop.load(core::sync::atomic::Ordering::Relaxed) {",
        ),
        ("self.stop.store(true, SeqCst);", "if !self.stop.load(SeqCst) {"),
        ("self.level.store(self.n, Relaxed);", "if self.level.load(Relaxed) != self.n {"),
        ("self.level.store(7, Relaxed);", "if self.level.load(Relaxed) != 7 {"),
        ("self.all[i].store(true, Relaxed);", "if !self.all[i].load(Relaxed) {"),
        (
            "self.level.store(next() + 1, Relaxed);",
            "{\n            let value = next() + 1;\n            if self.level.load(Relaxed) != value {\n                self.level.store(value, Relaxed);\n            }\n        } // é",
        ),
    ];
    for (statement, after) in cases {
        let text = program(statement, "");
        let name = statement.split(['.', '[']).nth(1).unwrap();
        let edited = Program::own(&text, statement, test_before(name)).runs();
        assert!(edited.contains(after), "{edited}");
    }
}

#[test]
fn a_store_that_may_publish_or_is_part_of_an_expression_is_refused() {
    let taken = "    fn take(&self) -> bool { self.stop.swap(false, Acquire) }\n";
    let lent = "    fn lend(&self) -> &AtomicBool { &self.stop }\n";
    let cases = [
        (
            "self.stop.store(true, Release);",
            taken,
            "the store is Release, and `swap` may take the value back here",
        ),
        ("self.stop.store(true, SeqCst);", taken, "the store is SeqCst, and `swap` may take"),
        ("self.stop.store(true, Release);", lent, "`stop` is lent to others here"),
        (
            "self.stop.store(true, Release); self.stop.store(false, Release);",
            "",
            "there is not one store",
        ),
        ("self.stop.store(i > 0, Release);", "", "the store is Release: it publishes"),
        ("atomic::fence(Release); self.stop.store(true, Relaxed);", "", "a fence orders the store"),
        ("let _ = self.stop.store(true, Relaxed);", "", "is part of an expression"),
        (
            "match i { 0 => self.stop.store(true, Relaxed), _ => {} }",
            "",
            "is part of an expression",
        ),
        (
            "let order = Relaxed; self.stop.store(true, order);",
            "",
            "the order `order` is not known",
        ),
        (
            "self.all[next()].store(true, Relaxed); let stop = 1;",
            "",
            "there is not one store to `stop`",
        ),
        ("(|| &self.stop)().store(true, Relaxed);", "", "there is not one store to `stop`"),
    ];
    for (statement, others, why) in cases {
        let text = program(statement, others);
        let refused = Program::own(&text, statement, test_before("stop")).refused();
        assert!(refused.contains(why), "{statement}: {refused}");
    }
    let text = program("self.all[next() - 1].store(i > 0, Relaxed);", "");
    let refused = Program::own(&text, "self.all[", test_before("all")).refused();
    assert!(refused.contains("may do something each time"), "{refused}");
    let text = program("self.all[i].store(next() > 0, Relaxed);", "");
    let refused = Program::own(&text, "self.all[", test_before("all")).refused();
    assert!(refused.contains("may change which element"), "{refused}");
    let text = program("self.stop.store(true, Release);", "").replace(" stop: ", " pub stop: ");
    let refused = Program::own(&text, "self.stop.store", test_before("stop")).refused();
    assert!(refused.contains("not private"), "{refused}");
}
