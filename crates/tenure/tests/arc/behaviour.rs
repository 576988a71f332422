//! What std documents about `Arc` and `Weak`, and what follows from it, on one thread.

use crate::panics;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use tenure::sync::{Arc, Weak};
use tenure::unsize;

struct Guest<'a> {
    drops: &'a Cell<u32>,
    bomb: bool,
}

impl<'a> Guest<'a> {
    fn new(drops: &'a Cell<u32>) -> Self {
        Self { drops, bomb: false }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        assert!(!self.bomb, "the guest explodes");
    }
}

#[test]
fn the_value_is_dropped_once_and_with_the_last_arc() {
    let drops = Cell::new(0);
    let first = Arc::new(Guest::new(&drops));
    let second = first.clone();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(Arc::strong_count(&first), 2);
    drop(first);
    assert_eq!(drops.get(), 0);
    drop(second);
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_weak_keeps_no_value_and_upgrades_only_while_it_lives() {
    let drops = Cell::new(0);
    let strong = Arc::new(Guest::new(&drops));
    let weak = Arc::downgrade(&strong);
    assert_eq!((Arc::weak_count(&strong), weak.strong_count(), weak.weak_count()), (1, 1, 1));
    let upgraded = weak.upgrade().expect("the value lives");
    assert!(Arc::ptr_eq(&strong, &upgraded));
    assert_eq!(weak.strong_count(), 2);
    drop(strong);
    assert!(!weak.is_dead());
    drop(upgraded);
    assert_eq!(drops.get(), 1);
    for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
        assert!(weak.upgrade().is_none());
    }
    assert!(weak.is_dead());
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
    let also_dead = weak.clone();
    assert!(also_dead.ptr_eq(&weak) && also_dead.upgrade().is_none());
}

#[test]
fn a_weak_to_nothing_is_dead_and_equals_only_its_like() {
    const NOTHING: Weak<u64> = Weak::new();
    let default = Weak::default();
    assert!(NOTHING.upgrade().is_none() && NOTHING.is_dead());
    assert_eq!((NOTHING.strong_count(), NOTHING.weak_count()), (0, 0));
    assert!(NOTHING.ptr_eq(&default) && NOTHING.clone().ptr_eq(&default));
    assert!(!NOTHING.ptr_eq(&Arc::downgrade(&Arc::new(1))));
    // SAFETY: from `into_raw`, taken back once.
    let back = unsafe { Weak::from_raw(default.into_raw()) };
    assert!(back.ptr_eq(&NOTHING));
    assert_eq!(format!("{back:?}"), "(Weak)");
}

#[test]
fn pointers_are_as_large_as_raw_ones_and_have_a_niche() {
    fn sizes<T: ?Sized>() {
        assert_eq!(size_of::<Arc<T>>(), size_of::<*const T>());
        assert_eq!(size_of::<Option<Arc<T>>>(), size_of::<*const T>());
        assert_eq!(size_of::<Weak<T>>(), size_of::<*const T>());
        assert_eq!(size_of::<Option<Weak<T>>>(), size_of::<*const T>());
    }
    sizes::<u8>();
    sizes::<()>();
    sizes::<str>();
    sizes::<[u64]>();
    sizes::<dyn Any>();
}

#[test]
fn zero_sized_and_over_aligned_values_lie_where_their_alignment_wants_them() {
    #[derive(Debug, Clone, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);
    #[derive(Debug, Clone, PartialEq)]
    #[repr(align(64))]
    struct Nothing;

    fn check<T: Clone + PartialEq + std::fmt::Debug + 'static>(value: T) {
        let mut arc = Arc::new(value.clone());
        let weak = Arc::downgrade(&arc);
        let pointer = Arc::as_ptr(&arc);
        assert!(pointer.is_aligned());
        assert_eq!(weak.as_ptr(), pointer);
        // SAFETY: both from `into_raw`, each taken back once.
        let back = unsafe { Arc::from_raw(Arc::into_raw(arc.clone())) };
        // SAFETY: as above.
        let weak_back = unsafe { Weak::from_raw(weak.clone().into_raw()) };
        assert!(Arc::ptr_eq(&arc, &back) && weak.ptr_eq(&weak_back));
        let other = unsize!(back => dyn Any);
        assert!(other.is::<T>() && std::ptr::addr_eq(Arc::as_ptr(&other), pointer));
        drop(other);
        *Arc::make_mut(&mut arc) = value.clone(); // moves away from the Weaks
        assert!(weak.is_dead() && Arc::as_ptr(&arc).is_aligned());
        let boxed: Arc<T> = Arc::from(Box::new(value.clone()));
        assert!(Arc::as_ptr(&boxed).is_aligned());
        assert_eq!(Arc::try_unwrap(boxed), Ok(value.clone()));
        let slice: Arc<[T]> = Arc::from(vec![value.clone(), value]);
        assert!(slice.as_ptr().is_aligned());
        assert_eq!(slice[0], slice[1]);
    }
    check(());
    check([0_u64; 0]);
    check(7_u8);
    check(7_u128);
    check(Nothing);
    check(Page(7));
}

