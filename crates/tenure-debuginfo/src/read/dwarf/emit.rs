//! From a table to types and variables that outlive it.
//!
//! A type's *identity* is the hash of what becomes one type of the model. A pointer's content names its target; its
//! identity says which definition that is, if the unit has one.

use std::sync::Arc;

use super::Surroundings;
use super::content::{MAX_HOPS, Tag, UnitContents, VOID, tag_of};
use super::digest::{Digest, Hasher};
use super::store::{Derived, Root, RootMember, RootStatic, Store, StoredEntry, StoredText};
use super::table::{EntryKind, EntryTable, NONE, NOWHERE, ROOT, TableEntry, TableVariable};
use crate::model::{Malformed, Name};

/// Compilers also note smaller, natural alignments of members, which say nothing about the composite.
const LEAST_TELLING: u32 = 32;

const LONGEST_PATH: usize = 1 << 14;

/// Bytes of all scope paths of a unit: nested scopes would let a small file take any amount of memory.
const MAX_PATHS: usize = 1 << 26;

pub(super) struct Emit<'e, 'd> {
    pub(super) table: &'e EntryTable<'d>,
    pub(super) contents: &'e mut UnitContents,
    pub(super) store: &'e Store<'d>,
    pub(super) around: &'e mut Surroundings<'e, 'd>,
    pub(super) found: StoredEntry<'d>,
    chain: Vec<u32>,
    paths: Vec<Arc<[u8]>>,
    path_bytes: usize,
}

impl<'e, 'd> Emit<'e, 'd> {
    pub(super) fn new(
        table: &'e EntryTable<'d>,
        contents: &'e mut UnitContents,
        store: &'e Store<'d>,
        around: &'e mut Surroundings<'e, 'd>,
        order: u32,
    ) -> Self {
        let found = StoredEntry { order, ..StoredEntry::default() };
        let paths = vec![Arc::default()];
        Self { table, contents, store, around, found, chain: Vec::new(), paths, path_bytes: 0 }
    }

