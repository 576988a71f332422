//! Which accesses to contended lines a thread times, and what it has begun to time.

use core::cell::Cell;
use core::ptr::null_mut;

use super::shadow::LINE_BYTES;
use crate::segment::Entry;

/// One in so many accesses to contended lines is timed, on average. At random, or a loop would have the same one timed
/// each time.
pub(super) const TIMED_EVERY: u32 = 16;

/// Has one thing in [`TIMED_EVERY`] be timed.
struct Draw {
    /// Things until one is timed, and what the number of the next is drawn from.
    left: Cell<u32>,
    random: Cell<u32>,
}

impl Draw {
    fn new(seed: u32) -> Self {
        let new = Self { left: Cell::new(0), random: Cell::new(seed) };
        // The first is as any other.
        new.draw();
        new
    }

    #[inline(always)]
    fn is_due(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        left == 0 && self.draw()
    }

    #[cold]
    fn draw(&self) -> bool {
        // Numerical Recipes' generator: its upper bits are good.
        let random = self.random.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random.set(random);
        self.left.set((random >> 16) % (2 * TIMED_EVERY - 1));
        true
    }
}

/// What one thread times.
pub(super) struct Times {
    /// Which accesses to contended lines are timed, and what recording does beside accesses.
    accesses: Draw,
    recording: Draw,
    /// The processor time when a compare-exchange failed; 0 if none did, or its time is not taken.
    failed: Cell<u64>,
    /// When the last access that was timed ended; 0 if the thread has used a contended line since, or has waited.
    timed_until: Cell<u64>,
    /// Its instruction's place in `sites`, and whether it was a plain one.
    site: Cell<u8>,
    is_plain: Cell<bool>,
    /// The line to which the thread's return is timed, as its address over its size; 0 if there is none.
    left_line: Cell<usize>,
    /// When it left that line, by which entry's access, and whether that was a plain one.
    left_at: Cell<u64>,
    left_by: Cell<*mut Entry>,
    left_plainly: Cell<bool>,
    /// What an access takes, on average over some.
    usual: Cell<u32>,
    /// What is known of instructions, by a hash of their addresses.
    sites: [TimedSite; SITES],
}

/// Instructions of which something is known at a time, and places at which each may be.
const SITES: usize = 32;
const TRIED: usize = 4;

/// What is known of an instruction.
struct TimedSite {
    /// Its address and one; 0 for none.
    key: Cell<u64>,
    /// The two shortest times from its accesses to the next; [`u32::MAX`] until they were timed.
    shortest: Cell<[u32; 2]>,
}

impl TimedSite {
    const fn new() -> Self {
        Self { key: Cell::new(0), shortest: Cell::new([u32::MAX; 2]) }
    }

    fn begin(&self, key: u64) {
        self.key.set(key);
        self.shortest.set([u32::MAX; 2]);
    }

    /// The second shortest time, this one included: the very shortest may be an accident, as when a loop ends.
    fn add(&self, took: u64) -> u64 {
        let time = u32::try_from(took).unwrap_or(u32::MAX);
        let [least, second] = self.shortest.get();
        self.shortest.set([least.min(time), second.min(least.max(time))]);
        took.min(u64::from(second))
    }
}

impl Times {
    pub(super) fn new(seed: u32) -> Self {
        Self {
            accesses: Draw::new(seed),
            // Not in step with the accesses.
            recording: Draw::new(seed ^ 0x9e37_79b9),
            failed: Cell::new(0),
            timed_until: Cell::new(0),
            site: Cell::new(0),
            is_plain: Cell::new(false),
            left_line: Cell::new(0),
            left_at: Cell::new(0),
            left_by: Cell::new(null_mut()),
            left_plainly: Cell::new(false),
            usual: Cell::new(0),
            sites: [const { TimedSite::new() }; SITES],
        }
    }

