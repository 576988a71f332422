//! Independent simulations on all of the host's CPUs, with results in the order of the requests.

use std::sync::Mutex;
use std::thread;

/// Maps every item, several at a time. The results are in the order of the items, so nothing depends
/// on who was faster.
///
/// # Panics
///
/// If `work` does.
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = thread::available_parallelism().map_or(1, usize::from).min(items.len()).max(1);
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let left = Mutex::new(items.into_iter().zip(results.iter_mut()));
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| {
                loop {
                    // Taken before the work begins, and given back before it does.
                    let next = left.lock().map(|mut left| left.next());
                    let Ok(Some((item, result))) = next else { return };
                    *result = Some(work(item));
                }
            });
        }
    });
    drop(left);
    results
        .into_iter()
        .map(|result| result.expect("the scope has ended, so all are done"))
        .collect()
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
}
