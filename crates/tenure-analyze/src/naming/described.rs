//! The words of a finding with their names, and who does what with them.

use std::collections::BTreeSet;
use std::rc::Rc;

use tenure_code::MachineCode;
use tenure_debuginfo::model::Declared;
use tenure_debuginfo::names::{is_lock_of_c, mentions_lock};
use tenure_debuginfo::program::{AllocatedBlock, DeclaringType, Object, ObjectMember};
use tenure_model::{Access, MemberOf, Origin, Role, Word, short_path};

use super::names::ProcessNames;
use super::role::{self, WordNames, WriteNames};
use super::threads::Groups;
use crate::lines::{self, Contended, Elements, Meaning};
use tenure_model::recording::Line;

/// What is known of the memory that a finding's words lie in.
pub(crate) struct NamedWords {
    /// The object of each word, in the words' order.
    places: Vec<Option<(Object, ObjectMember)>>,
    /// Address of a variable in the process.
    pub(crate) start: Option<u64>,
    /// Array: where its first element lies, as [`lines::UsedWord::offset`], and the bytes from one to the next.
    array: Option<(i64, u64)>,
}

impl NamedWords {
    pub(crate) fn new(contended: &Contended, worst: &Line, names: &ProcessNames<'_>) -> Self {
        let Some(allocation) = &worst.allocation else {
            let (mut start, mut array) = (None, None);
            let variable = |word: &lines::UsedWord| {
                let (program, object, inside) = names.variable(word.offset.cast_unsigned())?;
                let offset = inside.checked_sub(object.address)?;
                start = start.or(Some(word.offset.cast_unsigned().wrapping_sub(offset)));
                let place = program.program().member(&object, offset, word.size);
                array = array.or_else(|| {
                    let (first, stride) = program.program().elements(&object)?;
                    Some((start?.checked_add(first)?.cast_signed(), stride))
                });
                Some((object, place))
            };
            let places = contended.words.iter().map(variable).collect();
            return Self { places, start, array };
        };
        let inside = |word: &lines::UsedWord| {
            u64::try_from(word.offset).ok().filter(|offset| *offset < allocation.size)
        };
        let accesses: Vec<_> = contended
            .words
            .iter()
            .filter_map(|word| Some((inside(word)?, word)))
            .flat_map(|(offset, word)| {
                let size = u8::try_from(word.size).unwrap_or(u8::MAX);
                word.uses.iter().map(move |use_| (use_.code, offset, size))
            })
            .collect();
        let found: Option<(Rc<MachineCode>, Object)> = match names.known.get(&worst.address) {
            Some(known) => Some(known.clone()),
            None => {
                let block = AllocatedBlock {
                    size: allocation.size,
                    stack: &allocation.stack,
                    stride: contended.elements.map(|elements| elements.stride),
                };
                let found = names.allocation(&accesses, &block);
                // What only fits a block does not name it; a pointer to a count with a value of just that size does.
                let is_count = |object: &Object| {
                    ["Arc<", "Rc<"].iter().any(|start| object.type_name.starts_with(start))
                };
                found.filter(|(_, it)| !allocation.stack.is_empty() || is_count(it))
            }
        };
        let place = |word: &lines::UsedWord| {
            let (program, object) = found.as_ref()?;
            Some((object.clone(), program.program().member(object, inside(word)?, word.size)))
        };
        let mut places: Vec<_> = contended.words.iter().map(place).collect();
        let are_locks = contended.words.iter().zip(&places).all(|(word, place)| {
            let place = place.as_ref().map(|(_, place)| place);
            !word.uses.iter().any(|use_| is_locked_by_c(use_.access))
                || place.is_none_or(|place| is_lock_of_c(&place.path, &place.type_name))
        });
        let mut array =
            found.as_ref().and_then(|(program, object)| program.program().elements(object));
        if !are_locks {
            places.fill(None);
            array = None;
        }
        let array = array.map(|(start, stride)| (start.cast_signed(), stride));
        Self { places, start: None, array }
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.places.iter().flatten().map(|(object, _)| object)
    }

    pub(crate) fn type_name(&self) -> String {
        self.objects().next().map(|object| object.type_name.clone()).unwrap_or_default()
    }

    pub(crate) fn declared(&self) -> Option<String> {
        self.objects().find_map(|object| object.declared.as_ref()).map(line_of)
    }

