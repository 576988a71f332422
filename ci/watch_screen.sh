#!/usr/bin/env bash
# By hand, with tmux: `tenure watch` shows a program's worst line while it runs, `q` and Ctrl-C end it with the report, and
# the terminal is as it was. TENURE names the command.
set -euo pipefail
cd "$(dirname "$0")/.."
tenure=${TENURE:-target/debug/tenure}
out=$(mktemp -d)
session=tenure-screen-$$
trap 'tmux kill-session -t "$session" 2>/dev/null || true; kill "$pid" 2>/dev/null || true; rm -rf "$out"' EXIT
gcc -O2 -g -pthread -DENDLESS -o "$out/cases" crates/tenure-run/tests/cases/cases.c
"$out/cases" one_word &
pid=$!

# Waits up to a minute until the terminal shows a text.
shows() {
    for _ in $(seq 600); do
        if tmux capture-pane -p -t "$session" | grep -qF -- "$1"; then return; fi
        sleep 0.1
    done
    echo "screen: no '$1' in:" >&2
    tmux capture-pane -p -t "$session" >&2
    exit 1
}

for key in q C-c; do
    tmux new-session -d -s "$session" -x 100 -y 40 \
        "$tenure watch --pid $pid --top 1; stty -a; echo done; sleep 60"
    shows "q ends watching"
    shows "hot +0"
    tmux send-keys -t "$session" "$key"
    shows "done"
    shows " icanon "
    tmux capture-pane -p -S -100 -t "$session" | grep -qF "1 contended line."
    tmux kill-session -t "$session"
    echo "screen: $key ends it with the report"
done
