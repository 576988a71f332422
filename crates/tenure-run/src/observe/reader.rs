//! Reading a segment while its process writes it.
//!
//! The file is read, not mapped: what another process writes meanwhile cannot then change under a reference. Nothing
//! in it is trusted: numbers only choose what to read, and what is read beyond the file's end is zeros.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tenure_probe::segment::{
    BLOCK_BYTES, Block, Class, Entry, Header, Line, MAGIC, MAX_FRAMES, Module, RECORDS_START,
    RecordKind, Thread,
};

/// A record with what follows it.
#[derive(Debug, Clone)]
pub(crate) struct WithTail<R> {
    pub(crate) record: R,
    pub(crate) tail: Vec<u8>,
}

/// A segment, as far as it was read.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    file: File,
    pub(crate) header: Header,
    blocks: Vec<Option<SeenBlock>>,
    pub(crate) modules: Vec<WithTail<Module>>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) classes: Vec<WithTail<Class>>,
    pub(crate) lines: Vec<Line>,
    pub(crate) entries: Vec<Entry>,
    buffer: Vec<u8>,
}

/// A block of entries: where its records are in [`SegmentReader::entries`] depends on when they were seen.
#[derive(Debug)]
struct SeenBlock {
    kind: RecordKind,
    /// The places of its records among all of the kind.
    places: Vec<u32>,
}

impl SegmentReader {
    /// Opens a segment; `None` if its process has not finished the header.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let header = read_header(&file)?;
        if header.magic != u64::from_ne_bytes(MAGIC) || !matches!(header.line_bytes, 64 | 128) {
            return Ok(None);
        }
        Ok(Some(Self {
            file,
            header,
            blocks: Vec::new(),
            modules: Vec::new(),
            threads: Vec::new(),
            classes: Vec::new(),
            lines: Vec::new(),
            entries: Vec::new(),
            buffer: vec![0; BLOCK_BYTES],
        }))
    }

    /// Reads new records, and the counts of the old entries anew. With `all`, the other old records as well.
    pub(crate) fn refresh(&mut self, all: bool) -> io::Result<()> {
        self.header = read_header(&self.file)?;
        let blocks = self.header.blocks.min(self.header.most_blocks) as usize;
        for index in 1..blocks {
            if self.blocks.len() < index {
                self.blocks.push(None);
            }
            self.refresh_block(index, all)?;
        }
        Ok(())
    }

    fn refresh_block(&mut self, index: usize, all: bool) -> io::Result<()> {
        let start = (index * BLOCK_BYTES) as u64;
        // First the number of records, then the records: see `segment`.
        let mut bytes = [0; RECORDS_START];
        read(&self.file, start, &mut bytes)?;
        let header = Block::read(&bytes);
        let Some(kind) = RecordKind::from_number(header.kind) else { return Ok(()) };
        let known = self.blocks[index - 1].get_or_insert(SeenBlock { kind, places: Vec::new() });
        let used = (header.used as usize).min(kind.per_block());
        if known.kind != kind || (used <= known.places.len() && kind != RecordKind::Entries && !all)
        {
            return Ok(());
        }
        let buffer = &mut self.buffer[..used * kind.stride()];
        read(&self.file, start + RECORDS_START as u64, buffer)?;
        for (place, bytes) in buffer.chunks_exact(kind.stride()).enumerate() {
            let place = known.places.get(place).copied();
            let new = match kind {
                RecordKind::Modules => put(
                    &mut self.modules,
                    place,
                    with_tail(Module::read(bytes), size_of::<Module>(), bytes),
                ),
                RecordKind::Classes => put(
                    &mut self.classes,
                    place,
                    with_tail(Class::read(bytes), size_of::<Class>(), bytes),
                ),
                RecordKind::Threads => put(&mut self.threads, place, Thread::read(bytes)),
                RecordKind::Lines => put(&mut self.lines, place, Line::read(bytes)),
                RecordKind::Entries => put(&mut self.entries, place, Entry::read(bytes)),
            };
            known.places.extend(new);
        }
        Ok(())
    }
}

/// Puts a record in its place, or after all others: then returns the new place.
fn put<R>(records: &mut Vec<R>, place: Option<u32>, record: R) -> Option<u32> {
    match place {
        Some(place) => {
            records[place as usize] = record;
            None
        }
        None => {
            records.push(record);
            u32::try_from(records.len() - 1).ok()
        }
    }
}

fn with_tail<R>(record: R, size: usize, bytes: &[u8]) -> WithTail<R> {
    WithTail { record, tail: bytes.get(size..).unwrap_or_default().to_owned() }
}

impl WithTail<Module> {
    /// The file.
    pub(crate) fn path(&self) -> String {
        let end = self.tail.iter().position(|&byte| byte == 0).unwrap_or(self.tail.len());
        String::from_utf8_lossy(&self.tail[..end]).into_owned()
    }
}

impl WithTail<Class> {
    /// Return addresses, the innermost first.
    pub(crate) fn stack(&self) -> Vec<u64> {
        let depth = usize::try_from(self.record.depth).unwrap_or(0).min(MAX_FRAMES);
        let (words, _) = self.tail.as_chunks();
        words.iter().take(depth).map(|word| u64::from_ne_bytes(*word)).collect()
    }
}

fn read_header(file: &File) -> io::Result<Header> {
    let mut bytes = [0; size_of::<Header>()];
    read(file, 0, &mut bytes)?;
    Ok(Header::read(&bytes))
}

/// Reads at an offset; zeros after the file's end.
fn read(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.read_at(bytes, offset) {
            Ok(0) => {
                bytes.fill(0);
                break;
            }
            Ok(count) => {
                bytes = &mut bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