    pub(super) fn run(mut self) -> Result<StoredEntry<'d>, Malformed> {
        let order = self.found.order;
        for (index, entry) in (0..).zip(&self.table.entries) {
            if !is_root(entry) {
                continue;
            }
            let content = self.contents.content(index);
            if self.store.claim(content, order) {
                let root = self.root(index, entry, content)?;
                self.found.roots.push(root);
            }
        }
        for index in 0..self.table.variables.len() {
            self.variable(&self.table.variables[index])?;
        }
        if self.store.keeps_entries() {
            self.entries()?;
        }
        Ok(self.found)
    }

    fn entries(&mut self) -> Result<(), Malformed> {
        for (index, entry) in (0..).zip(&self.table.entries) {
            let identity = self.identity(self.table.settled(index))?;
            if let Some(number) = self.store.number(identity) {
                self.found.entries.push((entry.at, number));
            }
        }
        Ok(())
    }

    fn root(
        &mut self,
        index: u32,
        entry: &TableEntry<'d>,
        content: Digest,
    ) -> Result<Root<'d>, Malformed> {
        let table = self.table;
        let mut members = Vec::new();
        let mut told = 0;
        if entry.what.is_composite() {
            for part in table.parts_of(entry) {
                told = told.max(part.align);
                let (offset, bits) = self.contents.place(part);
                // Ada's types whose size is known at run time only have members after it.
                if offset > entry.size {
                    continue;
                }
                let ty = self.identity(part.target)?;
                let (name, inherited) = (part.name, part.inherited);
                members.push(RootMember { name, offset, ty, bits, inherited });
            }
        }
        let align = match entry.align {
            0 if told >= LEAST_TELLING => self.contents.known[index as usize].align,
            align => align,
        };
        Ok(Root {
            content,
            key: if entry.name.is_empty() { 0 } else { self.contents.key(table, index) },
            name: self.path(entry.scope, entry.name)?,
            size: entry.size,
            align: align.into(),
            what: entry.what,
            target: if entry.what == EntryKind::Alias {
                self.identity(entry.target)?
            } else {
                VOID
            },
            members: members.into(),
            declared: self.declared(entry.at, entry.file, entry.line),
        })
    }

    fn declared(&mut self, at: u64, file: u32, line: u32) -> Option<(Name, u32)> {
        match line {
            0 => None,
            _ => self.around.file(at, file).map(|file| (file, line)),
        }
    }

    fn variable(&mut self, variable: &TableVariable<'d>) -> Result<(), Malformed> {
        let Some((section, address)) = variable.place else { return Ok(()) };
        let mut whole = *variable;
        // The rest is at its declaration, or at its original.
        for _ in 0..4 {
            if whole.origin_at == NOWHERE {
                break;
            }
            let origin = whole.origin_at;
            let declared = self
                .table
                .variables
                .binary_search_by_key(&origin, |one| one.at)
                .map(|place| self.table.variables[place]);
            let Some(origin) = declared.ok().or_else(|| self.around.origin(origin)) else { break };
            if whole.name.is_empty() {
                (whole.name, whole.scope) = (origin.name, origin.scope);
            }
            if whole.target_at == NOWHERE {
                whole.target_at = origin.target_at;
            }
            if whole.line == 0 {
                (whole.file, whole.line, whole.at) = (origin.file, origin.line, origin.at);
            }
            whole.origin_at = origin.origin_at;
        }
        if whole.name.is_empty() || whole.target_at == NOWHERE {
            return Ok(());
        }
        let target = self.table.settled(self.table.find(whole.target_at));
        let ty = self.identity(target)?;
        let declared = self.declared(whole.at, whole.file, whole.line);
        let section = self.around.section(variable.at, section);
        let name = self.path(whole.scope, whole.name)?;
        self.found.statics.push(RootStatic { name, section, address, ty, declared });
        Ok(())
    }

    fn path(&mut self, scope: u32, name: &'d [u8]) -> Result<StoredText<'d>, Malformed> {
        if scope == ROOT || name.is_empty() {
            return Ok(StoredText { path: self.paths[ROOT as usize].clone(), name });
        }
        // Scopes lie after those that hold them.
        while self.paths.len() <= scope as usize {
            let scope = self.table.scopes[self.paths.len()];
            let outer = self.paths.get(scope.parent as usize).map_or(&[][..], |outer| outer);
            // Longer ones are cut on the outside; no compiler writes them.
            let outer = &outer[outer.len().saturating_sub(LONGEST_PATH)..];
            let path: Arc<[u8]> = [outer, scope.name, b"::"].concat().into();
            self.path_bytes += path.len();
            if self.path_bytes > MAX_PATHS {
                return Err(Malformed::new("the paths of its types are longer than a compiler's"));
            }
            self.paths.push(path);
        }
        Ok(StoredText { path: self.paths[scope as usize].clone(), name })
    }

    /// Also notes its derivation.
    fn identity(&mut self, index: u32) -> Result<Digest, Malformed> {
        let mut chain = std::mem::take(&mut self.chain);
        let mut inner = index;
        let mut identity = loop {
            let Some(entry) = self.table.entries.get(inner as usize) else { break VOID };
            let known = self.contents.known[inner as usize];
            if known.identity != 0 {
                break known.identity;
            }
            match entry.what {
                _ if entry.declaration => break self.opaque(inner, entry)?,
                EntryKind::Pointer | EntryKind::Qualified(_) | EntryKind::Array
                    if chain.len() < MAX_HOPS =>
                {
                    chain.push(inner);
                    inner = entry.target;
                }
                EntryKind::Pointer | EntryKind::Qualified(_) | EntryKind::Array => break VOID,
                EntryKind::Function => {
                    let identity = Hasher::new(Tag::Function as u64).finish();
                    self.store.derive(identity, || Derived::Function);
                    break identity;
                }
                EntryKind::Opaque => break self.opaque(inner, entry)?,
                _ => break known.content,
            }
        };
        if let Some(known) = self.contents.known.get_mut(inner as usize) {
            known.identity = identity;
        }
        for &outer in chain.iter().rev() {
            identity = self.derived(&self.table.entries[outer as usize], identity);
            self.contents.known[outer as usize].identity = identity;
        }
        chain.clear();
        self.chain = chain;
        Ok(identity)
    }

    fn opaque(&mut self, index: u32, entry: &TableEntry<'d>) -> Result<Digest, Malformed> {
        let key = self.contents.key(self.table, index);
        let mut hasher = Hasher::new(Tag::Declared as u64);
        hasher.digest(key);
        // A declaration's size is its definition's, whatever it says.
        let size = if entry.declaration { 0 } else { entry.size };
        hasher.word(size);
        let identity = hasher.finish();
        let name = self.path(entry.scope, entry.name)?;
        let key = if entry.declaration && !entry.name.is_empty() { key } else { 0 };
        self.store.derive(identity, || Derived::Opaque { key, name, size });
        Ok(identity)
    }

    fn derived(&self, entry: &TableEntry<'d>, of: Digest) -> Digest {
        let hasher = || {
            let mut hasher = Hasher::new(tag_of(entry.what) as u64);
            hasher.digest(of);
            hasher
        };
        match entry.what {
            EntryKind::Pointer => {
                let mut hasher = hasher();
                hasher.word(entry.size);
                let identity = hasher.finish();
                self.store.derive(identity, || Derived::Pointer { to: of, size: entry.size });
                identity
            }
            EntryKind::Qualified(qualifier) => {
                let identity = hasher().finish();
                self.store.derive(identity, || Derived::Qualified { qualifier, of });
                identity
            }
            _ => {
                // `int a[2][3]` is two arrays of three.
                let mut counts = [0; 16];
                let mut dimensions = 0;
                for part in self.table.parts_of(entry).take(counts.len()) {
                    counts[dimensions] = part.offset;
                    dimensions += 1;
                }
                let counts = &counts[..dimensions.max(1)];
                counts.iter().rev().fold(of, |of, &count| {
                    let mut hasher = Hasher::new(Tag::Array as u64);
                    hasher.digest(of);
                    hasher.word(count);
                    let identity = hasher.finish();
                    self.store.derive(identity, || Derived::Array { of, count });
                    identity
                })
            }
        }
    }
}

fn is_root(entry: &TableEntry<'_>) -> bool {
    let own = matches!(
        entry.what,
        EntryKind::Struct
            | EntryKind::Union
            | EntryKind::Variants
            | EntryKind::Enumeration
            | EntryKind::Scalar(_)
            | EntryKind::Alias
    );
    own && !entry.declaration && !entry.stands_in && entry.at != NOWHERE && entry.scope != NONE
}
