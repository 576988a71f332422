//! One record `PERF_RECORD_SAMPLE`: its fields follow each other as the event asked for them, see perf_event_open(2).

use super::bytes::PerfBytes;
use super::source::DataSource;

/// Bits of `sample_type`.
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const WEIGHT: u64 = 1 << 14;
const DATA_SRC: u64 = 1 << 15;
const IDENTIFIER: u64 = 1 << 16;
const WEIGHT_STRUCT: u64 = 1 << 24;

/// Bits of `read_format`.
const ENABLED: u64 = 1;
const RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const LOST: u64 = 1 << 4;

/// A branch stack begins with an index of the hardware.
const HW_INDEX: u64 = 1 << 17;

/// What an event records: the parts of `perf_event_attr` by which its samples are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Event {
    sample_type: u64,
    read_format: u64,
    flags: u64,
    branch_type: u64,
    user_registers: u64,
}

/// Bit of the flags: records other than samples end with the fields that say whose they are.
const SAMPLE_ID_ALL: u64 = 1 << 18;

/// One sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PerfSample {
    pub(super) pid: u32,
    pub(super) ip: u64,
    pub(super) address: u64,
    pub(super) weight: u64,
    pub(super) source: DataSource,
}

impl Event {
    /// What the bytes of a `perf_event_attr` say; older ones are shorter.
    pub(super) fn of(attribute: PerfBytes<'_>) -> Option<Self> {
        let word = |offset| attribute.section(offset, 8).and_then(|mut word| word.u64());
        Some(Self {
            sample_type: word(24)?,
            read_format: word(32)?,
            flags: word(40)?,
            branch_type: word(72).unwrap_or(0),
            user_registers: word(80).unwrap_or(0),
        })
    }

    /// Whether samples say which address was accessed.
    pub(super) fn has_addresses(&self) -> bool {
        self.sample_type & ADDR != 0
    }

    /// Whether the identifier of an event stands where it can be read before the event is known.
    pub(super) fn has_identifier(&self) -> bool {
        self.sample_type & IDENTIFIER != 0
    }

    /// The time of a record that is no sample, in its last fields.
    pub(super) fn time_of_other(&self, record: PerfBytes<'_>) -> Option<u64> {
        if self.flags & SAMPLE_ID_ALL == 0 || self.sample_type & TIME == 0 {
            return None;
        }
        let behind = self.sample_type & (ID | STREAM_ID | CPU | IDENTIFIER);
        let from_end = 8 * (u64::from(behind.count_ones()) + 1);
        let at = (record.0.len() as u64).checked_sub(from_end)?;
        record.section(at, 8)?.u64()
    }

    /// The time of a sample.
    pub(super) fn time_of_sample(&self, record: PerfBytes<'_>) -> Option<u64> {
        if self.sample_type & TIME == 0 {
            return None;
        }
        let before = self.sample_type & (IDENTIFIER | IP | TID);
        record.section(8 * u64::from(before.count_ones()), 8)?.u64()
    }

    /// The fields of a sample; `None` if it is cut.
    pub(super) fn sample(&self, mut record: PerfBytes<'_>) -> Option<PerfSample> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let mut sample = PerfSample::default();
        if has(IDENTIFIER) {
            record.u64()?;
        }
        if has(IP) {
            sample.ip = record.u64()?;
        }
        if has(TID) {
            sample.pid = record.u32()?;
            record.u32()?;
        }
        if has(TIME) {
            record.u64()?;
        }
        if has(ADDR) {
            sample.address = record.u64()?;
        }
        for bit in [ID, STREAM_ID, CPU, PERIOD] {
            if has(bit) {
                record.u64()?;
            }
        }
        if has(READ) {
            self.skip_counters(&mut record)?;
        }
        if has(CALLCHAIN) {
            let count = record.u64()?;
            record.skip_words(count)?;
        }
        if has(RAW) {
            let size = record.u32()?;
            record.take(size.into())?;
        }
        if has(BRANCH_STACK) {
            let count = record.u64()?;
            record.skip_words(u64::from(self.branch_type & HW_INDEX != 0))?;
            record.skip_words(count.checked_mul(3)?)?;
        }
        if has(REGS_USER) && record.u64()? != 0 {
            record.skip_words(self.user_registers.count_ones().into())?;
        }
        if has(STACK_USER) {
            let size = record.u64()?;
            record.take(size)?;
            if size != 0 {
                record.u64()?;
            }
        }
        if has(WEIGHT_STRUCT) {
            // The upper half has other figures.
            sample.weight = record.u64()? & u64::from(u32::MAX);
        } else if has(WEIGHT) {
            sample.weight = record.u64()?;
        }
        if has(DATA_SRC) {
            sample.source = DataSource(record.u64()?);
        }
        Some(sample)
    }

    /// Values of counters, of one or of a group.
    fn skip_counters(&self, record: &mut PerfBytes<'_>) -> Option<()> {
        let has = |bit: u64| u64::from(self.read_format & bit != 0);
        let each = 1 + has(READ_ID) + has(LOST);
        let times = has(ENABLED) + has(RUNNING);
        if self.read_format & GROUP == 0 {
            return record.skip_words(each + times);
        }
        let count = record.u64()?;
        record.skip_words(times.checked_add(count.checked_mul(each)?)?)
    }
}
