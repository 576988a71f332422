//! Builds and tests a copy of the tree.

use std::path::{Path, PathBuf};

use tenure_edit::rust::{Asked, follow_up};
use tenure_edit::{SourceChange, SourcePlace};
use tenure_measure::command::{CommandRun, MeasuredCommand, RunError, shell_line};
use tenure_model::SourceEdit;

use crate::tree::SourceTree;

/// How often what the compiler asks for is edited: each time may uncover more.
const MAX_BUILDS: usize = 8;

/// How the program is built and tested, and how it runs.
#[derive(Debug, Clone)]
pub(crate) struct Commands {
    /// The benchmark, as a line for a shell.
    pub(crate) run: String,
    /// The same as a program and its arguments: cargo itself, if that builds it, and not a shell that calls cargo.
    pub(crate) words: Vec<String>,
    /// Builds; of cargo each prints JSON.
    pub(crate) build: Vec<String>,
    /// The tests, if there are any.
    pub(crate) test: Option<String>,
    pub(crate) is_cargo: bool,
}

impl Commands {
    /// `words` is the benchmark; `build` and `test` were asked for. Where nothing was, cargo's own commands are taken, or those that
    /// the files of the tree suggest.
    pub(crate) fn of(
        words: &[String],
        build: Option<&str>,
        test: Option<&str>,
        here: &Path,
    ) -> Result<Self, String> {
        let mut run = match words {
            [line] => line.clone(),
            words => shell_line(words),
        };
        let mut given: Vec<String> = match words {
            [line] => line.split_whitespace().map(str::to_owned).collect(),
            words => words.to_vec(),
        };
        let is_cargo = build.is_none() && given.first().is_some_and(|it| it == "cargo");
        if is_cargo {
            if unlock(&mut given) {
                run = shell_line(&given);
            }
            let bench = cargo_build(&given)
                .ok_or_else(|| "fix builds `cargo run`, `cargo bench` and `cargo test`; of other commands it takes --build".to_owned())?;
            let tests = test.is_none().then(|| cargo_test(&given));
            let test = test.map_or_else(|| shell_line(&cargo_test(&given)), str::to_owned);
            let tests = tests.map(|words| {
                shell_line(&[words, ["--no-run", JSON].map(str::to_owned).to_vec()].concat())
            });
            return Ok(Self {
                run,
                words: given,
                build: [Some(bench), tests].into_iter().flatten().collect(),
                test: Some(test),
                is_cargo,
            });
        }
        if given.first().is_some_and(|it| it == "go") {
            return Err("fix edits Rust, C and C++, and records no Go".to_owned());
        }
        let words = match words {
            [line] => ["sh", "-c", line].map(str::to_owned).to_vec(),
            words => words.to_vec(),
        };
        let has = |file: &str| here.join(file).is_file();
        let guess = || match () {
            () if has("Makefile") || has("makefile") || has("GNUmakefile") => {
                Some("make -j2".to_owned())
            }
            () if has("CMakeLists.txt") => {
                Some("cmake -B build && cmake --build build -j2".to_owned())
            }
            () if has("meson.build") => {
                Some("{ [ -d build ] || meson setup build; } && meson compile -C build".to_owned())
            }
            () => None,
        };
        let build = build.map(str::to_owned).or_else(guess);
        let build = build.ok_or_else(|| {
            "how to build the program is not known: add --build, such as --build 'make -j2'"
                .to_owned()
        })?;
        Ok(Self { run, words, build: vec![build], test: test.map(str::to_owned), is_cargo })
    }
}

const JSON: &str = "--message-format=json";

/// Lets cargo write the lock of a copy, in which a dependency may be edited too. Whether it had been forbidden.
fn unlock(words: &mut Vec<String>) -> bool {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let rest = words.split_off(end);
    let before = words.clone();
    words.retain(|word| word != "--locked");
    words.iter_mut().filter(|word| *word == "--frozen").for_each(|it| "--offline".clone_into(it));
    let is_changed = *words != before;
    words.extend(rest);
    is_changed
}

