//! Functions whose accesses are counted.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

#[repr(C)]
pub struct Session {
    refs: AtomicU32,
    limit: u32,
    hits: AtomicU64,
    next: Option<Box<Session>>,
    name: [u8; 16],
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Session {
    #[inline(never)]
    fn get(&self) {
        self.refs.fetch_add(1, SeqCst);
    }

    #[inline(never)]
    fn claim(&self) -> bool {
        self.refs.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
    }

    #[inline(never)]
    fn set_limit(&mut self) {
        self.limit = 7;
    }

    #[inline(never)]
    fn limit_of_next(&self) -> u32 {
        match &self.next {
            Some(next) => next.limit,
            None => 0,
        }
    }
}

#[inline(never)]
fn hit(session: &Arc<Session>) {
    session.hits.fetch_add(1, SeqCst);
}

#[inline(never)]
fn share(session: &Arc<Session>) -> Arc<Session> {
    Arc::clone(session)
}

#[inline(never)]
fn count() {
    COUNTER.fetch_add(1, SeqCst);
}

fn main() {
    let (refs, hits) = (AtomicU32::new(0), AtomicU64::new(0));
    let mut session = Session { refs, limit: 1, hits, next: None, name: [0; 16] };
    black_box(&mut session).set_limit();
    black_box(&session).get();
    let session = Arc::new(black_box(session));
    hit(black_box(&session));
    count();
    let copy = share(black_box(&session));
    let claimed = u32::from(black_box(&copy).claim());
    println!("{}", copy.limit_of_next() + claimed + u32::from(copy.name[0]));
}
