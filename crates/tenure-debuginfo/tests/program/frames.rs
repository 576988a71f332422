use tenure_debuginfo::program::{Frame, Program};

use super::compile::{Sample, each, numbers};

fn frame(source: &str, function: &str, comment: &str) -> Frame {
    let line = Sample::line_of(source, comment);
    let file = format!("{}/tests/program/samples/{source}", env!("CARGO_MANIFEST_DIR"));
    Frame { function: function.to_owned(), file: Some(file), line }
}

#[test]
fn an_inlined_function_is_a_frame_within_its_caller() {
    let source = "plain.c";
    each(source, true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let stack = numbers(&lines, "code", "count");
        let expected = [frame(source, "count", "count"), frame(source, "step", "step")];
        assert_eq!(program.frames(stack[0]), expected, "{what}");
        assert_eq!(program.frames(stack[1]), [frame(source, "main", "main")], "{what}");
        let stack = numbers(&lines, "code", "allocate session");
        assert_eq!(program.frames(stack[0]), [frame(source, "make", "make")], "{what}");
    });
}

#[test]
fn a_method_is_named_with_its_type() {
    each("plain.cpp", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let stack = numbers(&lines, "code", "push");
        assert_eq!(program.frames(stack[0]), [frame("plain.cpp", "Queue::push", "push")], "{what}");
        let main = program.frames(stack[1]).pop().unwrap();
        assert_eq!(main.function, "main", "{what}");
    });
}

#[test]
fn rust_methods_and_closures_are_named_with_type_and_function() {
    let source = "plain.rs";
    each(source, true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let stack = numbers(&lines, "code", "check");
        let mut frames: Vec<Frame> =
            stack.iter().flat_map(|address| program.frames(*address)).take(2).collect();
        let expected = [frame(source, "Session::check", "check"), frame(source, "run", "run")];
        assert_eq!(frames, expected, "{what}");
        let stack = numbers(&lines, "code", "closure");
        frames = program.frames(stack[0]);
        assert_eq!(frames[0], frame(source, "Session::act::{closure}", "closure"), "{what}");
        let all: Vec<Frame> = stack.iter().flat_map(|address| program.frames(*address)).collect();
        let act = all.iter().find(|frame| frame.function == "Session::act");
        assert!(act.is_some(), "{what}: {all:?}");
    });
}

#[test]
fn without_debugging_information_there_are_symbols_and_in_a_stripped_file_nothing() {
    for source in ["plain.c", "plain.cpp"] {
        each(source, false, |what, sample| {
            let lines = sample.run();
            let name = if source == "plain.c" { "count" } else { "push" };
            let address = numbers(&lines, "code", name)[0];
            let function = if source == "plain.c" { "step" } else { "Queue::push" };
            let frames = sample.open().frames(address);
            // The inlined function is inlined without optimisation too.
            let expected = Frame { function: function.to_owned(), file: None, line: 0 };
            assert_eq!(frames, [expected], "{what}");
            if let Some(stripped) = sample.stripped() {
                let program = Program::open(&stripped).unwrap();
                assert!(program.frames(address).is_empty(), "{what}");
            }
        });
    }
}

/// rustc writes entries only of functions that others are inlined into.
#[test]
fn with_line_tables_alone_every_function_has_its_line() {
    let source = "plain.rs";
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let flags = [level, "-Cdebuginfo=line-tables-only"];
        let Some(sample) = Sample::new(source, &flags) else { return };
        let (program, lines) = (sample.open(), sample.run());
        let stack = numbers(&lines, "code", "closure");
        let frames: Vec<Frame> = stack.iter().flat_map(|at| program.frames(*at)).collect();
        let Frame { file, line, .. } = frame(source, "", "closure");
        let is_in_source = |it: &&Frame| it.file == file && it.line > 0;
        let found: Vec<&Frame> = frames.iter().filter(is_in_source).collect();
        assert_eq!(found[0].line, line, "{level}");
        // At this level nothing is inlined into `main`.
        let has_main = found.iter().any(|it| it.function == "main");
        assert!(has_main || level == "-Copt-level=2", "{level}: {found:?}");
    }
}

#[test]
fn addresses_outside_of_all_code_have_no_frames() {
    each("plain.c", true, |what, sample| {
        let program = sample.open();
        for address in [0, 1, 2, 0x10, 1 << 40, u64::MAX] {
            assert!(program.frames(address).is_empty(), "{what}: {address:x}");
            assert_eq!(program.variable(address), None, "{what}: {address:x}");
        }
    });
}
