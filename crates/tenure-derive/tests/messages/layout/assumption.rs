//! Two promises that an outer struct breaks.

use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[line(assume_aligned)]
struct Count {
    #[line(contended)]
    value: u64,
}

#[derive(LineLayout)]
#[repr(C, align(64))]
struct Behind {
    key: u64,
    #[line(embed)]
    count: Count,
}

#[derive(LineLayout)]
#[repr(C)]
struct Anywhere {
    #[line(embed)]
    count: Count,
    key: u64,
}

fn main() {}
