use crate::machine::{Distance, Ps};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeatKind {
    Load,
    Store,
    /// A store that its CPU does not wait for.
    Buffered,
    /// A read-modify-write that succeeds whatever it finds.
    Add,
    Exchange,
}

impl HeatKind {
    pub(crate) fn is_rmw(self) -> bool {
        matches!(self, Self::Add | Self::Exchange)
    }
}

#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    pub(crate) transfers: [u64; Distance::ALL.len()],
    /// Read-modify-writes at the line's home.
    pub(crate) far: u64,
    /// Accesses to each word, by address: a short list.
    pub(crate) spots: Vec<WordHeat>,
}

#[derive(Debug)]
pub(crate) struct WordHeat {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) loads: u64,
    pub(crate) stores: u64,
    pub(crate) rmws: u64,
    pub(crate) failed: u64,
    /// Accesses that waited for the line.
    pub(crate) misses: u64,
    /// The sum of those waits.
    pub(crate) waited: Ps,
}

impl LineCounts {
    pub(crate) fn spot(&mut self, address: usize, bytes: usize) -> &mut WordHeat {
        let found = self.spots.iter().position(|s| s.address == address && s.bytes == bytes);
        let at = found.unwrap_or_else(|| {
            self.spots.push(WordHeat {
                address,
                bytes,
                loads: 0,
                stores: 0,
                rmws: 0,
                failed: 0,
                misses: 0,
                waited: 0,
            });
            self.spots.len() - 1
        });
        &mut self.spots[at]
    }
}
