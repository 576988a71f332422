//! With `--cfg tenure_nightly` the library's `Arc` is std's, letter for letter: see `ci/unstable.sh`.
#![forbid(unsafe_code)]

use std::any::Any;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::pin::Pin;
use tenure::sync::{Arc, Weak};

trait Task {
    fn by_value(self: Arc<Self>) -> usize;
    fn pinned(self: Pin<Arc<Self>>) -> usize;
}

struct Job(usize);

impl Task for Job {
    fn by_value(self: Arc<Self>) -> usize {
        self.0 + Arc::strong_count(&self)
    }
    fn pinned(self: Pin<Arc<Self>>) -> usize {
        self.0
    }
}

impl Job {
    fn by_reference(self: &Arc<Self>) -> Arc<dyn Task> {
        self.clone()
    }
}

#[test]
fn an_arc_coerces_wherever_stds_does() {
    let shown: Arc<dyn Display> = Arc::new(5);
    let slice: Arc<[u8]> = Arc::new([1, 2, 3]);
    let all: Vec<Arc<dyn Debug>> = vec![Arc::new(1), Arc::new("two"), Arc::new([3])];
    let any = Arc::new(7_u32) as Arc<dyn Any + Send + Sync>;
    assert_eq!((shown.to_string().as_str(), slice.len(), all.len()), ("5", 3, 3));
    assert_eq!(*any.downcast::<u32>().unwrap(), 7);
    let pinned: Pin<Arc<dyn Future<Output = u8>>> = Arc::pin(async { 1 });
    drop(pinned);
}

#[test]
fn a_closure_learns_its_arguments_from_the_arcs_type() {
    let len: Arc<dyn Fn(&str) -> usize> = Arc::new(|text| text.trim().len());
    assert_eq!(len("four"), 4);
}

#[test]
fn a_weak_coerces_alive_or_to_nothing() {
    let value = Arc::new(3);
    let weak = Arc::downgrade(&value);
    let weak: Weak<dyn Display> = weak;
    assert_eq!(weak.upgrade().unwrap().to_string(), "3");
    let nothing: Weak<dyn Display> = Weak::<u8>::new();
    assert!(nothing.upgrade().is_none());
}

#[test]
fn an_arc_is_a_receiver_of_methods_and_of_those_of_trait_objects() {
    let job = Arc::new(Job(40));
    assert_eq!(job.by_reference().by_value(), 42);
    let pinned: Pin<Arc<dyn Task>> = Arc::pin(Job(4));
    assert_eq!(pinned.pinned(), 4);
}

#[test]
fn what_an_arc_borrows_may_end_before_it() {
    let (shared, weak);
    let local = String::from("declared last, dropped first");
    shared = Arc::new(&local);
    weak = Arc::downgrade(&shared);
    assert_eq!(weak.upgrade(), Some(shared.clone()));
}

#[test]
fn unsize_works_there_as_well() {
    let len = tenure::unsize!(Arc::new(|text| text.trim().len()) => dyn Fn(&str) -> usize);
    assert_eq!(len("four"), 4);
    let shown = tenure::unsize!(Arc::new(5).clone() => dyn Display);
    assert_eq!(shown.to_string(), "5");
}
