#!/usr/bin/env python3
"""Times `tenure layout` against pahole on the same file: whole commands, in turns, in random order.

Usage: docs/layout_time.py target/release/tenure VMLINUX [PAIRS]

Prints the median time of each, the median of the ratios within pairs with its interval (at least 95 %, from
order statistics), and the largest memory of each. VMLINUX is read through DWARF, the running kernel through BTF.
pahole prints every type; tenure analyses every type and prints the 50 worst.
"""

import os
import random
import statistics
import subprocess
import sys
import time

tenure, vmlinux, *rest = sys.argv[1:] if len(sys.argv) > 2 else sys.exit(__doc__)
pairs = int(rest[0]) if rest else 20

kernel = "/sys/kernel/btf/vmlinux"
cases = [("DWARF", [tenure, "layout", vmlinux, "--top", "50"], ["pahole", "-F", "dwarf", vmlinux], pairs)]
if os.path.exists(kernel):
    ours = [tenure, "layout", "--kernel", "--top", "50"]
    cases.append(("BTF", ours, ["pahole", "-F", "btf", kernel], 5 * pairs))


def run(command):
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return elapsed, usage.ru_maxrss / 1024


def interval(values):
    """The narrowest pair of order statistics that holds the median with 95 %: of the binomial."""
    values, count = sorted(values), len(values)
    at = max(0, int(count / 2 - 0.98 * count**0.5))
    return values[at], values[count - 1 - at]


for name, ours, theirs, count in cases:
    times, memory = {0: [], 1: []}, {0: 0, 1: 0}
    for command in (ours, theirs):
        run(command)  # into the page cache
    for _ in range(count):
        for which in random.sample([0, 1], 2):
            elapsed, peak = run([ours, theirs][which])
            times[which].append(elapsed)
            memory[which] = max(memory[which], peak)
    ratios = [a / b for a, b in zip(times[0], times[1])]
    low, high = interval(ratios)
    print(
        f"{name}, {count} pairs: tenure {statistics.median(times[0]):.3f} s, {memory[0]:.0f} MiB; "
        f"pahole {statistics.median(times[1]):.3f} s, {memory[1]:.0f} MiB; "
        f"time {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}] of pahole's"
    )
