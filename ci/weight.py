"""What the code weighs: lines of Rust by crate, in source and in tests, and type names that several crates define.

Compares both with the budgets in ci/weight.txt, and exits with 1 if one is exceeded, or if a shared name has no reason in
ci/shared_names.txt. A change that raises a budget says why, after the number. `--list` also prints the names.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGETS = pathlib.Path(os.environ.get("WEIGHTS", ROOT / "ci/weight.txt"))
REASONS = ROOT / "ci/shared_names.txt"
# Aliases count where a module defines them: one in a trait or an implementation is that trait's, and one in a function is its own.
TYPE = re.compile(r"^(?:\s*(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([a-z: ]+\))? )?type) ([A-Z]\w*)", re.MULTILINE)
INLINE = re.compile(r"^#\[cfg\((?:all\()?test\b.*\]\nmod \w+ \{", re.MULTILINE)


def parts(file):
    """A file's source, and its tests."""
    text, inside = file.read_text(), file.relative_to(ROOT).parts[2:]
    if inside[0] != "src" or any(part.removesuffix(".rs") in ("tests", "fixtures") for part in inside):
        return "", text
    found = INLINE.search(text)
    at = found.start() if found else len(text)
    return text[:at], text[at:]


def weighed():
    """Lines of source and of tests by crate, and the crates of each type name."""
    lines, names = {}, {}
    for file in sorted(ROOT.glob("crates/*/**/*.rs")):
        crate = file.relative_to(ROOT).parts[1]
        if "target" in file.relative_to(ROOT).parts:
            continue
        source, tests = parts(file)
        before = lines.get(crate, (0, 0))
        lines[crate] = (before[0] + source.count("\n"), before[1] + tests.count("\n"))
        for name in TYPE.findall(source):
            names.setdefault(name, set()).add(crate)
    return lines, {name: crates for name, crates in names.items() if len(crates) > 1}


def main():
    budgets = {}
    for line in BUDGETS.read_text().splitlines():
        if line and not line.startswith("#"):
            key, source, tests, *_ = line.split()
            budgets[key] = (int(source), int(tests))
    reasons = dict(line.split(None, 1) for line in REASONS.read_text().splitlines() if line and not line.startswith("#"))
    lines, shared = weighed()
    lines = {**lines, "shared-names": (len(shared), 0)}
    over = []
    for key in sorted(lines.keys() | budgets.keys()):
        now, most = lines.get(key, (0, 0)), budgets.get(key, (0, 0))
        print(f"{key:16} {now[0]:6} of {most[0]:6}   {now[1]:6} of {most[1]:6}")
        if now[0] > most[0] or now[1] > most[1]:
            over.append(key)
    total = [sum(now[at] for key, now in lines.items() if key != "shared-names") for at in (0, 1)]
    print(f"{'all crates':16} {total[0]:6} {'':10} {total[1]:6} {'':9} together {sum(total)}")
    unreasoned = sorted(shared.keys() ^ reasons.keys())
    for name in unreasoned:
        what = f"is defined by {', '.join(sorted(shared[name]))}: rename one, or say why in" if name in shared else "is not shared; remove it from"
        print(f"weight: {name} {what} ci/shared_names.txt", file=sys.stderr)
    if "--list" in sys.argv:
        for name, crates in sorted(shared.items()):
            print(f"{name}: {', '.join(sorted(crates))}")
    if unreasoned:
        sys.exit(1)
    if over:
        sys.exit(f"weight: above its budget in ci/weight.txt: {', '.join(over)}")


main()
