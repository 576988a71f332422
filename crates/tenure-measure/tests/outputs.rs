//! What is read of the output of real runs, and that nothing is read of what only resembles it.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tenure_measure::metric::{Reading, independent_readings, last_number, readings};
use tenure_model::Better;

fn output(file: &str) -> String {
    fs::read_to_string(Path::new("tests/outputs").join(file)).unwrap()
}

/// One line for each reading: `<` stands before a figure that is better the lower it is.
fn shown(readings: &[Reading]) -> Vec<String> {
    let line = |it: &Reading| {
        let better = if it.better == Better::Lower { '<' } else { '>' };
        format!("{} {better} {:.6} {}", it.name, it.value, it.unit).replace(".000000", "")
    };
    readings.iter().map(line).collect()
}

#[track_caller]
fn assert_reads(output: &str, expected: &[&str]) {
    assert_eq!(shown(&readings(output)), expected);
}

#[test]
fn of_criterion_the_estimate_is_read_and_no_change_since_the_last_run() {
    let group = "a group with quite a long name";
    assert_reads(
        &output("criterion.txt"),
        &[
            "fib 10 < 174.300000 ns",
            &format!("{group}/fill/64 < 3.242100 ns"),
            &format!("{group}/fill/64 (thrpt) > 19740743434.240002 B/s"),
            &format!("{group}/fill/1048576 < 29474 ns"),
            &format!("{group}/fill/1048576 (thrpt) > 35577361596.416000 B/s"),
            &format!("{group}/sum < 209.150000 ns"),
            &format!("{group}/sum (thrpt) > 478130000 elem/s"),
        ],
    );
}

#[test]
fn colours_and_progress_of_a_terminal_are_passed_over() {
    assert_reads(&output("criterion_terminal.txt"), &["fib 10 < 660.860000 ns"]);
}

#[test]
fn of_divan_the_median_is_read_under_the_names_of_its_tree() {
    assert_reads(
        &output("divan.txt"),
        &[
            "div/add/t=1 < 8.798000 ns",
            "div/add/t=2 < 19.290000 ns",
            "div/fill/16 < 2.267000 ns",
            "div/fill/16 (B/s) > 7057000000 B/s",
            "div/fill/4096 < 35.200000 ns",
            "div/fill/4096 (B/s) > 116300000000 B/s",
            "div/strings/make < 32.770000 ns",
            "div/strings/of/String/1 < 0.230000 ns",
            "div/strings/of/String/2 < 0.561000 ns",
            "div/strings/of/Vec<u8>/1 < 0.345000 ns",
            "div/strings/of/Vec<u8>/2 < 0.345000 ns",
        ],
    );
}

#[test]
fn of_libtest_whole_and_broken_nanoseconds_are_read() {
    assert_reads(
        &output("libtest.txt"),
        &[
            "tests::add < 0.780000 ns",
            "tests::copy < 26.660000 ns",
            "tests::copy (MB/s) > 39384000000 B/s",
            "tests::sort < 53834.360000 ns",
        ],
    );
    // Before Rust 1.79.
    assert_reads("test copy ... bench:   1,234,567 ns/iter (+/- 56,789)", &["copy < 1234567 ns"]);
}

#[test]
fn of_google_benchmark_time_cpu_and_rates_are_read_and_no_size_or_error() {
    assert_reads(
        &output("google_benchmark.txt"),
        &[
            "Add/threads:1 < 10.600000 ns",
            "Add/threads:1 (cpu) < 6.910000 ns",
            "Add/threads:1 (items_per_second) > 144715000 items/s",
            "Add/threads:2 < 17.700000 ns",
            "Add/threads:2 (cpu) < 14.500000 ns",
            "Add/threads:2 (items_per_second) > 68971800 items/s",
            "Copy/64 < 5 ns",
            "Copy/64 (cpu) < 3 ns",
            "Copy/64 (bytes_per_second) > 21547850924.032001 bytes/s",
            "Copy/64 (copies) > 336685000 copies/s",
            "Copy/1048576 < 67300 ns",
            "Copy/1048576 (cpu) < 42500 ns",
            "Copy/1048576 (bytes_per_second) > 24684143417.753601 bytes/s",
            "Copy/1048576 (copies) > 23540.700000 copies/s",
            "Make<unsigned int> < 22.600000 ns",
            "Make<unsigned int> (cpu) < 14.400000 ns",
        ],
    );
}

#[test]
fn of_google_benchmark_counters_are_read_in_columns_too() {
    let found = shown(&readings(&output("google_benchmark_tabular.txt")));
    assert!(found.contains(&"Add/threads:1 (items_per_second) > 132844000 items/s".to_owned()));
    assert!(found.contains(&"Copy/64 (copies) > 300697000 copies/s".to_owned()));
    assert_eq!(found.len(), 14);
}

