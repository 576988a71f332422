#!/usr/bin/env bash
# Where `tenure layout` ranks what maintainers of Linux mended after 6.1: for each pair of words that they took apart, the
# rank of the first finding that has both, one of them contended. And the first 20 findings, to judge by eye.
#
# By hand: fetches 0.8 GB by apt on Debian 12 (Linux 6.1 with debugging information), unless it is given.
#
# Usage: ci/recall.sh [VMLINUX]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
vmlinux=${1:-}
if [[ -z $vmlinux ]]; then
    package=$(apt-cache depends linux-image-amd64-dbg | sed -n 's/^ *Depends: \(linux-image-6\.1\..*-dbg\)$/\1/p')
    [[ -n $package ]] || { echo "recall: apt has no Linux 6.1 with debugging information; name a vmlinux" >&2; exit 2; }
    (cd "$work" && apt-get download "$package" && dpkg-deb -x "$package"_*.deb .)
    vmlinux=$(find "$work" -name 'vmlinux-*' -size +100M)
fi

cargo run --release -- layout "$vmlinux" --all --top 1000000 --json "$work/found.json" >/dev/null
python3 - "$work/found.json" <<'PYTHON'
import json, sys

# The type, what is written, what suffers (alternatives), and the version with the repair.
CASES = [
    ("dentry", "d_lockref", "d_iname", "6.11"),
    ("mm_struct", "mm_count", "membarrier_state", "6.5"),
    ("file", "f_count", "f_op", "6.15"),
    ("sock", "sk_drops", "sk_receive_queue sk_backlog sk_rx_dst sk_rcvbuf", "6.18"),
    ("rq", "__lock", "nr_running", "7.0"),
    ("address_space", "i_mmap_rwsem", "i_mmap", "6.9"),
    ("pcpu_chunk", "free_bytes chunk_md", "base_addr", "6.5"),
    ("Qdisc", "q.qlen state", "gso_skb", "6.19"),
    ("inet_peer", "rate_tokens", "daddr refcnt", "6.14"),
    ("dst_entry", "__refcnt __rcuref", "lwtstate", "6.4"),
]
CONTENDED = {"count", "atomic", "lock", "sequence", "written"}
findings = json.load(open(sys.argv[1]))["findings"]


def has(paths, words):
    return any(f".{word}." in f".{path}." for path in paths for word in words.split())


def rank(of, written, suffers):
    for one in findings:
        if of not in (one["type"], one["sharing"].get("inner")):
            continue
        beside = [word["path"] for word in one["victims"] if word["role"] not in CONTENDED]
        contended = [word["path"] for word in one["victims"] if word["role"] in CONTENDED]
        contended.append(one["contended"]["path"])
        if has(contended, written) and has(contended + beside, suffers):
            return one["rank"]
    return None


ranks = [rank(of, written, suffers) for of, written, suffers, _ in CASES]
for (of, written, suffers, version), at in zip(CASES, ranks):
    print(f"{at or 'not found':>9}  {of}: {written} beside {suffers} (apart since {version})")
found = [at for at in ranks if at]
first = sum(at <= 100 for at in found)
print(f"{first} of {len(ranks)} among the first 100, {len(found)} among all {len(findings)}\n")
for one in findings[:20]:
    beside = " ".join(word["path"] for word in one["victims"][:4])
    print(f"{one['rank']:>3}  {one['type']}: {one['contended']['path']} beside {beside}")
PYTHON
