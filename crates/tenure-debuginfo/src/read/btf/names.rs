use crate::model::Name;

/// Bound on the bytes of all names, in multiples of the strings. Names that end alike share bytes, so a few times is
/// possible; more is made to exhaust memory.
const MAX_SHARING: usize = 4;

pub(super) struct Names<'a> {
    base: &'a [u8],
    own: &'a [u8],
    /// The end of the strings that this file may use: a base may not use those on top of it.
    end: usize,
    made: Vec<Made>,
    /// By [`APART`] offsets, the last of `made` at one of them, from 1; 0 for none.
    last: Vec<u32>,
    /// Bytes left for names.
    left: usize,
}

/// Offsets that share a slot. Most names have three letters and more, so few collide.
const APART: usize = 4;

struct Made {
    offset: u32,
    /// The previous one in the slot, from 1; 0 for none.
    before: u32,
    name: Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoName {
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
            end: bytes,
            // A kernel asks for two thirds of its strings, of 16 bytes on average.
            made: Vec::with_capacity(bytes / 24),
            last: vec![0; bytes.div_ceil(APART)],
            left: bytes.saturating_mul(MAX_SHARING),
        }
    }

    /// Hides names from `end` on.
    pub(super) fn end_at(&mut self, end: usize) {
        self.end = end;
    }

    pub(super) fn at(&mut self, offset: u32) -> Result<Name, NoName> {
        if offset as usize >= self.end {
            return Err(NoName::Beyond);
        }
        let Some(last) = self.last.get(offset as usize / APART) else {
            return Err(NoName::Beyond);
        };
        let mut which = *last as usize;
        while let Some(made) = which.checked_sub(1).map(|which| &self.made[which]) {
            if made.offset == offset {
                return Ok(Name::clone(&made.name));
            }
            which = made.before as usize;
        }
        self.make(offset)
    }

    fn make(&mut self, offset: u32) -> Result<Name, NoName> {
        let at = offset as usize;
        let from = match at.checked_sub(self.base.len()) {
            Some(own) => self.own.get(own..),
            None => self.base.get(at..),
        };
        let from = from.ok_or(NoName::Beyond)?;
        let name = &from[..from.len().min(self.left)];
        let end = name.iter().position(|byte| *byte == 0).ok_or(NoName::TooMuch)?;
        self.left -= end;
        let name = match str::from_utf8(&name[..end]) {
            Ok("") => Name::default(),
            Ok(name) => Name::from(name),
            Err(_) => Name::from(String::from_utf8_lossy(&name[..end])),
        };
        let last = &mut self.last[at / APART];
        self.made.push(Made { offset, before: *last, name: Name::clone(&name) });
        // Fits: each is at another offset of 32 bits.
        *last = self.made.len() as u32;
        Ok(name)
    }
}
