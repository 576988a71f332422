//! What an access does: it is noted in the line's words, or counted one by one once the line is contended.
//!
//! A line becomes contended when a thread writes it that another has used, if the two could have used it at the same
//! time: [`super::line_words`] has the rules. Its record says which object is there, and each thread has entries of what it
//! does there. Of accesses before, only how many there were and where is known.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::line_words::{CONTENDED, READ_SHARED, Records, STATE};
use super::shadow::{self, LINE_BYTES};
use super::store::{self, Locked, RecordTable};
use super::threads::{self, ThreadState};
use super::{heap, sys, waits};
use crate::segment::{self, AccessKind, Line, RecordKind};

const LINE_BLOCKS: usize = 32768;
const MAX_LINES: usize = LINE_BLOCKS * RecordKind::Lines.per_block();

static LINES: RecordTable<LINE_BLOCKS> = RecordTable::new(RecordKind::Lines);
/// For each class the first of its line records whose memory was freed, plus one; and for each record the next.
static FREED: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
static NEXT_FREED: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the shadow. `false` if there is no address space for it.
pub(super) fn start() -> bool {
    FREED.store(sys::reserve(size_of::<AtomicU32>() * heap::MAX_CLASSES).cast(), Relaxed);
    NEXT_FREED.store(sys::reserve(size_of::<AtomicU32>() * MAX_LINES).cast(), Relaxed);
    !FREED.load(Relaxed).is_null() && !NEXT_FREED.load(Relaxed).is_null() && shadow::start()
}

/// Forgets all lines: a forked child starts anew.
pub(super) fn restart() {
    LINES.clear();
    shadow::clear();
    for (list, words) in [(&FREED, heap::MAX_CLASSES), (&NEXT_FREED, MAX_LINES)] {
        // SAFETY: the runtime's own mapping, and zeros are what it starts with.
        unsafe {
            sys::advise(
                list.load(Relaxed) as usize,
                words * size_of::<AtomicU32>(),
                sys::MADV_DONTNEED,
            )
        };
    }
}

/// Notes an access by the instruction whose call returns to `code`.
#[inline(always)]
pub(super) fn note(address: usize, size: u8, access: AccessKind, code: u64) {
    let Some(local) = threads::current() else { return note_first(address, size, access, code) };
    let who = shadow::words(address).who.load(Relaxed);
    if who != local.own() && who != ignored(access) {
        note_shared(local, address, size, access, code);
    } else if local.passes(1) {
        note_sample(address, access);
    }
}

/// The word of lines at which an access is only counted, beside this thread's own: those that are read together.
pub(super) const fn ignored(access: AccessKind) -> u32 {
    /// Not the word of any line.
    const NONE: u32 = 1;
    if access.writes() { NONE } else { READ_SHARED }
}

/// [`note`] for a thread that has no record yet.
#[cold]
#[inline(never)]
pub(super) extern "C" fn note_first(address: usize, size: u8, access: AccessKind, code: u64) {
    if threads::attach().is_some() {
        // A thread is attached once, so this goes no deeper.
        note(address, size, access, code);
    }
}

/// Counts accesses that need no more, and notes this one for all of them.
#[cold]
#[inline(never)]
pub(super) extern "C" fn note_sample(address: usize, access: AccessKind) {
    let Some(local) = threads::current() else { return };
    let times = local.next_sample();
    let words = shadow::words(address);
    if words.who.load(Relaxed) == local.own() {
        words.note(address, access.writes(), times);
    }
}

/// Notes an access for each line that the range is on.
#[inline(always)]
pub(super) fn note_range(start: usize, bytes: usize, access: AccessKind, code: u64) {
    match bytes {
        0 => {}
        _ if bytes <= LINE_BYTES - start % LINE_BYTES => note(start, bytes as u8, access, code),
        _ => note_lines(start, bytes, access, code),
    }
}

