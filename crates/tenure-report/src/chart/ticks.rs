//! Ticks of an axis: at round figures, few enough to read.

/// The largest over the smallest value from which a linear scale hides the ratios among small ones.
const LOGARITHMIC: f64 = 6.0;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub logarithmic: bool,
    pub low: f64,
    pub high: f64,
    /// Ascending.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// Shows all of `values`, which are finite and not negative: from 0, or logarithmic if they are far apart.
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let high = values.clone().fold(0.0, f64::max);
        let low = values.fold(f64::INFINITY, f64::min);
        if low > 0.0 && high / low > LOGARITHMIC {
            Self::logarithmic(low, high)
        } else {
            Self::from_zero(high)
        }
    }

    pub(super) fn from_zero(high: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let rough = high / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|step| step * power)
            .find(|step| high / step <= 5.0)
            .unwrap_or(high);
        let ticks: Vec<_> = (0..)
            .map(|index: u32| f64::from(index) * step)
            .take_while(|tick| *tick <= high * 1.02)
            .collect();
        Self { logarithmic: false, low: 0.0, high: high * 1.05, ticks }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let (low, high) = (low / 1.15, high * 1.15);
        // Powers of ten, with more between if there is room.
        let all = |within: &'static [f64]| -> Vec<f64> {
            #[allow(clippy::cast_possible_truncation)]
            let exponents = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
            exponents
                .flat_map(|exponent| within.iter().map(move |of| of * 10_f64.powi(exponent)))
                .filter(|tick| (low..=high).contains(tick))
                .collect()
        };
        let ticks = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]]
            .into_iter()
            .map(all)
            .find(|ticks| ticks.len() <= 7)
            .unwrap_or_else(|| {
                let powers = all(&[1.0]);
                let every = powers.len().div_ceil(7);
                powers.into_iter().step_by(every).collect()
            });
        Self { logarithmic: true, low, high, ticks }
    }

    /// Equal distances on the axis are equal differences of places.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.max(self.low).log10() } else { value }
    }
}

/// Those of ascending `places` whose labels are at least `room` apart, the first and the last in any case.
pub(super) fn with_room(places: &[f64], room: f64) -> Vec<usize> {
    let Some(last) = places.len().checked_sub(1) else { return Vec::new() };
    let mut kept: Vec<usize> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let after = kept.last().is_none_or(|&before| place - places[before] >= room);
        let before = index == last || places[last] - place >= room;
        if index == 0 || index == last || (after && before) {
            kept.push(index);
        }
    }
    if last > 0 && places[last] - places[0] < room {
        kept.retain(|&index| index == last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_from_zero_has_round_ticks() {
        assert_eq!(Scale::from_zero(132.0).ticks, [0.0, 50.0, 100.0]);
        assert_eq!(Scale::from_zero(4.0).ticks, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::from_zero(0.0), Scale::from_zero(1.0));
        for high in [0.003, 0.7, 1.0, 9.7, 17.9, 99.0, 26_708.0] {
            let scale = Scale::from_zero(high);
            assert!((3..=6).contains(&scale.ticks.len()), "{high}: {scale:?}");
        }
    }

    #[test]
    fn values_far_apart_get_powers_of_ten() {
        let scale = Scale::of([1.0, 1000.0].into_iter());
        assert!(scale.logarithmic);
        assert_eq!(scale.ticks, [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]);
        assert!(Scale::of([1e-9, 1e12].into_iter()).ticks.len() <= 7);
        assert!(!Scale::of([0.0, 1000.0].into_iter()).logarithmic, "0 has no place among ratios");
        assert!(!Scale::of(std::iter::empty()).logarithmic);
    }

    #[test]
    fn labels_without_room_are_left_out_but_not_the_ends() {
        assert_eq!(with_room(&[0.0, 1.0, 2.0, 2.1, 2.2], 0.5), [0, 1, 4]);
        assert_eq!(with_room(&[0.0, 1.0, 2.0], 1.0), [0, 1, 2]);
        assert_eq!(with_room(&[0.0, 0.1], 0.5), [1]);
        assert_eq!(with_room(&[3.0], 1.0), [0]);
        assert!(with_room(&[], 1.0).is_empty());
    }
}
