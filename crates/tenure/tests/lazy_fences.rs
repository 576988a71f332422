//! Lazy references where the system has no `membarrier`: with full fences on both sides.
//!
//! Each test is in a child, which installs a filter before the library asks for the call: the kernel then says that
//! there is none (`ENOSYS`), as an old kernel does and some containers do.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    feature = "std",
    not(miri)
))]

#[macro_use]
#[path = "lazy/support.rs"]
mod support;
#[path = "support/sandboxes.rs"]
mod sandboxes;

use sandboxes::{NO_SUCH_CALL, membarrier, passes_in_child, refuse};
use std::sync::Arc;
use std::thread;
use support::{Kind, Token, Worker};
use tenure::lazy::{Cached, Counted, Domain, Mask, Shootdown, Verified};
use tenure::memory::{Memory, Native, Ordering};

/// Runs the test of that name in a process that has no membarrier.
fn without_membarrier(name: &str, test: impl FnOnce()) {
    passes_in_child(name, || {
        refuse(&[libc::SYS_membarrier], NO_SUCH_CALL);
        let refused = Err(Some(libc::ENOSYS));
        assert_eq!(membarrier(libc::MEMBARRIER_CMD_QUERY), refused, "the filter does nothing");
        test();
        assert!(tenure::use_full_fences(), "a barrier relies on membarrier");
    });
}

type Flag = <Native as Memory>::AtomicU32;

fn race<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<Token, S>::new_in());
    let stop = Arc::new(Flag::new(0));
    let shared = domain.context(token.clone());
    let threads = Vec::from_iter((0..2).map(|_| {
        let (domain, stop, shared) = (domain.clone(), Arc::clone(&stop), shared.clone());
        let token = token.clone();
        thread::spawn(move || {
            let mut worker = Worker::new(&domain);
            let mut turns = 0_u32;
            // Relaxed: only a flag.
            while stop.load(Ordering::Relaxed) == 0 || turns < 1_000 {
                turns += 1;
                worker.enter(&shared);
                let context = domain.context(token.clone());
                worker.enter(&context);
                if turns % 2 == 0 {
                    worker.leave();
                }
                drop(context);
                worker.value().inspect(|value| value.check());
                if worker.lazy() {
                    worker.value().unwrap().check();
                }
            }
        })
    }));
    let mut locals = [(); 3].map(|()| domain.register());
    for turn in 0..3_000 {
        let context = domain.context(token.clone());
        for local in &mut locals[..turn % 3 + 1] {
            drop(local.enter(&context));
        }
        drop(context);
        locals[0].enter(&shared).check();
    }
    // Relaxed: only a flag.
    stop.store(1, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop((locals, shared));
    assert_eq!(token.objects(), 0);
    assert_eq!(domain.statistics().barriers > 0, !S::KEEPS);
}

#[test]
fn objects_end_under_workers_without_membarrier() {
    without_membarrier("objects_end_under_workers_without_membarrier", || {
        race::<Shootdown>();
        race::<Verified>();
        race::<Counted>();
        race::<Mask>();
    });
}

#[test]
fn values_are_read_and_stored_without_membarrier() {
    without_membarrier("values_are_read_and_stored_without_membarrier", || {
        let token = Token::new();
        let cached = Cached::new((0, token.clone()));
        let threads = Vec::from_iter((0..3).map(|_| {
            let cached = cached.clone();
            thread::spawn(move || {
                let (mut reader, mut seen) = (cached.reader(), 0);
                for turn in 0..5_000 {
                    for number in [reader.read().0, cached.read().0] {
                        assert!(number >= seen, "{number} after {seen}");
                        seen = number;
                    }
                    if turn % 2 == 0 {
                        cached.update(|(number, token)| {
                            token.check();
                            (number + 1, token.clone())
                        });
                    }
                }
            })
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(cached.read().0, 7_500);
        drop(cached);
        assert_eq!(token.objects(), 0);
    });
}
