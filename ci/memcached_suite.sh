#!/usr/bin/env bash
# Runs memcached's own tests against `tenure serve memcached`, and compares what passes with ci/memcached_suite.list. By hand.
#
#   ci/memcached_suite.sh                  every file of the list
#   ci/memcached_suite.sh cas.t lru.t      these files alone, with all that they say
#
# The tests come with the source of memcached 1.6.45: from MEMCACHED_SOURCE, a directory, or else from memcached.org. Nothing
# of it is built: a script stands in for the binary that the tests start, and translates its options. TENURE names the command
# to run; without it a debug build is made. Needs perl.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.6.45
list=$PWD/ci/memcached_suite.list
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

if [ -n "${MEMCACHED_SOURCE:-}" ]; then
    cp -r "$MEMCACHED_SOURCE/t" "$MEMCACHED_SOURCE/doc" "$here"
else
    curl -fsSL "https://memcached.org/files/memcached-$version.tar.gz" | tar xz -C "$here" --strip-components=1
fi
if [ -z "${TENURE:-}" ]; then
    cargo build -p tenure-cli
    TENURE=${CARGO_TARGET_DIR:-target}/debug/tenure
fi
TENURE=$(realpath "$TENURE")
export TENURE

# The tests run a server under a program that ends it after some time; `prove` sees to that here.
cat >"$here/timedrun" <<'SCRIPT'
#!/bin/sh
shift
exec "$@"
SCRIPT

# memcached's options, as far as the server has them. What it does not have is refused, or changes nothing that a client sees:
# UDP, how slabs and lists are kept.
cat >"$here/memcached-debug" <<'SCRIPT'
#!/usr/bin/env bash
set -eu
refuse() {
    echo "tenure has no $1" >&2
    exit 64
}
listen=127.0.0.1 port=11211 path= daemon= crawl=yes
words=(--connections 1024)
while getopts "p:s:U:l:m:Mc:t:I:vhb:B:CFAWf:n:L:R:o:u:rdP:a:Y:S:e:D:V" option "$@"; do
    case $option in
        p) port=$OPTARG ;;
        s) path=$OPTARG ;;
        l) listen=$OPTARG ;;
        m) words+=(--memory "${OPTARG}m") ;;
        M) words+=(--no-evictions) ;;
        c) words+=(--connections "$OPTARG") ;;
        t) words+=(--threads "$OPTARG") ;;
        I) words+=(--largest-item "$OPTARG") ;;
        F) words+=(--no-flush) ;;
        A) words+=(--allow-shutdown) ;;
        a) words+=(--socket-mode "$OPTARG") ;;
        v) words+=(-v) ;;
        d) daemon=yes ;;
        P) words+=(--pid-file "$OPTARG") ;;
        R) words+=(--requests-per-turn "$OPTARG") ;;
        D) words+=(--prefix-delimiter "$OPTARG") ;;
        Y) words+=(--auth-file "$OPTARG") ;;
        o)
            IFS=, read -ra extras <<<"$OPTARG"
            for extra in "${extras[@]}"; do
                case $extra in
                    no_modern | no_lru_crawler) crawl= ;;
                    modern | lru_crawler) crawl=yes ;;
                    idle_timeout=*) words+=(--idle "${extra#*=}") ;;
                    ext_* | ssl_* | proxy_*) refuse "$extra" ;;
                esac
            done
            ;;
        B) [ "$OPTARG" = ascii ] || [ "$OPTARG" = auto ] || refuse "binary protocol" ;;
        W) words+=(--no-watch) ;;
        U | f | n | L | u | r) ;;
        h)
            echo "-s, --unix-socket: for tests that look whether there is one"
            exit 0
            ;;
        *) refuse "-$option" ;;
    esac
done
[ -n "$crawl" ] || words+=(--no-crawl)
if [ -n "$path" ]; then
    words+=(--listen "unix:$path")
else
    words+=(--listen "$listen:$port")
fi
if [ -n "$daemon" ]; then
    setsid "$TENURE" serve memcached "${words[@]}" >/dev/null 2>&1 &
    exit 0
fi
exec "$TENURE" serve memcached "${words[@]}" >/dev/null
SCRIPT
chmod +x "$here/timedrun" "$here/memcached-debug"

cd "$here"
if [ $# -gt 0 ]; then
    exec prove -v "${@/#/t/}"
fi

# A file passes if all of its tests do; what it skips itself is told. Of those that need what is not here nothing is tried.
passed=0 skipped=0 failed=0 surprises=0
while read -r file expected reason; do
    case $file in '' | '#'*) continue ;; esac
    # What fails may do so by waiting.
    patience=300
    [ "$expected" != fails ] || patience=60
    if timeout "$patience" prove "t/$file" >out 2>&1; then
        if grep -q '^t/.*skipped' out; then
            found=skips skipped=$((skipped + 1))
        else
            found=passes passed=$((passed + 1))
        fi
    else
        found=fails failed=$((failed + 1))
    fi
    note=$reason
    if [ "$found" != "$expected" ]; then
        note="UNEXPECTED: the list says $expected"
        surprises=$((surprises + 1))
        sed 's/^/    /' out | tail -n 20
    fi
    printf '%-8s %-28s %s\n' "$found" "$file" "$note"
done <"$list"
echo "$passed pass in full, $skipped skip themselves, $failed fail; $surprises otherwise than the list says"
[ "$surprises" = 0 ]
