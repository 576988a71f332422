//! The edits that a change begins with.

use std::path::{Path, PathBuf};

use tenure_edit::c::SourceText;
use tenure_edit::{EditOptions, Padding, SourceChange, SourcePlace, c, rust};
use tenure_model::{Language, Means, Report, SourceEdit};

use crate::asked::{ChangeSubject, EditPlace, EditStart};
use crate::tree::SourceTree;

/// Adds the edits that need no compiler to the repairs and orders of a report, for the checkout that `here` is in. Where there is none,
/// or it does not have the source, the report stays as it is.
pub fn add(report: &mut Report, here: &Path) {
    let Some(tree) = SourceTree::of_user(here) else { return };
    let options = EditOptions { line_bytes: report.line_bytes, padding: Padding::default() };
    let dependency = |_: &Path| Ok(None);
    let editor = Editor { tree: &tree, built: &tree, options, dependency: &dependency };
    for finding in &mut report.findings {
        let edits = editor.whole(ChangeSubject::Line(finding));
        if let Some(repair) = finding.repairs.first_mut() {
            repair.edits = edits;
        }
    }
    for order in report.suggestions.iter_mut().filter(|it| it.means == Means::Order) {
        order.edits = editor.whole(ChangeSubject::Order(order));
    }
}

/// What finds and edits declarations.
pub(crate) struct Editor<'a> {
    pub(crate) tree: &'a SourceTree,
    /// The same one without the change, which was built.
    pub(crate) built: &'a SourceTree,
    pub(crate) options: EditOptions,
    /// The path in the tree of a file of a package outside, which is copied for it.
    pub(crate) dependency: &'a dyn Fn(&Path) -> Result<Option<PathBuf>, String>,
}

/// What a change begins with.
pub(crate) struct FirstEdits {
    /// Its place, whose file is a path in the tree.
    pub(crate) place: SourcePlace,
    /// The text of that file.
    pub(crate) before: String,
    pub(crate) edits: Vec<SourceEdit>,
    /// What the reader has to know.
    pub(crate) notes: Vec<String>,
}

