//! Memory of types that are aligned to lines.

use std::path::{Path, PathBuf};

use tenure_edit::c::{SourceText, alignment_notes};
use tenure_edit::{SourceChange, SourcePlace};

use crate::compiled::{C, compile_and_run};
use crate::support::{OPTIONS, changed, changed_files, language, members};

/// The notes of a change to the first line, as text.
fn notes(file: &str, text: &str) -> Vec<String> {
    let source = SourceText { file: Path::new(file), text, language: language(file) };
    let place = SourcePlace { file: PathBuf::from(file), line: 1 };
    let notes = alignment_notes(&[source], &SourceChange::TypeApart, &place, &OPTIONS);
    notes.into_iter().map(|note| format!("{}: {}", note.place, note.why)).collect()
}

#[test]
fn malloc_and_calloc_of_the_type_are_aligned_where_they_are() {
    let header = "typedef struct s { int a; int b; } T;\nstruct outer { T first; };\nstruct o { struct s *p; };\n";
    let source = "#include \"a.h\"\n/* Makes some. */\nvoid *f(int n, struct o *o) {\n\tT *t = malloc(sizeof *t), *u;\n\tu = (T *)malloc(n * sizeof(struct s));\n\t\
                  o->p = malloc(sizeof(*o->p));\n\tfree(t); free(u);\n\tvoid *other = malloc(sizeof *o), *p = malloc(sizeof(T *));\n\treturn calloc(n, \
                  sizeof(struct outer));\n}\n";
    let after =
        changed_files(&[("a.h", header), ("a.c", source)], "struct s", &members("a")).unwrap();
    let (before, body) = after[1].split_once("/* Makes some. */").unwrap();
    assert!(before.starts_with("#include \"a.h\"\n#if !defined(__cplusplus)"), "{before}");
    assert!(before.contains("\tvoid *memory = __builtin_mul_overflow"), "{before}");
    let expected = source
        .replace("malloc(sizeof *t)", "aligned_alloc(64, sizeof *t)")
        .replace("malloc(n", "aligned_alloc(64, n")
        .replace("malloc(sizeof(*o", "aligned_alloc(64, sizeof(*o")
        .replace("calloc(n", "line_calloc(n");
    assert_eq!(body, expected.split_once("/* Makes some. */").unwrap().1);
}

#[test]
fn other_allocators_are_noted_with_their_place() {
    let c = "struct s { int a; };\nvoid f(struct s *p) {\n p = zmalloc(sizeof *p);\n p = malloc(sizeof *p + 1);\n p = realloc(p, 2 * sizeof(struct s));\n \
             p = malloc(sizeof *p);\n p = aligned_alloc(64, sizeof *p);\n p = malloc(sizeof p);\n}\n";
    let expected = [
        "a.c:3: `zmalloc` may align to 16 bytes only",
        "a.c:4: `malloc` may align to 16 bytes only",
        "a.c:5: `realloc` may align to 16 bytes only",
    ];
    assert_eq!(notes("a.c", c), expected);
    let cpp = "struct S { int a; };\nvoid f(void *b) {\n auto p = new S; auto q = new (b) S;\n auto r = std::make_unique<S>(); auto o = new O;\n}\nstruct O { S s[2]; };\n";
    let new = "`new` aligns to 16 bytes only, before C++17";
    let expected = [
        format!("a.cc:3: {new}"),
        "a.cc:3: the memory of this `new` has to be aligned to 64 bytes".into(),
        format!("a.cc:4: {new}"),
        format!("a.cc:4: {new}"),
    ];
    assert_eq!(notes("a.cc", cpp), expected);
}

#[test]
fn allocated_c_structs_start_lines_in_every_standard() {
    let text = "#include <stdlib.h>\ntypedef struct { char x, y; } POINT_T;\ntypedef struct { POINT_T *points; int num_elems; long long SX, SY, SXX; } lreg_args;\n\
                int main(void) {\n  lreg_args *a = calloc(3, sizeof *a), *b = malloc(sizeof(lreg_args));\n  int wrong = a == NULL || b == NULL || (size_t)a % 64 || \
                (size_t)b % 64 || sizeof *a != 64 || a[2].SXX;\n  wrong |= calloc((size_t)-1 / 2, sizeof *a) != NULL;\n  free(a); free(b);\n  return wrong;\n}\n";
    compile_and_run(&changed("a.c", text, "lreg_args", &SourceChange::TypeApart), C);
}
