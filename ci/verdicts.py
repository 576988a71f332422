#!/usr/bin/env python3
"""Whether `tenure run` says the same of the same program each time, on an idle and on a busy machine.

Usage: ci/verdicts.py [--runs N] [--tenure FILE] [CASE...]

The cases are those of crates/tenure-run/tests/cases, optimised, in C and in Rust. Each runs 20 times with nothing beside it and
20 times beside two busy loops. A verdict is what was found: kinds, types and words; for a control, nothing.
Exits with 1 unless all verdicts of a case are the same, and the kind is the right one.
Not a part of .ci/run: it takes ten minutes.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from recorded_cases import arguments_of, cases, run, target

KINDS = {
    "adjacent": "false_sharing",
    "elements": "false_sharing",
    "beside": "beside_read_mostly",
    "two_locks": "false_sharing",
    "head_and_tail": "false_sharing",
    "one_word": "hot_word",
    "hot_arc": "hot_word",
    "mutex": "lock",
}
SILENT = ["apart", "read_only", "private_heap", "hand_over", "reused"]
IN_RUST_ONLY, IN_C_ONLY = {"hot_arc"}, {"one_word"}


def quiet(*command):
    return run(*command, stderr=subprocess.DEVNULL)


def programs(tenure, out):
    """The cases in C and in Rust, instrumented."""
    in_c = out / "cases"
    quiet(tenure, "run", "--cc", "--", "gcc", "-O2", "-g", "-pthread", cases / "cases.c", "-o", in_c)
    folder = target / "cases-instrumented"
    build = ["cargo", "build", "--quiet", "--release", "--manifest-path", cases / "rust/Cargo.toml", "--target-dir", folder]
    quiet(tenure, "run", "--", *build)
    return {"C": in_c, "Rust": next(folder.glob("*/release/cases"))}


def verdict(tenure, program, case, out):
    report = out / "report.json"
    quiet(tenure, "run", "--machine", "epyc-vm-near", "--json", report, "--", program, case)
    found = []
    for finding in json.loads(report.read_text())["findings"]:
        words = [finding["contended"], *finding["victims"]]
        names = sorted({word["path"] or f"+{word['offset']}" for word in words})
        found.append((finding["kind"], finding["type"], *names))
    return tuple(found)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--runs", type=int, default=20)
    arguments = arguments_of(parser)
    tenure = arguments.tenure
    out = pathlib.Path(tempfile.mkdtemp(prefix="tenure-verdicts-"))
    built = programs(tenure, out)
    wrong = 0
    for language, program in built.items():
        other = IN_RUST_ONLY if language == "C" else IN_C_ONLY
        for case in [*KINDS, *SILENT]:
            if case in other or (arguments.cases and case not in arguments.cases):
                continue
            all_of_them, told = collections.Counter(), []
            for loops in (0, 2):
                busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
                try:
                    seen = collections.Counter(verdict(tenure, program, case, out) for _ in range(arguments.runs))
                finally:
                    for process in busy:
                        process.kill()
                        process.wait()
                all_of_them += seen
                told.append(seen.most_common(1)[0][1])
            [(usual, times), *others] = all_of_them.most_common()
            # The worst finding is the case's own.
            expected = usual[:1] and usual[0][0] == KINDS[case] if case in KINDS else not usual
            good = expected and not others
            wrong += not good
            text = "; ".join(" ".join(found) for found in usual) or "nothing"
            print(f"{language:5}{case:15} idle {told[0]} of {arguments.runs}, busy {told[1]} of {arguments.runs}: {text}", flush=True)
            for other_verdict, count in others:
                print(f"{'':20} {count} times: " + ("; ".join(" ".join(found) for found in other_verdict) or "nothing"))
    sys.exit(wrong > 0)


main()
