"""What the scripts of this directory ask of a report of `tenure run`: see common.sh.

report.py found REPORT.json PATTERN...     a finding is there that all patterns match; prints it
report.py silent REPORT.json PATTERN...    no such finding is there
report.py medians FILE FILE                medians of two files of numbers
"""

import json
import re
import statistics
import sys


def scaled(number):
    for unit in ("", " k", " M"):
        if number < 1000 or unit == " M":
            return f"{number:.3g}{unit}" if number < 1000 else f"{number:.0f}{unit}"
        number /= 1000


def named(finding):
    """What a pattern is looked for in: kind, type, array or variable, members, and lines of code."""
    words = [finding["contended"], *finding["victims"]]
    uses = [use for word in words for use in word.get("uses", [])]
    storage = finding["observed"]["storage"]
    return "\n".join([
        finding["kind"], finding["type"], finding["sharing"].get("array", ""), storage.get("name", ""),
        *[word["path"] for word in words],
        *{f"{use['code']['function']} {use['code'].get('line')}" for use in uses if use.get("code")},
    ])


def told(finding):
    """Rank, kind, share and the best repair."""
    line = f"{finding['rank']}. {finding['kind']}, {finding['score']:.0f} % of the accesses to contended lines"
    if finding.get("repairs"):
        name = finding["repairs"][0]["name"]
        at = lambda points: next(point["per_second"] for point in points if point["cpus"] == 64)
        forecast = finding["forecast"]
        repaired = next(curve["points"] for curve in forecast["repaired"] if curve["name"] == name)
        line += f"; {name}: {scaled(at(forecast['unmodified']))} -> {scaled(at(repaired))} iterations/s at 64 CPUs"
    return line


def main():
    what, path, *patterns = sys.argv[1:]
    if what == "medians":
        one, other = (statistics.median(map(float, open(file))) for file in [path, *patterns])
        print(f"unmodified {scaled(one)}/s, fixed {scaled(other)}/s: {other / one:.2f} times")
        return
    report = json.load(open(path))
    matching = [finding for finding in report["findings"]
                if all(re.search(pattern, named(finding)) for pattern in patterns)]
    if what == "found":
        if not matching:
            sys.exit(f"{path}: no finding has {patterns}; see the report beside it")
        print(told(matching[0]))
    elif matching:
        sys.exit(f"{path}: {patterns} is found: {told(matching[0])}")
    else:
        print(f"silent in what was fixed ({report['scope']['findings']} other findings)")


if __name__ == "__main__":
    main()
