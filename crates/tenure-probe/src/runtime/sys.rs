//! The kernel, the C library, thread-locals and frames.

use core::arch::{asm, global_asm};
use core::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use core::sync::atomic::AtomicU32;

unsafe extern "C" {
    pub(super) fn __errno_location() -> *mut c_int;
    pub(super) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(super) fn close(file: c_int) -> c_int;
    pub(super) fn ftruncate(file: c_int, length: i64) -> c_int;
    pub(super) fn posix_fallocate(file: c_int, offset: i64, length: i64) -> c_int;
    pub(super) fn getenv(name: *const c_char) -> *mut c_char;
    pub(super) fn readlink(path: *const c_char, to: *mut c_char, bytes: usize) -> isize;
    pub(super) fn getpid() -> c_int;
    pub(super) fn getppid() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    pub(super) fn getrlimit(resource: c_int, limit: *mut [c_ulong; 2]) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
    fn clock_gettime(clock: c_int, time: *mut [c_long; 2]) -> c_int;
    fn pthread_self() -> c_ulong;
    fn pthread_getattr_np(thread: c_ulong, attributes: *mut Attributes) -> c_int;
    fn pthread_attr_getstack(
        attributes: *const Attributes,
        start: *mut *mut c_void,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
    fn unsetenv(name: *const c_char) -> c_int;
}

/// Large and aligned enough for glibc's `pthread_attr_t` on all architectures (56 or 64 bytes).
#[repr(C, align(16))]
struct Attributes([u8; 128]);

pub(super) const O_RDWR: c_int = 2;
pub(super) const O_CREAT: c_int = 0o100;
pub(super) const O_EXCL: c_int = 0o200;
pub(super) const O_CLOEXEC: c_int = 0o2_000_000;
pub(super) const RLIMIT_FSIZE: c_int = 1;
pub(super) const EEXIST: c_int = 17;

pub(super) const PROT_READ: usize = 1;
pub(super) const PROT_WRITE: usize = 2;
pub(super) const MAP_SHARED: usize = 1;
pub(super) const MAP_PRIVATE: usize = 2;
pub(super) const MAP_ANONYMOUS: usize = 0x20;
pub(super) const MAP_NORESERVE: usize = 0x4000;
pub(super) const MADV_DONTNEED: usize = 4;
const MADV_NOHUGEPAGE: usize = 15;
const MADV_DONTDUMP: usize = 16;
const MADV_WIPEONFORK: usize = 18;
pub(super) const MADV_POPULATE_WRITE: usize = 23;

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub(super) const MMAP: usize = 9;
    pub(super) const MUNMAP: usize = 11;
    pub(super) const SIGPROCMASK: usize = 14;
    pub(super) const MREMAP: usize = 25;
    pub(super) const MADVISE: usize = 28;
    pub(super) const GETTID: usize = 186;
    pub(super) const SCHED_YIELD: usize = 24;
    pub(super) const FUTEX: usize = 202;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub(super) const MMAP: usize = 222;
    pub(super) const MUNMAP: usize = 215;
    pub(super) const SIGPROCMASK: usize = 135;
    pub(super) const MREMAP: usize = 216;
    pub(super) const MADVISE: usize = 233;
    pub(super) const GETTID: usize = 178;
    pub(super) const SCHED_YIELD: usize = 124;
    pub(super) const FUTEX: usize = 98;
}

/// A system call that does not go through the C library, whose `mmap` is ours. An error is a small negative number.
///
/// # Safety
///
/// The same as for the call that it makes.
unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: these are the registers of a system call, and all that the kernel changes is named. What the call does is
    // the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            out("rcx") _, out("r11") _, options(nostack));
        #[cfg(target_arch = "aarch64")]
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    result
}

/// `mmap`, straight to the kernel: an address, or a negative error number.
///
/// # Safety
///
/// The same as for `mmap`: with `MAP_FIXED` nothing may use what is mapped there.
pub(super) unsafe fn map(
    address: usize,
    bytes: usize,
    protection: usize,
    flags: usize,
    file: c_int,
    offset: usize,
) -> isize {
    // SAFETY: the caller's promise is that of mmap.
    unsafe {
        call(numbers::MMAP, [address, bytes, protection, flags, file as isize as usize, offset])
    }
}

/// `munmap`, straight to the kernel.
///
/// # Safety
///
/// No reference to the range is in use.
pub(super) unsafe fn unmap(address: usize, bytes: usize) -> isize {
    // SAFETY: the caller's promise is that of munmap.
    unsafe { call(numbers::MUNMAP, [address, bytes, 0, 0, 0, 0]) }
}

/// `mremap`, straight to the kernel.
///
/// # Safety
///
/// No reference to the range is in use, nor to the one that it replaces.
pub(super) unsafe fn remap(
    old: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new: usize,
) -> isize {
    // SAFETY: the caller's promise is that of mremap.
    unsafe { call(numbers::MREMAP, [old, old_bytes, new_bytes, flags as usize, new, 0]) }
}

