//! Load for servers of memcached's text protocol. Every value follows from its key, so that each answer to a `get` is
//! checked in full.

mod answers;
mod keys;

use std::ops::{Range, RangeInclusive};

use fastrand::Rng;
use tenure_report::words::counted;

pub use keys::Keys;

use super::Error;
use super::settings::{Generator, Settings};
use super::workload::Workload;
use crate::load::engine::protocol::{Answer, Protocol, Step};
use crate::number::Decimal;
use answers::{Ask, Scan};
use keys::{Draw, Values};

const LONGEST_KEY: usize = 250;

const LONGEST_VALUE: usize = 64 << 20;

const MOST_KEYS: u32 = 100_000_000;

/// A run against a memcached server.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings of every load.
    pub settings: Settings,
    /// So many sets...
    pub sets: u32,
    /// ... to so many gets.
    pub gets: u32,
    /// How many keys, numbered from 1.
    pub keys: u32,
    /// What precedes the number in a key.
    pub prefix: String,
    /// Bytes of a value, shortest to longest.
    pub value: RangeInclusive<usize>,
    /// How often each key is asked for.
    pub choice: Keys,
    /// Every key is set before the run, so that every get hits.
    pub preload: bool,
}

impl Plan {
    /// 100 gets to a set, of 10,000 keys with values of 100 bytes.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            sets: 1,
            gets: 100,
            keys: 10_000,
            prefix: "tenure-".to_owned(),
            value: 100..=100,
            choice: Keys::Uniform,
            preload: true,
        }
    }

    fn requests(&self, order: impl Fn(usize) -> Order) -> Vec<Requests> {
        let values = Values::new(&self.value);
        let requests = |index| Requests {
            prefix: self.prefix.clone(),
            values: values.clone(),
            order: order(index),
        };
        (0..self.settings.threads).map(requests).collect()
    }
}

impl Workload for Plan {
    type Protocol = Requests;

    const NAME: &'static str = "memcached";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn check(&self) -> Result<(), Error> {
        let longest = self.prefix.len() + self.keys.to_string().len();
        let line = if self.keys == 0 || self.keys > MOST_KEYS {
            format!("--keys are 1 to {MOST_KEYS}, not {}", self.keys)
        } else if self.sets == 0 && self.gets == 0 {
            "a ratio of 0:0 asks for nothing; the default is 1:100".to_owned()
        } else if longest > LONGEST_KEY {
            format!("a key has at most {LONGEST_KEY} bytes; take a shorter prefix")
        } else if self.prefix.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            "a prefix has no blanks and no control characters".to_owned()
        } else if self.value.is_empty() || *self.value.end() > LONGEST_VALUE {
            format!("values have up to {LONGEST_VALUE} bytes, the shorter bound first")
        } else if matches!(self.choice, Keys::Zipf(s) if !(0.0..=10.0).contains(&s)) {
            "the exponent of a Zipf distribution is a number from 0 to 10".to_owned()
        } else if self.settings.generator == Generator::Wrk {
            "wrk speaks HTTP only; `--with memtier` speaks memcached's protocol".to_owned()
        } else if self.settings.generator == Generator::Memtier && self.choice != Keys::Uniform {
            "memtier draws keys uniformly here; leave --zipf, --hot or --with away".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::new(line))
    }

    fn load(&self) -> String {
        let (shortest, longest) = (self.value.start(), self.value.end());
        let value = if shortest == longest {
            shortest.to_string()
        } else {
            format!("{shortest} to {longest}")
        };
        let choice = match self.choice {
            Keys::Uniform => "uniform".to_owned(),
            Keys::Zipf(s) => format!("Zipf {s}"),
            Keys::Hot => "one hot key".to_owned(),
        };
        let (sets, gets, keys) = (self.sets, self.gets, counted(self.keys as usize, "key"));
        format!("set:get {sets}:{gets}, {keys} ({choice}), values of {value} bytes")
    }

    fn arguments(&self) -> Vec<String> {
        let value = match (self.value.start(), self.value.end()) {
            (shortest, longest) if shortest == longest => format!("--data-size={shortest}"),
            (shortest, longest) => format!("--data-size-range={shortest}-{longest}"),
        };
        vec![
            format!("--ratio={}:{}", self.sets, self.gets),
            format!("--key-prefix={}", self.prefix),
            format!("--key-maximum={}", self.keys),
            value,
        ]
    }

    fn fill(&self) -> Option<Vec<Requests>> {
        let threads = self.settings.threads as u64;
        let bound = |index: usize| 1 + (u64::from(self.keys) * index as u64 / threads) as u32;
        self.preload.then(|| self.requests(|index| Order::Fill(bound(index)..bound(index + 1))))
    }

    fn measure(&self) -> Vec<Requests> {
        let sets_below = f64::from(self.sets) / (f64::from(self.sets) + f64::from(self.gets));
        let draw = Draw::new(self.choice, self.keys);
        self.requests(|_| Order::Mixed { draw: draw.clone(), sets_below, random: Rng::new() })
    }
}

#[derive(Debug)]
pub(crate) struct Requests {
    prefix: String,
    values: Values,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Fill(Range<u32>),
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
