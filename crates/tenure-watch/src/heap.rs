//! Finds blocks of glibc's allocator, by the size that it keeps before each.
//!
//! Nothing says where a block begins, so places before an address are tried, the nearest first. A wrong one would need two
//! sizes after it, each where the one before says and with the bit set that the block before is in use.

/// Bytes before an address in which its block may begin.
const MAX_OFFSET: u64 = 1024;

/// The bytes up to an address in which the head of its block may be.
pub(crate) const HEADS_BYTES: u64 = MAX_OFFSET + HEAD + UNIT;

/// Blocks begin at multiples of this, and are as long.
const UNIT: u64 = 16;

/// The size that is kept is of a block with this head.
const HEAD: u64 = 16;

/// Larger ones are mapped on their own.
const MAX_BLOCK: u64 = 1 << 26;

/// Sizes that follow each other, at least.
const MIN_CHAIN: usize = 3;

/// Where the program's part of a block starts, and how many bytes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapBlock {
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// The block around an address. `read` gives eight bytes.
pub(crate) fn block(address: u64, read: &dyn Fn(u64) -> Option<u64>) -> Option<HeapBlock> {
    let nearest = (address & !(UNIT - 1)).checked_sub(HEAD)?;
    let heads = (0..MAX_OFFSET / UNIT).filter_map(|step| nearest.checked_sub(step * UNIT));
    for head in heads {
        let Some(size) = size(head, read) else { continue };
        // The last word of the block is the head of the next one, and the program's.
        let block = HeapBlock { start: head + HEAD, size: size - HEAD / 2 };
        if address < block.start + block.size && is_chain(head + size, read) {
            return Some(block);
        }
    }
    None
}

/// What a head says, if it is one.
fn size(head: u64, read: &dyn Fn(u64) -> Option<u64>) -> Option<u64> {
    /// The block before is in use; it was mapped on its own; it is not of the first arena.
    const FLAGS: u64 = 0b111;
    let word = read(head + HEAD / 2)?;
    let size = word & !FLAGS;
    ((2 * UNIT..MAX_BLOCK).contains(&size) && size.is_multiple_of(UNIT)).then_some(size)
}

fn is_chain(mut head: u64, read: &dyn Fn(u64) -> Option<u64>) -> bool {
    for _ in 1..MIN_CHAIN {
        match size(head, read) {
            Some(size) if read(head + HEAD / 2).is_some_and(|word| word & 1 == 1) => head += size,
            _ => return false,
        }
        // After the last block of an arena is nothing.
        if read(head + HEAD / 2).is_none() {
            return true;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory from 0x1000 on, as words.
    fn found(words: &[u64], address: u64) -> Option<HeapBlock> {
        block(address, &|at| words.get(usize::try_from(at.checked_sub(0x1000)? / 8).ok()?).copied())
    }

    #[test]
    fn a_block_is_found_by_the_size_before_it_and_those_after_it() {
        let mut words = vec![0; 32];
        // Blocks of 32, 48 and 64 bytes at 0x1000, 0x1020 and 0x1050, and the rest of the arena.
        (words[1], words[5], words[11], words[19]) = (0x21, 0x31, 0x41, 0x1001);
        for address in [0x1010, 0x1018, 0x1020] {
            assert_eq!(found(&words, address), Some(HeapBlock { start: 0x1010, size: 24 }));
        }
        for address in [0x1030, 0x1050] {
            assert_eq!(found(&words, address), Some(HeapBlock { start: 0x1030, size: 40 }));
        }
    }

    #[test]
    fn numbers_that_look_like_a_size_are_none() {
        let mut words = vec![0; 32];
        words[1] = 0x21;
        assert_eq!(found(&words, 0x1010), None);
        words[5] = 0x30;
        assert_eq!(found(&words, 0x1010), None);
        assert_eq!(found(&[0x21; 32], 0x10f8), None);
        assert_eq!(found(&words, 8), None);
    }
}
