//! What a sample did and where its data came from: `data_src`, as perf_event_open(2) describes it.

/// The bits of one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DataSource(pub(super) u64);

const LOAD: u64 = 1 << 1;
const STORE: u64 = 1 << 2;

/// Levels of another CPU's cache: one hop away, or two.
const REMOTE_CACHE: u64 = (1 << (5 + 10)) | (1 << (5 + 11));

/// The snoop found the line modified.
const HITM: u64 = 1 << (19 + 4);

/// The newer bit for what `REMOTE_CACHE` said.
const REMOTE: u64 = 1 << 37;

impl DataSource {
    pub(super) fn is_load(self) -> bool {
        self.0 & LOAD != 0
    }

    pub(super) fn is_store(self) -> bool {
        self.0 & STORE != 0
    }

    /// Another core's cache had the line, modified.
    pub(super) fn is_hitm(self) -> bool {
        self.0 & HITM != 0
    }

    /// That core is in another socket.
    pub(super) fn is_remote(self) -> bool {
        self.0 & (REMOTE_CACHE | REMOTE) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_manual() {
        // As perf prints them: `|OP LOAD|LVL Local L3 hit|SNP HitM|` and `|LVL Remote Cache (1 hop) hit|SNP HitM|`.
        let local = DataSource(0x10_6880_0842);
        assert!(local.is_load() && !local.is_store() && local.is_hitm() && !local.is_remote());
        let remote = DataSource(0x2 | (0x2 | 0x400) << 5 | 0x10 << 19);
        assert!(remote.is_hitm() && remote.is_remote());
        let newer = DataSource(0x2 | 0x10 << 19 | 1 << 37);
        assert!(newer.is_hitm() && newer.is_remote());
        // A store that hit, and a page fault, which has no source at all.
        assert!(DataSource(0x10_0508_0184).is_store() && !DataSource(0x10_0508_0184).is_hitm());
        let fault = DataSource(0x1e_0508_0021);
        assert!(!fault.is_load() && !fault.is_store() && !fault.is_hitm());
    }
}
