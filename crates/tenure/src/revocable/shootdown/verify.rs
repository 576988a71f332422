//! A look at all slots after a shootdown, for tests.

use super::Revoking;
use super::retire::Batch;
use super::slot::{DONATED, tagged};
use crate::fault::{FaultKind, report};
use crate::memory::{Ordering, Pointer};
use crate::revocable::protocol::{Block, Inner};
use core::ptr::NonNull;

/// Aborts the process, after a report, if a slot uses a block of the batch without a reference.
pub(super) fn verify<T, S: Revoking>(inner: &Inner<T, S>, batch: &Batch<T, S>) {
    if let Some((block, number)) = used(inner, batch) {
        report_and_abort(block.as_ptr().addr(), number);
    }
}

/// `extern "C"`, so that a panic, of the hook or of this function, aborts too.
extern "C" fn report_and_abort(address: usize, number: u32) -> ! {
    report(FaultKind::HeldAfterShootdown, "Shootdown", address, number.into());
    #[cfg(feature = "std")]
    std::process::abort();
    #[cfg(not(feature = "std"))]
    panic!("a local handle uses an object that is about to be freed");
}

fn used<T, S: Revoking>(
    inner: &Inner<T, S>,
    batch: &Batch<T, S>,
) -> Option<(NonNull<Block<T, S>>, u32)> {
    inner.slots().find_map(|(number, slot)| {
        // Relaxed: the batch is settled, so an owner without a reference has passed on that it is done.
        let uses = || slot.confirmed.load(Ordering::Relaxed);
        let block = batch.find(uses())?;
        // Acquire: pairs with the Release in `transition_to_empty`. An owner that has given its
        // reference back was done with it before, and the second look sees that.
        let held = slot.held.load(Ordering::Acquire);
        let is_used = held != tagged(block.as_ptr(), DONATED) && uses() == block.as_ptr();
        is_used.then_some((block, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revocable::generic::{Domain, LocalHandle, Strong, Verified};

    /// The second local handle of a domain, and a strong handle.
    fn registered() -> (Domain<u8, Verified>, LocalHandle<u8, Verified>, Strong<u8, Verified>) {
        let domain = Domain::new_in();
        let _first = domain.register();
        let (local, strong) = (domain.register(), domain.strong(1));
        (domain, local, strong)
    }

    /// What is found while `strong` is being retired.
    fn found(domain: &Domain<u8, Verified>, strong: &Strong<u8, Verified>) -> Option<u32> {
        let mut batch = Batch::<u8, Verified>::new();
        // SAFETY: no other batch has it.
        unsafe { batch.push(strong.block()) };
        used(domain.inner(), &batch).map(|(block, number)| {
            assert_eq!(block, strong.block());
            number
        })
    }

    #[test]
    fn a_handle_that_uses_a_retired_object_without_a_reference_is_found() {
        let (domain, mut local, strong) = registered();
        assert_eq!(found(&domain, &strong), None);
        let guard = local.enter(&strong);
        assert_eq!(found(&domain, &strong), Some(1));
        assert_eq!(found(&domain, &domain.strong(2)), None, "it uses another one");
        drop(guard);
        assert_eq!(found(&domain, &strong), None, "it is idle");
        let guard = local.kept();
        assert_eq!(found(&domain, &strong), Some(1));
        drop(guard);
        local.clear();
        assert_eq!(found(&domain, &strong), None);
    }

    #[test]
    fn a_handle_with_a_donated_reference_may_use_a_retired_object() {
        let (domain, mut local, strong) = registered();
        let words: *const _ = local.state();
        let guard = local.enter(&strong);
        // SAFETY: slots stay where they are.
        let held = &unsafe { &*words }.held;
        let block = held.load(Ordering::Relaxed);
        // Where light barriers are not free, the word that the handle stored has a tag.
        held.store(tagged(strong.block().as_ptr(), DONATED), Ordering::Relaxed);
        assert_eq!(found(&domain, &strong), None);
        held.store(block, Ordering::Relaxed);
        assert_eq!(found(&domain, &strong), Some(1));
        drop(guard);
    }

    /// As if a reclaimer had found the slot idle.
    #[cfg(all(feature = "std", not(miri)))]
    #[test]
    fn a_process_whose_handle_uses_what_is_about_to_be_freed_is_aborted() {
        const IN_CHILD: &str = "TENURE_TEST_OF_VERIFY";
        if std::env::var_os(IN_CHILD).is_some() {
            let (_domain, mut local, strong) = registered();
            let words: *const _ = local.state();
            let _guard = local.enter(&strong);
            // SAFETY: slots stay where they are.
            unsafe { &*words }.held.store(core::ptr::null_mut(), Ordering::Relaxed);
            drop(strong);
            std::eprintln!("it was not noticed");
            std::process::exit(0);
        }
        let thread = std::thread::current();
        let name = thread.name().expect("libtest names its threads");
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(IN_CHILD, "1")
            .output()
            .unwrap();
        let said = std::string::String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(!child.status.success() && child.status.code().is_none_or(|code| code != 101));
        assert!(said.contains("tenure: Shootdown of 0x"), "{said}");
        assert!(said.contains(": local handle 1 still uses the object, seen in "), "{said}");
        assert!(said.contains(": the process is aborted before its memory is freed"), "{said}");
        assert!(!said.contains("it was not noticed"), "{said}");
    }
}
