//! Words of real programs, judged: `tests/roles.toml` has what is right, written down beforehand.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tenure_model::recording::{Process, Thread};
use tenure_model::{Access, Role, Target};

use super::names::{ProcessNames, Programs};
use super::role::{WordNames, WriteNames, role};
use super::threads::Groups;
use crate::forecast::pattern::{PatternMemory, candidates, pattern};
use crate::lines::tests::done;
use crate::lines::{Elements, UsedWord};

#[derive(Deserialize)]
struct WordTable {
    line: Vec<JudgedLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgedLine {
    about: String,
    object: String,
    changes: BTreeSet<String>,
    words: Vec<String>,
    elements: Option<[u64; 2]>,
    #[serde(default)]
    owned: bool,
    objects: Option<u64>,
    #[serde(default)]
    guards_more: bool,
    /// Why it is judged wrongly.
    missed: Option<String>,
}

/// What was judged of a line.
struct Judgement {
    roles: Vec<(Role, Role)>,
    changes: BTreeSet<String>,
}

const OFTEN: f64 = 100_000.0;

/// A word with its names, what it is, and which of its instructions use what they return.
fn word(text: &str, object: &str, at: &mut u64, codes: &mut Codes) -> (UsedWord, String, Role) {
    let [path, type_name, bytes, role, uses] =
        text.split('|').map(str::trim).collect::<Vec<_>>()[..]
    else {
        panic!("{text}")
    };
    let mut names = WordNames {
        path: path.to_owned(),
        type_name: type_name.to_owned(),
        object: object.to_owned(),
        writes: Vec::new(),
    };
    let mut all = Vec::new();
    for text in uses.split("; ") {
        let [operation, threads, function, options @ ..] = &text.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{text}")
        };
        let option = |name: &str| {
            let find = |it: &&str| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            options.iter().find_map(find)
        };
        let access = match *operation {
            "load" => Access::Load,
            "store" => Access::Store,
            "read" => Access::Read,
            "write" => Access::Write,
            "add" => Access::Add,
            "cas" => Access::CompareExchange,
            "exchange" => Access::Exchange,
            "lock" => Access::Lock,
            "unlock" => Access::Unlock,
            other => panic!("{other}"),
        };
        let threads = match *threads {
            "all" => 2..=5,
            "one" => 2..=2,
            "others" => 3..=5,
            "main" => 1..=1,
            other => panic!("{other}"),
        };
        let times: f64 = option("n").map_or(1.0, |times| times.parse().unwrap());
        let count = (OFTEN * times) as u64;
        let code = codes.next(function, option("r").as_deref());
        let threads: Vec<_> = threads.map(|thread| (thread, count)).collect();
        let use_ = done(access, code, &threads);
        let publishes = options.contains(&"publishes");
        if access.writes() {
            names.writes.push(WriteNames {
                access: Some(access),
                count: use_.count(),
                functions: vec![(*function).to_owned()],
                files: option("file").into_iter().collect(),
                called: option("called"),
                stored: option("k").map(|value| (value.parse().unwrap(), publishes)),
            });
        }
        all.push(use_);
    }
    let size: u64 = bytes.parse().unwrap();
    let start = at.next_multiple_of(size);
    *at = start + size;
    let writers: BTreeSet<u32> = all
        .iter()
        .filter(|use_| use_.access.writes())
        .flat_map(|use_| use_.threads.keys().copied())
        .collect();
    let word = UsedWord {
        offset: start.cast_signed(),
        size,
        uses: all,
        meaning: names.meaning(),
        is_owned: writers.len() <= 1,
    };
    let role = serde_json::from_value(role.into()).expect(role);
    (word, path.to_owned(), role)
}

/// Addresses of code: instructions of one function are near each other.
#[derive(Default)]
struct Codes {
    functions: Vec<String>,
    at: BTreeMap<usize, u64>,
    results: BTreeMap<u64, Option<bool>>,
}

impl Codes {
    fn next(&mut self, function: &str, result: Option<&str>) -> u64 {
        let known = self.functions.iter().position(|it| it == function);
        let place = known.unwrap_or_else(|| {
            self.functions.push(function.to_owned());
            self.functions.len() - 1
        });
        let at = self.at.entry(place).or_insert(4096 * (place as u64 + 1));
        *at += 16;
        let result = match result {
            Some("used") => Some(true),
            Some("lost") => Some(false),
            _ => None,
        };
        self.results.insert(*at, result);
        *at
    }
}

fn judged(line: &JudgedLine) -> Judgement {
    let (mut at, mut codes) = (0, Codes::default());
    let all: Vec<_> =
        line.words.iter().map(|text| word(text, &line.object, &mut at, &mut codes)).collect();
    let uses_result = |code: u64| codes.results.get(&code).copied().flatten();
    let roles =
        all.iter().map(|(word, _, expected)| (role(word, &uses_result), *expected)).collect();
    let writes_elsewhere = u64::from(line.guards_more) * 10 * OFTEN as u64;
    let memory = PatternMemory {
        name: "object".to_owned(),
        line: 0,
        line_bytes: 64,
        elements: line.elements.map(|[stride, count]| Elements {
            start: 0,
            stride,
            count,
            size: Some(stride * count),
            owned: line.owned,
        }),
        objects: line.objects.unwrap_or(1),
        size: 64,
        written_elsewhere: Some((1..=5).map(|thread| (thread, writes_elsewhere)).collect()),
    };
    let thread = |id| Thread {
        id,
        name: if id == 1 { "main" } else { "worker" }.to_owned(),
        accesses: 10_000_000,
        cpu: 100_000_000,
        waited: 40_000_000,
        ..Thread::default()
    };
    let threads = (1..=5).map(thread).collect();
    let process = Process { threads, access_ns: 1.5, ..Process::default() };
    let programs = Programs::default();
    let groups = Groups::of(&process, &ProcessNames::new(&[], &[], &programs));
    let words: Vec<_> = all.into_iter().map(|(word, path, _)| (word, path)).collect();
    let recorded = pattern(&memory, &words, &groups, &uses_result).expect(&line.about);
    let repairs = candidates(&recorded.pattern, &Target::default());
    Judgement { roles, changes: repairs.into_iter().map(|repair| repair.name).collect() }
}

#[test]
fn words_of_real_programs_have_the_right_roles_and_no_change_that_breaks_them() {
    const LAYOUT: [&str; 2] = ["apart", "read_mostly_apart"];
    let table: WordTable = toml::from_str(include_str!("../../tests/roles.toml")).unwrap();
    let (mut words, mut right) = (0, 0);
    let mut wrong = Vec::new();
    for line in &table.line {
        let Judgement { roles, changes } = judged(line);
        let is_harmless =
            |change: &&String| line.changes.contains(*change) || LAYOUT.contains(&change.as_str());
        let breaking: Vec<_> = changes.iter().filter(|change| !is_harmless(change)).collect();
        if !breaking.is_empty() {
            wrong.push(format!("{}: {breaking:?} would break it", line.about));
        }
        let has_all = line.changes.is_subset(&changes);
        words += roles.len();
        right += roles.iter().filter(|(found, expected)| found == expected && has_all).count();
        let is_right = has_all && roles.iter().all(|(found, expected)| found == expected);
        if is_right == line.missed.is_some() {
            wrong.push(format!("{}: {roles:?}, {changes:?}", line.about));
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert_eq!((words, right), (119, 112));
}
