//! The edit that a finding's repair is.

use std::collections::{BTreeMap, BTreeSet};

use tenure_edit::{SourceChange, SourcePlace};
use tenure_model::{
    Access, Declaration, Finding, Language, Means, ProposedChange, Remedy, Repair, Report, Role,
    Sharing, Storage, Suggestion, Target, Word,
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
        let change = |finding, place: &Option<String>, what: &str, is_edit| ProposedChange {
            finding,
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
                ProposedChange { is_use: it.declared.is_none(), ..change }
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
    let at = |declared: Option<&str>| match declared.and_then(place) {
        Some(place) => Ok(EditPlace::Known(place)),
        None => {
            let files = files(finding);
            match types.is_empty() && files.is_empty() {
                true => Err("where it is declared is not known".to_owned()),
                false => Ok(EditPlace::Declared { files }),
            }
        }
    };
    let declared = || at(finding.declared.as_deref()).map(start);
    // That of an array is the place of a variable.
    let of_member = finding.contended.member_of.as_ref();
    let of_member = of_member.and_then(|it| it.declared.as_deref());
    let of_struct = || at(of_member.or(finding.declared.as_deref())).map(start);
    let type_apart = || {
        let is_variable = matches!(storage, Some(Storage::Static { .. }));
        let at = at(of_member.or(finding.declared.as_deref().filter(|_| !is_variable)))?;
        let element = finding.contended.member_of.as_ref().map(|it| &it.type_name);
        let types = identifiers(element.unwrap_or(&finding.type_name), None);
        Ok((SourceChange::TypeApart, EditStart { types, at }))
    };
    let remedy = repair.remedies.first().ok_or("the report has no change")?;
    let by_hand = || Err(why_by_hand(*remedy, &repair.target).to_owned());
    if !repair.is_edit() {
        return by_hand();
    }
    match (remedy, &repair.target.declaration) {
        (Remedy::Apart | Remedy::ReadMostlyApart, Some(declaration)) => match declaration {
            Declaration::Member { name, .. } => {
                let lines = match lines(finding) {
                    lines if lines.is_empty() => vec![vec![name.clone()]],
                    lines => lines,
                };
                if matches!(finding.sharing, Sharing::Statics { .. }) {
                    return Ok((variables(&lines.concat()), declared()?));
                }
                Ok((SourceChange::MembersApart { lines }, of_struct()?))
            }
            Declaration::Elements { .. } => type_apart(),
            Declaration::Variables { names } => {
                Ok((SourceChange::VariablesApart { names: names.clone() }, declared()?))
            }
            Declaration::Words { .. } | Declaration::Array { .. } | Declaration::Boxed => by_hand(),
        },
        (Remedy::Cells, _) => {
            Ok((SourceChange::CountPerThread { name: name(finding)? }, of_struct()?))
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
        _ => by_hand(),
    }
}

/// Why a change is no edit.
fn why_by_hand(remedy: Remedy, target: &Target) -> &'static str {
    match (remedy, &target.declaration) {
        _ if !matches!(target.language, Some(Language::Rust | Language::C | Language::Cpp)) => {
            "fix edits Rust, C and C++"
        }
        (Remedy::Apart | Remedy::ReadMostlyApart, Some(_)) => {
            "its elements need a type of their own"
        }
        (Remedy::Apart | Remedy::ReadMostlyApart, None) => {
            "what is to be moved has no declaration with a name"
        }
        _ => "it takes more than an edit",
    }
}

/// The paths of members that get lines of their own: those of the type that declares the contended word. What one thread alone uses may
/// stay together; a word that several threads write is alone, and those that they only read stay where they are.
fn lines(finding: &Finding) -> Vec<Vec<String>> {
    let mut of_owner: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut lines = Vec::new();
    for word in finding.words() {
        let is_written = word.role.is_contended();
        let is_path = |path: &str| path.split('.').all(is_name);
        let is_elsewhere = word.member_of != finding.contended.member_of;
        if word.role == Role::Lock || !is_path(&word.path) || is_elsewhere {
            continue;
        }
        match word.owner() {
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

/// The file that declares the variable, and those whose code uses the words.
fn files(finding: &Finding) -> Vec<String> {
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    let lines =
        uses.flat_map(|it| it.code.iter().chain(&it.callers)).filter_map(|it| it.line.as_deref());
    let lines = finding.declared.as_deref().into_iter().chain(lines);
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

    use tenure_model::MemberOf;

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
    }

    #[test]
    fn variables_are_put_apart_once_each() {
        let paths = ["errors", "stats.read", "stats.written"].map(str::to_owned);
        let names = ["errors", "stats"].map(str::to_owned).to_vec();
        assert_eq!(variables(&paths), SourceChange::VariablesApart { names });
    }

    #[test]
    fn a_change_is_made_where_the_base_or_the_element_is_declared() {
        let mut found = finding(&[("hits", &[1], "written"), ("limit", &[2], "written")]);
        found.declared = Some("derived.hpp:9".to_owned());
        let (type_name, declared) = ("Base".to_owned(), Some("base.hpp:3".to_owned()));
        found.contended.member_of = Some(MemberOf { type_name, declared });
        let repair = |declaration: serde_json::Value| -> Repair {
            serde_json::from_value(json!({
                "name": "apart", "remedies": ["apart"], "text": "", "bytes": 0,
                "target": {"language": "cpp", "line_bytes": 64, "declaration": declaration, "object": "", "place": null}
            }))
            .unwrap()
        };
        let base = || EditPlace::Known(place("base.hpp:3").unwrap());
        let member = repair(json!({"kind": "member", "name": "hits", "type": "long"}));
        let (change, start) = edit(&found, &member).unwrap();
        // The other one is of the derived class.
        let lines = vec![vec!["hits".to_owned()]];
        assert_eq!((change, start.at), (SourceChange::MembersApart { lines }, base()));
        let elements = repair(json!({"kind": "elements", "type": "Slot"}));
        let (change, start) = edit(&found, &elements).unwrap();
        assert_eq!((change, start.at), (SourceChange::TypeApart, base()));
        assert_eq!(start.types, ["Base"]);
    }
}