#[test]
fn get_mut_fails_with_another_arc_or_a_weak() {
    let mut arc = Arc::new(1);
    *Arc::get_mut(&mut arc).unwrap() = 2;
    let other = arc.clone();
    assert!(Arc::get_mut(&mut arc).is_none());
    drop(other);
    let weak = Arc::downgrade(&arc);
    assert!(Arc::get_mut(&mut arc).is_none());
    let another = weak.clone();
    drop(weak);
    assert!(Arc::get_mut(&mut arc).is_none());
    drop(another);
    *Arc::get_mut(&mut arc).unwrap() += 1;
    assert_eq!(*arc, 3);
}

#[test]
fn make_mut_writes_in_place_moves_or_clones() {
    let mut arc = Arc::new(String::from("a"));
    let place = Arc::as_ptr(&arc);
    Arc::make_mut(&mut arc).push('b');
    assert_eq!(Arc::as_ptr(&arc), place);

    let shared = arc.clone();
    Arc::make_mut(&mut arc).push('c');
    assert_eq!((&**shared, &**arc), ("ab", "abc"));
    assert_eq!((Arc::strong_count(&shared), Arc::strong_count(&arc)), (1, 1));

    let weak = Arc::downgrade(&arc);
    let text = arc.as_ptr();
    Arc::make_mut(&mut arc).push('d');
    assert!(weak.is_dead() && weak.upgrade().is_none());
    assert_eq!(arc.as_ptr(), text, "the string moved, it was not cloned");
    assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 0));
    assert_eq!(*arc, "abcd");
}

#[test]
fn make_mut_leaves_everything_as_it_was_if_the_clone_panics() {
    #[derive(Debug)]
    struct Unclonable(u32);
    impl Clone for Unclonable {
        fn clone(&self) -> Self {
            panic!("no")
        }
    }
    let mut arc = Arc::new(Unclonable(5));
    let other = arc.clone();
    assert!(panics(|| Arc::make_mut(&mut arc).0 = 6));
    assert!(Arc::ptr_eq(&arc, &other));
    assert_eq!((arc.0, Arc::strong_count(&arc)), (5, 2));
}

#[test]
fn try_unwrap_takes_the_value_of_an_only_arc_and_kills_its_weaks() {
    let drops = Cell::new(0);
    let arc = Arc::new(Guest::new(&drops));
    let (other, weak) = (arc.clone(), Arc::downgrade(&arc));
    let arc = Arc::try_unwrap(arc).err().expect("shared");
    drop(other);
    let guest = Arc::try_unwrap(arc).ok().expect("only");
    assert!(weak.is_dead());
    assert_eq!(drops.get(), 0);
    drop(guest);
    assert_eq!(drops.get(), 1);
}

#[test]
fn into_inner_gives_the_value_to_the_last() {
    let drops = Cell::new(0);
    let arc = Arc::new(Guest::new(&drops));
    let (other, weak) = (arc.clone(), Arc::downgrade(&arc));
    assert!(Arc::into_inner(arc).is_none());
    assert_eq!(weak.strong_count(), 1);
    let guest = Arc::into_inner(other).expect("the last");
    assert!(weak.upgrade().is_none());
    assert_eq!(drops.get(), 0);
    drop(guest);
    assert_eq!(drops.get(), 1);
}

#[test]
fn unwrap_or_clone_clones_only_what_is_shared() {
    let only = Arc::new(vec![1]);
    let place = only.as_ptr();
    let taken = Arc::unwrap_or_clone(only);
    assert_eq!(taken.as_ptr(), place);
    let shared = Arc::new(vec![1]);
    let other = shared.clone();
    let cloned = Arc::unwrap_or_clone(shared);
    assert_ne!(cloned.as_ptr(), other.as_ptr());
    assert_eq!(Arc::strong_count(&other), 1);
}

