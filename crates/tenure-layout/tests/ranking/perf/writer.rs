//! A small writer of `perf.data`, in the form that the kernel's documentation gives.

/// `IP | TID | TIME | ADDR | WEIGHT | DATA_SRC`.
const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 8 | 1 << 14 | 1 << 15;
const ADDRESS: u64 = 8;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXECUTE: u32 = 4;
const HEADER: u64 = 104;
const ATTRIBUTE: usize = 128;

pub(super) const LOAD: u64 = 2;
pub(super) const STORE: u64 = 4;
pub(super) const HITM: u64 = 0x10 << 19;
pub(super) const REMOTE: u64 = 1 << 37;

#[derive(Clone)]
pub(super) struct Writer {
    records: Vec<u8>,
    sample_type: u64,
    time: u64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { records: Vec::new(), sample_type: SAMPLE_TYPE, time: 0 }
    }

    pub(super) fn without_addresses() -> Self {
        Self { sample_type: SAMPLE_TYPE & !ADDRESS, ..Self::new() }
    }

    fn record(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let size = u16::try_from(body.len() + 8).unwrap();
        self.records.extend(kind.to_le_bytes());
        self.records.extend(misc.to_le_bytes());
        self.records.extend(size.to_le_bytes());
        self.records.extend(body);
        self.time += 1;
    }

    /// A mapping for code, with a build ID.
    pub(super) fn map(
        &mut self,
        pid: u32,
        start: u64,
        length: u64,
        offset: u64,
        path: &str,
        id: &[u8],
    ) {
        let mut body = Vec::new();
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        for word in [start, length, offset] {
            body.extend(word.to_le_bytes());
        }
        let mut build_id = id.to_vec();
        build_id.resize(20, 0);
        body.extend([id.len() as u8, 0, 0, 0]);
        body.extend(build_id);
        body.extend(EXECUTE.to_le_bytes());
        body.extend(2_u32.to_le_bytes());
        body.extend(path.as_bytes());
        body.resize(body.len() / 8 * 8 + 8, 0);
        // Whose the record is, and when: `TID | TIME`.
        body.extend(u64::from(pid).to_le_bytes());
        body.extend(self.time.to_le_bytes());
        self.record(10, 1 << 14, &body);
    }

    pub(super) fn sample(&mut self, pid: u32, (ip, address): (u64, u64), source: u64, weight: u64) {
        let mut body = Vec::new();
        body.extend(ip.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(self.time.to_le_bytes());
        if self.sample_type & ADDRESS != 0 {
            body.extend(address.to_le_bytes());
        }
        body.extend(weight.to_le_bytes());
        body.extend(source.to_le_bytes());
        self.record(9, 2, &body);
    }

    fn attribute(&self) -> Vec<u8> {
        let mut attribute = vec![0; ATTRIBUTE];
        attribute[4..8].copy_from_slice(&(ATTRIBUTE as u32).to_le_bytes());
        attribute[24..32].copy_from_slice(&self.sample_type.to_le_bytes());
        attribute[40..48].copy_from_slice(&SAMPLE_ID_ALL.to_le_bytes());
        attribute
    }

    pub(super) fn file(&self) -> Vec<u8> {
        let each = ATTRIBUTE as u64 + 16;
        let mut file = b"PERFILE2".to_vec();
        let data = (HEADER + each, self.records.len() as u64);
        for word in [HEADER, each, HEADER, each, data.0, data.1, 0, 0, 0, 0, 0, 0] {
            file.extend(word.to_le_bytes());
        }
        file.extend(self.attribute());
        // No identifiers: there is one event.
        file.extend([0; 16]);
        file.extend(&self.records);
        file
    }

    /// As it is written to a pipe.
    pub(super) fn pipe(&self) -> Vec<u8> {
        let mut attributes = Self { records: Vec::new(), ..self.clone() };
        attributes.record(64, 0, &self.attribute());
        let mut file = b"PERFILE2".to_vec();
        file.extend(16_u64.to_le_bytes());
        file.extend(attributes.records);
        file.extend(&self.records);
        file
    }
}
