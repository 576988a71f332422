#!/usr/bin/env python3
"""What recording costs: processor time and memory of programs as they are, instrumented, and with ThreadSanitizer, in turn.

By hand: it takes minutes, and times say little on a busy machine. It prints a table, and exits with 1 if a target is
missed: 5 times the processor time at the median over the programs that `tenure run` is tested with, 10 at worst, and 3
times the memory. What a program of nothing has is not counted as the program's memory. Programs of nothing but
accesses (ci/run_cost.c) are shown beside them. ThreadSanitizer, which reports nothing here, has the same calls from the
same programs.

Usage: ci/run_cost.py [ROUNDS]     (5 without an argument)
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", "target"))
CASES = "crates/tenure-run/tests/cases"
LOOPS = ["array", "stream", "copy", "sort", "tree", "matrix", "blocks"]
SHARED = ["apart", "read_only", "private_heap", "hand_over", "reused"]
IN_C = ["adjacent", "elements", "beside", "two_locks", "head_and_tail", "one_word", "mutex"] + SHARED
IN_RUST = ["adjacent", "elements", "beside", "two_locks", "head_and_tail", "hot_arc", "mutex"] + SHARED


def call(*command, **options):
    subprocess.run(command, check=True, **options)


def build(folder):
    """Each program unmodified, instrumented, and with ThreadSanitizer, by name."""
    call("cargo", "build", "--quiet", "--package", "tenure-cli")
    tenure = [f"{TARGET}/debug/tenure", "run"]
    quiet = {"stderr": subprocess.DEVNULL}
    ways = {}
    for name, source in [("loops", "ci/run_cost.c"), ("C", f"{CASES}/cases.c")]:
        compile_it = ["cc", "-O2", "-pthread", "-DLONG", source, "-o"]
        ways[name] = plain, instrumented, sanitized = [f"{folder}/{name}{way}" for way in ["", "-instrumented", "-tsan"]]
        call(*compile_it, plain)
        call(*tenure, "--cc", "--", *compile_it, instrumented, **quiet)
        call(*compile_it, sanitized, "-fsanitize=thread")
    cargo = ["cargo", "build", "--quiet", "--release", "--manifest-path", f"{CASES}/rust/Cargo.toml", "--target-dir"]
    environment = dict(os.environ, LONG="yes")
    call(*cargo, f"{folder}/plain", env=environment)
    call(*tenure, "--", *cargo, f"{folder}/instrumented", env=environment, **quiet)
    host = next(entry for entry in os.listdir(f"{folder}/instrumented") if "-linux-" in entry)
    flags = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
    call(*cargo, f"{folder}/tsan", "--target", host, env=dict(environment, RUSTC_BOOTSTRAP="1", RUSTFLAGS=flags))
    ways["Rust"] = [f"{folder}/{way}/release/cases" for way in ["plain", f"instrumented/{host}", f"tsan/{host}"]]
    return ways


def measure(ways, folder, program, case):
    """Seconds and KiB of a run."""
    records = tempfile.mkdtemp(dir=folder)
    environment = dict(os.environ, TENURE_PROBE_DIR=records, TSAN_OPTIONS="report_bugs=0")
    command = [ways["loops"][0], "measure", program, case]
    output = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=True).stderr
    shutil.rmtree(records)
    seconds, memory, status = output.splitlines()[-1].split()
    # "nothing" is no case: the program says so and ends.
    assert status == "0" or case == "nothing", f"{program} {case}: {output}"
    return float(seconds), int(memory)


def main():
    with tempfile.TemporaryDirectory() as folder:
        ways = build(folder)
        base = [measure(ways, folder, program, "nothing")[1] for program in ways["C"]]
        print(f"A program of nothing: {base[0] / 1024:.1f} MiB, instrumented {base[1] / 1024:.1f} MiB\n")
        print("| program | seconds | instrumented | times | MiB | instrumented | times | with ThreadSanitizer, times |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        ratios = {}
        for name, cases in [("loops", LOOPS), ("C", IN_C), ("Rust", IN_RUST)]:
            for case in cases:
                runs = ([], [], [])
                for _ in range(ROUNDS):
                    for program, results in zip(ways[name], runs):
                        results.append(measure(ways, folder, program, case))
                seconds = [statistics.median(seconds for seconds, _ in results) for results in runs]
                memory = [max(memory for _, memory in results) for results in runs]
                time, sanitized = (it / max(seconds[0], 0.001) for it in seconds[1:])
                space = max(memory[1] - base[1], 1) / max(memory[0] - base[0], 1)
                # Of less than 4 MiB there is no share to speak of.
                space = space if memory[0] - base[0] > 4096 else None
                print(
                    f"| {name}: {case} | {seconds[0]:.2f} | {seconds[1]:.2f} | {time:.1f} "
                    f"| {memory[0] / 1024:.1f} | {memory[1] / 1024:.1f} | {f'{space:.1f}' if space else '-'} "
                    f"| {sanitized:.1f} |",
                    flush=True,
                )
                ratios[name, case] = (time, space, sanitized)
        tested, _, sanitized = zip(*(its for (name, _), its in ratios.items() if name != "loops"))
        spaces = [space for _, space, _ in ratios.values() if space]
        median, worst, space = statistics.median(tested), max(tested), max(spaces)
        loops = statistics.median(its[0] for (name, _), its in ratios.items() if name == "loops")
        print(f"\nTime: {median:.1f} at the median, {worst:.1f} at worst; of the loops {loops:.1f} at the median.")
        print(f"With ThreadSanitizer: {statistics.median(sanitized):.1f} at the median, {max(sanitized):.1f} at worst.")
        print(f"Memory: {space:.1f} at worst.")
        sys.exit(median > 5 or worst > 10 or space > 3)


main()
