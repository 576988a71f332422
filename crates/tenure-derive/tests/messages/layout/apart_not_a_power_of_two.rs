use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[line(apart = 100)]
struct Slot {
    #[line(contended)]
    readers: u64,
}

fn main() {}
