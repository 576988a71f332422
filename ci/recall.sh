#!/usr/bin/env bash
# Where `tenure layout` ranks what others found on one line: in Linux 6.1, and in programs. The cases are in ci/recall/cases.toml;
# ci/recall/ranks.py prints them with their ranks.
#
# By hand, on Debian 12: fetches 0.8 GB by apt (Linux 6.1 with debugging information), and builds the programs from Debian's
# sources in target/recall: redis 6.0 of Debian 11, haproxy 2.6 of Debian 12, valkey 8.1 of Debian 13. What is there already is
# taken as it is.
#
# Usage: ci/recall.sh [VMLINUX]                   (Linux and all programs)
#        ci/recall.sh PROGRAM=FILE...             (only these, built before: vmlinux=/boot/vmlinux redis=./redis-server)
set -euo pipefail
# Into $(...) as well.
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$PWD/target/recall
mkdir -p "$work"

# Debian's kernel with debugging information.
vmlinux() {
    local file=$work/vmlinux package folder
    if [[ ! -e $file ]]; then
        package=$(apt-cache depends linux-image-amd64-dbg | sed -n 's/^ *Depends: \(linux-image-6\.1\..*-dbg\)$/\1/p')
        [[ -n $package ]] || { echo "recall: apt has no Linux 6.1 with debugging information; name a vmlinux" >&2; exit 2; }
        folder=$(mktemp -d -p "$work")
        (cd "$folder" && apt-get download "$package" && dpkg-deb -x "$package"_*.deb .) >&2
        mv "$(find "$folder" -name 'vmlinux-*' -size +100M)" "$file"
        rm -r "$folder"
    fi
    echo "$file"
}

# The source of a package of some release of Debian's, without Debian's changes. Its newest revision may be of another mirror:
# the source itself is enough.
sources() {
    local package=$1 release=$2 folder=$work/$1
    local lists=$work/lists-$release
    mkdir -p "$lists/partial" "$folder.download" "$folder"
    echo "deb-src http://deb.debian.org/debian $release main" >"$lists.list"
    local apt=(apt-get -qq "-oDir::Etc::SourceList=$lists.list" -oDir::Etc::SourceParts=/dev/null
        "-oDir::State::Lists=$lists" -oAPT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$folder.download" && "${apt[@]}" source --download-only --only-source "$package" >&2) || true
    tar xf "$(find "$folder.download" -name '*.orig.tar.*' ! -name '*.asc' | head -1)" -C "$folder" --strip-components=1
}

# A program: package, release, where it lies, and how it is made.
built() {
    local package=$1 release=$2 file=$work/$1/$3 place
    shift 3
    if [[ ! -e $file ]]; then
        sources "$package" "$release"
        place=$(dirname "$file")
        make -C "$place" -j"$(nproc)" "$@" >&2
    fi
    echo "$file"
}

# What some crates and std put on one line, in the last versions that do.
crates() {
    local folder=$work/crates
    mkdir -p "$folder/src"
    cp ci/recall/crates.rs "$folder/src/main.rs"
    cat >"$folder/Cargo.toml" <<'TOML'
[package]
name = "crates"
version = "0.0.0"
edition = "2021"

[workspace]

[dependencies]
crossbeam-epoch = "=0.9.15"
crossbeam-utils = "=0.8.17"
dashmap = "=5.5.3"
tokio = { version = "=1.28.2", features = ["rt-multi-thread", "sync"] }

[profile.release]
debug = 2
TOML
    cargo build --release --quiet --manifest-path "$folder/Cargo.toml" --target-dir "$folder/target" >&2
    echo "$folder/target/release/crates"
}

# Needs libboost-dev.
boost() {
    g++ -O2 -g -pthread -o "$work/boost" ci/recall/boost.cpp >&2
    echo "$work/boost"
}

cargo build --release --quiet -p tenure-cli

programs=("$@")
if [[ $# -eq 0 || $1 != *=* ]]; then
    # One a line: of several $(...) in a list only the last one's failure counts.
    kernel=${1:-$(vmlinux)}
    redis=$(built redis bullseye src/redis-server MALLOC=libc BUILD_TLS=no redis-server)
    haproxy=$(built haproxy bookworm haproxy TARGET=linux-glibc DEBUG_CFLAGS=-g)
    valkey=$(built valkey trixie src/valkey-server MALLOC=libc BUILD_TLS=no valkey-server)
    rust=$(crates)
    cpp=$(boost)
    programs=("vmlinux=$kernel" "redis=$redis" "haproxy=$haproxy" "valkey=$valkey" "crates=$rust" "boost=$cpp")
fi
reports=()
for program in "${programs[@]}"; do
    report=$work/${program%%=*}.json
    target/release/tenure layout "${program#*=}" --all --top 1000000 --json "$report" >/dev/null
    reports+=("${program%%=*}=$report")
done
python3 ci/recall/ranks.py "${reports[@]}"
