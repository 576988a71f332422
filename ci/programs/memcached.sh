#!/usr/bin/env bash
# Debian's source of memcached 1.6.18: its locks of items and of lists lie in arrays of 40-byte mutexes, three to two lines.
# Fixed: each has a line. `tenure watch` finds the locks of lists in the unmodified program. MEMCACHED_SOURCE names the source;
# without it apt fetches it. Needs libevent-dev.
source "$(dirname "$0")/common.sh"
source=${MEMCACHED_SOURCE:-$work/source}
if [ ! -e "$source/configure" ]; then
    mkdir -p "$work/lists/partial" "$source"
    echo 'deb-src http://deb.debian.org/debian-security bookworm-security main' >"$work/sources.list"
    apt() {
        (cd "$work" && apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
            -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root "$@")
    }
    apt update
    apt source --download-only --only-source memcached=1.6.18-1+deb12u1
    tar xf "$work"/memcached_*.orig.tar.* -C "$source" --strip-components=1
fi

# build NAME COMMAND...: configures a copy, and has COMMAND make it.
build() {
    local copy=$work/$1
    if [ ! -e "$copy/memcached" ]; then
        rm -rf "$copy" && cp -a "$source" "$copy"
        case $1 in *fixed) fix "$copy" ;; esac
        (cd "$copy" && ./configure --quiet CFLAGS='-O2 -g' >/dev/null && "${@:2}" -j2 memcached) >"$copy.log" 2>&1 ||
            { echo "memcached: $copy cannot be built; see $copy.log" >&2; exit 1; }
    fi
}
fix() { sed -E -i -f "$root/proof/memcached/edit.sed" "$1"/{crawler,items,thread}.c "$1/items.h"; }
build native make
build native-fixed make
build recorded "$tenure" run --cc -- make
build recorded-fixed "$tenure" run --cc -- make

port=$(free_port)
words=(-u root -l 127.0.0.1 -p "$port" -t 4)
asked() { load memcached --ratio 1:9 --seconds 3; }
under asked recorded before "$work/recorded/memcached" "${words[@]}" >/dev/null
under asked recorded after "$work/recorded-fixed/memcached" "${words[@]}" >/dev/null
found before false_sharing item_lock
silent after false_sharing item_lock
unmodified() { under asked "$work/native/memcached" "${words[@]}"; }
fixed() { under asked "$work/native-fixed/memcached" "${words[@]}"; }
compare unmodified fixed
watch() { watched watched load_longer; }
load_longer() { load memcached --ratio 1:9 --seconds 7 >/dev/null; }
under watch "$work/native/memcached" "${words[@]}"
found watched lru_locks
