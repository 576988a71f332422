//! Numbers of a recording, read with bounds. Machines with x86-64 processors write them little-endian.

/// The rest of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PerfBytes<'a>(pub(super) &'a [u8]);

impl<'a> PerfBytes<'a> {
    pub(super) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn skip_words(&mut self, count: u64) -> Option<()> {
        self.take(count.checked_mul(8)?).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N as u64)?.try_into().ok()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// What lies at a place of all bytes.
    pub(super) fn section(self, offset: u64, size: u64) -> Option<Self> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.0.get(start..end).map(Self)
    }

    /// Up to the zero that ends it.
    pub(super) fn text(self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}
