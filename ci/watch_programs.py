#!/usr/bin/env python3
"""What `tenure watch` finds in real programs, and what mending two of these findings gives.

By hand, as root, on Debian: it takes from apt, cargo and Go what it needs, builds in target/programs with optimisation and
debugging information, runs each program under load, and watches it. It prints a table, and exits with 1 if a finding
is missing that should be there. The reports lie beside the programs.

With --mended it builds memcached and LevelDB with one finding of each mended (ci/programs/*.sed), and compares them with what
they were, in pairs of runs that take turns. Beside that it compares each program with itself, which shows the noise.

Usage: ci/watch_programs.py [PROGRAM...]                      (all without arguments)
       ci/watch_programs.py --mended [PAIRS [PROGRAM...]]     (16 pairs)

TENURE names the command, SECONDS how long each program is watched (20), SOURCES a directory with sources to take in place
of Debian's, such as memcached-1.6.18.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "ci/programs"
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import report  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
TENURE = os.path.abspath(os.environ.get("TENURE", TARGET / "release/tenure"))
WORK = TARGET / "programs/watched"
SECONDS = float(os.environ.get("SECONDS", "20"))
JOBS = f"-j{os.cpu_count()}"
# Which files of a package its .sed is for.
MENDED = {"memcached": ["crawler.c", "items.c", "items.h", "thread.c"], "leveldb": ["db/memtable.h"]}


def call(*command, **options):
    """What a command prints. If it fails, so does the script."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"watch_programs: {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def need(*packages):
    """Installs packages of Debian's."""
    is_missing = lambda package: subprocess.run(["dpkg", "-s", package], capture_output=True).returncode != 0
    if missing := [package for package in packages if is_missing(package)]:
        call("apt-get", "install", "-qq", "--yes", "-oDPkg::Lock::Timeout=600", *missing)


def fetch(package, folder):
    """The source that a package of Debian's was made of, without Debian's changes."""
    given = os.environ.get("SOURCES")
    if given and (found := sorted(pathlib.Path(given).glob(f"{package}-*/"))):
        shutil.copytree(found[0], folder, symlinks=True)
        return
    need("ca-certificates", "xz-utils")
    lists = WORK / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    mirror = "deb-src http://deb.debian.org/debian"
    sources = WORK / "sources.list"
    sources.write_text(f"{mirror} {release} main\n{mirror}-security {release}-security main\n")
    apt = ["apt-get", "-qq", f"-oDir::Etc::SourceList={sources}", "-oDir::Etc::SourceParts=/dev/null"]
    apt += [f"-oDir::State::Lists={lists}", "-oAPT::Sandbox::User=root"]
    download = WORK / f"{package}.download"
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir()
    call(*apt, "update")
    call(*apt, "source", "--download-only", "--only-source", package, cwd=download)
    folder.mkdir(parents=True)
    call("tar", "xf", next(download.glob("*.orig.tar.*")), "-C", folder, "--strip-components=1")


def built(package, make, way="plain"):
    """A folder with the package's source, which `make` has built there once."""
    folder = WORK / f"{package}-{way}"
    done = WORK / f"{package}-{way}.done"
    if not done.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        fetch(package, folder)
        if way == "mended":
            call("sed", "-E", "-i", "-f", HERE / f"{package}.sed", *MENDED[package], cwd=folder)
        make(folder)
        done.touch()
    return folder


def make_memcached(folder):
    need("gcc", "make", "libevent-dev")
    call("./configure", "CFLAGS=-O2 -g", cwd=folder)
    call("make", "clean", cwd=folder)
    call("make", JOBS, "memcached", cwd=folder)


def make_redis(folder):
    need("gcc", "make")
    call("make", JOBS, "MALLOC=libc", "BUILD_TLS=no", "redis-server", "redis-benchmark", cwd=folder / "src")


def make_leveldb(folder):
    """Its own way builds the tests as well, which need more sources."""
    need("g++", "libgmock-dev")
    is_used = lambda path: not re.search(r"_test\.cc|leveldbutil|windows|^util/testutil", str(path))
    sources = [path for part in ("db", "table", "util") for path in (folder / part).glob("*.cc")]
    sources = [path.relative_to(folder) for path in sources]
    sources = [*filter(is_used, sources), "util/testutil.cc", "benchmarks/db_bench.cc"]
    options = ["-std=c++17", "-O2", "-g", "-DNDEBUG", "-DLEVELDB_PLATFORM_POSIX=1", "-I.", "-Iinclude", "-pthread"]
    objects = [f"{str(path).replace('/', '-')}.o" for path in sources]
    rules = "".join(f"{one}: {path}\n\tg++ {' '.join(options)} -c -o $@ $<\n" for one, path in zip(objects, sources))
    (folder / "watched.mk").write_text(f"db_bench: {' '.join(objects)}\n\tg++ -pthread -o $@ $^\n{rules}")
    call("make", JOBS, "-f", "watched.mk", cwd=folder)


def crate(name, dependencies):
    """A program of ci/programs, built with cargo as it is."""
    folder = WORK / name
    (folder / "src").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / f"{name}.rs", folder / "src/main.rs")
    lines = f'[package]\nname = "{name}"\nedition = "2021"\n[dependencies]\n{dependencies}\n[workspace]\n'
    (folder / "Cargo.toml").write_text(f"{lines}[profile.release]\ndebug = true\n")
    call("cargo", "build", "--quiet", "--release", "--target-dir", WORK / "target", cwd=folder)
    return WORK / "target/release" / name


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def running(*command, port=None, **options):
    """A program, until the block ends. If it is a server, it listens."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(word) for word in command], **quiet, **options)
    try:
        while port:
            if process.poll() is not None:
                sys.exit(f"watch_programs: {command[0]} did not start")
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def load(protocol, port, *options):
    return running(TENURE, "load", protocol, f"127.0.0.1:{port}", "--threads", "1", "--seconds", "3600", *options)


@contextlib.contextmanager
def memcached(program):
    port = free_port()
    server = running(program, "-u", "root", "-l", "127.0.0.1", "-p", port, "-t", "4", port=port)
    with server as pid, load("memcached", port, "--ratio", "1:9"):
        yield pid


def memcached_of_debian():
    need("memcached")
    return memcached("memcached")


def memcached_with_symbols():
    return memcached(built("memcached", make_memcached) / "memcached")


@contextlib.contextmanager
def redis():
    folder, port = built("redis", make_redis) / "src", free_port()
    words = ["--port", port, "--save", "", "--io-threads", "3", "--io-threads-do-reads", "yes"]
    client = ["-p", port, "-t", "get,set", "-c", "50", "-P", "8", "-n", "1000000000", "-q"]
    server = running(folder / "redis-server", *words, port=port)
    with server as pid, running(folder / "redis-benchmark", *client):
        yield pid


def db_bench(way, keys, reads):
    """Two threads that get keys, which are all in memory. The fewer keys, the less there is to do but to share."""
    program = built("leveldb", make_leveldb, way) / "db_bench"
    words = ["--benchmarks=fillseq,readrandom", "--threads=2", "--write_buffer_size=268435456", f"--db={WORK / 'db'}"]
    return program, *words, f"--num={keys}", f"--reads={reads}"


def leveldb():
    return running(*db_bench("plain", 100, 1000000000))


@contextlib.contextmanager
def own_memcached():
    port = free_port()
    server = running(TENURE, "serve", "memcached", "--listen", f"127.0.0.1:{port}", "--threads", "4", port=port)
    with server as pid, load("memcached", port, "--ratio", "1:9"):
        yield pid


@contextlib.contextmanager
def own_http():
    port = free_port()
    words = [TENURE, "serve", "http", "--listen", f"127.0.0.1:{port}", "--threads", "4", "--body", "612"]
    with running(*words, port=port) as pid, load("http", port):
        yield pid


@contextlib.contextmanager
def axum():
    dependencies = """axum = { version = "=0.8.9", default-features = false, features = ["http1", "tokio"] }
