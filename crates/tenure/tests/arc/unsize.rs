//! Unsizing on stable Rust: what std's pointers coerce to, ours do through `unsize!`.
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::pin::Pin;
use tenure::sync::{Arc, Weak};
use tenure::unsize;

trait Shape {
    fn area(&self) -> u32;
}

#[repr(align(64))]
struct Square(u32);

impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}

#[test]
fn an_arc_and_its_unsized_form_share_value_and_counts() {
    let square = Arc::new(Square(3));
    let shape: Arc<dyn Shape> = unsize!(square.clone() => dyn Shape);
    assert_eq!(shape.area(), 9);
    assert_eq!(Arc::strong_count(&square), 2);
    assert!(std::ptr::addr_eq(Arc::as_ptr(&shape), Arc::as_ptr(&square)));
    drop(square);
    assert_eq!((shape.area(), Arc::strong_count(&shape)), (9, 1));
}

#[test]
fn a_weak_unsizes_alive_dead_or_to_nothing() {
    let square = Arc::new(Square(2));
    let weak: Weak<dyn Shape> = unsize!(Arc::downgrade(&square) => dyn Shape);
    assert_eq!(weak.upgrade().unwrap().area(), 4);
    let dead = Arc::downgrade(&square);
    drop(square);
    let dead: Weak<dyn Shape> = unsize!(dead => dyn Shape);
    assert!(weak.is_dead() && dead.is_dead() && weak.ptr_eq(&dead));

    let nothing: Weak<dyn Shape> = unsize!(Weak::<Square>::new() => dyn Shape);
    assert!(nothing.upgrade().is_none());
    assert!(nothing.clone().ptr_eq(&nothing));
}

#[test]
fn a_pinned_arc_stays_pinned_where_it_is() {
    let pinned = Arc::pin(Square(5));
    let place = std::ptr::from_ref(&*pinned);
    let shape: Pin<Arc<dyn Shape>> = unsize!(pinned.clone() => dyn Shape);
    assert_eq!(shape.area(), 25);
    assert!(std::ptr::addr_eq(&raw const *shape, place));
}

#[test]
fn arrays_become_slices() {
    let slice: Arc<[String]> =
        unsize!(Arc::new([String::from("a"), String::from("b")]) => [String]);
    assert_eq!(slice.concat(), "ab");
    let empty: Arc<[u64]> = unsize!(Arc::new([]) => [u64]);
    assert!(empty.is_empty());
}

#[test]
fn structs_unsize_in_their_last_field() {
    struct Tailed<T: ?Sized> {
        head: u8,
        tail: T,
    }
    let tailed: Arc<Tailed<dyn Display>> =
        unsize!(Arc::new(Tailed { head: 1, tail: 7_u64 }) => Tailed<dyn Display>);
    assert_eq!((tailed.head, tailed.tail.to_string().as_str()), (1, "7"));
}

#[test]
fn auto_traits_may_be_left_out() {
    let any: Arc<dyn Any + Send + Sync> = unsize!(Arc::new(1_u8) => dyn Any + Send + Sync);
    let fewer: Arc<dyn Any> = unsize!(any => dyn Any);
    assert_eq!(fewer.downcast_ref::<u8>(), Some(&1));
    let same: Arc<dyn Any> = unsize!(fewer => dyn Any);
    assert!(same.is::<u8>());
}

#[test]
fn errors_closures_and_debug_values_unsize() {
    let error: Arc<dyn Error + Send + Sync> =
        unsize!(Arc::new("x".parse::<u8>().unwrap_err()) => dyn Error + Send + Sync);
    assert!(error.to_string().contains("invalid digit"));
    let seen = Cell::new(0);
    let call: Arc<dyn Fn(u32) + '_> = unsize!(Arc::new(|n| seen.set(n)) => dyn Fn(u32) + '_);
    call(3);
    assert_eq!(seen.get(), 3);
    let all: Vec<Arc<dyn Debug>> =
        vec![unsize!(Arc::new(1) => dyn Debug), unsize!(Arc::new("x") => dyn Debug)];
    assert_eq!(format!("{all:?}"), r#"[1, "x"]"#);
}

#[test]
fn the_pointer_is_evaluated_once() {
    let calls = Cell::new(0);
    let make = || {
        calls.set(calls.get() + 1);
        Arc::new(5)
    };
    assert_eq!(unsize!(make() => dyn Display).to_string(), "5");
    assert_eq!(calls.get(), 1);
}

#[test]
fn the_unsized_arc_drops_the_concrete_value() {
    let drops = Cell::new(0);
    struct Guest<'a>(&'a Cell<u32>);
    impl Drop for Guest<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    trait Nameless {}
    impl Nameless for Guest<'_> {}
    let guest: Arc<dyn Nameless + '_> = unsize!(Arc::new(Guest(&drops)) => dyn Nameless + '_);
    drop(guest.clone());
    assert_eq!(drops.get(), 0);
    drop(guest);
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_closure_learns_its_arguments_from_the_type_that_it_becomes() {
    let len = unsize!(Arc::new(|text| text.trim().len()) => dyn Fn(&str) -> usize);
    assert_eq!(len("four"), 4);
    let separator = String::from(", ");
    let join = unsize!(
        tenure::sync::Arc::new(|words| words.join(&separator)) => dyn Fn(&[&str]) -> String + '_,
    );
    assert_eq!(join(&["a", "b"]), "a, b");
    let first =
        unsize!(Arc::new(|words, _| &words[0]) => dyn for<'w> Fn(&'w [String], u8) -> &'w String);
    assert_eq!(first(&[String::from("x")], 1), "x");
}

#[test]
fn a_closure_in_a_box_learns_its_arguments_from_the_boxs_type() {
    let boxed: Box<dyn Fn(&str) -> usize> = Box::new(|text| text.trim().len());
    let len: Arc<dyn Fn(&str) -> usize> = Arc::from(boxed);
    assert_eq!(len("four"), 4);
}

#[test]
fn what_the_argument_of_new_borrows_lives_as_long_as_the_statement() {
    struct Borrowing<'a>(&'a String);
    impl Shape for Borrowing<'_> {
        fn area(&self) -> u32 {
            self.0.len() as u32
        }
    }
    assert_eq!(unsize!(Arc::new(Borrowing(&String::from("abc"))) => dyn Shape + '_).area(), 3);
}

#[test]
fn a_value_that_says_where_it_goes_is_not_evaluated_twice() {
    let make = |go: bool| -> Option<Arc<dyn Display>> {
        let text = go.then_some("text");
        Some(unsize!(Arc::new(text?) => dyn Display))
    };
    assert_eq!((make(true).unwrap().to_string().as_str(), make(false).is_none()), ("text", true));
}