#[test]
fn of_google_benchmark_repetitions_the_median_is_read() {
    assert_reads(
        &output("google_benchmark_repetitions.txt"),
        &[
            "Add/threads:1 < 9.260000 ns",
            "Add/threads:1 (cpu) < 6.360000 ns",
            "Add/threads:1 (items_per_second) > 157231000 items/s",
            "Add/threads:2 < 12.600000 ns",
            "Add/threads:2 (cpu) < 7.720000 ns",
            "Add/threads:2 (items_per_second) > 129569000 items/s",
            "Make<unsigned int> < 20.600000 ns",
            "Make<unsigned int> (cpu) < 14.900000 ns",
        ],
    );
    assert_reads(
        &output("google_benchmark_repetitions.json"),
        &["Make<unsigned int> < 16.241769 ns", "Make<unsigned int> (cpu) < 15.089896 ns"],
    );
}

#[test]
fn a_google_benchmark_may_be_called_as_an_aggregate_is() {
    let table =
        "Benchmark   Time   CPU   Iterations\nx  1 ns  1 ns  100\nx_median  7 ns  6 ns  90\n";
    assert_reads(
        table,
        &["x < 1 ns", "x (cpu) < 1 ns", "x_median < 7 ns", "x_median (cpu) < 6 ns"],
    );
}

#[test]
fn google_benchmark_says_the_same_as_text_and_as_json() {
    let [text, json] =
        ["txt", "json"].map(|it| readings(&output(&format!("google_benchmark.{it}"))));
    // That `copies` is a rate is in the text only.
    let names = |of: &[Reading]| -> Vec<_> {
        of.iter()
            .map(|it| (it.name.clone(), it.unit.clone()))
            .filter(|it| !it.0.contains("copies"))
            .collect()
    };
    assert_eq!(names(&text), names(&json));
    assert_eq!(shown(&json)[9], "Copy/1048576 < 94557.409767 ns");
}

#[test]
fn of_go_every_metric_is_read_and_repeated_names_are_numbered() {
    assert_reads(
        &output("go.txt"),
        &[
            "BenchmarkAppend-2 < 61.600000 ns",
            "BenchmarkAppend-2 (B/op) < 64 B/op",
            "BenchmarkAppend-2 (allocs/op) < 1 allocs/op",
            "BenchmarkAppend-2 #2 < 46.990000 ns",
            "BenchmarkAppend-2 (B/op) #2 < 64 B/op",
            "BenchmarkAppend-2 (allocs/op) #2 < 1 allocs/op",
            "BenchmarkCopy/64B-2 < 3.224000 ns",
            "BenchmarkCopy/64B-2 (MB/s) > 19849040000 B/s",
            "BenchmarkCopy/64B-2 #2 < 3.190000 ns",
            "BenchmarkCopy/64B-2 (MB/s) #2 > 20061040000 B/s",
            "BenchmarkCopy/4KiB-2 < 34.580000 ns",
            "BenchmarkCopy/4KiB-2 (MB/s) > 118446930000 B/s",
            "BenchmarkCopy/4KiB-2 #2 < 35.190000 ns",
            "BenchmarkCopy/4KiB-2 (MB/s) #2 > 116400920000 B/s",
            "BenchmarkLock-2 < 18.200000 ns",
            "BenchmarkLock-2 (locks/s) > 54960342 locks/s",
            "BenchmarkLock-2 #2 < 17.430000 ns",
            "BenchmarkLock-2 (locks/s) #2 > 57367924 locks/s",
        ],
    );
}

#[test]
fn of_jmh_scores_are_read_with_their_parameters_and_modes() {
    assert_reads(
        &output("jmh.txt"),
        &[
            "Adds.atomic step=1 (thrpt) > 110194000 ops/s",
            "Adds.atomic step=64 (thrpt) > 70097000 ops/s",
            "Adds.adder step=1 (avgt) < 19.334000 ns",
            "Adds.adder step=64 (avgt) < 30.219000 ns",
        ],
    );
    assert_reads(
        &output("jmh.json"),
        &[
            "org.sample.Adds.atomic step=1 (thrpt) > 110193915.395676 ops/s",
            "org.sample.Adds.atomic step=64 (thrpt) > 70096839.147594 ops/s",
            "org.sample.Adds.adder step=1 (avgt) < 19.334251 ns",
            "org.sample.Adds.adder step=64 (avgt) < 30.218526 ns",
        ],
    );
}

