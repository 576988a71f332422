//! Programs that have BTF and no DWARF: what their functions do, by what BTF declares of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::compile::Sample;
use super::encoder::*;
use super::sweep::{Swept, THROUGH_POINTERS};
use tenure_code::sweep;
use tenure_debuginfo::read::{Input, Options};

/// A program whose DWARF is taken out and whose BTF is this. None without `objcopy`.
fn with_btf(program: &Path, btf: &[u8]) -> Option<PathBuf> {
    let (made, section) = (program.with_extension("btf"), program.with_extension("section"));
    fs::write(&section, btf).unwrap();
    let section = format!(".BTF={}", section.display());
    let mut command = Command::new("objcopy");
    command.args(["--strip-debug", "--add-section", &section]).arg(program).arg(&made);
    let Ok(output) = command.output() else {
        println!("nothing tested: no objcopy");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(made)
}

/// Declares a function.
fn function(file: &mut Encoder, name: &str, returns: u32, parameters: &[u32]) -> u32 {
    let words: Vec<u32> = parameters.iter().flat_map(|ty| [0, *ty]).collect();
    let declared = file.add("", FUNC_PROTO << 24 | parameters.len() as u32, returns, &words);
    file.plain(FUNC, name, declared)
}

/// The types of `samples/sweep.c`, and its functions.
fn of_sweep() -> Encoder {
    let mut file = Encoder::new(false);
    let (int, long) = (file.int("int", 4), file.int("long int", 8));
    let lock = file.structure("lock", 4, &[("word", int, 0)]);
    let pair = file.structure("", 16, &[("first", long, 0), ("second", long, 64)]);
    let table = file.array(long, int, 4);
    let opaque = file.plain(PTR, "", 0);
    let session = 8;
    assert_eq!(file.plain(PTR, "", session), session - 1);
    let members = [
        ("refs", int, 0),
        ("hits", long, 64),
        ("ops", opaque, 128),
        ("next", session - 1, 192),
        ("lock", lock, 256),
        ("guarded", long, 320),
        ("pair", pair, 384),
        ("table", table, 512),
    ];
    assert_eq!(file.structure("session", 96, &members), session);
    let to_session = file.plain(CONST, "", session - 1);
    let members = [("id", long, 0), ("session", session, 64), ("parent", to_session, 832)];
    let request = file.structure("request", 112, &members);
    let [to_request, to_lock, to_long] = [request, lock, long].map(|ty| file.plain(PTR, "", ty));
    for (name, returns) in [
        ("get", 0),
        ("put", int),
        ("try_get", int),
        ("swap", int),
        ("next_hits", long),
        ("call", 0),
        ("set_second", 0),
        ("loop", long),
        ("locked", 0),
        ("find", to_session),
        ("of_result", 0),
    ] {
        function(&mut file, name, returns, &[to_session]);
    }
    function(&mut file, "set_element", 0, &[to_session, long]);
    function(&mut file, "spin_lock", 0, &[to_lock]);
    function(&mut file, "of_number", long, &[to_long]);
    for name in ["embedded", "parent_guarded", "of_inlined"] {
        function(&mut file, name, 0, &[to_request]);
    }
    file
}

#[test]
fn accesses_through_arguments_and_results_are_counted_by_prototypes() {
    for level in ["-O0", "-O2"] {
        let Some(sample) = Sample::new("sweep.c", &["-g", level]) else { return };
        let Some(path) = with_btf(&sample.path, &of_sweep().finish()) else { return };
        let swept = Swept::read(&path).unwrap();
        for (function, subject, offset, expected) in THROUGH_POINTERS {
            let found = swept.of_function(function, subject, offset);
            assert_eq!(found, expected, "{level}: {function} {subject} {offset}");
        }
        assert_eq!(swept.lockers(), ["locked"], "{level}");
        let [(language, operands)] = &swept.sweep.operands[..] else { panic!("{level}") };
        // Of the variable `global` nothing is known.
        assert_eq!((*language, operands.locked_unknown), ("C", 1), "{level}");
    }
}

/// The types of `samples/declared.c`, and the functions that `declare` adds of them.
fn of_declared(declare: impl FnOnce(&mut Encoder, &Types)) -> Vec<u8> {
    let mut file = Encoder::new(false);
    let (int, long) = (file.int("int", 4), file.int("long int", 8));
    let session = file.structure("session", 16, &[("refs", int, 0), ("hits", long, 64)]);
    let pair = file.structure("pair", 16, &[("first", long, 0), ("second", long, 64)]);
    let members = [("first", long, 0), ("second", long, 64), ("third", long, 128)];
    let triple = file.structure("triple", 24, &members);
    let (wide, double) = (file.int("__int128", 16), file.plain(FLOAT, "double", 8));
    let session = file.plain(PTR, "", session);
    declare(&mut file, &Types { int, long, wide, double, session, pair, triple });
    file.finish()
}

struct Types {
    int: u32,
    long: u32,
    wide: u32,
    double: u32,
    session: u32,
    pair: u32,
    triple: u32,
}

/// `samples/declared.c` with a call to `__fentry__` at each function's start. None without its compiler.
fn declared() -> Option<Sample> {
    let flags = ["-g", "-O2", "-fno-pie", "-no-pie", "-mfentry", "-pg", "declared_twin.c"];
    Sample::new("declared.c", &flags)
}

#[test]
fn arguments_are_known_as_far_as_the_calling_convention_says_where_they_are() {
    let Some(sample) = declared() else { return };
    let btf = of_declared(|file, types| {
        let Types { int, long, wide, double, session, pair, triple } = *types;
        function(file, "second", 0, &[long, session]);
        function(file, "sixth", 0, &[int, int, int, int, int, session]);
        function(file, "on_stack", 0, &[int, int, int, int, int, int, session]);
        function(file, "behind_double", 0, &[double, session]);
        function(file, "behind_struct", 0, &[pair, session]);
        function(file, "behind_wide", 0, &[wide, session]);
        function(file, "large", triple, &[session]);
        function(file, "variable", long, &[session, 0]);
        for name in ["step", "known", "seldom", "warned", "twin", "several", "no_such_function"] {
            function(file, name, 0, &[session]);
        }
        function(file, "several", 0, &[long]);
    });
    let Some(path) = with_btf(&sample.path, &btf) else { return };
    let swept = Swept::read(&path).unwrap();
    for (function, offset, expected) in [
        ("second", 0, [0, 0, 1, 0, 0]),
        ("sixth", 8, [0, 1, 0, 0, 0]),
        ("on_stack", 8, [0; 5]),
        ("behind_double", 8, [0, 1, 0, 0, 0]),
        ("behind_struct", 8, [0; 5]),
        ("behind_wide", 8, [0; 5]),
        ("large", 8, [0; 5]),
        ("variable", 8, [1, 0, 0, 0, 0]),
        ("undeclared", 8, [0; 5]),
        // Two functions of one name, two declarations of one name.
        ("twin", 8, [0; 5]),
        ("twin", 0, [0; 5]),
        ("several", 8, [0; 5]),
        // `step.isra.0` writes `hits`.
        ("step", 8, [0; 5]),
        ("step", 0, [0, 1, 0, 0, 0]),
        // BTF declares one of its two names.
        ("known", 8, [0, 1, 0, 0, 0]),
        // The second is in `seldom.cold`.
        ("seldom", 0, [1, 0, 0, 0, 0]),
        ("seldom", 8, [0, 1, 0, 0, 0]),
        // The trap of a warning returns.
        ("warned", 8, [1, 1, 0, 0, 0]),
    ] {
        let found = swept.of_function(function, "session", offset);
        assert_eq!(found, expected, "{function} {offset}");
    }
    let total = swept.sweep.total();
    assert!(total.unknown >= 8, "what is not known is not left out: {total:?}");
}

#[test]
fn a_program_without_a_function_that_its_btf_declares_says_so() {
    let Some(sample) = declared() else { return };
    let btf = of_declared(|file, types| _ = function(file, "elsewhere", 0, &[types.session]));
    let Some(path) = with_btf(&sample.path, &btf) else { return };
    let why = Swept::read(&path).err().unwrap();
    assert!(why.contains("no symbol of a function that its BTF declares"), "{why}");
}

#[test]
fn a_malformed_declaration_loses_its_function_alone() {
    let Some(sample) = declared() else { return };
    let btf = of_declared(|file, types| {
        let Types { int, session, .. } = *types;
        function(file, "second", 0, &[int, 4000]);
        function(file, "sixth", 0, &[int, int, int, int, int, session]);
        // A declaration of a variable's type, and one that is no function's.
        let variable = file.add("v", VAR << 24, int, &[1]);
        function(file, "known", 0, &[variable]);
        file.plain(FUNC, "behind_double", int);
        let itself = file.plain(FUNC, "step", 0);
        file.plain(FUNC, "large", itself);
    });
    let Some(path) = with_btf(&sample.path, &btf) else { return };
    let swept = Swept::read(&path).unwrap();
    assert_eq!(swept.of_function("sixth", "session", 8)[1], 1);
    for name in ["second", "known", "behind_double", "step", "large"] {
        let all = [0, 8].map(|offset| swept.of_function(name, "session", offset));
        assert_eq!(all, [[0; 5]; 2], "{name}");
    }
}

#[test]
fn any_byte_of_the_btf_may_be_wrong() {
    let Some(sample) = declared() else { return };
    let btf = of_declared(|file, types| {
        for name in ["step", "known", "seldom"] {
            function(file, name, types.session, &[types.session, types.double, types.pair]);
        }
    });
    let Some(path) = with_btf(&sample.path, &btf) else { return };
    let mut program = fs::read(&path).unwrap();
    let start = program.windows(btf.len()).position(|there| there == btf).unwrap();
    let mut read = 0;
    for at in 0..btf.len() {
        program[start + at] ^= 1 << (at % 8);
        fs::write(&path, &program).unwrap();
        program[start + at] = btf[at];
        let input = Input::File(path.clone());
        read += u32::from(sweep::read(&input, &Options::default(), &()).is_ok());
    }
    assert!(read > 0, "some are read");
}

/// Functions are named by other ends of one name.
#[test]
fn what_is_declared_behind_names_that_would_fill_the_memory_is_lost_and_no_more() {
    const FUNCTIONS: usize = 20_000;
    let Some(sample) = declared() else { return };
    let (mut long, mut start) = (0, 0);
    let mut btf = of_declared(|file, types| {
        function(file, "known", 0, &[types.session]);
        let declared = file.add("", FUNC_PROTO << 24 | 1, 0, &[0, types.session]);
        long = file.name(&"x".repeat(FUNCTIONS));
        // Behind the header are the types, as long as it says.
        start = 24 + u32::from_le_bytes(file.finish()[12..16].try_into().unwrap()) as usize;
        (0..FUNCTIONS).for_each(|_| _ = file.plain(FUNC, "", declared));
        function(file, "step", 0, &[types.session]);
    });
    for which in 0..FUNCTIONS {
        let at = start + 12 * which;
        btf[at..at + 4].copy_from_slice(&(long + which as u32).to_le_bytes());
    }
    let Some(path) = with_btf(&sample.path, &btf) else { return };
    let swept = Swept::read(&path).unwrap();
    assert_eq!(swept.of_function("known", "session", 8)[1], 1);
    assert_eq!(swept.of_function("step", "session", 0), [0; 5]);
}
