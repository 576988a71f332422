//! Whether the kernel interrupts this CPU to flush its TLB: see [`unmap`](super::unmap).

use core::arch::x86_64::{__cpuid_count, CpuidResult};
use core::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

pub(super) fn interrupts_to_flush() -> bool {
    /// Asking takes some microseconds in a virtual machine.
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed, here and below: the answer is always the same, and orders nothing.
    if ANSWER.load(Ordering::Relaxed) == UNKNOWN {
        ANSWER.store(if ask(cpuid) { YES } else { NO }, Ordering::Relaxed);
    }
    ANSWER.load(Ordering::Relaxed) == YES
}

fn cpuid(leaf: u32) -> CpuidResult {
    #[allow(unused_unsafe, reason = "it is safe from Rust 1.94 on")]
    // SAFETY: every CPU of this architecture has the instruction.
    unsafe {
        __cpuid_count(leaf, 0)
    }
}

const fn name(letters: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *letters;
    [
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
        u32::from_le_bytes([i, j, k, l]),
    ]
}

const INTEL: [u32; 3] = name(b"GenuineIntel");
const AMD: [u32; 3] = name(b"AuthenticAMD");
const KVM: [u32; 3] = name(b"KVMKVMKVM\0\0\0");

const HYPERVISOR: u32 = 1 << 31;
const CORE_CAPABILITIES: u32 = 1 << 30;
const INVLPGB: u32 = 1 << 3;

fn ask(cpuid: impl Fn(u32) -> CpuidResult) -> bool {
    let (first, features, hypervisor) = (cpuid(0), cpuid(1), cpuid(0x4000_0000));
    let vendor = [first.ebx, first.edx, first.ecx];
    let host = [hypervisor.ebx, hypervisor.ecx, hypervisor.edx];
    let known_host = features.ecx & HYPERVISOR == 0 || host == KVM;
    let silent = match vendor {
        INTEL => first.eax >= 7 && cpuid(7).edx & CORE_CAPABILITIES != 0,
        AMD => cpuid(0x8000_0000).eax >= 0x8000_0008 && cpuid(0x8000_0008).ebx & INVLPGB != 0,
        _ => true,
    };
    known_host && !silent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Cpu {
        vendor: [u32; 3],
        host: Option<[u32; 3]>,
        leaf_7_edx: u32,
        leaf_8000_0008_ebx: u32,
    }

    impl Cpu {
        fn of(vendor: [u32; 3]) -> Self {
            Self { vendor, host: None, leaf_7_edx: 0, leaf_8000_0008_ebx: 0 }
        }

        fn interrupts_to_flush(self) -> bool {
            ask(|leaf| {
                let (eax, [ebx, ecx, edx]) = match leaf {
                    0 => (7, [self.vendor[0], self.vendor[2], self.vendor[1]]),
                    1 => (0, [0, self.host.map_or(0, |_| HYPERVISOR), 0]),
                    7 => (0, [0, 0, self.leaf_7_edx]),
                    0x4000_0000 => (0, self.host.unwrap_or_default()),
                    0x8000_0000 => (0x8000_0008, [0; 3]),
                    0x8000_0008 => (0, [self.leaf_8000_0008_ebx, 0, 0]),
                    _ => (0, [0; 3]),
                };
                CpuidResult { eax, ebx, ecx, edx }
            })
        }
    }

    #[test]
    fn a_cpu_interrupts_to_flush_unless_it_or_its_host_may_do_otherwise() {
        let [amd, intel] = [AMD, INTEL].map(Cpu::of);
        assert!(amd.interrupts_to_flush() && intel.interrupts_to_flush());
        assert!(Cpu { host: Some(KVM), ..amd }.interrupts_to_flush());
        assert!(Cpu { leaf_7_edx: !CORE_CAPABILITIES, ..intel }.interrupts_to_flush());
        assert!(Cpu { leaf_8000_0008_ebx: !INVLPGB, ..amd }.interrupts_to_flush());

        assert!(!Cpu { leaf_7_edx: CORE_CAPABILITIES, ..intel }.interrupts_to_flush());
        assert!(!Cpu { leaf_8000_0008_ebx: INVLPGB, ..amd }.interrupts_to_flush());
        assert!(!Cpu { host: Some(name(b"Microsoft Hv")), ..intel }.interrupts_to_flush());
        assert!(!Cpu::of(name(b"VirtualApple")).interrupts_to_flush());
    }
}
