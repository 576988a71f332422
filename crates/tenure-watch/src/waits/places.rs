//! Where the program's own code runs, by samples that were taken there.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use tenure_model::recording::WorkPlace;

use crate::callers::{CallStack, Callers};

/// Places that are remembered, at most.
const MAX_PLACES: usize = 4096;

/// How often threads were met at each place, and under each caller of it.
#[derive(Debug, Default)]
pub(super) struct WorkPlaces(FxHashMap<(u64, Option<u64>), u64>);

impl WorkPlaces {
    /// A sample of a thread that was not in the kernel.
    pub(super) fn sampled(&mut self, ip: u64, calls: &mut CallStack<'_>, callers: &mut Callers) {
        let outer = calls.own(0, callers);
        let key = match outer {
            // What a library does is the work of those who call it.
            Some(back) if callers.is_foreign(ip) => (back, None),
            outer => (ip, outer),
        };
        if self.0.len() < MAX_PLACES || self.0.contains_key(&key) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    /// The places, those met most often first.
    pub(super) fn places(&self) -> Vec<WorkPlace> {
        let place = |(&(code, caller), &samples)| WorkPlace { code, caller, samples };
        let mut all: Vec<WorkPlace> = self.0.iter().map(place).collect();
        all.sort_by_key(|place| (Reverse(place.samples), place.code, place.caller));
        all
    }
}