#[test]
fn raw_pointers_carry_references_over_borders() {
    let drops = Cell::new(0);
    let raw = Arc::into_raw(Arc::new(Guest::new(&drops)));
    // SAFETY: `raw` stands for a reference.
    unsafe { Arc::increment_strong_count(raw) };
    // SAFETY: one of the two references that it stands for now.
    let arc = unsafe { Arc::from_raw(raw) };
    assert_eq!((Arc::strong_count(&arc), Arc::as_ptr(&arc)), (2, raw));
    // SAFETY: the other one.
    unsafe { Arc::decrement_strong_count(raw) };
    assert_eq!(Arc::strong_count(&arc), 1);

    let raw = Arc::downgrade(&arc).into_raw();
    drop(arc);
    assert_eq!(drops.get(), 1);
    // SAFETY: from `into_raw`. The value is dead, the memory is there.
    let weak = unsafe { Weak::from_raw(raw) };
    assert!(weak.is_dead());
}

#[test]
fn a_weak_made_in_new_cyclic_upgrades_after_construction() {
    struct Node<'a> {
        me: Weak<Node<'a>>,
        _guest: Guest<'a>,
    }
    let drops = Cell::new(0);
    let mut outside = Weak::new();
    let node = Arc::new_cyclic(|me| {
        assert!(me.upgrade().is_none() && me.is_dead());
        assert_eq!((me.strong_count(), me.weak_count()), (0, 0));
        outside = me.clone();
        Node { me: me.clone(), _guest: Guest::new(&drops) }
    });
    assert_eq!((Arc::strong_count(&node), Arc::weak_count(&node)), (1, 2));
    assert!(Arc::ptr_eq(&outside.upgrade().unwrap(), &node.me.upgrade().unwrap()));
    drop(node);
    assert_eq!(drops.get(), 1);
    assert!(outside.is_dead());
}

#[test]
fn a_panic_in_new_cyclic_leaves_weaks_that_never_upgrade() {
    let mut outside = Weak::<String>::new();
    assert!(panics(|| {
        drop(Arc::new_cyclic(|me| {
            outside = me.clone();
            panic!("no value today")
        }));
    }));
    assert!(outside.is_dead() && outside.upgrade().is_none());
    assert_eq!(outside.weak_count(), 0);
}

#[test]
fn a_destructor_may_use_weaks_to_its_own_value() {
    struct Reentrant {
        me: Weak<Reentrant>,
        survivors: Rc<RefCell<Vec<Weak<Reentrant>>>>,
    }
    impl Drop for Reentrant {
        fn drop(&mut self) {
            assert!(self.me.upgrade().is_none() && self.me.is_dead());
            self.survivors.borrow_mut().push(self.me.clone());
            drop(std::mem::take(&mut self.me)); // the last Weak but the survivor
        }
    }
    for keep in [true, false] {
        let survivors = Rc::new(RefCell::new(Vec::new()));
        let arc = Arc::new_cyclic(|me| Reentrant { me: me.clone(), survivors: survivors.clone() });
        drop(arc);
        assert_eq!(survivors.borrow().len(), 1);
        assert!(survivors.borrow()[0].upgrade().is_none());
        if !keep {
            survivors.borrow_mut().clear();
        }
    }
}

#[test]
fn a_destructor_that_drops_the_only_weak_leaves_the_memory_to_the_arc() {
    struct Lonely {
        me: Weak<Lonely>,
    }
    impl Drop for Lonely {
        fn drop(&mut self) {
            drop(std::mem::take(&mut self.me));
        }
    }
    drop(Arc::new_cyclic(|me| Lonely { me: me.clone() }));
}

#[test]
fn a_panicking_destructor_still_frees_the_memory_and_kills_the_weaks() {
    let drops = Cell::new(0);
    let arc = Arc::new(Guest { drops: &drops, bomb: true });
    let weak = Arc::downgrade(&arc);
    assert!(panics(|| drop(arc)));
    assert_eq!(drops.get(), 1);
    assert!(weak.is_dead() && weak.upgrade().is_none());
    // A leak checker sees the rest.
    assert!(panics(|| drop(Arc::new(Guest { drops: &drops, bomb: true }))));
    assert_eq!(drops.get(), 2);
}

