//! Random operations on a buffer pool against a model, with the same figures after each.

use crate::limits::Numbers;
use tenure::pool::generic::{BufferPool, PooledBuf};
use tenure::pool::list::List;
use tenure::pool::{AcquireError, Stats};

const CLASSES: usize = 4;
const SMALLEST: u64 = 64;

const fn size(class: usize) -> u64 {
    SMALLEST << class
}

#[derive(Debug, Default, Clone, Copy)]
struct Class {
    reused: u64,
    made: u64,
    freed: u64,
    downgraded: u64,
    in_use: u64,
    idle: u64,
}

#[derive(Debug)]
struct Model {
    classes: [Class; CLASSES],
    limit: Option<u64>,
    closed: bool,
}

/// The class, if it is granted.
type Outcome = Result<usize, AcquireError>;

impl Model {
    fn held(&self) -> u64 {
        let classes = self.classes.iter().enumerate();
        classes.map(|(class, it)| (it.in_use + it.idle) * size(class)).sum()
    }

    fn has_room(&self, class: usize) -> bool {
        self.limit.is_none_or(|limit| self.held() + size(class) <= limit)
    }

    fn take(&mut self, class: usize) -> bool {
        let has_room = self.has_room(class);
        let it = &mut self.classes[class];
        if it.idle > 0 {
            it.idle -= 1;
            it.reused += 1;
        } else if has_room {
            it.made += 1;
        } else {
            return false;
        }
        it.in_use += 1;
        true
    }

    fn acquire(&mut self, len: usize, or_smaller: bool) -> Outcome {
        let Some(asked) = (0..CLASSES).find(|&class| len as u64 <= size(class)) else {
            let largest = size(CLASSES - 1) as usize;
            return Err(AcquireError::TooLarge { asked: len, largest });
        };
        if self.closed {
            return Err(AcquireError::Closed);
        }
        if self.take(asked) {
            return Ok(asked);
        }
        let limit = self.limit.expect("it refuses at the limit alone");
        let refused = |held| Err(AcquireError::LimitReached { limit, held, asked: len });
        let last = if or_smaller { 0 } else { asked };
        let Some(most) = (last..=asked).rev().find(|&class| size(class) <= limit) else {
            return refused(self.held());
        };
        if self.classes[most].idle == 0 {
            for class in (0..CLASSES).rev() {
                while !self.has_room(most) && self.classes[class].idle > 0 {
                    self.classes[class].idle -= 1;
                    self.classes[class].freed += 1;
                }
            }
        }
        for class in (last..=most).rev() {
            if self.take(class) {
                self.classes[asked].downgraded += u64::from(class < asked);
                return Ok(class);
            }
        }
        refused(self.held())
    }

    fn release(&mut self, class: usize) {
        let it = &mut self.classes[class];
        it.in_use -= 1;
        if self.closed { it.freed += 1 } else { it.idle += 1 }
    }

    fn trim(&mut self) -> u64 {
        let before = self.held();
        for it in &mut self.classes {
            it.freed += std::mem::take(&mut it.idle);
        }
        before - self.held()
    }

    fn close(&mut self) {
        self.trim();
        self.closed = true;
    }
}

/// A buffer in use, with its user's bytes in all of it.
struct Used<L: List>(PooledBuf<L>, u8);

impl<L: List> Used<L> {
    /// The buffer as it is granted, of that length.
    fn new(mut buffer: PooledBuf<L>, len: usize, user: usize) -> Self {
        assert!(
            buffer == *vec![0; len] && buffer.spare_capacity_mut().iter().all(|&byte| byte == 0)
        );
        let user = user as u8 | 1;
        buffer.clear();
        buffer.resize(buffer.capacity(), user);
        Self(buffer, user)
    }

    fn class(&self) -> usize {
        (self.0.capacity() as u64 / SMALLEST).trailing_zeros() as usize
    }
}

