//! `Arc`s of types without a fixed size, and every conversion into them.

use crate::panics;
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::fmt::{Debug, Display};
use tenure::sync::{Arc, Weak};

/// Counts those alive, and panics when the fuse runs out.
#[derive(Debug)]
struct Fragile<'a> {
    alive: &'a Cell<i32>,
    fuse: &'a Cell<u32>,
}

impl<'a> Fragile<'a> {
    fn new(alive: &'a Cell<i32>, fuse: &'a Cell<u32>) -> Self {
        assert!(fuse.replace(fuse.get().wrapping_sub(1)) != 0, "the fuse ran out");
        alive.set(alive.get() + 1);
        Self { alive, fuse }
    }
}

impl Clone for Fragile<'_> {
    fn clone(&self) -> Self {
        Self::new(self.alive, self.fuse)
    }
}

impl Drop for Fragile<'_> {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
    }
}

#[test]
fn strings_come_from_everything_that_holds_one() {
    let mut owned = String::from("text");
    for text in [
        Arc::<str>::from("text"),
        Arc::from(owned.as_mut_str()),
        Arc::from(owned.clone()),
        Arc::from(owned.clone().into_boxed_str()),
        Arc::from(Cow::Borrowed("text")),
        Arc::from(Cow::<str>::Owned(owned.clone())),
    ] {
        assert_eq!(&*text, "text");
        assert_eq!((Arc::strong_count(&text), Arc::weak_count(&text)), (1, 0));
        let place = text.as_ptr();
        let bytes: Arc<[u8]> = text.into();
        assert_eq!((&*bytes, bytes.as_ptr()), (&b"text"[..], place), "the same allocation");
    }
    assert_eq!(&*Arc::<str>::default(), "");
    let one: Arc<String> = Arc::from(owned);
    assert_eq!(*one, "text");
}

#[test]
fn c_strings_keep_their_nul() {
    let mut boxed: Box<CStr> = c"text".into();
    for text in [
        Arc::<CStr>::from(c"text"),
        Arc::from(&mut *boxed),
        Arc::from(boxed.clone()),
        Arc::from(CString::from(c"text")),
        Arc::from(Cow::Borrowed(c"text")),
    ] {
        assert_eq!(text.to_bytes_with_nul(), b"text\0");
    }
    assert_eq!(&*Arc::<CStr>::default(), c"");
}

#[cfg(feature = "std")]
#[test]
fn paths_and_os_strings_keep_what_is_not_utf8() {
    use std::ffi::{OsStr, OsString};
    use std::path::{Path, PathBuf};
    #[cfg(unix)]
    let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xe9");
    #[cfg(not(unix))]
    let name = OsStr::new("caf\u{e9}");

    let mut boxed: Box<OsStr> = name.into();
    for text in [
        Arc::<OsStr>::from(name),
        Arc::from(&mut *boxed),
        Arc::from(boxed.clone()),
        Arc::from(OsString::from(name)),
        Arc::from(Cow::Borrowed(name)),
    ] {
        assert_eq!(&*text, name);
    }
    let path: &Path = name.as_ref();
    let mut boxed: Box<Path> = path.into();
    for text in [
        Arc::<Path>::from(path),
        Arc::from(&mut *boxed),
        Arc::from(boxed.clone()),
        Arc::from(PathBuf::from(path)),
        Arc::from(Cow::Borrowed(path)),
    ] {
        assert_eq!(&*text, path);
    }
}

#[test]
fn slices_come_from_everything_that_holds_one() {
    let mut values = vec![String::from("a"), String::from("b")];
    for slice in [
        Arc::<[String]>::from(&values[..]),
        Arc::from(&mut values[..]),
        Arc::from(values.clone()),
        Arc::from(values.clone().into_boxed_slice()),
        Arc::from([String::from("a"), String::from("b")]),
        Arc::from(Cow::Borrowed(&values[..])),
        values.iter().cloned().collect(),
        values.iter().filter(|_| true).cloned().collect(),
    ] {
        assert_eq!(*slice, *values);
        assert_eq!((Arc::strong_count(&slice), Arc::weak_count(&slice)), (1, 0));
    }
    assert!(Arc::<[String]>::default().is_empty());
    assert!(Arc::<[u8]>::from(vec![]).is_empty());
    assert_eq!(Arc::<[()]>::from(vec![(); 1000]).len(), 1000);
}

#[test]
fn a_slice_becomes_an_array_of_its_length_only() {
    let slice: Arc<[u32]> = Arc::from([1, 2, 3]);
    let place = slice.as_ptr();
    let slice = Arc::<[u32; 2]>::try_from(slice).expect_err("three");
    let array = Arc::<[u32; 3]>::try_from(slice).expect("three");
    assert_eq!((*array, array.as_ptr()), ([1, 2, 3], place));
}

