//! The counts that users have do what the generic ones do, by methods and through the trait.

use std::num::NonZeroU16;
use tenure::count::{RefCount, generic};

const THREE: NonZeroU16 = NonZeroU16::new(3).unwrap();

/// What each call returns; the last two references are put one by one.
macro_rules! life {
    ($count:expr $(, $readable:expr)?) => {{
        let count = $count;
        let begin = [
            format!("{:?} {:?}", count.get(), count.get_acquire()),
            format!("{:?} {}", count.get_many(THREE), count.read()),
            format!("{:?} {}", count.put($($readable)?), count.is_dead()),
            format!("{:?} {}", count.put_many(THREE $(, $readable)?), count.read()),
        ];
        let end = [
            format!("{:?} {}", count.put_last($($readable)?), count.is_dead()),
            format!("{:?} {} {}", count.put_last($($readable)?), count.is_dead(), count.read()),
            format!("{:?} {:?}", count.get(), count.get_many(THREE)),
        ];
        [&begin[..], &end[..]].concat()
    }};
}

fn by_trait<C: RefCount>(readable: C::Readable<'_>) -> Vec<String> {
    let mut said = life!(C::new_in(), readable);
    said.push(format!("{} {}", C::NAME, C::NEEDS_GRACE_PERIOD));
    said
}

#[test]
fn a_count_lives_as_the_generic_one_does() {
    let readable = crate::readable();
    let expected = life!(generic::RcuRef::new(), readable);
    assert_eq!(expected[6], "Dead Dead");
    assert_eq!(life!(tenure::count::RcuRef::new(), readable), expected);
    assert_eq!(life!(generic::TicketRef::new()), life!(tenure::count::TicketRef::default()));
    assert_eq!(by_trait::<tenure::count::RcuRef>(readable), by_trait::<generic::RcuRef>(readable));
    assert_eq!(by_trait::<tenure::count::TicketRef>(()), by_trait::<generic::TicketRef>(()));
}

#[test]
fn a_dead_ticket_count_gets_a_new_life() {
    let count = tenure::count::TicketRef::dead();
    assert!(count.is_dead() && !count.get().is_acquired());
    count.init();
    count.get_held();
    assert_eq!(format!("{count:?}"), "TicketRef(2)");
    assert_eq!((count.read(), count.put().is_last(), count.put().is_last()), (2, false, true));
}
