//! Names, each made once.

use crate::model::Name;

/// How many times the bytes of the strings all names may have together. Names that end alike may
/// share bytes, so a few times is possible; a file in which each name is almost all of one long
/// string is made to exhaust memory.
const MOST_SHARING: usize = 4;

/// The strings of a file and its base.
pub(super) struct Names<'a> {
    base: &'a [u8],
    own: &'a [u8],
    /// For each offset, which of `made` it is, from 1; 0 for one that was not asked for yet.
    known: Vec<u32>,
    made: Vec<Name>,
    /// How many more bytes names may have.
    left: usize,
}

/// Why there is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoName {
    /// The offset is beyond the strings.
    Beyond,
    /// Names overlap so that they would fill the memory.
    TooMuch,
}

impl<'a> Names<'a> {
    /// Over the strings of a base (empty without one) and of the file itself.
    pub(super) fn new(base: &'a [u8], own: &'a [u8]) -> Self {
        let bytes = base.len().saturating_add(own.len());
        Self {
            base,
            own,
            known: vec![0; bytes],
            // In a kernel every third name, of 16 bytes on average, is that of a function.
            made: Vec::with_capacity(bytes / 32),
            left: bytes.saturating_mul(MOST_SHARING),
        }
    }

    /// The name that begins at an offset.
    pub(super) fn at(&mut self, offset: u32) -> Result<Name, NoName> {
        let offset = offset as usize;
        match self.known.get(offset) {
            // Only a file without strings lacks the empty one.
            None if offset == 0 => Ok(Name::default()),
            None => Err(NoName::Beyond),
            Some(0) => self.make(offset),
            Some(which) => Ok(Name::clone(&self.made[*which as usize - 1])),
        }
    }

    #[cold]
    fn make(&mut self, offset: usize) -> Result<Name, NoName> {
        let from = match offset.checked_sub(self.base.len()) {
            Some(own) => self.own.get(own..),
            None => self.base.get(offset..),
        };
        let from = from.ok_or(NoName::Beyond)?;
        let name = &from[..from.len().min(self.left)];
        let end = name.iter().position(|byte| *byte == 0).ok_or(NoName::TooMuch)?;
        self.left -= end;
        let name = match end {
            0 => Name::default(),
            _ => Name::from(String::from_utf8_lossy(&name[..end])),
        };
        self.made.push(Name::clone(&name));
        // Fits: each is at another offset of 32 bits.
        self.known[offset] = self.made.len() as u32;
        Ok(name)
    }
}
