#!/usr/bin/env python3
"""What `tenure watch` finds in real programs. proof/ fixes some of it, and measures.

By hand, as root, on Debian: it takes from apt, cargo and Go what it needs, builds in target/programs with optimisation and
debugging information, runs each program under load, and watches it. It prints a table, and exits with 1 if a finding
is missing that should be there. The reports lie beside the programs.

Usage: ci/watch_programs.py [PROGRAM...]      (all without arguments)

TENURE names the command, SECONDS how long each program is watched (20), SOURCES a directory with sources to take in place
of Debian's, such as memcached-1.6.18.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "ci/programs"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(ROOT / "proof")]
import report  # noqa: E402
from parts import debian  # noqa: E402
from parts.shell import TARGET, TENURE, call, free_port, load_program, need, running, tenure  # noqa: E402

WORK = TARGET / "programs/watched"
SECONDS = float(os.environ.get("SECONDS", "20"))


def crate(name, dependencies):
    """A program of ci/programs, built with cargo, unmodified."""
    folder = WORK / name
    (folder / "src").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / f"{name}.rs", folder / "src/main.rs")
    lines = f'[package]\nname = "{name}"\nedition = "2021"\n[dependencies]\n{dependencies}\n[workspace]\n'
    (folder / "Cargo.toml").write_text(f"{lines}[profile.release]\ndebug = true\n")
    call("cargo", "build", "--quiet", "--release", "--target-dir", WORK / "target", cwd=folder)
    return WORK / "target/release" / name


def load(protocol, port, *options):
    return running(load_program(), protocol, f"127.0.0.1:{port}", "--seconds", "3600", *options)


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
    return memcached(debian.built("memcached", WORK / "memcached", debian.make_memcached) / "memcached")


@contextlib.contextmanager
def redis():
    folder, port = debian.built("redis", WORK / "redis", debian.make_redis) / "src", free_port()
    words = ["--port", port, "--save", "", "--io-threads", "3", "--io-threads-do-reads", "yes"]
    client = ["-p", port, "-t", "get,set", "-c", "50", "-P", "8", "-n", "1000000000", "-q"]
    server = running(folder / "redis-server", *words, port=port)
    with server as pid, running(folder / "redis-benchmark", *client):
        yield pid


def leveldb():
    """Two threads that get keys, which are all in memory. The fewer keys, the less there is to do but to share."""
    program = debian.built("leveldb", WORK / "leveldb", debian.make_leveldb) / "db_bench"
    words = ["--benchmarks=fillseq,readrandom", "--threads=2", "--write_buffer_size=268435456", f"--db={WORK / 'db'}"]
    return running(program, *words, "--num=100", "--reads=1000000000")


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


def main():
    words = sys.argv[1:]
    if unknown := [name for name in words if name not in PROGRAMS]:
        sys.exit(f"watch_programs: there is no {unknown[0]}; there are {' '.join(PROGRAMS)}")
    tenure()
    show(words)


if __name__ == "__main__":
    main()
