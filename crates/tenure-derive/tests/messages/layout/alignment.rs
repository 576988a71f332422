//! On different lines if the struct starts on a line, which nothing asks for.

use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C)]
struct Slot {
    key: u64,
    #[line(contended)]
    readers: u64,
    hole: [u64; 6],
    #[line(read_mostly)]
    value: u64,
}

fn main() {}
