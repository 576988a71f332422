//! What a line's shadow says, and when that changes.
//!
//! Each line of memory has words in the *shadow*, one mapping that covers the whole address space and takes pages only
//! where memory is used. The first word is one of
//!
//! - 0: no access yet, or none since the memory was freed;
//! - *exclusive* to the thread that accessed it last, with the time;
//! - *read-shared*: threads have read it, one after the other;
//! - *contended*, with the number of its line record. It stays so until the memory is freed.
//!
//! A line becomes contended when a thread writes it that another has used, if the two could have used it at the same
//! time. From then on accesses are counted one by one; of those before, only how many there were and where. So what a
//! thread does to an object that it makes and hands over to others is not recorded.
//!
//! Whether two accesses could have been simultaneous does not depend on how the threads happened to run, which differs
//! from run to run. Words are stamped with a *clock* that ticks whenever a thread is created. Memory that was last used
//! before a thread was created has been handed over to it, and what a thread has used that has ended, to its creator.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::shadow::{self, CONTENDED, EXCLUSIVE, LINE_BYTES, READ_SHARED, STATE};
use super::store::{self, Locked, Table};
use super::threads::{self, Local};
use super::{heap, sys};
use crate::segment::{self, Access, Kind, Line};

const LINE_BLOCKS: usize = 32768;
const MOST_LINES: usize = LINE_BLOCKS * Kind::Lines.per_block();

static LINES: Table<LINE_BLOCKS> = Table::new(Kind::Lines);
/// For each class the first of its line records whose memory was freed, plus one; and for each record the next.
static FREED: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
static NEXT_FREED: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the shadow. `false` if there is no address space for it.
pub(super) fn start() -> bool {
    FREED.store(sys::reserve(size_of::<AtomicU32>() * heap::MOST_CLASSES).cast(), Relaxed);
    NEXT_FREED.store(sys::reserve(size_of::<AtomicU32>() * MOST_LINES).cast(), Relaxed);
    !FREED.load(Relaxed).is_null() && !NEXT_FREED.load(Relaxed).is_null() && shadow::start()
}

