//! Which findings and types a request is about.

use std::collections::HashSet;

use crate::Error;
use crate::lines::Layouts;
use crate::listed::Listed;
use crate::measured::{Entry, What};
use crate::names;
use crate::rules::{Glob, closest};
use tenure_types::model::{Format, Model, TypeId};

/// With more types, only those with findings get a map.
const MOST_MAPS: usize = 64;

/// Types and modules by name.
#[derive(Debug)]
pub(crate) struct Asked {
    types: Option<Vec<TypeId>>,
    files: Vec<Glob>,
    declared_in: String,
}

impl Asked {
    /// Patterns of types, and of where types are declared.
    pub(crate) fn of(
        types: &[String],
        declared_in: &[String],
        model: &Model,
    ) -> Result<Self, Error> {
        let files = declared_in.iter().map(|word| Glob::new(word)).collect();
        let declared_in = declared_in.join("`, `");
        let words = types;
        if words.is_empty() {
            return Ok(Self { types: None, files, declared_in });
        }
        let mut types = Vec::new();
        for word in words {
            let glob = Glob::new(word);
            let before = types.len();
            let spelled = |name: &str| {
                let short = names::shortened(name);
                [name, &short, names::held(name), names::held(&short)]
                    .into_iter()
                    .any(|name| glob.matches(name))
            };
            let named = model.composites().filter(|(_, ty, _)| spelled(&ty.name));
            types.extend(named.map(|(id, _, _)| id));
            if types.len() == before {
                return Err(unknown_type(word, model));
            }
        }
        let mut seen = HashSet::new();
        types.retain(|id| seen.insert(*id));
        Ok(Self { types: Some(types), files, declared_in })
    }

    pub(crate) fn names_some(&self) -> bool {
        self.types.is_some() || !self.files.is_empty()
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

    pub(crate) fn wants(&self, layouts: &Layouts<'_>, entry: &Entry<'_>) -> bool {
        let ((name, declared), concerned) = match &entry.what {
            What::Listed(Listed { found, .. }) => {
                let concerned = [found.type_id(), found.array_owner(), found.inner(layouts)];
                (found.subject(layouts), concerned)
            }
            What::Own(own) => (own.subject(layouts), [own.type_id(), None, None]),
        };
        let in_files = || {
            declared.is_some_and(|at| self.files.iter().any(|file| file.matches(&at.file)))
                || self.in_modules(name)
        };
        if !self.files.is_empty() && !in_files() {
            return false;
        }
        let Some(types) = &self.types else { return true };
        concerned.into_iter().flatten().any(|id| types.contains(&id))
    }

    /// The types to draw: those requested, or those of the findings.
    pub(crate) fn types_of(&self, reported: &[Entry<'_>]) -> Vec<TypeId> {
        let of_findings = reported.iter().filter_map(Entry::type_id);
        let mut all: Vec<TypeId> = match &self.types {
            Some(types) if types.len() <= MOST_MAPS => types.clone(),
            Some(types) => of_findings.filter(|id| types.contains(id)).collect(),
            None => of_findings.collect(),
        };
        let mut seen = HashSet::new();
        all.retain(|id| seen.insert(*id));
        all
    }
}

fn unknown_type(word: &str, model: &Model) -> Error {
    let is_it = |name: &str| name == word || names::last(name) == word;
    if model.statics().iter().any(|variable| is_it(&variable.name)) {
        return Error::new(format!(
            "`{word}` is a variable, not a type; leave the name out to list variables too"
        ));
    }
    let names = model.composites().map(|(_, ty, _)| &*ty.name);
    let close = closest(word, names.filter(|name| !name.is_empty()));
    let hint = match close {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`*` stands for anything, as in `dst_*`".to_owned(),
    };
    Error::new(format!("no struct, class or union matches `{word}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_types::model::{Builder, Kind, Scalar, Static};

    #[test]
    fn a_variable_is_known_with_and_without_its_path() {
        let mut builder = Builder::new();
        let ty = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
        let (name, section) = ("server::stats::HITS".into(), ".bss".into());
        builder.push_static(Static { name, section, address: 64, ty, declared: None });
        let model = builder.finish(Format::Dwarf, 1).unwrap();
        for (word, is_variable) in
            [("server::stats::HITS", true), ("HITS", true), ("stats", false), ("TS", false)]
        {
            let error = unknown_type(word, &model).to_string();
            assert_eq!(error.contains("is a variable, not a type"), is_variable, "{error}");
        }
    }
}
