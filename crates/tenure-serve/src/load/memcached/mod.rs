//! Load for servers that speak memcached's text protocol.
//!
//! Every value follows from its key, so that each answer to a `get` is checked in full: its key, its length, its bytes.

mod answers;
mod keys;
mod requests;

use std::ops::RangeInclusive;

use fastrand::Rng;
use tenure_report::words::counted;

pub use keys::Keys;

use super::Error;
use super::settings::{Generator, Settings};
use super::workload::Workload;
use keys::{Draw, Values};
use requests::{Order, Requests};

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
    /// How many keys there are; they are numbered from 1.
    pub keys: u32,
    /// The beginning of a key, before its number.
    pub prefix: String,
    /// Bytes of a value, from the shortest to the longest.
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

    /// What each thread asks.
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
        self.preload
            .then(|| self.requests(|index| Order::Fill(bound(index)..bound(index + 1))))
    }

    fn measure(&self) -> Vec<Requests> {
        let sets_below = f64::from(self.sets) / (f64::from(self.sets) + f64::from(self.gets));
        let draw = Draw::new(self.choice, self.keys);
        self.requests(|_| Order::Mixed { draw: draw.clone(), sets_below, random: Rng::new() })
    }
}
