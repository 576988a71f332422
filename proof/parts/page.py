"""Figures of the pages: what stands between two comments there is written from target/proof/NAME/result.json."""

import json
import re

from parts.shell import ROOT, TARGET, digest, fail, own_sources

# Figures of fewer rounds are not published.
ROUNDS = 8
BEGIN, END = "<!-- figures: proof/run --write -->", "<!-- end of figures -->"


def ratio(row):
    text = f"{row['ratio']:.2f}"
    if row["resolved"]:
        text = f"**{text}**"
    return f"{text} ({row['least']:.2f} to {row['most']:.2f})"


def digits(number):
    """Three digits: 0.998, 13.5, 2,040, 2.29 M."""
    number = float(f"{number:.3g}")
    return f"{number / 1e6:,g} M" if number >= 1e6 else f"{number:,g}"


def listed(gains):
    return " / ".join(digits(gains[cpus]) for cpus in ("2", "64", "128")) if gains else "none"


def predicted(result):
    """By the title of the case that was recorded."""
    return {it["case"]: listed(it["gains"]) for it in result["record"].values()}


def rounds(results):
    counts = sorted({it["rounds"] for result in results for it in result["measure"].values()})
    return f"{counts[0]} to {counts[-1]} rounds" if len(counts) > 1 else f"{counts[0]} rounds"


def again(ways):
    return next(row for way, row in ways.items() if way.endswith(", again"))


def of_proof(result):
    """The tables of a proof's page."""
    lines = [f"Measured {result['date']} on {result['machine']}, {rounds([result])}, nice {result['nice']}. The edit adds {result['added']} lines and "
             f"removes {result['removed']}.", ""]
    lines += ["| recorded | finding | predicted gain of this line alone, 2 CPUs / 64 / 128 | of the whole program, "
              "with the report's repairs |", "|---|---|---|---|"]
    for name, it in result["record"].items():
        gains = f"{it['repair']}: {listed(it['gains'])}" if it["repair"] else "none"
        lines.append(f"| {name} | {it['rank']}: {it['kind'].replace('_', ' ')}, {it['share']:.0f} % | {gains} | {listed(it['whole'])} |")
    lines.append("")
    lines += ["| what | unmodified | way | ratio (median's 95 %) | unmodified, to itself | load |", "|---|---:|---|---|---|---|"]
    for what, it in result["measure"].items():
        ways = it["ways"]
        base, *others = [way for way in ways if not way.endswith(", again")]
        for number, way in enumerate(others):
            start = f"{what} | {digits(ways[base]['rate'])}" if number == 0 else " | "
            end = f"{ratio(again(ways))} | {it['load'][0]:.0f} to {it['load'][1]:.0f}" if number == 0 else " | "
            lines.append(f"| {start} | {way} | {ratio(ways[way])} | {end} |")
    if tests := result.get("tests"):
        lines += ["", "Its tests: " + "; ".join(f"{way}: {text}" for way, text in tests.items()) + "."]
    return "\n".join(lines) + "\n"


def of_all(results):
    measured = [it for result in results.values() for it in result["measure"].values()]
    loads = [load for it in measured for load in it["load"]]
    controls = [again(it["ways"])["resolved"] for it in measured]
    which = lambda key: " and ".join(sorted({f"{result[key]}" for result in results.values()}))
    lines = [f"Measured {which('date')} on {which('machine')}, {rounds(results.values())} (each page has its own), nice {which('nice')},",
             f"at a load of {min(loads):.0f} to {max(loads):.0f}. Controls that leave out 1: {sum(controls)} of {len(controls)}, where 1 in 20 is expected.", ""]
    lines += ["| program | benchmark | predicted, 2 CPUs / 64 / 128 | measured on 2 | to itself | lines + / - |", "|---|---|---|---|---|---|"]
    for name, result in results.items():
        predictions = predicted(result)
        for number, (what, it) in enumerate(result["measure"].items()):
            start = f"[{name}]({name}/README.md)" if number == 0 else ""
            edit = f"{result['added']} / {result['removed']}" if number == 0 else ""
            lines.append(f"| {start} | {what} | {predictions.get(what, '')} | {ratio(it['ways']['tenure'])} | {ratio(again(it['ways']))} | {edit} |")
    return "\n".join(lines) + "\n"


def put(page, text):
    old = page.read_text()
    new, found = re.subn(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}{END}", old, flags=re.DOTALL)
    if found != 1:
        fail(f"{page} has no place for figures: {BEGIN} ... {END}")
    page.write_text(new)


def missing(folder, result):
    """Why figures cannot be published, or nothing."""
    now = digest(*own_sources(folder))
    for step in ("record", "tests", "measure"):
        if result.get("of", {}).get(step) != now:
            return f"{step} of {folder.name}, as it is now"
    if few := [it["rounds"] for it in result["measure"].values() if it["rounds"] < ROUNDS]:
        return f"{ROUNDS} rounds of {folder.name}, but {few[0]}"
    return None


def write(proofs, names):
    """Of all proofs, and the page that has them all; or of some, their own pages alone."""
    results = {name: TARGET / "proof" / name / "result.json" for name in names or proofs}
    results = {name: json.loads(file.read_text()) if file.exists() else {} for name, file in results.items()}
    if lacks := [it for name, result in results.items() if (it := missing(proofs[name].parent, result))]:
        fail(f"nothing is written; not measured here: {'; '.join(lacks)}")
    for name, result in results.items():
        put(ROOT / "proof" / name / "README.md", of_proof(result))
    if not names:
        put(ROOT / "proof/README.md", of_all(results))
