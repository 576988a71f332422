//! Which findings, types and variables a request is about.

use std::collections::HashSet;

use crate::Error;
use crate::lines::LayoutModel;
use crate::listed::RankedFinding;
use crate::measured::{EntrySource, ListEntry, Own};
use crate::rules::{Glob, closest};
use crate::sharing::{Array, RawFinding, Site};
use tenure_debuginfo::model::{Format, Model, Static, TypeId};
use tenure_debuginfo::names;

/// Named types that all get a map: of more, only those with findings do.
const MAX_MAPS: usize = 64;

/// Types, variables and modules by name.
#[derive(Debug)]
pub(crate) struct TypeFilter {
    named: Option<NamedTypes>,
    files: Vec<Glob>,
    declared_in: String,
}

#[derive(Debug, Default)]
struct NamedTypes {
    types: Vec<TypeId>,
    /// Places among all.
    variables: HashSet<usize>,
}

impl NamedTypes {
    fn of(words: &[String], model: &Model) -> Result<Self, Error> {
        let mut named = Self::default();
        let mut seen = HashSet::new();
        for word in words {
            let glob = Glob::new(word);
            let spelled = |name: &str| {
                let short = names::shortened(name);
                [name, &short, names::held(name), names::held(&short)]
                    .into_iter()
                    .any(|name| glob.matches(name))
            };
            let types = model.composites().filter(|(_, ty, _)| spelled(&ty.name));
            let types: Vec<TypeId> = types.map(|(id, _, _)| id).collect();
            let is_it = |name: &str| glob.matches(name) || glob.matches(names::last(name));
            // The list names a line of variables by its section.
            let is_listed = |one: &Static| is_it(&one.name) || *one.section == **word;
            let variables = model.statics().iter().enumerate().filter(|(_, one)| is_listed(one));
            let variables: Vec<usize> = variables.map(|(index, _)| index).collect();
            if types.is_empty() && variables.is_empty() {
                return Err(unknown(word, model));
            }
            named.types.extend(types.into_iter().filter(|id| seen.insert(*id)));
            named.variables.extend(variables);
        }
        Ok(named)
    }

    fn has(&self, layouts: &LayoutModel<'_>, found: &RawFinding) -> bool {
        let types = [found.type_id(), found.array_owner(), found.inner(layouts)];
        let is_variable = match found.site {
            Site::Elements { array: Array::Static(index), .. } => self.variables.contains(&index),
            Site::Statics { index } => {
                let beside = || found.victims.iter().map(|victim| victim.variable);
                self.variables.contains(&index)
                    || beside().any(|index| self.variables.contains(&index))
            }
            _ => false,
        };
        is_variable || types.into_iter().flatten().any(|id| self.types.contains(&id))
    }

    fn has_own(&self, own: &Own) -> bool {
        own.type_id().is_some_and(|id| self.types.contains(&id))
            || own.variable().is_some_and(|index| self.variables.contains(&index))
    }
}

impl TypeFilter {
    /// Patterns of types and variables, and of where types are declared.
    pub(crate) fn of(
        words: &[String],
        declared_in: &[String],
        model: &Model,
    ) -> Result<Self, Error> {
        let files = declared_in.iter().map(|word| Glob::new(word)).collect();
        let declared_in = declared_in.join("`, `");
        let named = (!words.is_empty()).then(|| NamedTypes::of(words, model)).transpose()?;
        Ok(Self { named, files, declared_in })
    }

    pub(crate) fn names_some(&self) -> bool {
        self.named.is_some() || !self.files.is_empty()
    }

    /// Whether a type is in a module that was asked for, or in one inside.
    fn in_modules(&self, name: &str) -> bool {
        let module = names::module(name);
        let ends = module.match_indices("::").map(|(at, _)| at).chain([module.len()]);
        let mut paths = ends.map(|end| &module[..end]).filter(|path| !path.is_empty());
        paths.any(|path| self.files.iter().any(|glob| glob.matches(path)))
    }

