//! Found when the program is built, for the instances that it makes.

use tenure::cache_line::{self, LineLayout};

#[derive(LineLayout)]
#[repr(C, align(64))]
struct Slot<T> {
    #[line(contended)]
    readers: u64,
    #[line(read_mostly)]
    value: T,
}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        const { cache_line::check::<Self>() };
        Self { readers: 0, value }
    }
}

fn main() {
    let _zero_sized = Slot::new(());
    let _of_words = Slot::new(5_u64);
}
