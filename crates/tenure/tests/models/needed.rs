//! Every ordering of a room is needed: the shipping code fails with any one of them weakened.
//!
//! A room lists its orderings with [`needed!`]: where each is written, and the model that fails without it, and
//! how. Its [`Room`] checks three things:
//!
//! - [`fail_when_weakened`](Room::fail_when_weakened): each model fails as predicted;
//! - [`are_complete`](Room::are_complete): the list has every ordering in the source, and both halves of an AcqRel;
//! - [`try_each`](Room::try_each): which tests of the room notice each ordering, without a list. It takes minutes, so
//!   it is ignored; `ci/mutants.sh --orderings` runs it.

use super::stage::{Failure, Preemptions, fails};
use super::weakening::{File, MET, Site, VARIABLE, Written, lines_of, orderings_in, weakened};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tenure::memory::Ordering;

/// File, function, kind and operation.
type Name = (&'static str, &'static str, Ordering, &'static str);

pub(crate) struct Needed {
    pub(crate) name: Name,
    /// Another function than the one it is written in, whose lines to weaken.
    pub(crate) under: Option<(File, &'static str)>,
    pub(crate) to: Ordering,
    pub(crate) preemptions: Preemptions,
    pub(crate) failure: Failure,
    pub(crate) model: fn(),
}

/// `FILE "Type::function" Order "operation" => failure, preemptions, model;`
///
/// `operation` is the function that takes the ordering, as [`Written`] has it: `"load"`, `"load 2"`, `"compare_exchange
/// failing"`. After it may stand `to Order`, if it becomes that and not Relaxed; and `under (FILE, "function")` for the
/// lines of a caller, if the function is `#[track_caller]`.
macro_rules! needed {
    ($($file:ident $function:literal $order:ident $operation:literal $(to $to:ident)? $(under $under:expr)?
        => $failure:expr, $preemptions:expr, $model:expr;)*) => {
        &[$($crate::needed::Needed {
            name: ($file.0, $function, tenure::memory::Ordering::$order, $operation),
            under: [$(Some($under),)? None][0],
            to: [$(tenure::memory::Ordering::$to,)? tenure::memory::Ordering::Relaxed][0],
            preemptions: $preemptions,
            failure: $failure,
            model: || $model,
        }),*]
    };
}
pub(crate) use needed;

pub(crate) struct Room {
    pub(crate) files: &'static [File],
    pub(crate) needed: &'static [Needed],
    /// Orderings that no model misses, or only the half in `needed`, and why they are there.
    pub(crate) kept: &'static [(Name, &'static str)],
    /// How the names of its tests begin.
    pub(crate) tests: &'static [&'static str],
}

macro_rules! tests_of {
    ($room:ident) => {
        #[test]
        fn no_ordering_can_be_relaxed() {
            $room.fail_when_weakened();
        }

        #[test]
        fn every_ordering_is_in_the_list() {
            $room.are_complete();
        }

        #[test]
        #[ignore = "takes minutes: ci/mutants.sh --orderings"]
        fn each_ordering_is_noticed() {
            $room.try_each();
        }
    };
}
pub(crate) use tests_of;

fn name(written: &Written) -> (&str, &str, Ordering, &str) {
    (written.path, &written.function, written.order, &written.operation)
}

/// Weaker by one promise.
fn weaker(order: Ordering) -> &'static [Ordering] {
    match order {
        Ordering::AcqRel => &[Ordering::Acquire, Ordering::Release],
        _ => &[Ordering::Relaxed],
    }
}

impl Room {
    fn written(&self) -> Vec<Written> {
        self.files.iter().flat_map(|file| orderings_in(*file, self.files)).collect()
    }

    pub(crate) fn fail_when_weakened(&self) {
        let all = self.written();
        for needed in self.needed {
            println!("{:?} made {:?}", needed.name, needed.to);
            let written = all.iter().find(|written| name(written) == needed.name);
            let site = &written.expect("it is not in the source: see `are_complete`").site;
            let lines =
                needed.under.map_or_else(|| site.lines.clone(), |(file, of)| lines_of(file, of));
            let was_met = weakened(Site { to: needed.to, lines, ..site.clone() }, || {
                fails(needed.preemptions, needed.failure, needed.model);
            });
            assert!(was_met, "the model does not come by there");
        }
    }

