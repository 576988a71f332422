//! [`PooledBuf`] as a reader and a writer.

use super::PooledBuf;
use crate::pool::list::FreeList;
use std::io::{BufRead, Read, Result, Write};

/// Consumes from the front. Never fails; `Ok(0)` if there are no contents.
impl<L: FreeList> Read for PooledBuf<L> {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = into.len().min(self.len());
        into[..count].copy_from_slice(&self[..count]);
        self.consume_front(count);
        Ok(count)
    }
}

/// Consumes from the front. [`consume`](BufRead::consume) panics if there are not as many bytes.
impl<L: FreeList> BufRead for PooledBuf<L> {
    #[inline]
    fn fill_buf(&mut self) -> Result<&[u8]> {
        Ok(self)
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.consume_front(count);
    }
}

/// Appends what there is room for. Where the buffer is full that is `Ok(0)`, of which `write_all` and `write!` make
/// an error of the kind `WriteZero`: what there was room for has been appended then.
impl<L: FreeList> Write for PooledBuf<L> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(self.append(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
