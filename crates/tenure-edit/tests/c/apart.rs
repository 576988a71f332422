//! Members, types and variables on lines of their own.

use tenure_edit::SourceChange;

use crate::support::{changed, changed_files, members, refused, variables};

/// A struct that tools break: an array, a pointer to a function, comments, tabs and a condition.
const THING: &str = "struct thing {
\tchar flag;           /* set once */
\tchar id[41];
\t// who is called
\tlong (*call)(long);
\tint tail;
\tunsigned long deep[2];
#ifdef MORE
\tint more;
#endif
};
";

#[test]
fn a_member_keeps_its_text_its_comments_and_its_indent() {
    let after = changed("a.c", THING, "struct thing", &members("call"));
    let expected = THING
        .replace("\tlong (*call)", "\t__attribute__((aligned(64))) long (*call)")
        .replace("\tint tail", "\t__attribute__((aligned(64))) int tail");
    assert_eq!(after, expected);
    let after = changed("a.c", THING, "struct thing", &members("id"));
    let expected = THING
        .replace("\tchar id", "\t__attribute__((aligned(64))) char id")
        .replace("\tlong (*call)", "\t__attribute__((aligned(64))) long (*call)");
    assert_eq!(after, expected);
}

#[test]
fn neighbors_share_their_lines_and_others_get_their_own() {
    let text = "struct S { int a; int b; int c; int d; int e; };";
    let after = changed("a.cc", text, "S", &members("b c e"));
    assert_eq!(
        after,
        "struct S { int a; alignas(64) int b; int c; alignas(64) int d; alignas(64) int e; };"
    );
    assert_eq!(
        changed("a.cc", text, "S", &members("a")),
        text.replace("int a", "alignas(64) int a").replace("int b", "alignas(64) int b")
    );
}

#[test]
fn padding_by_hand_gets_no_line() {
    let aligned = |text: &str| text.replace('@', "alignas(64) ");
    for (text, names) in [
        ("struct S { @long a; char pad[56]; };", "a"),
        ("struct S { @long a; @long b; char pad_[48]; };", "a|b"),
        ("struct S { @long a; char pad1[8], pad2[8]; @long b; };", "a"),
        ("struct S { @long a; @char keypad[8]; };", "a"),
        ("struct S { @long a; @char pad; };", "a"),
    ] {
        assert_eq!(changed("a.cc", &text.replace('@', ""), "S", &members(names)), aligned(text));
    }
}

#[test]
fn members_of_different_lines_do_not_share_one() {
    let text = "struct S { int a; int b; int c; int d; };";
    let after = changed("a.cc", text, "S", &members("a|b c"));
    assert_eq!(
        after,
        "struct S { alignas(64) int a; alignas(64) int b; int c; alignas(64) int d; };"
    );
}

#[test]
fn the_struct_of_a_variable_is_found_by_the_variables_line_also_in_a_header() {
    let header = "typedef struct { int a; int b; } T;\nstruct U { int a; int b; };\n";
    let aligned = "{ __attribute__((aligned(64))) int a; __attribute__((aligned(64))) int b; }";
    for (variable, old) in [
        ("static struct U u;\n", "struct U { int a; int b; }"),
        ("static T all[2], *t;\n", "struct { int a; int b; }"),
    ] {
        let files = [("a.c", variable), ("a.h", header)];
        let after = changed_files(&files, "static", &members("a")).unwrap();
        let new = old.replace("{ int a; int b; }", aligned);
        assert_eq!(after, [variable.to_owned(), header.replacen(old, &new, 1)]);
    }
    let text = "struct U { int a; int b; };\nstatic struct U u;\n";
    let after = changed("a.c", text, "struct U u;", &SourceChange::TypeApart);
    assert_eq!(after, text.replacen("struct U", "struct __attribute__((aligned(64))) U", 1));
    let text = "struct U {\n  struct In { int a; int b; } in;\n  int b;\n} u;";
    let after = changed("a.c", text, "struct In", &members("a"));
    assert_eq!(after, text.replacen("{ int a; int b; }", aligned, 1));
}

#[test]
fn a_member_of_a_member_is_found_in_the_struct_that_declares_it() {
    let queue =
        "template <class T, int N> class queue {\n  T *head;\n  T *tail;\n  T *spare;\n};\n";
    let pipe = "template <class T> class pipe {\n  queue<T, 8> q;\n  T *read;\n  T *written;\n};\n";
    let files = [("pipe.hpp", pipe), ("queue.hpp", queue)];
    let after = changed_files(&files, "pipe", &members("q.head read|q.tail written")).unwrap();
    let aligned = |text: &str, names: &[&str]| {
        names.iter().fold(text.to_string(), |text, name| {
            text.replace(&format!("T *{name}"), &format!("alignas(64) T *{name}"))
        })
    };
    let expected =
        [aligned(pipe, &["read", "written"]), aligned(queue, &["head", "tail", "spare"])];
    assert_eq!(after, expected);
    let twice = [files[0], files[1], ("other.hpp", "struct queue { int head; };")];
    let why = changed_files(&twice, "pipe", &members("q.head")).unwrap_err().why;
    assert_eq!(why, "the type of `q`, `queue`, is not declared once in what was read");
}

