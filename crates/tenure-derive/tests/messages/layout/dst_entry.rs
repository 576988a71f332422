//! Linux 6.1's `dst_entry` and `rtable`: the count and its readers, at the offsets they had.

use tenure::count::RcuRef;
use tenure::cache_line::LineLayout;

// Its allocator, a slab cache, starts each on a line.
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
    #[line(read_mostly)]
    lwtstate: usize,
    #[line(cold)]
    rcu_head: [usize; 2],
    error: u32,
    tclassid: u32,
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
    rest: [u64; 6],
}

const _: () = assert!(size_of::<DstEntry>() == 112 && size_of::<Rtable>() == 176);

fn main() {}
