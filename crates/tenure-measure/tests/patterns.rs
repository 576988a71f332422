//! What a user's pattern finds, and what the last number of an output is.

use tenure_measure::metric::{Pattern, Reading, last_number};
use tenure_model::Better;

fn found(pattern: &str, output: &str) -> Vec<Reading> {
    Pattern::new(pattern, None).unwrap().readings(output)
}

/// The figure that a pattern finds, in its unit.
#[track_caller]
fn assert_finds(pattern: &str, output: &str, expected: f64, unit: &str) {
    let found = found(pattern, output);
    let figure = found.iter().map(|it| (it.value, it.unit.as_str())).collect::<Vec<_>>();
    assert_eq!(figure, [(expected, unit)], "{pattern} in {output}");
}

#[test]
fn the_first_group_is_the_number() {
    assert_finds("ops/s: ([0-9.]+)", "ops/s: 123.5", 123.5, "ops/s");
    assert_finds(r"(\d+) tps of (\d+)", "5 tps of 9", 5.0, "tps");
}

#[test]
fn a_number_may_have_separators_an_exponent_and_a_suffix() {
    for (number, expected) in [
        ("1,234,567", 1_234_567.0),
        ("1_234.5", 1234.5),
        ("1.5e+06", 1_500_000.0),
        ("1.5k", 1500.0),
        ("2M", 2_000_000.0),
        ("3G", 3e9),
        ("12.", 12.0),
    ] {
        assert_finds("ops/s: ([0-9.]+)", &format!("ops/s: {number}"), expected, "ops/s");
        assert_finds("ops/s: ([0-9.,_e+kMG]+)", &format!("ops/s: {number}"), expected, "ops/s");
    }
}

#[test]
fn a_number_is_never_read_in_part() {
    assert_finds("([0-9]+) ns", "1234.56 ns", 1234.56, "ns");
    assert_eq!(found("([0-9.]+) ns", "-5 ns"), []);
    // The pattern itself says that a comma ends the number.
    assert_finds("ops,([0-9]+),", "ops,12,345,6", 12.0, "ops");
    assert_finds("ops,([0-9]+)", "ops,12,345,6", 12.0, "ops");
}

#[test]
fn runs_that_print_different_units_compare() {
    assert_finds("took ([0-9.]+) ?(?:ns|us|µs|ms)", "took 1.2 µs", 1200.0, "ns");
    assert_finds("took ([0-9.]+) ?(?:ns|us|µs|ms)", "took 950ns", 950.0, "ns");
    assert_finds("rate, ops/s: ([0-9.]+)", "rate, ops/s: 2 Mops/s", 2e6, "ops/s");
    assert_finds("ops/s: ([0-9.]+)", "ops/s: 3M/s", 3e6, "/s");
}

#[test]
fn a_unit_that_contradicts_the_pattern_belongs_to_something_else() {
    assert_finds("ops/s: ([0-9.]+)", "ops/s: 12 ms: 5", 12.0, "ops/s");
}

#[test]
fn the_direction_follows_from_the_unit() {
    for (pattern, better) in [
        ("ops/s: ([0-9.]+)", Better::Higher),
        ("([0-9.]+) requests per second", Better::Higher),
        ("([0-9.]+) tps", Better::Higher),
        (r"latency\s+([0-9.]+)\s+ms", Better::Lower),
        ("([0-9.]+) ns/iter", Better::Lower),
        ("([0-9.]+) B/op", Better::Lower),
    ] {
        let output = pattern.replace("([0-9.]+)", "5").replace(r"\s+", " ");
        assert_eq!(found(pattern, &output)[0].better, better, "{pattern}");
    }
}

#[test]
fn a_direction_that_nothing_says_is_asked_for() {
    for pattern in [r"took\s(\d+)", "it's ([0-9]+)", "(?s)took ([ms0-9]+)", "score ([0-9]+)"] {
        let error = Pattern::new(pattern, None).unwrap_err().to_string();
        assert!(error.contains("--better lower, or --better higher"), "{error}");
        let given = Pattern::new(pattern, Some(Better::Lower)).unwrap();
        assert!(
            given.readings("took 5, it's 5, score 5").iter().all(|it| it.better == Better::Lower)
        );
    }
}

#[test]
fn the_direction_that_the_caller_gives_wins() {
    let pattern = Pattern::new("uptime ([0-9.]+) s", Some(Better::Higher)).unwrap();
    let reading = &pattern.readings("uptime 5 s")[0];
    assert_eq!((reading.value, reading.better), (5.0, Better::Higher));
}

#[test]
fn several_figures_are_named_by_a_group_or_numbered() {
    let names = |pattern: &str, output: &str| -> Vec<String> {
        found(pattern, output).into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names("([0-9]+) ns", "5 ns"), [""]);
    assert_eq!(names("([0-9]+) ns", "5 ns, 6 ns\n7 ns"), ["#1", "#2", "#3"]);
    let named = r"(?<name>\w+): ([0-9]+) ns";
    assert_eq!(names(named, "get: 5 ns\nput: 6 ns\nget: 7 ns"), ["get", "put", "get #2"]);
    assert_eq!(found(named, "get: 5 ns")[0].value, 5.0);
}

#[test]
fn a_pattern_that_cannot_be_used_says_why() {
    for (pattern, reason) in [
        ("ops/s: (", "is no regular expression"),
        ("ops/s: [0-9.]+", "put the number in parentheses"),
        ("(?<name>x) ns", "put the number in parentheses"),
    ] {
        let error = Pattern::new(pattern, None).unwrap_err().to_string();
        assert!(error.contains(reason) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_group_that_is_no_figure_is_left_out() {
    for output in ["ops/s: nan", "ops/s: inf", "ops/s: 0", "ops/s: ...", "ops/s: 1e999", "ops/s:"] {
        assert_eq!(found("ops/s: (.*)", output), [], "{output}");
    }
}

#[test]
fn a_pattern_sees_lines_without_colours_and_progress() {
    assert_finds("^([0-9]+) ns$", "1 ns\r\u{1b}[31m25\u{1b}[0m ns\r\n", 25.0, "ns");
}

#[test]
fn the_last_number_stands_alone() {
    for (output, expected) in [
        ("5\n7\n", 7.0),
        ("took 12.5ms", 12.5e6),
        ("took 12.5 ms.", 12.5e6),
        ("ops=1,234 (total)", 1234.0),
        ("rate: 1.5k", 1500.0),
        ("{\"ops\":42}", 42.0),
        ("ops:42", 42.0),
        ("score 7 at 12:30:05 on 2026-11-28, version 1.2.3, 100 % of 3/5, x86_64, 5th, 99.9%", 7.0),
        ("[+5]", 5.0),
    ] {
        assert_eq!(last_number(output), Some(expected), "{output}");
    }
}

#[test]
fn the_last_number_is_never_an_earlier_one() {
    for output in [
        "threads: 8\nops/s: nan",
        "8 threads, -5",
        "8 threads, 0",
        "8 inf",
        "8 -nan",
        "no number",
        "",
    ] {
        assert_eq!(last_number(output), None, "{output}");
    }
}
