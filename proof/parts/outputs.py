"""Ratios of runs that take turns."""

import math
import os
import re
import statistics

from parts.shell import fail


def interval(values):
    """Of the median, at least 95 %, from the order of the values, of which it takes six."""
    values, count = sorted(values), len(values)
    chance = lambda below: sum(math.comb(count, it) for it in range(below)) / 2**count
    place = max(it for it in range(1, count) if it == 1 or chance(it) <= 0.025)
    return values[place - 1], values[count - place]


def rounds(runs, count):
    """The rates of each way, a list for each; a round has all of them, and every other one goes backwards."""
    for run in runs.values():
        run()
    rates = {way: [] for way in runs}
    for number in range(count):
        order = list(runs) if number % 2 == 0 else list(runs)[::-1]
        for way in order:
            rates[way].append(runs[way]())
    return rates


def compared(rates, base, again):
    """Median rate of each way, and the median of its ratios within rounds, with interval, and whether that is resolved: of the base's
    second run to the first, and of the others to the mean of both."""
    table = {}
    for way, values in rates.items():
        both = zip(values, rates[base], rates[again])
        ratios = [value / (one if way in (base, again) else math.sqrt(one * other)) for value, one, other in both]
        least, most = interval(ratios)
        table[way] = {
            "rate": statistics.median(values), "ratio": statistics.median(ratios), "least": least, "most": most,
            # As it is printed.
            "resolved": not round(least, 2) <= 1 <= round(most, 2),
        }
    return table


def last_number(output):
    """What our own drivers print."""
    return float(output.split()[-1])


def first_match(pattern):
    """The groups of what a pattern matches first in an output."""
    def read(output):
        if found := re.search(pattern, output):
            return found.groups()
        return fail(f"{pattern!r} matches nothing in\n{output[-2000:]}")

    return read


def load():
    return os.getloadavg()[0]