/// Forgets all lines: a forked child starts anew.
pub(super) fn restart() {
    LINES.clear();
    shadow::clear();
    for (list, words) in [(&FREED, heap::MOST_CLASSES), (&NEXT_FREED, MOST_LINES)] {
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

/// Notes an access, with the frame of the function that the program called.
///
/// # Safety
///
/// `frame` is the frame pointer of a function that has not returned.
#[inline(always)]
pub(super) unsafe fn note(address: usize, size: u8, access: Access, frame: usize) {
    let Some(local) = threads::current() else {
        // SAFETY: the caller's promise.
        return unsafe { note_first(address, size, access, frame) };
    };
    local.count_access();
    let words = shadow::words(address);
    let who = words.who.load(Relaxed);
    if who == local.own() {
        words.note(address, access.writes());
    } else if who != READ_SHARED || access.writes() {
        // SAFETY: the caller's promise.
        let code = unsafe { sys::return_address(frame) };
        note_shared(local, address, size, access, who, code);
    }
}

/// [`note`] for a thread that has no record yet.
#[cold]
unsafe fn note_first(address: usize, size: u8, access: Access, frame: usize) {
    if threads::attach().is_some() {
        // SAFETY: the caller's promise. A thread is attached once, so this goes no deeper.
        unsafe { note(address, size, access, frame) };
    }
}

/// Notes an access to a line that is not this thread's alone, or was not so far.
#[inline(never)]
fn note_shared(local: &Local, address: usize, size: u8, access: Access, mut who: u32, code: u64) {
    if who & STATE != CONTENDED {
        let Some(busy) = local.busy() else { return store::drop_one() };
        who = change(local, address, access, who);
        drop(busy);
    }
    if who & STATE == CONTENDED {
        let offset = address & (LINE_BYTES - 1);
        let place = segment::place(offset as u8, size, access);
        local.count(who & !STATE, place, code, |lock| {
            heap::find(lock, address)
                .map_or((0, 0), |(start, class)| (class, (address - start) as u32))
        });
    }
}

/// Changes who uses the line as the rules of this module say, and returns the new word.
fn change(local: &Local, address: usize, access: Access, mut who: u32) -> u32 {
    let words = shadow::words(address);
    loop {
        let new = match who & STATE {
            CONTENDED => return who,
            READ_SHARED if !access.writes() => return who,
            READ_SHARED => return contend(address, words),
            EXCLUSIVE if !was_handed_over(local, who) => {
                if access.writes() || is_in_use(words.how.load(Relaxed)) {
                    return contend(address, words);
                }
                READ_SHARED
            }
            _ => local.own(),
        };
        // Relaxed: the word is a guess about who uses the line, and publishes nothing but itself.
        match words.who.compare_exchange(who, new, Relaxed, Relaxed) {
            Ok(_) if new == READ_SHARED => return new,
            Ok(_) => {
                // The same thread at a later time goes on counting.
                if who & STATE != EXCLUSIVE || shadow::thread(who) != shadow::thread(new) {
                    words.how.store(0, Relaxed);
                }
                words.note(address, access.writes());
                return new;
            }
            Err(now) => who = now,
        }
    }
}

/// Whether a thread that has used a line like this has done more than initialise it. Tables that one thread fills and
/// others only read need no records.
const fn is_in_use(how: u32) -> bool {
    const TO_INITIALISE: u16 = 64;
    how >> 24 != 0 && how as u16 > TO_INITIALISE
}

/// Whether the thread in an exclusive word has used the line before this one could, or is this one.
fn was_handed_over(local: &Local, who: u32) -> bool {
    let thread = shadow::thread(who);
    thread == local.id() % shadow::THREADS as u32
        || shadow::is_before(who, local.birth())
        || threads::has_ended_for(thread, local.id())
}

/// Gives the line a record, unless it has one, and returns its new word.
#[cold]
fn contend(address: usize, words: &shadow::Words) -> u32 {
    let lock = store::lock();
    // Acquire: pairs with the Release below, of another thread that was first.
    let now = words.who.load(Acquire);
    if now & STATE == CONTENDED {
        return now;
    }
    let (object, class) = heap::find(&lock, address).unwrap_or((0, 0));
    let line = address & !(LINE_BYTES - 1);
    let (before, before_use) = if now & STATE == EXCLUSIVE {
        (shadow::thread(now), words.how.load(Relaxed))
    } else {
        (0, 0)
    };
    let line = Line {
        address: line as u64,
        object: object as u64,
        class,
        live: 1,
        objects: 1,
        index: 0,
        before,
        before_use,
    };
    match reuse(&lock, &line).or_else(|| append(&lock, line)) {
        Some(index) => {
            let word = CONTENDED | index as u32;
            // Release: pairs with the Acquire above.
            words.who.store(word, Release);
            word
        }
        None => {
            store::drop_one();
            now
        }
    }
}

fn append(lock: &Locked, line: Line) -> Option<usize> {
    LINES.append(lock, |record, index| {
        // SAFETY: room for a record of this kind, which is the caller's alone until it is published.
        unsafe { record.cast::<Line>().write(Line { index: index as u32, ..line }) };
    })
}

/// Takes the record of a freed line of the same class, so that objects that come and go need no more records than there
/// are of them at once.
fn reuse(_: &Locked, line: &Line) -> Option<usize> {
    if line.class == 0 {
        return None;
    }
    // SAFETY: `start` made one word for every class and every line record, and both numbers are below the limits. Line
    // records are changed under the lock alone, and the observer bears with a mixture of old and new.
    unsafe {
        let first = &*FREED.load(Relaxed).add(line.class as usize);
        let index = first.load(Relaxed).checked_sub(1)? as usize;
        first.store((*NEXT_FREED.load(Relaxed).add(index)).load(Relaxed), Relaxed);
        let record: *mut Line = LINES.get(index).cast();
        let objects = (*record).objects + 1;
        record.write(Line { index: index as u32, objects, ..*line });
        Some(index)
    }
}

/// Forgets what is known of memory that is being freed. A line at the edge is forgotten if no other allocation is on it.
pub(super) fn forget(address: usize, bytes: usize) {
    if bytes == 0 || !shadow::is_there() {
        return;
    }
    /// Above this, pages of the shadow are given back unread, and their line records are not used again.
    const MOST_TO_SCAN: usize = 4 << 20;
    let line = LINE_BYTES;
    let (mut start, mut end) = (address & !(line - 1), (address + bytes).next_multiple_of(line));
    if start < address {
        forget_edge(start);
        start += line;
    }
    if end > address + bytes && end > start {
        end -= line;
        forget_edge(end);
    }
    if end <= start {
        return;
    }
    let (low, high) =
        if end - start > MOST_TO_SCAN { shadow::clear_between(start, end) } else { (start, start) };
    forget_lines(start, low);
    forget_lines(high, end);
}

fn forget_lines(start: usize, end: usize) {
    for address in (start..end).step_by(LINE_BYTES) {
        let word = shadow::words(address).who.load(Relaxed);
        if word & STATE == CONTENDED {
            release(address);
        } else if word != 0 {
            shadow::words(address).who.store(0, Relaxed);
        }
    }
}

fn forget_edge(address: usize) {
    let word = shadow::words(address).who.load(Relaxed);
    match word & STATE {
        EXCLUSIVE => _ = shadow::words(address).who.compare_exchange(word, 0, Relaxed, Relaxed),
        CONTENDED if heap::is_vacant(address, LINE_BYTES) => release(address),
        _ => {}
    }
}

/// Frees the record of a contended line.
#[cold]
fn release(address: usize) {
    // In a signal handler, or without a record of the thread, the line's record stays as it is.
    let Some(_busy) = threads::current().and_then(Local::busy) else { return };
    let _lock = store::lock();
    let word = shadow::words(address).who.swap(0, Relaxed);
    if word & STATE != CONTENDED {
        return;
    }
    let index = (word & !STATE) as usize;
    let record: *mut Line = LINES.get(index).cast();
    if record.is_null() {
        return;
    }
    // SAFETY: as in `reuse`.
    unsafe {
        (*record).live = 0;
        let first = &*FREED.load(Relaxed).add((*record).class as usize);
        (*NEXT_FREED.load(Relaxed).add(index)).store(first.load(Relaxed), Relaxed);
        first.store(index as u32 + 1, Relaxed);
    }
}
