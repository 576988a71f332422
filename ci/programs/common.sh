# What the scripts of this directory share: they source it. Each records a real program with `tenure run`, and the same
# program with the fault fixed. It exits with 1 if the fault is not found, or is found in what was fixed.
#
# By hand: they fetch what they build. TENURE names the command to run; without it a release build is made.
set -euo pipefail
programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$programs/../..
name=$(basename "$0" .sh)
work=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")/programs/$name
mkdir -p "$work"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT

if [ -z "${TENURE:-}" ]; then
    (cd "$root" && cargo build --quiet --release -p tenure-cli)
    TENURE=$(realpath "${CARGO_TARGET_DIR:-$root/target}")/release/tenure
fi
tenure=$(realpath "$TENURE")
loads=$work/load
rustc --edition 2021 -O -o "$loads" "$programs/load.rs"
host=$(rustc -vV | sed -n 's/^host: //p')

# package NAME DEPENDENCIES: builds the Rust source that is named like the script, with these lines of a Cargo.toml, as it
# is and instrumented: $work/target/release/NAME and $work/target/$host/release/NAME.
package() {
    mkdir -p "$work/$1/src"
    cp -p "$programs/$name.rs" "$work/$1/src/main.rs"
    printf '[package]\nname = "%s"\nedition = "2021"\n[dependencies]\n%s\n[workspace]\n' "$1" "$2" >"$work/$1/Cargo.toml"
    (
        cd "$work/$1"
        cargo build --quiet --release --target-dir "$work/target"
        "$tenure" run -- cargo build --quiet --release --target-dir "$work/target" 2>/dev/null
    )
}

# recorded NAME COMMAND...: becomes a run of the program that is recorded, to $work/NAME.txt and $work/NAME.json.
recorded() { exec "$tenure" run --json "$work/$1.json" -- "${@:2}" 2>"$work/$1.txt"; }

# found NAME PATTERN..., silent NAME PATTERN...: whether the report has a finding that all patterns match (report.py).
found() { python3 "$programs/report.py" found "$work/$1.json" "${@:2}"; }
silent() { python3 "$programs/report.py" silent "$work/$1.json" "${@:2}"; }

# compare ONE OTHER: calls two functions in turns that print operations per second, and prints the median of each.
compare() {
    local round
    : >"$work/one"
    : >"$work/other"
    for round in 1 2 3 4 5; do
        "$1" >>"$work/one"
        "$2" >>"$work/other"
    done
    python3 "$programs/report.py" medians "$work/one" "$work/other"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# under LOAD COMMAND...: starts a server that listens on $port, calls LOAD, and ends the server. A function has to become the
# server, so that the signal reaches it.
under() {
    local load=$1 code=0
    shift
    "$@" >"$work/output" &
    server=$!
    until (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "$server" 2>/dev/null || { echo "$name: the server did not start" >&2; exit 1; }
        sleep 0.1
    done
    "$load"
    kill -TERM "$server"
    wait "$server" || code=$?
    server=
    # A server may end by the signal.
    [ "$code" = 0 ] || [ "$code" = 143 ] || { echo "$name: the server ended with $code" >&2; exit 1; }
}

# watched NAME LOAD: watches the server that `under` has started, unmodified, while LOAD runs: to $work/NAME.txt and $work/NAME.json.
watched() {
    "$tenure" watch --pid "$server" --for 5s --json "$work/$1.json" >"$work/$1.txt" &
    local watcher=$!
    "$2"
    wait "$watcher"
}

# load PROTOCOL [OPTION...]: prints what the server on $port answers a second (load.rs).
load() { "$loads" "$1" "127.0.0.1:$port" "${@:2}"; }
