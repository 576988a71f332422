//! The segment: blocks of records, appended to under one lock, in a file that the observer reads meanwhile.

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::sys::{self, Signals};
use crate::segment::{BLOCK_BYTES, Header, MAGIC, RECORDS_START, RecordKind, StartFailure};

/// Blocks whose pages are made at once: a page that the file system refuses must fail here, not at a write, where it
/// would be a SIGBUS.
const BLOCKS_AT_ONCE: usize = 32;

/// What a segment takes at most where `TENURE_PROBE_MEMORY` does not say.
const DEFAULT_BYTES: usize = 1 << 30;

static BASE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static MOST_BLOCKS: AtomicUsize = AtomicUsize::new(0);
/// Blocks whose pages are there.
static BACKED: AtomicUsize = AtomicUsize::new(0);
static PATH: FilePath = FilePath(core::cell::UnsafeCell::new([0; PATH_BYTES]));
const PATH_BYTES: usize = 1024;

/// The file's path, with a zero at its end.
struct FilePath(core::cell::UnsafeCell<[u8; PATH_BYTES]>);

// SAFETY: written by `create`, which runs before other threads use the store or, in a forked child, alone; read under
// the lock.
unsafe impl Sync for FilePath {}

/// [`FREE`], [`TAKEN`], or [`AWAITED`].
static LOCK: AtomicU32 = AtomicU32::new(FREE);
const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and threads may be asleep for it.
const AWAITED: u32 = 2;

/// Held while the store, the classes or the line records change. Its holder gets no signals: a handler could leave by
/// `siglongjmp`, or end the thread, and the lock would stay taken.
pub(super) struct Locked {
    blocked: Signals,
}

/// Waits for the lock.
pub(super) fn lock() -> Locked {
    const SPINS: u32 = 100;
    let blocked = Signals::ALL.block();
    // Acquire, here and below: pairs with the Release of the last unlock.
    let is_taken = |_| {
        core::hint::spin_loop();
        LOCK.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_err()
    };
    if (0..SPINS).all(is_taken) {
        while LOCK.swap(AWAITED, Acquire) != FREE {
            sys::sleep_while(&LOCK, AWAITED);
        }
    }
    Locked { blocked }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Release: pairs with the Acquires in `lock`.
        if LOCK.swap(FREE, Release) == AWAITED {
            sys::wake_one(&LOCK);
        }
        self.blocked.block();
    }
}

/// Forgets a lock whose holder did not survive a fork.
pub(super) fn forget_lock() {
    LOCK.store(FREE, Relaxed);
}

/// A number of the segment's header, which the observer reads meanwhile; `None` without a segment.
macro_rules! shared {
    ($field:ident: $atomic:ty) => {{
        let header: *mut Header = BASE.load(Relaxed).cast();
        // SAFETY: the header is mapped until the process ends or `create` replaces it, aligned, and every access is atomic.
        (!header.is_null()).then(|| unsafe { <$atomic>::from_ptr(&raw mut (*header).$field) })
    }};
}

/// Counts what found no room.
pub(super) fn drop_one() {
    if let Some(dropped) = shared!(dropped: AtomicU64) {
        dropped.fetch_add(1, Relaxed);
    }
}

/// Says in the segment why nothing will be recorded.
pub(super) fn fail(why: StartFailure) {
    if let Some(failure) = shared!(failure: AtomicU32) {
        failure.store(why as u32, Relaxed);
    }
}

/// Picoseconds of an access, for the segment of a forked child too.
static ACCESS: AtomicU64 = AtomicU64::new(0);

/// Says in the segment how many picoseconds recording adds to an access.
pub(super) fn set_access(picoseconds: u64) {
    ACCESS.store(picoseconds, Relaxed);
    if let Some(access_ps) = shared!(access_ps: AtomicU64) {
        access_ps.store(picoseconds, Relaxed);
    }
}