#[test]
fn a_panicking_destructor_of_the_old_value_leaves_make_mut_with_the_new_one() {
    #[derive(Default)]
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "bomb");
        }
    }
    let mut arc = Arc::new(Bomb(true));
    assert!(panics(|| arc = Arc::default()));
    assert!(!arc.0);
}

#[test]
fn downcast_gives_the_concrete_type_or_the_arc_back() {
    let any = unsize!(Arc::new(String::from("text")) => dyn Any + Send + Sync);
    let other = any.clone();
    let any = any.downcast::<u32>().expect_err("not a number");
    let text = any.downcast::<String>().expect("a string");
    assert_eq!((&**text, Arc::strong_count(&text)), ("text", 2));
    drop(text);
    assert_eq!(other.downcast_ref::<String>().unwrap(), "text");
}

#[test]
fn uninitialised_memory_becomes_a_value() {
    let mut arc = Arc::<[String]>::new_uninit_slice(2);
    for place in Arc::get_mut(&mut arc).unwrap() {
        place.write("x".into());
    }
    // SAFETY: written.
    let arc = unsafe { arc.assume_init() };
    assert_eq!(arc.concat(), "xx");
    // SAFETY: zero is a number.
    let zero = unsafe { Arc::<u64>::new_zeroed().assume_init() };
    // SAFETY: as above.
    let zeros = unsafe { Arc::<[u16]>::new_zeroed_slice(3).assume_init() };
    assert_eq!((*zero, &*zeros), (0, &[0, 0, 0][..]));
    assert_eq!(Arc::strong_count(&zeros), 1);
    drop(Arc::<String>::new_uninit());
}

#[test]
fn arcs_compare_hash_and_print_as_their_values() {
    let (one, also_one, two) = (Arc::new(1), Arc::new(1), Arc::new(2));
    assert!(one == also_one && one != two && one < two && two >= also_one);
    assert_eq!(one.cmp(&two), 1.cmp(&2));
    assert_eq!(Arc::new(f64::NAN).partial_cmp(&Arc::new(1.0)), None);
    let nan = Arc::new(f64::NAN);
    assert!(nan != nan.clone(), "as the values, although it is the same one");
    assert_eq!(format!("{one} {two:?} {:>4}", Arc::new("x")), "1 2    x");
    assert_eq!(format!("{one:p}"), format!("{:p}", Arc::as_ptr(&one)));
    assert_eq!(HashSet::from([one.clone(), also_one.clone(), two.clone()]).len(), 2);
    assert_eq!(BTreeSet::from([two, one, also_one]).first().map(|first| **first), Some(1));

    let mut map: HashMap<Arc<str>, u32> = HashMap::new();
    map.insert("key".into(), 1);
    assert_eq!(map.get("key"), Some(&1));
}

#[test]
fn a_pinned_arc_is_unpin_and_derefs() {
    fn unpin<T: Unpin>(_: &T) {}
    let pinned = Arc::pin(std::marker::PhantomPinned);
    unpin(&pinned);
    let _value: &std::marker::PhantomPinned = &pinned;
    assert_eq!(*std::pin::Pin::<Arc<str>>::default(), *"");
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn a_saturated_value_is_never_dropped_and_never_exclusive() {
    static KEPT: std::sync::OnceLock<Arc<u64>> = std::sync::OnceLock::new();
    fn quiet(_: &tenure::fault::Fault) {}
    tenure::process::set_fault_hook(Some(quiet));

    let mut arc = Arc::new(5_u64);
    let weak = Arc::downgrade(&arc);
    let strong =
        Arc::as_ptr(&arc).wrapping_byte_sub(16).cast::<tenure::count::generic::TicketRef>();
    // SAFETY: the counts lie in the 16 bytes before the value, the strong one first. Stands for 2^31 forgotten clones.
    let strong = unsafe { &*strong };
    let many = std::num::NonZeroU16::MAX;
    for _ in 0..=(1 << 31) / u32::from(many.get()) {
        assert!(strong.get_many(many).is_acquired());
    }
    assert!(Arc::strong_count(&arc) > 1 << 31);
    drop(arc.clone());
    drop(weak.upgrade().expect("saturated is not dead"));
    drop(weak);
    assert!(Arc::get_mut(&mut arc).is_none());
    let arc = Arc::try_unwrap(arc).expect_err("others may hold it");
    drop(arc.clone());
    assert!(Arc::into_inner(arc.clone()).is_none());
    assert_eq!(*arc, 5);
    let _ = KEPT.set(arc); // for leak checkers
}