/// [`note_range`] for several lines.
#[inline(never)]
fn note_lines(start: usize, bytes: usize, access: AccessKind, code: u64) {
    let Some(local) = threads::current() else {
        // The first line has the thread attached, unless it is not to be recorded.
        return note(start, 1, access, code);
    };
    let own = local.own();
    let (mut address, end) = (start, start.saturating_add(bytes));
    let (mut private, mut passed) = (start, 0);
    while address < end {
        let next = ((address & !(LINE_BYTES - 1)) + LINE_BYTES).min(end);
        let who = shadow::words(address).who.load(Relaxed);
        if who != own && who != ignored(access) {
            note_shared(local, address, (next - address) as u8, access, code);
        } else {
            (private, passed) = (address, passed + 1);
        }
        address = next;
    }
    if local.passes(passed) {
        note_sample(private, access);
    }
}

/// Notes an access to a line that is not this thread's alone, or was not so far.
#[inline(never)]
pub(super) extern "C" fn note_shared(
    local: &ThreadState,
    address: usize,
    size: u8,
    access: AccessKind,
    code: u64,
) {
    local.count_accesses(1);
    let who = shadow::words(address).who.load(Relaxed);
    let place = place(address, size, access);
    let is_contended = who & STATE == CONTENDED;
    // What is atomic is timed as a whole, with the operation.
    let is_timed_here = is_contended && matches!(access, AccessKind::Read | AccessKind::Write);
    let since =
        if is_timed_here { waits::since(local, address, access == AccessKind::Write) } else { 0 };
    if !is_contended {
        waits::recording(|| note_rare(local, address, size, access, code));
    } else if !local.entries.count_again(who & !STATE, place, code) {
        note_rare(local, address, size, access, code);
    }
    if is_timed_here {
        // The program would wait for the line as soon as this returns, where its own work could not be told apart from it.
        // SAFETY: the program is about to access this address, as `access` says.
        unsafe { sys::fetch(address, access.writes()) };
        if since != 0 {
            waits::add(since, address, code, true);
        }
    }
}

/// [`note_shared`] for the first access of its kind, which may have the line become contended.
#[cold]
#[inline(never)]
fn note_rare(local: &ThreadState, address: usize, size: u8, access: AccessKind, code: u64) {
    let words = shadow::words(address);
    let mut who = words.who.load(Relaxed);
    if who & STATE != CONTENDED {
        let Some(recorder) = Recorder::new(local, address) else { return store::drop_one() };
        who = words.change(local.user(), who, address, access.writes(), &recorder);
    }
    if who & STATE == CONTENDED {
        local.count(who & !STATE, place(address, size, access), code, |lock| {
            heap::find(lock, address)
                .map_or((0, 0), |(start, class)| (class, (address - start) as u32))
        });
    }
}

fn place(address: usize, size: u8, access: AccessKind) -> u32 {
    segment::place((address % LINE_BYTES) as u8, size, access)
}

/// The records, as a thread uses them that accesses an address.
struct Recorder<'a> {
    local: &'a ThreadState,
    address: usize,
    _busy: threads::Busy<'a>,
}

impl<'a> Recorder<'a> {
    /// `None` if a signal handler has interrupted the thread in the runtime.
    fn new(local: &'a ThreadState, address: usize) -> Option<Self> {
        Some(Self { local, address, _busy: local.busy()? })
    }
}

impl Records for Recorder<'_> {
    type Locked = Locked;

    fn lock(&self) -> Locked {
        store::lock()
    }

    fn has_ended(&self, thread: u32) -> bool {
        threads::has_ended_for(thread, self.local.id())
    }

    fn make(&self, lock: &Locked, before: u32, before_use: u32) -> Option<u32> {
        let (object, class) = heap::find(lock, self.address).unwrap_or((0, 0));
        let line = Line {
            address: (self.address & !(LINE_BYTES - 1)) as u64,
            object: object as u64,
            objects: 1,
            class,
            index: 0,
            before,
            before_use,
        };
        let index = reuse(lock, &line).or_else(|| append(lock, line));
        if index.is_none() {
            store::drop_one();
        }
        index.map(|index| index as u32)
    }

    fn release(&self, _: &Locked, index: u32) {
        let record: *const Line = LINES.get(index as usize).cast();
        if record.is_null() {
            return;
        }
        // SAFETY: as in `reuse`.
        unsafe {
            let first = &*FREED.load(Relaxed).add((*record).class as usize);
            (*NEXT_FREED.load(Relaxed).add(index as usize)).store(first.load(Relaxed), Relaxed);
            first.store(index + 1, Relaxed);
        }
    }
}

