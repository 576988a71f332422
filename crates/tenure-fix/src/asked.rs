//! The edit that a finding's repair is.

use std::collections::{BTreeMap, BTreeSet};

use tenure_edit::{SourceChange, SourcePlace};
use tenure_model::{
    Access, Declaration, Finding, Means, ProposedChange, Remedy, Repair, Report, Role, Sharing,
    Storage, Suggestion, Word,
};

/// Where an edit begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditStart {
    /// The types or variables that change, the likeliest first.
    pub(crate) types: Vec<String>,
    /// Its place.
    pub(crate) at: EditPlace,
}

/// How the place of an edit is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditPlace {
    /// Debugging information has it.
    Known(SourcePlace),
    /// Where one of the types is declared, of whose places rustc says nothing.
    Declared {
        /// Files that may declare another one.
        files: Vec<String>,
    },
}

/// What a change of a report is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangeSubject<'a> {
    /// A line, by its first repair.
    Line(&'a Finding),
    /// An order of a type's members.
    Order(&'a Suggestion),
}

impl<'a> ChangeSubject<'a> {
    /// The changes of a report: those of its answer; of one without the first repair of each finding, and the orders that it suggests.
    pub(crate) fn all(report: &'a Report) -> Vec<(ProposedChange, Option<Self>)> {
        let of = |change: &ProposedChange| {
            report.findings.iter().find(|it| it.rank == change.finding).map(Self::Line)
        };
        if let Some(answer) = &report.answer {
            let changes = answer.changes.iter().chain(&answer.not_worth);
            return changes.map(|it| (it.clone(), of(it))).collect();
        }
        let lines = report.findings.iter().filter(|it| !it.repairs.is_empty()).map(Self::Line);
        let orders = report.suggestions.iter().filter(|it| it.means == Means::Order);
        let taken = report.findings.iter().map(|it| it.rank).max().unwrap_or_default();
        let number = |(index, subject): (u64, Self)| (subject.proposed(index + 1), Some(subject));
        let orders = (taken..).zip(orders.map(Self::Order)).map(number);
        lines.map(|subject| (subject.proposed(0), Some(subject))).chain(orders).collect()
    }

    /// It as a change: a line has its finding's number, an order this one.
    fn proposed(self, number: u64) -> ProposedChange {
        let change = |number, place: &Option<String>, what: &str, is_edit| ProposedChange {
            number,
            finding: 0,
            place: place.clone().unwrap_or_default(),
            is_use: false,
            what: what.to_owned(),
            is_edit,
            gains: Vec::new(),
            moves_to: None,
        };
        match self {
            Self::Line(it) => {
                let repair = &it.repairs[0];
                let change = change(it.rank, &it.declared, &repair.brief, repair.is_edit());
                ProposedChange { finding: it.rank, is_use: it.declared.is_none(), ..change }
            }
            Self::Order(it) => change(number, &it.before.declared, &it.summary, true),
        }
    }

    /// The edit and its start, or why there is none.
    pub(crate) fn edit(self) -> Result<(SourceChange, EditStart), String> {
        match self {
            Self::Line(finding) => {
                let repair = finding.repairs.first();
                edit(finding, repair.ok_or("the report does not have its finding")?)
            }
            Self::Order(it) => {
                let place = it.before.declared.as_deref().and_then(place);
                let place = place.ok_or("where it is declared is not known")?;
                let types = identifiers(&it.type_name, None);
                // Padding is no member.
                let members = it.order.iter().filter(|it| !it.starts_with('('));
                let change = SourceChange::Order { members: members.cloned().collect() };
                Ok((change, EditStart { types, at: EditPlace::Known(place) }))
            }
        }
    }

    /// Whether a finding of the changed program is what was to go.
    pub(crate) fn is_still(self, found: &Finding) -> bool {
        match self {
            Self::Line(it) => {
                found.type_name == it.type_name
                    && found.contended.path == it.contended.path
                    && found.kind == it.kind
            }
            Self::Order(it) => found.type_name == it.type_name,
        }
    }
}

/// The edit and its start, or why there is none.
fn edit(finding: &Finding, repair: &Repair) -> Result<(SourceChange, EditStart), String> {
    let storage = finding.observed.as_ref().map(|it| &it.storage);
    let types = identifiers(&finding.type_name, storage);
    let start = |at| EditStart { types: types.clone(), at };
    let declared = || match finding.declared.as_deref().and_then(place) {
        Some(place) => Ok(start(EditPlace::Known(place))),
        None => {
            let files = files(finding);
            match types.is_empty() && files.is_empty() {
                true => Err("where it is declared is not known".to_owned()),
                false => Ok(start(EditPlace::Declared { files })),
            }
        }
    };
    let by_hand = |why: &str| Err(why.to_owned());
    let Some(remedy) = repair.remedies.first() else { return by_hand("the report has no change") };
    match (remedy, &repair.target.declaration) {
        (Remedy::Apart | Remedy::ReadMostlyApart, Some(declaration)) => match declaration {
            Declaration::Member { .. } if is_of_elements(finding) => {
                Ok((SourceChange::TypeApart, declared()?))
            }
            Declaration::Member { name, .. } => {
                let lines = match lines(finding) {
                    lines if lines.is_empty() => vec![vec![name.clone()]],
                    lines => lines,
                };
                let change = match finding.sharing {
                    Sharing::Statics { .. } => variables(&lines.concat()),
                    _ => SourceChange::MembersApart { lines },
                };
                Ok((change, declared()?))
            }
            Declaration::Elements { .. } => Ok((SourceChange::TypeApart, declared()?)),
            Declaration::Variables { names } => {
                Ok((SourceChange::VariablesApart { names: names.clone() }, declared()?))
            }
            Declaration::Words { type_name } if is_struct(type_name) => {
                // The place is that of the array.
                let at = EditPlace::Declared { files: files(finding) };
                Ok((SourceChange::TypeApart, EditStart { types: identifiers(type_name, None), at }))
            }
            Declaration::Words { .. } | Declaration::Array { .. } | Declaration::Boxed => {
                by_hand("its elements need a type of their own")
            }
        },
        (Remedy::Apart | Remedy::ReadMostlyApart, None) => {
            by_hand("what is to be moved has no declaration with a name")
        }
        (Remedy::Cells, _) => {
            Ok((SourceChange::CountPerThread { name: name(finding)? }, declared()?))
        }
        (Remedy::TestBeforeStore, _) => {
            let name = name(finding)?;
            let is_store = |access| matches!(access, Access::Store | Access::Write);
            let uses = finding.words().into_iter().flat_map(|word| &word.uses);
            let stores = uses.filter(|it| is_store(it.operation));
            let line = stores.filter_map(|it| place(it.code.as_ref()?.line.as_deref()?)).next();
            let place = line.ok_or_else(|| "where it is stored is not known".to_owned())?;
            Ok((SourceChange::TestBeforeStore { name }, start(EditPlace::Known(place))))
        }
        (Remedy::Borrow, _) => {
            // The library adds to the count; the program's own line is further out.
            let line = repair.target.place.as_deref().and_then(place);
            let place = line.ok_or_else(|| "where it is cloned is not known".to_owned())?;
            Ok((SourceChange::Borrow, start(EditPlace::Known(place))))
        }
        _ => by_hand("it takes more than an edit"),
    }
}

/// The part of a word's accesses that its owner makes.
const OWNERS_PART: f64 = 0.9;

/// The thread that alone uses a word, by far.
fn owner(word: &Word) -> Option<u64> {
    let mut by_thread: BTreeMap<u64, f64> = BTreeMap::new();
    for it in &word.uses {
        for id in &it.ids {
            *by_thread.entry(*id).or_default() += it.per_second;
        }
    }
    let all: f64 = by_thread.values().sum();
    let (owner, most) = by_thread.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most >= OWNERS_PART * all).then_some(owner)
}

