//! The file through which an instrumented process and its observer share what is recorded: its *segment*.
//!
//! Each process image makes one file `PID-N.probe` in the directory that `TENURE_PROBE_DIR` names, maps it shared, and
//! writes its records there as it runs. The observer reads the same file whenever it likes, also after the process has
//! crashed: there is nothing to flush.
//!
//! ```text
//!  Header (one block) │ block 1 │ block 2 │ ...       each of BLOCK_BYTES
//!                       kind, used │ record │ record │ ...
//! ```
//!
//! A block holds records of one [`RecordKind`]. Records are appended and never move. A record is complete when `used` counts
//! it; later only its counters change, and the [`Line`] of memory that was freed is used again for another object of
//! the same class. Read a block's `used` first and its records afterwards.

/// The first bytes of a segment; the last is the version of the form.
pub const MAGIC: [u8; 8] = *b"tenure\x00\x05";

/// The size of a block.
pub const BLOCK_BYTES: usize = 16 << 10;

/// Where a block's first record starts.
pub const RECORDS_START: usize = 64;

/// Code addresses that the stack of a class has at most.
pub const MAX_FRAMES: usize = 16;

/// Reads a number at an offset; zero after the end.
fn number<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// Declares a record with the layout of C, and the way to read it from bytes that another process wrote.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $name {
            /// The record in the first bytes of `bytes`, in this machine's byte order.
            #[must_use]
            pub fn read(bytes: &[u8]) -> Self {
                Self { $($field: <$type>::from_ne_bytes(number(bytes, core::mem::offset_of!($name, $field))),)* }
            }
        }
    };
}

record! {
    /// The first block.
    Header {
        /// [`MAGIC`].
        magic: u64,
        /// The process.
        pid: u32,
        /// Its parent when the segment was made.
        parent: u32,
        /// Bytes of a line: 64 or 128.
        line_bytes: u32,
        /// Blocks that the segment may have at most, this one included.
        most_blocks: u32,
        /// Blocks that are in use, this one included. Grows.
        blocks: u32,
        /// Why nothing is recorded: a [`StartFailure`], or 0.
        failure: u32,
        /// Accesses and records that found no room. Grows.
        dropped: u64,
        /// `CLOCK_MONOTONIC` when the segment was made, in nanoseconds.
        started: u64,
        /// Picoseconds that recording adds to an access to memory that a thread has to itself.
        access_ps: u64,
    }
}

/// Why a process records nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StartFailure {
    /// The address space for the shadow of memory was refused: `ulimit -v`, or strict overcommit.
    NoAddressSpace = 1,
}

/// What the records of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RecordKind {
    /// [`Module`]
    Modules = 1,
    /// [`Thread`]
    Threads = 2,
    /// [`Class`]
    Classes = 3,
    /// [`Line`]
    Lines = 4,
    /// [`Entry`]
    Entries = 5,
}

impl RecordKind {
    /// The kind of a block, by the number that its header has.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        use RecordKind::*;
        const ALL: [RecordKind; 5] = [Modules, Threads, Classes, Lines, Entries];
        match number {
            1..=5 => Some(ALL[number as usize - 1]),
            _ => None,
        }
    }

    /// Bytes from one record to the next.
    #[must_use]
    pub const fn stride(self) -> usize {
        match self {
            Self::Modules => 512,
            Self::Threads => 768,
            Self::Classes => size_of::<Class>() + MAX_FRAMES * 8,
            Self::Lines => size_of::<Line>(),
            Self::Entries => size_of::<Entry>(),
        }
    }

    /// Records that a block has room for.
    #[must_use]
    pub const fn per_block(self) -> usize {
        (BLOCK_BYTES - RECORDS_START) / self.stride()
    }
}

record! {
    /// The start of every block but the first.
    Block {
        /// [`RecordKind`], or 0 while the block is being made.
        kind: u32,
        /// Records that are complete. Grows.
        used: u32,
    }
}

record! {
    /// A program or library that is loaded; the first is the program. Its path follows the record, and ends with a zero.
    Module {
        /// What was added to the addresses in the file.
        bias: u64,
        /// Its first address.
        start: u64,
        /// First address after its last.
        end: u64,
    }
}

record! {
    /// A thread.
    Thread {
        /// Accesses so far, to whatever memory. Grows.
        accesses: u64,
        /// `CLOCK_MONOTONIC` at its first access, in nanoseconds.
        started: u64,
        /// The same at its end; 0 until then.
        ended: u64,
        /// Processor time at its end, in nanoseconds; 0 until then.
        cpu: u64,
        /// Nanoseconds that accesses to contended lines took, with what recording them took: estimated from some. Grows.
        waited: u64,
        /// Nanoseconds between accesses to contended lines, estimated as well, where it was less than 20 µs. Grows.
        between: u64,
        /// The same where it was more: the thread may have slept. Grows.
        long_between: u64,
        /// Nanoseconds that recording took beside accesses: of allocations, and of lines that are new to threads. Estimated
        /// from some. Grows.
        recording: u64,
        /// The function that it runs, if `pthread_create` was seen.
        routine: u64,
        /// Its number, from 1 in the order of first accesses.
        id: u32,
        /// The kernel's number.
        tid: u32,
        /// The first half of its name, as the kernel has it: bytes in memory order, zeros after it.
        name: u64,
        /// The second half.
        name_rest: u64,
        /// The lowest address of its stack; 0 if that is not known.
        stack: u64,
        /// The address after the highest of its stack.
        stack_end: u64,
    }
}

