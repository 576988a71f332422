"""What `tenure run` says of a program, and what `tenure sim` predicts from its patterns."""

import json
import re
import shutil
import subprocess
import sys

from parts.shell import ROOT, TENURE, call, fail

sys.path.insert(0, str(ROOT / "ci/programs"))
from report import named  # noqa: E402

# The machine that larger numbers of CPUs are simulated on.
LARGE = "epyc-2s-256"
# The repair that gives each thread an object of its own, which `tenure sim` has no name for.
OWN = "own"


def record(command, folder, name, env=None):
    """Runs an instrumented program. Keeps the report as NAME.txt and NAME.json, and the patterns in NAME.patterns."""
    report, patterns = folder / f"{name}.json", folder / f"{name}.patterns"
    report.unlink(missing_ok=True)
    shutil.rmtree(patterns, ignore_errors=True)
    words = [TENURE, "run", "--json", report, "--patterns", patterns, "--", *command]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", env=env)
    (folder / f"{name}.txt").write_text(done.stderr)
    if not report.exists():
        fail(f"nothing was recorded: {done.stderr[-2000:]}")
    return json.loads(report.read_text())


def found(report, patterns, is_simulated):
    """The first finding that all patterns match, of those that can be simulated or of all."""
    findings = [it for it in report["findings"] if it.get("pattern") or not is_simulated]
    return next((it for it in findings if all(re.search(pattern, named(it)) for pattern in patterns)), None)


def simulated(pattern, machine, cpus, folder):
    """Iterations a second of a pattern: by variant, one of which is `unchanged`, and number of CPUs."""
    out = folder / "simulated.json"
    call(TENURE, "sim", pattern, "--cpus", ",".join(map(str, cpus)), "--machine", machine, "--json", out, cwd=folder)
    rates = {}
    for point in json.loads(out.read_text())["groups"][0]["scenarios"][0]["points"]:
        for row in point["rows"]:
            rates.setdefault(row["variant"], {})[point["cpus"]] = row["mops"]
    return rates


def owned(pattern):
    """The pattern with each object once for each thread."""
    def own(match):
        kept = [line for line in match[1].splitlines(True) if line.split()[0] not in ("copies", "pick", "stride", "per_thread")]
        return f"[[object]]\n{''.join(kept)}per_thread = true\nstride = 4096\n"

    text = re.sub(r"^\[\[object\]\]\n((?:.+\n)*)", own, pattern.read_text(), flags=re.MULTILINE)
    file = pattern.with_suffix(".own.toml")
    file.write_text(text)
    return file


def overlapping(machine, folder):
    """The machine as `tenure run` simulates it: a core works on four accesses at once that hit."""
    text, count = re.subn(r"^hit = ([\d.]+)", lambda match: f"hit = {float(match[1]) / 4}", machine.read_text(), flags=re.MULTILINE)
    if count != 1:
        fail(f"{machine} has {count} hits")
    file = folder / f"{machine.stem}-overlapping.toml"
    file.write_text(text)
    return file


def gains(pattern, repair, folder):
    """The predicted gain of a repair: on two CPUs of this machine, and on 64 and 128 of a large one."""
    call(TENURE, "sim", "--calibrate", cwd=folder)
    large = ROOT / f"crates/tenure-sim/machines/{LARGE}.toml"
    gains = {}
    for machine, cpus in [(folder / "this.toml", [2]), (large, [64, 128])]:
        machine = overlapping(machine, folder)
        rates = simulated(pattern, machine, cpus, folder)
        fixed = simulated(owned(pattern), machine, cpus, folder)["unchanged"] if repair == OWN else rates.get(repair)
        if fixed is None:
            fail(f"{pattern} has no repair {repair}; it has {', '.join(rates)}")
        gains |= {f"{it}": fixed[it] / rates["unchanged"][it] for it in cpus}
    return gains


def whole(report):
    """The predicted gain of the whole program with all repairs that the report offers, on the large machine."""
    forecast = report["source"].get("forecast")
    if not forecast or not forecast["repaired"]:
        return {}
    base = {point["cpus"]: point["per_second"] for point in forecast["unmodified"]}
    points = forecast["repaired"][-1]["points"]
    return {f"{it['cpus']}": it["per_second"] / base[it["cpus"]] for it in points if it["cpus"] in (2, 64, 128)}
