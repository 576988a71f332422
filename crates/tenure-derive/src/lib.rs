//! `#[derive(LineLayout)]` of the crate `tenure`.
//!
//! Depend on `tenure` with the feature `derive`, not on this crate: the code that the derive writes calls
//! `tenure::cache_line`, which has the rules. This crate hands over each field's name, offset and size, and its attributes.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod attributes;
mod expand;
mod generics;

/// Lets the compiler keep the fields that many cores write away from those that they read.
///
/// Implements the trait of the same name for a struct, and checks the struct's layout by the rules of the module
/// `tenure::cache_line`: a broken rule is a compile error that names the fields and their offsets. The check adds nothing to
/// the struct, and no code to the program.
///
/// # Attributes of a field
///
/// | attribute | meaning |
/// |---|---|
/// | `#[line(contended)]` | many cores write it: it shares no line with a read-mostly field |
/// | `#[line(read_mostly)]` | many cores read it, and it is written seldom or never |
/// | `#[line(cold)]` | used seldom; may lie anywhere, and fills holes well |
/// | `#[line(embed)]` | its type implements `LineLayout` too: that struct's fields count, each with its own role |
/// | `#[line(group = "tx")]` | used together with the other fields of the group; goes with any of the above |
///
/// A field has at most one of the first four. Without one it is like a cold one.
///
/// # Attributes of the struct
///
/// | attribute | meaning |
/// |---|---|
/// | `#[line(group(name = "tx", lines = 2))]` | the group may lie on that many lines, instead of on one |
/// | `#[line(assume_aligned)]` | every instance starts on a line, though the struct's alignment does not ask for it: the author's promise, unchecked |
/// | `#[line(apart = ISOLATION_BYTES)]` | contended and read-mostly fields share no aligned block of that many bytes; a constant expression, a power of two |
/// | `#[line(crate = path)]` | where `tenure` is, if not at `::tenure` |
///
/// # Generic structs
///
/// A struct without type and const parameters is checked where it is defined. Otherwise each instance has a layout;
/// `tenure::cache_line::check` checks one:
///
/// ```
/// use tenure::cache_line::{self, CachePadded, LineLayout};
///
/// #[derive(LineLayout)]
/// struct Ring<T, const N: usize> {
///     #[line(contended, group = "producer")]
///     head: CachePadded<usize>,
///     #[line(contended, group = "consumer")]
///     tail: CachePadded<usize>,
///     #[line(read_mostly)]
///     slots: [T; N],
/// }
///
/// const _: () = cache_line::check::<Ring<u64, 16>>();
/// ```
///
/// # Example
///
/// Two counters that different threads write lie on one line:
///
/// ```compile_fail,E0080
/// # use tenure::cache_line::LineLayout;
/// #[derive(LineLayout)]
/// #[repr(align(128))]
/// struct Ring {
///     #[line(contended, group = "producer")]
///     head: usize,
///     #[line(contended, group = "consumer")]
///     tail: usize,
/// }
/// ```
///
/// # Limits
///
/// - Structs only: a field of an enum has no fixed offset, and a union's share one line.
/// - The last field has a size: no `[T]`, `str` or `dyn Trait`. A parameter `T: ?Sized` is taken as `T: Sized`.
/// - A type parameter whose field is `embed`ded implements `LineLayout`; the derive adds that bound
///   to the implementation.
#[proc_macro_derive(LineLayout, attributes(line))]
pub fn line_layout(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::line_layout(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
