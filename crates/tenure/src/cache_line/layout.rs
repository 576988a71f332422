//! What a struct says about its fields: [`LineLayout`], [`Layout`], [`Field`], [`Role`].
//!
//! All but the trait is between the derive and the rules: hidden from the documentation, for the derive and for programs that read
//! [`LineLayout::LAYOUT`].

/// A struct that knows which of its fields are written by many cores, and which are read by them.
///
/// Implemented by `#[derive(LineLayout)]`, with the feature `derive`. The [module](super#the-rules) has the rules, the
/// derive its attributes. It adds no byte to the struct and no code to the program.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use tenure::cache_line::{LineLayout, Role};
///
/// #[derive(LineLayout)]
/// #[repr(C)]
/// struct Session {
///     #[line(read_mostly)]
///     peer: u64,
///     #[line(cold)]
///     opened: u64,
/// }
///
/// let [peer, opened] = Session::LAYOUT.fields else { panic!() };
/// assert_eq!((peer.name, peer.offset, peer.role), ("peer", 0, Role::ReadMostly));
/// assert_eq!((opened.name, opened.offset, opened.role), ("opened", 8, Role::Cold));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not describe its cache lines",
    label = "no `LineLayout`",
    note = "add `#[derive(LineLayout)]` to `{Self}`, or leave `embed` away: its fields are then not looked at"
)]
pub trait LineLayout: Sized {
    /// The struct's fields as the compiler laid them out.
    const LAYOUT: &'static Layout;
}

/// A struct as the compiler laid it out, and what its author declared about it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The struct's name, without its path and parameters.
    pub name: &'static str,
    /// The struct's size in bytes.
    pub size: usize,
    /// The alignment that the compiler guarantees, in bytes.
    pub align: usize,
    /// Whether the author promises that every instance starts on a line.
    pub assume_aligned: bool,
    /// Contended and read-mostly fields may not share aligned blocks of this size: a line, if this is less.
    pub apart: usize,
    /// The fields, in the order of the source.
    pub fields: &'static [Field],
    /// The groups that may take more lines than one.
    pub groups: &'static [(&'static str, usize)],
}

impl Layout {
    /// The layout of `T`, with these fields.
    #[must_use]
    pub const fn of<T>(name: &'static str, fields: &'static [Field]) -> Self {
        Self {
            name,
            size: size_of::<T>(),
            align: align_of::<T>(),
            assume_aligned: false,
            apart: 1,
            fields,
            groups: &[],
        }
    }

    /// Promises that every instance starts on a line.
    #[must_use]
    pub const fn assume_aligned(mut self) -> Self {
        self.assume_aligned = true;
        self
    }

    /// Keeps contended and read-mostly fields in different aligned blocks of `bytes`.
    ///
    /// # Panics
    ///
    /// If `bytes` is not a power of two.
    #[must_use]
    #[track_caller]
    pub const fn apart(mut self, bytes: usize) -> Self {
        assert!(bytes.is_power_of_two(), "`apart` is a power of two, as the sizes of lines are");
        self.apart = bytes;
        self
    }

    /// Declares how many lines each of these groups may take.
    #[must_use]
    pub const fn groups(mut self, groups: &'static [(&'static str, usize)]) -> Self {
        self.groups = groups;
        self
    }
}

/// A field of a [`Layout`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name; a tuple struct's fields are called "0", "1", and so on.
    pub name: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Its size in bytes; of a [`CachePadded`](super::CachePadded) field the value's, without padding.
    pub size: usize,
    /// Who touches it.
    pub role: Role,
    /// The group of fields that it is used with.
    pub group: Option<&'static str>,
    /// How many of its last bytes may be padding, which takes no line of a group: what a type parameter's alignment may
    /// have added, else 0.
    pub padding: usize,
}

impl Field {
    /// A field that nothing is known about but its place.
    #[must_use]
    pub const fn new(name: &'static str, offset: usize, size: usize) -> Self {
        Self { name, offset, size, role: Role::Unmarked, group: None, padding: 0 }
    }

    /// Says who touches the field.
    #[must_use]
    pub const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Puts the field into a group.
    #[must_use]
    pub const fn group(mut self, name: &'static str) -> Self {
        self.group = Some(name);
        self
    }

    /// Says that only the alignment of the field's type is known: up to `align - 1` bytes at its end may be
    /// [padding](Self::padding).
    #[must_use]
    pub const fn opaque(mut self, align: usize) -> Self {
        let bytes = if align < self.size { align } else { self.size };
        self.padding = bytes.saturating_sub(1);
        self
    }
}

/// Who touches a field.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Not declared; nothing is asked of the field.
    Unmarked,
    /// Written by many cores: a count, a lock, a queue's head.
    Contended,
    /// Read by many cores, and written seldom or never.
    ReadMostly,
    /// Used seldom, by any core: fills holes. Nothing is asked of it.
    Cold,
    /// A struct whose fields have roles of their own.
    Embedded(&'static Layout),
}
