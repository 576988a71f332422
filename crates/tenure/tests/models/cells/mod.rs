//! A reference count with a cell for each thread, [`ThreadRef`], killed while its holders come and go: one of them, or
//! the killer, is the last, and destroys the value after all looks at it.
//!
//! Stores of cells race with the killer's compare-exchanges, so the models run on [`PointersInOrder`], where only 32-bit
//! words are late, and on [`InOrder`].

pub(crate) mod orderings;
pub(crate) mod sum;

use super::clocks::judge;
use super::memory::{
    InOrder, Loom, PointersInOrder, clear_number, fenced, heavy_barriers, set_number, unfenced,
};
use super::quarantine;
use super::stage::{ALL, Failure, Heap, JoinHandle, Value, fails, passes, spawn};
use tenure::cells::{Table, ThreadRef};
use tenure::count::GetResult;
use tenure::memory::{Atomic, Memory, Ordering, Threads};

/// What a model needs of counts, shipping or a twin's.
pub(crate) trait Counts: 'static {
    type Memory: Memory;
    type Count: Copy + 'static;
    fn none() -> Self;
    fn count(&self) -> Self::Count;
    fn get(&self, count: Self::Count);
    fn is_got(&self, count: Self::Count) -> bool;
    /// Whether it was the last.
    fn put(&self, count: Self::Count) -> bool;
    fn kill(&self, count: Self::Count) -> bool;
    /// Whether the other one has left.
    fn leave(&self, count: Self::Count) -> bool;
    fn retire(&self, count: Self::Count);
}

// SAFETY of all: models give back what they have, and retire a count after its last put.
impl<const I: bool, const S: bool> Counts for Table<Loom<I, S>> {
    type Memory = Loom<I, S>;
    type Count = ThreadRef<Loom<I, S>>;
    fn none() -> Self {
        Self::new_in()
    }
    fn count(&self) -> Self::Count {
        ThreadRef::new_in(self)
    }
    fn get(&self, count: Self::Count) {
        // SAFETY: see above.
        unsafe { count.get(self) };
    }
    fn is_got(&self, count: Self::Count) -> bool {
        // SAFETY: see above.
        unsafe { count.try_get(self) == GetResult::Acquired }
    }
    fn put(&self, count: Self::Count) -> bool {
        // SAFETY: see above.
        unsafe { count.put(self).is_last() }
    }
    fn kill(&self, count: Self::Count) -> bool {
        // SAFETY: see above.
        unsafe { count.kill(self).is_last() }
    }
    fn leave(&self, count: Self::Count) -> bool {
        // SAFETY: see above.
        unsafe { count.leave() }
    }
    fn retire(&self, count: Self::Count) {
        // SAFETY: see above.
        unsafe { count.retire(self) };
    }
}

/// A counted value.
pub(crate) struct Object<C: Counts> {
    table: Heap<C>,
    count: C::Count,
    value: Heap<Value>,
}

impl<C: Counts> Clone for Object<C> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), count: self.count, value: self.value.clone() }
    }
}

impl<C: Counts> Object<C> {
    fn new(table: &Heap<C>) -> Self {
        Self { table: table.clone(), count: table.count(), value: Heap::new(Value::new(1)) }
    }

    fn get(&self) {
        self.value.look();
        self.table.get(self.count);
    }

    /// Looks at the value once more. Whether it was the last.
    fn put(&self) -> bool {
        self.value.look();
        let is_last = self.table.put(self.count);
        if is_last {
            self.end();
        }
        is_last
    }

    fn kill(&self) {
        if self.table.kill(self.count) {
            self.end();
        }
    }

    fn end(&self) {
        self.value.destroy();
        self.table.retire(self.count);
    }

    fn assert_gone(&self) {
        assert!(self.value.is_destroyed(), "the value leaks");
    }
}

fn table<C: Counts>() -> Heap<C> {
    judge::<C::Memory>();
    set_number(0);
    quarantine::keep();
    Heap::new(C::none())
}

fn object<C: Counts>() -> Object<C> {
    Object::new(&table())
}

fn worker<C: Counts>(
    number: usize,
    object: &Object<C>,
    act: impl FnOnce(Object<C>) + 'static,
) -> JoinHandle<()> {
    let object = object.clone();
    spawn(move || {
        set_number(number);
        act(object);
    })
}