impl Editor<'_> {
    /// The edits of a change, if no compiler is needed to tell what else has to change; else none.
    fn whole(&self, subject: ChangeSubject<'_>) -> Vec<SourceEdit> {
        let Ok((change, start)) = subject.edit() else { return Vec::new() };
        let is_whole = |it: &FirstEdits| {
            let is_rust = it.place.file.extension().is_some_and(|ending| ending == "rs");
            let needs_none = matches!(
                change,
                SourceChange::TypeApart
                    | SourceChange::Order { .. }
                    | SourceChange::TestBeforeStore { .. }
            );
            !is_rust || needs_none
        };
        self.first(&change, &start).ok().filter(is_whole).map(|it| it.edits).unwrap_or_default()
    }

    /// The first edits, and where they begin.
    pub(crate) fn first(
        &self,
        change: &SourceChange,
        start: &EditStart,
    ) -> Result<FirstEdits, String> {
        let at = |place: SourcePlace| {
            let before = self.tree.read(&place.file)?;
            let (edits, notes) = self.edits(change, &place, &before, &start.types)?;
            Ok(FirstEdits { place, before, edits, notes })
        };
        match &start.at {
            EditPlace::Known(place) => {
                let file = match self.tree.find(&place.file) {
                    Some(file) => Some(file),
                    None => (self.dependency)(&place.file)?,
                };
                let file = file.ok_or_else(|| format!("{place} is not in this tree"))?;
                let known = at(SourcePlace { file, line: place.line });
                // The place may be that of a variable, whose type is declared elsewhere.
                known.or_else(|refusal| {
                    self.declared(change, &start.types, &[], &at).map_err(|_| refusal)
                })
            }
            EditPlace::Declared { files } => self.declared(change, &start.types, files, &at),
        }
    }

    /// The first edits at the one declaration that can be edited: of these types, in the tree or in the packages outside that use
    /// the words; or of a type whose struct is a member of another one, in the tree's own files that use them.
    fn declared(
        &self,
        change: &SourceChange,
        types: &[String],
        files: &[String],
        at: &dyn Fn(SourcePlace) -> Result<FirstEdits, String>,
    ) -> Result<FirstEdits, String> {
        let mut why = "its declaration is not in this tree".to_owned();
        let mut in_folder = |folder: &Path, also_unread: bool| {
            for name in types {
                let mut edited = Vec::new();
                let places = self.tree.declarations(folder, Some(name), &[]);
                let read = self.built.compiled(&places);
                for place in if read.is_empty() && also_unread { places } else { read } {
                    match at(place) {
                        Ok(found) => edited.push(found),
                        Err(refusal) => why = refusal,
                    }
                }
                if let [one, other, ..] = &edited[..] {
                    let (one, other) = (&one.place, &other.place);
                    return Err(format!("{name} is declared at {one} and at {other}"));
                }
                if let Some(found) = edited.pop() {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        };
        // Not in a crate that lies here and comes from elsewhere.
        if let Some(found) = in_folder(Path::new(""), false)? {
            return Ok(found);
        }
        // Only now: a crate that is copied is built anew.
        let mut folders = Vec::new();
        for file in files {
            if let Some(file) = (self.dependency)(Path::new(file))? {
                folders.extend(self.tree.outside_of(&file).map(|it| it.folder));
            }
        }
        folders.dedup();
        for folder in folders {
            if let Some(found) = in_folder(&folder, true)? {
                return Ok(found);
            }
        }
        if let Some(found) = in_folder(Path::new(""), true)? {
            return Ok(found);
        }
        let own: Vec<PathBuf> =
            files.iter().filter_map(|it| self.tree.find(Path::new(it))).collect();
        // Only a member's name tells that it is the one.
        let all = match own.is_empty() || change.names().is_empty() {
            true => Vec::new(),
            false => self.tree.declarations(Path::new(""), None, &own),
        };
        let mut edited: Vec<_> = all.into_iter().filter_map(|place| at(place).ok()).collect();
        match edited.len() {
            1 => Ok(edited.remove(0)),
            _ => Err(why),
        }
    }

    /// The first edits, whose files are paths in the tree, and what the reader has to know of them.
    fn edits(
        &self,
        change: &SourceChange,
        place: &SourcePlace,
        text: &str,
        types: &[String],
    ) -> Result<(Vec<SourceEdit>, Vec<String>), String> {
        let ending = place.file.extension().and_then(|it| it.to_str()).unwrap_or_default();
        if ending == "rs" {
            let edits =
                rust::edits(text, change, place, &self.options).map_err(|it| it.to_string())?;
            let in_file =
                |edit| SourceEdit { file: place.file.to_string_lossy().into_owned(), ..edit };
            return Ok((edits.into_iter().map(in_file).collect(), Vec::new()));
        }
        let mut files = vec![place.file.clone()];
        for name in change.names().iter().chain(types) {
            files.extend(self.tree.mention(name, &ENDINGS.map(|(ending, _)| ending)));
        }
        files.sort();
        files.dedup();
        let language = |file: &Path| {
            let ending = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
            ENDINGS.iter().find(|it| it.0 == ending).map(|it| it.1)
        };
        // A header's language is that of the file that it is for, as far as can be told: C++ if any file beside it is.
        let has_cpp = files.iter().any(|file| language(file) == Some(Language::Cpp));
        let texts: Vec<(PathBuf, String)> = files
            .into_iter()
            .filter_map(|file| Some((file.clone(), self.tree.read(&file).ok()?)))
            .collect();
        let sources: Vec<SourceText<'_>> = texts
            .iter()
            .filter_map(|(file, text)| {
                let of_file = language(file)?;
                let is_header = file.extension().is_some_and(|it| it == "h");
                Some(SourceText {
                    file,
                    text,
                    language: if is_header && has_cpp { Language::Cpp } else { of_file },
                })
            })
            .collect();
        let edits =
            c::edits(&sources, change, place, &self.options).map_err(|it| it.to_string())?;
        let notes = c::alignment_notes(&sources, change, place, &self.options);
        let line = |it: c::AlignmentNote| {
            format!("{}: {}, so the type may not start a line there", it.place, it.why)
        };
        Ok((edits, notes.into_iter().map(line).collect()))
    }
}

const ENDINGS: [(&str, Language); 9] = [
    ("c", Language::C),
    ("h", Language::C),
    ("cc", Language::Cpp),
    ("cpp", Language::Cpp),
    ("cxx", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("inl", Language::Cpp),
];

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_edit::apply;
    use tenure_measure::git::git;

    use super::*;

    #[test]
    fn a_report_has_the_edits_that_need_no_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("src");
        std::fs::create_dir(&here).unwrap();
        let sources = [
            ("stats.h", "struct stats {\n    long read, written;\n};\n"),
            ("slot.rs", "struct Slot {\n    hits: u64,\n}\n"),
        ];
        for (file, text) in sources {
            std::fs::write(here.join(file), text).unwrap();
        }
        git(folder.path(), &["init", "--quiet"]).unwrap();
        git(folder.path(), &["add", "--all"]).unwrap();
        let finding = |file: &str, declaration: serde_json::Value| {
            let language = if file.ends_with(".rs") { "rust" } else { "c" };
            let word = |name: &str, id: u64| {
                json!({"path": name, "offset": 0, "size": 8, "type": "long", "role": "written", "uses": [
                    {"threads": "t", "count": 1, "ids": [id], "operation": "write", "per_second": 9.0}]})
            };
            json!({
                "rank": 1, "type": "x", "declared": format!("{file}:1"), "sharing": {"kind": "within"},
                "kind": "false_sharing", "contended": word("read", 1), "victims": [word("written", 2)],
                "score": 99.0, "confidence": {"level": "high", "placements": 1.0, "why": ""},
                "repairs": [{"name": "apart", "remedies": ["apart"], "text": "", "bytes": 0, "target":
                    {"language": language, "line_bytes": 64, "declaration": declaration, "object": ""}}],
            })
        };
        let member = json!({"kind": "member", "name": "read", "type": "long"});
        let elements = json!({"kind": "elements", "type": "Slot"});
        let mut report: Report =
            serde_json::from_str(include_str!("../../tenure-model/fixtures/run.json")).unwrap();
        let found = [("stats.h", &member), ("slot.rs", &elements), ("slot.rs", &member)];
        report.findings = found
            .map(|(file, it)| serde_json::from_value(finding(file, it.clone())).unwrap())
            .into();
        let before = report.clone();
        add(&mut report, &here);
        let edited = |at: usize| {
            let edits = &report.findings[at].repairs[0].edits;
            let path = folder.path().join(&edits[0].file);
            apply(&std::fs::read_to_string(path).unwrap(), edits)
        };
        let apart = "aligned(64)";
        assert!(edited(0).matches(apart).count() >= 2, "{}", edited(0));
        assert_eq!(edited(1), format!("#[repr(align(64))]\n{}", sources[1].1));
        assert!(report.findings[2].repairs[0].edits.is_empty(), "its uses need a compiler");
        let elsewhere = tempfile::tempdir().unwrap();
        let mut outside = before.clone();
        add(&mut outside, elsewhere.path());
        assert_eq!(outside, before);
    }
}