/// Makes this process's segment in the directory, and maps it. `false` if that cannot be done.
///
/// # Safety
///
/// No other thread uses the store.
pub(super) unsafe fn create(directory: &CStr, bytes: Option<usize>, line_bytes: u32) -> bool {
    // A forked child's mapping of its parent's segment stays: classes are copied from it.
    BASE.store(null_mut(), Relaxed);
    let mut bytes = bytes.unwrap_or(DEFAULT_BYTES);
    let mut limit = [0; 2];
    // SAFETY: the kernel writes two words. Growing a file over this limit would be a signal.
    if unsafe { sys::getrlimit(sys::RLIMIT_FSIZE, &raw mut limit) } == 0 {
        bytes = bytes.min(usize::try_from(limit[0]).unwrap_or(usize::MAX));
    }
    let most = (bytes / BLOCK_BYTES).clamp(0, u32::MAX as usize);
    if most < BLOCKS_AT_ONCE {
        return false;
    }
    // SAFETY: the caller says that no other thread is here.
    let path = unsafe { &mut *PATH.0.get() };
    let file = (0..1000).find_map(|number| {
        write_path(path, directory.to_bytes(), number)?;
        // SAFETY: the path ends with a zero.
        let file = unsafe {
            sys::open(
                path.as_ptr().cast(),
                sys::O_RDWR | sys::O_CREAT | sys::O_EXCL | sys::O_CLOEXEC,
                0o600,
            )
        };
        // SAFETY: the thread's own error number.
        let taken = file < 0 && unsafe { *sys::__errno_location() } == sys::EEXIST;
        (!taken).then_some(file)
    });
    let Some(file) = file.filter(|file| *file >= 0) else { return false };
    // SAFETY: the file is ours and new, and the mapping is at an address of the kernel's choice.
    let base = unsafe {
        let base = if sys::ftruncate(file, (most * BLOCK_BYTES) as i64) == 0 {
            sys::map(
                0,
                most * BLOCK_BYTES,
                sys::PROT_READ | sys::PROT_WRITE,
                sys::MAP_SHARED | sys::MAP_NORESERVE,
                file,
                0,
            )
        } else {
            -1
        };
        sys::close(file);
        base
    };
    if base <= 0 {
        return false;
    }
    BASE.store(base as *mut u8, Relaxed);
    MOST_BLOCKS.store(most, Relaxed);
    BACKED.store(0, Relaxed);
    let lock = lock();
    if !back(BLOCKS_AT_ONCE) {
        BASE.store(null_mut(), Relaxed);
        return false;
    }
    drop(lock);
    // SAFETY: the first block has pages now, and the observer takes the file for a segment when the magic is there.
    unsafe {
        let header: *mut Header = BASE.load(Relaxed).cast();
        (*header).pid = sys::getpid() as u32;
        (*header).parent = sys::getppid() as u32;
        (*header).line_bytes = line_bytes;
        (*header).most_blocks = most as u32;
        (*header).blocks = 1;
        (*header).started = sys::now();
        (*header).access_ps = ACCESS.load(Relaxed);
        // Release: the observer reads the magic first.
        AtomicU64::from_ptr(&raw mut (*header).magic).store(u64::from_ne_bytes(MAGIC), Release);
    }
    true
}

/// `DIRECTORY/PID-NUMBER.probe`, with a zero at its end; `None` if that is too long.
fn write_path(path: &mut [u8; PATH_BYTES], directory: &[u8], number: u32) -> Option<()> {
    // SAFETY: has no preconditions.
    let pid = unsafe { sys::getpid() } as u32;
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        path.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        at += bytes.len();
        Some(())
    };
    let mut digits = [0; 10];
    put(directory)?;
    put(b"/")?;
    put(decimal(pid, &mut digits))?;
    put(b"-")?;
    put(decimal(number, &mut digits))?;
    put(b".probe\0")
}

fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// Has the first `blocks` have pages. The caller holds the lock.
fn back(blocks: usize) -> bool {
    let from = BACKED.load(Relaxed);
    if blocks <= from {
        return true;
    }
    let to = blocks.next_multiple_of(BLOCKS_AT_ONCE).min(MOST_BLOCKS.load(Relaxed));
    if to < blocks {
        return false;
    }
    let (start, bytes) = (from * BLOCK_BYTES, (to - from) * BLOCK_BYTES);
    // SAFETY: the range is inside of the segment's mapping. No file stays open, because programs close those that they
    // do not know; kernels before 5.14 need one for the length of the call.
    let backed = unsafe {
        sys::advise(BASE.load(Relaxed) as usize + start, bytes, sys::MADV_POPULATE_WRITE) == 0 || {
            let file = sys::open((*PATH.0.get()).as_ptr().cast(), sys::O_RDWR | sys::O_CLOEXEC);
            file >= 0 && {
                let result = sys::posix_fallocate(file, start as i64, bytes as i64);
                sys::close(file);
                result == 0
            }
        }
    };
    if backed {
        BACKED.store(to, Relaxed);
    }
    backed
}