fn end<C: Counts>(object: &Object<C>, others: impl IntoIterator<Item = JoinHandle<()>>) {
    others.into_iter().for_each(|other| other.join().unwrap());
    object.assert_gone();
    object.table.free();
}

/// A reference that one thread took and another puts.
pub(crate) fn put_elsewhere_under_a_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    let other = worker(1, &object, |object| _ = object.put());
    object.kill();
    end(&object, [other]);
}

/// By a thread whose cell is not empty.
pub(crate) fn put_here_under_a_kill_elsewhere<C: Counts>() {
    let object = object::<C>();
    object.get();
    let killer = worker(1, &object, |object| object.kill());
    object.put();
    end(&object, [killer]);
}

/// As above, by a thread whose light barrier does nothing.
fn put_here_unfenced_under_a_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    let killer = worker(1, &object, |object| object.kill());
    unfenced(|| object.put());
    end(&object, [killer]);
}

/// The thread's cell counts nothing after the put.
pub(crate) fn put_here_under_a_kill_by_a_holder<C: Counts>() {
    let object = object::<C>();
    object.get();
    let killer = worker(1, &object, |object| {
        object.get();
        object.kill();
        object.put();
    });
    object.put();
    end(&object, [killer]);
}

/// What the killer needs no barrier for: it knows that the put is over, and by its cell alone what came before.
pub(crate) fn put_before_a_kill_elsewhere<C: Counts>() {
    let object = object::<C>();
    object.get();
    let is_put = Heap::new(<C::Memory as Memory>::AtomicU32::new(0));
    let killer = {
        let is_put = is_put.clone();
        worker(1, &object, move |object| {
            if is_put.load(Ordering::Relaxed) == 1 {
                object.kill();
            }
        })
    };
    unfenced(|| object.put());
    is_put.store(1, Ordering::Relaxed);
    killer.join().unwrap();
    object.kill();
    end(&object, []);
}

/// The thread has counted before, so its cell is not empty.
pub(crate) fn cloned_and_put_under_a_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    let other = worker(1, &object, |object| {
        object.get();
        object.put();
        object.put();
    });
    object.kill();
    end(&object, [other]);
}

pub(crate) fn two_put_under_a_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    object.get();
    let others = [1, 2].map(|number| worker(number, &object, |object| _ = object.put()));
    object.kill();
    end(&object, others);
}

/// The killer has a reference too, and is the last or not.
pub(crate) fn put_by_the_killer_and_another<C: Counts>() {
    let object = object::<C>();
    object.get();
    object.get();
    let other = worker(1, &object, |object| _ = object.put());
    object.kill();
    object.put();
    end(&object, [other]);
}

pub(crate) fn put_without_a_number_under_a_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    let other = worker(1, &object, |object| {
        object.get();
        clear_number();
        object.put();
        object.put();
    });
    object.kill();
    end(&object, [other]);
}

/// A thread gives its number up, and puts while the next thread of that number does.
pub(crate) fn put_after_the_number_was_handed_over<C: Counts>() {
    type Flag<C> = <<C as Counts>::Memory as Memory>::AtomicU32;
    let object = object::<C>();
    object.get();
    object.get();
    let is_given_up = Heap::new(Flag::<C>::new(0));
    let ending = {
        let is_given_up = is_given_up.clone();
        worker(1, &object, move |object| {
            object.get();
            clear_number();
            is_given_up.store(1, Ordering::Release);
            object.put();
            object.put();
        })
    };
    let next = {
        let is_given_up = is_given_up.clone();
        worker(2, &object, move |object| {
            if is_given_up.load(Ordering::Acquire) == 1 {
                set_number(1);
            }
            object.put();
        })
    };
    ending.join().unwrap();
    next.join().unwrap();
    object.kill();
    end(&object, []);
}

pub(crate) fn tried_under_a_kill<C: Counts>() {
    tried::<C>(true);
}