record! {
    /// Allocations of one size from one call stack. Code addresses follow the record, the innermost first. Each is the
    /// address that a call returns to. Class 0 has no size and no stack: it is memory that was not seen being allocated
    /// (statics, stacks, an allocator of the program's own).
    Class {
        /// Bytes asked for.
        size: u64,
        /// Code addresses, at most [`MAX_FRAMES`].
        depth: u64,
    }
}

record! {
    /// A line that threads contend for, or could have: two of them used it while both lived, and one wrote.
    Line {
        /// Its address.
        address: u64,
        /// Where the object starts that was contended for first; 0 if that is not known.
        object: u64,
        /// Objects of the class that this record has stood for, one after the other. Grows.
        objects: u64,
        /// The [`Class`] of `object`, by its place among all classes.
        class: u32,
        /// Its own place among all lines.
        index: u32,
        /// The [`Thread::id`], modulo 32,768, that had the line to itself before; 0 if several had read it.
        before: u32,
        /// What that thread had done with it: see [`Line::accesses_before`] and its like.
        before_use: u32,
    }
}

impl Line {
    /// How often the thread [`before`](Self::before) accessed the line before others did. Counts to 65,535.
    #[must_use]
    pub const fn accesses_before(&self) -> u16 {
        self.before_use as u16
    }

    /// The eighths of the line that it read then, the first in the lowest bit.
    #[must_use]
    pub const fn read_before(&self) -> u8 {
        (self.before_use >> 16) as u8
    }

    /// The eighths of the line that it wrote then.
    #[must_use]
    pub const fn written_before(&self) -> u8 {
        (self.before_use >> 24) as u8
    }
}

record! {
    /// How often a thread has done one thing to one place of a line, by one instruction.
    Entry {
        /// Times. Grows.
        count: u64,
        /// The code address that the access returns to: the instruction is before it.
        code: u64,
        /// [`Line::index`].
        line: u32,
        /// [`Thread::id`].
        thread: u32,
        /// [`place`]: where and what.
        place: u32,
        /// The [`Class`] of the object there. A line can have parts of several.
        class: u32,
        /// Bytes from that object's start; 0 if its class is 0.
        into_object: u32,
        /// How many of its gaps were timed: a *gap* is the time until the thread accesses the line again. Grows.
        gaps: u32,
        /// What these took, in nanoseconds. Of a gap 20,000 count at most, and none that long counts after what takes a lock: its
        /// thread may have slept, and a lock is not held while its holder waits for a condition. Grows.
        gaps_ns: u64,
    }
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AccessKind {
    /// A plain read.
    Read = 0,
    /// A plain write.
    Write = 1,
    /// An atomic load.
    Load = 2,
    /// An atomic store.
    Store = 3,
    /// An atomic addition or subtraction.
    Add = 4,
    /// A compare-exchange that took effect.
    CompareExchange = 5,
    /// A compare-exchange that failed.
    Failed = 6,
    /// A lock of the C library, taken.
    Lock = 7,
    /// A lock of the C library, given back.
    Unlock = 8,
    /// Another atomic operation that cannot fail: an exchange, an `or` and its like.
    Exchange = 9,
}

impl AccessKind {
    /// All, by number.
    pub const ALL: [Self; 10] = {
        use AccessKind::*;
        [Read, Write, Load, Store, Add, CompareExchange, Failed, Lock, Unlock, Exchange]
    };

    /// Whether it may take a lock.
    #[must_use]
    pub const fn takes(self) -> bool {
        matches!(self, Self::Lock | Self::CompareExchange)
    }

    /// Whether the line has to be this core's alone for it. A failed compare-exchange takes the line as a write does.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Load)
    }
}

/// Offset in the line, bytes and [`AccessKind`] as one number.
#[must_use]
pub const fn place(offset: u8, size: u8, access: AccessKind) -> u32 {
    offset as u32 | (size as u32) << 8 | (access as u32) << 16
}

impl Entry {
    /// The first byte, from the start of the line.
    #[must_use]
    pub const fn offset(&self) -> u8 {
        self.place as u8
    }

    /// Bytes.
    #[must_use]
    pub const fn size(&self) -> u8 {
        (self.place >> 8) as u8
    }

    /// What it does; `None` for a number that no runtime writes.
    #[must_use]
    pub fn access(&self) -> Option<AccessKind> {
        AccessKind::ALL.get((self.place >> 16) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_lies_in_memory() {
        let entry = Entry {
            count: 7,
            code: 0x1234,
            line: 3,
            thread: 9,
            place: place(40, 8, AccessKind::Add),
            class: 2,
            into_object: 16,
            gaps: 5,
            gaps_ns: 400,
        };
        // SAFETY: the record has no padding (three u64 and six u32), so all of its bytes are initialised.
        let bytes = unsafe {
            core::slice::from_raw_parts((&raw const entry).cast::<u8>(), size_of::<Entry>())
        };
        let read = Entry::read(bytes);
        assert_eq!(read, entry);
        assert_eq!((read.offset(), read.size(), read.access()), (40, 8, Some(AccessKind::Add)));
    }

    #[test]
    fn a_record_that_is_cut_off_reads_as_zeros() {
        assert_eq!(Line::read(&[0xff; 4]).address, 0);
        assert_eq!(Entry { place: u32::MAX, ..Entry::read(&[]) }.access(), None);
    }

    #[test]
    fn the_numbers_of_accesses_and_kinds_are_their_places() {
        for (number, access) in AccessKind::ALL.into_iter().enumerate() {
            assert_eq!(access as usize, number);
        }
        for number in 1..=5 {
            assert_eq!(RecordKind::from_number(number).unwrap() as u32, number);
        }
        assert_eq!(RecordKind::from_number(0), None);
    }
}