/// The index of an array's element that a path begins with: 1 of `[1].sum`.
fn element(word: &Word) -> Option<&str> {
    word.path.strip_prefix('[')?.split_once("].").map(|(index, _)| index)
}

/// Whether threads own elements of an array, so that these are to be apart and not members of each.
fn is_of_elements(finding: &Finding) -> bool {
    let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
    for word in finding.words() {
        let (Some(element), Some(owner)) = (element(word), owner(word)) else { return false };
        if *owners.entry(element).or_insert(owner) != owner {
            return false;
        }
    }
    owners.values().collect::<BTreeSet<_>>().len() > 1
}

/// The paths of members that get lines of their own. What one thread alone uses may stay together; a word that several threads write is
/// alone, and those that they only read stay where they are.
fn lines(finding: &Finding) -> Vec<Vec<String>> {
    let mut of_owner: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut lines = Vec::new();
    for word in finding.words() {
        let is_written = word.role.is_contended();
        let is_path = |path: &str| path.split('.').all(is_name);
        if word.role == Role::Lock || !is_path(&word.path) {
            continue;
        }
        match owner(word) {
            Some(owner) => of_owner.entry(owner).or_default().push(word.path.clone()),
            None if is_written => lines.push(vec![word.path.clone()]),
            None => {}
        }
    }
    let writes = |paths: &Vec<String>| {
        let of_line = |word: &&&Word| word.role.is_contended() && paths.contains(&word.path);
        finding.words().iter().any(|word| of_line(&word))
    };
    lines.extend(of_owner.into_values().filter(writes));
    lines
}

