//! Independent simulations on all of the host's CPUs.

use std::convert::Infallible;
use std::panic;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use tenure_report::affinity;

/// Maps items in parallel. Results are in their order, so nothing depends on timing. A panic of `work` passes on.
pub(super) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let results = try_map(items, |item| Ok::<R, Infallible>(work(item)), |_| ());
    results.unwrap_or_else(|never| match never {})
}

/// [`map`] by fallible work. Calls `waiting` with each index, in order, when all items before it are done. Fails with
/// the first error in the items' order; what has not begun by then never does.
pub(super) fn try_map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<R, E> + Sync,
    mut waiting: impl FnMut(usize),
) -> Result<Vec<R>, E> {
    let count = items.len();
    let left = Mutex::new(Some(items.into_iter().enumerate()));
    let left = || left.lock().unwrap_or_else(PoisonError::into_inner);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let helpers: Vec<_> = (0..affinity::cpus().len().min(count))
            .map(|_| {
                let (sender, left, work) = (sender.clone(), &left, &work);
                scope.spawn(move || {
                    loop {
                        // The lock is released before the work begins.
                        let next = left().as_mut().and_then(Iterator::next);
                        let Some((index, item)) = next else { return };
                        // After a failure there is no receiver.
                        let _ = sender.send((index, work(item)));
                    }
                })
            })
            .collect();
        drop(sender);
        let mut early: Vec<Option<Result<R, E>>> = (0..count).map(|_| None).collect();
        let mut results = Vec::with_capacity(count);
        for index in 0..count {
            waiting(index);
            while early[index].is_none() {
                let Ok((index, result)) = receiver.recv() else { break };
                early[index] = Some(result);
            }
            match early[index].take() {
                Some(Ok(result)) => results.push(result),
                Some(Err(error)) => {
                    *left() = None;
                    return Err(error);
                }
                None => break,
            }
        }
        for helper in helpers {
            if let Err(panic) = helper.join() {
                panic::resume_unwind(panic);
            }
        }
        Ok(results)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_whoever_was_faster() {
        let naps = vec![30, 0, 20, 10];
        let slept = map(naps.clone(), |ms| {
            thread::sleep(std::time::Duration::from_millis(ms));
            ms
        });
        assert_eq!(slept, naps);
        assert!(map(Vec::<u8>::new(), |byte| byte).is_empty());
    }

    #[test]
    fn the_first_failure_in_order_is_told_and_nothing_after_it_is_waited_for() {
        let mut seen = Vec::new();
        let fail = |item: usize| {
            if item < 3 { Ok(item) } else { Err(item) }
        };
        assert_eq!(try_map((0..10_000).collect(), fail, |index| seen.push(index)), Err(3));
        assert_eq!(seen, [0, 1, 2, 3]);
        assert_eq!(try_map((0..3).collect(), fail, |_| ()), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn a_panic_comes_through() {
        let panicked = panic::catch_unwind(|| {
            map((0..8).collect(), |item: u8| assert_ne!(item, 5, "the work panicked"));
        });
        let panic = panicked.unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("the work panicked"));
    }
}