#[test]
fn of_jmh_no_order_of_magnitude_is_read_and_nothing_of_its_profilers() {
    assert_reads(&output("jmh_plain.txt"), &["Plain.root (thrpt) > 159527934.934000 ops/s"]);
    assert_reads(
        &output("jmh_plain.json"),
        &[
            "org.sample.Plain.root (thrpt) > 159527934.933625 ops/s",
            "org.sample.Plain.root (sample) < 61.909412 ns",
            "org.sample.Plain.root (ss) < 3560.666667 ns",
        ],
    );
    let table = "Benchmark  Mode  Cnt  Score   Error  Units\nA.x  avgt  3  1,500 ?  0,250  us/op\nA.x:p0.50  sample  2.0  us/op\n";
    assert_reads(table, &["A.x (avgt) < 1500 ns"]);
}

#[test]
fn of_hyperfine_the_mean_is_read_as_text_and_the_median_as_json() {
    assert_reads(&output("hyperfine.txt"), &["sleep 0.01 < 12300000 ns", "true < 900000 ns"]);
    assert_reads(&output("hyperfine.json"), &["sleep 0.01 < 11197614 ns", "true < 435744 ns"]);
    let without_median =
        r#"{"results": [{"command": "x", "times": [0.5, 0.1, 0.2], "mean": 9.0}]}"#;
    assert_reads(without_median, &["x < 200000000 ns"]);
}

#[test]
fn of_redis_benchmark_rates_and_percentiles_are_read_in_each_form() {
    let expected = [
        "PING_INLINE > 70175.440000 requests/s",
        "PING_INLINE (p50) < 303000 ns",
        "PING_INLINE (p99) < 4583000 ns",
    ];
    let normal = shown(&readings(&output("redis_benchmark.txt")));
    assert_eq!((&normal[..3], normal.len()), (&expected.map(str::to_owned)[..], 12));
    assert_reads(
        &output("redis_benchmark_quiet.txt"),
        &[
            "PING_INLINE > 67340.070000 requests/s",
            "PING_INLINE (p50) < 327000 ns",
            "PING_MBULK > 71684.590000 requests/s",
            "PING_MBULK (p50) < 295000 ns",
            "SET > 54644.810000 requests/s",
            "SET (p50) < 327000 ns",
            "GET > 74074.070000 requests/s",
            "GET (p50) < 287000 ns",
            "MSET (10 keys) > 53475.930000 requests/s",
            "MSET (10 keys) (p50) < 423000 ns",
        ],
    );
    let csv = shown(&readings(&output("redis_benchmark_csv.txt")));
    assert_eq!(csv.len(), 15);
    assert_eq!(csv[12], "MSET (10 keys) > 40567.950000 requests/s");
    assert_eq!(csv[14], "MSET (10 keys) (p99) < 5431000 ns");
}

#[test]
fn of_redis_benchmark_before_6_2_the_rate_is_read() {
    // As in the documentation of Redis 5.
    let normal = "====== SET ======\n  100000 requests completed in 0.94 seconds\n  50 parallel clients\n\n\
                  99.92% <= 1 milliseconds\n100.00% <= 1 milliseconds\n106382.98 requests per second\n";
    assert_reads(normal, &["SET > 106382.980000 requests/s"]);
    assert_reads("SET: 180180.17 requests per second\n", &["SET > 180180.170000 requests/s"]);
}

#[test]
fn of_wrk_and_wrk2_the_rate_and_two_percentiles_are_read() {
    assert_reads(
        &output("wrk.txt"),
        &[
            "latency p50 < 2260000 ns",
            "latency p99 < 11630000 ns",
            "Requests/sec > 1372.640000 requests/s",
        ],
    );
    assert_reads(
        &output("wrk2.txt"),
        &[
            "latency p50 < 1100000 ns",
            "latency p99 < 2350000 ns",
            "Requests/sec > 200.270000 requests/s",
        ],
    );
}

#[test]
fn of_memtier_benchmark_the_totals_are_read() {
    assert_reads(
        &output("memtier_benchmark.txt"),
        &["Totals > 102639.370000 ops/s", "Totals (p50) < 87000 ns", "Totals (p99) < 175000 ns"],
    );
    // As printed by 1.2.
    let old = "Type        Ops/sec     Hits/sec   Misses/sec      Latency       KB/sec\n\
               -----------------------------------\n\
               Totals    110442.23      2008.04     98393.99      1.81000      4606.66\n";
    assert_reads(old, &["Totals > 110442.230000 ops/s", "Totals (latency) < 1810000 ns"]);
}

