//! Requests of the text protocol.

use std::ops::Range;

use fastrand::Rng;

use super::answers::{Ask, Scan};
use super::keys::{Draw, Values};
use crate::load::engine::protocol::{Answer, Protocol, Step};
use crate::number::Decimal;

#[derive(Debug)]
pub(crate) struct Requests {
    pub(super) prefix: String,
    pub(super) values: Values,
    pub(super) order: Order,
}

#[derive(Debug)]
pub(super) enum Order {
    /// Sets each of these keys.
    Fill(Range<u32>),
    /// Draws keys, and sets a share of them.
    Mixed { draw: Draw, sets_below: f64, random: Rng },
}

impl Order {
    #[inline]
    fn next(&mut self) -> Option<Ask> {
        match self {
            Self::Fill(keys) => keys.next().map(|key| Ask { key, set: true }),
            Self::Mixed { draw, sets_below, random } => {
                let key = draw.next(random);
                Some(Ask { key, set: random.f64() < *sets_below })
            }
        }
    }
}

impl Protocol for Requests {
    type Ask = Ask;
    type Scan = Scan;

    const KINDS: &'static [&'static str] = &["get", "set"];

    #[inline]
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<Ask> {
        let ask = self.order.next()?;
        out.extend_from_slice(if ask.set { b"set " } else { b"get " });
        out.extend_from_slice(self.prefix.as_bytes());
        out.extend_from_slice(&Decimal::new(ask.key.into()));
        if ask.set {
            let value = self.values.of(ask.key);
            out.extend_from_slice(b" 0 0 ");
            out.extend_from_slice(&Decimal::new(value.len() as u64));
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(value);
        }
        out.extend_from_slice(b"\r\n");
        Some(ask)
    }

    #[inline]
    fn kind(ask: Ask) -> usize {
        usize::from(ask.set)
    }

    #[inline]
    fn scan(&self, scan: &mut Scan, ask: Ask, input: &[u8]) -> Step {
        scan.take(ask, &self.prefix, &self.values, input)
    }

    fn end(&self, _: &mut Scan, _: Ask) -> Option<Answer> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::memcached::keys::Keys;

    #[test]
    fn a_fill_sets_every_key_of_its_range_once() {
        let values = Values::new(&(3..=3));
        let order = Order::Fill(9..11);
        let mut requests = Requests { prefix: "k-".to_owned(), values, order };
        let mut out = Vec::new();
        while requests.ask(&mut out).is_some() {}
        let value = |key| String::from_utf8(requests.values.of(key).to_vec()).unwrap();
        let wanted =
            format!("set k-9 0 0 3\r\n{}\r\nset k-10 0 0 3\r\n{}\r\n", value(9), value(10));
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn sets_have_their_share_of_a_mixture() {
        let order = Order::Mixed {
            draw: Draw::new(Keys::Uniform, 1_000),
            sets_below: 0.25,
            random: Rng::with_seed(1),
        };
        let mut requests = Requests { prefix: String::new(), values: Values::new(&(1..=1)), order };
        let mut out = Vec::new();
        let sets = (0..100_000).filter(|_| requests.ask(&mut out).unwrap().set).count();
        assert!((24_000..26_000).contains(&sets), "{sets}");
        assert!(out.starts_with(b"get ") || out.starts_with(b"set "));
    }
}
