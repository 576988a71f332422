//! Unmapping a page, which makes the kernel interrupt the CPUs that may have it in their TLB.
//!
//! When `munmap` returns, no thread may reach the page any more. Any CPU that runs the process may have a translation
//! of it, since the kernel does not know which thread touched it. On x86 without broadcast instructions the kernel
//! sends an interrupt to each CPU on which this address space is loaded, and waits for the answers. The handler takes
//! its work from a list by an exchange, which is a full fence. The other CPUs do not run the process: they pass a fence
//! when they switch to it (Linux `arch/x86/mm/tlb.c`: `flush_tlb_mm_range`, `switch_mm_irqs_off`; `kernel/smp.c`).
//!
//! A page that the kernel itself swaps or moves after the write is taken from all CPUs by the same interrupt, at the
//! latest in `munmap` (`flush_tlb_batched_pending`).
//!
//! It is no barrier where a CPU flushes the TLBs of others without interrupting them. So it is not used
//!
//! - on any other architecture: `tlbi` of Arm is broadcast;
//! - where the CPU has `INVLPGB`, which Linux 6.15 uses (AMD, CPUID Fn8000_0008 EBX bit 3);
//! - where an Intel CPU may have Remote Action Requests, which it says in a register that only the kernel reads (CPUID
//!   leaf 7 EDX bit 30: `IA32_CORE_CAPABILITIES` exists);
//! - under hypervisors that flush for the kernel in ways of their own. KVM does so only for a virtual CPU that is not
//!   running (`kvm_flush_tlb_multi`): its stores are out before its host says so, and it takes the flush by an exchange
//!   when it goes on.

#[cfg(target_arch = "x86_64")]
use super::cpu::interrupts_to_flush;

#[cfg(not(target_arch = "x86_64"))]
fn interrupts_to_flush() -> bool {
    false
}

/// Returns whether the others passed a fence.
pub(super) fn a_page() -> bool {
    interrupts_to_flush() && map_and_unmap()
}

/// A new page each time: no lock to share one, which a fork could leave locked.
fn map_and_unmap() -> bool {
    const SIZE: usize = 4096;
    // SAFETY: a new private mapping, where the kernel finds room for it.
    let page = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return false;
    }
    // The kernel flushes nothing that was never there. Volatile: the write is all that matters.
    // SAFETY: the page is mapped, writable and ours.
    unsafe { page.cast::<u8>().write_volatile(1) };
    // SAFETY: the page is ours, and no reference to it is left.
    unsafe { libc::munmap(page, SIZE) == 0 }
}