/// `cargo test`, with those options of another call that say which packages and features there are and where they come from.
fn cargo_test(words: &[String]) -> Vec<String> {
    const ALONE: [&str; 6] = [
        "--offline",
        "--all-features",
        "--no-default-features",
        "--workspace",
        "--all",
        "--ignore-rust-version",
    ];
    const WITH_VALUE: [&str; 8] =
        ["--manifest-path", "--config", "--package", "-p", "--features", "-F", "--target", "-Z"];
    let mut test = vec!["cargo".to_owned()];
    let mut words = words.iter().skip(1).take_while(|word| *word != "--").peekable();
    test.extend(words.next_if(|word| word.starts_with('+')).cloned());
    test.push("test".to_owned());
    while let Some(word) = words.next() {
        let has_value = WITH_VALUE.contains(&word.as_str());
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if has_value || ALONE.contains(&word.as_str()) || WITH_VALUE.contains(&name) {
            test.push(word.clone());
            test.extend(words.next_if(|_| has_value).cloned());
        }
    }
    test
}

/// The call of cargo that builds what this one runs, and prints JSON.
fn cargo_build(words: &[String]) -> Option<String> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut words = words[..end].to_vec();
    let is_verb = |word: &&mut String| !word.starts_with(['-', '+']);
    let verb = words.iter_mut().skip(1).find(is_verb)?;
    let more = match verb.as_str() {
        "run" | "r" => {
            "build".clone_into(verb);
            None
        }
        "bench" | "test" | "t" => Some("--no-run".to_owned()),
        _ => return None,
    };
    words.extend(more.into_iter().chain([JSON.to_owned()]));
    Some(shell_line(&words))
}

/// A command in a copy of the tree.
pub(crate) fn command(tree: &SourceTree, line: &str) -> MeasuredCommand {
    let target = tree.target.to_string_lossy().into_owned();
    MeasuredCommand {
        line: line.to_owned(),
        directory: Some(tree.here()),
        variables: vec![("CARGO_TARGET_DIR".to_owned(), target)],
        server: None,
    }
}

/// What was edited, to be followed up.
pub(crate) struct Edited<'a> {
    pub(crate) change: &'a SourceChange,
    /// Its place, whose file is a path in the tree.
    pub(crate) place: &'a SourcePlace,
    /// The text of that file before.
    pub(crate) before: &'a str,
    pub(crate) options: &'a tenure_edit::EditOptions,
}

/// Builds everything, and edits what the compiler asks for. The error is a line, and tells what does not build.
pub(crate) fn build(
    tree: &SourceTree,
    commands: &Commands,
    edited: Option<&Edited<'_>>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), RunError> {
    for line in &commands.build {
        let mut builds = 0;
        loop {
            let run = command(tree, line).outcome(None, stop)?;
            builds += 1;
            let asked = match edited.filter(|_| commands.is_cargo) {
                Some(edited) if builds < MAX_BUILDS => asked_for(tree, edited, &run)?,
                _ => Vec::new(),
            };
            match (asked.is_empty(), run.failure.is_none()) {
                (true, true) => break,
                (true, false) => {
                    return Err(format!("it does not build: {}", first_error(&run)).into());
                }
                (false, _) => tree.edit(&asked)?,
            }
        }
    }
    Ok(())
}

fn asked_for(
    tree: &SourceTree,
    edited: &Edited<'_>,
    build: &CommandRun,
) -> Result<Vec<SourceEdit>, String> {
    let Edited { change, place, before, options } = *edited;
    // The compiler names a file of a package outside by the path of its copy.
    let place = &match place.file.is_absolute() {
        true => SourcePlace { file: tree.path(&place.file), line: place.line },
        false => place.clone(),
    };
    let asked = Asked { before, change, place, options };
    let path = |file: &Path| tree.find(file);
    let read = |file: &Path| {
        let error = || std::io::Error::new(std::io::ErrorKind::NotFound, "not the program's own");
        let found = path(file).ok_or_else(error)?;
        tree.read(&found).map_err(std::io::Error::other)
    };
    let edits = follow_up(&asked, &build.stdout, &read).map_err(|refusal| refusal.to_string())?;
    let in_tree = |edit: SourceEdit| {
        let file: PathBuf = path(Path::new(&edit.file))
            .ok_or_else(|| format!("{} is not the program's own", edit.file))?;
        Ok(SourceEdit { file: file.to_string_lossy().into_owned(), ..edit })
    };
    edits.into_iter().map(in_tree).collect()
}

