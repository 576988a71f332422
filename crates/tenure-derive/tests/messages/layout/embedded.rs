//! The second victim of Linux 6.1's `dst_entry` sits in the struct around it.

use tenure::count::RcuRef;
use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C)]
#[line(assume_aligned)]
struct DstEntry {
    #[line(read_mostly)]
    ahead: [u64; 8],
    #[line(contended)]
    __refcnt: RcuRef,
    #[line(cold)]
    rest: [u32; 11],
}

#[derive(LineLayout)]
#[repr(C)]
#[line(assume_aligned)]
struct Rtable {
    #[line(embed)]
    dst: DstEntry,
    #[line(read_mostly)]
    rt_genid: i32,
    #[line(read_mostly)]
    rt_flags: u32,
    rest: [u32; 14],
}

fn main() {}
