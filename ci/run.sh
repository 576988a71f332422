#!/usr/bin/env bash
# The README's command `run`: it names the contended lines of the example server, and finds none when that is mended.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tenure() { cargo --config ci/release.toml run --release -- "$@"; }
example() {
    tenure run --json "$out/$1.json" --html "$out/$1.html" -- \
        cargo --config ci/release.toml run --release -p tenure-examples --example contended -- "$@"
}

example contended
example mended
python3 - "$out" <<'PYTHON'
import json, sys
def read(name):
    report = json.load(open(f"{sys.argv[1]}/{name}.json"))
    assert report["schema"] == "tenure-find/1", report["schema"]
    assert report["source"]["ended"] == {"kind": "exited", "status": 0}, report["source"]["ended"]
    return report["findings"]
found = read("contended")
words = [word["path"] for finding in found for word in [finding["contended"], *finding["victims"]]]
for name in ["in_flight", "requests", "bytes", "strong"]:
    assert any(word.endswith(name) for word in words), (name, words)
assert all(finding["repairs"] for finding in found), [finding["repairs"] for finding in found]
assert read("mended") == [], read("mended")
print(f"{len(found)} contended lines, all with a repair; none when mended")
PYTHON