/// `madvise`, straight to the kernel.
///
/// # Safety
///
/// The range belongs to the runtime, and losing its contents (`MADV_DONTNEED`) is all right.
pub(super) unsafe fn advise(address: usize, bytes: usize, advice: usize) -> isize {
    // SAFETY: the caller's promise is that of madvise.
    unsafe { call(numbers::MADVISE, [address, bytes, advice, 0, 0, 0]) }
}

/// Lets another thread run.
pub(super) fn give_way() -> isize {
    // SAFETY: sched_yield has no arguments and always succeeds.
    unsafe { call(numbers::SCHED_YIELD, [0; 6]) }
}

/// `futex`: an error is a small negative number.
///
/// # Safety
///
/// The same as for the call.
pub(super) unsafe fn futex(arguments: [usize; 6]) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call(numbers::FUTEX, arguments) }
}

/// Zeroed private memory that takes pages only where it is touched; null if the address space is not to be had.
pub(super) fn reserve(bytes: usize) -> *mut u8 {
    const HUGE_PAGE: usize = 2 << 20;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
    let address = unsafe {
        map(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    };
    if address <= 0 {
        return core::ptr::null_mut();
    }
    if bytes >= HUGE_PAGE {
        for advice in [MADV_NOHUGEPAGE, MADV_DONTDUMP] {
            // SAFETY: the mapping is new. Neither advice changes its contents; both may be refused. A word here and there
            // would take a huge page each, and a core file would have to read terabytes.
            unsafe { advise(address as usize, bytes, advice) };
        }
    }
    address as *mut u8
}

/// The same, and zeroed again in copies of the process; not so on kernels before 4.14.
pub(super) fn reserve_for_this_process(bytes: usize) -> *mut u8 {
    const PAGE: usize = 4096;
    let address = reserve(bytes.next_multiple_of(PAGE));
    if !address.is_null() {
        // SAFETY: the mapping is new, and what is in it is not to be had elsewhere.
        unsafe { advise(address as usize, bytes.next_multiple_of(PAGE), MADV_WIPEONFORK) };
    }
    address
}

/// The definition of a function that this library's hides; null if there is none.
pub(super) fn next(name: &CStr) -> *mut c_void {
    const RTLD_NEXT: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);
    // SAFETY: a pseudo-handle, and a name that ends with a zero.
    unsafe { dlsym(RTLD_NEXT, name.as_ptr()) }
}

/// Forgets the last error of the loader's.
pub(super) fn forget_error() {
    // SAFETY: has no preconditions.
    unsafe { dlerror() };
}

