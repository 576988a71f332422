//! The operations as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::arc::Counts;
use tenure::count::{GetResult, PutResult, RcuRef, Readable, TicketRef};
use tenure::count::generic::IncNotZero;

macro_rules! calls {
    ($($name:ident = $type:ident.$method:ident($($argument:ident: $of:ty)?) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub fn $name(count: &$type $(, $argument: $of)?) -> $result {
            count.$method($($argument)?)
        }
    )*};
}

calls! {
    inc_not_zero_get = IncNotZero.get() -> GetResult;
    inc_not_zero_put = IncNotZero.put() -> PutResult;
    rcuref_get = RcuRef.get() -> GetResult;
    rcuref_put = RcuRef.put(readable: Readable<'_>) -> PutResult;
    ticketref_get = TicketRef.get() -> GetResult;
    ticketref_get_held = TicketRef.get_held() -> ();
    ticketref_put = TicketRef.put() -> PutResult;
    arc_clone = Counts.clone_strong() -> ();
    arc_drop = Counts.drop_strong() -> PutResult;
    arc_downgrade = Counts.downgrade() -> ();
    weak_upgrade = Counts.upgrade() -> GetResult;
    weak_clone = Counts.clone_weak() -> ();
}
