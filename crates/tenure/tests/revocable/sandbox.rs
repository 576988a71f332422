//! Pools, domains, `RcuCell` and `Registry` where a sandbox refuses `membarrier`: from the start, as an old kernel does and
//! some containers do, or when they are in use and threads rely on it.

use crate::filter::{NO_SUCH_CALL, has_membarrier, in_child, membarrier, passes_in_child, refuse};
use crate::support::Token;
use std::thread;
use tenure::memory::{Memory, Native, Ordering, use_full_fences};
use tenure::pool::SlotPool;
use tenure::registry::Registry;
use tenure::revocable::generic::{
    Domain, LocalHandle, RcuCell, Scheme, Shootdown, Strong, Verified,
};

const MEMBARRIER: libc::c_long = libc::SYS_membarrier;
/// What unmaps a page.
const UNMAP: libc::c_long = libc::SYS_munmap;
/// What goes to another CPU.
const VISIT: libc::c_long = libc::SYS_sched_setaffinity;

type Flag = <Native as Memory>::AtomicU32;

/// Everything that passes heavy barriers, in use.
struct Daemon<S: Scheme> {
    objects: Token,
    values: Token,
    pool: SlotPool<u64>,
    domain: Domain<Token, S>,
    local: LocalHandle<Token, S>,
    strong: Strong<Token, S>,
    cached: RcuCell<(u32, Token)>,
    registry: Registry<u32, Token>,
}

impl<S: Scheme> Daemon<S> {
    fn start() -> Self {
        let [objects, values] = [(); 2].map(|()| Token::new());
        let pool = SlotPool::builder(|| 7).build();
        drop(pool.acquire().unwrap());
        let domain = Domain::new_in();
        let (mut local, strong) = (domain.register(), domain.strong(objects.clone()));
        drop(local.enter(&strong));
        let cached = RcuCell::<_>::new_in((0, values.clone()));
        assert_eq!(cached.load().0, 0);
        let registry = Registry::new();
        drop(registry.acquire(&0, || objects.clone()));
        Self { objects, values, pool, domain, local, strong, cached, registry }
    }

    /// Does each thing that passes a heavy barrier, while other threads work.
    fn work(mut self) {
        const TURNS: u32 = 50;
        let stop = Flag::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                let (pool, domain, cached) = (&self.pool, &self.domain, &self.cached);
                let (registry, objects, stop) = (&self.registry, &self.objects, &stop);
                scope.spawn(move || {
                    let (mut local, mut reader, mut last) = (domain.register(), cached.reader(), 0);
                    // Relaxed: only a flag.
                    while stop.load(Ordering::Relaxed) == 0 {
                        // `None` when the pool is closed.
                        drop(pool.acquire());
                        let strong = domain.strong(objects.clone());
                        local.enter(&strong).check();
                        registry.acquire(&(last % 2), || objects.clone()).check();
                        let value = reader.load();
                        value.1.check();
                        assert!(value.0 >= last, "{} after {last}", value.0);
                        last = value.0;
                    }
                });
            }
            for turn in 1..=TURNS {
                drop(self.pool.acquire().unwrap());
                self.pool.trim();
                // The local handle has the object that ends.
                self.strong = self.domain.strong(self.objects.clone());
                self.local.enter(&self.strong).check();
                self.cached.store((turn, self.values.clone()));
                for key in 0..200 {
                    self.registry.acquire(&key, || self.objects.clone()).check();
                }
            }
            self.pool.close();
            assert!(self.pool.acquire().is_err());
            // Relaxed: only a flag.
            stop.store(1, Ordering::Relaxed);
        });
        assert!(self.pool.is_empty(), "slots are left");
        assert_eq!(self.cached.load().0, TURNS);
        assert!(self.domain.stats().barriers > 0, "nothing passed a barrier");
        drop((self.local, self.strong, self.domain, self.cached, self.registry));
        assert_eq!((self.objects.objects(), self.values.objects()), (0, 0), "objects are left");
    }
}

#[test]
fn everything_goes_on_where_there_is_no_membarrier() {
    passes_in_child("sandbox::everything_goes_on_where_there_is_no_membarrier", || {
        refuse(&[MEMBARRIER], NO_SUCH_CALL);
        let refused = Err(Some(libc::ENOSYS));
        assert_eq!(membarrier(libc::MEMBARRIER_CMD_QUERY), refused, "the filter does nothing");
        Daemon::<Verified>::start().work();
        Daemon::<Shootdown>::start().work();
        assert!(use_full_fences(), "a barrier relies on membarrier");
    });
}

#[test]
fn everything_goes_on_where_membarrier_is_refused_later() {
    passes_in_child("sandbox::everything_goes_on_where_membarrier_is_refused_later", || {
        let daemon = Daemon::<Shootdown>::start();
        refuse(&[MEMBARRIER], NO_SUCH_CALL);
        daemon.work();
    });
}

#[test]
fn everything_goes_on_where_threads_can_only_visit_other_cpus() {
    passes_in_child("sandbox::everything_goes_on_where_threads_can_only_visit_other_cpus", || {
        let daemon = Daemon::<Shootdown>::start();
        refuse(&[MEMBARRIER, UNMAP], NO_SUCH_CALL);
        daemon.work();
    });
}

#[test]
fn where_nothing_can_interrupt_threads_the_process_says_what_to_do_and_aborts() {
    let child = in_child(
        "sandbox::where_nothing_can_interrupt_threads_the_process_says_what_to_do_and_aborts",
        || {
            let daemon = Daemon::<Shootdown>::start();
            refuse(&[MEMBARRIER, UNMAP, VISIT], NO_SUCH_CALL);
            daemon.work();
        },
    );
    let Some(child) = child else { return };
    let said = String::from_utf8_lossy(&child.stderr);
    // The control: without membarrier from the start there are full fences, which need nothing.
    assert_eq!(child.status.success(), !has_membarrier(), "{}: {said}", child.status);
    let lines = said.lines().filter(|line| {
        line.starts_with("tenure: cannot interrupt other threads")
            && line.contains("tenure::process::use_full_fences()")
    });
    assert_eq!(lines.count(), usize::from(has_membarrier()), "{said}");
}

#[test]
fn with_full_fences_chosen_at_the_start_nothing_is_called() {
    passes_in_child("sandbox::with_full_fences_chosen_at_the_start_nothing_is_called", || {
        assert!(use_full_fences());
        let daemon = Daemon::<Shootdown>::start();
        refuse(&[MEMBARRIER, VISIT], libc::SECCOMP_RET_KILL_PROCESS);
        daemon.work();
        assert!(use_full_fences(), "and it stays so");
    });
}

#[test]
fn full_fences_are_not_to_be_had_once_threads_rely_on_membarrier() {
    passes_in_child(
        "sandbox::full_fences_are_not_to_be_had_once_threads_rely_on_membarrier",
        || {
            let daemon = Daemon::<Shootdown>::start();
            assert_eq!(use_full_fences(), !has_membarrier());
            daemon.work();
        },
    );
}
