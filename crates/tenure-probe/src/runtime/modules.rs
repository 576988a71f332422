//! The programs and libraries that are loaded.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::store::{self, RecordTable};
use super::{sys, threads};
use crate::segment::{Module, RecordKind};

/// What the dynamic linker says of a module: the first fields of `dl_phdr_info`.
#[repr(C)]
struct Info {
    bias: u64,
    name: *const c_char,
    headers: *const ProgramHeader,
    count: u16,
    /// Modules that have been loaded so far, by all.
    loaded: u64,
}

/// `Elf64_Phdr`
#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    in_file: u64,
    in_memory: u64,
    align: u64,
}

const PT_LOAD: u32 = 1;
const PATH_BYTES: usize = RecordKind::Modules.stride() - size_of::<Module>();

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

static MODULES: RecordTable<16> = RecordTable::new(RecordKind::Modules);
/// [`Info::loaded`] at the last scan that was complete: threads begin more often than libraries are loaded.
static SCANNED: AtomicU64 = AtomicU64::new(0);

/// Forgets all modules: a forked child's segment gets them anew.
pub(super) fn restart() {
    MODULES.clear();
    SCANNED.store(0, Relaxed);
}

/// Writes down the modules that are not yet. The caller does not hold the store's lock.
///
/// Called when a thread begins and when the process ends, so that a library that is loaded later is seen as well. A
/// `dlopen` of ours would come between the program and the real one, which looks at its caller.
pub(super) fn scan() {
    let Some(_busy) = threads::current().and_then(threads::ThreadState::busy) else { return };
    let mut loaded = 0_u64;
    // SAFETY: the callback has the signature that the linker calls, and its data is a number that outlives the call.
    if unsafe { dl_iterate_phdr(note, (&raw mut loaded).cast()) } == 0 {
        SCANNED.store(loaded, Relaxed);
    }
}

unsafe extern "C" fn note(info: *const Info, bytes: usize, loaded: *mut c_void) -> c_int {
    if bytes < size_of::<Info>() {
        return 1;
    }
    // SAFETY: the linker passes a description of at least that many bytes, with its program headers and its name.
    let (info, headers) = unsafe {
        let info = &*info;
        let count = if info.headers.is_null() { 0 } else { usize::from(info.count) };
        let headers = core::slice::from_raw_parts(
            if count == 0 { NonNull::dangling().as_ptr() } else { info.headers },
            count,
        );
        (info, headers)
    };
    if info.loaded == SCANNED.load(Relaxed) {
        return 1;
    }
    // SAFETY: `scan` passes a number of its own.
    unsafe { *loaded.cast::<u64>() = info.loaded };
    let segments = || headers.iter().filter(|header| header.kind == PT_LOAD);
    let start = segments().map(|header| header.address).min().unwrap_or(0).wrapping_add(info.bias);
    let end = segments()
        .map(|it| it.address.wrapping_add(it.in_memory))
        .max()
        .unwrap_or(0)
        .wrapping_add(info.bias);
    let module = Module { bias: info.bias, start, end };
    let is_known = (0..MODULES.len()).any(|index| {
        let record: *const Module = MODULES.get(index).cast();
        // SAFETY: records of modules stay mapped, and never change.
        !record.is_null() && unsafe { *record == module }
    });
    if is_known || start == end {
        return 0;
    }
    let lock = store::lock();
    MODULES.append(&lock, |record, _| {
        // SAFETY: the record has room for a module and PATH_BYTES, and is this thread's until it is published. The name
        // ends with a zero; if it is cut, the zero after it is the block's.
        unsafe {
            record.cast::<Module>().write(module);
            let path = record.add(size_of::<Module>());
            let name = if info.name.is_null() { c"" } else { CStr::from_ptr(info.name) };
            if name.is_empty() {
                sys::readlink(c"/proc/self/exe".as_ptr(), path.cast(), PATH_BYTES - 1);
            } else {
                let len = name.to_bytes().len().min(PATH_BYTES - 1);
                core::ptr::copy_nonoverlapping(name.as_ptr().cast(), path, len);
            }
        }
    });
    0
}
