//! memcached's handlers fed from memory: a server without the kernel's share.

use std::fmt::Write as _;
use std::time::Duration;

use crate::buffers::{Buffers, DEFAULT_BYTES, PoolKind};
use crate::memcached::{Cache, Config, CountKind, LineKind, Visitor, with_cell};
use crate::script;
use tenure::count::RefCount;
use tenure::registry::RegistryCount;

/// The same as in the load on sockets.
const KEYS: usize = 10_000;
const VALUE: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const GETS_TO_A_SET: usize = 100;

const REQUESTS: usize = 20_000;

pub(super) const CELLS: [(&str, CountKind, LineKind); 6] = [
    ("inc_not_zero, shared", CountKind::IncNotZero, LineKind::Shared),
    ("inc_not_zero, isolated", CountKind::IncNotZero, LineKind::Isolated),
    ("rcuref, shared", CountKind::RcuRef, LineKind::Shared),
    ("rcuref, isolated", CountKind::RcuRef, LineKind::Isolated),
    ("ticket, shared", CountKind::Ticket, LineKind::Shared),
    ("ticket, isolated", CountKind::Ticket, LineKind::Isolated),
];

/// Feeds a filled cache from so many threads for about so many seconds. Returns the number of requests and the time.
pub(super) type Player = Box<dyn Fn(usize, f64) -> Result<(u64, Duration), String>>;

pub(super) fn player(count: CountKind, line: LineKind, seed: u64) -> Result<Player, String> {
    let mut config = Config::default();
    (config.count, config.line, config.memory) = (count, line, 256 << 20);
    with_cell(&config, Prepare { seed })
}

struct Prepare {
    seed: u64,
}

impl Visitor for Prepare {
    type Result = Result<Player, String>;

    fn visit<C: RefCount + 'static, P: RegistryCount>(self, cache: Cache<C, P>) -> Self::Result {
        let buffers =
            Buffers::new(PoolKind::Magazines, DEFAULT_BYTES).map_err(|error| error.to_string())?;
        let mut keys = String::new();
        (0..KEYS).for_each(|key| set(&mut keys, key));
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut script = String::new();
        for at in 0..REQUESTS {
            let key = random.usize(..KEYS);
            if at % (GETS_TO_A_SET + 1) == GETS_TO_A_SET {
                set(&mut script, key);
            } else {
                let _ = write!(script, "get tenure-{key}\r\n"); // A string takes all.
            }
        }
        let feed = move |script: &str, threads, rounds| {
            let (handler, script) = (|| cache.handler(), script.as_bytes());
            let played = script::play(handler, &buffers, script, DEFAULT_BYTES, threads, rounds);
            played.map_err(|error| error.to_string())
        };
        feed(&keys, 1, 1)?;
        Ok(Box::new(move |threads, seconds| {
            // Finds the number of rounds, and warms the CPU's caches.
            let once = feed(&script, threads, 1)?.as_secs_f64().max(1e-6);
            let rounds = (seconds / once).ceil().max(1.0) as u64;
            let time = feed(&script, threads, rounds)?;
            Ok((REQUESTS as u64 * rounds * threads as u64, time))
        }))
    }
}

fn set(script: &mut String, key: usize) {
    let _ = write!(script, "set tenure-{key} 0 0 {}\r\n{VALUE}\r\n", VALUE.len()); // As above.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_answers_all_requests_that_it_is_fed() {
        for (name, count, line) in CELLS {
            let player = player(count, line, 1).unwrap();
            let (requests, time) = player(2, 0.001).unwrap();
            assert!(requests >= 2 * REQUESTS as u64 && !time.is_zero(), "{name}");
        }
    }
}
