//! Which types are the same: a hash of each, and the name by which it is pointed to.
//!
//! A type that thousands of units include has thousands of entries. They are one type if their *contents* are equal:
//!
//! - of a composite: its name with its path, its size, its declared alignment and its members, with names, offsets,
//!   bits, and the contents of their types;
//! - of an alias, a qualified type, an array: name, count, and the content of its target or element;
//! - of a pointer: the *key* of its target, which is the kind and the name with its path. So types that point to each
//!   other have contents, and a pointer's content is the same whether its unit declares or defines the target.
//!
//! Inner types come first, on an explicit stack.

use super::digest::{Digest, Hasher};
use super::table::{BitsAt, EntryKind, EntryTable, TableEntry, TablePart};
use crate::model::{BitField, Malformed, Qualifier, Scalar};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// The hash; 0 while unknown.
    pub(super) content: Digest,
    /// 0 while unknown, or without a name.
    key: Digest,
    /// The hash of the type that it becomes; 0 while unknown. See [`emit`](super::emit).
    pub(super) identity: Digest,
    /// Where members' bits need it.
    size: u64,
    /// The largest declared alignment in it.
    pub(super) align: u32,
    open: bool,
}

#[derive(Debug, Default)]
pub(super) struct UnitContents {
    pub(super) known: Vec<Known>,
    scopes: Vec<Digest>,
    stack: Vec<ContentFrame>,
}

#[derive(Debug, Clone, Copy)]
struct ContentFrame {
    entry: u32,
    next: u32,
    hasher: Hasher,
    align: u32,
}

/// Pointers, and qualifiers between them, that a key looks through.
pub(super) const MAX_HOPS: usize = 64;

pub(super) const VOID: Digest = 1;

impl UnitContents {
    pub(super) fn settle(&mut self, table: &EntryTable<'_>) -> Result<(), Malformed> {
        self.known.clear();
        self.known.resize(table.entries.len(), Known::default());
        self.scopes.clear();
        for scope in &table.scopes {
            let mut hasher = Hasher::new(Tag::Scope as u64);
            // Scopes lie after those that hold them.
            hasher.digest(self.scopes.get(scope.parent as usize).copied().unwrap_or(0));
            hasher.name(scope.name);
            self.scopes.push(hasher.finish());
        }
        for index in 0..table.entries.len() {
            let entry = &table.entries[index];
            if self.known[index].content == 0 && !entry.stands_in {
                self.settle_one(table, index as u32)?;
            }
        }
        Ok(())
    }

    /// The digest of an entry by index; that of `void` for none.
    pub(super) fn content(&self, index: u32) -> Digest {
        self.known.get(index as usize).map_or(VOID, |known| known.content)
    }

