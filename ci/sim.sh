#!/usr/bin/env bash
# The command `sim`, as a person calls it, and as a program does: twice, for the same bytes. Asserts that
# it works; times nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tenure() { cargo run --quiet --release -- "$@"; }

tenure sim refs --cpus 1..192 --report "$out/report" | tee "$out/text"
grep -q 'ends at 112' "$out/text" || { echo "the text does not say that the machine ends at 112 CPUs" >&2; exit 1; }
grep -q '<svg' "$out"/report/*.html || { echo "the report has no picture" >&2; exit 1; }
tenure sim examples/state_cost.toml --cpus 1,64 --report "$out/report" >/dev/null

for run in 1 2; do
    tenure sim --cpus 1..192 --seed 7 --us 10 --json - >"$out/$run.json"
done
cmp "$out/1.json" "$out/2.json" || { echo "the same seed gave two reports" >&2; exit 1; }
python3 - "$out/1.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["schema"] == "tenure-sim/1", report["schema"]
scenarios = [scenario for group in report["groups"] for scenario in group["scenarios"]]
rows = [row for scenario in scenarios for point in scenario["points"] for row in point["rows"]]
assert rows and all(row["ns_per_op"] > 0 for row in rows)
members = {member["name"] for row in rows for line in row["lines"] for member in line["members"]}
assert {"refs", "lwtstate", "rt_genid"} <= members, members
print(f"{len(rows)} rows")
PYTHON

code=0
tenure sim refs --machine no-such 2>"$out/error" || code=$?
[[ $code -eq 2 ]] && tail -n 1 "$out/error" | grep -q "^error: there is no machine 'no-such'; there are "
