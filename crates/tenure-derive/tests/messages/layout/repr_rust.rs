//! The order is the compiler's; there is only one line to lie on.

use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(align(64))]
struct Slot(#[line(contended)] u32, #[line(read_mostly)] u32);

fn main() {}