    fn settle_one(&mut self, table: &EntryTable<'_>, root: u32) -> Result<(), Malformed> {
        self.open(table, root);
        while let Some(mut frame) = self.stack.pop() {
            let entry = &table.entries[frame.entry as usize];
            let waits_for = self.go_on(table, entry, &mut frame);
            let known = &mut self.known[frame.entry as usize];
            match waits_for {
                None => {
                    known.open = false;
                    known.content = frame.hasher.finish();
                    known.align = if entry.align == 0 { frame.align } else { entry.align };
                }
                Some(part) => {
                    self.stack.push(frame);
                    if self.known[part as usize].open {
                        let name = String::from_utf8_lossy(entry.name).into_owned();
                        self.stack.clear();
                        return Err(Malformed::new(format!("type `{name}` contains itself")));
                    }
                    self.open(table, part);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, table: &EntryTable<'_>, index: u32) {
        let entry = &table.entries[index as usize];
        self.known[index as usize].open = true;
        let mut hasher = Hasher::new(tag(entry) as u64);
        if entry.declaration || !entry.name.is_empty() {
            hasher.digest(self.key(table, index));
        }
        if !entry.declaration {
            hasher.word(entry.size);
            hasher.word(entry.align.into());
        }
        self.known[index as usize].size = entry.size;
        self.stack.push(ContentFrame {
            entry: index,
            next: entry.first,
            hasher,
            align: entry.align,
        });
    }

    /// Takes parts with known contents, and returns the first without.
    fn go_on(
        &mut self,
        table: &EntryTable<'_>,
        entry: &TableEntry<'_>,
        frame: &mut ContentFrame,
    ) -> Option<u32> {
        if entry.declaration {
            return None;
        }
        match entry.what {
            EntryKind::Struct | EntryKind::Union | EntryKind::Variants => {
                while let Some(part) = table.parts.get(frame.next as usize) {
                    let inner = match self.ready(part.target) {
                        Ok(inner) => inner,
                        Err(waits_for) => return Some(waits_for),
                    };
                    self.take(part, inner, frame);
                    frame.next = part.next;
                }
                None
            }
            EntryKind::Alias | EntryKind::Qualified(_) | EntryKind::Array => {
                let inner = match self.ready(entry.target) {
                    Ok(inner) => inner,
                    Err(waits_for) => return Some(waits_for),
                };
                for dimension in table.parts_of(entry) {
                    frame.hasher.word(dimension.offset);
                }
                frame.hasher.digest(inner.content);
                if entry.what != EntryKind::Array {
                    self.known[frame.entry as usize].size = inner.size;
                }
                frame.align = inner.align;
                None
            }
            EntryKind::Pointer => {
                let target = self.target_key(table, entry.target);
                frame.hasher.digest(target);
                None
            }
            EntryKind::Enumeration
            | EntryKind::Scalar(_)
            | EntryKind::Function
            | EntryKind::Opaque => None,
        }
    }

    fn ready(&self, index: u32) -> Result<Known, u32> {
        match self.known.get(index as usize) {
            None => Ok(Known { content: VOID, ..Known::default() }),
            Some(known) if known.content != 0 => Ok(*known),
            Some(_) => Err(index),
        }
    }

    fn take(&self, part: &TablePart<'_>, inner: Known, frame: &mut ContentFrame) {
        let hasher = &mut frame.hasher;
        hasher.name(part.name);
        let (offset, bits) = place(part, inner.size);
        hasher.word(offset);
        let bits =
            bits.map_or(0, |bits| u64::from(bits.count) << 8 | u64::from(bits.first) | 1 << 63);
        hasher.word(bits | u64::from(part.inherited) << 62);
        hasher.digest(inner.content);
        frame.align = frame.align.max(part.align).max(inner.align);
    }

    pub(super) fn place(&self, part: &TablePart<'_>) -> (u64, Option<BitField>) {
        place(part, self.known.get(part.target as usize).map_or(0, |known| known.size))
    }

    pub(super) fn key(&mut self, table: &EntryTable<'_>, index: u32) -> Digest {
        let known = self.known[index as usize];
        if known.key != 0 {
            return known.key;
        }
        let entry = &table.entries[index as usize];
        let mut hasher = Hasher::new(Tag::Key as u64);
        hasher.word(tag_of_name(entry) as u64);
        hasher.digest(self.scopes.get(entry.scope as usize).copied().unwrap_or(0));
        hasher.name(entry.name);
        let key = hasher.finish();
        self.known[index as usize].key = key;
        key
    }

    /// The key of a pointer's target: down to the first name.
    fn target_key(&mut self, table: &EntryTable<'_>, mut index: u32) -> Digest {
        let mut hasher = Hasher::new(Tag::Target as u64);
        for _ in 0..MAX_HOPS {
            let Some(entry) = table.entries.get(index as usize) else {
                hasher.word(Tag::Void as u64);
                break;
            };
            hasher.word(tag_of_name(entry) as u64);
            if !entry.name.is_empty() {
                let key = self.key(table, index);
                hasher.digest(key);
                break;
            }
            match entry.what {
                EntryKind::Pointer | EntryKind::Qualified(_) | EntryKind::Alias => {
                    index = entry.target;
                }
                EntryKind::Array => {
                    for dimension in table.parts_of(entry).take(MAX_HOPS) {
                        hasher.word(dimension.offset);
                    }
                    index = entry.target;
                }
                _ => {
                    hasher.word(entry.size);
                    hasher.word(entry.line.into());
                    break;
                }
            }
        }
        hasher.finish()
    }
}

fn place(part: &TablePart<'_>, size: u64) -> (u64, Option<BitField>) {
    let start = match part.bits_at {
        BitsAt::No => return (part.offset, None),
        BitsAt::FromStart(bits) => bits,
        BitsAt::FromTop { bits, bytes } => {
            let bytes = if bytes == 0 { size } else { bytes.into() };
            // Wrapping arithmetic: what is not negative in the end is right.
            part.offset
                .wrapping_add(bytes)
                .wrapping_mul(8)
                .wrapping_sub(bits as u64)
                .wrapping_sub(part.bits.into())
        }
    };
    (start / 8, Some(BitField { first: (start % 8) as u8, count: part.bits }))
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Tag {
    Scope,
    Key,
    Target,
    Void,
    Struct,
    Union,
    Variants,
    Enumeration,
    Integer,
    Float,
    Boolean,
    Alias,
    Pointer,
    Array,
    Const,
    Volatile,
    Atomic,
    OtherQualifier,
    Function,
    Opaque,
    Declared,
}

fn tag(entry: &TableEntry<'_>) -> Tag {
    if entry.declaration {
        return Tag::Declared;
    }
    tag_of(entry.what)
}

/// Common to a declaration and its definition: only the definition shows variants.
fn tag_of_name(entry: &TableEntry<'_>) -> Tag {
    match entry.what {
        EntryKind::Variants => Tag::Struct,
        what => tag_of(what),
    }
}

pub(super) fn tag_of(what: EntryKind) -> Tag {
    match what {
        EntryKind::Struct => Tag::Struct,
        EntryKind::Union => Tag::Union,
        EntryKind::Variants => Tag::Variants,
        EntryKind::Enumeration => Tag::Enumeration,
        EntryKind::Scalar(Scalar::Integer) => Tag::Integer,
        EntryKind::Scalar(Scalar::Float) => Tag::Float,
        EntryKind::Scalar(Scalar::Boolean) => Tag::Boolean,
        EntryKind::Scalar(Scalar::Enumeration) => Tag::Enumeration,
        EntryKind::Alias => Tag::Alias,
        EntryKind::Pointer => Tag::Pointer,
        EntryKind::Array => Tag::Array,
        EntryKind::Qualified(Qualifier::Const) => Tag::Const,
        EntryKind::Qualified(Qualifier::Volatile) => Tag::Volatile,
        EntryKind::Qualified(Qualifier::Atomic) => Tag::Atomic,
        EntryKind::Qualified(Qualifier::Other) => Tag::OtherQualifier,
        EntryKind::Function => Tag::Function,
        EntryKind::Opaque => Tag::Opaque,
    }
}