#[test]
fn of_db_bench_time_and_rates_are_read_after_progress() {
    assert_reads(
        &output("db_bench.txt"),
        &[
            "fillseq < 12631 ns",
            "fillseq (ops/sec) > 79146 ops/s",
            "fillseq (MB/s) > 8800000 B/s",
            "fillrandom < 9186 ns",
            "fillrandom (ops/sec) > 106367 ops/s",
            "fillrandom (MB/s) > 11800000 B/s",
            "readrandom < 3863 ns",
            "readrandom (ops/sec) > 258407 ops/s",
            "readrandom (MB/s) > 18200000 B/s",
            "readseq < 833 ns",
            "readseq (ops/sec) > 1191391 ops/s",
            "readseq (MB/s) > 131800000 B/s",
        ],
    );
    // As in LevelDB's documentation.
    let leveldb = "fillsync     :     268.409 micros/op;    0.4 MB/s (10000 ops)\nreadrandom   : 4.325 micros/op; (9 of 10 found)";
    assert_reads(
        leveldb,
        &["fillsync < 268409 ns", "fillsync (MB/s) > 400000 B/s", "readrandom < 4325 ns"],
    );
}

#[test]
fn of_pgbench_the_whole_run_is_read_and_no_progress_or_script() {
    assert_reads(&output("pgbench.txt"), &["latency average < 4064000 ns", "tps > 491.512548 tps"]);
    assert_reads(
        &output("pgbench_reconnecting.txt"),
        &["latency average < 10876000 ns", "tps > 183.893504 tps"],
    );
    // As in the documentation of PostgreSQL 13.
    let old = "tps = 618.764555 (including connections establishing)\ntps = 622.977698 (excluding connections establishing)\n";
    assert_reads(old, &["tps > 622.977698 tps"]);
}

#[test]
fn a_rate_that_a_tool_computes_from_a_time_is_not_independent() {
    let names = |file: &str| -> Vec<_> {
        independent_readings(&output(file)).into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names("libtest.txt"), ["tests::add", "tests::copy", "tests::sort"]);
    assert_eq!(names("db_bench.txt"), ["fillseq", "fillrandom", "readrandom", "readseq"]);
    assert_eq!(names("memtier_benchmark.txt"), ["Totals", "Totals (p50)", "Totals (p99)"]);
    for file in ["criterion.txt", "divan.txt", "google_benchmark.txt", "google_benchmark.json"] {
        let found = independent_readings(&output(file));
        assert!(found.iter().all(|it| it.better == Better::Lower), "{file}: {found:?}");
    }
    assert!(names("go.txt").contains(&"BenchmarkLock-2 (locks/s)".to_owned()));
}

#[test]
fn outputs_of_several_tools_and_logs_of_the_program_may_be_mixed() {
    let mixed = [
        "INFO starting",
        &output("criterion.txt"),
        "time: [not a benchmark]",
        &output("google_benchmark.json"),
        "[2026-11-28] {done}",
        &output("hyperfine.json"),
        &output("wrk.txt"),
        &output("libtest.txt"),
    ]
    .join("\n");
    let alone =
        ["criterion.txt", "google_benchmark.json", "hyperfine.json", "wrk.txt", "libtest.txt"];
    let mut alone: Vec<_> = alone.iter().flat_map(|it| shown(&readings(&output(it)))).collect();
    let mut mixed = shown(&readings(&mixed));
    alone.sort();
    mixed.sort();
    assert_eq!(mixed, alone);
}

#[test]
fn line_ends_of_windows_change_nothing() {
    for file in fs::read_dir("tests/outputs").unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert_eq!(readings(&text.replace('\n', "\r\n")), readings(&text));
    }
}

#[test]
fn nothing_is_read_of_lines_that_only_resemble_a_format() {
    for text in [
        "",
        "\u{0}\u{1b}[31m\u{fffd}",
        // Without a name, with too few figures, at another column, or only the change since the last run.
        "                        time:   [1.2 ns 1.3 ns 1.4 ns]",
        "fib 10                  time:   [1.2 ns 1.3 ns]",
        "fib 10                  time:   [1.2 ns 1.3 ns 1.4 ns",
        "fib 10 time:   [1.2 ns 1.3 ns 1.4 ns]",
        "fib 10                  time:   [-1.2 ns -1.3 ns -1.4 ns]",
        "fib 10                  time:   [NaN ns NaN ns NaN ns]",
        "fib 10                  time:   [0.0 ns 0.0 ns 0.0 ns]",
        "fib 10                  time:   [+44.3% +49.0% +53.8%] (p = 0.00 < 0.05)",
        "fib 10                  time:   [1 widgets 2 widgets 3 widgets]",
        "  Performance has improved, as it says\n                        time:   [1.2 ns 1.3 ns 1.4 ns]",
        "test tests::add ... bench:   0 ns/iter (+/- 0)",
        "test tests::add ... bench:   1,23",
        "test tests::add ... ok",
        // Rows without the table's head.
        "├─ add          8.778 ns      │ 8.823 ns      │ 8.798 ns      │ 8.798 ns      │ 20      │ 10240",
        "Add/threads:1            10.6 ns         6.91 ns      3691699",
        "Adds.atomic       1  thrpt    3  110.194 ± 838.903  ops/us",
        "Totals     102639.37         0.00     93299.19         0.09758",
        "\"SET\",\"56657.23\",\"0.553\"",
        "     50%    2.26ms",
        "  throughput summary: 70175.44 requests per second",
        "70175.44 requests per second",
        "│ 1.9 GB/s │ 1.9 GB/s │ 1.9 GB/s │",
        "  Latency Distribution\nRequests:\n     50%    2.26ms",
        "Benchmarking 10 files in 3 s",
        "Benchmarking 10 5 ns/op",
        "BenchmarkX-8   1000   1234",
        "BenchmarkX-8   1000   fast ns/op",
        "limit: 100 requests per second",
        "tps = 1234.5",
        "progress: 1.0 s, 808.0 tps, lat 2.427 ms stddev 3.131, 0 failed",
        "initial connection time = 16.615 ms",
        "fillseq : 2.345 micros",
        "{\"results\": [{\"command\": \"x\", \"median\": \"fast\"}]}",
        "{\"results\": [{\"command\": \"x\", \"median\": 1.0}]",
        "[{\"benchmark\": \"x\", \"primaryMetric\": {\"score\": \"NaN\", \"scoreUnit\": \"ns/op\"}}]",
        "{\"benchmarks\": [{\"name\": \"x\", \"real_time\": 1e999, \"time_unit\": \"ns\"}]}",
        "{\"benchmarks\": {}, \"results\": 5}",
    ] {
        assert_eq!(readings(text), [], "{text}");
    }
}

#[test]
fn a_figure_too_large_for_a_number_is_left_out() {
    let digits = "9".repeat(400);
    assert_reads(&format!("test x ... bench: {digits} ns/iter (+/- 1)"), &[]);
    assert_eq!(last_number(&digits), None);
}

#[test]
fn a_numbered_name_never_meets_one_that_a_benchmark_has() {
    let bench = |name: &str| format!("test {name} ... bench: 5 ns/iter (+/- 1)\n");
    let found = readings(&["x", "x", "x #2", "x"].map(bench).concat());
    let names: Vec<_> = found.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["x", "x #3", "x #2", "x #4"]);
}

#[test]
fn json_is_found_after_text_that_only_begins_like_it() {
    let text = "[INFO] reading\n{ block\n[1,\nx\n{\"results\": [{\"command\": \"x\", \"mean\": 0.5}]}\nrest";
    assert_reads(text, &["x < 500000000 ns"]);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC*|[\\x00-\\x7f│├╰─ \u{1b}\r\n]*") {
        let _ = readings(&text);
        let _ = last_number(&text);
    }

    /// Cuts, doubles and swaps lines of real outputs, and replaces characters.
    #[test]
    fn what_is_read_of_damaged_outputs_is_a_figure_with_a_name_of_its_own(
        files in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..30),
        strange in prop::sample::select(vec!["", "\r", "NaN", "-", "1e999", "│", "\u{1b}[", "\"", ",", "ns", "0", "∞"]),
    ) {
        let mut all: Vec<_> = fs::read_dir("tests/outputs").unwrap().map(|it| it.unwrap().path()).collect();
        all.sort();
        let text: Vec<_> = files.iter().map(|it| fs::read_to_string(it.get(&all)).unwrap()).collect();
        let mut lines: Vec<Vec<char>> = text.concat().split('\n').map(|it| it.chars().collect()).collect();
        for (line, at) in cuts {
            let line = line.index(lines.len());
            let at = at.index(lines[line].len() + 1);
            let rest = lines[line].split_off(at);
            lines[line].extend(strange.chars());
            lines[line].extend(rest.iter().skip(1));
            let other = at % lines.len();
            lines.swap(line, other);
        }
        let text = lines.into_iter().map(String::from_iter).collect::<Vec<_>>().join("\n");
        let found = readings(&text);
        let names: std::collections::HashSet<_> = found.iter().map(|it| &it.name).collect();
        prop_assert_eq!(names.len(), found.len());
        prop_assert!(found.iter().all(|it| it.value.is_finite() && it.value > 0.0));
    }
}
