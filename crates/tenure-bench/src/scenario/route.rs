//! Linux's `rtable` and the `dst_entry` in it, member by member, before and after their repair.
//!
//! Offsets are those of 64-bit kernels, and `const` assertions hold them:
//!
//! | member | Linux 6.1 | since 6.4 |
//! |---|---|---|
//! | reference count | 64 | 64 |
//! | `__use`, `lastuse` | 68, 72 | 68, 72 |
//! | `lwtstate`, read after every get | **80, same line** | 128 |
//! | `rcu_head` | 88 | 80 |
//! | `error`, `tclassid` | 104, 108 | 96, 100 |
//! | `rt_uncached` list and its owner | 152, 168 | 104, 120 |
//! | `rt_genid`, `rt_flags`, `rt_type`, `rt_iif` | **112 to 127, same line** | 136 to 151 |
//! | size (here 192, aligned to lines as the kernel's cache does it) | 176 | 176 |
//!
//! The repair moved cold members into the count's line, so the object did not grow. A 64-bit count needs four bytes
//! more, those of the statistic `__use`, which would move into the allocation's padding (the kernel's cache aligns
//! routes to lines).
//!
//! Source: debug information of Linux 6.1 and 6.4 for `dst_entry` and `rtable`.

use super::{Host, NamedMember};
use std::mem::offset_of;
use tenure::count::RefCount;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::memory::{Memory, Native, Plain};
use tenure_sim::Simulated;

/// Found, held while some fields are read, and released.
pub(crate) trait Route: Send + Sync {
    type Host: Host;
    type Count: RefCount;

    fn new_in() -> Self;
    fn refs(&self) -> &Self::Count;
    fn lwtstate(&self) -> u64;
    /// Read to validate the route.
    fn rt_genid(&self) -> u32;
    fn members(&self) -> Vec<NamedMember>;
}

/// Members that no thread touches.
type Cold<const N: usize> = [u8; N];

/// Linux 6.1: what is read shares the count's line.
///
/// `USES` is the size of `__use`: 4 beside a 32-bit count, 0 beside a 64-bit one.
#[repr(C, align(64))]
pub(crate) struct SharedRoute<M: Memory, C, const USES: usize> {
    line_0: Cold<64>,
    refs: C,
    uses: Cold<USES>,
    lastuse: u64,
    lwtstate: M::Plain<u64>,
    rcu_head: Cold<16>,
    error_and_tclassid: Cold<8>,
    rt_genid: M::Plain<u32>,
    rt_flags_to_iif: Cold<12>,
    gateway_and_mtu: Cold<24>,
    rt_uncached: Cold<24>,
}

/// Since Linux 6.4: cold members fill the count's line. `USES` as for [`SharedRoute`].
#[repr(C, align(64))]
pub(crate) struct IsolatedRoute<M: Memory, C, const USES: usize> {
    line_0: Cold<64>,
    refs: C,
    uses: Cold<USES>,
    lastuse: u64,
    rcu_head: Cold<16>,
    error_and_tclassid: Cold<8>,
    rt_uncached: Cold<24>,
    lwtstate: M::Plain<u64>,
    rt_genid: M::Plain<u32>,
    rt_flags_to_iif: Cold<12>,
    gateway_and_mtu: Cold<24>,
}

macro_rules! layout {
    ($layout:ident, $($member:ident at $offset:literal),*) => {
        // SAFETY: the count is Sync, cold bytes are never touched, and no thread writes the plain fields of a shared
        // route.
        unsafe impl<M: Memory, C: Sync, const USES: usize> Sync for $layout<M, C, USES> {}
        // SAFETY: the count is Send, and the rest is integers.
        unsafe impl<M: Memory, C: Send, const USES: usize> Send for $layout<M, C, USES> {}

        impl<M: Host, C: RefCount, const USES: usize> Route for $layout<M, C, USES> {
            type Host = M;
            type Count = C;

            fn new_in() -> Self {
                Self {
                    line_0: [0; 64],
                    refs: C::new_in(),
                    uses: [0; USES],
                    lastuse: 0,
                    lwtstate: Plain::new(1),
                    rcu_head: [0; 16],
                    error_and_tclassid: [0; 8],
                    rt_genid: Plain::new(1),
                    rt_flags_to_iif: [0; 12],
                    gateway_and_mtu: [0; 24],
                    rt_uncached: [0; 24],
                }
            }
            #[inline(always)]
            fn refs(&self) -> &C {
                &self.refs
            }
            #[inline(always)]
            fn lwtstate(&self) -> u64 {
                // SAFETY: no thread writes a shared route's fields.
                unsafe { self.lwtstate.read() }
            }
            #[inline(always)]
            fn rt_genid(&self) -> u32 {
                // SAFETY: no thread writes a shared route's fields.
                unsafe { self.rt_genid.read() }
            }
            fn members(&self) -> Vec<NamedMember> {
                vec![$(NamedMember::of(stringify!($member), &self.$member)),*]
            }
        }

        // Simulated routes have this layout too.
        offsets!($layout<Native, RcuRef, 4>, $($member at $offset),*);
        offsets!($layout<Native, TicketRef, 0>, $($member at $offset),*);
        offsets!($layout<Simulated, RcuRef<Simulated>, 4>, $($member at $offset),*);
        offsets!($layout<Simulated, TicketRef<Simulated>, 0>, $($member at $offset),*);
    };
}

macro_rules! offsets {
    ($layout:ty, $($member:ident at $offset:literal),*) => {
        const _: () = {
            $(assert!(offset_of!($layout, $member) == $offset);)*
            assert!(size_of::<$layout>() == 176_usize.next_multiple_of(64));
        };
    };
}

layout!(
    SharedRoute, refs at 64, lastuse at 72, lwtstate at 80, rcu_head at 88, error_and_tclassid at 104,
    rt_genid at 112, gateway_and_mtu at 128, rt_uncached at 152
);
layout!(
    IsolatedRoute, refs at 64, lastuse at 72, rcu_head at 80, error_and_tclassid at 96,
    rt_uncached at 104, lwtstate at 128, rt_genid at 136, gateway_and_mtu at 152
);
