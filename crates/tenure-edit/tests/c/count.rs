//! Counts that each thread adds to on its own line.

use tenure_edit::SourceChange;

use crate::compiled::{C, CPP, compile_and_run};
use crate::support::{changed, changed_files, refused};

fn count(name: &str) -> SourceChange {
    SourceChange::CountPerThread { name: name.into() }
}

/// What follows the functions or the class that are added.
fn after_helper(text: &str) -> &str {
    text.rsplit_once("#endif\n\n").expect("a helper was added").1
}

#[test]
fn additions_to_a_c_member_and_reads_of_it_are_rewritten() {
    let text = "/* of all */\nstruct stats { unsigned long hits, misses; };\nstatic void f(struct stats *p, int n) {\n    p->hits++; /* one */\n    --(*p).hits;\n    \
                (p->hits) += n;\n    p[1].hits -= n + 1;\n    (void)__atomic_fetch_add(&p->hits, 2, __ATOMIC_RELAXED);\n    \
                __sync_fetch_and_sub(&p->hits, n);\n    p->misses = p->hits;\n    for (; p->hits < 9; p->hits++) ;\n    p->hits += p->hits + \
                __atomic_load_n(&p->hits, __ATOMIC_RELAXED);\n}\n";
    let after = changed("a.c", text, "struct stats", &count("hits"));
    assert!(after.starts_with("#ifndef PER_THREAD_COUNT\n"), "{after}");
    let sum = "((unsigned long)per_thread_count_sum(&p->hits))";
    let expected = format!(
        "/* of all */\nstruct stats {{ struct per_thread_count hits; unsigned long misses; }};\nstatic void f(struct stats *p, int n) {{\n    \
         per_thread_count_add(&p->hits, 1); /* one */\n    per_thread_count_add(&(*p).hits, -1);\n    per_thread_count_add(&p->hits, n);\n    \
         per_thread_count_add(&p[1].hits, -(unsigned long long)(n + 1));\n    (void)per_thread_count_add(&p->hits, 2);\n    \
         per_thread_count_add(&p->hits, -(unsigned long long)(n));\n    p->misses = {sum};\n    for (; {sum} < 9; per_thread_count_add(&p->hits, 1)) \
         ;\n    per_thread_count_add(&p->hits, {sum} + {sum});\n}}\n"
    );
    assert_eq!(after_helper(&after), expected);
}

#[test]
fn a_variable_is_counted_in_every_file() {
    let files = [
        (
            "a.c",
            "#include \"a.h\"\natomic_ulong hits = 0, other;\nvoid f(struct s *s) { atomic_fetch_add(&hits, 1); s->hits = 1; }\n",
        ),
        (
            "a.h",
            "#ifndef A_H\n#define A_H\nextern atomic_ulong hits;\nstruct s { int hits; };\n#endif\n",
        ),
        ("b.c", "unsigned long g(void) { return atomic_load(&hits); }\n"),
    ];
    let after = changed_files(&files, "atomic_ulong hits", &count("hits")).unwrap();
    let expected = "struct per_thread_count hits; atomic_ulong other;\nvoid f(struct s *s) { per_thread_count_add(&hits, 1); s->hits = 1; }\n";
    assert_eq!(after_helper(&after[0]), expected);
    assert!(after[0].starts_with("#include \"a.h\"\n#ifndef PER_THREAD_COUNT\n"), "{}", after[0]);
    assert_eq!(
        after_helper(&after[1]),
        "extern struct per_thread_count hits;\nstruct s { int hits; };\n#endif\n"
    );
    assert_eq!(
        after[2],
        "unsigned long g(void) { return ((unsigned long)per_thread_count_sum(&hits)); }\n"
    );
}

#[test]
fn a_cpp_count_changes_its_type_alone() {
    let text = "namespace n {\n/// Of a queue.\nclass Q {\n  static std::atomic<int> all;\n  mutable std::atomic<uint64_t> hits_{0}, misses_{0};  // counted\n  void f() { hits_++; }\n};\nstd::atomic<int> Q::all{0};\n}\n";
    let after = changed("a.cc", text, "class Q", &count("hits_"));
    let expected = text.replace(
        "mutable std::atomic<uint64_t> hits_{0}, misses_{0}",
        "mutable PerThreadCount<uint64_t> hits_{0}; mutable std::atomic<uint64_t> misses_{0}",
    );
    assert_eq!(after_helper(&after), expected);
    let after = changed("a.cc", text, "Q::all", &count("all"));
    assert_eq!(after_helper(&after), text.replace("std::atomic<int>", "PerThreadCount<int>"));
}

