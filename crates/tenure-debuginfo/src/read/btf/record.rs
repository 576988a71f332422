//! A type in the file: 12 bytes, and what its kind adds.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BtfKind {
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    Datasec,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
    /// The layout section says how to skip it.
    Newer(u8),
}

/// Bytes before those that the kind adds.
pub(super) const HEAD: usize = 12;

/// Bytes of a struct's member, and of a section's variable.
pub(super) const TRIPLE: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: Order,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BtfRecord {
    pub(super) name: u32,
    pub(super) kind: BtfKind,
    /// Bit 31 of the word with the kind; its meaning depends on the kind.
    pub(super) flag: bool,
    pub(super) count: u32,
    /// A size in bytes or the id of a type.
    pub(super) word: u32,
    pub(super) rest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRecord {
    CutOff,
    /// Kind 0, or newer than this reader.
    Unknown(u8),
}

impl Words<'_> {
    pub(super) fn at(&self, byte: usize) -> Option<u32> {
        let word = *self.bytes.get(byte..)?.first_chunk()?;
        Some(self.word(word))
    }

    pub(super) fn triple(&self, bytes: &[u8; TRIPLE]) -> [u32; 3] {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        [self.word([a, b, c, d]), self.word([e, f, g, h]), self.word([i, j, k, l])]
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }
}

impl BtfRecord {
    pub(super) fn at(types: Words<'_>, byte: usize) -> Result<Self, NoRecord> {
        let head = types.bytes.get(byte..).and_then(|bytes| bytes.first_chunk());
        let [name, info, word] = types.triple(head.ok_or(NoRecord::CutOff)?);
        // Until Linux 7.1 the count had 16 bits and the kind 5; those added were always 0.
        let (flag, code, count) = (info >> 31 != 0, (info >> 24 & 0x7f) as u8, info & 0x00ff_ffff);
        let kind = BtfKind::of(code).ok_or(NoRecord::Unknown(code))?;
        Ok(Self { name, kind, flag, count, word, rest: byte + HEAD })
    }

    pub(super) fn end(&self, types: Words<'_>, layout: &[u8]) -> Result<usize, NoRecord> {
        let (once, each) = self.kind.adds(layout).ok_or(match self.kind {
            BtfKind::Newer(code) => NoRecord::Unknown(code),
            _ => NoRecord::CutOff,
        })?;
        let added = once as u64 + each as u64 * u64::from(self.count);
        let there = (types.bytes.len() - self.rest) as u64;
        match usize::try_from(added) {
            Ok(bytes) if added <= there => Ok(self.rest + bytes),
            _ => Err(NoRecord::CutOff),
        }
    }
}

impl BtfKind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            0 => return None,
            1 => Self::Int,
            2 => Self::Ptr,
            3 => Self::Array,
            4 => Self::Struct,
            5 => Self::Union,
            6 => Self::Enum,
            7 => Self::Fwd,
            8 => Self::Typedef,
            9 => Self::Volatile,
            10 => Self::Const,
            11 => Self::Restrict,
            12 => Self::Func,
            13 => Self::FuncProto,
            14 => Self::Var,
            15 => Self::Datasec,
            16 => Self::Float,
            17 => Self::DeclTag,
            18 => Self::TypeTag,
            19 => Self::Enum64,
            newer => Self::Newer(newer),
        })
    }

    /// Bytes beyond the first 12: once, and for each that the record counts.
    fn adds(self, layout: &[u8]) -> Option<(usize, usize)> {
        Some(match self {
            Self::Int | Self::Var | Self::DeclTag => (4, 0),
            Self::Array => (12, 0),
            Self::Struct | Self::Union | Self::Datasec => (0, TRIPLE),
            Self::Enum64 => (0, 12),
            Self::Enum | Self::FuncProto => (0, 8),
            Self::Ptr
            | Self::Fwd
            | Self::Typedef
            | Self::Volatile
            | Self::Const
            | Self::Restrict
            // Its count is a linkage.
            | Self::Func
            | Self::Float
            | Self::TypeTag => (0, 0),
            Self::Newer(code) => {
                let [once, each, _, _] = *layout.get(4 * usize::from(code)..)?.first_chunk()?;
                (usize::from(once), usize::from(each))
            }
        })
    }

    pub(super) fn is_type(self) -> bool {
        !matches!(self, Self::Var | Self::Datasec | Self::DeclTag)
    }
}
