//! A struct with and without what `#[derive(LineLayout)]` writes for it: by hand, since `main.rs` compiles this without
//! macros.

#![crate_name = "line_layout"]
#![crate_type = "lib"]

use tenure::line::Isolated;

pub struct Slot {
    pub readers: Isolated<u64>,
    pub value: u64,
}

#[cfg(described)]
impl tenure::line::LineLayout for Slot {
    const LAYOUT: &'static tenure::line::Layout = &tenure::line::Layout::of::<Self>(
        "Slot",
        const {
            &[
                tenure::line::Field::new(
                    "readers",
                    core::mem::offset_of!(Self, readers),
                    core::mem::size_of::<Isolated<u64>>(),
                )
                .role(tenure::line::Role::Contended),
                tenure::line::Field::new(
                    "value",
                    core::mem::offset_of!(Self, value),
                    core::mem::size_of::<u64>(),
                )
                .role(tenure::line::Role::ReadMostly),
            ]
        },
    );
}

#[cfg(described)]
const _: () = {
    use tenure::line::check;
    check::<Slot>();
};

#[unsafe(no_mangle)]
pub extern "C" fn read(slot: &Slot) -> u64 {
    #[cfg(described)]
    const {
        tenure::line::check::<Slot>();
    }
    *slot.readers + slot.value
}

/// The control: this does add something.
#[cfg(used)]
#[unsafe(no_mangle)]
pub extern "C" fn name_bytes() -> usize {
    <Slot as tenure::line::LineLayout>::LAYOUT.name.len()
}