fn append(lock: &Locked, line: Line) -> Option<usize> {
    LINES.append(lock, |record, index| {
        // SAFETY: room for a record of this kind, which is the caller's alone until it is published.
        unsafe { record.cast::<Line>().write(Line { index: index as u32, ..line }) };
    })
}

/// Takes the record of a freed line at the same place of an object of the same class, so that objects that come and go
/// need no more records than there are of them at once. What was counted at another place of the object is of other
/// members.
fn reuse(_: &Locked, line: &Line) -> Option<usize> {
    /// Freed records that are checked: the places of large objects are many.
    const MAX_FREED: usize = 64;
    if line.class == 0 {
        return None;
    }
    let place = |line: &Line| line.address.wrapping_sub(line.object);
    // SAFETY: `start` made one word for every class and every line record, and both numbers are below the limits. Line
    // records are changed under the lock alone, and the observer bears with a mixture of old and new.
    unsafe {
        let mut link = &*FREED.load(Relaxed).add(line.class as usize);
        for _ in 0..MAX_FREED {
            let index = link.load(Relaxed).checked_sub(1)? as usize;
            let next = &*NEXT_FREED.load(Relaxed).add(index);
            let record: *mut Line = LINES.get(index).cast();
            if place(&*record) == place(line) {
                link.store(next.load(Relaxed), Relaxed);
                let objects = (*record).objects + 1;
                record.write(Line { index: index as u32, objects, ..*line });
                return Some(index);
            }
            link = next;
        }
        None
    }
}

/// Forgets what is known of memory that is being freed. A line at the edge is forgotten if no other allocation is on it.
pub(super) fn forget(address: usize, bytes: usize) {
    if bytes == 0 || !shadow::is_there() {
        return;
    }
    /// Above this, pages of the shadow are given back unread, and their line records are not used again.
    const MAX_SCANNED_BYTES: usize = 4 << 20;
    let line = LINE_BYTES;
    // Pointers may have tags, and the program may ask for a range that no memory has.
    let address = address & ((1 << shadow::ADDRESS_BITS) - 1);
    let is_memory = |end: &usize| *end < 1 << shadow::ADDRESS_BITS;
    let Some(after) = address.checked_add(bytes).filter(is_memory) else { return };
    let (mut start, mut end) = (address & !(line - 1), after.next_multiple_of(line));
    if start < address {
        forget_edge(start);
        start += line;
    }
    if end > after && end > start {
        end -= line;
        forget_edge(end);
    }
    if end <= start {
        return;
    }
    let (low, high) = if end - start > MAX_SCANNED_BYTES {
        shadow::clear_between(start, end)
    } else {
        (start, start)
    };
    forget_lines(start, low);
    forget_lines(high, end);
}

fn forget_lines(start: usize, end: usize) {
    for address in (start..end).step_by(LINE_BYTES) {
        if !shadow::words(address).forget() {
            release(address);
        }
    }
}

fn forget_edge(address: usize) {
    if !shadow::words(address).forget_edge(|| heap::is_vacant(address, LINE_BYTES)) {
        release(address);
    }
}

/// Releases the record of a contended line. In a signal handler, or without a record of the thread, it stays unmodified.
#[cold]
fn release(address: usize) {
    let recorder = threads::current().and_then(|local| Recorder::new(local, address));
    if let Some(recorder) = recorder {
        shadow::words(address).release(&recorder);
    }
}
