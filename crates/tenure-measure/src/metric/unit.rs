//! Units of figures: how many of the base unit one of them is, and which figure is the better one.

use tenure_model::Better;

/// What a figure counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FigureUnit {
    /// The base unit: `ns`, `ops/s`.
    pub(super) name: String,
    /// How many of the base unit one of this unit is.
    pub(super) factor: f64,
    /// Which figure is the better one.
    pub(super) better: Better,
}

/// What rates count that tools scale: `Melem/s`, `GiB/s`, `kops/s`. Of other words the first letter is their own.
const SCALED: [&str; 16] = [
    "B", "b", "Hz", "bytes", "char", "cycles", "elem", "item", "items", "op", "ops", "qps", "req",
    "requests", "rps", "tps",
];
/// What `ns/x` is a time of. Others, such as `ms/s`, are a share.
const TIMED: [&str; 9] =
    ["op", "iter", "ops", "operation", "iteration", "call", "elem", "item", "req"];

impl FigureUnit {
    /// What `text` stands for, if it says which figure is better.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.replace(" per ", "/");
        let unit =
            |name: &str, factor, better| Some(Self { name: name.to_owned(), factor, better });
        let (what, per) = text.split_once('/').unwrap_or((&text, ""));
        match (nanoseconds(what), per, nanoseconds(per)) {
            (Some(factor), "", _) => unit("ns", factor, Better::Lower),
            (Some(factor), per, None) if TIMED.contains(&per) => unit("ns", factor, Better::Lower),
            (None, _, Some(span)) if is_word(what) => {
                let (scale, what) = unscaled(what);
                unit(&format!("{what}/s"), scale * 1e9 / span, Better::Higher)
            }
            (None, "op" | "iter", _) if is_word(what) => unit(&text, 1.0, Better::Lower),
            (None, "", _) => {
                let (scale, what) = unscaled(what);
                let is_rate = ["Hz", "ops", "qps", "rps", "tps"].contains(&what);
                is_rate.then(|| unit(what, scale, Better::Higher)).flatten()
            }
            _ => None,
        }
    }
}

/// How many times the base unit a prefix stands for.
pub(super) fn scale(prefix: &str) -> Option<f64> {
    let power = "kMGTPE".find(prefix.get(..1)?.replace('K', "k").as_str())? + 1;
    match prefix.get(1..)? {
        "" => Some(1000_f64.powi(power.try_into().ok()?)),
        "i" => Some(1024_f64.powi(power.try_into().ok()?)),
        _ => None,
    }
}

fn unscaled(what: &str) -> (f64, &str) {
    if let Some(factor) = scale(what) {
        return (factor, "");
    }
    let scaled = SCALED.iter().find_map(|&base| Some((scale(what.strip_suffix(base)?)?, base)));
    scaled.unwrap_or((1.0, what))
}

fn nanoseconds(text: &str) -> Option<f64> {
    Some(match text {
        "ps" => 1e-3,
        "ns" | "nsec" | "nanoseconds" => 1.0,
        // The micro sign, and the Greek letter.
        "us" | "µs" | "μs" | "usec" | "micros" | "microseconds" => 1e3,
        "ms" | "msec" | "millis" | "milliseconds" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        _ => return None,
    })
}

/// Whether `text` may be what a rate counts; `/s` alone counts something that the text does not name.
fn is_word(text: &str) -> bool {
    text.chars().all(|it| it.is_alphanumeric() || "_-.".contains(it))
        && !text.starts_with(|it: char| it.is_ascii_digit())
}