/// Takes both variables from the environment of programs that this one starts, if the first is set. Called at the start.
pub(super) fn keep_from_children(mark: &CStr, variable: &CStr) {
    // SAFETY: the names end with zeros, and no other thread reads the environment yet.
    unsafe {
        if !getenv(mark.as_ptr()).is_null() {
            unsetenv(variable.as_ptr());
            unsetenv(mark.as_ptr());
        }
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(super) fn now() -> u64 {
    clock(1)
}

/// This thread's processor time in nanoseconds.
pub(super) fn cpu_time() -> u64 {
    clock(3)
}

fn clock(number: c_int) -> u64 {
    let mut time = [0; 2];
    // SAFETY: a timespec on 64-bit Linux is two longs, and the kernel writes both.
    unsafe { clock_gettime(number, &raw mut time) };
    (time[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(time[1] as u64)
}

/// The kernel's number of this thread.
pub(super) fn thread_number() -> u32 {
    // SAFETY: gettid has no arguments and no effect.
    unsafe { call(numbers::GETTID, [0; 6]) as u32 }
}

/// This thread's name: 16 bytes, zeros after it.
pub(super) fn thread_name() -> [u64; 2] {
    const PR_GET_NAME: c_int = 16;
    let mut name = [0_u64; 2];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { prctl(PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// The lowest address of this thread's stack, and the one after its highest; zeros if that cannot be found out.
///
/// Calls `malloc`, so it is called with memory of the runtime's own.
pub(super) fn stack() -> (usize, usize) {
    let mut attributes = Attributes([0; 128]);
    let (mut start, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: the attributes are large enough for every glibc, and initialised by the first call if it returns 0.
    unsafe {
        if pthread_getattr_np(pthread_self(), &raw mut attributes) != 0 {
            return (0, 0);
        }
        let found =
            pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size) == 0;
        pthread_attr_destroy(&raw mut attributes);
        if found { (start as usize, start as usize + size) } else { (0, 0) }
    }
}

/// Signals that a thread does not get, of 64.
#[derive(Clone, Copy)]
pub(super) struct Signals(u64);

impl Signals {
    pub(super) const ALL: Self = Self(u64::MAX);

    /// Has this thread get none of these, and all others; returns what it did not get before.
    ///
    /// Straight to the kernel: the C library would leave out the signal of `pthread_cancel`.
    pub(super) fn block(self) -> Self {
        const SIG_SETMASK: usize = 2;
        let (new, mut before) = (self.0, 0);
        let (new, old) = (&raw const new as usize, &raw mut before as usize);
        // SAFETY: both sets have the 8 bytes that the call is given.
        unsafe { call(numbers::SIGPROCMASK, [SIG_SETMASK, new, old, size_of::<Self>(), 0, 0]) };
        Self(before)
    }
}

const FUTEX_WAIT_PRIVATE: usize = 128;
const FUTEX_WAKE_PRIVATE: usize = 129;

/// Sleeps until [`wake_one`], unless the word differs. May return for no reason.
pub(super) fn sleep_while(word: &AtomicU32, value: u32) {
    let address = word.as_ptr() as usize;
    // SAFETY: the kernel only reads the word. Without a time there is no limit.
    unsafe { call(numbers::FUTEX, [address, FUTEX_WAIT_PRIVATE, value as usize, 0, 0, 0]) };
}

/// Wakes a thread that sleeps for the word.
pub(super) fn wake_one(word: &AtomicU32) {
    // SAFETY: the address only names the sleepers.
    unsafe { call(numbers::FUTEX, [word.as_ptr() as usize, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0]) };
}

// The runtime's thread-local words, in the static TLS block: a program is linked with the library, or is started with it, so
// they are there before any thread. The compiler's own thread-locals are not stable without std.
macro_rules! thread_locals {
    ($($(#[doc = $doc:literal])* $symbol:literal: $get:ident, $set:ident;)*) => {$(
        global_asm!(
            ".pushsection .tbss,\"awT\",@nobits",
            ".balign 8",
            concat!(".type ", $symbol, ",@object"),
            concat!(".size ", $symbol, ",8"),
            concat!(".hidden ", $symbol),
            concat!(".globl ", $symbol),
            concat!($symbol, ": .zero 8"),
            ".popsection",
        );

        $(#[doc = $doc])*
        #[inline(always)]
        pub(super) fn $get() -> usize {
            let value: usize;
            // SAFETY: the offset of the word from the thread pointer is in the GOT (initial-exec), and only this thread
            // writes the word.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                asm!(concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"), "mov {0}, qword ptr fs:[{0}]",
                    out(reg) value, options(readonly, nostack, preserves_flags));
                #[cfg(target_arch = "aarch64")]
                asm!("mrs {1}, tpidr_el0", concat!("adrp {0}, :gottprel:", $symbol),
                    concat!("ldr {0}, [{0}, :gottprel_lo12:", $symbol, "]"), "ldr {0}, [{1}, {0}]",
                    out(reg) value, out(reg) _, options(readonly, nostack, preserves_flags));
            }
            value
        }

        /// Sets the word.
        pub(super) fn $set(value: usize) {
            // SAFETY: as above; the word is the runtime's own.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                asm!(concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"), "mov qword ptr fs:[{0}], {1}",
                    out(reg) _, in(reg) value, options(nostack, preserves_flags));
                #[cfg(target_arch = "aarch64")]
                asm!("mrs {1}, tpidr_el0", concat!("adrp {0}, :gottprel:", $symbol),
                    concat!("ldr {0}, [{0}, :gottprel_lo12:", $symbol, "]"), "str {2}, [{1}, {0}]",
                    out(reg) _, out(reg) _, in(reg) value, options(nostack, preserves_flags));
            }
        }
    )*};
}

thread_locals! {
    /// The thread's record; zero in a new thread.
    "tenure_probe_thread": local, set_local;
    /// What [`own`](super::own) has for a call of the runtime's; zero in the program's own.
    "tenure_probe_own": own, set_own;
}

/// Waits until this core has the line of an address, to write it or to read it.
///
/// # Safety
///
/// The address can be read.
#[inline(always)]
pub(super) unsafe fn fetch(address: usize, writes: bool) {
    // SAFETY: the caller's promise. What other threads write meanwhile does not matter, as the value is dropped.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            if writes {
                asm!("prefetchw byte ptr [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
            }
            asm!("mov {0:l}, byte ptr [{1}]", out(reg_abcd) _, in(reg) address,
                options(readonly, nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        {
            if writes {
                asm!("prfm pstl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
            }
            asm!("ldrb {0:w}, [{1}]", out(reg) _, in(reg) address, options(readonly, nostack, preserves_flags));
        }
    }
}

/// The frame pointer of the exported function that this is inlined into: the runtime is compiled with frame pointers.
/// At it lies the caller's, and after that the address to return to, on both architectures.
#[inline(always)]
pub(super) fn frame() -> usize {
    let value: usize;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rbp", out(reg) value, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, x29", out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// The address that the function with this frame returns to.
///
/// # Safety
///
/// `frame` is the frame pointer of a function that has not returned.
#[inline(always)]
pub(super) unsafe fn return_address(frame: usize) -> u64 {
    // SAFETY: the return address lies after the saved frame pointer of a function that is still active.
    unsafe { *((frame + 8) as *const u64) }
}

/// The address that the exported function returns to that this is inlined into.
#[inline(always)]
pub(super) fn caller() -> u64 {
    // SAFETY: the function's own frame.
    unsafe { return_address(frame()) }
}
