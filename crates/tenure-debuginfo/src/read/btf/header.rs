use super::record::{Order, Words};
use crate::model::Malformed;

/// The first two bytes, in the file's byte order.
const MAGIC: u16 = 0xeb9f;

/// Newer headers are longer; `hdr_len` says how long.
const SHORTEST: usize = 24;

/// With the layout section, since Linux 7.1.
const WITH_LAYOUT: usize = 32;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sections<'a> {
    pub(super) types: Words<'a>,
    pub(super) strings: &'a [u8],
    /// For each kind, how many bytes follow the 12 of a type. Empty in most files.
    pub(super) layout: &'a [u8],
}

/// Tests the first bytes.
#[must_use]
pub fn is_btf(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

fn order(bytes: &[u8]) -> Option<Order> {
    let magic = [*bytes.first()?, *bytes.get(1)?];
    match MAGIC {
        it if it == u16::from_le_bytes(magic) => Some(Order::Little),
        it if it == u16::from_be_bytes(magic) => Some(Order::Big),
        _ => None,
    }
}

impl<'a> Sections<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let order = order(bytes).ok_or_else(|| Malformed::new("it does not begin as BTF does"))?;
        let words = Words { bytes, order };
        let (Some(version), Some(length)) = (bytes.get(2), words.at(4)) else {
            return Err(Malformed::new("the BTF header is cut off"));
        };
        if *version != 1 {
            return Err(Malformed::new(format!("BTF version {version} is not known, only 1 is")));
        }
        let length = length as usize;
        if length < SHORTEST {
            return Err(Malformed::new(format!("the BTF header has {length} bytes, not 24")));
        }
        let Some((header, rest)) = bytes.split_at_checked(length) else {
            return Err(Malformed::new("the BTF header is cut off"));
        };
        let header = Words { bytes: header, order };
        let section = |at: usize, what: &str| {
            let from = header.at(at).unwrap_or_default() as usize;
            let size = header.at(at + 4).unwrap_or_default() as usize;
            rest.get(from..).and_then(|rest| rest.get(..size)).ok_or_else(|| {
                let there = rest.len();
                Malformed::new(format!(
                    "the BTF {what} are {size} bytes from {from} on, of {there} that are there"
                ))
            })
        };
        let types = Words { bytes: section(8, "types")?, order };
        let strings = section(16, "strings")?;
        let layout = if length < WITH_LAYOUT { &[] } else { section(24, "layouts")? };
        match strings.last() {
            Some(0) | None => Ok(Self { types, strings, layout }),
            Some(_) => Err(Malformed::new("the last of the BTF strings has no end")),
        }
    }
    /// BTF that needs no base begins its strings with the empty one; split BTF does not.
    pub(super) fn whole(self) -> Result<Self, Malformed> {
        match self.strings.first() {
            Some(0) => Ok(self),
            _ => Err(Malformed::new(
                "it builds on another BTF, as a kernel module's does on the kernel's, and that was \
                 not given",
            )),
        }
    }
}