impl<L: List> Drop for Used<L> {
    fn drop(&mut self) {
        assert!(self.0.iter().all(|&byte| byte == self.1), "it has another user");
    }
}

fn compare<L: List>(pool: &BufferPool<L>, model: &Model) {
    let stats = pool.stats();
    let mut sum = Stats::default();
    for (class, it) in pool.class_stats().iter().enumerate() {
        let (expected, counts) = (model.classes[class], *it);
        assert_eq!(it.size as u64, size(class));
        let figures =
            |it: &Stats| [it.reused, it.made, it.freed, it.downgraded, it.in_use, it.idle];
        let Class { reused, made, freed, downgraded, in_use, idle } = expected;
        assert_eq!(figures(&counts), [reused, made, freed, downgraded, in_use, idle], "{class}");
        assert_eq!(counts.bytes, (in_use + idle) * size(class));
        sum.bytes += counts.bytes;
        sum.in_use += counts.in_use;
    }
    assert_eq!((stats.bytes, stats.in_use), (sum.bytes, sum.in_use));
    assert_eq!(stats.bytes, model.held());
    assert!(model.limit.is_none_or(|limit| stats.bytes <= limit));
    assert_eq!(pool.is_closed(), model.closed);
}

fn run<L: List>(numbers: &mut Numbers) {
    let limit = (numbers.below(2) == 0).then(|| SMALLEST + numbers.below(4_000) as u64);
    let builder = BufferPool::builder().classes(SMALLEST as usize, CLASSES);
    let builder = builder.magazine_bytes(numbers.below(2_000));
    let builder = if let Some(limit) = limit { builder.limit(limit) } else { builder };
    let pool = builder.list::<L>().build().unwrap();
    let mut model = Model { classes: Default::default(), limit, closed: false };
    let mut buffers: Vec<Used<L>> = Vec::new();
    for user in 0..1 + numbers.below(120) {
        let [len, other] = [(); 2].map(|()| match numbers.below(size(CLASSES - 1) as usize + 20) {
            0 => usize::MAX,
            len => len - 1,
        });
        let use_one = |len| move |buffer| Used::new(buffer, len, user);
        let class =
            |used: &Result<Used<L>, AcquireError>| used.as_ref().map(Used::class).map_err(|&e| e);
        match numbers.below(200) {
            0..80 => {
                let or_smaller = numbers.below(2) == 0;
                let acquired = if or_smaller {
                    pool.acquire_or_smaller(len).map(use_one(0))
                } else {
                    pool.acquire_zeroed(len).map(use_one(len))
                };
                assert_eq!(class(&acquired), model.acquire(len, or_smaller));
                buffers.extend(acquired.ok());
            }
            80..100 => {
                let pair = pool.acquire_pair(len, other);
                let expected = model.acquire(len, false).and_then(|first| {
                    let second = model.acquire(other, false);
                    second.map(|second| [first, second]).inspect_err(|_| model.release(first))
                });
                let pair = pair.map(|(one, other)| [one, other].map(use_one(0)));
                assert_eq!(
                    pair.as_ref().map(|pair| pair.each_ref().map(Used::class)).map_err(|&e| e),
                    expected
                );
                buffers.extend(pair.into_iter().flatten());
            }
            100..185 if !buffers.is_empty() => {
                let buffer = buffers.swap_remove(numbers.below(buffers.len()));
                model.release(buffer.class());
            }
            100..199 => assert_eq!(pool.trim(), model.trim()),
            _ => {
                pool.close();
                model.close();
            }
        }
        compare(&pool, &model);
    }
    // The last handle goes before them.
    drop(pool);
}

fn a_pool_does_what_the_model_does<L: List>() {
    let mut numbers = Numbers(1);
    for _ in 0..if cfg!(miri) { 5 } else { 300 } {
        run::<L>(&mut numbers);
    }
}

claims! {
    a_pool_does_what_the_model_does,
}
