#!/usr/bin/env bash
# Installs what some tests use, where it is missing: compilers, cmake, allocators, and clients and servers that other people wrote.
# It tests nothing: with TENURE_CLIENTS=required those tests fail where they skip otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."

# Program, and the Debian package that has it.
while read -r program package; do
    command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || missing+=("$package")
done <<'PROGRAMS'
curl curl
wrk wrk
ab apache2-utils
memcached memcached
memccat libmemcached-tools
nginx nginx-light
clang clang
g++ g++
make make
cmake cmake
PROGRAMS
python3 -c 'import pymemcache' 2>/dev/null || missing+=(python3-pymemcache)
for library in jemalloc:libjemalloc-dev tcmalloc_minimal:libgoogle-perftools-dev mimalloc:libmimalloc-dev; do
    [[ $(cc -print-file-name="lib${library%:*}.so") == /* ]] || missing+=("${library#*:}")
done
if [[ -n ${missing+some} ]]; then
    as_root=$([[ $EUID -eq 0 ]] || echo sudo)
    $as_root apt-get update -qq
    # Packages of servers start them; nothing of theirs is wanted but the program.
    $as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq "${missing[@]}"
fi
# Another Python than Debian's does not see Debian's modules.
python3 -c 'import pymemcache' 2>/dev/null || python3 -m pip install --quiet --break-system-packages pymemcache
