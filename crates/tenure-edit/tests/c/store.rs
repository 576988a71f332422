//! Stores that are made only if they change the value.

use tenure_edit::SourceChange;

use crate::support::{changed, changed_files, refused};

fn store(name: &str) -> SourceChange {
    SourceChange::TestBeforeStore { name: name.into() }
}

/// A function whose one line is a statement, after some declarations.
fn function(declarations: &str, statement: &str) -> String {
    format!("{declarations}\nvoid f(struct s *x, int now) {{\n\t{statement}\n}}\n")
}

#[test]
fn a_plain_store_is_guarded_by_a_load() {
    let declarations = "enum state { OFF, ON };\nstruct s { bool flag; int *p; enum state state; unsigned short n[4]; struct s *next; };\nstatic volatile int stop;";
    for (name, statement, guard) in [
        ("flag", "x->flag = true; /* seen */", "if (x->flag != true) "),
        ("p", "x->next->p = NULL;", "if (x->next->p != NULL) "),
        ("state", "(*x).state = ON;", "if ((*x).state != ON) "),
        ("n", "x->n[now & 3] = now;", "if (x->n[now & 3] != now) "),
        ("stop", "stop = -1;", "if (stop != -1) "),
    ] {
        let text = function(declarations, statement);
        assert_eq!(
            changed("a.c", &text, statement, &store(name)),
            text.replace(statement, &format!("{guard}{statement}"))
        );
    }
}

#[test]
fn a_relaxed_store_is_guarded_by_a_relaxed_load() {
    let c = "struct s { _Atomic(long) seen; atomic_bool flag; };";
    let text = function(c, "atomic_store_explicit(&x->seen, now, memory_order_relaxed);");
    let guard = "if (atomic_load_explicit(&x->seen, memory_order_relaxed) != now) atomic_store";
    assert_eq!(
        changed("a.c", &text, "atomic_store", &store("seen")),
        text.replace("atomic_store", guard)
    );
    let text = function(c, "__atomic_store_n(&x->flag, 1, __ATOMIC_RELAXED);");
    let guard = "if (__atomic_load_n(&x->flag, __ATOMIC_RELAXED) != 1) __atomic_store_n";
    assert_eq!(
        changed("a.c", &text, "__atomic_store", &store("flag")),
        text.replace("__atomic_store_n", guard)
    );
    let text = function(
        "struct s { std::atomic<int> flag{0}; };",
        "x->flag.store(1, std::memory_order_relaxed);",
    );
    let guard = "if (x->flag.load(std::memory_order_relaxed) != 1) x->flag.store";
    assert_eq!(
        changed("a.cc", &text, "x->flag.store", &store("flag")),
        text.replace("x->flag.store", guard)
    );
}

#[test]
fn a_store_that_is_all_of_a_branch_gets_braces() {
    let text = "struct s { int a, b; };\nvoid f(struct s *x, int n) {\n  if (n)\n    x->a = 1;\n  else x->b = 2;\n  for (;;) x->a = 2;\n}\n";
    let after = changed("a.c", text, "x->a = 1", &store("a"));
    assert_eq!(after, text.replace("x->a = 1;", "{ if (x->a != 1) x->a = 1; }"));
    let after = changed("a.c", text, "x->b = 2", &store("b"));
    assert_eq!(after, text.replace("x->b = 2;", "{ if (x->b != 2) x->b = 2; }"));
    let after = changed("a.c", text, "for", &store("a"));
    assert_eq!(after, text.replace("x->a = 2;", "{ if (x->a != 2) x->a = 2; }"));
    let text = "int a; void f(int n) { switch (n) { case 1: a = 1; break; } again: a = 2; }";
    let after = changed("a.c", text, "a = 1", &store("a"));
    assert_eq!(
        after,
        text.replace("a = 1;", "if (a != 1) a = 1;").replace("a = 2;", "if (a != 2) a = 2;")
    );
}

#[test]
fn a_type_is_known_by_the_headers_that_are_given() {
    let source = "void f(struct s *x) { x->flag = 1; }";
    let known =
        |header| changed_files(&[("a.c", source), ("a.h", header)], "x->flag", &store("flag"));
    let after =
        known("typedef unsigned char byte;\ntypedef byte flag_t;\nstruct s { flag_t flag; };")
            .unwrap();
    assert_eq!(after[0], "void f(struct s *x) { if (x->flag != 1) x->flag = 1; }");
    let why =
        known("typedef _Atomic int flag_t;\nstruct s { flag_t flag; };").unwrap_err().to_string();
    assert_eq!(why, "a.c:1: `flag` is atomic: its plain stores are sequentially consistent");
    let why = known("struct s { other_t flag; };").unwrap_err().to_string();
    assert_eq!(
        why,
        "a.c:1: the type of `flag`, `other_t`, is not a number or a pointer that is known"
    );
    let why = known("").unwrap_err().to_string();
    assert_eq!(why, "a.c:1: no file that was read declares `flag`");
}

#[test]
fn a_store_that_may_publish_something_is_refused() {
    let refused = |statement: &str| {
        let text = function("struct s { std::atomic<int> flag; float f; int n; };", statement);
        refused(
            "a.cc",
            &text,
            statement,
            &store(if statement.contains("->f ") {
                "f"
            } else if statement.contains("->n") {
                "n"
            } else {
                "flag"
            }),
        )
    };
    let ordered = "a.cc:3: its order is not relaxed: a store that is left out publishes nothing";
    assert_eq!(refused("x->flag.store(1, std::memory_order_release);"), ordered);
    assert_eq!(refused("x->flag.store(1);"), ordered);
    assert_eq!(refused("std::atomic_store(&x->flag, 1);"), ordered);
    assert_eq!(refused("__atomic_store_n(&x->flag, 1, __ATOMIC_SEQ_CST);"), ordered);
    assert_eq!(
        refused("x->flag = 1;"),
        "a.cc:3: `flag` is atomic: its plain stores are sequentially consistent"
    );
    assert_eq!(
        refused("x->f = 0;"),
        "a.cc:3: the type of `f`, `float`, is not a number or a pointer that is known"
    );
    assert_eq!(
        refused("x->n = now + 1;"),
        "a.cc:3: what is stored to `n` is more than a number or a name"
    );
    assert_eq!(
        refused("next(x)->n = 1;"),
        "a.cc:3: the path to `n` is evaluated twice then, and may not be the same"
    );
    assert_eq!(
        refused("int y = x->n = 1;"),
        "a.cc:3: a store to `n` is not a statement of its own here"
    );
    assert_eq!(refused("x->n += 1;"), "a.cc:3: a store to `n` is not a statement of its own here");
}
