//! Accepted. trybuild builds, and does not only check, as soon as one file is: that is when
//! constructors of generic structs are looked at.

use tenure::line::{self, Isolated, LineLayout};

#[derive(LineLayout)]
struct Slot<T> {
    #[line(contended)]
    readers: Isolated<u64>,
    #[line(read_mostly)]
    value: T,
}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        const { line::check::<Self>() };
        Self { readers: Isolated::new(0), value }
    }
}

fn main() {
    let slot = Slot::new(5_u64);
    assert_eq!(*slot.readers + slot.value, 5);
}