/// Neighbouring variables on lines of their own, by the paths of the words in them.
fn variables(paths: &[String]) -> SourceChange {
    let variable = |path: &String| path.split('.').next().unwrap_or_default().to_owned();
    let names: BTreeSet<_> = paths.iter().map(variable).collect();
    SourceChange::VariablesApart { names: names.into_iter().collect() }
}

/// Whether the elements of an array of Rust are a struct of one word, and no number: `SeqLock[97]`.
fn is_struct(array: &str) -> bool {
    let element = array.split('[').next().unwrap_or_default();
    let last = element.rsplit("::").next().unwrap_or_default();
    is_name(last) && last.starts_with(char::is_uppercase) && !last.starts_with("Atomic")
}

/// Whether a text is the name of a member or a type.
fn is_name(name: &str) -> bool {
    name.starts_with(|it: char| it.is_alphabetic() || it == '_')
        && name.chars().all(|it| it.is_alphanumeric() || it == '_')
}

/// The member or variable that is counted or stored to: the last part of its path.
fn name(finding: &Finding) -> Result<String, String> {
    let path = finding.contended.path.rsplit('.').find(|part| !part.is_empty());
    let variable = match finding.observed.as_ref().map(|it| &it.storage) {
        Some(Storage::Static { name }) => name.rsplit("::").next(),
        _ => None,
    };
    let is_name = |name: &&str| name.chars().all(|it| it.is_alphanumeric() || it == '_');
    // `v` and `value` are inside of an atomic.
    let inner = ["v", "value", "__0", "Value", "inner"];
    let name = path.filter(|path| !inner.contains(path)).or(variable).filter(is_name);
    name.map(str::to_owned).ok_or_else(|| "the word has no name".to_owned())
}

/// The names in a type, from the innermost: `App` and `ArcInner` of `alloc::sync::ArcInner<server::App>`. Before them that of the variable.
fn identifiers(type_name: &str, storage: Option<&Storage>) -> Vec<String> {
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut names: Vec<String> = match storage {
        Some(Storage::Static { name }) => vec![last(name)],
        _ => Vec::new(),
    };
    names.extend(type_name.rsplit(|it| !is_part(it)).map(last));
    names.retain(|name| is_name(name));
    names
}