#[test]
fn boxes_of_any_size_move_in_whole() {
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Wide(u8);
    fn display(value: impl Display + 'static) -> Arc<dyn Display> {
        Arc::from(Box::new(value) as Box<dyn Display>)
    }
    assert_eq!(display(5).to_string(), "5");
    assert_eq!(display(String::from("long enough for the heap")).to_string().len(), 24);
    let wide: Arc<dyn Debug> = Arc::from(Box::new(Wide(1)) as Box<dyn Debug>);
    assert!(Arc::as_ptr(&wide).cast::<Wide>().is_aligned());
    assert_eq!(format!("{wide:?}"), "Wide(1)");
    let nothing: Arc<dyn Debug> = Arc::from(Box::new(()) as Box<dyn Debug>);
    assert_eq!(format!("{nothing:?}"), "()");

    let (alive, fuse) = (Cell::new(0), Cell::new(2));
    let boxed = Box::new([Fragile::new(&alive, &fuse), Fragile::new(&alive, &fuse)]);
    let arc: Arc<[Fragile<'_>]> = Arc::from(boxed as Box<[_]>);
    assert_eq!(alive.get(), 2, "moved, neither cloned nor dropped");
    drop(arc);
    assert_eq!(alive.get(), 0);
}

#[test]
fn a_box_of_a_struct_with_an_unsized_tail_moves_in_whole() {
    struct Tailed<T: ?Sized> {
        head: u16,
        tail: T,
    }
    let boxed: Box<Tailed<[u32]>> = Box::new(Tailed { head: 7, tail: [1, 2, 3] });
    let arc: Arc<Tailed<[u32]>> = Arc::from(boxed);
    assert_eq!((arc.head, &arc.tail), (7, &[1, 2, 3][..]));
    // SAFETY: from `into_raw`, taken back once.
    let arc = unsafe { Arc::from_raw(Arc::into_raw(arc)) };
    let weak = Arc::downgrade(&arc);
    drop(arc);
    // SAFETY: from `into_raw`, taken back once; the value is dead, its size is known.
    let weak = unsafe { Weak::from_raw(weak.into_raw()) };
    assert!(weak.is_dead());
}

#[test]
fn a_clone_that_panics_drops_the_elements_before_it() {
    let (alive, fuse) = (Cell::new(0), Cell::new(4));
    let values: Vec<_> = (0..4).map(|_| Fragile::new(&alive, &fuse)).collect();
    fuse.set(2);
    assert!(panics(|| Arc::<[_]>::from(&values[..])));
    assert_eq!(alive.get(), 4);

    let mut arc: Arc<[_]> = Arc::from(values);
    let other = arc.clone();
    fuse.set(3);
    assert!(panics(|| Arc::make_mut(&mut arc).len()));
    assert_eq!(alive.get(), 4);
    assert!(Arc::ptr_eq(&arc, &other));
    drop((arc, other));
    assert_eq!(alive.get(), 0);
}

#[test]
fn an_iterator_that_panics_has_its_elements_dropped() {
    let (alive, fuse) = (Cell::new(0), Cell::new(3));
    assert!(panics(|| (0..9).map(|_| Fragile::new(&alive, &fuse)).collect::<Arc<[_]>>()));
    assert_eq!(alive.get(), 0);
}

#[test]
fn make_mut_copies_what_has_no_fixed_size() {
    let mut text: Arc<str> = Arc::from("abc");
    let other = text.clone();
    Arc::make_mut(&mut text).make_ascii_uppercase();
    assert_eq!((&*text, &*other), ("ABC", "abc"));

    let weak = Arc::downgrade(&text);
    Arc::make_mut(&mut text).make_ascii_lowercase();
    assert!(weak.is_dead());
    assert_eq!(&*text, "abc");

    let mut values: Arc<[String]> = Arc::from([String::from("x")]);
    let others = values.clone();
    Arc::make_mut(&mut values)[0].push('y');
    assert_eq!((&*values[0], &*others[0]), ("xy", "x"));

    let mut name: Arc<CStr> = Arc::from(c"name");
    let other = name.clone();
    let _name: &mut CStr = Arc::make_mut(&mut name);
    assert!(!Arc::ptr_eq(&name, &other));
    assert_eq!(name, other);
}

#[cfg(feature = "std")]
#[test]
fn make_mut_copies_paths_and_os_strings() {
    use std::ffi::OsStr;
    use std::path::Path;
    let mut path: Arc<Path> = Arc::from(Path::new("/Etc"));
    let other = path.clone();
    Arc::make_mut(&mut path).as_mut_os_str().make_ascii_lowercase();
    assert_eq!((&*path, &*other), (Path::new("/etc"), Path::new("/Etc")));
    let mut name: Arc<OsStr> = Arc::from(OsStr::new("A"));
    let other = name.clone();
    Arc::make_mut(&mut name).make_ascii_lowercase();
    assert_eq!((&*name, &*other), (OsStr::new("a"), OsStr::new("A")));
}

#[test]
fn fat_pointers_go_through_raw_ones() {
    let text: Arc<str> = Arc::from("text");
    let weak = Arc::downgrade(&text);
    let raw = Arc::into_raw(text);
    // SAFETY: `raw` stands for a reference, and is read while it does.
    assert_eq!(unsafe { &*raw }, "text");
    // SAFETY: as above.
    unsafe { Arc::increment_strong_count(raw) };
    // SAFETY: one of two.
    let one = unsafe { Arc::from_raw(raw) };
    // SAFETY: the other.
    let two = unsafe { Arc::from_raw(raw) };
    assert!(Arc::ptr_eq(&one, &two));
    drop((one, two));
    let raw = weak.into_raw();
    // SAFETY: from `into_raw`, taken back once.
    assert!(unsafe { Weak::from_raw(raw) }.is_dead());
}

#[test]
#[should_panic(expected = "larger than the address space")]
fn a_slice_larger_than_the_address_space_panics() {
    drop(Arc::<[u64]>::new_uninit_slice(usize::MAX / 4));
}
