# What ci/tsan.sh and ci/asan.sh share. Sourced by them, from the root of the repository.

export RUSTC_BOOTSTRAP=1
# A tenth of the speed: a quarter of the objects (crates/tenure/tests/stress/main.rs) and of the random cases.
export TENURE_STRESS="${TENURE_STRESS:-0.25}"
export PROPTEST_CASES="${PROPTEST_CASES:-64}"

host=$(rustc -vV | sed -n 's/^host: //p')

# sanitized KIND COMMAND PACKAGE ARGUMENT... : runs the cargo command with the sanitizer on.
#
# --target, so that build scripts and macros, which run inside the compiler, are not instrumented.
sanitized() {
    local kind=$1 command=$2 package=$3
    shift 3
    # --cfg sanitized leaves out loom, which takes longer to compile than the rest. Few cases do not pay for optimising proptest.
    # Reports and ci/tsan.supp name functions and lines of dependencies, too.
    RUSTFLAGS="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer -Cforce-frame-pointers=yes --cfg sanitized" \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitizer-$kind" \
        cargo --config profile.dev.package.proptest.opt-level=0 --config 'profile.dev.package."*".debug="line-tables-only"' \
        "$command" --package "$package" --target "$host" "$@"
}

# sanitize KIND TEST-ARGUMENT... : runs the tests, but for those whose names match LEFT_OUT.
sanitize() {
    local kind=$1
    shift
    local targets=(--lib) file name
    for file in crates/tenure/tests/{stress,count,in_allocator,arc,lazy,pool,registry,lazy_*,pool_*,registry_*}; do
        name=$(basename "$file" .rs)
        # A pattern that matched nothing stays as it is. Not among them: models/, which is loom's, and
        # forks of a process with threads, whose child the sanitizer's own threads and locks do not follow.
        if [[ -e $file && $name != *_fork && ! $name =~ ${LEFT_OUT:-^$} ]]; then
            targets+=(--test "$name")
        fi
    done
    echo "$kind sanitizer: ${targets[*]}"
    # One test at a time: a report shows the threads of that test and no others. The rules of lines are arithmetic.
    sanitized "$kind" test tenure --all-features "${targets[@]}" -- --test-threads=1 --skip cache_line::rules "$@"
}

# expect_report KIND BUG MESSAGE : the sanitizer finds a bug that is there on purpose.
expect_report() {
    local kind=$1 bug=$2 message=$3 output
    if output=$(sanitized "$kind" run tenure --quiet --example sanitizer_control -- "$bug" 2>&1); then
        echo "$kind sanitizer: the control '$bug' was not reported:" >&2
        echo "$output" >&2
        exit 1
    fi
    if ! grep -qF "$message" <<<"$output"; then
        echo "$kind sanitizer: the control '$bug' failed without '$message':" >&2
        echo "$output" >&2
        exit 1
    fi
    echo "$kind sanitizer: control '$bug' was reported: $(grep -m1 -F "$message" <<<"$output")"
}