/// A block for records of one kind, zeroed; null if the limit is reached.
pub(super) fn block(_: &Locked, kind: RecordKind) -> *mut u8 {
    let Some(blocks) = shared!(blocks: AtomicU32) else { return null_mut() };
    let index = blocks.load(Relaxed);
    if !back(index as usize + 1) {
        return null_mut();
    }
    let block = BASE.load(Relaxed).wrapping_add(index as usize * BLOCK_BYTES);
    // SAFETY: the block is inside of the mapping, has pages, and no other thread has it.
    unsafe { AtomicU32::from_ptr(block.cast()) }.store(kind as u32, Relaxed);
    // Release: the observer reads this number before it reads the block.
    blocks.store(index + 1, Release);
    block
}

/// Where the next record of the block goes; null if it is full. The record is seen after [`publish`].
///
/// # Safety
///
/// The block is one of [`block`]'s, of this kind, and no other thread appends to it.
pub(super) unsafe fn next_record(block: *mut u8, kind: RecordKind) -> *mut u8 {
    // SAFETY: the caller's block has a header.
    let used = unsafe { used(block) }.load(Relaxed) as usize;
    if used < kind.per_block() {
        block.wrapping_add(RECORDS_START + used * kind.stride())
    } else {
        null_mut()
    }
}

/// Shows the observer the record that was written where [`next_record`] said.
///
/// # Safety
///
/// The same as for `next_record`.
pub(super) unsafe fn publish(block: *mut u8) {
    // SAFETY: the caller's block has a header.
    let used = unsafe { used(block) };
    // Release: the record's fields are seen by an observer that sees the number.
    used.store(used.load(Relaxed) + 1, Release);
}

/// The block's number of complete records.
///
/// # Safety
///
/// The same as for `next_record`.
unsafe fn used<'a>(block: *mut u8) -> &'a AtomicU32 {
    // SAFETY: the second word of a block; all accesses are atomic, and blocks stay mapped.
    unsafe { AtomicU32::from_ptr(block.add(4).cast()) }
}

/// Records of one kind, in as many blocks as it takes, found by number.
pub(super) struct RecordTable<const BLOCKS: usize> {
    kind: RecordKind,
    blocks: [AtomicPtr<u8>; BLOCKS],
    len: AtomicUsize,
}

impl<const BLOCKS: usize> RecordTable<BLOCKS> {
    pub(super) const fn new(kind: RecordKind) -> Self {
        Self {
            kind,
            blocks: [const { AtomicPtr::new(null_mut()) }; BLOCKS],
            len: AtomicUsize::new(0),
        }
    }

    /// Records.
    pub(super) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// The record; null if there is none of this number.
    pub(super) fn get(&self, index: usize) -> *mut u8 {
        // Acquire: pairs with the Release in `append`, for readers that got the number without the lock.
        match self.blocks.get(index / self.kind.per_block()).map(|block| block.load(Acquire)) {
            Some(block) if !block.is_null() => block
                .wrapping_add(RECORDS_START + index % self.kind.per_block() * self.kind.stride()),
            _ => null_mut(),
        }
    }

    /// Has `fill` write a new record, which is zeroed, and returns its number; `None` if there is no room.
    pub(super) fn append(&self, lock: &Locked, fill: impl FnOnce(*mut u8, usize)) -> Option<usize> {
        let index = self.len.load(Relaxed);
        let slot = self.blocks.get(index / self.kind.per_block())?;
        if slot.load(Relaxed).is_null() {
            let new = block(lock, self.kind);
            if new.is_null() {
                return None;
            }
            // Release: pairs with the Acquire in `get`.
            slot.store(new, Release);
        }
        let block = slot.load(Relaxed);
        // SAFETY: the block is of this kind, and the lock keeps other threads from appending.
        unsafe {
            let record = next_record(block, self.kind);
            if record.is_null() {
                return None;
            }
            fill(record, index);
            publish(block);
        }
        self.len.store(index + 1, Relaxed);
        Some(index)
    }

    /// Forgets all records, which stay in their segment.
    pub(super) fn clear(&self) {
        self.len.store(0, Relaxed);
        for block in &self.blocks {
            block.store(null_mut(), Relaxed);
        }
    }

    /// Copies all records from the segment that they are in to the present one. `false` if there is no room.
    pub(super) fn copy_to_new_segment(&self, lock: &Locked) -> bool {
        self.blocks.iter().all(|slot| {
            let old = slot.load(Relaxed);
            if old.is_null() {
                return true;
            }
            let new = block(lock, self.kind);
            if new.is_null() {
                return false;
            }
            // SAFETY: both are blocks of their segments' mappings, and `new` is not shown to anyone yet but the observer,
            // which sees no record in it until the number is copied with the rest.
            unsafe { core::ptr::copy_nonoverlapping(old, new, BLOCK_BYTES) };
            slot.store(new, Release);
            true
        })
    }
}
