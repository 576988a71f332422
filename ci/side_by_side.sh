# Sourced, from the root of the repository, by the scripts that run many checks: .ci/run and ci/nightly.

# README's commands are built as readers build them, and these checks share what they have compiled. All else is compiled for
# one check, and never again after a change.
as_typed=" test instruments layout build_std models "

# side_by_side LANE... : runs lanes of checks at the same time, because no check keeps every core busy from its start to its
# end. A lane is a list of names: `fmt` is ci/fmt.sh. A check's output appears whole when the check ends. The first check that
# fails ends the run, with its status.
side_by_side() {
    logs=$(mktemp -d)
    lanes=()
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    local lane code=0
    set -m
    for lane in "$@"; do
        run_lane $lane &
        lanes+=($!)
    done
    set +m
    for lane in "${lanes[@]}"; do
        wait -n || { code=$?; break; }
    done
    echo "=== $SECONDS s"
    cat "$logs/times" "$logs/failed" 2>/dev/null || true
    exit "$code"
}

clean_up() {
    local lane
    # Each lane is a process group, with all that its checks have started.
    for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
    rm -rf "$logs"
}

run_lane() {
    local check code took
    local TIMEFORMAT='%0R s (%0U s of processor time, and %0S in the kernel)'
    for check in "$@"; do
        code=0
        echo "=== ci/$check.sh begins"
        if [[ $as_typed == *" $check "* ]]; then unset CARGO_INCREMENTAL; else export CARGO_INCREMENTAL=0; fi
        { time "ci/$check.sh" >"$logs/$check" 2>&1 </dev/null; } 2>"$logs/time-$check" || code=$?
        took=$(<"$logs/time-$check")
        {
            # One at a time: logs of two checks that end together are not mixed.
            flock 9
            echo "=== ci/$check.sh"
            cat "$logs/$check"
            if ((code == 0)); then
                echo "--- ci/$check.sh: $took" | tee -a "$logs/times"
            else
                echo "--- ci/$check.sh failed with status $code, after $took" | tee "$logs/failed"
            fi
        } 9>"$logs/lock"
        ((code == 0)) || exit "$code"
    done
}
