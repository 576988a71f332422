#!/usr/bin/env bash
# Of two modules with the same parent, only one may use the other: imports run downward (ARCHITECTURE.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The check itself: two modules that use each other are found, one that uses the other is not.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/crates/planted/src"
(
    cd "$planted/crates/planted/src"
    echo 'mod above; mod below; pub use below::Below;' >lib.rs
    echo 'use crate::Below; pub struct Above(Below);' >above.rs
    echo 'pub struct Below;' >below.rs
)
(cd "$planted" && python3 "$OLDPWD/ci/imports.py")
echo 'fn back() -> super::above::Above { loop {} }' >>"$planted/crates/planted/src/below.rs"
found=$(cd "$planted" && python3 "$OLDPWD/ci/imports.py") && code=0 || code=$?
if [[ $code -ne 1 || $found != "planted: above, below use each other:"* ]]; then
    echo "imports: two modules that use each other were not found: $found" >&2
    exit 1
fi

python3 ci/imports.py
echo "imports: no two modules use each other"
