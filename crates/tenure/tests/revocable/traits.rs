//! What values there may be, and which threads may have what.

use crate::support::Kind;
use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::MutexGuard;
use tenure::rcu::{RcuCell, RcuGuard, RcuReader};
use tenure::revocable::{Domain, Guard, LocalHandle, Stats, Strong, generic};

/// Whether each type that leads to such a value has the trait.
macro_rules! all_have {
    ($value:ty: $trait:ident) => {
        [
            has!(Domain<$value>: $trait),
            has!(Strong<$value>: $trait),
            has!(LocalHandle<$value>: $trait),
            has!(Guard<'static, $value>: $trait),
            has!(RcuCell<$value>: $trait),
            has!(RcuReader<$value>: $trait),
        ]
    };
}

/// Any thread shares and drops a value: so it has to be both, or nothing that leads to it is either.
#[test]
fn what_leads_to_a_value_goes_to_other_threads_if_the_value_does() {
    macro_rules! go {
        ($value:ty) => {
            [all_have!($value: Send), all_have!($value: Sync)]
        };
    }
    assert!(go!(String).iter().flatten().all(|&goes| goes));
    for none in [go!(Rc<u8>), go!(Cell<u8>), go!(MutexGuard<'static, u8>)] {
        assert!(none.iter().flatten().all(|&goes| !goes));
    }
}

/// What it shows may be shown to others.
#[test]
fn the_guard_of_a_read_without_a_reader_stays_on_its_thread() {
    assert!(!has!(RcuGuard<'static, String>: Send) && has!(RcuGuard<'static, String>: Sync));
    assert!(!has!(RcuGuard<'static, Cell<u8>>: Send) && !has!(RcuGuard<'static, Cell<u8>>: Sync));
    assert!(!has!(RcuGuard<'static, Rc<u8>>: Send) && !has!(RcuGuard<'static, Rc<u8>>: Sync));
}

/// The comparison is with `Arc<Cell<u8>>`.
#[test]
fn what_a_panic_may_leave_in_disorder_is_no_more_safe_than_in_an_arc() {
    assert!(
        all_have!(u8: UnwindSafe).iter().all(|&is| is) && has!(RcuGuard<'static, u8>: UnwindSafe)
    );
    assert!(
        all_have!(u8: RefUnwindSafe).iter().all(|&is| is)
            && has!(RcuGuard<'static, u8>: RefUnwindSafe)
    );
    assert!(all_have!(Cell<u8>: UnwindSafe).iter().all(|&is| !is));
    assert!(!has!(RcuGuard<'static, Cell<u8>>: UnwindSafe));
}

#[test]
fn handles_are_a_word_and_one_that_may_be_none_is_no_more() {
    assert_eq!(size_of::<Strong<[u64; 9]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Strong<[u64; 9]>>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Domain<u8>>>(), size_of::<usize>());
}

/// A longer life will do for a shorter one, as with `Arc`.
#[test]
fn strong_handles_and_guards_are_covariant() {
    fn longest<'a>(strong: &Strong<&'a str>, guard: &Guard<'_, &'a str>, other: &'a str) -> usize {
        strong.len().max(guard.len()).max(other.len())
    }
    fn shorter_to_use<'s, 'a>(guard: Guard<'s, &'static str>) -> Guard<'s, &'a str> {
        guard
    }
    fn shorter_to_read<'r, 'a>(
        (one, other): (Guard<'r, &'static str>, RcuGuard<'r, &'static str>),
    ) -> (Guard<'r, &'a str>, RcuGuard<'r, &'a str>) {
        (one, other)
    }
    let domain = Domain::<&'static str>::new();
    let (mut local, strong) = (domain.register(), domain.strong("static"));
    {
        let other = String::from("of this block");
        assert_eq!(longest(&strong, &local.enter(&strong), &other), other.len());
    }
    assert_eq!(*shorter_to_use(local.kept().unwrap()), "static");
    let cell = RcuCell::new("static");
    let mut reader = cell.reader();
    // The second of one thread has a local handle of its own.
    let _first = cell.load();
    let (one, other) = shorter_to_read((reader.load(), cell.load()));
    assert_eq!((*one, *other), ("static", "static"));
    drop(other);
    assert_eq!(cell.stats().local_handles, 2);
}

fn values_may_borrow<S: Kind>() {
    let text = String::from("borrowed");
    let domain = generic::Domain::<&str, S>::new_in();
    let strong = domain.strong(&text[..4]);
    assert_eq!(*domain.register().enter(&strong), "borr");
}

struct Counts<'c>(&'c Cell<u32>);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn a_value_that_borrows_is_dropped_before_what_it_borrows<S: Kind>() {
    let drops = Cell::new(0);
    {
        let domain = generic::Domain::<Counts<'_>, S>::new_in();
        let strong = domain.strong(Counts(&drops));
        let mut local = domain.register();
        let guard = local.enter(&strong);
        drop(strong);
        assert_eq!(drops.get(), 0);
        guard.0.get();
    }
    assert_eq!(drops.get(), 1);
}

fn values_of_no_size_are_values<S: Kind>() {
    thread_local!(static DROPS: Cell<u32> = const { Cell::new(0) });
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    DROPS.set(0);
    let domain = generic::Domain::<Nothing, S>::new_in();
    let (one, other) = (domain.strong(Nothing), domain.strong(Nothing));
    assert!(!generic::Strong::ptr_eq(&one, &other), "objects of no size are different objects");
    let mut local = domain.register();
    drop(local.enter(&one));
    let guard = local.enter(&other);
    drop(one);
    assert_eq!(DROPS.get(), 1);
    drop(other);
    drop(guard);
    local.clear();
    assert_eq!(DROPS.get(), 2);
    let cell = RcuCell::new(Nothing);
    drop(cell.load());
    cell.store(Nothing);
    assert_eq!(DROPS.get(), 3);
}

fn values_are_aligned_as_they_ask<S: Kind>() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(align(1024))]
    struct Page([u8; 3]);
    let is_aligned = |page: &Page| std::ptr::from_ref(page).addr() % 1024 == 0;
    let domain = generic::Domain::<Page, S>::new_in();
    let strong = domain.strong(Page([1, 2, 3]));
    let mut local = domain.register();
    assert!(is_aligned(&strong) && is_aligned(&local.enter(&strong)));
    let kept = local.kept().unwrap();
    assert!(is_aligned(&kept));
    assert_eq!(*kept, Page([1, 2, 3]));
    let cell = RcuCell::new(Page([4; 3]));
    assert!(is_aligned(&cell.load()) && is_aligned(&cell.reader().load()));
}

#[test]
fn handles_and_guards_show_what_the_value_shows() {
    let domain = Domain::<&str>::new();
    let strong = domain.strong("a value");
    let mut local = domain.register();
    assert_eq!(format!("{local:?}"), "LocalHandle { number: 0, .. }");
    assert_eq!(format!("{strong:?} {strong}"), "\"a value\" a value");
    assert_eq!(*AsRef::<&str>::as_ref(&strong), "a value");
    assert_eq!(format!("{:?}", local.enter(&strong)), "\"a value\"");
    assert_eq!(format!("{:?}", local.kept()), "Some(\"a value\")");
}

claims! {
    values_may_borrow,
    a_value_that_borrows_is_dropped_before_what_it_borrows,
    values_of_no_size_are_values,
    values_are_aligned_as_they_ask,
}

#[test]
fn domains_say_what_they_are() {
    let text = |domain: &dyn Debug| format!("{domain:?}");
    let zero = "Stats { local_handles: 0, retired: 0, barriers: 0, revoked: 0, donated: 0 }";
    for (said, name) in [
        (text(&Domain::<u8>::default()), "shootdown"),
        (text(&generic::Domain::<u8, generic::Counted>::new_in()), "counted"),
        (text(&generic::Domain::<u8, generic::Mask>::new_in()), "mask"),
    ] {
        assert_eq!(said, format!("Domain {{ scheme: {name:?}, statistics: {zero} }}"));
    }
}

#[test]
fn a_cell_shows_its_value() {
    let cell = RcuCell::from("a value");
    assert_eq!(format!("{cell:?} {:?}", cell.load()), "RcuCell(\"a value\") \"a value\"");
    let mut reader = cell.reader();
    assert_eq!(format!("{:?}", reader.load()), "\"a value\"");
    assert_eq!(format!("{reader:?}"), "RcuReader { local: LocalHandle { number: 1, .. } }");
    assert_eq!(*RcuCell::<u32>::default().load(), 0);
}

#[test]
fn statistics_compare() {
    let domain = Domain::<u8>::new();
    let before: Stats = domain.stats();
    assert_eq!(before, domain.clone().stats());
    drop(domain.strong(1));
    assert_ne!(before, domain.stats());
}
