//! The numbers of CPUs of a simulation.

use std::fmt;
use std::str::FromStr;

/// Numbers of CPUs, as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuCounts {
    /// `1,2,8`: these.
    List(Vec<usize>),
    /// `1..192`: its ends, and the powers of two between.
    Range {
        /// The first.
        first: usize,
        /// The last, which is one of them.
        last: usize,
    },
}

/// An error in such a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuCountsError {
    /// It is neither a list nor a range.
    Text(String),
    /// It asks for no CPU.
    None,
    /// A range whose end is before its start.
    Backwards,
    /// More than the machine has; a range would be cut instead.
    TooMany {
        /// The number.
        asked: usize,
        /// What the machine has.
        has: usize,
    },
}

impl fmt::Display for CpuCountsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => {
                write!(f, "`{text}` is not a number of CPUs; write `1,2,8` or `1..192`")
            }
            Self::None => f.write_str("a simulation needs at least 1 CPU"),
            Self::Backwards => {
                f.write_str("a range goes from fewer CPUs to more, such as `1..192`")
            }
            Self::TooMany { asked, has } => {
                write!(f, "the machine has {has} CPUs, not {asked}")
            }
        }
    }
}

impl std::error::Error for CpuCountsError {}

impl FromStr for CpuCounts {
    type Err = CpuCountsError;

    fn from_str(all: &str) -> Result<Self, CpuCountsError> {
        let number = |text: &str| match text.trim().parse() {
            Ok(0) => Err(CpuCountsError::None),
            Ok(cpus) => Ok(cpus),
            Err(_) if text.trim().is_empty() => Err(CpuCountsError::Text(all.trim().to_owned())),
            Err(_) => Err(CpuCountsError::Text(text.trim().to_owned())),
        };
        match all.split_once("..") {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    Err(CpuCountsError::Backwards)
                } else {
                    Ok(Self::Range { first, last })
                }
            }
            None => Ok(Self::List(all.split(',').map(number).collect::<Result<_, _>>()?)),
        }
    }
}

impl CpuCounts {
    /// The numbers, ascending, on a machine of `has` CPUs, at which a range ends.
    ///
    /// # Errors
    ///
    /// A single number above `has`.
    pub fn on(&self, has: usize) -> Result<Vec<usize>, CpuCountsError> {
        let mut cpus = match self {
            Self::List(list) => list.clone(),
            Self::Range { first, last } => {
                let last = (*last).min(has);
                let powers = std::iter::successors(Some(1), |cpus| Some(cpus * 2))
                    .take_while(|&cpus| cpus < last)
                    .filter(|cpus| cpus > first);
                powers.chain([*first, last]).collect()
            }
        };
        if let Some(&asked) = cpus.iter().find(|&&cpus| cpus == 0 || cpus > has) {
            return Err(if asked == 0 {
                CpuCountsError::None
            } else {
                CpuCountsError::TooMany { asked, has }
            });
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(cpus)
    }

    /// What a machine of `has` CPUs leaves out, if anything.
    #[must_use]
    pub fn note(&self, has: usize) -> Option<String> {
        match self {
            Self::Range { first, last } if *last > has => {
                Some(format!("{first}..{last} ends at {has}, the CPUs of this machine."))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str, has: usize) -> Result<Vec<usize>, CpuCountsError> {
        text.parse::<CpuCounts>()?.on(has)
    }

    #[test]
    fn a_range_is_its_powers_of_two_and_its_ends() {
        assert_eq!(on("1..8", 8).unwrap(), [1, 2, 4, 8]);
        assert_eq!(on("3..12", 64).unwrap(), [3, 4, 8, 12]);
        assert_eq!(on("1..1", 64).unwrap(), [1]);
        assert_eq!(on("5..6", 64).unwrap(), [5, 6]);
    }

    #[test]
    fn a_range_ends_at_the_machine_and_says_so() {
        assert_eq!(on("1..192", 112).unwrap(), [1, 2, 4, 8, 16, 32, 64, 112]);
        let note = |text: &str| text.parse::<CpuCounts>().unwrap().note(112);
        assert_eq!(note("1..192").unwrap(), "1..192 ends at 112, the CPUs of this machine.");
        assert_eq!((note("1..112"), note("1,2")), (None, None));
        assert_eq!(on(&format!("1..{}", usize::MAX), 4).unwrap(), [1, 2, 4]);
    }

    #[test]
    fn a_range_that_begins_beyond_the_machine_is_refused() {
        assert_eq!(on("128..192", 112), Err(CpuCountsError::TooMany { asked: 128, has: 112 }));
    }

    #[test]
    fn a_list_is_what_it_says_in_order() {
        assert_eq!(on("8, 1,2,8", 112).unwrap(), [1, 2, 8]);
        assert_eq!(on("8,113", 112), Err(CpuCountsError::TooMany { asked: 113, has: 112 }));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["", "two", "1,", "1...4", "..", "1..", "-1", "99999999999999999999999"] {
            assert!(matches!(text.parse::<CpuCounts>(), Err(CpuCountsError::Text(_))), "{text}");
        }
        assert_eq!("0".parse::<CpuCounts>(), Err(CpuCountsError::None));
        assert_eq!("0..4".parse::<CpuCounts>(), Err(CpuCountsError::None));
        assert_eq!("4..1".parse::<CpuCounts>(), Err(CpuCountsError::Backwards));
    }
}
