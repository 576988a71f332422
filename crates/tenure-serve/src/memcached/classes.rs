//! Classes of items by size, for `stats items` and `stats slabs`.
//!
//! The bounds are those of memcached's default slab classes, so that its monitors read the same figures. Memory is not
//! kept by class.
//!
//! Each worker counts on its own lines. One may count a link, another the unlink: only the sums over all are right.

use crate::relaxed::Relaxed;

const SMALLEST: u32 = 96;

const STEP: u32 = 8;

/// The least bound of the last class, which has all larger items; at least a quarter more than the bound before.
const LARGEST: u32 = 512 << 10;

/// Each bound a quarter larger than the last. Returns how many there are.
const fn fill(bounds: &mut [u32]) -> usize {
    let (mut count, mut bound) = (0, SMALLEST);
    while bound < LARGEST - LARGEST / 5 {
        bound = bound.next_multiple_of(STEP);
        if count < bounds.len() {
            bounds[count] = bound;
        }
        count += 1;
        bound += bound / 4;
    }
    if count < bounds.len() {
        bounds[count] = LARGEST;
    }
    count + 1
}

pub(super) const CLASSES: usize = fill(&mut []);

/// The largest item of each class but the last, in bytes.
const BOUNDS: [u32; CLASSES] = {
    let mut bounds = [0; CLASSES];
    fill(&mut bounds);
    bounds
};

/// The class for a number of steps.
const OF_SMALL: [u8; 256] = {
    let mut table = [0; 256];
    let (mut steps, mut class) = (0, 0);
    while steps < table.len() {
        if BOUNDS[class] < steps as u32 * STEP {
            class += 1;
        }
        table[steps] = class as u8;
        steps += 1;
    }
    table
};

/// Clients number them from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    #[inline]
    pub(super) fn of(bytes: usize) -> Self {
        match OF_SMALL.get(bytes.div_ceil(STEP as usize)) {
            Some(class) => Self(*class),
            None => {
                let larger = BOUNDS.partition_point(|bound| (*bound as usize) < bytes);
                Self(larger.min(CLASSES - 1) as u8)
            }
        }
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..CLASSES as u8).map(Self)
    }

    pub(super) fn number(self) -> usize {
        usize::from(self.0) + 1
    }

    /// For the last class, its least bound.
    pub(super) fn bound(self) -> u32 {
        BOUNDS[usize::from(self.0)]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes(u64);

const _: () = assert!(CLASSES <= 64);

impl Classes {
    /// Numbers separated by commas, or `all`.
    pub(super) fn named(word: &[u8]) -> Option<Self> {
        if word == b"all" {
            return Some(Self(u64::MAX));
        }
        word.split(|byte| *byte == b',').try_fold(Self(0), |some, number| {
            let number = super::number::unsigned_32(number)?;
            let is_one = (1..=CLASSES as u32).contains(&number);
            is_one.then(|| Self(some.0 | 1 << (number - 1)))
        })
    }

    pub(super) fn has(self, class: Class) -> bool {
        self.0 >> class.0 & 1 != 0
    }
}

/// Bytes with the header, as memcached counts them.
pub(super) fn footprint(key: usize, flags: u32, len: usize) -> usize {
    let flags = if flags == 0 { 0 } else { size_of_val(&flags) };
    56 + key + 1 + flags + len + 2
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Linked,
    Unlinked,
    Evicted,
    EvictedUnfetched,
    Reclaimed,
    ExpiredUnfetched,
    /// Reclaimed by a crawl.
    Crawled,
}

const EVENTS: usize = Event::Crawled as usize + 1;

/// The place of the bytes of linked items.
const BYTES: usize = EVENTS;

/// What one or several workers counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figures([[u64; EVENTS + 1]; CLASSES]);

impl Figures {
    pub(super) const fn new() -> Self {
        Self([[0; EVENTS + 1]; CLASSES])
    }

    pub(super) fn add(&mut self, other: &Self) {
        let theirs = other.0.as_flattened();
        for (sum, count) in self.0.as_flattened_mut().iter_mut().zip(theirs) {
            *sum = sum.wrapping_add(*count);
        }
    }

    /// Subtracts what another counted, but for the linked items.
    pub(super) fn reset(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            for event in Event::Evicted as usize..EVENTS {
                ours[event] = ours[event].wrapping_sub(theirs[event]);
            }
        }
    }

    pub(super) fn events(&self, class: Class, event: Event) -> u64 {
        self.0[usize::from(class.0)][event as usize]
    }

    pub(super) fn items(&self, class: Class) -> u64 {
        self.events(class, Event::Linked).wrapping_sub(self.events(class, Event::Unlinked))
    }

    pub(super) fn bytes(&self, class: Class) -> u64 {
        self.0[usize::from(class.0)][BYTES]
    }
}

/// One worker's counts; it alone writes them.
pub(super) struct Tally([[Relaxed<u64>; EVENTS + 1]; CLASSES]);

impl Tally {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| [(); EVENTS + 1].map(|()| Relaxed::new(0))))
    }

    fn add(&self, class: Class, at: usize, more: u64) {
        self.0[usize::from(class.0)][at].count(more);
    }

    pub(super) fn count(&self, (class, footprint): (Class, usize), event: Event) {
        self.add(class, event as usize, 1);
        match event {
            Event::Linked => self.add(class, BYTES, footprint as u64),
            Event::Unlinked => self.add(class, BYTES, (footprint as u64).wrapping_neg()),
            _ => {}
        }
    }

    pub(super) fn count_change(&self, old: (Class, usize), new: (Class, usize)) {
        if old.0 == new.0 {
            self.add(new.0, BYTES, (new.1 as u64).wrapping_sub(old.1 as u64));
        } else {
            self.count(old, Event::Unlinked);
            self.count(new, Event::Linked);
        }
    }

    pub(super) fn read(&self) -> Figures {
        Figures(std::array::from_fn(|class| std::array::from_fn(|at| self.0[class][at].get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_those_of_memcached_and_the_last_class_has_no_end() {
        assert_eq!(CLASSES, 39);
        assert_eq!(BOUNDS[..8], [96, 120, 152, 192, 240, 304, 384, 480]);
        assert_eq!(BOUNDS[29..33], [66_232, 82_792, 103_496, 129_376]);
        assert_eq!(BOUNDS[37..], [394_840, 524_288]);
        for (bytes, number) in
            [(57, 1), (96, 1), (97, 2), (66_633, 31), (524_289, 39), (1 << 30, 39)]
        {
            assert_eq!(Class::of(bytes).number(), number, "{bytes}");
        }
        for class in Class::all() {
            let bound = class.bound() as usize;
            assert_eq!((Class::of(bound), Class::of(bound - 1)), (class, class));
            assert!(
                class.number() == CLASSES || Class::of(bound + 1).number() == class.number() + 1
            );
        }
    }

    #[test]
    fn classes_are_named_by_numbers_or_all_at_once() {
        let named = |word: &str| Classes::named(word.as_bytes());
        let some = named("1,39").unwrap();
        assert!(some.has(Class(0)) && some.has(Class(38)) && !some.has(Class(1)));
        assert!(Class::all().all(|class| named("all").unwrap().has(class)));
        for bad in ["", "0", "40", "1,", "x", "1,x", "-1", "4294967297"] {
            assert_eq!(named(bad), None, "{bad}");
        }
    }
}