    pub(crate) fn are_complete(&self) {
        let all = self.written();
        let written = Vec::from_iter(
            all.iter().map(name).flat_map(|name| weaker(name.2).iter().map(move |&to| (name, to))),
        );
        let kept =
            self.kept.iter().flat_map(|kept| weaker(kept.0.2).iter().map(|&to| (kept.0, to)));
        let listed =
            Vec::from_iter(self.needed.iter().map(|needed| (needed.name, needed.to)).chain(kept));
        let missing = Vec::from_iter(written.iter().filter(|weaker| !listed.contains(weaker)));
        assert!(missing.is_empty(), "not in the list: {missing:#?}");
        let gone = Vec::from_iter(listed.iter().filter(|weaker| !written.contains(weaker)));
        assert!(gone.is_empty(), "not in the source any more: {gone:#?}");
    }

    /// Weakens each ordering of the source in turn, AcqRel to each half, and runs the room's tests up to the first that
    /// fails.
    pub(crate) fn try_each(&self) {
        let mut unnoticed = Vec::new();
        for written in self.written() {
            for &to in weaker(written.order) {
                let began = Instant::now();
                let found = self.first_to_fail(&Site { to, ..written.site.clone() });
                let Written { path, line, function, order, operation, .. } = &written;
                let seconds = began.elapsed().as_secs_f32();
                println!(
                    "{path}:{line} {function} {operation} {order:?} to {to:?}, {seconds:.1} s: {found:?}"
                );
                let name = name(&written);
                let is_kept = self.kept.iter().any(|kept| kept.0 == name)
                    && !self.needed.iter().any(|needed| (needed.name, needed.to) == (name, to));
                if found.is_err() != is_kept {
                    unnoticed
                        .push(format!("{path}:{line} {function} {operation} {order:?} to {to:?}"));
                }
            }
        }
        assert!(unnoticed.is_empty(), "noticed by no test, or kept and noticed: {unnoticed:#?}");
    }

    /// An error says whether any test met the ordering.
    fn first_to_fail(&self, site: &Site) -> Result<String, &'static str> {
        let mut tests = Command::new(std::env::current_exe().expect("a test has a path"));
        tests.args(self.tests).args(["--skip", "orderings::", "--skip", "twins::"]);
        tests.env(VARIABLE, site.to_string()).stdin(Stdio::null());
        let mut tests =
            tests.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs now");
        let lines = BufReader::new(tests.stdout.take().expect("it is piped")).lines();
        let failed = lines.map_while(Result::ok).find_map(|line| {
            Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned())
        });
        if failed.is_some() {
            // It may have ended by itself.
            let _ = tests.kill();
        }
        let mut said = String::new();
        tests.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
        let status = tests.wait().expect("it is a child");
        match failed {
            Some(name) => Ok(name),
            None if !status.success() => Ok(format!("a test that ends the process: {said}")),
            None if said.contains(MET) => Err("no test notices"),
            None => Err("no test comes by"),
        }
    }
}

pub(crate) fn fails_without(
    barrier: &str,
    (file, function): (File, &'static str),
    preemptions: Preemptions,
    failure: Failure,
    model: fn(),
) {
    let (operation, lines) = (barrier.to_owned(), lines_of(file, function));
    let site = Site { operation, order: Ordering::SeqCst, to: Ordering::Relaxed, lines };
    let was_met = weakened(site, || fails(preemptions, failure, model));
    assert!(was_met, "the model does not come by there");
}

/// Files whose orderings no model weakens, by the begin of their path, and why.
const WITHOUT_MODELS: [(&str, &str); 3] = [
    ("src/memory/native/", "the real machine: `ci/mutants.sh memory` weakens them"),
    ("src/registry/machine.rs", "they tell a creator that a fork lost, on the real machine alone"),
    (
        "src/revocable/shootdown/verify.rs",
        "a second look for faults, which relies on no other rule",
    ),
];

#[test]
fn every_file_with_orderings_has_models_that_weaken_them() {
    let rooms = [
        &crate::cells::orderings::ROOM,
        &crate::counts::orderings::ROOM,
        &crate::revocable::orderings::ROOM,
        &crate::pool::orderings::ROOM,
        #[cfg(feature = "registry")]
        &crate::registry::orderings::ROOM,
    ];
    let modelled = Vec::from_iter(rooms.iter().flat_map(|room| room.files).map(|file| file.0));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name: &str = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned().leak();
            let text = fs::read_to_string(&path).unwrap().leak();
            if name.ends_with("/tests.rs") || orderings_in((name, text), &[]).is_empty() {
                continue;
            }
            let excused = WITHOUT_MODELS.iter().any(|(begin, _)| name.starts_with(begin));
            assert!(
                modelled.contains(&name) != excused,
                "{name} is in no room, or excused in vain"
            );
        }
    }
}