#[test]
fn a_struct_is_found_by_the_line_of_its_keyword_its_name_its_typedef_or_a_member() {
    let text =
        "typedef struct\n/* of */ tag\n{\n  int a;\n  int b;\n} T;\nstruct U { int a; int b; };\n";
    let expected = text.replacen("int a", "__attribute__((aligned(64))) int a", 1).replacen(
        "int b",
        "__attribute__((aligned(64))) int b",
        1,
    );
    for place in ["typedef", "tag", "{", "int a", "T;"] {
        assert_eq!(changed("a.c", text, place, &members("a")), expected, "at {place}");
    }
}

#[test]
fn the_innermost_struct_that_has_the_member_is_edited() {
    let text = "struct Out { struct In { int a; int b; } in; int b; };";
    let after = changed("a.cc", text, "Out", &members("in"));
    assert_eq!(
        after,
        "struct Out { alignas(64) struct In { int a; int b; } in; alignas(64) int b; };"
    );
    let after = changed("a.cc", text, "In", &members("a"));
    assert_eq!(
        after,
        "struct Out { struct In { alignas(64) int a; alignas(64) int b; } in; int b; };"
    );
}

#[test]
fn a_declaration_of_several_members_is_split() {
    let text = "struct Stats { std::atomic<unsigned long> rx{0}, tx{0}; };";
    let after = changed("a.cpp", text, "Stats", &members("rx"));
    let one = "alignas(64) std::atomic<unsigned long>";
    assert_eq!(after, format!("struct Stats {{ {one} rx{{0}}; {one} tx{{0}}; }};"));

    let text = "struct s { const char *a, (*b)(int, int), /* third */\n  c[3]; int d, e; };";
    let after = changed("a.c", text, "s", &members("b"));
    let one = "__attribute__((aligned(64))) const char";
    assert_eq!(
        after,
        format!(
            "struct s {{ const char *a; {one} (*b)(int, int); /* third */\n  {one} c[3]; int d, e; }};"
        )
    );
    let after = changed("a.c", text, "s", &members("d e"));
    assert_eq!(after, text.replace("int d, e;", "__attribute__((aligned(64))) int d; int e;"));
}

#[test]
fn a_class_keeps_its_access_its_functions_and_its_initializers() {
    let text = "template <typename T>\nclass Shard final : public Base<T> {\n  size_t capacity_ = 1 << 20, \u{fc}ber_{2};\n public:\n  Shard() : \
                capacity_(1), hits_(0) {}\n  mutable std::atomic<uint64_t> hits_{0};  // gez\u{e4}hlt\n  NON_COPYABLE (Shard)\n  static int \
                count;\n  void f(int) const;\n private:\n  T* next_ GUARDED_BY(mutex_);\n  port::Mutex mutex_;\n};\n";
    let after = changed("a.h.cpp", text, "Shard final", &members("hits_"));
    let expected = text
        .replace("  mutable std", "  alignas(64) mutable std")
        .replace("  T* next_", "  alignas(64) T* next_");
    assert_eq!(after, expected);
}

#[test]
fn a_class_whose_head_is_written_twice_is_found_by_either() {
    let text = "#ifdef A\n// aligned\ntemplate <typename T, int N = 1> class queue_t\n#else\ntemplate <typename T> class queue_t FINAL\n#endif\n{\n  T a;\n  T b;\n};\n";
    for place in ["int N", "T> class"] {
        let after = changed("a.hpp", text, place, &members("b"));
        assert_eq!(after, text.replace("T b", "alignas(64) T b"));
    }
    let text = "#ifdef A\nstruct s { int a;\n#else\nstruct s { int b;\n#endif\n  int c;\n};\n";
    assert_eq!(
        changed("a.hpp", text, "int b", &members("c")),
        text.replace("int c", "alignas(64) int c")
    );
    let text =
        "struct s {\n#ifdef A\n  struct {\n#else\n  int b; struct {\n#endif\n  int c; } in;\n};\n";
    assert_eq!(refused("a.hpp", text, "struct s", &members("b")), "a.hpp:5: `b` is under `#if`");
}

