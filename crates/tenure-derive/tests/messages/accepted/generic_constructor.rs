//! Accepted. trybuild builds, and does not only check, as soon as one file is: that is when
//! constructors of generic structs are looked at.

use tenure::cache_line::{self, CachePadded, LineLayout};

#[derive(LineLayout)]
struct Slot<T> {
    #[line(contended)]
    readers: CachePadded<u64>,
    #[line(read_mostly)]
    value: T,
}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        const { cache_line::check::<Self>() };
        Self { readers: CachePadded::new(0), value }
    }
}

fn main() {
    let slot = Slot::new(5_u64);
    assert_eq!(*slot.readers + slot.value, 5);
}
