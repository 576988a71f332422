#!/usr/bin/env bash
# tokio 1.29.1: what the senders of an mpsc channel change lies beside what the receiver does, in `Chan`. Apart in 1.30.0.
source "$(dirname "$0")/common.sh"
package before 'tokio = { version = "=1.29.1", features = ["sync"] }'
package after 'tokio = { version = "=1.30.0", features = ["sync"] }'
(recorded before "$work/target/$host/release/before") >/dev/null
(recorded after "$work/target/$host/release/after") >/dev/null
found before 'tx\.tail_position' 'rx_fields|rx_waker|semaphore'
silent after 'tx\.tail_position' 'rx_fields|rx_waker|semaphore'
compare "$work/target/release/before" "$work/target/release/after"
