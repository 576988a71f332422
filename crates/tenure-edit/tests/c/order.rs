//! Members in another order.

use tenure_edit::SourceChange;

use crate::compiled::{C, CPP, compile_and_run};
use crate::support::{changed, changed_files, names, refused};

fn order(members: &str) -> SourceChange {
    SourceChange::Order { members: names(members) }
}

#[test]
fn members_move_with_their_comments_and_attributes() {
    let text = "struct s {\n\tint a;\t\t/* first */\n\t/* What b is,\n\t * at length. */\n\t// and more\n\tlong (*b)(int) __attribute__((deprecated));\n\n\t/* of a group */\n\n\tchar c[4], d;\n\tunsigned e; // last\n};\n";
    let after = changed("a.c", text, "struct s", &order("e a c d b"));
    let expected = "struct s {\n\tunsigned e; // last\n\tint a;\t\t/* first */\n\n\t/* of a group */\n\n\tchar c[4], d;\n\t/* What b is,\n\t * at length. */\n\t// and more\n\tlong (*b)(int) __attribute__((deprecated));\n};\n";
    assert_eq!(after, expected);
    let crlf = changed("a.c", &text.replace('\n', "\r\n"), "struct s", &order("e a c d b"));
    assert_eq!(crlf, expected.replace('\n', "\r\n"));
}

#[test]
fn initializers_by_position_get_names() {
    let files = [
        ("a.h", "typedef struct s { int a; long b; char n[4]; } T;\n"),
        (
            "a.c",
            "T x = {1, 2}, zero = {0};\nstruct s y[] = { {3, 4, {'a'}}, {.b = 5} };\nT *z = &(T){6}, *w[] = {&x, &zero}, v[] = {0}, u[4] = {[2] = {7}};\n",
        ),
    ];
    let after = changed_files(&files, "struct s", &order("b a n")).unwrap();
    assert_eq!(after[0], "typedef struct s { long b; int a; char n[4]; } T;\n");
    let expected = "T x = {.a = 1, .b = 2}, zero = {0};\nstruct s y[] = { {.a = 3, .b = 4, .n = {'a'}}, {.b = 5} };\nT *z = &(T){.a = 6}, *w[] = {&x, &zero}, v[] = {0}, u[4] = {[2] = {.a = 7}};\n";
    assert_eq!(after[1], expected);
}

#[test]
fn initializers_of_constructors_move_with_the_members() {
    let text = "class Q {\n  int a_;\n  long b_;\n public:\n  Q(int x) : a_(x), b_{2} {}\n  Q();\n};\nQ::Q() : Base(1), a_(0), b_(1) {}\nclass R { int a_; long b_; R() : a_(1), b_(2) {} };\n";
    let after = changed("a.cc", text, "class Q", &order("b_ a_"));
    let expected = text
        .replacen("int a_;\n  long b_;", "long b_;\n  int a_;", 1)
        .replace("a_(x), b_{2}", "b_{2}, a_(x)")
        .replace("a_(0), b_(1)", "b_(1), a_(0)");
    assert_eq!(after, expected);
}

#[test]
fn what_depends_on_the_order_is_refused() {
    let c = |text: &str, members: &str| refused("a.c", text, "struct s", &order(members));
    let by_position = "a.c:2: this initializes its members by position";
    assert_eq!(c("struct s { int n[2]; int b; };\nstruct s x = {1, 2, 3};", "b n"), by_position);
    assert_eq!(
        c("struct s { int a; int n[2]; int b; };\nstruct s x = {1, 2, 3};", "a b n"),
        by_position
    );
    assert_eq!(
        c("struct s { int a; int b; }; struct o { struct s s; };\nstruct o x = {{1, 2}};", "b a"),
        by_position
    );
    assert_eq!(c("struct s { int a; int b; };\nstruct s x[] = {1, 2, 3, 4};", "b a"), by_position);
    assert_eq!(
        c("struct s { int a;\n#ifdef B\n int b;\n#endif\n};", "b a"),
        "a.c:2: members would move across this"
    );
    assert_eq!(
        c("struct s { int a, b; int c; };", "a c b"),
        "a.c:1: members that one declaration has would be parted"
    );
    assert_eq!(
        c("struct s { int a; int b; };", "b"),
        "a.c:1: the order does not have each member once"
    );
    assert_eq!(
        c("struct s { int a; int b; // x\n};", "b a"),
        "a.c:1: a comment would hide what follows it"
    );
    assert_eq!(
        c("struct s { struct base base; int b; };", "b base"),
        "a.c:1: `base` comes first, so a pointer to the struct may be cast to it"
    );
    let cpp = |text: &str| refused("a.cc", text, "struct s", &order("b a"));
    assert_eq!(
        cpp("struct s { int a;\nprivate: int b; };"),
        "a.cc:2: members would move across this"
    );
    assert_eq!(
        cpp("struct s { int a = 1; int b = a; };"),
        "a.cc:1: `b` is initialized by another member"
    );
    assert_eq!(
        cpp("struct s { int a; int b; s() : a(1), b(a) {} };"),
        "a.cc:1: a member is initialized by another one"
    );
    assert_eq!(
        cpp("struct s { int a; int b; };\ns x{1, 2};"),
        "a.cc:2: this initializes its members by position"
    );
    assert_eq!(
        cpp("struct s { int a; int b; };\ns f() { return {1, 2}; }"),
        "a.cc:2: this may name its members by position"
    );
    assert_eq!(
        cpp("struct s { int a; int b; };\nvoid f(s x) { auto [a, b] = x; }"),
        "a.cc:2: this may name its members by position"
    );
}

#[test]
fn an_ordered_struct_means_the_same_in_every_standard() {
    let text = "#include <stddef.h>\nstruct s { int a; long b; char c; };\nstatic struct s x = {1, 2, 3};\nint main(void) { return x.a != 1 || x.b != 2 || x.c != 3 || offsetof(struct s, c) != 0; }\n";
    compile_and_run(&changed("a.c", text, "struct s", &order("c b a")), C);
    let text = "struct Q {\n  int a;\n  long b;\n  Q(int x) : a(x), b(2) {}\n};\nint main() { return Q(1).a != 1 || Q(1).b != 2; }\n";
    compile_and_run(&changed("a.cc", text, "struct Q", &order("b a")), CPP);
}
