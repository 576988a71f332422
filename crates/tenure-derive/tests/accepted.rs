//! Layouts that keep the rules. That this file compiles is most of the test.

#![allow(dead_code)] // Fields that are there for their place.

use std::mem::offset_of;
use tenure::cache_line::{self, CachePadded, ISOLATION_BYTES, LineLayout, Role};

#[derive(LineLayout)]
#[repr(C)]
struct InC {
    #[line(read_mostly)]
    name: u64,
    #[line(contended)]
    refs: CachePadded<u32>,
    #[line(cold)]
    created: u64,
}

#[derive(LineLayout)]
struct InRust {
    #[line(read_mostly)]
    name: u8,
    #[line(contended)]
    refs: CachePadded<u64>,
    #[line(read_mostly)]
    r#type: u32,
}

#[derive(LineLayout)]
struct Tuple(#[line(contended)] CachePadded<u64>, #[line(read_mostly)] u64);

#[derive(LineLayout)]
struct Unit;

#[derive(LineLayout)]
#[repr(C, packed)]
struct Packed {
    flag: u8,
    #[line(contended)]
    first: u64,
    #[line(contended)]
    second: u64,
    #[line(read_mostly)]
    nothing: (),
}

#[derive(LineLayout)]
#[repr(transparent)]
struct Transparent(#[line(contended)] u64);

#[derive(LineLayout)]
struct Generic<'a, T: ?Sized, U: Copy, const N: usize>
where
    T: ToString,
{
    #[line(contended)]
    refs: CachePadded<[U; N]>,
    #[line(read_mostly)]
    value: &'a T,
    last: std::marker::PhantomData<T>,
}

const _: () = cache_line::check::<Generic<'_, u8, u64, 3>>();

#[derive(LineLayout)]
struct Embedding<T> {
    #[line(embed)]
    inner: CachePadded<T>,
    #[line(read_mostly)]
    value: u64,
}

#[derive(LineLayout)]
struct Count {
    #[line(contended)]
    value: u64,
}

#[derive(LineLayout)]
struct Entry {
    key: u64,
    #[line(embed)]
    refs: Count,
}

#[derive(LineLayout)]
struct Table {
    #[line(embed)]
    first: Embedding<Entry>,
    #[line(embed)]
    second: CachePadded<Entry>,
    #[line(read_mostly)]
    mask: u64,
}

const _: () = cache_line::check::<Embedding<Count>>();

#[derive(LineLayout)]
#[line(apart = ISOLATION_BYTES, group(name = "tx", lines = 2))]
#[repr(C, align(256))]
struct Apart {
    #[line(contended, group = "tx")]
    head: u64,
    #[line(cold)]
    hole: [u8; 248],
    #[line(read_mostly, group = "tx")]
    slots: usize,
}

mod renamed {
    pub(crate) mod inner {
        pub(crate) use tenure as cache;
    }

    #[derive(tenure::cache_line::LineLayout)]
    #[line(crate = inner::cache)]
    struct Elsewhere {
        #[line(contended)]
        refs: u64,
    }
}

/// Its types come as fragments.
macro_rules! slot {
    ($name:ident, $count:ty, $value:ty) => {
        #[derive(LineLayout)]
        struct $name {
            #[line(embed)]
            count: $count,
            #[line(read_mostly)]
            value: $value,
        }
    };
}
slot!(FromAMacro, CachePadded<Count>, u64);

#[test]
fn names_offsets_and_roles_are_those_of_the_source() {
    let described = |layout: &cache_line::Layout| -> Vec<_> {
        layout.fields.iter().map(|f| (f.name, f.offset, f.size, f.role)).collect()
    };
    assert_eq!(
        described(InRust::LAYOUT),
        [
            ("name", offset_of!(InRust, name), 1, Role::ReadMostly),
            ("refs", offset_of!(InRust, refs), 8, Role::Contended),
            ("type", offset_of!(InRust, r#type), 4, Role::ReadMostly),
        ]
    );
    assert_eq!(
        described(Tuple::LAYOUT),
        [
            ("0", offset_of!(Tuple, 0), 8, Role::Contended),
            ("1", offset_of!(Tuple, 1), 8, Role::ReadMostly),
        ]
    );
    let offsets: Vec<_> = Packed::LAYOUT.fields.iter().map(|field| field.offset).collect();
    assert_eq!(offsets, [0, 1, 9, 17]);
    assert_eq!(Unit::LAYOUT.fields, []);
}

#[test]
fn padding_takes_no_lines_of_a_group() {
    #[derive(LineLayout)]
    struct Ring<T> {
        #[line(contended, group = "producer")]
        head: CachePadded<usize>,
        #[line(contended, group = "consumer")]
        tail: CachePadded<usize>,
        #[line(read_mostly, group = "slots")]
        slots: CachePadded<Box<[T]>>,
    }
    const _: () = cache_line::check::<Ring<u64>>();
    assert_eq!(Ring::<u64>::LAYOUT.fields[0].size, size_of::<usize>());
}

#[derive(LineLayout)]
struct Counted<C, T> {
    #[line(contended, group = "refs")]
    refs: C,
    #[line(read_mostly)]
    value: CachePadded<T>,
}

const _: () = cache_line::check::<Counted<CachePadded<u64>, u64>>();
const _: () = cache_line::check::<Counted<u64, u64>>();

trait Machine {
    type Word;
}

impl Machine for () {
    type Word = CachePadded<u64>;
}

#[derive(LineLayout)]
struct OnAMachine<M: Machine> {
    #[line(contended, group = "head")]
    head: M::Word,
    #[line(contended, group = "tail")]
    tail: <M as Machine>::Word,
}

const _: () = cache_line::check::<OnAMachine<()>>();

#[test]
fn the_padding_of_a_type_parameter_takes_no_lines_of_a_group() {
    let [refs, value] = Counted::<CachePadded<u64>, u64>::LAYOUT.fields else { panic!() };
    assert_eq!((refs.size, refs.padding), (ISOLATION_BYTES, ISOLATION_BYTES - 1));
    assert_eq!((value.size, value.padding), (8, 0));
}

/// Tens of fields: written by many, then read by many.
macro_rules! tens {
    ($name:ident $($fields:tt)*) => { tens!(@ $name [] $($fields)*); };
    (@ $name:ident [$($done:tt)*] written $($rest:tt)*) => {
        tens!(@ $name [$($done)* contended "written",] $($rest)*);
    };
    (@ $name:ident [$($done:tt)*] read $($rest:tt)*) => {
        tens!(@ $name [$($done)* read_mostly "read",] $($rest)*);
    };
    (@ $name:ident [$($role:ident $group:literal,)*]) => {
        #[derive(LineLayout)]
        #[repr(C, align(64))]
        #[line(group(name = "written", lines = 25), group(name = "read", lines = 25))]
        struct $name($(
            #[line($role, group = $group)] u64, #[line($role, group = $group)] u64,
            #[line($role, group = $group)] u64, #[line($role, group = $group)] u64,
            #[line($role, group = $group)] u64, #[line($role, group = $group)] u64,
            #[line($role, group = $group)] u64, #[line($role, group = $group)] u64,
            #[line($role, group = $group)] u64, #[line($role, group = $group)] u64,
        )*);
    };
}

#[test]
fn a_struct_of_four_hundred_fields_is_checked() {
    tens! { Many
        written written written written written written written written written written
        written written written written written written written written written written
        read read read read read read read read read read
        read read read read read read read read read read
    }
    assert_eq!(Many::LAYOUT.fields.len(), 400);
}

#[test]
fn what_the_struct_declares_arrives() {
    assert_eq!(Apart::LAYOUT.apart, ISOLATION_BYTES);
    assert_eq!(Apart::LAYOUT.groups, [("tx", 2)]);
    assert_eq!(Apart::LAYOUT.fields[0].group, Some("tx"));
    assert_eq!((Apart::LAYOUT.size, Apart::LAYOUT.align), (512, 256));
    assert!(!Apart::LAYOUT.assume_aligned);
}

#[test]
fn an_isolated_struct_has_the_fields_of_the_struct_and_its_own_size() {
    let (isolated, bare) = (CachePadded::<Entry>::LAYOUT, Entry::LAYOUT);
    assert_eq!((isolated.name, isolated.fields), (bare.name, bare.fields));
    assert_eq!((isolated.size, isolated.align), (ISOLATION_BYTES, ISOLATION_BYTES));
    let Role::Embedded(count) = bare.fields[1].role else { panic!("{:?}", bare.fields[1]) };
    assert_eq!(count, Count::LAYOUT);
}

#[test]
fn an_instance_of_a_generic_struct_has_its_own_offsets() {
    let small = Generic::<'_, u8, u64, 1>::LAYOUT;
    let large = Generic::<'_, u8, u64, 64>::LAYOUT;
    assert!(small.size < large.size);
    cache_line::check::<Generic<'_, String, u16, 5>>();
}

#[test]
fn a_struct_is_as_large_and_ordered_as_without_the_derive() {
    struct Bare {
        name: u8,
        refs: CachePadded<u64>,
        r#type: u32,
    }
    assert_eq!(size_of::<InRust>(), size_of::<Bare>());
    assert_eq!(align_of::<InRust>(), align_of::<Bare>());
    assert_eq!(offset_of!(InRust, name), offset_of!(Bare, name));
    assert_eq!(offset_of!(InRust, refs), offset_of!(Bare, refs));
    assert_eq!(offset_of!(InRust, r#type), offset_of!(Bare, r#type));
}
