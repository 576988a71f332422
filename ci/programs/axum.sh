#!/usr/bin/env bash
# A server on axum whose state is an `Arc`: axum clones it for every request, which writes the count beside what every
# request reads. Fixed: a reference that lives as long as the program.
source "$(dirname "$0")/common.sh"
package server 'axum = { version = "=0.8.9", default-features = false, features = ["http1", "tokio"] }
tokio = { version = "1", features = ["rt-multi-thread", "net"] }'
port=$(free_port)
asked() { load http --seconds 3; }
before=("$work/target/$host/release/server" "127.0.0.1:$port")
under asked recorded before "${before[@]}" >/dev/null
under asked recorded after "${before[@]}" fixed >/dev/null
found before 'Arc<App>' strong
silent after 'Arc<App>'
unmodified() { under asked "$work/target/release/server" "127.0.0.1:$port"; }
fixed() { under asked "$work/target/release/server" "127.0.0.1:$port" fixed; }
compare unmodified fixed
