//! Schemes in which local handles count: [`Mask`], and [`Counted`], the baseline.
//!
//! 1. `Counted` has a strong reference for each slot that has the object. `Mask` has a bit for each slot, 64 to a word,
//!    and a reference for each word that is not zero: setting a word's first bit takes it, and clearing its last bit
//!    gives it back.
//! 2. A slot is among the [`Holders`] of the block that it has, in use or not. No other thread adds or removes it.
//! 3. The last put of a strong reference destroys the block.

use super::destroy::destroy_all;
use super::protocol::{Block, BlockPointer, Inner, Protocol, SlotState};
use super::scheme::On;
use super::strong::give_back;
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer};
use crate::segments::Segments;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

/// A bit for each local handle that has the object: written when a handle enters another object.
///
/// No barrier and no interrupt, ever. The price is retention: an object whose last strong handle is gone stays until the last
/// handle that keeps it enters another object, is cleared or dropped, however long its
/// worker sleeps. And a switch between objects writes two words that other handles write.
///
/// After a proposal in the review of Linux's lazy TLB: the mask of CPUs as the count. The reviewers answered that
/// clearing bits brings the shared write back. Here only a switch pays for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {}

/// Counts every enter on one shared word of the object, also of the same object again.
///
/// The baseline of the benchmarks and the oracle of the tests: slow and obviously right. Linux did this for lazy
/// address spaces. An idle handle keeps its object as with [`Mask`].
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {}

/// The slots that have an object.
pub trait Holders: Default {
    /// Whether a slot that has the object already is counted again.
    const COUNTS_AGAIN: bool;
    /// Adds a slot that is not among them. Returns whether that takes a strong reference.
    fn add(&self, number: u32) -> bool;
    /// Removes a slot. Returns whether that gives a strong reference back.
    fn remove(&self, number: u32) -> bool;
}

impl Holders for () {
    const COUNTS_AGAIN: bool = true;
    #[inline(always)]
    fn add(&self, _number: u32) -> bool {
        true
    }
    #[inline(always)]
    fn remove(&self, _number: u32) -> bool {
        true
    }
}

pub struct Bits<M: Memory>(Segments<M::AtomicU64, M>);

impl<M: Memory> Default for Bits<M> {
    fn default() -> Self {
        Self(Segments::new())
    }
}

const fn bit(number: u32) -> u64 {
    1 << (number % u64::BITS)
}

impl<M: Memory> Holders for Bits<M> {
    const COUNTS_AGAIN: bool = false;

    fn add(&self, number: u32) -> bool {
        let word = self.0.get_or_grow(number / u64::BITS, |_| Atomic::new(0));
        // Relaxed: orders nothing that the caller's strong reference does not.
        word.fetch_or(bit(number), Ordering::Relaxed) == 0
    }

    fn remove(&self, number: u32) -> bool {
        let word = self.0.get(number / u64::BITS).expect("it has this slot's bit");
        // AcqRel: pairs with itself. The thread that clears the last bit sees what the other slots' owners did with the
        // block, and that the word's reference was taken. The put passes that on to the destroyer.
        word.fetch_sub(bit(number), Ordering::AcqRel) == bit(number)
    }
}

/// Only the slot's owner touches it.
pub struct Held<T, S: Protocol>(BlockPointer<T, S>);

impl<T, S: Protocol> Default for Held<T, S> {
    fn default() -> Self {
        Self(Pointer::new(ptr::null_mut()))
    }
}

impl<T, S: Protocol<Object<T>: Holders>> Held<T, S> {
    fn get(&self) -> *mut Block<T, S> {
        // Relaxed: only the owner touches it.
        self.0.load(Ordering::Relaxed)
    }

    fn replace(&self, number: u32, new: *mut Block<T, S>) {
        let old = self.get();
        if let Some(new) = NonNull::new(new) {
            // SAFETY: the caller of `switch` has a reference.
            let header = unsafe { Block::header(new) };
            if header.object.add(number) {
                header.strong.get_held();
            }
        }
        // Relaxed: only the owner touches it.
        self.0.store(new, Ordering::Relaxed);
        if let Some(old) = NonNull::new(old) {
            // SAFETY: rules 1 and 2: the block exists while the slot is among its holders.
            if unsafe { Block::header(old) }.object.remove(number) {
                // SAFETY: rule 1: the reference is the one that `remove` gives back.
                unsafe { give_back(old) };
            }
        }
    }
}

impl<T, S: Protocol<Object<T>: Holders>> SlotState<T, S> for Held<T, S> {
    #[inline(always)]
    fn has(&self, block: NonNull<Block<T, S>>) -> bool {
        !S::Object::<T>::COUNTS_AGAIN && self.get() == block.as_ptr()
    }

    #[inline(always)]
    unsafe fn resume(&self, _block: NonNull<Block<T, S>>) {}

    unsafe fn switch(&self, number: u32, block: NonNull<Block<T, S>>) {
        self.replace(number, block.as_ptr());
    }

    #[inline(always)]
    unsafe fn kept(&self) -> Option<NonNull<Block<T, S>>> {
        NonNull::new(self.get())
    }

    #[inline(always)]
    unsafe fn leave(&self, _block: NonNull<Block<T, S>>) {}

    unsafe fn clear(&self, number: u32) {
        self.replace(number, ptr::null_mut());
    }
}

macro_rules! counting {
    ($([$($generics:tt)*] $scheme:ty, $name:literal, $machine:ty, $holders:ty;)*) => {$(
        // SAFETY: rules 1 and 2 keep a block while a slot uses it, and its count names one last put.
        unsafe impl<$($generics)*> Protocol for $scheme {
            const NAME: &'static str = $name;
            type Memory = $machine;
            type Object<T> = $holders;
            type State<T> = Held<T, Self>;
            type Domain<T> = PhantomData<T>;

            unsafe fn retire<T>(
                inner: &Inner<T, Self>,
                blocks: impl Iterator<Item = NonNull<Block<T, Self>>>,
            ) {
                let blocks = blocks.inspect(|_| inner.counters.retired.add(1));
                // SAFETY: the caller put the last references, and slots that have a block have one of their own.
                unsafe { destroy_all(inner, blocks) };
            }
        }
    )*};
}

counting! {
    [] Mask, "mask", Native, Bits<Native>;
    [M: Memory] On<M, Mask>, "mask", M, Bits<M>;
    [] Counted, "counted", Native, ();
    [M: Memory] On<M, Counted>, "counted", M, ();
}
