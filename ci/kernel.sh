#!/usr/bin/env bash
# The readers of tenure-debuginfo against pahole: every struct of a kernel, through DWARF and BTF; and the
# ranking of Linux 6.1's routes. Takes
# the kernel from $TENURE_VMLINUX, or gets Debian's (282 MB to download, 600 MB on disk).
#
# Not a part of .ci/run: run it after a change to the readers.
#
# Usage: ci/kernel.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=6.1.0-50-cloud-amd64
if ! command -v pahole >/dev/null; then
    apt-get update -qq && apt-get install -y -qq dwarves
fi
if [[ -z ${TENURE_VMLINUX:-} ]]; then
    folder=${CARGO_TARGET_DIR:-target}/kernel
    TENURE_VMLINUX=$PWD/$folder/usr/lib/debug/boot/vmlinux-$release
    [[ $folder == /* ]] && TENURE_VMLINUX=$folder/usr/lib/debug/boot/vmlinux-$release
    if [[ ! -e $TENURE_VMLINUX ]]; then
        mkdir -p "$folder"
        (cd "$folder" && apt-get update -qq && apt-get download "linux-image-$release-dbg")
        dpkg-deb --fsys-tarfile "$folder"/linux-image-$release-dbg_*.deb |
            tar -x -C "$folder" "./usr/lib/debug/boot/vmlinux-$release"
        rm "$folder"/linux-image-$release-dbg_*.deb
    fi
fi
export TENURE_VMLINUX

tests=(dwarf_is kernels_btf_is number_of_threads)
if [[ -e /sys/kernel/btf/vmlinux ]]; then
    tests+=(running_kernel_is)
fi
cargo test --release -p tenure-layout --test ranking linux_6_1 -- --ignored --nocapture
cargo test --release -p tenure-debuginfo --test read -- --ignored --nocapture --test-threads=1 "${tests[@]}"
