//! Patterns as TOML, as `docs/patterns.md` describes it. In a file words and objects are named; in a [`Pattern`] they
//! are numbered.

use super::check::{PatternFault, PatternPlace};
use super::{
    Copies, Operation, Pattern, PatternAccess, PatternObject, PatternRole, PatternWord, StoredValue,
};
use crate::error::SimulationError;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toml::Spanned;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternFile {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
    #[serde(rename = "object")]
    objects: Vec<Spanned<FileObject>>,
    #[serde(rename = "word")]
    words: Vec<Spanned<FileWord>>,
    #[serde(rename = "role")]
    roles: Vec<Spanned<FileRole>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileObject {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_thread: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copies: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pick: Option<Pick>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stride: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<usize>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pick {
    Random,
    InTurn,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWord {
    name: String,
    object: String,
    offset: usize,
    size: usize,
    #[serde(default, skip_serializing_if = "is_unknown")]
    value: StoredValue,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRole {
    name: String,
    threads: FileThreads,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<u32>,
    steps: Vec<Spanned<FileStep>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "threads is 1 or \"cpus\"")]
enum FileThreads {
    Number(u32),
    Text(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    op: Op,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    word: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Spanned<FileStep>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Work,
    Load,
    LoadAll,
    Store,
    Add,
    CompareExchange,
    Lock,
}

/// What is wrong, and the byte at which.
type Wrong = (usize, String);

impl Pattern {
    /// A pattern from its file's text.
    ///
    /// # Errors
    ///
    /// The text is no TOML, has unknown keys or lacks some, or describes a pattern that cannot be simulated. The error
    /// names the line.
    pub fn from_toml(text: &str) -> Result<Self, SimulationError> {
        let file: PatternFile =
            toml::from_str(text).map_err(|error| SimulationError::pattern_text(&error, text))?;
        let read = file.pattern().and_then(|pattern| {
            let place = |fault: PatternFault| (file.byte(fault.place), fault.what);
            pattern.faults().map_err(place).map(|()| pattern)
        });
        read.map_err(|(byte, what)| SimulationError::Pattern {
            line: Some(SimulationError::line_of(text, byte)),
            what,
        })
    }

    /// The pattern as [`from_toml`](Self::from_toml) reads it.
    ///
    /// # Panics
    ///
    /// Never for a pattern that [`check`](Self::check) accepts.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&PatternFile::of(self))
            .expect("a pattern is made of numbers and text")
    }
}

impl PatternFile {
    /// Where a part of the pattern begins in the text.
    fn byte(&self, place: PatternPlace) -> usize {
        match place {
            PatternPlace::Whole => 0,
            PatternPlace::Object(at) => self.objects[at].span().start,
            PatternPlace::Word(at) => self.words[at].span().start,
            PatternPlace::Role(at) => self.roles[at].span().start,
            PatternPlace::Step(role, at) => self.roles[role].get_ref().steps[at].span().start,
        }
    }

    fn pattern(&self) -> Result<Pattern, Wrong> {
        let mut pattern = Pattern::new(self.name.clone());
        pattern.about.clone_from(&self.about);
        for object in &self.objects {
            let copies = object.get_ref().copies().map_err(at(&object.span()))?;
            let FileObject { name, stride, phase, .. } = object.get_ref();
            let object = PatternObject::several(name.clone(), copies, stride.unwrap_or(0));
            pattern.object(object.at_phase(phase.unwrap_or(0)));
        }
        for word in &self.words {
            let FileWord { name, object, offset, size, value } = word.get_ref();
            let found = pattern.objects.iter().position(|it| it.name == *object);
            let found = found.ok_or_else(|| format!("there is no object '{object}'"));
            let found = found.map_err(at(&word.span()))?;
            let at = pattern.word(found, name.clone(), *offset, *size);
            pattern.words[at].value = *value;
        }
        for role in &self.roles {
            let FileRole { name, threads, share, steps } = role.get_ref();
            let share = match (threads, share) {
                (FileThreads::Number(1), None) => Ok(0),
                (FileThreads::Number(1), Some(_)) => {
                    Err("a role of 1 thread has no share of the CPUs".to_owned())
                }
                (FileThreads::Text(text), Some(0)) if text == "cpus" => {
                    Err(format!("role '{name}' has 0 shares; it needs at least 1"))
                }
                (FileThreads::Text(text), share) if text == "cpus" => Ok(share.unwrap_or(1)),
                (FileThreads::Number(number), _) => {
                    Err(format!("threads is 1 or \"cpus\", not {number}"))
                }
                (FileThreads::Text(text), _) => {
                    Err(format!("threads is 1 or \"cpus\", not \"{text}\""))
                }
            };
            let share = share.map_err(at(&role.span()))?;
            let steps = FileStep::all(steps, &pattern.words)?;
            pattern.role(PatternRole { name: name.clone(), share, steps });
        }
        Ok(pattern)
    }

    fn of(pattern: &Pattern) -> Self {
        let object = |object: &PatternObject| {
            let (copies, pick) = match object.copies {
                Copies::Once | Copies::PerThread => (None, None),
                Copies::Random(copies) => (Some(copies), Some(Pick::Random)),
                Copies::InTurn(copies) => (Some(copies), Some(Pick::InTurn)),
            };
            spanned(FileObject {
                name: object.name.clone(),
                per_thread: (object.copies == Copies::PerThread).then_some(true),
                copies,
                pick,
                stride: (object.copies != Copies::Once).then_some(object.stride),
                phase: Some(object.phase).filter(|phase| *phase > 0),
            })
        };
        let word = |word: &PatternWord| {
            spanned(FileWord {
                name: word.name.clone(),
                object: pattern.objects[word.object].name.clone(),
                offset: word.offset,
                size: word.bytes,
                value: word.value,
            })
        };
        let role = |role: &PatternRole| {
            spanned(FileRole {
                name: role.name.clone(),
                threads: match role.share {
                    0 => FileThreads::Number(1),
                    _ => FileThreads::Text("cpus".to_owned()),
                },
                share: (role.share > 1).then_some(role.share),
                steps: FileStep::of(&role.steps, &pattern.words),
            })
        };
        Self {
            name: pattern.name.clone(),
            about: pattern.about.clone(),
            objects: pattern.objects.iter().map(object).collect(),
            words: pattern.words.iter().map(word).collect(),
            roles: pattern.roles.iter().map(role).collect(),
        }
    }
}

impl FileObject {
    fn copies(&self) -> Result<Copies, String> {
        let wrong = |what: &str| Err(format!("object '{}' {what}", self.name));
        match (self.per_thread.unwrap_or(false), self.copies, self.pick) {
            (true, None, None) => Ok(Copies::PerThread),
            (true, ..) => wrong("has a copy for each thread, and so neither copies nor pick"),
            (false, None, None) => Ok(Copies::Once),
            (false, None, Some(_)) => wrong("has a pick and no copies to pick from"),
            (false, Some(copies), Some(Pick::Random)) => Ok(Copies::Random(copies)),
            (false, Some(copies), Some(Pick::InTurn)) => Ok(Copies::InTurn(copies)),
            (false, Some(_), None) => wrong("has copies; say pick = \"random\" or \"in_turn\""),
        }
    }
}

impl FileStep {
    fn all(steps: &[Spanned<Self>], words: &[PatternWord]) -> Result<Vec<PatternAccess>, Wrong> {
        steps.iter().map(|step| step.get_ref().access(step.span(), words)).collect()
    }

    fn access(&self, span: Range<usize>, words: &[PatternWord]) -> Result<PatternAccess, Wrong> {
        let wrong = |what: &str| Err((span.start, what.to_owned()));
        let times = self.times.unwrap_or(1.0);
        if self.op != Op::Lock && !self.steps.is_empty() {
            return wrong("only a lock has steps");
        }
        let operation = match (self.op, &self.word, self.ns) {
            (Op::Work, None, Some(ns)) => Operation::Work(ns),
            (Op::Work, ..) => return wrong("work needs ns, and no word"),
            (_, None, _) => return wrong("a step needs a word"),
            (_, _, Some(_)) => return wrong("only work takes ns"),
            (op, Some(name), None) => {
                let Some(word) = words.iter().position(|word| word.name == *name) else {
                    return wrong(&format!("there is no word '{name}'"));
                };
                match op {
                    Op::Load => Operation::Load(word),
                    Op::LoadAll => Operation::LoadAll(word),
                    Op::Store => Operation::Store(word),
                    Op::Add => Operation::Add(word),
                    Op::CompareExchange => Operation::CompareExchange(word),
                    Op::Work | Op::Lock => Operation::Lock(word, Self::all(&self.steps, words)?),
                }
            }
        };
        Ok(PatternAccess { times, operation })
    }

    fn of(steps: &[PatternAccess], words: &[PatternWord]) -> Vec<Spanned<Self>> {
        let step = |access: &PatternAccess| {
            let (op, ns) = match access.operation {
                Operation::Work(ns) => (Op::Work, Some(ns)),
                Operation::Load(_) => (Op::Load, None),
                Operation::LoadAll(_) => (Op::LoadAll, None),
                Operation::Store(_) => (Op::Store, None),
                Operation::Add(_) => (Op::Add, None),
                Operation::CompareExchange(_) => (Op::CompareExchange, None),
                Operation::Lock(..) => (Op::Lock, None),
            };
            #[allow(clippy::float_cmp, reason = "exactly the default")]
            let times = (access.times != 1.0).then_some(access.times);
            let word = access.operation.word().map(|word| words[word].name.clone());
            let steps = Self::of(access.operation.inside(), words);
            spanned(Self { op, word, ns, times, steps })
        };
        steps.iter().map(step).collect()
    }
}

fn at(span: &Range<usize>) -> impl FnOnce(String) -> Wrong + use<> {
    let start = span.start;
    move |what| (start, what)
}

/// serde passes the field by reference.
fn is_unknown(value: &StoredValue) -> bool {
    *value == StoredValue::Unknown
}

/// What is written has no place in a text yet.
fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
