#!/usr/bin/env bash
# README's first command, as it is written there; and the same with a report that programs read: `tenure run` names the
# contended lines of the example server, and finds none when that is fixed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tenure() { cargo run --quiet --release -- "$@"; }
example() {
    tenure run --json "$out/$1.json" --html "$out/$1.html" -- \
        cargo run --release -p tenure-examples --example contended -- "$@"
}

source ci/readme.sh
command=$(readme_command 1)
: "${command:?"README has no first command"}"
echo "\$ $command"
eval "$command" 2>&1 | tee "$out/text"
for name in 'Arc<Settings>.strong' in_flight requests; do
    grep -qF "$name" "$out/text" || { echo "run: README's command does not name $name" >&2; exit 1; }
done

example contended
example fixed
python3 - "$out" <<'PYTHON'
import json, sys
def read(name):
    report = json.load(open(f"{sys.argv[1]}/{name}.json"))
    assert report["schema"] == "tenure-render/1", report["schema"]
    assert report["source"]["ended"] == {"kind": "exited", "status": 0}, report["source"]["ended"]
    return report["findings"]
found = read("contended")
words = [word["path"] for finding in found for word in [finding["contended"], *finding["victims"]]]
for name in ["in_flight", "requests", "bytes", "strong"]:
    assert any(word.endswith(name) for word in words), (name, words)
assert all(finding["repairs"] for finding in found), [finding["repairs"] for finding in found]
assert read("fixed") == [], read("fixed")
print(f"{len(found)} contended lines, all with a repair; none when fixed")
PYTHON

# The runtime's own memory is not contended: neither where nothing is recorded, nor while it is.
tenure run --cc -- gcc -O2 -g -pthread crates/tenure-run/tests/builds/apart.c -o "$out/apart"
mkdir "$out/records"
for records in "" "$out/records"; do
    TENURE_PROBE_DIR=$records tenure watch --for 5s --json "$out/watched.json" -- "$out/apart" 6 >"$out/text" 2>&1 ||
        { cat "$out/text"; exit 1; }
    python3 - "$out/watched.json" "$records" <<'PYTHON'
import json, os, sys
report = json.load(open(sys.argv[1]))
assert report["source"]["watched"]["samples"] > 0, report["source"]["watched"]
assert not sys.argv[2] or os.listdir(sys.argv[2]), "nothing was recorded"
assert report["findings"] == [], report["findings"]
PYTHON
done
echo "the runtime's own lines are not contended"