tokio = { version = "1", features = ["rt-multi-thread", "net"] }"""
    program, port = crate("axum", dependencies), free_port()
    with running(program, f"127.0.0.1:{port}", port=port) as pid, load("http", port):
        yield pid


def channel():
    dependencies = 'tokio = { version = "=1.29.1", features = ["sync"] }'
    return running(crate("tokio", dependencies), "1000000000")


def cells():
    return running(crate("crossbeam", 'crossbeam-utils = "=0.8.17"'), "1000000000")


def go():
    program = WORK / "tallies"
    call("go", "build", "-o", program, HERE / "tallies.go", env={**os.environ, "GO111MODULE": "off"})
    return running(program)


@contextlib.contextmanager
def java():
    need("default-jdk-headless")
    call("javac", "-d", WORK, HERE / "Counters.java")
    with running("java", "-cp", WORK, "Counters") as pid:
        # What is compiled by then has its name in the report.
        time.sleep(3)
        call("jcmd", pid, "Compiler.perfmap")
        yield pid


def node():
    need("nodejs")
    return running("node", "--perf-basic-prof", HERE / "slots.mjs", cwd=WORK)


# By name: the program and its load, how it is started, and for each finding that should be there what it matches (report.py).
PROGRAMS = {
    "memcached-stripped": ("Debian's memcached, stripped; gets and sets 9:1", memcached_of_debian, [["lock"]]),
    "memcached": ("memcached -t 4; gets and sets 9:1", memcached_with_symbols, [["lru_locks"]]),
    "redis": ("redis --io-threads 3; gets and sets", redis, [["io_threads_pending"]]),
    "leveldb": ("LevelDB's db_bench, two threads that read", leveldb, [["MemTable", "refs_"]]),
    "own-memcached": ("tenure serve memcached --threads 4; gets and sets 9:1", own_memcached, []),
    "own-http": ("tenure serve http --threads 4", own_http, []),
    "axum": ("axum on tokio, state in an Arc", axum, []),
    "tokio": ("tokio 1.29.1's mpsc::channel, three senders", channel, [[r"tail_position|semaphore|rx_"]]),
    "crossbeam": ("crossbeam-utils 0.8.17's AtomicCell<[u8; 40]>", cells, [["LOCKS"]]),
    "go": ("Go: workers on a channel, tallies in an array", go, [["main.work"]]),
    "java": ("Java: neighbouring volatile fields and elements", java, [["Counters.count(Requests|Errors)"], ["countIn"]]),
    "node": ("Node: workers on a SharedArrayBuffer", node, [["AtomicsAdd"]]),
}


def watched(name, pid):
    """The report on a process."""
    path = WORK / f"{name}.json"
    words = [TENURE, "watch", "--pid", pid, "--for", f"{SECONDS}s", "--json", path, "--html", WORK / f"{name}.html"]
    (WORK / f"{name}.txt").write_text(call(*words))
    return json.loads(path.read_text())


def told(finding):
    """Its words, kind and share."""
    words = [finding["contended"], *finding["victims"]]
    of = finding["observed"]["storage"].get("name") or finding["type"]
    names = [f"{of}.{word['path']}".strip(".").replace(".[", "[") for word in words if word["path"]]
    if not names:
        uses = [use["code"] for word in words for use in word.get("uses", []) if use.get("code")]
        names = [f"a word of {code['function']}" for code in uses]
    # A lock of the C library is one word here.
    names = list(dict.fromkeys(re.sub(r"\.?__data\.__\w+$", "", name) for name in names))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    share = finding["observed"]["cost"] or 0
    return f"{', '.join(names[:3])}{more}: {finding['kind'].replace('_', ' ')}, {share:.1%}"


def show(wanted):
    missing = []
    print("| program and load | watched, s | samples | found | as expected |\n|---|---:|---:|---|---|")
    for name in wanted or PROGRAMS:
        about, start, expected = PROGRAMS[name]
        with start() as pid:
            time.sleep(2)
            found = watched(name, pid)
        source, findings = found["source"], found["findings"]
        lacking = [it for it in expected if not any(
            all(re.search(pattern, report.named(finding)) for pattern in it) for finding in findings)]
        lines = "; ".join(told(finding) for finding in findings[:4]) or "nothing"
        is_right = "-" if not expected else f"no: {lacking}" if lacking else "yes"
        samples = source["watched"]["samples"]
        print(f"| {about} | {source['seconds']:.0f} | {samples} | {lines} | {is_right} |", flush=True)
        missing += [name] if lacking else []
    sys.exit(f"watch_programs: not found: {', '.join(missing)}" if missing else 0)


class Memcached:
    """Answers by second of the server's processor time. Both run all the time, and are asked in turn."""

    about = "memcached's lru_locks and item_locks on lines of their own, gets and sets 9:1, answers a CPU second"

    def __init__(self, stack, way):
        self.port = free_port()
        program = built("memcached", make_memcached, way) / "memcached"
        words = ["-u", "root", "-l", "127.0.0.1", "-p", self.port, "-t", "4"]
        self.pid = stack.enter_context(running(program, *words, port=self.port))

    def run(self):
        words = ["--ratio", "1:9", "--threads", "1", "--seconds", "2", "--warmup", "0.3", "--json", "-", "--pid", self.pid]
        answers = json.loads(call(TENURE, "load", "memcached", f"127.0.0.1:{self.port}", *words))
        return 1e9 / answers["server_cpu"]["ns_per_op"]


