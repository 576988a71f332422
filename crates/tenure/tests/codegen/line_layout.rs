//! A struct with and without what `#[derive(LineLayout)]` writes for it: by hand, since `main.rs` compiles this without
//! macros.

#![crate_name = "line_layout"]
#![crate_type = "lib"]

use tenure::cache_line::CachePadded;

pub struct Slot {
    pub readers: CachePadded<u64>,
    pub value: u64,
}

#[cfg(described)]
impl tenure::cache_line::LineLayout for Slot {
    const LAYOUT: &'static tenure::cache_line::Layout = &tenure::cache_line::Layout::of::<Self>(
        "Slot",
        const {
            &[
                tenure::cache_line::Field::new(
                    "readers",
                    core::mem::offset_of!(Self, readers),
                    core::mem::size_of::<CachePadded<u64>>(),
                )
                .role(tenure::cache_line::Role::Contended),
                tenure::cache_line::Field::new(
                    "value",
                    core::mem::offset_of!(Self, value),
                    core::mem::size_of::<u64>(),
                )
                .role(tenure::cache_line::Role::ReadMostly),
            ]
        },
    );
}

#[cfg(described)]
const _: () = {
    use tenure::cache_line::check;
    check::<Slot>();
};

#[unsafe(no_mangle)]
pub extern "C" fn read(slot: &Slot) -> u64 {
    #[cfg(described)]
    const {
        tenure::cache_line::check::<Slot>();
    }
    *slot.readers + slot.value
}

/// The control: this does add something.
#[cfg(used)]
#[unsafe(no_mangle)]
pub extern "C" fn name_bytes() -> usize {
    <Slot as tenure::cache_line::LineLayout>::LAYOUT.name.len()
}
