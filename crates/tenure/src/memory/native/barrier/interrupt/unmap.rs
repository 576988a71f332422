//! Unmapping a page, which makes the kernel interrupt the CPUs that may have it in their TLB.
//!
//! When `munmap` returns, no thread may reach the page any more. The kernel does not know which thread touched it, so
//! any CPU that runs the process may have a translation. On x86 without broadcast instructions the kernel interrupts
//! each CPU on which this address space is loaded, and waits for the answers. The handler takes its work from a list by
//! an exchange, a full fence. The other CPUs pass a fence when they switch to the process (Linux `arch/x86/mm/tlb.c`:
//! `flush_tlb_mm_range`, `switch_mm_irqs_off`; `kernel/smp.c`).
//!
//! A page that the kernel swaps or moves after the write is taken from all CPUs by the same interrupt, at the latest in
//! `munmap` (`flush_tlb_batched_pending`).
//!
//! It is no barrier where a CPU flushes others' TLBs without an interrupt. So it is not used
//!
//! - on any other architecture: Arm broadcasts `tlbi`;
//! - where the CPU has `INVLPGB`, which Linux 6.15 uses (AMD, CPUID Fn8000_0008 EBX bit 3);
//! - where an Intel CPU may have Remote Action Requests, shown in a register that only the kernel reads (CPUID leaf 7
//!   EDX bit 30: `IA32_CORE_CAPABILITIES` exists);
//! - under hypervisors that flush for the kernel in ways of their own. KVM does so only for a virtual CPU that is not
//!   running (`kvm_flush_tlb_multi`): its stores are out before its host says so, and it takes the flush by an exchange
//!   when it goes on.

#[cfg(target_arch = "x86_64")]
use super::cpu::interrupts_to_flush;

#[cfg(not(target_arch = "x86_64"))]
fn interrupts_to_flush() -> bool {
    false
}

pub(super) fn a_page() -> bool {
    interrupts_to_flush() && map_and_unmap()
}

/// A new page each time: a lock for a shared one could stay held in a forked child.
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
    // The kernel flushes nothing for a page that was never there. Volatile: the write is all that matters.
    // SAFETY: the page is mapped, writable and ours.
    unsafe { page.cast::<u8>().write_volatile(1) };
    // SAFETY: the page is ours, and no reference to it is left.
    unsafe { libc::munmap(page, SIZE) == 0 }
}
