#!/usr/bin/env python3
"""How soon the answer is there: from a program's end to the first finding, and to the end of all predictions.

By hand: times say little on a busy machine. For `tenure run` and `tenure watch`, on the example server and on eight lines of
Rust (ci/eight_lines.rs), it prints a row each: seconds to the first finding (or to the sentence that there is none), seconds
to the end, and the processor time of predicting. Exits with 1 if a target is missed: 0.5 s and 3 s, and 2 s of processor time.

Usage: ci/answer.py [--tenure TENURE] [ROUNDS]     (an optimised build, and 3, without arguments)
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FIRST, ALL, PREDICTING = 0.5, 3.0, 2.0
# A finding's title, or that there is none.
SAID = re.compile(r"^ 1  \S|^No cache line|^Too little|^Nothing")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenure", type=pathlib.Path)
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    arguments = parser.parse_args()
    if not arguments.tenure:
        subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "tenure-cli"], cwd=ROOT, check=True)
        arguments.tenure = TARGET / "release/tenure"
    arguments.tenure = arguments.tenure.resolve()
    return arguments


def programs(tenure, folder):
    """Each program's name, and its file, unmodified and instrumented."""
    package = folder / "eight_lines"
    (package / "src").mkdir(parents=True)
    shutil.copy(ROOT / "ci/eight_lines.rs", package / "src/main.rs")
    (package / "Cargo.toml").write_text(
        '[package]\nname = "eight_lines"\nversion = "0.0.0"\nedition = "2024"\n[profile.release]\ndebug = true\n[workspace]\n'
    )
    builds = [("eight_lines", package, []), ("contended", ROOT, ["-p", "tenure-examples", "--example", "contended"])]
    for name, where, options in builds:
        files = []
        for way, before in [("plain", []), ("instrumented", [tenure, "run", "--"])]:
            cargo = ["cargo", "build", "--quiet", "--release", "--target-dir", folder / way, *options]
            subprocess.run([*before, *cargo], cwd=where, check=True)
            found = [path for path in (folder / way).glob(f"**/release/**/{name}") if os.access(path, os.X_OK) and path.is_file()]
            files.append(found[0])
        yield name, *files


def seconds_of(command, folder):
    """From the program's last line to the first finding, and to the end; and what predicting took."""
    report = folder / "report.json"
    child = subprocess.Popen(
        [*command[:2], "--json", report, *command[2:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ended, first = [], []

    def follow(lines, times, is_it):
        for line in lines:
            if is_it(line):
                times.append(time.monotonic())

    # Lines that come as one piece are read later than they were written by what reading takes: too little to matter.
    threads = [
        threading.Thread(target=follow, args=[child.stdout, ended, lambda line: True]),
        threading.Thread(target=follow, args=[child.stderr, first, SAID.match]),
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    child.wait()
    over = time.monotonic()
    if not first:
        sys.exit(f"{command}: no finding, and no sentence that there is none")
    predicting = json.loads(report.read_text())["source"].get("predicting", 0.0)
    return first[0] - ended[-1], over - ended[-1], predicting


def main():
    asked = arguments()
    missed = False
    print(f"{'':24}{'first finding':>16}{'all':>12}{'processor time of predicting':>32}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, plain, instrumented in programs(asked.tenure, folder):
            for verb, program in [("run", instrumented), ("watch", plain)]:
                command = [asked.tenure, verb, "--", program]
                rows = [seconds_of(command, folder) for _ in range(asked.rounds)]
                first, over, predicting = [statistics.median(column) for column in zip(*rows)]
                print(f"{verb + ' ' + name:24}{first:14.2f} s{over:10.2f} s{predicting:30.2f} s", flush=True)
                missed |= first > FIRST or over > ALL or predicting > PREDICTING
    sys.exit(missed)


main()
