//! Traits of other crates: `Arc` and `Weak` in `arc_swap`, and as stable pointers.

use arc_swap::{ArcSwapAny, RefCnt};
use stable_deref_trait::{CloneStableDeref, StableDeref};
use std::thread;
use tenure::sync::{Arc, Weak};

type ArcSwap<T> = ArcSwapAny<Arc<T>>;

#[test]
fn what_is_swapped_out_of_an_arc_swap_goes_with_its_last_reader() {
    let first = Arc::new(String::from("first"));
    let weak = Arc::downgrade(&first);
    let place = ArcSwap::new(first);
    let reader = place.load();
    let old = place.swap(Arc::new(String::from("second")));
    assert_eq!(
        (reader.as_str(), old.as_str(), place.load().as_str()),
        ("first", "first", "second")
    );
    drop(old);
    assert!(weak.upgrade().is_some());
    drop(reader);
    assert!(weak.is_dead());
}

#[test]
fn an_arc_swap_counts_what_it_has() {
    let place = ArcSwap::new(Arc::new(0_u32));
    thread::scope(|scope| {
        let add = || (0..200).for_each(|_| drop(place.rcu(|n| Arc::new(**n + 1))));
        let threads = [(); 4].map(|()| scope.spawn(add));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let last = place.into_inner();
    assert_eq!((*last, Arc::strong_count(&last)), (800, 1));
}

#[test]
fn an_arc_swap_may_be_empty() {
    let place: ArcSwapAny<Option<Arc<u8>>> = ArcSwapAny::new(None);
    assert!(place.load().is_none());
    place.store(Some(Arc::new(1)));
    assert_eq!(place.load().as_deref(), Some(&1));
}

#[test]
fn a_weak_in_an_arc_swap_is_alive_dead_or_to_nothing() {
    let place: ArcSwapAny<Weak<u8>> = ArcSwapAny::new(Weak::new());
    assert!(place.load().upgrade().is_none() && RefCnt::as_ptr(&*place.load()).is_null());
    let value = Arc::new(5);
    place.store(Arc::downgrade(&value));
    assert_eq!(place.load().upgrade().as_deref(), Some(&5));
    assert_eq!(Arc::weak_count(&value), 1);
    drop(value);
    assert!(place.load().is_dead());
    place.store(Weak::new());
    assert!(place.load_full().ptr_eq(&Weak::new()));
}

#[test]
fn the_value_stays_where_it_is_when_its_arc_moves_or_is_cloned() {
    struct Inside<P: StableDeref<Target = str>> {
        owner: P,
        word: *const str,
    }
    fn first_word<P: StableDeref<Target = str>>(owner: P) -> Inside<P> {
        let word = &raw const owner[..5];
        Inside { owner, word }
    }
    fn same_place<P: CloneStableDeref<Target = str>>(pointer: &P) -> bool {
        std::ptr::eq(&raw const **pointer, &raw const *pointer.clone())
    }
    let text: Arc<str> = Arc::from("hello world");
    assert!(same_place(&text));
    let inside = Box::new(first_word(text));
    // SAFETY: the owner is alive, and its text does not move with it.
    assert_eq!(unsafe { &*inside.word }, "hello");
    assert_eq!(&*inside.owner, "hello world");
}