    /// An error if a module or file was asked for in which no type is declared.
    pub(crate) fn is_declared_somewhere(&self, model: &Model) -> Result<(), Error> {
        if self.files.is_empty() {
            return Ok(());
        }
        if model.composites().any(|(_, ty, _)| self.in_modules(&ty.name)) {
            return Ok(());
        }
        let mut files = model.composites().filter_map(|(_, ty, _)| ty.declared.as_ref()).peekable();
        let why = match (model.format(), files.peek()) {
            (Format::Btf, _) => "BTF does not say where types are declared; DWARF does".to_owned(),
            (Format::Dwarf, None) => {
                let mut crates: Vec<_> = model.crates().iter().map(|(name, _)| &**name).collect();
                crates.dedup();
                format!(
                    "rustc does not say where types are declared, and no crate or module is like `{}`; crates are {}",
                    self.declared_in,
                    crates.join(", ")
                )
            }
            (Format::Dwarf, Some(first)) => {
                let example = first.file.clone();
                if files.any(|at| self.files.iter().any(|file| file.matches(&at.file))) {
                    return Ok(());
                }
                format!(
                    "no type is declared in a file like `{}`; files are spelled like `{example}`",
                    self.declared_in
                )
            }
        };
        Err(Error::new(format!("--in: {why}")))
    }

    pub(crate) fn wants(&self, layouts: &LayoutModel<'_>, entry: &ListEntry<'_>) -> bool {
        let (name, declared) = entry.subject(layouts);
        let in_files = || {
            declared.is_some_and(|at| self.files.iter().any(|file| file.matches(&at.file)))
                || self.in_modules(name)
        };
        if !self.files.is_empty() && !in_files() {
            return false;
        }
        let Some(named) = &self.named else { return true };
        match &entry.what {
            EntrySource::Listed(RankedFinding { found, .. }) => named.has(layouts, found),
            EntrySource::Own(own) => named.has_own(own),
        }
    }

    /// The types to draw: those requested, or those of the findings.
    pub(crate) fn types_of(&self, reported: &[ListEntry<'_>]) -> Vec<TypeId> {
        let of_findings = reported.iter().filter_map(ListEntry::type_id);
        let mut all: Vec<TypeId> = match &self.named {
            Some(named) if named.types.len() <= MAX_MAPS => named.types.clone(),
            Some(named) => of_findings.clone().filter(|id| named.types.contains(id)).collect(),
            None => of_findings.clone().collect(),
        };
        // The types of the elements of named variables.
        if self.named.as_ref().is_some_and(|named| !named.variables.is_empty()) {
            all.extend(of_findings);
        }
        let mut seen = HashSet::new();
        all.retain(|id| seen.insert(*id));
        all
    }
}

fn unknown(word: &str, model: &Model) -> Error {
    let types = model.composites().map(|(_, ty, _)| &*ty.name);
    let variables = model.statics().iter().map(|variable| names::last(&variable.name));
    let close = closest(word, types.chain(variables).filter(|name| !name.is_empty()));
    let hint = match close {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`*` stands for anything, as in `dst_*`".to_owned(),
    };
    Error::new(format!("no struct, class, union or variable matches `{word}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Maker;

    #[test]
    fn a_variable_is_known_with_and_without_its_path() {
        let mut maker = Maker::new();
        maker.variable("server::stats::HITS", ".bss", 64, maker.int, "");
        let model = maker.finish_dwarf();
        for word in ["server::stats::HITS", "HITS", "HI*", ".bss"] {
            let named = NamedTypes::of(&[word.to_owned()], &model).unwrap();
            assert!(named.variables.contains(&0) && named.types.is_empty(), "{word}");
        }
        for word in ["stats", "TS"] {
            let error = NamedTypes::of(&[word.to_owned()], &model).unwrap_err().to_string();
            assert!(error.starts_with("no struct, class, union or variable matches"), "{error}");
        }
        let error = NamedTypes::of(&["HITZ".to_owned()], &model).unwrap_err().to_string();
        assert!(error.ends_with("did you mean `HITS`?"), "{error}");
    }
}
