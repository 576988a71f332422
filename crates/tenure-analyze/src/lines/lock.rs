//! Which words are locks, by what threads do to them.
//!
//! A lock is taken by one instruction and given back by another, by the same threads. A number of references or permits
//! is changed like that too. What tells them apart is how it is taken: a lock's value is known before, since it has to be
//! free. A number is loaded, compared, and only then exchanged.

use tenure_model::{Access, Role};

use super::{CodeUse, UsedWord};

/// A load belongs to a compare-exchange if it is at most so many bytes of code before it.
const NEAR_BYTES: u64 = 512;

/// Counts that differ by less than this part are of operations that are done in turn.
const PAIRED: f64 = 0.1;

/// At least this part of what is taken is taken by threads that also give back, and the other way round.
const BY_THE_SAME: f64 = 0.8;

/// Whether a word is a lock: one of the C library's, one whose name or code says so, or one that behaves so.
pub(super) fn is_lock(word: &UsedWord) -> bool {
    let has = |wanted: &[Access]| word.uses.iter().any(|use_| wanted.contains(&use_.access));
    if has(&[Access::Lock, Access::Unlock]) {
        return true;
    }
    match word.meaning.role {
        Some(Role::Lock) => has(&[Access::CompareExchange, Access::Exchange, Access::Add]),
        Some(_) => false,
        // A word that one thread alone writes keeps no thread out: crossbeam's epochs only look like locks.
        None => !word.is_owned && behaves_as_lock(word),
    }
}

fn behaves_as_lock(word: &UsedWord) -> bool {
    let of = |wanted: &[Access]| -> Vec<&CodeUse> {
        word.uses.iter().filter(|use_| wanted.contains(&use_.access)).collect()
    };
    let exchanges = of(&[Access::CompareExchange]);
    let (compared, blind): (Vec<_>, Vec<_>) =
        exchanges.iter().copied().partition(|use_| is_compared(word, use_));
    // A watched program's atomic stores look like any write.
    let stores = of(&[Access::Store, Access::Write]);
    if most(&blind) > 0 && most(&blind) >= most(&compared) / 4 {
        // Std's mutex gives back by an exchange, and those of parking_lot by another compare-exchange.
        let others = of(&[Access::Add, Access::Exchange, Access::Store, Access::Write]);
        let gives_by_exchange = |one: &&CodeUse| are_turns(&[one], &without(&exchanges, one));
        return are_turns(&blind, &others) || blind.iter().any(gives_by_exchange);
    }
    // A spinlock loads before it tries, or tries by an exchange. No number is given back by a plain store.
    are_turns(&compared, &stores) || are_turns(&of(&[Access::Exchange]), &stores)
}

/// Whether what a compare-exchange expects was loaded before.
fn is_compared(word: &UsedWord, exchange: &CodeUse) -> bool {
    let loads = || word.uses.iter().filter(|it| matches!(it.access, Access::Load | Access::Read));
    let exchanged = exchange.count() as f64;
    let is_near = |load: &CodeUse| {
        let before = exchange.code.wrapping_sub(load.code);
        (1..=NEAR_BYTES).contains(&before) && load.count() as f64 >= (1.0 - PAIRED) * exchanged
    };
    // Without optimisation each is in a function of its own.
    let all: u64 =
        word.uses.iter().filter(|it| it.access == exchange.access).map(CodeUse::count).sum();
    let loaded: u64 = loads().map(CodeUse::count).sum();
    let difference = loaded.abs_diff(all) as f64;
    loads().any(is_near) || difference <= PAIRED * all as f64
}

/// Whether the same threads take by some of these instructions and give back by the others.
fn are_turns(takes: &[&CodeUse], gives: &[&CodeUse]) -> bool {
    let both = |thread: &u32| [takes, gives].iter().all(|uses| done_by(uses, *thread) > 0);
    let is_even = |uses: &[&CodeUse]| {
        let threads = uses.iter().flat_map(|use_| &use_.threads);
        let by_both: u64 = threads.filter(|(thread, _)| both(thread)).map(|(_, count)| count).sum();
        let all: u64 = uses.iter().map(|use_| use_.count()).sum();
        by_both as f64 >= BY_THE_SAME * all as f64
    };
    !takes.is_empty() && !gives.is_empty() && is_even(takes) && is_even(gives)
}

fn done_by(uses: &[&CodeUse], thread: u32) -> u64 {
    uses.iter().filter_map(|use_| use_.threads.get(&thread)).sum()
}

fn most(uses: &[&CodeUse]) -> u64 {
    uses.iter().map(|use_| use_.count()).max().unwrap_or(0)
}

fn without<'a>(uses: &[&'a CodeUse], one: &CodeUse) -> Vec<&'a CodeUse> {
    uses.iter().copied().filter(|other| other.code != one.code).collect()
}