#[test]
fn a_use_that_neither_adds_nor_reads_is_refused_with_its_place() {
    let refused = |statement: &str| {
        let text = format!("struct s {{ long hits; }};\nvoid f(struct s *x) {{\n  {statement}\n}}");
        refused("a.c", &text, "struct s", &count("hits"))
    };
    let other = "a.c:3: `hits` is not only added to and read";
    for statement in [
        "x->hits = 0;",
        "y = x->hits++;",
        "return __atomic_fetch_add(&x->hits, 1, 0);",
        "long *p = &x->hits;",
        "x->hits |= 1;",
        "struct s y = { .hits = 1 };",
        "atomic_exchange(&x->hits, 1);",
        "offsetof(struct s, hits);",
    ] {
        assert_eq!(refused(statement), other, "{statement}");
    }
    assert_eq!(refused("struct s y = { 1 };"), "a.c:3: it initializes `hits` by position");
    assert_eq!(
        refused("struct o { struct s s; } y = { { 1 } };"),
        "a.c:3: it initializes `hits` by position"
    );
    assert_eq!(refused("\n#define ADD(x) (x)->hits++\n"), "a.c:4: a macro may use `hits`");
    assert_eq!(
        refused("struct t { int hits; };"),
        "a.c:3: another member is called `hits`, and which one a use is of is not known"
    );
}

#[test]
fn a_count_that_is_no_integer_or_starts_elsewhere_is_refused() {
    let refused = |text: &str| refused("a.c", text, "n", &count("n"));
    assert_eq!(refused("struct s { double n; };"), "a.c:1: `n` is not an integer that is known");
    assert_eq!(refused("struct s { long *n; };"), "a.c:1: `n` is not an integer that is known");
    assert_eq!(refused("struct s { long n[4]; };"), "a.c:1: `n` is not an integer that is known");
    assert_eq!(refused("struct s { other n; };"), "a.c:1: `n` is not an integer that is known");
    assert_eq!(refused("struct s { long n : 4; };"), "a.c:1: `n` is a bit-field");
    assert_eq!(refused("static long n = 4;"), "a.c:1: `n` starts with another number than 0");
    assert_eq!(
        refused("static long n; void f(int n);"),
        "a.c:1: another variable is called `n`, and which one a use is of is not known"
    );
}

/// Four threads add 1,000 times 1 and take 250 times 2 away again: 2,000 remain.
const THREADS: &str = "static void *work(void *unused) { int i; for (i = 0; i < 1000; i++) { ONE; if (i % 4 == 0) { LESS; } } return unused; }\n\
                       int main(void) { pthread_t t[4]; int i; for (i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n\
                       for (i = 0; i < 4; i++) pthread_join(t[i], 0);\n return SUM != 2000; }\n";

fn threads(one: &str, less: &str, sum: &str) -> String {
    THREADS.replace("ONE", one).replace("LESS", less).replace("SUM", sum)
}

#[test]
fn a_c_count_is_exact_in_every_standard() {
    let text = threads("p->hits++", "__atomic_fetch_sub(&p->hits, 2, __ATOMIC_RELAXED)", "p->hits");
    let text = format!(
        "#include <pthread.h>\nstatic struct stats {{ unsigned hits, misses; }} s = {{0}}, *p = &s;\n{text}"
    );
    compile_and_run(&changed("a.c", &text, "struct stats", &count("hits")), C);
    let text = threads("hits += 1", "hits -= 2", "hits");
    compile_and_run(
        &changed(
            "a.c",
            &format!("#include <pthread.h>\nstatic long hits = 0;\n{text}"),
            "static",
            &count("hits"),
        ),
        C,
    );
}

#[test]
fn a_cpp_count_is_exact_in_every_standard() {
    let text =
        threads("s.hits++", "s.hits.fetch_sub(2, std::memory_order_relaxed)", "s.hits.load()");
    let text = format!(
        "#include <atomic>\n#include <pthread.h>\nstruct Stats {{ std::atomic<unsigned> hits{{0}}, misses{{0}}; }};\nstatic Stats s;\n{text}"
    );
    compile_and_run(&changed("a.cc", &text, "struct Stats", &count("hits")), CPP);
    let text = threads("S::all += 1", "S::all -= 2", "S::all");
    let text = format!(
        "#include <pthread.h>\nstruct S {{ static long all; long mine = 0; }};\nlong S::all = 0;\n{text}"
    );
    compile_and_run(&changed("a.cc", &text, "long S::all", &count("all")), CPP);
}
