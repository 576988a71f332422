//! Numbers and quantities, for terminals and HTML.

use std::fmt::Display;

/// About three significant digits: `0.412`, `5.31`, `52.3`, `1,240`.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    // By the rounded value: 9.996 is not printed as 10.00.
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 0.0995 => 4,
        size if size < 0.9995 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// An exact figure without spare zeros: `0.5`, `25`, `1,000`.
#[must_use]
pub fn short(value: f64) -> String {
    let text = number(value);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A ratio to two decimals below 10, and as [`number`] above. A ratio other than 1 gets a third or fourth decimal
/// instead of `1.00`: which side of 1 an interval ends on is its point. Below four decimals it has two significant
/// digits.
#[must_use]
pub fn ratio(value: f64) -> String {
    match value.abs() {
        size if (0.0995..0.995).contains(&size)
            || (1.005..9.995).contains(&size)
            || size == 1.0 =>
        {
            format!("{value:.2}")
        }
        size if (0.995..1.005).contains(&size) => format!("{value:.3}"),
        size if size > 0.0 && size < 0.000_95 => {
            let zeros = -size.log10().floor();
            format!("{value:.*}", (zeros + 1.0) as usize)
        }
        _ => number(value),
    }
}

/// Two significant digits and a decimal unit: `12`, `410 k`, `1.2 M`.
#[must_use]
pub fn scaled(value: f64) -> String {
    const UNITS: [&str; 5] = ["", " k", " M", " G", " T"];
    if !value.is_finite() {
        return "–".to_owned();
    }
    let mut unit = 0;
    let mut left = value;
    // By the rounded value: 999.6 is not printed as 1000.
    while left.abs() >= 999.5 && unit + 1 < UNITS.len() {
        left /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(left.abs() < 9.95 && left.fract() != 0.0);
    format!("{left:.decimals$}{}", UNITS[unit])
}

/// How many times as much, as a range: `1.4 to 1.9×`, `31 to 42×`, `over 100×`. Beyond that something else is the limit.
#[must_use]
pub fn times([least, most]: [f64; 2]) -> String {
    const MAX: f64 = 100.0;
    let figure = |value: f64| match value {
        value if value.is_nan() => "–".to_owned(),
        ..9.95 => format!("{value:.1}"),
        ..MAX => format!("{value:.0}"),
        _ => format!("over {MAX}"),
    };
    match (figure(least), figure(most)) {
        (least, most) if least == most => format!("{most}×"),
        (least, most) => format!("{least} to {most}×"),
    }
}

/// `2.4 to 4.6× as much on 2 CPUs, and 8.4 to 20× on 16`: ranges of factors, each with its number of CPUs.
#[must_use]
pub fn times_on(gains: impl IntoIterator<Item = ([f64; 2], u64)>) -> String {
    let mut said = String::new();
    for (range, cpus) in gains {
        said += &match said.is_empty() {
            true => format!("{} as much on {}", times(range), counted(cpus, "CPU")),
            false => format!(", and {} on {cpus}", times(range)),
        };
    }
    said
}

/// `its 2 CPUs`, of which there may be a part, or `its CPU`.
#[must_use]
pub fn its_cpus(cpus: f64) -> String {
    match &*scaled(cpus) {
        "1" => "its CPU".to_owned(),
        cpus => format!("its {cpus} CPUs"),
    }
}

/// A share in per cent: `41 %`; below ten with a decimal.
#[must_use]
pub fn share(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.is_finite() && percent < 9.95 && percent > 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A whole number with a comma at each thousand.
#[must_use]
pub fn whole(value: impl Display) -> String {
    grouped(&value.to_string())
}

/// Digits with a comma at each thousand; a sign and decimals stay.
#[must_use]
pub fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.find('.').map_or((digits, ""), |dot| digits.split_at(dot));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// A size with a binary unit: `48 KiB`, `1 MiB`, `503 GiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    // A float holds every size to the three digits printed.
    #[allow(clippy::cast_precision_loss)]
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// `1 thread`, `192 threads`.
#[must_use]
pub fn counted(count: impl Display, one: &str) -> String {
    let count = whole(count);
    format!("{count} {one}{}", if count == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_name_their_cpus() {
        let said = times_on([([2.4, 4.6], 2), ([8.4, 20.0], 16)]);
        assert_eq!(said, "2.4 to 4.6× as much on 2 CPUs, and 8.4 to 20× on 16");
        assert_eq!(times_on([([1.0, 1.0], 1)]), "1.0× as much on 1 CPU");
        assert_eq!([1.0, 1.5, 4.0].map(its_cpus), ["its CPU", "its 1.5 CPUs", "its 4 CPUs"]);
    }

    #[test]
    fn figures_have_about_three_digits_that_count() {
        let shown: Vec<_> =
            [0.0, 0.01234, 0.4119, 5.312, 9.996, 52.34, 99.97, 1240.4, 1_234_567.0, -1240.0]
                .into_iter()
                .map(number)
                .collect();
        assert_eq!(
            shown,
            ["0", "0.0123", "0.412", "5.31", "10.0", "52.3", "100", "1,240", "1,234,567", "-1,240"]
        );
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(f64::INFINITY), "–");
    }

    #[test]
    fn exact_figures_have_no_zeros_to_spare() {
        let shown: Vec<_> = [0.0, 0.25, 0.5, 2.5, 10.0, 1000.0].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "0.25", "0.5", "2.5", "10", "1,000"]);
    }

    #[test]
    fn scaled_figures_have_two_digits_that_count() {
        let shown: Vec<_> =
            [0.0, 0.34, 3.0, 12.4, 410_000.0, 999_600.0, 1_234_567.0, 9_960_000.0, 2.8e15]
                .into_iter()
                .map(scaled)
                .collect();
        assert_eq!(shown, ["0", "0.3", "3", "12", "410 k", "1.0 M", "1.2 M", "10 M", "2800 T"]);
        assert_eq!(scaled(f64::NAN), "–");
    }

    #[test]
    fn a_ratio_that_is_not_1_does_not_read_as_1() {
        let shown: Vec<_> = [0.41, 0.996, 1.0, 1.004, 1.2, 12.34].into_iter().map(ratio).collect();
        assert_eq!(shown, ["0.41", "0.996", "1.00", "1.004", "1.20", "12.3"]);
    }

    #[test]
    fn a_range_of_times_has_as_many_digits_as_are_known() {
        for (range, expected) in [
            ([1.42, 1.87], "1.4 to 1.9×"),
            ([0.94, 1.01], "0.9 to 1.0×"),
            ([1.41, 1.44], "1.4×"),
            ([9.96, 31.2], "10 to 31×"),
            ([88.0, 250.0], "88 to over 100×"),
            ([120.0, 250.0], "over 100×"),
        ] {
            assert_eq!(times(range), expected);
        }
    }

    #[test]
    fn sizes_have_the_largest_unit_that_fits() {
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(1 << 20), "1 MiB");
        assert_eq!(bytes(540_659_138_560), "504 GiB");
        assert_eq!(bytes(100 << 20), "100 MiB");
        assert_eq!(bytes(7 << 39), "3.5 TiB");
    }
}
