//! [`verify`]: a look at all slots after a shootdown, for tests.

use super::batch::Batch;
use super::slot::{Object, tagged};
use super::{DONATED, Shootdown};
use crate::fault::{FaultKind, report};
use crate::lazy::protocol::Core;
use crate::memory::{Ordering, Pointer, Threads};
use core::ptr::NonNull;

/// Looks at each slot once more: none may use a block of the batch without a reference.
///
/// If one does, that is reported, and the process is aborted.
pub(super) fn verify<T, M: Threads, const VERIFY: bool>(
    core: &Core<T, Shootdown<VERIFY>, M>,
    batch: &Batch<T, M, VERIFY>,
) {
    if let Some((block, number)) = used(core, batch) {
        /// Also if the hook panics.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                abort();
            }
        }
        let _abort = Abort;
        let address = block.as_ptr().addr();
        report(FaultKind::HeldAfterShootdown, "Shootdown", address, number.into());
    }
}

/// A block of the batch that a slot uses without a reference, and the slot's number.
fn used<T, M: Threads, const VERIFY: bool>(
    core: &Core<T, Shootdown<VERIFY>, M>,
    batch: &Batch<T, M, VERIFY>,
) -> Option<(NonNull<Object<T, M, VERIFY>>, u32)> {
    core.slots().find_map(|(number, slot)| {
        // Acquire, here and below: in this order.
        let uses = || slot.scheme.confirmed.load(Ordering::Acquire);
        let block = batch.find(uses())?;
        let held = slot.scheme.held.load(Ordering::Acquire);
        // The second look: an owner that has left may have given its reference back in between. It does not come back.
        let is_used = held != tagged(block.as_ptr(), DONATED) && uses() == block.as_ptr();
        is_used.then_some((block, number))
    })
}

/// What goes on would use freed memory.
fn abort() -> ! {
    #[cfg(feature = "std")]
    std::process::abort();
    #[cfg(not(feature = "std"))]
    {
        struct PanicAgain;
        impl Drop for PanicAgain {
            fn drop(&mut self) {
                panic!("a panic while a panic unwinds aborts");
            }
        }
        let _again = PanicAgain;
        panic!("a seat uses an object that has ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lazy::{Context, Domain, Seat};
    use crate::memory::Native;

    type Verified = Shootdown<true>;

    /// A seat that is the second of its domain, and a context.
    fn seated() -> (Domain<u8, Verified>, Seat<u8, Verified>, Context<u8, Verified>) {
        let domain = Domain::new_in();
        let _first = domain.seat();
        let (seat, context) = (domain.seat(), domain.context(1));
        (domain, seat, context)
    }

    /// What is found while `context` is the one that ends.
    fn found(domain: &Domain<u8, Verified>, context: &Context<u8, Verified>) -> Option<u32> {
        let mut batch = Batch::<u8, Native, true>::new();
        // SAFETY: nobody else has it in a batch.
        unsafe { batch.push(context.block()) };
        used(domain.core(), &batch).map(|(block, number)| {
            assert_eq!(block, context.block());
            number
        })
    }

    #[test]
    fn a_seat_that_uses_what_ends_without_a_reference_is_found() {
        let (domain, mut seat, context) = seated();
        assert_eq!(found(&domain, &context), None);
        let guard = seat.enter(&context);
        assert_eq!(found(&domain, &context), Some(1));
        assert_eq!(found(&domain, &domain.context(2)), None, "it uses another one");
        drop(guard);
        assert_eq!(found(&domain, &context), None, "it is idle");
        let guard = seat.lazy();
        assert_eq!(found(&domain, &context), Some(1));
        drop(guard);
        seat.clear();
        assert_eq!(found(&domain, &context), None);
    }

    #[test]
    fn a_seat_with_a_donated_reference_may_use_what_ends() {
        let (domain, mut seat, context) = seated();
        let words: *const _ = seat.slot();
        let guard = seat.enter(&context);
        // SAFETY: the seat's slot stays where it is.
        let held = &unsafe { &*words }.held;
        let block = held.load(Ordering::Relaxed);
        // Where light barriers are not free, the word that the seat stored has a tag.
        held.store(tagged(context.block().as_ptr(), DONATED), Ordering::Relaxed);
        assert_eq!(found(&domain, &context), None);
        held.store(block, Ordering::Relaxed);
        assert_eq!(found(&domain, &context), Some(1));
        drop(guard);
    }

    /// The slot has lost its block as if an ender had found it idle, which it is not.
    #[cfg(all(feature = "std", not(miri)))]
    #[test]
    fn a_process_in_which_a_seat_uses_what_has_ended_is_aborted() {
        const IN_CHILD: &str = "TENURE_TEST_OF_VERIFY";
        if std::env::var_os(IN_CHILD).is_some() {
            let (_domain, mut seat, context) = seated();
            let words: *const _ = seat.slot();
            let _guard = seat.enter(&context);
            // SAFETY: the seat's slot stays where it is.
            unsafe { &*words }.held.store(core::ptr::null_mut(), Ordering::Relaxed);
            drop(context);
            std::eprintln!("nobody has noticed");
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
        assert!(said.contains(": seat 1 still uses the object, seen in "), "{said}");
        assert!(said.contains(": the process is aborted before its memory is freed"), "{said}");
        assert!(!said.contains("nobody has noticed"), "{said}");
    }
}