/// The first error that a compiler printed, or else the last line.
pub(crate) fn first_error(run: &CommandRun) -> String {
    let lines = || run.stderr.lines().chain(run.stdout.lines().filter(|it| !it.starts_with('{')));
    let error = lines().find(|line| {
        line.starts_with("error")
            || line.contains(": error:")
            || line.contains(" FAILED")
            || line.contains("panicked at")
    });
    let last = lines().rfind(|line| !line.trim().is_empty());
    let how = run.failure.as_deref().unwrap_or("it does not say why");
    error.or(last).unwrap_or(how).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn tests_have_the_packages_and_the_features_of_the_benchmark() {
        for (bench, test) in [
            ("cargo bench --bench a", "cargo test"),
            (
                "cargo +nightly -Z x bench -p a --release --offline",
                "cargo +nightly test -Z x -p a --offline",
            ),
            (
                "cargo run --features=b --manifest-path c/Cargo.toml -- --offline",
                "cargo test --features=b --manifest-path c/Cargo.toml",
            ),
        ] {
            assert_eq!(cargo_test(&words(bench)), words(test), "{bench}");
        }
    }

    #[test]
    fn the_lock_of_a_copy_may_be_written() {
        let of = |line: &str| Commands::of(&[line.to_owned()], None, None, Path::new("/")).unwrap();
        let locked = of("cargo bench --locked -- --locked");
        assert_eq!(locked.run, "cargo bench -- --locked");
        assert_eq!(locked.words, words("cargo bench -- --locked"));
        assert_eq!(of("cargo bench --frozen").test.as_deref(), Some("cargo test --offline"));
    }

    #[test]
    fn a_command_that_fails_in_silence_is_said_to_fail() {
        let command = |line: &str| MeasuredCommand { line: line.to_owned(), ..Default::default() };
        let run = command("exit 3").outcome(None, &|| false).unwrap();
        assert_eq!(first_error(&run), "ended with status 3");
    }

    #[test]
    fn cargo_builds_what_it_would_run() {
        let build = |text: &str| cargo_build(&words(text));
        assert_eq!(
            build("cargo run --release -- --bench x").unwrap(),
            "cargo build --release --message-format=json"
        );
        assert_eq!(
            build("cargo +nightly bench --bench a").unwrap(),
            "cargo +nightly bench --bench a --no-run --message-format=json"
        );
        assert_eq!(build("cargo -q t").unwrap(), "cargo -q t --no-run --message-format=json");
        assert_eq!(build("cargo nextest run"), None);
    }

    #[test]
    fn a_tree_suggests_its_build_and_a_line_or_words_are_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let of = |words: &[String]| Commands::of(words, None, None, folder.path());
        assert!(of(&words("./bench -n 1")).unwrap_err().contains("--build"));
        assert!(of(&words("go test -bench .")).unwrap_err().contains("no Go"));
        std::fs::write(folder.path().join("Makefile"), "all:\n").unwrap();
        let commands = of(&words("./bench -n 1")).unwrap();
        assert_eq!(
            (&*commands.run, &commands.build[0][..], commands.test),
            ("./bench -n 1", "make -j2", None)
        );
        let cargo = of(&["cargo bench --bench a".to_owned()]).unwrap();
        assert_eq!(cargo.build.len(), 2);
        assert_eq!(cargo.words, words("cargo bench --bench a"), "not hidden in a shell");
        assert_eq!(cargo.test.as_deref(), Some("cargo test"));
        let tested =
            Commands::of(&words("cargo bench"), None, Some("./t.sh"), folder.path()).unwrap();
        assert_eq!((tested.build.len(), tested.test.as_deref()), (1, Some("./t.sh")));
    }
}
