//! The operations as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::arc::Counts;
use tenure::count::{Get, IncNotZero, Put, RcuRef, Readable, TicketRef};

macro_rules! calls {
    ($($name:ident = $type:ident.$method:ident($($argument:ident: $of:ty)?) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub fn $name(count: &$type $(, $argument: $of)?) -> $result {
            count.$method($($argument)?)
        }
    )*};
}

calls! {
    inc_not_zero_get = IncNotZero.get() -> Get;
    inc_not_zero_put = IncNotZero.put() -> Put;
    rcuref_get = RcuRef.get() -> Get;
    rcuref_put = RcuRef.put(readable: Readable<'_>) -> Put;
    ticketref_get = TicketRef.get() -> Get;
    ticketref_get_held = TicketRef.get_held() -> ();
    ticketref_put = TicketRef.put() -> Put;
    arc_clone = Counts.clone_strong() -> ();
    arc_drop = Counts.drop_strong() -> Put;
    arc_downgrade = Counts.downgrade() -> ();
    weak_upgrade = Counts.upgrade() -> Get;
    weak_clone = Counts.clone_weak() -> ();
}
