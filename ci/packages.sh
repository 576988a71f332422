#!/usr/bin/env bash
# Installs what some tests use, where it is missing: compilers, make, cmake and allocators.
# It tests nothing: with TENURE_PACKAGES=required those tests fail where they skip otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."

# Program, and the Debian package that has it.
while read -r program package; do
    command -v "$program" >/dev/null || missing+=("$package")
done <<'PROGRAMS'
clang clang
g++ g++
make make
cmake cmake
PROGRAMS
for library in jemalloc:libjemalloc-dev tcmalloc_minimal:libgoogle-perftools-dev mimalloc:libmimalloc-dev; do
    [[ $(cc -print-file-name="lib${library%:*}.so") == /* ]] || missing+=("${library#*:}")
done
if [[ -n ${missing+some} ]]; then
    as_root=$([[ $EUID -eq 0 ]] || echo sudo)
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi
