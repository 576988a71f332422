#!/usr/bin/env python3
"""What `tenure run` predicts on this machine, against what the fixed programs give.

Usage: ci/predictions.py [--threads N] [--rounds N,N] [--slices N] [--programs DIR [--build]] [CASE...]

The cases are those of crates/tenure-run/tests/cases, in Rust and optimised. Each is recorded with two threads, and its gain on
as many CPUs as there are --threads (2) is predicted for this machine, which `tenure sim --calibrate` describes. The measured
gain comes from programs that are not instrumented: case and fixed case run in turn for some milliseconds each, a thread on
each CPU, and slices in which a thread was switched out do not count. Each case is taken with several amounts of private work
in an iteration (--rounds: of about 0.7 ns). A repair that the report does not offer is one that it predicts no gain from.

The programs are built, or taken from --programs, where --build puts them: for a machine without a compiler.

Exits with 1 unless at least 80 % of the predictions are within 1.5 times of what was measured.
Not a part of .ci/run, since it measures: run it where nothing else runs, with an optimised tenure (--tenure), which measures
the machine.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from recorded_cases import arguments_of, cases, run, target

# The case, the repair that the report names, and the case that is fixed so.
CASES = [
    ("adjacent", "apart", "apart"),
    ("elements", "apart", "elements_apart"),
    ("beside", "apart", "beside_apart"),
    ("beside", "cells", "beside_cells"),
    ("two_locks", "apart", "two_locks_apart"),
    ("head_and_tail", "apart", "head_and_tail_apart"),
    ("hot_arc", "revocable", "hot_arc_revocable"),
    ("mutex", "one_add", "mutex_one_add"),
]
WITHIN, OF_ALL = 1.5, 0.8


# An end of a queue each: more CPUs do not mean more of them.
OF_TWO = "head_and_tail"


def build(tenure, instrumented, threads):
    """The program of the cases, with the library's repairs."""
    folder = target / ("cases-instrumented" if instrumented else f"cases-{threads}")
    command = ["cargo", "build", "--quiet", "--release", "--features", "fixed"]
    command += ["--manifest-path", cases / "rust/Cargo.toml", "--target-dir", folder]
    if instrumented:
        run(tenure, "run", "--", *command, stderr=subprocess.DEVNULL)
    else:
        run(*command, env={**os.environ, "THREADS": str(threads)})
    return next(path for path in [*folder.glob("*/release/cases"), folder / "release/cases"] if path.exists())


def programs(arguments):
    """Of the cases: the one that is recorded, and the one that is measured."""
    names = [("recorded", True, 2), (f"measured-{arguments.threads}", False, arguments.threads)]
    if arguments.programs and not arguments.build:
        return [arguments.programs / name for name, *_ in names]
    built = [build(arguments.tenure, instrumented, threads) for _, instrumented, threads in names]
    if arguments.programs:
        arguments.programs.mkdir(parents=True, exist_ok=True)
        for (name, *_), program in zip(names, built):
            shutil.copy(program, arguments.programs / name)
        sys.exit()
    return built


def predicted(tenure, program, case, repair, rounds, machine, out, threads):
    """Nanoseconds an iteration on so many CPUs, unmodified and with the repair: the same if the report does not offer it."""
    report = out / "report.json"
    command = [tenure, "run", "--machine", machine, "--json", report, "--", program, case, rounds]
    run(*command, stderr=subprocess.DEVNULL)
    finding = json.loads(report.read_text())["findings"][0]
    curves = {"": finding["forecast"]["unmodified"]}
    curves |= {curve["name"]: curve["points"] for curve in finding["forecast"]["repaired"]}
    at = lambda points: next(point["per_second"] for point in points if point["cpus"] == threads)
    return [threads * 1e9 / at(curves.get(name, curves[""])) for name in ("", repair)]


def measured(program, case, fixed, rounds, slices):
    """The same, measured, with the interval of the ratio."""
    done = run(program, "time", case, fixed, rounds, slices, stdout=subprocess.PIPE, text=True)
    pairs = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    if len(pairs) < 10:
        sys.exit(f"{case}: threads were switched out in {slices - len(pairs)} of {slices} slices; the machine is too busy")
    ratios = sorted(one / other for one, other in pairs)
    spread = max(1, int(0.98 * len(ratios) ** 0.5))
    middle = len(ratios) // 2
    interval = ratios[middle - spread], ratios[min(middle + spread, len(ratios) - 1)]
    return [statistics.median(side) for side in zip(*pairs)], statistics.median(ratios), interval


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--rounds", default="0,40,160")
    parser.add_argument("--slices", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--build", action="store_true")
    arguments = arguments_of(parser)
    tenure, threads = arguments.tenure, arguments.threads
    instrumented, plain = programs(arguments)
    out = pathlib.Path(tempfile.mkdtemp(prefix="tenure-predictions-"))
    machine = out / "this.toml"
    run(tenure, "sim", "--calibrate", machine, stdout=subprocess.DEVNULL)
    for line in machine.read_text().splitlines():
        if line.lstrip().startswith('"measured'):
            print(line.strip(' ",'))
    print(f"{'case':15}{'repair':9}{'rounds':>6}   {'predicted ns':>17} {'gain':>6}   {'measured ns':>17} {'gain':>6}  interval        off by")
    good = all_of_them = 0
    for rounds in arguments.rounds.split(","):
        for case, repair, fixed in CASES:
            if arguments.cases and case not in arguments.cases or case == OF_TWO and threads != 2:
                continue
            all_of_them += 1
            before_predicted, after_predicted = predicted(
                tenure, instrumented, case, repair, rounds, machine, out, threads
            )
            (before, after), truth, interval = measured(plain, case, fixed, rounds, arguments.slices)
            gain = before_predicted / after_predicted
            off = max(gain / truth, truth / gain)
            good += off <= WITHIN
            print(
                f"{case:15}{repair:9}{rounds:>6}   {before_predicted:7.1f} → {after_predicted:7.1f} {gain:6.2f}   "
                f"{before:7.1f} → {after:7.1f} {truth:6.2f}  {interval[0]:5.2f} to {interval[1]:5.2f}  {off:5.2f}",
                flush=True,
            )
    print(f"{good} of {all_of_them} predictions are within {WITHIN} times.")
    sys.exit(good < OF_ALL * all_of_them)


main()