    /// Whether the next access to a contended line is to be timed: one in [`TIMED_EVERY`].
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.accesses.is_due()
    }

    /// Whether what recording does next, beside accesses, is to be timed: one in [`TIMED_EVERY`].
    pub(super) fn is_recording_due(&self) -> bool {
        self.recording.is_due()
    }

    /// Whether a compare-exchange has failed, and the time since then is taken.
    #[inline(always)]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get() != 0
    }

    pub(super) fn set_failed(&self, processor_time: u64) {
        self.failed.set(processor_time);
    }

    pub(super) fn take_failed(&self) -> u64 {
        self.failed.replace(0)
    }

    /// When the last access that was timed ended, if nothing has come between.
    #[inline(always)]
    pub(super) fn timed_until(&self) -> u64 {
        self.timed_until.get()
    }

    /// Forgets that, and when a line was left, as other things than work come next.
    pub(super) fn interrupt(&self) {
        self.timed_until.set(0);
        self.forget_gap();
    }

    /// Forgets all that was timed.
    pub(super) fn forget(&self) {
        self.interrupt();
        self.usual.set(0);
        self.sites.iter().for_each(|site| site.begin(0));
    }

    /// An access took so many nanoseconds.
    pub(super) fn add_usual(&self, took: u64) {
        let usual = self.usual.get();
        self.usual.set(usual - usual / 8 + took as u32 / 8);
    }

    /// This instruction's access, a plain one or not, was timed, until now.
    pub(super) fn begin_between(&self, now: u64, code: u64, is_plain: bool) {
        self.timed_until.set(now);
        self.is_plain.set(is_plain);
        let key = code.wrapping_add(1);
        // Fibonacci hashing: the upper bits are good.
        let first = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59) as usize;
        let near = || (first..first + TRIED).map(|at| at % SITES);
        let known = near().find(|at| self.sites[*at].key.get() == key);
        let at = known.unwrap_or_else(|| {
            let at = near().find(|at| self.sites[*at].key.get() == 0).unwrap_or(first);
            self.sites[at].begin(key);
            at
        });
        self.site.set(at as u8);
    }

    /// Forgets when a line was left, as the thread goes to sleep.
    pub(super) fn forget_gap(&self) {
        self.left_line.set(0);
    }

    /// Begins to time the gap after an access to this address, unless another gap is being timed.
    pub(super) fn begin_gap(&self, now: u64, address: usize, by: *mut Entry, is_plain: bool) {
        if self.left_line.get() == 0 {
            self.left_at.set(now);
            self.left_by.set(by);
            self.left_plainly.set(is_plain);
            self.left_line.set(address / LINE_BYTES);
        }
    }

    /// Whether an access to this address ends the gap that is being timed.
    #[inline(always)]
    pub(super) fn is_back(&self, address: usize) -> bool {
        self.left_line.get() == address / LINE_BYTES
    }

    /// Whether a gap is being timed that has taken so long.
    pub(super) fn is_away_for(&self, nanoseconds: u64, now: u64) -> bool {
        self.left_line.get() != 0 && now.saturating_sub(self.left_at.get()) >= nanoseconds
    }

    /// Ends the gap: by which entry's access it began, and what it took, less `nothing`, which is what timing takes. A part of a
    /// plain access's gap may be its wait, as in [`end_between`](Self::end_between).
    pub(super) fn end_gap(
        &self,
        now: u64,
        nothing: u64,
        is_plain_write: bool,
    ) -> (*mut Entry, u64) {
        self.left_line.set(0);
        let took = now.saturating_sub(self.left_at.get()).saturating_sub(nothing);
        let is_plain = self.left_plainly.get() || is_plain_write;
        (self.left_by.get(), if is_plain { took.saturating_sub(self.wait()) } else { took })
    }

    /// What a plain access may wait for its line outside of the runtime, which has fetched the line before.
    fn wait(&self) -> u64 {
        2 * u64::from(self.usual.get())
    }

    /// How much of the time from that access until now, when there is another one, was work. After reading the clock the
    /// processor foresees less of the program than it does without: of what is over the shortest such time, as much as
    /// `clock` is no work. And a plain access is done after it was timed, when another thread may have taken its line again;
    /// the read of `x += 1` is done before its write, and not seen.
    pub(super) fn end_between(&self, now: u64, is_plain_write: bool, clock: u64) -> u64 {
        let took = now.wrapping_sub(self.timed_until.replace(0));
        let least = self.sites[usize::from(self.site.get()) % SITES].add(took);
        let wait = if self.is_plain.get() || is_plain_write { self.wait() } else { 0 };
        least + (took - least).saturating_sub(clock.max(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of each of these times was work, from accesses of one instruction.
    fn work<const N: usize>(
        times: &Times,
        is_plain: bool,
        is_plain_write: bool,
        took: [u64; N],
    ) -> [u64; N] {
        took.map(|took| work_after(7, times, is_plain, is_plain_write, took))
    }

    /// The same of this instruction.
    fn work_after(
        code: u64,
        times: &Times,
        is_plain: bool,
        is_plain_write: bool,
        took: u64,
    ) -> u64 {
        times.begin_between(1000, code, is_plain);
        times.end_between(1000 + took, is_plain_write, 25)
    }

    #[test]
    fn what_is_over_the_shortest_time_by_a_look_at_the_clock_is_no_work() {
        let times = Times::new(1);
        assert_eq!(
            work(&times, false, false, [60, 50, 50, 75, 175, 50]),
            [60, 50, 50, 50, 150, 50]
        );
        times.forget();
        assert_eq!(work(&times, false, false, [75]), [75]);
        // Once is an accident.
        assert_eq!(work(&times, false, false, [75, 5, 75, 5, 75]), [75, 5, 75, 5, 45 + 5]);
    }

    #[test]
    fn each_instruction_has_its_own_shortest_times_as_long_as_there_is_room() {
        let times = Times::new(1);
        let work = |code, took| work_after(code, &times, false, false, took);
        // Some of two dozen instructions have the same hash.
        let all = 0x1000..0x1000 + 24;
        for (at, code) in all.clone().enumerate() {
            let least = 100 * at as u64;
            assert_eq!([least, least, least + 40].map(|took| work(code, took))[2], least + 15);
        }
        let is_kept =
            |(at, code): &(usize, u64)| work(*code, 100 * *at as u64 + 40) == 100 * *at as u64 + 15;
        let kept = all.enumerate().filter(is_kept).count();
        assert!(kept >= 20, "{kept}");
        // One that has no place any more is begun anew.
        (0..10_000).for_each(|code| _ = work(code, 5));
        assert_eq!(work(0x1000, 40), 40);
    }

    #[test]
    fn a_plain_access_may_wait_for_its_line_outside_of_the_runtime() {
        for (is_plain, is_plain_write) in [(true, false), (false, true)] {
            let times = Times::new(1);
            (0..1000).for_each(|_| times.add_usual(100));
            let usual = u64::from(times.usual.get());
            assert!((90..=100).contains(&usual), "{usual}");
            let took = [50, 50, 50 + 2 * usual, 60 + 2 * usual];
            assert_eq!(work(&times, is_plain, is_plain_write, took), [50, 50, 50, 60]);
        }
    }

    #[test]
    fn a_gap_ends_where_the_thread_is_back_at_the_line() {
        let times = Times::new(1);
        let mut entry = Entry::read(&[]);
        let by: *mut Entry = &raw mut entry;
        assert!(!times.is_back(0x1040) && !times.is_away_for(0, 1000));
        times.begin_gap(1000, 0x1040, by, false);
        // One at a time.
        times.begin_gap(1010, 0x2000, null_mut(), false);
        assert!(times.is_back(0x1078) && !times.is_back(0x1080) && !times.is_back(0x2000));
        assert!(times.is_away_for(500, 1500) && !times.is_away_for(501, 1500));
        assert_eq!(times.end_gap(1500, 20, false), (by, 480));
        assert!(!times.is_back(0x1040));
        // Shorter than what timing takes, and begun by a signal handler since the clock was read.
        for (begun, nothing) in [(1000, 501), (1600, 0)] {
            times.begin_gap(begun, 0x1040, by, false);
            assert_eq!(times.end_gap(1500, nothing, false), (by, 0));
        }
        times.begin_gap(2000, 0x2000, by, false);
        times.interrupt();
        assert!(!times.is_back(0x2000));
    }
}