#[test]
fn carriage_returns_stay() {
    let text = THING.replace('\n', "\r\n");
    let after = changed("a.c", &text, "struct thing", &members("call"));
    assert_eq!(after.matches("\r\n").count(), text.matches("\r\n").count());
    assert_eq!(
        after.replace("\r\n", "\n"),
        changed("a.c", THING, "struct thing", &members("call"))
    );
}

#[test]
fn attributes_of_the_file_stay_and_count() {
    let text = "struct EXPORT(x) S { int a __attribute__((deprecated)); __attribute__((aligned(64))) int b; _Atomic(long) c; alignas(16) int d; };";
    let after = changed("a.cpp", text, "S", &members("a"));
    assert_eq!(after, text.replace("int a", "alignas(64) int a"));
    let after = changed("a.cpp", text, "S", &members("c"));
    assert_eq!(
        after,
        text.replace("_Atomic", "alignas(64) _Atomic")
            .replace("alignas(16)", "alignas(64) alignas(16)")
    );
    let why = refused("a.cpp", "struct S { int a; alignas(128) int b; };", "S", &members("b"));
    assert_eq!(why, "a.cpp:1: it is aligned so already");
}

#[test]
fn a_header_of_both_languages_gets_what_both_know() {
    let text = "#ifdef __cplusplus\nextern \"C\" {\n#endif\nstruct s { int a; int b; };\n";
    let after = changed("a.hpp", text, "struct s", &members("a"));
    assert!(
        after.contains(
            "{ __attribute__((aligned(64))) int a; __attribute__((aligned(64))) int b; }"
        ),
        "{after}"
    );
}

#[test]
fn what_follows_may_be_an_anonymous_struct() {
    let text = "struct s { int a; union { int b; float c; }; };";
    let after = changed("a.c", text, "s", &members("a"));
    assert_eq!(
        after,
        "struct s { __attribute__((aligned(64))) int a; union __attribute__((aligned(64))) { int b; float c; }; };"
    );
}

#[test]
fn a_member_of_an_anonymous_union_is_aligned_with_it() {
    let text = "struct s { int a; union { int b; float c; }; int d; };";
    let after = changed("a.c", text, "s", &members("c"));
    let aligned = "__attribute__((aligned(64)))";
    assert_eq!(
        after,
        format!("struct s {{ int a; union {aligned} {{ int b; float c; }}; {aligned} int d; }};")
    );
    let text = "struct s { int a; struct { int b; float c; }; int d; };";
    let after = changed("a.c", text, "s", &members("c"));
    assert_eq!(
        after,
        format!("struct s {{ int a; struct {{ int b; {aligned} float c; }}; int d; }};")
    );
}

#[test]
fn a_base_that_ends_with_the_member_is_ended_for_derived_classes() {
    let text = "class target { public:\n  std::atomic<int> refs{1}; // of all\n  virtual ~target();\n};\nstruct Impl : public target { float *data; };\n";
    let after = changed("a.cpp", text, "target", &members("refs"));
    let expected = text.replace("std::atomic<int> refs{1}; // of all", "alignas(64) std::atomic<int> refs{1}; // of all\n  __extension__ alignas(64) char line_end_[0];");
    assert_eq!(after, expected);
}

#[test]
fn what_cannot_be_aligned_is_refused_with_its_place() {
    let refused = |text: &str, change: &str| refused("a.c", text, "struct", &members(change));
    assert_eq!(refused("struct s {\n  unsigned f : 3;\n};", "f"), "a.c:2: `f` is a bit-field");
    assert_eq!(
        refused("struct s {\n  int a;\n  unsigned f : 3; };", "a"),
        "a.c:3: `f` is a bit-field"
    );
    assert_eq!(refused(THING, "more"), "a.c:9: `more` is under `#if`");
    assert_eq!(refused(THING, "deep"), "a.c:9: `more` is under `#if`");
    assert_eq!(refused("struct s { int a; } __attribute__((packed));", "a"), "a.c:1: it is packed");
    assert_eq!(
        refused("struct __attribute__ ((__packed__)) s { int a; };", "a"),
        "a.c:1: it is packed"
    );
    assert_eq!(
        refused("#pragma pack(push, 1)\nstruct s { int a; };\n#pragma pack(pop)", "a"),
        "a.c:2: it is packed"
    );
    assert_eq!(
        refused("struct s { int n; char text[]; };", "n"),
        "a.c:1: it ends with `text`, an array without a size"
    );
    assert_eq!(
        refused("struct s { int n; char text[0]; };", "n"),
        "a.c:1: it ends with `text`, an array without a size"
    );
    assert_eq!(
        refused("struct s { FIELDS(int, x) };", "x"),
        "a.c:1: it declares no member `x`; a macro may"
    );
    assert_eq!(
        refused("struct s { MACRO int int x; };", "x"),
        "a.c:1: `x` is not parsed: a macro may be part of it"
    );
    assert_eq!(
        refused("#define S(x) \\\n  struct s { int x; }\nS(a);", "a"),
        "a.c:2: a macro declares it"
    );
    assert_eq!(refused("int struct_;", "a"), "a.c:1: no struct is declared here");
    assert_eq!(
        refused("struct s { struct { int i; } a, b; };", "a"),
        "a.c:1: its type is declared with several members at once"
    );
    assert_eq!(
        super::support::refused("a.c", "union u { int a; int b; };", "u", &members("a")),
        "a.c:1: it is a union: its members share their bytes"
    );
}

