"""Figures in what programs print."""

import re

from parts.shell import fail


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