class LevelDb:
    """Gets by second."""

    about = "LevelDB's MemTable.refs_ on a line of its own, db_bench's readrandom, two threads, 100 keys, gets a second"
    keys, reads = 100, 2000000

    def __init__(self, _, way):
        self.command = db_bench(way, self.keys, self.reads)

    def run(self):
        return 1e6 / float(re.search(r"readrandom *: *([0-9.]+) micros/op", call(*self.command))[1])


class LargerLevelDb(LevelDb):
    about = "the same, 100,000 keys"
    keys, reads = 100000, 200000


def interval(ratios):
    """Of the median, 95 %, from the order of the values."""
    ratios, count = sorted(ratios), len(ratios)
    chance = lambda below: sum(math.comb(count, it) for it in range(below)) / 2**count
    place = max(it for it in range(1, count) if it == 1 or chance(it) <= 0.025)
    return ratios[place - 1], ratios[count - place]


def compare(kind, pairs, other):
    with contextlib.ExitStack() as stack:
        both = [kind(stack, "plain"), kind(stack, other)]
        for one in both:
            one.run()
        ratios = []
        for pair in range(pairs):
            # Each comes first as often as the other.
            order = both if pair % 2 == 0 else both[::-1]
            rates = {one: one.run() for one in order}
            ratios.append(rates[both[1]] / rates[both[0]])
    quartiles = ", ".join(f"{it:.3f}" for it in statistics.quantiles(ratios, n=4))
    least, most = interval(ratios)
    print(f"| {kind.about} | {other} | {pairs} | {quartiles} | {least:.3f} to {most:.3f} |", flush=True)


def show_mended(pairs, wanted):
    print("| what | against | pairs | ratio, quartiles | median, 95 % |\n|---|---|---:|---|---|")
    for name, kind in {"memcached": Memcached, "leveldb": LevelDb, "leveldb-larger": LargerLevelDb}.items():
        if not wanted or name in wanted:
            for other in ("mended", "plain"):
                compare(kind, pairs, other)


def main():
    words = sys.argv[1:]
    if words[:1] == ["--mended"]:
        return show_mended(int(words[1]) if len(words) > 1 else 16, words[2:])
    if unknown := [name for name in words if name not in PROGRAMS]:
        sys.exit(f"watch_programs: there is no {unknown[0]}; there are {' '.join(PROGRAMS)}")
    if not os.path.exists(TENURE):
        call("cargo", "build", "--quiet", "--release", "--package", "tenure-cli", cwd=ROOT)
    show(words)


if __name__ == "__main__":
    main()