#[test]
fn members_of_a_struct_after_a_packed_one_are_aligned() {
    let text =
        "#pragma pack(push, 1)\nstruct p { int a; };\n#pragma pack(pop)\nstruct s { int b; };";
    assert!(
        changed("a.c", text, "struct s", &members("b"))
            .contains("{ __attribute__((aligned(64))) int b; }")
    );
}

#[test]
fn a_type_is_aligned_behind_its_keyword() {
    let type_ = SourceChange::TypeApart;
    let c = |text| changed("a.c", text, "struct", &type_);
    assert_eq!(c("struct s { int a; };"), "struct __attribute__((aligned(64))) s { int a; };");
    assert_eq!(
        c("typedef struct { int a; } T, *P;"),
        "typedef struct __attribute__((aligned(64))) { int a; } T, *P;"
    );
    assert_eq!(
        c("static struct { long now, most; } stat[10];"),
        "static struct __attribute__((aligned(64))) { long now, most; } stat[10];"
    );
    assert_eq!(
        changed("a.cc", "class EXPORT Cell : Base { int a; };", "class", &type_),
        "class alignas(64) EXPORT Cell : Base { int a; };"
    );
    let why = refused(
        "a.c",
        "typedef struct { int a; } __attribute__((aligned(64))) T;",
        "struct",
        &type_,
    );
    assert_eq!(why, "a.c:1: it is aligned so already");
    let why = refused("a.c", "typedef unsigned long word;\nword words[8];", "words", &type_);
    assert_eq!(why, "a.c:2: no struct is declared here");
}

#[test]
fn a_variable_and_the_next_one_start_lines() {
    let text = "static int a = 1, *b;\nextern int e;\nint f(void);\n_Atomic(long) hits; // of all\nint g(void) { return 1; }\nint last[4];\n";
    let after = changed("a.c", text, "hits", &variables("hits"));
    let aligned = "__attribute__((aligned(64)))";
    assert_eq!(
        after,
        text.replace("_Atomic", &format!("{aligned} _Atomic"))
            .replace("int last", &format!("{aligned} int last"))
    );
    let after = changed("a.c", text, "static", &variables("a hits"));
    let expected = text
        .replace(
            "static int a = 1, *b",
            &format!("{aligned} static int a = 1; {aligned} static int *b"),
        )
        .replace("_Atomic", &format!("{aligned} _Atomic"))
        .replace("int last", &format!("{aligned} int last"));
    assert_eq!(after, expected);
}

#[test]
fn a_static_member_is_aligned_where_it_is_defined() {
    let header = "struct S { static std::atomic<int> count; };\nextern int total;\n";
    let source = "namespace n {\nstd::atomic<int> S::count{0};\n}\nint total;\n";
    let files = [("a.hpp", header), ("a.cpp", source)];
    let after = changed_files(&files, "count", &variables("count total")).unwrap();
    assert_eq!(after[0], header);
    assert_eq!(
        after[1],
        source.replace("std::", "alignas(64) std::").replace("int total", "alignas(64) int total")
    );
}

#[test]
fn a_local_static_is_aligned_alone() {
    let text = "int f() { static long calls; static int other; int here; return ++calls; }";
    assert_eq!(
        changed("a.cc", text, "calls", &variables("calls")),
        text.replace("static long", "alignas(64) static long")
    );
}

#[test]
fn variables_that_alignment_does_not_part_are_refused() {
    let refused = |text: &str, name: &str| refused("a.c", text, name, &variables(name));
    assert_eq!(
        refused("static long counts[8];", "counts"),
        "a.c:1: `counts` is an array: its elements share lines however it is aligned"
    );
    assert_eq!(
        refused("static _Thread_local int mine;", "mine"),
        "a.c:1: `mine` is each thread's own"
    );
    assert_eq!(refused("extern int x;", "x"), "a.c:1: no file that was read defines `x`");
    assert_eq!(
        refused("#define D(n) int n\n#define DEFINE int hits;\nDEFINE", "hits"),
        "a.c:2: a macro declares `hits`"
    );
    assert_eq!(
        refused("void f(void) { int local; }", "local"),
        "a.c:1: no file that was read defines `local`"
    );
}
