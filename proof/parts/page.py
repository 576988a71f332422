"""Figures of the pages: what stands between two comments there is written from target/proof/NAME/result.json."""

import json
import re

from parts.shell import ROOT, TARGET, fail

BEGIN, END = "<!-- figures: proof/run --write -->", "<!-- end of figures -->"


def ratio(row):
    text = f"{row['ratio']:.2f}"
    if row["resolved"]:
        text = f"**{text}**"
    return f"{text} ({row['least']:.2f} to {row['most']:.2f})"


def listed(gains):
    return " / ".join(f"{gains[cpus]:.3g}" for cpus in ("2", "64", "128")) if gains else "none"


def predicted(result):
    """Of what was recorded first."""
    return listed(next(iter(result["record"].values()))["gains"]) if "record" in result else ""


def again(ways):
    return next(row for way, row in ways.items() if way.endswith(", again"))


def of_proof(result):
    """The tables of a proof's page."""
    if "measure" not in result:
        return "Not measured yet.\n"
    lines = [f"Measured {result['date']} on {result['cpus']} virtual CPUs, nice {result['nice']}; the edit adds {result['added']} lines and removes "
             f"{result['removed']}.", ""]
    if record := result.get("record"):
        lines += ["| recorded | finding | predicted gain where this line alone counts, on 2 CPUs / 64 / 128 | of the whole program, "
                  "with the report's repairs |", "|---|---|---|---|"]
        for name, it in record.items():
            lines.append(f"| {name} | {it['rank']}: {it['kind'].replace('_', ' ')}, {it['share']:.0f} % | "
                         f"{it['repair']}: {listed(it['gains'])} | {listed(it['whole'])} |")
        lines.append("")
    lines += ["| what | as it is | way | ratio (median's 95 %) | as it is, to itself | load |", "|---|---:|---|---|---|---|"]
    for what, it in result["measure"].items():
        ways = it["ways"]
        base, *others = [way for way in ways if not way.endswith(", again")]
        for number, way in enumerate(others):
            start = f"{what} | {ways[base]['rate']:.3g}" if number == 0 else " | "
            end = f"{ratio(again(ways))} | {it['load'][0]:.0f} to {it['load'][1]:.0f}" if number == 0 else " | "
            lines.append(f"| {start} | {way} | {ratio(ways[way])} | {end} |")
    if tests := result.get("tests"):
        lines += ["", "Its tests: " + "; ".join(f"{way}: {text}" for way, text in tests.items()) + "."]
    return "\n".join(lines) + "\n"


def of_all(results):
    measured = [result for result in results.values() if "measure" in result]
    loads = [load for result in measured for it in result["measure"].values() for load in it["load"]]
    if not measured:
        return "Not measured yet.\n"
    which = lambda key: " and ".join(sorted({f"{result[key]}" for result in measured}))
    lines = [f"Measured {which('date')} on {which('cpus')} virtual CPUs, nice {which('nice')}, at a load of {min(loads):.0f} to {max(loads):.0f}.", ""]
    lines += ["| program | benchmark | predicted, 2 CPUs / 64 / 128 | measured on 2 | to itself | lines + / - |", "|---|---|---|---|---|---|"]
    for name, result in results.items():
        if "measure" not in result:
            continue
        for number, (what, it) in enumerate(result["measure"].items()):
            start = f"[{name}]({name}/README.md)" if number == 0 else ""
            gains, edit = (predicted(result), f"{result['added']} / {result['removed']}") if number == 0 else ("", "")
            lines.append(f"| {start} | {what} | {gains} | {ratio(it['ways']['tenure'])} | {ratio(again(it['ways']))} | {edit} |")
    return "\n".join(lines) + "\n"


def put(page, text):
    old = page.read_text()
    new, found = re.subn(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}{END}", old, flags=re.DOTALL)
    if found != 1:
        fail(f"{page} has no place for figures: {BEGIN} ... {END}")
    page.write_text(new)


def write(names):
    results = {name: TARGET / "proof" / name / "result.json" for name in names}
    results = {name: json.loads(file.read_text()) for name, file in results.items() if file.exists()}
    for name, result in results.items():
        put(ROOT / "proof" / name / "README.md", of_proof(result))
    put(ROOT / "proof/README.md", of_all(results))
