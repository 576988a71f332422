//! The edit that a finding's repair is.

use tenure_edit::{SourceChange, SourcePlace};
use tenure_model::{Access, Declaration, Finding, Remedy, Repair, Storage};

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

/// The edit and its start, or why there is none.
pub(crate) fn edit(
    finding: &Finding,
    repair: &Repair,
) -> Result<(SourceChange, EditStart), String> {
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
            Declaration::Member { name, .. } => {
                Ok((SourceChange::MembersApart { members: vec![name.clone()] }, declared()?))
            }
            Declaration::Elements { .. } => Ok((SourceChange::TypeApart, declared()?)),
            Declaration::Variables { names } => {
                Ok((SourceChange::VariablesApart { names: names.clone() }, declared()?))
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
    let is_name = |name: &str| name.starts_with(|it: char| it.is_alphabetic() || it == '_');
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
pub(crate) fn place(text: &str) -> Option<SourcePlace> {
    let (file, line) = text.rsplit_once(':')?;
    Some(SourcePlace { file: file.into(), line: line.parse().ok()? })
}

#[cfg(test)]
mod tests {
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
}