/// The files whose code uses the words.
fn files(finding: &Finding) -> Vec<String> {
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    let lines =
        uses.flat_map(|it| it.code.iter().chain(&it.callers)).filter_map(|it| it.line.as_deref());
    let mut files: Vec<String> =
        lines.filter_map(|line| Some(line.rsplit_once(':')?.0.to_owned())).collect();
    files.sort();
    files.dedup();
    files
}

/// `file:line`.
fn place(text: &str) -> Option<SourcePlace> {
    let (file, line) = text.rsplit_once(':')?;
    Some(SourcePlace { file: file.into(), line: line.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_innermost_name_of_a_type_is_the_likeliest() {
        let of = |name: &str| identifiers(name, None);
        assert_eq!(of("alloc::sync::ArcInner<server::App>"), ["App", "ArcInner"]);
        assert_eq!(of("Stats"), ["Stats"]);
        assert_eq!(of("[a::Slot; 64]"), ["Slot"]);
        let name = "server::HITS".to_owned();
        assert_eq!(identifiers("", Some(&Storage::Static { name })), ["HITS"]);
    }

    #[test]
    fn a_place_is_a_file_and_a_line() {
        let expected = SourcePlace { file: "C:/a.rs".into(), line: 9 };
        assert_eq!(place("C:/a.rs:9"), Some(expected));
        assert_eq!(place("a.rs"), None);
    }

    fn finding(words: &[(&str, &[u64], &str)]) -> Finding {
        let word = |(at, (path, ids, role)): (usize, &(&str, &[u64], &str))| {
            let uses: Vec<_> = ids
                .iter()
                .map(|id| json!({"threads": "t", "count": 1, "ids": [id], "operation": "write", "per_second": 9.0}))
                .collect();
            json!({"path": path, "offset": 8 * at, "size": 8, "type": "long", "role": role, "uses": uses})
        };
        let mut words: Vec<_> = words.iter().enumerate().map(word).collect();
        serde_json::from_value(json!({
            "rank": 1, "type": "pipe", "sharing": {"kind": "within"}, "kind": "false_sharing", "contended": words.remove(0),
            "victims": words, "score": 99.0, "confidence": {"level": "high", "placements": 1.0, "why": ""}
        }))
        .unwrap()
    }

    #[test]
    fn what_one_thread_uses_stays_together_and_what_several_write_is_alone() {
        let found = finding(&[
            ("queue.head", &[1], "written"),
            ("queue.cached", &[1], "read_mostly"),
            ("queue.tail", &[2], "written"),
            ("full", &[1, 2], "written"),
            ("limit", &[1, 2], "read_mostly"),
            ("lock", &[1, 2], "lock"),
        ]);
        let expected = [vec!["full"], vec!["queue.head", "queue.cached"], vec!["queue.tail"]];
        assert_eq!(lines(&found), expected);
        assert!(!is_of_elements(&found));
    }

    #[test]
    fn variables_are_put_apart_once_each() {
        let paths = ["errors", "stats.read", "stats.written"].map(str::to_owned);
        let names = ["errors", "stats"].map(str::to_owned).to_vec();
        assert_eq!(variables(&paths), SourceChange::VariablesApart { names });
    }

    #[test]
    fn elements_that_threads_own_are_apart_and_not_their_members() {
        let of = |one: &[u64], other: &[u64]| {
            is_of_elements(&finding(&[("[0].sum", one, "written"), ("[1].sum", other, "written")]))
        };
        assert!(of(&[1], &[2]));
        assert!(!of(&[1], &[1]));
        assert!(!of(&[1, 2], &[2]));
    }

    #[test]
    fn an_array_of_a_struct_of_one_word_is_told_from_one_of_numbers() {
        assert!(is_struct("SeqLock[97]") && is_struct("a::Slot[4]"));
        assert!(
            !is_struct("AtomicU64[4]")
                && !is_struct("u64[4]")
                && !is_struct("core::sync::atomic::AtomicUsize[4]")
        );
    }
}
