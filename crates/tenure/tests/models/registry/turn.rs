//! The turn to create, which a thread or task waits for while another one ends it.

use super::super::memory::{Loom, set_number};
use super::super::stage::{Preemptions, Value, passes, spawn};
use super::{Act, KEY, ObjectRef, Sleeper, Stage, acquire};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tenure::count::generic::TicketRef;
use tenure::registry::generic::Machine;

type C = TicketRef<Loom>;
type Task<T> = Pin<Box<dyn Future<Output = T>>>;

/// Acquires in a task, whose `create` waits once.
fn task(stage: &Arc<Stage<C>>) -> Task<ObjectRef<C>> {
    let stage = stage.clone();
    let mut is_pending = false;
    let wait_once = std::future::poll_fn(move |_| {
        is_pending = !is_pending;
        if is_pending { Poll::Pending } else { Poll::Ready(()) }
    });
    Box::pin(async move {
        let create = async {
            wait_once.await;
            stage.witness.create()
        };
        stage.objects.acquire_async(&KEY, create).await
    })
}

fn poll<T>(task: &mut Task<T>) -> Poll<T> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

pub(super) fn acquire_in_a_task(stage: &Stage<C>) {
    let create = async { stage.witness.create() };
    let found = Loom::block_on(Box::pin(stage.objects.acquire_async(&KEY, create)));
    stage.use_it(found);
}

/// Another one waits after it.
fn wait_and_give_up(stage: &Stage<C>) {
    let create = async { stage.witness.create() };
    let mut task = Box::pin(stage.objects.acquire_async(&KEY, create));
    if let Poll::Ready(found) = task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        stage.use_it(found);
    }
    drop(task);
    acquire_in_a_task(stage);
}

#[derive(Clone, Copy)]
pub(super) enum End {
    Object,
    Dropped,
}

/// A task creates. Its end ‖ `other`.
pub(super) fn the_end_of_a_turn_under(end: End, other: Act<C>) {
    let stage = Arc::new(Stage::<C>::new());
    let mut creating = task(&stage);
    assert!(poll(&mut creating).is_pending());
    let thread = spawn({
        let stage = stage.clone();
        move || {
            set_number(1);
            other(&stage);
        }
    });
    match end {
        Object => match poll(&mut creating) {
            Poll::Ready(object) => stage.use_it(object),
            Poll::Pending => unreachable!("it waits once"),
        },
        Dropped => {}
    }
    drop(creating);
    thread.join().unwrap();
    let Stage { objects, witness } = Arc::into_inner(stage).expect("all threads have ended");
    assert!(objects.is_empty() && objects.get(&KEY).is_none());
    drop(objects);
    witness.assert_gone(&(1..=2));
}

/// A task that has waited goes on when the other one is dropped, and sees all that it did.
pub(super) fn what_a_dropped_create_did() {
    let stage = Arc::new(Stage::<C>::new());
    let did = Rc::new(Value::new(1));
    let mut creating = task(&stage);
    assert!(poll(&mut creating).is_pending());
    let mut waiting: Task<ObjectRef<C>> = Box::pin({
        let (stage, did) = (stage.clone(), did.clone());
        async move {
            let create = async {
                did.write(did.look() + 1);
                stage.witness.create()
            };
            stage.objects.acquire_async(&KEY, create).await
        }
    });
    assert!(poll(&mut waiting).is_pending());
    let thread = spawn({
        let stage = stage.clone();
        move || {
            set_number(1);
            stage.use_it(Loom::block_on(waiting));
        }
    });
    did.write(2);
    drop(creating);
    thread.join().unwrap();
    assert_eq!(did.look(), 3);
}

/// Two tasks have waited for one that was dropped ‖ each other: one at a time creates.
pub(crate) fn two_go_on() {
    let stage = Arc::new(Stage::<C>::new());
    let mut creating = task(&stage);
    assert!(poll(&mut creating).is_pending());
    let [mine, theirs] = [(); 2].map(|()| {
        let stage = stage.clone();
        let mut waiting: Task<ObjectRef<C>> = Box::pin(async move {
            let create = async { stage.witness.create() };
            stage.objects.acquire_async(&KEY, create).await
        });
        assert!(poll(&mut waiting).is_pending());
        waiting
    });
    drop(creating);
    let thread = spawn({
        let stage = stage.clone();
        move || {
            set_number(1);
            stage.use_it(Loom::block_on(theirs));
        }
    });
    stage.use_it(Loom::block_on(mine));
    thread.join().unwrap();
    let Stage { objects, witness } = Arc::into_inner(stage).expect("all threads have ended");
    drop(objects);
    witness.assert_gone(&(1..=2));
}

/// The object is there ‖ a task waits for it. Both keep it, and no waker stays in its entry.
fn no_waker_stays() {
    let stage = Arc::new(Stage::<C>::new());
    let mut creating = task(&stage);
    assert!(poll(&mut creating).is_pending());
    let thread = spawn({
        let mut waiting = task(&stage);
        move || {
            set_number(1);
            let sleeper = Arc::new(Sleeper::default());
            let waker = Waker::from(sleeper.clone());
            loop {
                match waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
                    Poll::Ready(object) => return (object, sleeper),
                    Poll::Pending => sleeper.sleep(),
                }
            }
        }
    });
    let Poll::Ready(mine) = poll(&mut creating) else { unreachable!("it waits once") };
    let (theirs, sleeper) = thread.join().unwrap();
    assert_eq!(Arc::strong_count(&sleeper), 1, "a waker stays");
    stage.use_it(mine);
    stage.use_it(theirs);
}

use End::{Dropped, Object};

const TWO: Preemptions = Some(2);

tests! {
    a_thread_that_waits_for_a_task_has_its_object_or_creates_another =>
        passes(TWO, || the_end_of_a_turn_under(Object, acquire)),
        passes(TWO, || the_end_of_a_turn_under(Dropped, acquire));
    a_task_that_waits_for_a_task_has_its_object_or_creates_another =>
        passes(TWO, || the_end_of_a_turn_under(Object, acquire_in_a_task)),
        passes(TWO, || the_end_of_a_turn_under(Dropped, acquire_in_a_task));
    a_task_that_gives_up_waiting_is_not_the_only_one_to_be_woken =>
        passes(Some(1), || the_end_of_a_turn_under(Dropped, wait_and_give_up));
    one_of_two_tasks_that_waited_creates => passes(TWO, two_go_on);
    no_waker_stays_with_an_object => passes(TWO, no_waker_stays);
    what_a_dropped_create_did_is_seen_by_the_next => passes(TWO, what_a_dropped_create_did);
}
