#!/usr/bin/env bash
# Both servers under churn for some minutes: clients that come and go, values of 16 to 4,096 bytes, evictions, connections for
# single requests; then values of sizes that shift from 50 bytes to a megabyte. Asserts that the resident memory of the last
# third is at most 5 % above that of the second, that nothing is left when the clients are gone, and that the cache keeps at
# most 1.3 times its limit when sizes have shifted.
#
# Not a part of .ci/run: run it after a change to the servers, or to what they count and pool with.
#
# Usage: ci/churn.sh [SECONDS]     (600 by default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-600}
out=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$out"' EXIT

cargo build --release -p tenure-cli
tenure=${CARGO_TARGET_DIR:-target}/release/tenure
mkdir "$out/site"
head -c 20000 /dev/zero >"$out/site/index.html"

"$tenure" serve memcached --listen 127.0.0.1:0 --memory 32m --json "$out/memcached.json" >"$out/memcached" &
memcached=$!
"$tenure" serve http "$out/site" --listen 127.0.0.1:0 --json "$out/http.json" >"$out/http" &
http=$!
address() {
    until grep -q '^listening on ' "$1"; do
        kill -0 "$2" || { echo "churn: a server did not start" >&2; exit 1; }
        sleep 0.1
    done
    sed -n 's/^listening on //p' "$1"
}
cache=$(address "$out/memcached" $memcached)
pages=$(address "$out/http" $http)
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

end=$((SECONDS + seconds))
while ((SECONDS < end)); do
    # More than fits, so that items are evicted; every load has new connections.
    "$tenure" load memcached "$cache" --ratio 1:2 --keys 100000 --value 16-4096 --no-preload --seconds 4 --warmup 0 \
        --clients $((RANDOM % 100 + 1)) --pipeline $((RANDOM % 16 + 1)) >/dev/null
    "$tenure" load http "$pages" --path /index.html --close --seconds 3 --warmup 0 --clients 50 >/dev/null
    "$tenure" load http "$pages" --path /index.html --seconds 1 --warmup 0 --clients 200 >/dev/null
    echo "$SECONDS s: memcached $(resident $memcached) KiB, http $(resident $http) KiB" | tee -a "$out/resident"
done
kill -TERM $memcached $http
wait $memcached
wait $http

# Values of shifting sizes, in a cache of its own: after each size the process, less what it took when empty, is within 1.3
# times the limit. memcached, where it is installed, gets the same for comparison.
shift_sizes() {
    local name=$1 server=$2 cache=$3 empty taken size
    empty=$(resident "$server")
    for size in 50 1000000 200 300000 700 90000 3000 30000 9000 500000 120 60000 50 1000000; do
        # Keys of its own: those of the size before stay until they are evicted.
        "$tenure" load memcached "$cache" --ratio 8:1 --keys $((200000000 / (size + 200))) --value $((size * 4 / 5))-$size \
            --prefix "$size-" --no-preload --seconds $((seconds / 60 + 2)) --warmup 0 --clients 8 --pipeline 8 >/dev/null
        # Arriving values, and those being sent, do not count towards the limit; unused blocks go back once a second.
        sleep 2
        taken=$(($(resident "$server") - empty))
        echo "$name: values of $size bytes: $taken KiB for a limit of 65536"
        [[ $name != tenure ]] || ((taken * 10 <= 65536 * 13)) ||
            { echo "churn: memory follows the sizes of values" >&2; exit 1; }
    done
    kill -TERM "$server"
    wait "$server" || [[ $name != tenure ]]
}
"$tenure" serve memcached --listen 127.0.0.1:0 --memory 64m >"$out/shifting" &
shift_sizes tenure $! "$(address "$out/shifting" $!)"
if command -v memcached >/dev/null; then
    MEMCACHED_PORT_FILENAME=$out/port memcached -u root -m 64 -l 127.0.0.1 -p -1 &
    sleep 1
    shift_sizes memcached $! "127.0.0.1:$(sed -n 's/^TCP INET: //p' "$out/port")"
fi

python3 - "$out" <<'PYTHON'
import json, re, sys
from statistics import median
out = sys.argv[1]
lines = [re.findall(r"(\d+) KiB", line) for line in open(f"{out}/resident")]
for at, name in enumerate(("memcached", "http")):
    figures = json.load(open(f"{out}/{name}.json"))["figures"]
    left = {key: figures[key] for key in ("curr_connections", "buffers_in_use", "peers") if key in figures}
    assert not any(left.values()), (name, left)
    resident = [int(line[at]) for line in lines]
    third = len(resident) // 3
    if third:
        # Not the largest: on a busy machine a thread that waits for a CPU in the middle of a request holds up the memory
        # of all that is evicted meanwhile.
        before, after = median(resident[third:2 * third]), median(resident[2 * third:])
        print(f"{name}: {figures['total_connections']} connections, {figures['bytes_read']} bytes read; "
              f"resident {before} KiB in the second third, {after} in the last, {max(resident)} at most")
        assert after <= before * 1.05, "resident memory grows"
    else:
        print(f"{name}: too short a run to judge memory; give it a minute at least")
    if "items_alive" in figures:
        assert figures["items_alive"] == figures["curr_items"], "items that cannot be found are alive"
PYTHON
