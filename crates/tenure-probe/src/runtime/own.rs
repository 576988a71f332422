//! What the C library allocates for calls of the runtime's own. None of it comes from the program's heap, whose blocks so lie where
//! they lie without recording: which objects share a line depends on it.

use core::ffi::c_void;
use core::ptr::{null_mut, with_exposed_provenance_mut};

use super::sys::{self, Signals};

/// Bytes for one call: enough to find the first thread's stack, for which glibc reads `/proc/self/maps`. On the stack of threads that
/// may have 16 KiB.
const ROOM: usize = 2560;

/// The alignment of blocks. The size of each stands before it.
const ALIGN: usize = 16;

/// The thread's word during a call that gets no memory.
const NOTHING: usize = 1;

/// The blocks of one call, in turn, from its start: they are too few to be used again.
#[repr(C, align(16))]
struct Room {
    blocks: [u8; ROOM],
    used: usize,
}

/// Makes a call that does without memory, as the loader's look-ups do: it is only for their errors.
pub(super) fn without_memory<T>(call: impl FnOnce() -> T) -> T {
    during(NOTHING, call)
}

/// Makes a call whose blocks are all freed when it returns.
pub(super) fn with_memory<T>(call: impl FnOnce() -> T) -> T {
    let mut room = Room { blocks: [0; ROOM], used: 0 };
    during((&raw mut room).expose_provenance(), call)
}

/// No handler may come in between that allocates as well.
fn during<T>(word: usize, call: impl FnOnce() -> T) -> T {
    let blocked = Signals::ALL.block();
    let outer = sys::own();
    sys::set_own(word);
    let result = call();
    sys::set_own(outer);
    blocked.block();
    result
}

/// Whether the thread looks up a function.
pub(super) fn is_without_memory() -> bool {
    sys::own() == NOTHING
}

/// A block of zeros for a call of the runtime's, null where that gets none. `None` in all other calls, and where no room is left.
#[inline(always)]
pub(super) fn block(size: usize) -> Option<*mut c_void> {
    match sys::own() {
        0 => None,
        NOTHING => Some(null_mut()),
        room => take(room, size),
    }
}

#[cold]
fn take(room: usize, size: usize) -> Option<*mut c_void> {
    let room = with_exposed_provenance_mut::<Room>(room);
    let bytes = size.checked_next_multiple_of(ALIGN)?.checked_add(ALIGN)?;
    // SAFETY: `with_memory` has set the word to a room that it has until it resets the word, in this thread, and does not use it
    // meanwhile. Nothing refers to it but by pointers. The block, with its head, ends within the room, and both are aligned.
    unsafe {
        let used = (*room).used;
        if bytes > ROOM - used {
            return None;
        }
        (*room).used = used + bytes;
        let head = (&raw mut (*room).blocks).byte_add(used);
        head.cast::<usize>().write(size);
        Some(head.byte_add(ALIGN).cast())
    }
}

/// Bytes of a block that [`block`] gave; `None` of any other.
#[inline(always)]
pub(super) fn size(block: *mut c_void) -> Option<usize> {
    match sys::own() {
        0 | NOTHING => None,
        room => known(room, block),
    }
}

#[cold]
fn known(room: usize, block: *mut c_void) -> Option<usize> {
    let room = with_exposed_provenance_mut::<Room>(room);
    let at = block.addr().checked_sub(room.addr() + ALIGN)?;
    // SAFETY: as in `take`; what lies before the room's used end was given by it, and a block's head lies before it.
    unsafe {
        if at >= (*room).used {
            return None;
        }
        Some((&raw mut (*room).blocks).byte_add(at).cast::<usize>().read())
    }
}
