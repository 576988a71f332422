#!/usr/bin/env bash
# Our own `tenure serve memcached`, with the counts that all connections change beside what they read, and on lines of
# their own.
source "$(dirname "$0")/common.sh"
(
    cd "$root"
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
    "$tenure" run -- cargo build --quiet --release -p tenure-cli --target-dir "$work/target" 2>/dev/null
)
port=$(free_port)
load() { "$tenure" load memcached "127.0.0.1:$port" --seconds 3 --json - | rate; }
words=(serve memcached --threads 4 --listen "127.0.0.1:$port" --line)
under load recorded before "$work/target/$host/release/tenure" "${words[@]}" shared >/dev/null
under load recorded after "$work/target/$host/release/tenure" "${words[@]}" isolated >/dev/null
# With the count alone, or with what stands beside it, as the load has it.
found before '^(hot_word|beside_read_mostly)' 'Peer'
silent after '^(false_sharing|beside_read_mostly)'
as_it_is() { under load "$tenure" "${words[@]}" shared; }
mended() { under load "$tenure" "${words[@]}" isolated; }
compare as_it_is mended
