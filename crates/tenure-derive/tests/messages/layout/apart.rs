use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C, align(128))]
#[line(apart = 128)]
struct Slot {
    #[line(contended)]
    readers: u64,
    hole: [u64; 7],
    #[line(read_mostly)]
    value: u64,
}

fn main() {}
