#!/usr/bin/env bash
# The README's command `layout`, on the running kernel and on a program of our own: as a person calls it,
# and as a program does. Asserts that it works; times nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tenure() { cargo run --quiet --release -- "$@"; }

if [[ -e /sys/kernel/btf/vmlinux ]]; then
    tenure layout --kernel
else
    echo "layout: this kernel shows no BTF; the command has to say so"
    code=0
    tenure layout --kernel 2>"$out/error" || code=$?
    [[ $code -eq 2 ]] && grep -q '^error: .*/sys/kernel/btf/vmlinux' "$out/error"
fi

# The release build has line tables only; a debug build has types. Those of the example do. With `--workspace` it depends
# on what ci/test.sh compiles, too.
cargo --config 'profile.dev.package.tenure-examples.debug="full"' build --workspace --example tokio_server
program=${CARGO_TARGET_DIR:-target}/debug/examples/tokio_server
tenure layout "$program" --all --top 1000 --html "$out/layout.html" --json - >"$out/layout.json"
python3 - "$out/layout.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["schema"] == "tenure-render/1", report["schema"]
findings = report["findings"]
assert findings and all(f["victims"] and f["signals"] for f in findings)
whose = ["yours", "dependency", "standard"]
order = [(whose.index(f["origin"]), -f["score"]) for f in findings]
assert order == sorted(order) and {whose for whose, _ in order} == {0, 1, 2}, order
print(f"{len(findings)} of {report['scope']['findings']} findings in {report['source']['composites']} types")
PYTHON
grep -q 'ArcInner' "$out/layout.html" || { echo "the page shows no map of an Arc" >&2; exit 1; }

# Both ways a check can end.
routes=crates/tenure-debuginfo/tests/fixtures/btf
cat >"$out/rules.toml" <<'TOML'
[[apart]]
type = "dst_entry"
member = "lwtstate"
from = "__r*"
TOML
tenure layout "$routes/repaired.btf" --check "$out/rules.toml"
if tenure layout "$routes/before.btf" --check "$out/rules.toml"; then
    echo "layout: the check of a layout that is at fault passed" >&2
    exit 1
fi