fn tried<C: Counts>(has_a_number: bool) {
    let object = object::<C>();
    // Retired when no thread tries any more.
    let is_last = |object: &Object<C>| {
        object.value.look();
        object.table.put(object.count)
    };
    let lasts = Heap::new(<C::Memory as Memory>::AtomicU32::new(0));
    let other = {
        let lasts = lasts.clone();
        worker(1, &object, move |object| {
            if !has_a_number {
                clear_number();
            }
            for _ in 0..2 {
                if object.table.is_got(object.count) && is_last(&object) {
                    object.value.destroy();
                    lasts.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    };
    if object.table.kill(object.count) {
        object.value.destroy();
        lasts.fetch_add(1, Ordering::Relaxed);
    }
    assert!(!object.table.is_got(object.count), "got after the kill");
    other.join().unwrap();
    assert_eq!(lasts.load(Ordering::Relaxed), 1, "one is the last");
    object.table.retire(object.count);
    end(&object, []);
}

/// The second kill returns when the first may not have looked at the cells.
pub(crate) fn tried_after_a_second_kill<C: Counts>() {
    let object = object::<C>();
    object.get();
    object.put();
    let other = worker(1, &object, |object| _ = object.table.kill(object.count));
    object.table.kill(object.count);
    assert!(!object.table.is_got(object.count), "got after the kill");
    other.join().unwrap();
    object.end();
    end(&object, []);
}

/// The owner looks at the object's head, and leaves it, while the last reference is put.
pub(crate) fn left_while_the_last_puts<C: Counts>() {
    let object = object::<C>();
    let head = Heap::new(Value::new(1));
    object.get();
    let leave = |object: &Object<C>, head: &Heap<Value>| {
        if object.table.leave(object.count) {
            object.table.retire(object.count);
            head.destroy();
        }
    };
    let put = {
        let head = head.clone();
        move |object: Object<C>| {
            head.look();
            if object.table.put(object.count) {
                object.value.destroy();
                leave(&object, &head);
            }
        }
    };
    let other = worker(1, &object, put);
    if object.table.kill(object.count) {
        object.value.destroy();
        leave(&object, &head);
    }
    assert!(!object.table.is_got(object.count), "got after the kill");
    head.look();
    leave(&object, &head);
    other.join().unwrap();
    assert!(head.is_destroyed(), "the head leaks");
    end(&object, []);
}

/// Both give the same initial reference up.
fn killed_by_two<C: Counts>() {
    let object = object::<C>();
    object.get();
    let lasts = Heap::new(<C::Memory as Memory>::AtomicU32::new(0));
    let other = {
        let lasts = lasts.clone();
        worker(1, &object, move |object| {
            lasts.fetch_add(u32::from(object.table.kill(object.count)), Ordering::Relaxed);
        })
    };
    let last = [object.table.kill(object.count), object.table.put(object.count)];
    other.join().unwrap();
    let lasts = lasts.load(Ordering::Relaxed) as usize + last.iter().filter(|&&last| last).count();
    assert_eq!(lasts, 1, "one is the last");
    object.end();
    end(&object, []);
}

/// The next count has the place of one that was killed under its holder, which may still be in its put.
pub(crate) fn put_while_the_place_has_the_next_count<C: Counts>() {
    let first = object::<C>();
    first.get();
    let other = worker(1, &first, |object| _ = object.put());
    if first.table.kill(first.count) {
        first.end();
        let second = Object::new(&first.table);
        second.get();
        second.kill();
        assert!(!second.value.is_destroyed(), "there is a reference");
        second.put();
        second.assert_gone();
    }
    end(&first, [other]);
}

/// A thread counts on, in the place of a count that was killed under it.
pub(crate) fn counted_again_after_a_kill<C: Counts>() {
    let first = object::<C>();
    first.get();
    let other = worker(1, &first, |object| {
        object.get();
        object.put();
        if object.put() {
            let second = Object::new(&object.table);
            second.get();
            second.kill();
            assert!(!second.value.is_destroyed(), "there is a reference");
            second.put();
            second.assert_gone();
        }
    });
    first.kill();
    end(&first, [other]);
}

fn two_killed_at_once<M: Threads>()
where
    Table<M>: Counts<Memory = M, Count = ThreadRef<M>>,
{
    let table = table::<Table<M>>();
    let objects = [(); 2].map(|()| Object::new(&table));
    objects[0].get();
    let other = worker(1, &objects[0], |object| _ = object.put());
    let barriers = heavy_barriers();
    // SAFETY: none is retired before.
    let dead =
        unsafe { ThreadRef::kill_all(&table, objects.each_ref().into(), |object| object.count) };
    assert_eq!(heavy_barriers() - barriers, 1);
    // In their order.
    assert!((1..=2).contains(&dead.len()));
    objects[1].end();
    if dead.len() == 2 {
        objects[0].end();
    }
    objects[1].assert_gone();
    end(&objects[0], [other]);
}

type Late = Table<PointersInOrder>;
type Ordered = Table<InOrder>;

tests! {
    a_reference_is_put_elsewhere =>
        passes(ALL, put_elsewhere_under_a_kill::<Late>),
        passes(Some(4), put_elsewhere_under_a_kill::<Ordered>);
    a_reference_is_put_where_it_was_taken =>
        passes(ALL, put_here_under_a_kill_elsewhere::<Late>),
        passes(Some(4), put_here_under_a_kill_elsewhere::<Ordered>),
        passes(Some(3), put_here_under_a_kill_by_a_holder::<Late>),
        passes(Some(3), put_here_under_a_kill_by_a_holder::<Ordered>);
    a_reference_is_lost_that_is_put_without_a_barrier =>
        fails(Some(2), Failure::Claim("the value leaks"), put_here_unfenced_under_a_kill::<Late>);
    a_reference_is_put_where_barriers_are_fences =>
        passes(ALL, || fenced(put_elsewhere_under_a_kill::<Late>)),
        passes(ALL, || fenced(put_here_under_a_kill_elsewhere::<Late>)),
        passes(Some(4), || fenced(cloned_and_put_under_a_kill::<Late>)),
        passes(Some(3), || fenced(tried_under_a_kill::<Late>));
    a_reference_is_put_before_the_kill =>
        passes(ALL, put_before_a_kill_elsewhere::<Late>),
        passes(ALL, put_before_a_kill_elsewhere::<Ordered>);
    a_holder_clones_and_puts =>
        passes(Some(4), cloned_and_put_under_a_kill::<Late>),
        passes(Some(3), cloned_and_put_under_a_kill::<Ordered>);
    two_holders_put =>
        passes(Some(2), two_put_under_a_kill::<Late>),
        passes(Some(2), two_put_under_a_kill::<Ordered>);
    the_killer_puts_too =>
        passes(ALL, put_by_the_killer_and_another::<Late>),
        passes(Some(3), put_by_the_killer_and_another::<Ordered>);
    a_thread_without_a_number_puts =>
        passes(Some(3), put_without_a_number_under_a_kill::<Late>),
        passes(Some(3), put_without_a_number_under_a_kill::<Ordered>);
    a_number_is_handed_over =>
        passes(Some(2), put_after_the_number_was_handed_over::<Late>),
        passes(Some(2), put_after_the_number_was_handed_over::<Ordered>);
    a_get_is_tried =>
        passes(Some(3), tried_under_a_kill::<Late>),
        passes(Some(3), tried_under_a_kill::<Ordered>);
    a_thread_without_a_number_tries =>
        passes(Some(3), || tried::<Late>(false)),
        passes(Some(3), || tried::<Ordered>(false));
    a_get_is_tried_after_another_s_kill =>
        passes(Some(3), tried_after_a_second_kill::<Late>),
        passes(Some(3), tried_after_a_second_kill::<Ordered>);
    the_owner_leaves_while_the_last_puts =>
        passes(Some(3), left_while_the_last_puts::<Late>),
        passes(Some(3), left_while_the_last_puts::<Ordered>);
    two_kill_at_once =>
        passes(ALL, killed_by_two::<Late>),
        passes(ALL, killed_by_two::<Ordered>);
    the_place_goes_to_the_next_count =>
        passes(ALL, put_while_the_place_has_the_next_count::<Late>),
        passes(Some(4), put_while_the_place_has_the_next_count::<Ordered>);
    a_thread_counts_again_in_the_same_place =>
        passes(Some(3), counted_again_after_a_kill::<Late>),
        passes(Some(3), counted_again_after_a_kill::<Ordered>);
    two_counts_are_killed_with_one_barrier =>
        passes(Some(3), two_killed_at_once::<PointersInOrder>),
        passes(Some(3), two_killed_at_once::<InOrder>);
}
