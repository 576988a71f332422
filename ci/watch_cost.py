#!/usr/bin/env python3
"""What `tenure watch` takes of a program: work by second of the program's processor time, watched and not, in turn.

By hand: it takes minutes, and a busy machine shows noise. For each program it prints the quartiles of what watching took,
over pairs of spans with and without it: at the default rates, at which 1 % is asked of the small programs (ci/watch_cost.c) and 2 %
of memcached under load; and at 1,000 samples a second. It exits with 1 if the median of one is above what is asked. Beside
that it prints what the reports say, and the processor time of `tenure watch` itself.

Usage: ci/watch_cost.py [PAIRS [PROGRAM...]]     (12 pairs of all without arguments; TENURE names the command)
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TENURE = os.environ.get("TENURE", "target/release/tenure")
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
SMALL = ["adjacent", "one_word", "lock", "apart", "work"]
WANTED = sys.argv[2:] or [*SMALL, "memcached"]
SPAN = 1.5
# The watcher measures what it costs first.
START = 0.7


class Small:
    def __init__(self, folder, case):
        program = f"{folder}/programs"
        if not os.path.exists(program):
            subprocess.run(["cc", "-O2", "-pthread", "ci/watch_cost.c", "-o", program], check=True)
        pipe = subprocess.PIPE
        self.processes = [subprocess.Popen([program, case], stdin=pipe, stdout=pipe, text=True)]
        self.pid = self.processes[0].pid

    def read(self):
        process = self.processes[0]
        process.stdin.write("\n")
        process.stdin.flush()
        work, seconds = process.stdout.readline().split()
        return int(work), float(seconds)


class Memcached:
    def __init__(self, folder, _):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["memcached", "-p", str(port), "-l", "127.0.0.1", "-t", "2", "-u", "nobody"]
        self.processes = [subprocess.Popen(command)]
        self.pid = self.processes[0].pid
        time.sleep(0.5)
        load = f"{folder}/load"
        subprocess.run(["rustc", "--edition=2021", "-O", "-o", load, "ci/programs/load.rs"], check=True)
        words = [load, "memcached", f"127.0.0.1:{port}", "--ratio", "1:9", "--seconds", "3600"]
        self.processes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.connection = socket.create_connection(("127.0.0.1", port)).makefile("rw", newline="\r\n")
        time.sleep(3)

    def read(self):
        self.connection.write("stats\n")
        self.connection.flush()
        stats = {}
        while (line := self.connection.readline().split()) != ["END"]:
            stats[line[1]] = line[2]
        nanoseconds = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                nanoseconds += int(file.read().split()[0])
        return int(stats["cmd_get"]) + int(stats["cmd_set"]), nanoseconds / 1e9


def span(program):
    """Work by second of processor time."""
    before = program.read()
    time.sleep(SPAN)
    after = program.read()
    return (after[0] - before[0]) / (after[1] - before[1])


def watched(program, folder, options):
    report = f"{folder}/report.json"
    command = [TENURE, "watch", "--pid", str(program.pid), "--for", f"{SPAN + 0.5}s", "--json", report, *options]
    watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(START)
    work = span(program)
    if watcher.wait() != 0:
        sys.exit(f"watch_cost: {' '.join(command)} failed")
    with open(report) as file:
        return work, json.load(file)["source"]["watched"]


def measure(program, folder, options):
    """What watching took in each pair, and what the reports say."""
    took, reports = [], []
    for pair in range(PAIRS):
        # Each comes first as often as the other.
        if pair % 2 == 0:
            plain = span(program)
        work, report = watched(program, folder, options)
        if pair % 2 == 1:
            plain = span(program)
        took.append(1 - work / plain)
        reports.append(report)
    return took, reports


def main():
    missed = []
    print("| program | rate | taken, quartiles | asked | as reported | a sample, a thread's breakpoints, a hit | itself |")
    print("|---|---:|---|---:|---:|---|---:|")
    for name in WANTED:
        if name == "memcached" and not shutil.which("memcached"):
            print("memcached is not installed: left out")
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = (Memcached if name == "memcached" else Small)(folder, name)
            try:
                for options, asked in [([], 0.02 if name == "memcached" else 0.01), (["--rate", "1000"], None)]:
                    took, reports = measure(program, folder, options)
                    quartiles = statistics.quantiles(took, n=4)
                    say = {key: statistics.median(report[key] for report in reports) for key in reports[0]}
                    print(
                        f"| {name} | {options[1] if options else 100} | {', '.join(f'{100 * it:.1f}' for it in quartiles)} % "
                        f"| {f'{asked:.0%}' if asked else '-'} | {say['overhead']:.1%} "
                        f"| {say['sample_us']:.0f}, {say['arm_us']:.0f}, {say['trap_us']:.0f} µs | {say['own']:.1%} |",
                        flush=True,
                    )
                    if asked and quartiles[1] > asked:
                        missed.append(name)
            finally:
                for process in reversed(program.processes):
                    process.kill()
                    process.wait()
    sys.exit(f"watch_cost: more than asked: {', '.join(missed)}" if missed else 0)


main()
