#!/usr/bin/env python3
"""The rank of each case of cases.toml in reports of `tenure layout --json`.

Usage: ci/recall/ranks.py PROGRAM=REPORT...

Of each case: the rank of the first finding that has both words, one of them contended. Of vmlinux also the first 20 findings, to
judge by eye.
"""

import json
import pathlib
import sys
import tomllib

CONTENDED = {"count", "atomic", "lock", "sequence", "written"}
FIRST = 100


def is_named(name, wanted):
    """Whether a type, or an instance of a generic one, or a variable in some module, is meant."""
    name = (name or "").split("<")[0]
    return name == wanted.split("<")[0] or name.endswith(f"::{wanted}")


def has(paths, words):
    return words == "*" or any(f".{word}." in f".{path}." for path in paths for word in words.split())


def rank(findings, case):
    for one in findings:
        sharing = one["sharing"]
        if case["beside"] == "elements":
            if is_named(sharing.get("array", "").removesuffix("[]"), case["type"]):
                return one["rank"]
            continue
        if not any(is_named(name, case["type"]) for name in (one["type"], sharing.get("inner"))):
            continue
        victims = [(word["path"], word["role"] in CONTENDED) for word in one["victims"]]
        contended = [one["contended"]["path"], *(path for path, is_contended in victims if is_contended)]
        beside = [path for path, _ in victims]
        if has(contended, case["written"]) and has([*contended, *beside], case["beside"]):
            return one["rank"]
    return None


def main():
    reports = dict(argument.split("=", 1) for argument in sys.argv[1:])
    findings = {program: json.loads(pathlib.Path(path).read_text())["findings"] for program, path in reports.items()}
    cases = tomllib.loads(pathlib.Path(__file__).with_name("cases.toml").read_text())
    for title, of in cases.items():
        of = [case for case in of if case["program"] in findings]
        ranks = [rank(findings[case["program"]], case) for case in of]
        print(f"\n{title}:")
        for case, at in zip(of, ranks):
            all_of = len(findings[case["program"]])
            place = f"{at} of {all_of}" if at else "not found"
            print(f"{place:>14}  {case['program']}: {case['type']}.{case['written']} beside {case['beside']} ({case['fixed']})")
        first = sum(1 for at in ranks if at and at <= FIRST)
        print(f"{first} of {len(of)} among the first {FIRST}, {sum(1 for at in ranks if at)} among all")
    for one in findings.get("vmlinux", [])[:20]:
        beside = " ".join(word["path"] for word in one["victims"][:4])
        print(f"{one['rank']:>3}  {one['type']}: {one['contended']['path']} beside {beside}")


main()
