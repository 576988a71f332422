#!/usr/bin/env bash
# By hand, on Debian 12: the crate `tenure-watch` on an emulated aarch64 machine with Debian's kernel, as root with perf events
# and as a user with ptrace. Both threads of each case are met with what they do, and those of the control are not; and every
# program still runs afterwards. A trap takes milliseconds there, so rates mean nothing, and with them reports.
#
# It takes qemu-system-arm, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and cpio, and downloads 22 MB. QEMU stops threads
# at the ends of blocks alone, and its single atomic instructions meet no watchpoint: so the cases are loops, compiled for
# processors without those.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
room=$PWD/target/emulated
root=$room/root
libraries=/usr/aarch64-linux-gnu/lib

rustup target add "$target" >&2
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc cargo build -p tenure-watch --example lines --target "$target"

# Debian's packages for that architecture, without telling this system of it.
fetch() {
  mkdir -p lists/partial cache/archives/partial
  touch status
  local apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache"
    -o "Dir::State::status=$PWD/status" -o APT::Sandbox::User=)
  apt-get "${apt[@]}" update
  local kernel
  kernel=$(apt-cache "${apt[@]}" search --names-only '^linux-image-[0-9.-]+-cloud-arm64-unsigned$' | cut -d ' ' -f 1 | sort -V | tail -n 1)
  apt-get "${apt[@]}" download "${kernel:?"no kernel for arm64 among the packages"}" busybox-static
  for package in ./*.deb; do dpkg-deb -x "$package" packages; done
}
mkdir -p "$room"
[[ -d $room/packages ]] || (cd "$room" && fetch)

rm -rf "$root"
mkdir -p "$root"/{cases,bin,sbin,lib,etc,proc,sys,dev,tmp}
cp "$room/packages/bin/busybox" "$root/bin/"
cp "$libraries"/{ld-linux-aarch64.so.1,libc.so.6,libm.so.6,libgcc_s.so.1} "$root/lib/"
ln -s busybox "$root/bin/sh"
aarch64-linux-gnu-strip -o "$root/bin/lines" "target/$target/debug/examples/lines"
printf 'root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n' >"$root/etc/passwd"
for source in tenure-run/tests/cases/cases tenure-watch/tests/cases/more; do
  aarch64-linux-gnu-gcc -O2 -g -pthread -DENDLESS -march=armv8-a -mno-outline-atomics -o "$root/cases/${source##*/}" "crates/$source.c"
done
cat >"$root/init" <<'END'
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
echo "Linux $(uname -r), $(nproc) processors"
while read -r program case access; do
  for user in root user; do
    su "$user" -s /bin/sh -c "sh /case.sh $program $case $access"
  done
done <<CASES
cases adjacent Write
cases one_word Add
more loop CompareExchange
cases apart -
CASES
poweroff -f
END
cat >"$root/case.sh" <<'END'
/cases/$1 $2 &
pid=$!
sleep 1
wanted=2 pattern=" $3 "
[ "$3" = - ] && wanted=0 pattern=" thread "
# On a busy machine the threads may not meet in so short a time.
for _ in 1 2 3; do
  said=$(lines $pid 10 2>&1)
  threads=$(echo "$said" | grep -e "$pattern" | cut -d ' ' -f 4 | sort -u | wc -l)
  [ "$threads" -ge 2 ] && break
done
if [ "$threads" = $wanted ] && echo "$said" | grep -q traced && kill -0 $pid; then
  echo "ok: $(id -un) $2"
else
  echo "failed: $(id -un) $2: $said"
fi
kill -9 $pid
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$room/initrd"

timeout 900 qemu-system-aarch64 -M virt -cpu max -smp 2 -m 1536 -accel tcg,thread=multi -net none -nographic -no-reboot \
  -kernel "$room"/packages/boot/vmlinuz-* -initrd "$room/initrd" -append "console=ttyAMA0 quiet panic=-1" </dev/null |
  tr -d '\r' | tee "$room/log"
[[ $(grep -c '^ok: ' "$room/log") == 8 ]]
