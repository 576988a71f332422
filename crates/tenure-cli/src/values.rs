//! Parsers of options. An error is a line that shows a good value.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use tenure_bench::run::MAX_THREADS;
use tenure_bench::simulate::run::MAX_SIMULATED_US;

pub(crate) fn line(text: &str) -> Result<u64, String> {
    match text.trim().parse::<u64>() {
        Ok(bytes) if bytes.is_power_of_two() && (16..=4096).contains(&bytes) => Ok(bytes),
        _ => Err("a line is a power of two from 16 to 4096 bytes".to_owned()),
    }
}

/// The limit of the runtime's records.
pub(crate) fn run_line(text: &str) -> Result<u32, String> {
    match text.trim() {
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("a line is 64 or 128 bytes here".to_owned()),
    }
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let shift = match unit.trim().trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "k" | "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 64,
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| {
        number.checked_mul(1_u64.checked_shl(shift)?).filter(|bytes| *bytes >= 1 << 20)
    });
    bytes.ok_or_else(|| "a size is at least 1M, such as `256M` or `2G`".to_owned())
}

pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| "a count is a whole number, such as 10".to_owned())
}

fn above_zero<T: FromStr + PartialOrd + Default>(text: &str) -> Option<T> {
    text.trim().parse().ok().filter(|number| *number > T::default())
}

pub(crate) fn rounds(text: &str) -> Result<usize, String> {
    above_zero(text).ok_or_else(|| "rounds are a whole number above 0, such as 20".to_owned())
}

pub(crate) fn change(text: &str) -> Result<u64, String> {
    above_zero(text)
        .ok_or_else(|| "a change has a number above 0, as the report shows it".to_owned())
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "a seed is a whole number, such as 1".to_owned())
}

pub(crate) fn process(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "a process has a number above 0, as `ps -e` lists them".to_owned())
}

pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(0) => Err("a run needs at least 1 thread".to_owned()),
        Ok(threads) if threads > MAX_THREADS => {
            Err(format!("at most {MAX_THREADS} threads can be asked for"))
        }
        Ok(threads) => Ok(threads),
        Err(_) => Err("numbers of threads look like `1,2,8`".to_owned()),
    }
}

pub(crate) fn microseconds(text: &str) -> Result<u32, String> {
    within(text, 1..=MAX_SIMULATED_US, "microseconds are a whole number")
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0);
    seconds.ok_or_else(|| "seconds are a number above 0, such as `0.5`".to_owned())
}

/// `30s`, `500ms`, `2m`; a number alone is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_alphabetic()).len());
    let unit = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number.trim().parse::<f64>().unwrap_or(f64::NAN) * unit;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero());
    duration.ok_or_else(|| {
        "a time is above 0, such as `30s`, `500ms` or `2m`; a number alone is seconds".to_owned()
    })
}

/// `2%` or `2`, as a part of one.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let part = number.map(|it| it / 100.0).filter(|it| it.is_finite() && *it > 0.0);
    part.ok_or_else(|| "a part is above 0, in per cent, such as `2%`".to_owned())
}

/// `NAME=VALUE`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    parts.ok_or_else(|| "a variable looks like `NAME=VALUE`".to_owned())
}

pub(crate) fn rate(text: &str) -> Result<u64, String> {
    within(text, 1..=10_000, "samples a second are a whole number")
}

pub(crate) fn probes(text: &str) -> Result<f64, String> {
    within(text, 0.1..=100.0, "probes a second are a number")
}

fn within<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
    what: &str,
) -> Result<T, String> {
    let number = text.trim().parse().ok().filter(|it| range.contains(it));
    number.ok_or_else(|| format!("{what} from {} to {}", range.start(), range.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("256M").unwrap(), 256 << 20);
        assert_eq!((size("2GiB").unwrap(), size("1048576").unwrap()), (2 << 30, 1 << 20));
        for bad in ["", "M", "1K", "-1G", "1T", "99999999999999G", "1.5G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(run_line("64").is_ok() && run_line("32").is_err());
    }

    #[test]
    fn a_part_is_in_per_cent_and_a_variable_has_a_name() {
        assert_eq!(
            (percent("2%").unwrap(), percent(" 50 % ").unwrap(), percent("1").unwrap()),
            (0.02, 0.5, 0.01)
        );
        assert!(["0%", "-1%", "x", "", "inf%"].into_iter().all(|it| percent(it).is_err()));
        assert_eq!(variable("A=b=c").unwrap(), ("A".to_owned(), "b=c".to_owned()));
        assert!(["A", "=b", ""].into_iter().all(|it| variable(it).is_err()));
    }

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in
            [("30s", 30_000), ("500ms", 500), ("2m", 120_000), ("1.5", 1500)]
        {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        for bad in ["", "0s", "-1s", "5 weeks", "s", "1e300h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert!(rate("100").is_ok() && rate("0").is_err() && probes("20").is_ok());
        assert!(probes("0").is_err() && probes("NaN").is_err());
    }
}
