//! The file `perf.data`: a header, a table of events, and records; or, written to a pipe, records alone.
//!
//! The form is documented in the kernel's `tools/perf/Documentation/perf.data-file-format.txt`.
//!
//! The crate `linux-perf-data` reads this form too, but it skips `data_src` and `weight`, and asks for as much memory as a
//! header claims. So records are read here, each within the bounds of the file.

use rustc_hash::FxHashMap;

use super::bytes::PerfBytes;
use super::sample::{Event, PerfSample};
use super::space::{KERNEL_NAME, Mapping, SpaceChange};

const MAGIC: &[u8; 8] = b"PERFILE2";
const SWAPPED: &[u8; 8] = b"2ELIFREP";

/// A header that says so little is that of a pipe.
const PIPE_HEADER: u64 = 16;

/// The feature that lists build IDs.
const BUILD_IDS: u64 = 2;

/// Events of one recording. perf opens a few.
const MAX_EVENTS: u64 = 1 << 10;

/// Types of records.
const MMAP: u32 = 1;
const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const HEADER_ATTR: u32 = 64;
const HEADER_BUILD_ID: u32 = 67;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// Bits of a record's `misc`.
const IS_DATA: u16 = 1 << 13;
const HAS_BUILD_ID: u16 = 1 << 14;

/// A mapping of a file for code; an `exec`.
const PROTECTION_EXECUTE: u32 = 4;
const IS_EXEC: u16 = 1 << 13;

/// Whether a file may be one that perf has written.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(SWAPPED)
}

/// The records that matter, by time.
#[derive(Debug)]
pub(super) struct File<'a> {
    bytes: PerfBytes<'a>,
    events: Vec<Event>,
    /// Which event each identifier is of.
    ids: FxHashMap<u64, usize>,
    /// How many more the file can have.
    ids_left: usize,
    records: Vec<PerfRecord>,
    /// Build identifiers by path; the kernel's mapping is named after a symbol as well, which is left out here.
    build_ids: FxHashMap<String, Vec<u8>>,
}

/// Where a record lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PerfRecord {
    time: u64,
    offset: u64,
    kind: u32,
    misc: u16,
    size: u16,
}

/// What happened next.
pub(super) enum PerfStep {
    Sample(PerfSample),
    Change(SpaceChange),
}

