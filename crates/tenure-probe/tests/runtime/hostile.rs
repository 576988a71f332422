//! What programs do that runtimes trip over: they do it with this one as they do without.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::program::{Program, USUAL, finish, succeed};

#[test]
fn programs_may_do_what_they_like() {
    let program = Program::compile("hostile.c", &["-O1"]);
    for what in [
        "vforks",
        "clones",
        "handlers_on_their_own_stack",
        "handlers_that_jump",
        "threads_that_are_cancelled",
        "limits",
        "small_stacks",
        "exec_of_a_thread",
        "many_threads",
        "moves",
        "unloads",
        "system_calls",
    ] {
        let (output, segments) = program.run(&[what]);
        assert!(output.status.success(), "{what}: {output:?}");
        match what {
            "clones" => assert!(segments.len() > 1, "a copy has its own"),
            "vforks" => assert_eq!(segments.len(), 51),
            "exec_of_a_thread" => assert_eq!(segments.len(), 2),
            "many_threads" => assert_eq!(segments[0].threads.len(), 5001),
            "moves" => assert_eq!(segments[0].lines.len(), 1, "of the lock alone"),
            _ => {}
        }
        program.clear();
    }
}

#[test]
fn memory_that_is_locked_and_dumped_is_the_programs_own() {
    let program = Program::compile("hostile.c", &["-O1"]);
    let mut command = program.command();
    let output = finish(command.arg("locks_and_dumps").current_dir(program.directory.path()));
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
    // Where the system writes core files, into the working directory: it has no page of the shadow.
    for file in std::fs::read_dir(program.directory.path()).unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("core") {
            assert!(file.metadata().unwrap().len() < 1 << 30, "{file:?}");
        }
    }
}

#[test]
fn a_program_may_bring_its_own_allocator() {
    let options = ["-O2", "-std=c++17", "-fno-builtin"];
    Program::compile("own_malloc.cpp", &options).run_well(&[]);
}

#[test]
fn threads_may_call_functions_first_that_no_thread_has_called() {
    let program = Program::compile_with(USUAL, "first.cpp", &["-O2", "-std=c++17"], &["-rdynamic"]);
    let library = program.directory.path().join("constructor.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/constructor.c");
    succeed(Command::new("cc").args(["-shared", "-fPIC", source, "-o"]).arg(&library));
    let output = finish(program.command().arg(&library));
    assert!(output.status.success(), "in a constructor: {output:?}");
    for _ in 0..20 {
        let output = finish(program.command().arg("together"));
        assert!(output.status.success(), "together: {output:?}");
    }
}

#[test]
fn a_block_that_a_threads_destructor_frees_is_forgotten() {
    let program = Program::compile("life.c", &["-O1"]);
    let (output, segments) = program.run(&["destructor"]);
    assert!(output.status.success(), "{output:?}");
    let address: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let line = segments[0].lines.iter().find(|line| line.address == address).unwrap();
    assert_eq!(line.class, 0, "{line:?}");
}
