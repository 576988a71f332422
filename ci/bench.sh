#!/usr/bin/env bash
# The README's command `bench`, quick, and twice: as a person calls it, and as a program does. Asserts
# that it works; times nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tenure() { cargo run --quiet --release -- "$@"; }

tenure bench --quick --report "$out/report"
grep -q '<svg' "$out"/report/*.html || { echo "the report has no picture" >&2; exit 1; }

tenure bench refs --quick --threads 1 --report "$out/report" --json - >"$out/report.json"
python3 - "$out/report.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["schema"] == "tenure-bench/1", report["schema"]
rows = [row for group in report["groups"] for scenario in group["scenarios"]
        for point in scenario["points"] for row in point["rows"]]
assert rows and all(row["ns_per_op"]["median"] > 0 for row in rows)
print(f"{len(rows)} rows")
PYTHON
