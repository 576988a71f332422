//! Where a module's file lies in the memory of a process, and which build of it the file is.

use std::path::Path;

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::read::file::MappedFile;

/// Longer names of symbols are not asked for.
const MAX_NAME_BYTES: usize = 1 << 10;

/// What is known of a module by which addresses of a process become the file's own.
#[derive(Debug)]
pub struct Loaded {
    /// Tells builds of one program apart.
    pub build_id: Option<Vec<u8>>,
    segments: Vec<LoadedSegment>,
    /// `None` for a name of several, as static functions may have.
    symbols: FxHashMap<Box<str>, Option<u64>>,
}

#[derive(Debug)]
struct LoadedSegment {
    file: u64,
    address: u64,
    file_size: u64,
    is_code: bool,
}

impl Loaded {
    /// Reads a module's file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a program or library.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = MappedFile::open(path)?;
        let object = object::File::parse(file.bytes()).map_err(|_| {
            let path = path.display();
            Error::new(format!(
                "{path} is not a program or library; name the file that perf recorded"
            ))
        })?;
        let segment = |one: object::Segment<'_, '_>| {
            let (file, file_size) = one.file_range();
            let is_code = match one.flags() {
                SegmentFlags::Elf { p_flags, .. } => p_flags.0 & object::elf::PF_X.0 != 0,
                _ => false,
            };
            LoadedSegment { file, address: one.address(), file_size, is_code }
        };
        let mut symbols: FxHashMap<Box<str>, Option<u64>> = FxHashMap::default();
        // Names may share bytes of the file.
        let mut left = file.bytes().len().saturating_mul(4);
        for one in object.symbols().chain(object.dynamic_symbols()) {
            let Ok(name) = one.name() else { continue };
            if one.is_definition() && name.len() <= MAX_NAME_BYTES {
                let Some(rest) = left.checked_sub(name.len()) else { break };
                left = rest;
                let address = Some(one.address());
                let known = symbols.entry(name.into()).or_insert(address);
                *known = known.filter(|_| *known == address);
            }
        }
        Ok(Self {
            build_id: object.build_id().ok().flatten().map(<[u8]>::to_vec),
            segments: object.segments().map(segment).collect(),
            symbols,
        })
    }

    /// By how much a mapping moves the file's addresses: of so many bytes, beginning at an offset of the file, as code or as
    /// data, since linkers let segments share pages of the file.
    #[must_use]
    pub fn bias_of(&self, start: u64, offset: u64, length: u64, in_code: bool) -> Option<u64> {
        // The mapping begins with the page that the segment begins in.
        let end = offset.saturating_add(length);
        let meets = |one: &&LoadedSegment| {
            one.is_code == in_code
                && one.file_size > 0
                && one.file < end
                && offset < one.file.saturating_add(one.file_size)
        };
        let found = self.segments.iter().find(meets)?;
        Some(start.wrapping_add(found.file.wrapping_sub(offset)).wrapping_sub(found.address))
    }

    /// Whether the file has code at an address of its own.
    #[must_use]
    pub fn has_code(&self, address: u64) -> bool {
        let holds = |one: &LoadedSegment| {
            one.is_code
                && address.checked_sub(one.address).is_some_and(|in_it| in_it < one.file_size)
        };
        self.segments.iter().any(holds)
    }

    /// The address of what a symbol names, if it names one thing.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied().flatten()
    }
}