impl<'a> File<'a> {
    /// Reads the header, and puts the records in order. The error says what is wrong with the file.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        if bytes.starts_with(SWAPPED) {
            return Err("was recorded on a big-endian machine; only recordings of x86-64 are read"
                .to_owned());
        }
        let bytes = PerfBytes(bytes);
        let mut file = Self {
            bytes,
            events: Vec::new(),
            ids: FxHashMap::default(),
            ids_left: bytes.0.len() / 8,
            records: Vec::new(),
            build_ids: FxHashMap::default(),
        };
        let cut = || "is truncated: its header is cut".to_owned();
        let word =
            |offset| bytes.section(offset, 8).and_then(|mut word| word.u64()).ok_or_else(cut);
        let header = word(8)?;
        if header == PIPE_HEADER {
            file.scan(PIPE_HEADER, bytes.0.len() as u64)?;
        } else {
            let (attribute_size, attributes, attributes_size) = (word(16)?, word(24)?, word(32)?);
            let (data, size) = (word(40)?, word(48)?);
            if size == 0 {
                return Err(
                    "holds no samples: the recording has not ended, or was killed".to_owned()
                );
            }
            let end = data.checked_add(size).filter(|end| *end <= bytes.0.len() as u64);
            let end = end.ok_or_else(|| {
                format!("is truncated: its header promises {size} bytes of samples after {data}, the file has {}", bytes.0.len())
            })?;
            file.read_events(attribute_size, attributes, attributes_size)
                .ok_or("is malformed: its table of events is cut")?;
            if word(72)? & (1 << BUILD_IDS) != 0 {
                file.read_build_ids(end, word(72)?);
            }
            file.scan(data, end)?;
        }
        if file.events.is_empty() {
            return Err("is malformed: it has no event".to_owned());
        }
        if file.events.len() > 1 && !file.events.iter().all(Event::has_identifier) {
            let first = file.events[0];
            if file.events.iter().any(|one| *one != first) {
                return Err("has several events that cannot be told apart; record with perf mem or perf c2c".to_owned());
            }
        }
        file.records.sort_unstable();
        Ok(file)
    }

    pub(super) fn has_addresses(&self) -> bool {
        self.events.iter().any(Event::has_addresses)
    }

    /// The build ID of what was mapped under a path, as far as the header says.
    pub(super) fn build_id(&self, path: &str) -> Option<&[u8]> {
        let end = if path.starts_with(KERNEL_NAME) { KERNEL_NAME.len() } else { path.len() };
        self.build_ids.get(&path[..end]).map(|id| &**id)
    }

    /// Samples and changes of mappings, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = PerfStep> + '_ {
        self.records.iter().filter_map(|record| self.step(*record))
    }

    fn body(&self, record: PerfRecord) -> Option<PerfBytes<'a>> {
        self.bytes.section(record.offset, record.size.into())
    }

    fn step(&self, record: PerfRecord) -> Option<PerfStep> {
        let mut body = self.body(record)?;
        if record.kind == SAMPLE {
            let event = self.event_of(body);
            return event
                .has_addresses()
                .then(|| event.sample(body))
                .flatten()
                .map(PerfStep::Sample);
        }
        let pid = body.u32()?;
        match record.kind {
            MMAP | MMAP2 => {
                body.u32()?;
                let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
                let mut build_id = None;
                let mut is_code = record.misc & IS_DATA == 0;
                if record.kind == MMAP2 {
                    let mut id = PerfBytes(body.take(24)?);
                    if record.misc & HAS_BUILD_ID != 0 {
                        let length = id.u32()? & 0xff;
                        build_id = id.take(length.into()).map(<[u8]>::to_vec);
                    }
                    is_code = body.u32()? & PROTECTION_EXECUTE != 0;
                    body.u32()?;
                }
                let path = body.text();
                let build_id = build_id.or_else(|| self.build_id(&path).map(<[u8]>::to_vec));
                let mapping = Mapping { pid, start, length, offset, is_code, path, build_id };
                Some(PerfStep::Change(SpaceChange::Map(mapping)))
            }
            FORK => Some(PerfStep::Change(SpaceChange::Fork { parent: body.u32()?, child: pid })),
            COMM if record.misc & IS_EXEC != 0 => Some(PerfStep::Change(SpaceChange::Exec(pid))),
            _ => None,
        }
    }

    /// The event that a sample is of.
    fn event_of(&self, mut sample: PerfBytes<'_>) -> &Event {
        let first = &self.events[0];
        if !first.has_identifier() {
            return first;
        }
        let id = sample.u64().and_then(|id| self.ids.get(&id));
        id.and_then(|at| self.events.get(*at)).unwrap_or(first)
    }

    fn read_events(&mut self, each: u64, start: u64, size: u64) -> Option<()> {
        // Each is followed by where its identifiers are.
        let count = size.checked_div(each)?;
        let length = each.checked_sub(16)?;
        for index in 0..count.min(MAX_EVENTS) {
            let mut entry =
                self.bytes.section(start.checked_add(index.checked_mul(each)?)?, each)?;
            let event = Event::of(PerfBytes(entry.take(length)?))?;
            let (ids, size) = (entry.u64()?, entry.u64()?);
            let ids = self.bytes.section(ids, size)?;
            self.add_event(event, ids)?;
        }
        Some(())
    }

    /// `None` if events name more identifiers than the file has room for.
    fn add_event(&mut self, event: Event, mut ids: PerfBytes<'_>) -> Option<()> {
        self.ids_left = self.ids_left.checked_sub(ids.0.len() / 8)?;
        while let Some(id) = ids.u64() {
            self.ids.insert(id, self.events.len());
        }
        self.events.push(event);
        Some(())
    }

    /// Sections of features follow the data, in the order of their bits.
    fn read_build_ids(&mut self, table: u64, features: u64) -> Option<()> {
        let before = u64::from((features & ((1 << BUILD_IDS) - 1)).count_ones());
        let mut entry = self.bytes.section(table.checked_add(16 * before)?, 16)?;
        let mut section = self.bytes.section(entry.u64()?, entry.u64()?)?;
        while let Some(size) = self.build_id_record(section) {
            section.take(size)?;
        }
        Some(())
    }

    /// A record with one, and its size.
    fn build_id_record(&mut self, mut from: PerfBytes<'_>) -> Option<u64> {
        let (_, _, size) = (from.u32()?, from.u16()?, from.u16()?);
        let mut body = PerfBytes(from.take(u64::from(size).checked_sub(8)?)?);
        self.add_build_id(&mut body)?;
        Some(size.into())
    }

    fn add_build_id(&mut self, body: &mut PerfBytes<'_>) -> Option<()> {
        body.u32()?;
        let id = body.take(24)?;
        // Since Linux 5.8 its length follows the longest; before, all had that length.
        let length = usize::from(id[20]);
        let length = if (1..=20).contains(&length) { length } else { 20 };
        self.build_ids.insert(body.text(), id[..length].to_vec());
        Some(())
    }

    /// Notes where the records lie.
    fn scan(&mut self, start: u64, end: u64) -> Result<(), String> {
        let is_pipe = start == PIPE_HEADER && self.events.is_empty();
        let mut at = start;
        let mut last = 0;
        while at < end {
            let start = at;
            let cut = || format!("is truncated: the record at {start} is cut");
            let mut header = self.bytes.section(at, 8).ok_or_else(cut)?;
            let (kind, misc, size) = (header.u32(), header.u16(), header.u16());
            let (Some(kind), Some(misc), Some(size)) = (kind, misc, size) else {
                return Err(cut());
            };
            let body = u64::from(size).checked_sub(8).ok_or_else(|| {
                format!("is malformed: the record at {at} is shorter than its header")
            })?;
            let (offset, next) = (at + 8, at + u64::from(size));
            if next > end {
                return Err(cut());
            }
            let bytes = self.bytes.section(offset, body).ok_or_else(cut)?;
            at = next;
            match kind {
                COMPRESSED | COMPRESSED2 => {
                    return Err("is compressed; record without -z".to_owned());
                }
                AUXTRACE => {
                    let more =
                        bytes.section(0, 8).and_then(|mut size| size.u64()).ok_or_else(cut)?;
                    at = at.checked_add(more).filter(|at| *at <= end).ok_or_else(cut)?;
                }
                HEADER_ATTR if is_pipe => self.pipe_event(bytes).ok_or_else(cut)?,
                HEADER_BUILD_ID if is_pipe => {
                    let mut bytes = bytes;
                    self.add_build_id(&mut bytes).ok_or_else(cut)?;
                }
                MMAP | COMM | FORK | SAMPLE | MMAP2 => {
                    let Some(first) = self.events.first() else { continue };
                    let time = match kind {
                        SAMPLE => self.event_of(bytes).time_of_sample(bytes),
                        _ => first.time_of_other(bytes),
                    };
                    // What has no time stays where it is.
                    last = time.unwrap_or(last);
                    let size = size - 8;
                    self.records.push(PerfRecord { time: last, offset, kind, misc, size });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn pipe_event(&mut self, mut body: PerfBytes<'_>) -> Option<()> {
        let size = u64::from(body.section(4, 4)?.u32()?);
        let event = Event::of(PerfBytes(body.take(size)?))?;
        if self.events.len() as u64 >= MAX_EVENTS {
            return None;
        }
        self.add_event(event, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_all_name_the_whole_file_as_their_identifiers_are_refused() {
        const EACH: u64 = 144;
        let count = 4;
        let end = 104 + count * EACH;
        let mut file = MAGIC.to_vec();
        for word in [104, EACH, 104, count * EACH, end, 8, 0, 0, 0, 0, 0, 0] {
            file.extend(word.to_le_bytes());
        }
        for _ in 0..count {
            file.extend([0; 128]);
            file.extend(0_u64.to_le_bytes());
            file.extend((end + 8).to_le_bytes());
        }
        file.extend([0; 8]);
        let error = File::read(&file).unwrap_err();
        assert_eq!(error, "is malformed: its table of events is cut");
    }
}
