use nix::libc;
use std::ffi::CStr;
use std::ptr;

/// Where each thread has its rseq area, from the thread pointer.
#[derive(Clone, Copy)]
pub(super) struct Rseq {
    offset: isize,
}

/// Of `struct rseq` (linux/rseq.h).
const CPU_ID: isize = 4;

impl Rseq {
    /// `None` without glibc 2.35, and where it does not register (`glibc.pthread.rseq=0`, a sandbox).
    pub(super) fn registered() -> Option<Self> {
        // SAFETY: glibc has these types for them.
        let (offset, size) =
            unsafe { (read::<isize>(c"__rseq_offset"), read::<u32>(c"__rseq_size")) };
        // The size is 0 if the kernel refused.
        let rseq = size.filter(|&size| size > 0).and(offset).map(|offset| Self { offset })?;
        (rseq.cpu() < rseq.cpus()).then_some(rseq)
    }

    /// Where the calling thread runs.
    #[inline(always)]
    pub(super) fn cpu(self) -> usize {
        let area = thread_pointer().wrapping_offset(self.offset + CPU_ID).cast::<u32>();
        // SAFETY: the area of this thread, registered before the thread began. Only the kernel writes it, when the thread
        // is not running.
        unsafe { area.read_volatile() as usize }
    }

    /// One more than the greatest number of a CPU.
    pub(super) fn cpus(self) -> usize {
        // SAFETY: it takes no pointer.
        let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        usize::try_from(configured).unwrap_or(0)
    }
}

/// # Safety
///
/// The symbol, if there is one, is a constant of that type.
unsafe fn read<T: Copy>(symbol: &CStr) -> Option<T> {
    // SAFETY: the name ends with 0.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    // SAFETY: null, or what the caller says.
    (!ptr::eq(address, ptr::null())).then(|| unsafe { address.cast::<T>().read() })
}

#[inline(always)]
fn thread_pointer() -> *const u8 {
    let pointer: *const u8;
    // SAFETY: both ABIs have the thread pointer there, x86-64 also in the word that it points to.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
