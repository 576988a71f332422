use tenure::cache_line::{self, LineLayout};

#[derive(LineLayout)]
#[repr(C, align(64))]
struct Slot<T, const N: usize> {
    #[line(contended)]
    readers: u64,
    hole: [T; N],
    #[line(read_mostly)]
    value: T,
}

const _: () = cache_line::check::<Slot<u64, 7>>();
const _: () = cache_line::check::<Slot<u32, 7>>();

fn main() {}