    /// The type that has a word as a member, unless it is that of the object, or a library's of C++: `std::atomic` is what the word is.
    fn member_of(&self, at: usize) -> Option<MemberOf> {
        let (_, place) = self.places[at].as_ref()?;
        let DeclaringType { name, declared } = place.declaring.clone()?;
        let is_library =
            declared.as_ref().is_some_and(|it| Origin::of_file(&it.file) != Origin::Yours);
        let declared = declared.as_ref().map(line_of);
        let is_other = name != self.type_name() || declared != self.declared();
        (!is_library && is_other).then_some(MemberOf { type_name: name, declared })
    }

    pub(crate) fn variable(&self) -> String {
        self.objects().find_map(|object| object.variable.clone()).unwrap_or_default()
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.objects().next().map(|object| object.size)
    }

    /// Array of a known type: where its first element lies, as [`lines::UsedWord::offset`], and the bytes from one
    /// to the next.
    pub(crate) fn known_elements(&self) -> Option<(i64, u64)> {
        self.array.filter(|_| !self.is_of_several_variables())
    }

    pub(crate) fn is_of_several_variables(&self) -> bool {
        self.objects().map(|object| object.address).collect::<BTreeSet<_>>().len() > 1
    }

    /// The words' elements, unless their names say that they are members.
    pub(crate) fn elements(&self, contended: &Contended) -> Option<Elements> {
        let is_member = |(object, place): &(Object, ObjectMember)| {
            place.element.is_none() && !object.type_name.is_empty()
        };
        let are_members =
            self.places.iter().flatten().any(is_member) || self.is_of_several_variables();
        contended.elements.filter(|_| !are_members)
    }

    /// The array, by its variable or the type of its elements.
    pub(crate) fn array(&self) -> String {
        match self.variable() {
            variable if variable.is_empty() => self.type_name(),
            variable => variable,
        }
    }

    /// What a word is, by its name and those of the functions that change it.
    pub(crate) fn meaning(
        &self,
        at: usize,
        word: &lines::UsedWord,
        names: &ProcessNames<'_>,
    ) -> Meaning {
        let (object, place) =
            self.places[at].as_ref().map(|(object, place)| (object, place)).unzip();
        let type_name = place.map(|place| place.type_name.clone()).unwrap_or_default();
        /// A flag is stored to by few instructions, and code takes time to read.
        const MAX_STORES: usize = 8;
        let written = || word.uses.iter().filter(|use_| use_.access.writes());
        let may_be_restored = written().count() <= MAX_STORES
            && written().all(|use_| matches!(use_.access, Access::Store | Access::Write));
        let write = |use_: &lines::CodeUse| {
            let frames = names.functions(use_.code);
            let is_atomic = use_.access == Access::Store;
            let stored = may_be_restored.then(|| names.stored(use_.code, is_atomic)).flatten();
            WriteNames {
                access: Some(use_.access),
                count: use_.count(),
                files: frames.iter().filter_map(|frame| frame.file.clone()).collect(),
                functions: frames.into_iter().map(|frame| frame.function).collect(),
                // An instrumented program calls for each access. A watched one is seen to call what locks for it.
                called: names.called(use_.code).filter(|it| !it.starts_with("__tsan_")),
                // A plain type is stored to by what publishes nothing.
                stored: stored.map(|of| {
                    let publishes = of.publishes && (is_atomic || type_name.contains("tomic"));
                    (of.value, publishes)
                }),
            }
        };
        let object =
            object.map(|object| object.variable.clone().unwrap_or(object.type_name.clone()));
        let known = WordNames {
            path: place.map(|place| place.path.clone()).unwrap_or_default(),
            object: object.unwrap_or_default(),
            writes: written().filter(|use_| use_.access != Access::Failed).map(write).collect(),
            type_name,
        };
        known.meaning()
    }

    /// Whether the same values are stored to all words that are written, again and again: no lock is needed for that.
    pub(crate) fn are_restored(&self, contended: &Contended, names: &ProcessNames<'_>) -> bool {
        let is_written = |word: &lines::UsedWord| word.uses.iter().any(|use_| use_.access.writes());
        let mut written = contended.words.iter().enumerate().filter(|(_, word)| is_written(word));
        written.all(|(at, word)| self.meaning(at, word, names).is_restored)
    }

