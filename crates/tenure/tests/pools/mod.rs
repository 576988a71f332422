//! What the tests of `SlotPool` share: every list, objects that are counted, threads that hoard and sleep.
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::{Arc, Barrier};
use std::thread;
use tenure::pool::{FreeList, SlotPool};

/// Makes each of the functions, which are generic over a list, a test for every list.
#[macro_export]
macro_rules! claims {
    ($($claim:ident,)*) => {
        $crate::claims! { ($($claim)*) over
            scan: tenure::pool::Scan,
            scan_as_published: tenure::pool::Scan<tenure::memory::Native, false>,
            tagged_stack: tenure::pool::TaggedStack,
            magazines: tenure::pool::Magazines,
            magazines_of_one: tenure::pool::Magazines<tenure::memory::Native, 1>,
        }
    };
    ($claims:tt over $($room:ident: $list:ty,)*) => {
        $($crate::claims! { $claims in $room: $list })*
    };
    (($($claim:ident)*) in $room:ident: $list:ty) => {
        mod $room {
            $(#[test]
            fn $claim() {
                super::$claim::<$list>();
            })*
        }
    };
}

/// An object whose drop is seen by the count of its `Arc`.
pub(crate) struct Token(Arc<()>);

impl Token {
    pub(crate) fn check(&self) {
        assert!(Arc::strong_count(&self.0) > 0);
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A pool of tokens, whose number is the `Arc`'s count less two: the `Arc` and the pool's own.
pub(crate) fn tokens<L: FreeList>() -> (Arc<()>, SlotPool<Token, L>) {
    let token = Arc::new(());
    let original = Arc::clone(&token);
    let pool = SlotPool::builder(move || Token(Arc::clone(&original))).list().build();
    (token, pool)
}

/// Runs `meanwhile` while another thread, which sleeps, has used and released `n` objects.
pub(crate) fn hoarding<T: Send + 'static, L: FreeList>(
    pool: &SlotPool<T, L>,
    n: usize,
    meanwhile: impl FnOnce(),
) {
    let (released, go_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(Vec::from_iter((0..n).map(|_| pool.acquire().unwrap())));
            released.wait();
            go_on.wait();
        });
        released.wait();
        meanwhile();
        go_on.wait();
    });
}
