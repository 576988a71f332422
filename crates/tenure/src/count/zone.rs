//! The zones of a 32-bit count that is stored as "references minus one".
//!
//! ```text
//! 0            0x7FFF_FFFF  0x8000_0000 .. 0xBFFF_FFFF  0xC000_0000 .. 0xFFFF_FFFE  0xFFFF_FFFF
//! ├── live ──────────────┤  ├──── saturated ─────────┤  ├──── dead ─────────────┤   NOREF
//! ONEREF          MAXREF         SATURATED 0xA000_0000  RELEASED   DEAD 0xE000_0000
//! ```
//!
//! Storing one less makes "no reference left" negative, so one test of the sign bit tells the valid counts from the
//! rest. An operation first adds or subtracts, then looks; in an invalid zone it moves the count back to the middle. To
//! reach the next zone from there, 2^29 references (2^13 operations of the most that one call takes) would have to be
//! between add and repair at once.
//!
//! The values are those of Linux's rcuref (Thomas Gleixner, March 2023).

/// One reference.
pub const ONEREF: u32 = 0x0000_0000;
/// The most references: 2^31.
pub const MAXREF: u32 = 0x7FFF_FFFF;
/// The middle of the saturation zone, which begins after [`MAXREF`].
pub const SATURATED: u32 = 0xA000_0000;
/// The first value of the dead zone.
pub const RELEASED: u32 = 0xC000_0000;
/// The middle of the dead zone.
pub const DEAD: u32 = 0xE000_0000;
/// The last reference is gone, and who destroys the object is not decided yet.
pub const NOREF: u32 = 0xFFFF_FFFF;

/// Where an overflow leads first.
pub(super) const FIRST_SATURATED: u32 = MAXREF + 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// One or more references.
    Live,
    /// Overflowed: leaks, is never freed.
    Saturated,
    /// Being or having been destroyed.
    Dead,
    /// The verdict is pending.
    NoRef,
}

impl Zone {
    #[inline]
    pub(super) const fn of(count: u32) -> Self {
        match count {
            ONEREF..=MAXREF => Self::Live,
            FIRST_SATURATED..RELEASED => Self::Saturated,
            RELEASED..NOREF => Self::Dead,
            NOREF => Self::NoRef,
        }
    }
}

#[inline]
pub(super) const fn references(count: u32) -> u32 {
    if count >= RELEASED { 0 } else { count + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_boundary_value_lies_in_its_zone() {
        for (count, zone) in [
            (ONEREF, Zone::Live),
            (MAXREF, Zone::Live),
            (MAXREF + 1, Zone::Saturated),
            (SATURATED, Zone::Saturated),
            (RELEASED - 1, Zone::Saturated),
            (RELEASED, Zone::Dead),
            (DEAD, Zone::Dead),
            (NOREF - 1, Zone::Dead),
            (NOREF, Zone::NoRef),
        ] {
            assert_eq!(Zone::of(count), zone, "{count:#x}");
        }
    }

    #[test]
    fn the_middles_are_half_a_gibi_from_their_borders() {
        assert_eq!(SATURATED - (MAXREF + 1), 1 << 29);
        assert_eq!(RELEASED - SATURATED, 1 << 29);
        assert_eq!(DEAD - RELEASED, 1 << 29);
        assert_eq!(NOREF - DEAD, (1 << 29) - 1);
    }
}