    /// The words that threads write, with what has them: `Pool.len`. Those without a name by the code that writes them.
    pub(crate) fn written(&self, contended: &Contended, names: &ProcessNames<'_>) -> Vec<String> {
        let object = short_path(&self.array(), 1);
        let named = |(at, word): (usize, &lines::UsedWord)| {
            let write = word.uses.iter().find(|use_| use_.access.writes())?;
            let path = self.word(at, false).0;
            Some(match (object.is_empty(), path.is_empty()) {
                (_, true) if !object.is_empty() => object.clone(),
                (_, true) => format!("what {} writes", names.code(write.code)?.function),
                (true, _) => path,
                _ => format!("{object}.{path}"),
            })
        };
        let mut names: Vec<_> = contended.words.iter().enumerate().filter_map(named).collect();
        names.dedup();
        names
    }

    /// The path and the type of a word.
    fn word(&self, at: usize, is_element: bool) -> (String, String) {
        let Some((object, place)) = &self.places[at] else { return Default::default() };
        let path = if is_element { without_element(place) } else { place.path.clone() };
        // A distance is not a name.
        let path = if path.starts_with('+') { String::new() } else { path };
        let path = match &object.variable {
            Some(variable) if self.is_of_several_variables() && path.is_empty() => variable.clone(),
            Some(variable) if self.is_of_several_variables() && path.starts_with('[') => {
                format!("{variable}{path}")
            }
            Some(variable) if self.is_of_several_variables() => format!("{variable}.{path}"),
            _ => path,
        };
        (path, place.type_name.clone())
    }
}

/// `file:line`.
fn line_of(declared: &Declared) -> String {
    format!("{}:{}", declared.file, declared.line)
}

/// The path of a member without the index of its element.
fn without_element(place: &ObjectMember) -> String {
    let path = match place.element {
        Some(_) => place.path.split_once(']').map_or("", |(_, rest)| rest),
        None => &place.path,
    };
    match path.trim_start_matches('.') {
        "" => "[n]".to_owned(),
        path => path.to_owned(),
    }
}

/// Whether the C library's functions do it.
const fn is_locked_by_c(access: Access) -> bool {
    matches!(access, Access::Lock | Access::Unlock)
}

/// A finding with more words has those of its worst line.
const MAX_WORDS: usize = 64;

/// The words that are reported: those of one element of an array, or all.
pub(crate) fn shown(
    contended: &Contended,
    named: &NamedWords,
    worst: &Line,
    line_bytes: u32,
) -> Vec<lines::UsedWord> {
    let folded = named.elements(contended).and(contended.folded());
    let mut words = folded.unwrap_or_else(|| contended.words.clone());
    if words.len() > MAX_WORDS && named.elements(contended).is_none() {
        let line = worst.start()..worst.start() + i64::from(line_bytes);
        words.retain(|word| line.contains(&word.offset));
    }
    words
}

/// [`shown`] with their names, each with how often it was written per second.
pub(crate) fn words(
    worst: &Line,
    contended: &Contended,
    shown: &[lines::UsedWord],
    named: &NamedWords,
    names: &ProcessNames<'_>,
    groups: &Groups<'_>,
) -> Vec<(Word, u64)> {
    let elements = named.elements(contended);
    shown
        .iter()
        .map(|word| {
            // A word of an element has the name of the first that it stands for.
            let first = contended.words.iter().position(|it| {
                let offset = elements.and_then(|elements| elements.offset(it));
                offset.unwrap_or(it.offset) == word.offset
            });
            let (path, type_name) =
                first.map(|at| named.word(at, elements.is_some())).unwrap_or_default();
            let member_of = first.and_then(|at| named.member_of(at));
            let offset = match (&worst.allocation, elements) {
                (None, None) => word.offset - worst.address.cast_signed(),
                _ => word.offset,
            };
            let uses = groups.uses(word, names);
            let writes = uses.iter().filter(|use_| use_.operation.writes());
            let written = writes.map(|use_| (use_.per_second * use_.count as f64) as u64).sum();
            let role = match role::role(word, &|code| names.uses_result(code)) {
                Role::Atomic | Role::Written if mentions_lock(&type_name) => Role::Lock,
                role => role,
            };
            let word = Word {
                path,
                offset,
                size: word.size,
                type_name,
                member_of,
                role,
                weight: None,
                why: String::new(),
                uses,
                measured: None,
            };
            (word, written)
        })
        .collect()
}
