//! A lifetime changes no layout: checked where it is defined.

use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C, align(64))]
struct Slot<'a, 'b: 'a> {
    #[line(contended)]
    readers: u64,
    #[line(read_mostly)]
    value: &'a &'b str,
}

fn main() {}
