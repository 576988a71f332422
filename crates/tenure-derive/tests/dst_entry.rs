//! `dst_entry` and `rtable` as in Linux since 6.4: cold members fill the line of the count, and `rtable` has not grown.
//! `messages/layout/dst_entry.rs` has them as they were before.

// Where lines are larger, this repair is none.
#![cfg(not(any(
    target_arch = "powerpc64",
    target_arch = "s390x",
    all(target_arch = "aarch64", target_vendor = "apple")
)))]
#![cfg(target_pointer_width = "64")]
#![allow(dead_code)] // Fields that are there for their place.

use std::mem::offset_of;
use tenure::cache_line::LineLayout;
use tenure::count::RcuRef;

#[derive(LineLayout)]
#[repr(C)]
#[line(assume_aligned)]
struct DstEntry {
    #[line(read_mostly)]
    ahead: [u64; 8],
    #[line(contended)]
    __refcnt: RcuRef,
    __use: u32,
    lastuse: u64,
    #[line(cold)]
    rcu_head: [usize; 2],
    error: u32,
    tclassid: u32,
    #[line(cold)]
    rt_uncached: [usize; 2],
    #[line(cold)]
    rt_uncached_list: usize,
    #[line(read_mostly)]
    lwtstate: usize,
}

#[derive(LineLayout)]
#[repr(C)]
#[line(assume_aligned)]
struct Rtable {
    #[line(embed)]
    dst: DstEntry,
    #[line(read_mostly)]
    rt_genid: u32,
    #[line(read_mostly)]
    rt_flags: u32,
    #[line(read_mostly)]
    rt_type: u16,
    #[line(read_mostly)]
    rt_iif: u32,
    rest: [u64; 3],
}

#[test]
fn the_repaired_dst_entry_compiles_and_rtable_has_not_grown() {
    assert_eq!(offset_of!(DstEntry, __refcnt), 64);
    assert_eq!(offset_of!(DstEntry, lwtstate), 128);
    assert_eq!((size_of::<DstEntry>(), size_of::<Rtable>()), (136, 176));
}
