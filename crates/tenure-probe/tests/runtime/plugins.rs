//! Programs that are not instrumented, and load a plugin that is.

use std::path::PathBuf;
use std::process::Command;

use tenure_probe::segment::AccessKind;

use super::program::{Program, finish, succeed};

/// A plugin in the directory of a program of its own, and the host beside it.
struct Plugin {
    program: Program,
    host: PathBuf,
}

impl Plugin {
    fn compile() -> Self {
        let program = Program::compile_with(
            super::program::USUAL,
            "plugin.cpp",
            &["-O2", "-fPIC"],
            &["-shared"],
        );
        let host = program.directory.path().join("host");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/host.c");
        succeed(Command::new("cc").args(["-O2", "-pthread", source, "-ldl", "-o"]).arg(&host));
        Self { program, host }
    }

    fn command(&self, words: &[&str], preloads: bool) -> Command {
        let mut command = Command::new(&self.host);
        command.args(words).env("TENURE_PROBE_DIR", self.program.segments_path());
        if preloads {
            command.env("LD_PRELOAD", self.program.directory.path().join("libtsan.so.2"));
        }
        command
    }
}

#[test]
fn an_instrumented_plugin_is_recorded_in_a_host_that_is_not() {
    let plugin = Plugin::compile();
    let path = plugin.program.path.to_str().unwrap();
    for preloads in [true, false] {
        for words in [&[path][..], &[path, "close"]] {
            let output = finish(&mut plugin.command(words, preloads));
            assert!(output.status.success(), "{words:?}, {preloads}: {output:?}");
            let segment = plugin.program.segments().remove(0);
            plugin.program.clear();
            let known = |class: u32| segment.classes[class as usize].size == 16;
            let line = segment.lines.iter().find(|line| known(line.class));
            let line = line.unwrap_or_else(|| panic!("{preloads}: {:?}", segment.lines));
            assert!(segment.sum(line, AccessKind::Add) > 100_000, "{segment:?}");
            assert!(segment.modules.iter().any(|(_, path)| path.ends_with("/program")));
            // Preloaded, it sees threads begin and end.
            let are_whole = segment.threads[1..].iter().all(|it| it.routine != 0 && it.ended != 0);
            assert_eq!(are_whole, preloads, "{:?}", segment.threads);
        }
    }
}

#[test]
fn a_program_without_instrumented_code_records_nothing() {
    let plugin = Plugin::compile();
    let output = finish(&mut plugin.command(&[], true));
    assert!(output.status.success(), "{output:?}");
    assert!(plugin.program.segments().is_empty());
}
