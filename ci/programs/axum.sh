#!/usr/bin/env bash
# A server on axum whose state is an `Arc`: axum clones it for every request, which writes the count beside what every
# request reads. Mended: a reference that lives as long as the program.
source "$(dirname "$0")/common.sh"
package server 'axum = { version = "=0.8.9", default-features = false, features = ["http1", "tokio"] }
tokio = { version = "1", features = ["rt-multi-thread", "net"] }'
port=$(free_port)
load() { "$tenure" load http "127.0.0.1:$port" --seconds 3 --json - | rate; }
before=("$work/target/$host/release/server" "127.0.0.1:$port")
under load recorded before "${before[@]}" >/dev/null
under load recorded after "${before[@]}" mended >/dev/null
found before 'Arc<App>' strong
silent after 'Arc<App>'
as_it_is() { under load "$work/target/release/server" "127.0.0.1:$port"; }
mended() { under load "$work/target/release/server" "127.0.0.1:$port" mended; }
compare as_it_is mended
