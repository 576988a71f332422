//! Edited programs compile without a warning, in each standard, to the layout that was asked for.

use std::fs;
use std::process::Command;

use tenure_edit::SourceChange;

use crate::installed::is_installed;
use crate::support::{changed, members, variables};

/// Compiles a program with each compiler in each standard, and runs it: its exit code is zero.
pub(crate) fn compile_and_run(text: &str, standards: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let is_c = standards[0].starts_with('c') && !standards[0].starts_with("c++");
    let (file, compilers) =
        if is_c { ("a.c", ["cc", "clang"]) } else { ("a.cpp", ["c++", "clang++"]) };
    let (file, program) = (directory.path().join(file), directory.path().join("a"));
    fs::write(&file, text).unwrap();
    for compiler in compilers.into_iter().filter(|compiler| is_installed(compiler)) {
        for standard in standards {
            let mut command = Command::new(compiler);
            command
                .arg(format!("-std={standard}"))
                .args(["-Wall", "-Wextra", "-Werror", "-pthread"]);
            if !is_c {
                command.arg("-Wno-invalid-offsetof");
            }
            let built = command.arg(&file).arg("-o").arg(&program).output().unwrap();
            let said = String::from_utf8_lossy(&built.stderr);
            assert!(built.status.success(), "{compiler} -std={standard}: {said}\n{text}");
            let run = Command::new(&program).status().unwrap();
            assert!(run.success(), "{compiler} -std={standard}: {run}\n{text}");
        }
    }
}

/// Standards of C.
pub(crate) const C: &[&str] = &["c99", "gnu99", "c11", "c17", "c2x"];
/// Standards of C++.
pub(crate) const CPP: &[&str] = &["c++11", "c++14", "c++17", "c++20"];

/// `line(type, member)`: the line of a member, from 0.
const LINE: &str = "#include <stddef.h>\n#define line(t, m) (offsetof(t, m) / 64)\n#define starts(t, m) (offsetof(t, m) % 64 == 0)\n";

#[test]
fn a_c_member_gets_its_own_line_in_every_standard() {
    let text = format!(
        "{LINE}struct thing {{\n\tchar flag; /* set once */\n\tchar id[41];\n\tlong (*call)(long), *next;\n\tint tail;\n\tunsigned long \
         deep[2];\n#ifdef MORE\n\tint more;\n#endif\n}};\nint main(void) {{ struct thing t = {{0}}; return (int)t.deep[0] + \
         !(starts(struct thing, call) && line(struct thing, next) == 1 + line(struct thing, call)); }}\n"
    );
    compile_and_run(&changed("a.c", &text, "struct thing", &members("call")), C);
    let text = format!(
        "{LINE}struct s {{ int a; union {{ int b; float c; }}; struct {{ int x; }} in; }};\nint main(void) {{ return !(starts(struct s, b) \
         && starts(struct s, in) && line(struct s, in) == 2); }}\n"
    );
    let text = changed("a.c", &text, "struct s", &members("a"));
    compile_and_run(&changed("a.c", &text, "struct s", &members("in")), &C[2..]);
}

#[test]
fn a_c_type_takes_whole_lines() {
    let text = "typedef struct { char x; long y; } cell;\nstatic cell cells[2];\nint main(void) { return sizeof cells != 128 || (unsigned long)&cells[1].x % 64; }\n";
    compile_and_run(&changed("a.c", text, "typedef", &SourceChange::TypeApart), C);
}

#[test]
fn c_variables_start_lines_of_their_own() {
    let text = "static long a = 1, b;\nint c;\nextern int c;\nint main(void) { static int d; return (unsigned long)&a / 64 == (unsigned long)&b / 64 || \
                (unsigned long)&b / 64 == (unsigned long)&c / 64 || (unsigned long)&d % 64; }\n";
    let text = changed("a.c", text, "static long", &variables("a b"));
    compile_and_run(&changed("a.c", &text, "static int d", &variables("d")), C);
}

#[test]
fn a_class_member_gets_its_own_line_in_every_standard() {
    let text = format!(
        "#include <atomic>\n#include <cstdint>\n{LINE}template <typename T> class Shard {{\n  T capacity_ = 1 << 20;\n public:\n  Shard() : \
         capacity_(1), hits_(0) {{}}\n  mutable std::atomic<uint64_t> hits_, misses_{{0}};  // counted\n  T last_ = 0;\n  struct Line {{ enum {{ \
         hits = line(Shard, hits_), misses = line(Shard, misses_), last = line(Shard, last_) }}; }};\n  T get() const {{ return capacity_ \
         + last_; }}\n}};\nint main() {{ typedef Shard<int> S; return S().get() != 1 || S::Line::hits != 1 || S::Line::misses != 2 || S::Line::last \
         != 2 || alignof(S) != 64; }}\n"
    );
    compile_and_run(&changed("a.cpp", &text, "class Shard", &members("hits_")), CPP);
}

#[test]
fn a_derived_class_does_not_use_the_line_of_a_counter_that_ends_its_base() {
    let text = format!(
        "#include <atomic>\n{LINE}class target {{ public:\n  mutable std::atomic<int> refs{{1}};  // of all\n  virtual ~target() = default;\n}};\n\
         struct Impl : public target {{ long data = 0; }};\nint main() {{ return line(Impl, refs) == line(Impl, data) || sizeof(target) != 128; }}\n"
    );
    compile_and_run(&changed("a.cpp", &text, "class target", &members("refs")), CPP);
}

#[test]
fn a_class_takes_whole_lines_and_a_static_member_starts_one() {
    let text = "#include <atomic>\nclass Cell { public: std::atomic<int> n{0}; static std::atomic<int> all; };\nstd::atomic<int> Cell::all{0};\n\
                static std::atomic<int> next{0};\nint main() { Cell cells[2]; return sizeof cells != 128 || (unsigned long)&Cell::all % 64 || \
                (unsigned long)&Cell::all / 64 == (unsigned long)&next / 64 || cells[0].n + next; }\n";
    let text = changed("a.cpp", text, "class Cell", &SourceChange::TypeApart);
    compile_and_run(&changed("a.cpp", &text, "Cell::all", &variables("all")), CPP);
}
