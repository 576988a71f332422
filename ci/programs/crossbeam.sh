#!/usr/bin/env bash
# crossbeam-utils 0.8.17: the locks that `AtomicCell` takes for large values lie in an array, eight to a line. Fixed in
# 0.8.18, where each has a line.
source "$(dirname "$0")/common.sh"
package before 'crossbeam-utils = "=0.8.17"'
package after 'crossbeam-utils = "=0.8.18"'
(recorded before "$work/target/$host/release/before") >/dev/null
(recorded after "$work/target/$host/release/after") >/dev/null
found before LOCKS
silent after LOCKS
compare "$work/target/release/before" "$work/target/release/after"
