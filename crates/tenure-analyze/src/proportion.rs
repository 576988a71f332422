//! The interval of a share, estimated from samples.

/// Two-sided 95 %.
const Z: f64 = 1.96;

/// The 95 % interval of a share of which `part` of `all` were seen: Wilson's. Unlike the normal one it stays between 0 and 1, and says
/// something of none and of all. Of none of 100 it is 0 to 3.7 %.
#[must_use]
pub fn interval(part: f64, all: f64) -> [f64; 2] {
    if all <= 0.0 {
        return [0.0, 1.0];
    }
    let seen = (part / all).clamp(0.0, 1.0);
    let square = Z * Z / all;
    let middle = seen + square / 2.0;
    let half = Z * (seen * (1.0 - seen) / all + square / (4.0 * all)).sqrt();
    let end = |end: f64| (end / (1.0 + square)).clamp(0.0, 1.0);
    [end(middle - half), end(middle + half)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_wide_where_little_was_seen() {
        // By the formula, with a pocket calculator.
        for (part, all, expected) in [
            (0.0, 0.0, [0.0, 1.0]),
            (0.0, 100.0, [0.0, 0.037]),
            (0.0, 3.0, [0.0, 0.561]),
            (1.0, 197.0, [0.0009, 0.0282]),
            (100.0, 200.0, [0.431, 0.569]),
            (50.0, 50.0, [0.929, 1.0]),
        ] {
            let [low, high] = interval(part, all);
            let is_near = |one: f64, other: f64| (one - other).abs() < 0.001;
            assert!(
                is_near(low, expected[0]) && is_near(high, expected[1]),
                "{part} of {all}: {low} to {high}"
            );
        }
    }
}
