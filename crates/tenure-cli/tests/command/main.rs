//! The command: what all subcommands share, then each.

mod bench;
#[cfg(unix)]
mod compare;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", not(sanitized)))]
mod faults;
#[cfg(unix)]
mod fix;
mod layout;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod proposed;
#[cfg(target_os = "linux")]
mod run;
mod sim;
mod support;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod watch;

use support::{is_refused, tenure, tenure_in, text};

#[test]
fn help_names_every_option_and_goes_to_standard_output() {
    for (command, options) in [
        ("", "bench compare fix layout run sim watch"),
        (
            "watch",
            "PROGRAM --pid --for --stop --rate --probes --check --top --line --patterns --machine --no-predict --full --in --type --yours --through --diff --json --html",
        ),
        (
            "run",
            "COMMAND --cc --build-std --top --line --memory --keep --patterns --no-predict --full --in --type --yours --through --check --diff --json --html",
        ),
        (
            "compare",
            "COMMAND --before --after --build --metric --per --better --threads --env --server --ready --within --rounds --for --fail-if-slower --json --html --markdown",
        ),
        (
            "fix",
            "BENCH --from --build --test --dependency --metric --per --better --rounds --for --keep-predicted --apply --patch --json",
        ),
        ("bench", "GROUP --threads --seconds --quick --seed --list --json --report"),
        ("sim", "SCENARIO --cpus --machine --us --seed --calibrate --list --json --report"),
        (
            "layout",
            "--kernel FILE NAME --in --top --suggest --pin --rules --check --format --debug-file --base --line --json \
             --html",
        ),
    ] {
        let words: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let output = tenure(&words);
        assert!(output.status.success(), "{command}");
        for option in options.split_whitespace() {
            assert!(text(&output.stdout).contains(option), "{command}: {option}");
        }
    }
    let (all, alone) = (tenure(&["--help"]), tenure(&[]));
    assert!(alone.status.success());
    for line in ["Commands:", "  bench ", "Usage: tenure <COMMAND>"] {
        assert!(text(&alone.stdout).contains(line) && text(&all.stdout).contains(line), "{line}");
    }
    assert!(text(&tenure(&["--version"]).stdout).starts_with("tenure "));
}

#[test]
fn the_command_help_is_the_option_help() {
    for command in ["bench", "compare", "doctor", "fix", "layout", "run", "sim", "watch"] {
        let output = tenure(&["help", command]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), text(&tenure(&[command, "--help"]).stdout));
    }
    let all = tenure(&["help"]);
    assert!(all.status.success() && all.stderr.is_empty());
    assert_eq!(text(&all.stdout), text(&tenure(&["--help"]).stdout));
    is_refused(&tenure(&["help", "benhc"]), &["benhc", "tenure --help"]);
}

#[test]
fn the_lists_of_scenarios_write_nothing() {
    for (command, words) in [
        ("bench", &["refs/get-put"][..]),
        ("sim", &["refs/get-put", "dst/cells", "xeon-2s-112", "112 CPUs"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = tenure_in(folder.path(), &[command, "--list"]);
        assert!(output.status.success());
        let list = text(&output.stdout);
        for word in words {
            assert!(list.contains(word), "{word}");
        }
        let knows_std = command == "bench";
        assert_eq!(list.contains("refs/upgrade"), knows_std, "std's Arc knows no simulated memory");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for long in [["bench", "--seconds", "1000"], ["sim", "--us", "100000"]] {
        for end in [
            ["--json", "file/out.json"],
            ["--json", "no/such/folder/out.json"],
            ["--json", "."],
            ["--report", "file"],
        ] {
            let words = [&long[..], &end].concat();
            is_refused(&tenure_in(folder.path(), &words), &["cannot write", "another path"]);
        }
    }
    let calibrate = ["sim", "--calibrate", "file/this.toml"];
    is_refused(&tenure_in(folder.path(), &calibrate), &["cannot write", "another path"]);
}

#[test]
fn tables_are_plain_in_a_pipe_and_end_with_the_path_of_the_report() {
    for (short, says, progress) in [
        (&bench::SHORT[..], "refs", "measuring refs/"),
        (&sim::SHORT, "On 2 CPUs ", "simulating refs/get-put"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = tenure_in(folder.path(), &[short, &["--json", "out.json"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (tables, lines) = (text(&output.stdout), text(&output.stderr));
        assert!(!tables.contains('\u{1b}') && !lines.contains('\u{1b}'));
        assert!(tables.contains(says), "{tables}");
        let path = tables.lines().last().unwrap().strip_prefix("Report: ").unwrap();
        let page = std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert!(page.contains("<!doctype html>"));
        let json = std::fs::read(folder.path().join("out.json")).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
        let lines: Vec<_> = lines.lines().collect();
        assert!(
            !lines.is_empty() && lines.iter().all(|line| line.starts_with(progress)),
            "{lines:?}"
        );
        assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "{lines:?}");
    }
}
