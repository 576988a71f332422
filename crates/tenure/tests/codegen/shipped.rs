//! The operations as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::arc::Counts;
use tenure::count::{Get, IncNotZero, Put, RcuRef, Readable, TicketRef};

#[unsafe(no_mangle)]
pub fn inc_not_zero_get(count: &IncNotZero) -> Get {
    count.get()
}

#[unsafe(no_mangle)]
pub fn inc_not_zero_put(count: &IncNotZero) -> Put {
    count.put()
}

#[unsafe(no_mangle)]
pub fn rcuref_get(count: &RcuRef) -> Get {
    count.get()
}

#[unsafe(no_mangle)]
pub fn rcuref_put(count: &RcuRef, readable: Readable<'_>) -> Put {
    count.put(readable)
}

#[unsafe(no_mangle)]
pub fn ticketref_get(count: &TicketRef) -> Get {
    count.get()
}

#[unsafe(no_mangle)]
pub fn ticketref_get_held(count: &TicketRef) {
    count.get_held();
}

#[unsafe(no_mangle)]
pub fn ticketref_put(count: &TicketRef) -> Put {
    count.put()
}

#[unsafe(no_mangle)]
pub fn arc_clone(counts: &Counts) {
    counts.clone_strong();
}

#[unsafe(no_mangle)]
pub fn arc_drop(counts: &Counts) -> Put {
    counts.drop_strong()
}

#[unsafe(no_mangle)]
pub fn arc_downgrade(counts: &Counts) {
    counts.downgrade();
}

#[unsafe(no_mangle)]
pub fn weak_upgrade(counts: &Counts) -> Get {
    counts.upgrade()
}

#[unsafe(no_mangle)]
pub fn weak_clone(counts: &Counts) {
    counts.clone_weak();
}
