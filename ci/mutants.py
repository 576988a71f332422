"""Mutation tests of the library: what is wrong with a lost ordering, check or step is a bug that tests seldom see.

A mutant is the source with one thing wrong:

- in memory/native, which is not modelled: an ordering that is weaker (Acquire, Release and SeqCst become Relaxed, AcqRel
  becomes each half of itself), and a fence that is gone. Elsewhere the models weaken orderings by themselves:
  `ci/mutants.sh --orderings`;
- a check that is gone: a condition, or a comparison, that never holds or always does, and each operand of `&&` and `||`;
- a step that is gone: a call, an assignment to a part of something, a guard.

For each the tests of its room run, up to the first that fails. A mutant that survives them all is either a missing test,
or not a bug: then it is in the list of exceptions with the reason, by file and source line, so that the entry
survives when lines move. Which rooms there are, and which tests cover them: ROOMS, below.

All mutants are in one build (`mutations.py`), and a run switches to one of them. One that does not compile so is built
by itself.
"""

import argparse
import hashlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from mutations import SELECT, VARIABLE, Mutation, blanked, mutations, written

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "crates/tenure/src"
EXCEPTIONS = Path(__file__).with_name("mutants.txt")
# Seconds that one more build may take.
BUILD = 300
SEPARATOR = " :: "


class Room(NamedTuple):
    # In SOURCE.
    files: list
    # Arguments of `cargo test -p tenure` that cover it, the fastest first.
    tests: list
    # The module of tests/models that weakens its orderings; none if it has no orderings but Relaxed.
    orderings: str | None = None


def unit(*names):
    return ["--lib", "--", *names]


def tests(*names):
    return [argument for name in names for argument in ("--test", name)]


def models(*names):
    # `orderings` weakens orderings by itself, and compares its list with the source: it would notice every mutant. Twins
    # are copies.
    return ["--test", "models", "--", *names, "--skip", "orderings", "--skip", "twins"]


# Of the pools' tests those that take no second.
LONG = ["threads::", "limits::", "_model::", "threads_that", "closing_while"]
POOL = ["--test", "pool", "--", "magazines::", "contents::", *(word for name in LONG for word in ("--skip", name))]

ROOMS = {
    "count": Room(
        ["count/**/*.rs"],
        [["--lib", *tests("count")], models("counts::", "ticket::")],
        "counts",
    ),
    "arc": Room(["arc/*.rs"], [["--lib", *tests("arc")], models("arc::")], "counts"),
    "cells": Room(
        ["cells/*.rs"],
        [tests("cells", "memory"), tests("forks", "in_allocator"), models("cells::")],
        "cells",
    ),
    "owner": Room(
        ["owner/*.rs"],
        [tests("cells", "memory"), tests("forks"), ["--test", "stress", "--", "owner"]],
    ),
    "counter": Room(["counter.rs", "counter/*.rs"], [tests("cells", "memory")]),
    "pool/list": Room(
        ["pool/list/**/*.rs", "segments.rs"],
        [["--lib", *tests("pool", "forks")], models("pool::")],
        "pool",
    ),
    "pool/lifecycle": Room(
        ["pool/*.rs", "pool/lifecycle/*.rs", "shared.rs", "wake.rs"],
        [
            POOL,
            unit("pool::"),
            tests("forks"),
            ["--test", "registry", "--test", "cells", "--", "tasks", "a_thread_waits"],
            models("pool::", "slots::"),
            tests("pool"),
            ["--test", "stress", "--", "pool", "slots", "turns"],
        ],
        "pool",
    ),
    "pool/slot": Room(
        ["pool/slot/*.rs"],
        [POOL, unit("pool::"), tests("pool"), models("slots::"), ["--test", "stress", "--", "slots"]],
        "pool",
    ),
    "pool/buffer": Room(
        ["pool/buffer/*.rs", "pool/buffers/*.rs"],
        [POOL, unit("pool::"), tests("memory", "pool"), models("pool::")],
        "pool",
    ),
    "revocable": Room(
        ["revocable/**/*.rs", "rcu.rs"],
        [["--lib", *tests("revocable")], models("revocable::"), tests("forks", "revocable_exit", "in_allocator")],
        "revocable",
    ),
    "registry": Room(
        ["registry/*.rs"],
        [
            ["--test", "registry", "--", *"--skip threads --skip everything_is_to_linger".split()],
            unit("registry::"),
            tests("registry", "forks", "in_allocator"),
            ["--test", "revocable", "--", "coroutines"],
            ["--test", "stress", "--", "registry"],
            models("registry::"),
        ],
        "registry",
    ),
    "memory": Room(
        ["memory/**/*.rs"],
        [
            ["--lib", *tests("revocable", "pool")],
            tests("forks", "in_allocator"),
            models("numbers::"),
        ],
        "counts",
    ),
    "cache_line": Room(["cache_line/*.rs", "fault.rs"], [unit("cache_line::", "fault::"), tests("count", "revocable")]),
}


class Mutant(NamedTuple):
    room: str
    path: str
    # Of the file.
    digest: str
    line: int
    mutation: Mutation
    # With a number, if there are several alike.
    how: str
    source: str

    def __str__(self):
        return SEPARATOR.join([self.path, self.source, self.how])


# --- mutants ---


def mutants_of(room, path):
    text = path.read_text()
    lines, seen = text.splitlines(), {}
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    for mutation in mutations(blanked(text), "native" in path.parts):
        line = text.count("\n", 0, mutation.start) + 1
        source = lines[line - 1].strip()
        if re.fullmatch(r"Ordering::\w+,", source):
            # An argument by itself says little: the line that opens the call.
            opens = (above for above in reversed(lines[: line - 1]) if above.endswith("("))
            source = next(opens).strip()
        number = seen[source, mutation.how] = seen.get((source, mutation.how), 0) + 1
        how = f"{mutation.how}, number {number}" if number > 1 else mutation.how
        yield Mutant(room, str(path.relative_to(ROOT)), digest, line, mutation, how, source)


def is_source(path):
    return path.name != "tests.rs"


def mutants(rooms):
    for room in rooms:
        paths = {path for glob in ROOMS[room].files for path in (ROOT / SOURCE).glob(glob)}
        for path in sorted(filter(is_source, paths)):
            yield from mutants_of(room, path)


def check_rooms():
    """Every file has one."""
    there = {path for path in (ROOT / SOURCE).rglob("*.rs") if is_source(path)}
    mutated = {path for path in there if any(mutants_of("", path))}
    in_rooms = [path for room in ROOMS.values() for glob in room.files for path in (ROOT / SOURCE).glob(glob)]
    for path in sorted(mutated):
        if in_rooms.count(path) != 1:
            sys.exit(f"{path.relative_to(ROOT)} is in {in_rooms.count(path)} rooms of ROOMS in ci/{Path(__file__).name}: want 1")


# --- exceptions ---


def exceptions():
    """Path, source line and mutation of each, and why it may survive."""
    argued = {}
    for number, line in enumerate(EXCEPTIONS.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = line.split(SEPARATOR)
            if len(parts) != 4 or not all(part.strip() for part in parts):
                sys.exit(f"{EXCEPTIONS.name}:{number}: want PATH :: LINE :: MUTATION :: REASON")
            argued[SEPARATOR.join(part.strip() for part in parts[:3])] = parts[3].strip()
    return argued


# --- runs ---


RUNNING = set()


def end_what_runs():
    for process in list(RUNNING):
        os.killpg(process.pid, signal.SIGKILL)


class Tree:
    """A copy of the repository, with build outputs of its own."""

    def __init__(self, where):
        self.root, self.target = where / "tree", where / "target"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.split("\0")
        wanted = {name for name in listed if name and (ROOT / name).is_file()}
        for old in [path for path in self.root.rglob("*") if path.is_file()]:
            if str(old.relative_to(self.root)) not in wanted:
                old.unlink()
        for name in wanted:
            self.write(name, (ROOT / name).read_bytes())

    def write(self, name, content):
        """Only what differs: cargo goes by the time."""
        path = self.root / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod((ROOT / name).stat().st_mode)

    def test(self, arguments, limit=None, switched_on=0):
        """Runs the tests up to the first that fails. Returns the status (None: out of time), the output, the seconds."""
        environment = dict(os.environ, CARGO_TARGET_DIR=str(self.target), CARGO_TERM_COLOR="never")
        environment.setdefault("CARGO_PROFILE_DEV_DEBUG", "0")
        environment[VARIABLE] = str(switched_on)
        began = time.monotonic()
        # A group of its own: what hangs is a grandchild.
        process = subprocess.Popen(
            ["cargo", "test", "-p", "tenure", *arguments], cwd=self.root, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
        )
        RUNNING.add(process)
        late = threading.Event()

        def stop():
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, stop) if limit else None
        if timer:
            timer.start()
        output = []
        for line in process.stdout:
            output.append(line)
            if re.match(r"test \S+ \.\.\. FAILED", line):
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
        status = process.wait()
        if timer:
            timer.cancel()
        RUNNING.discard(process)
        return None if late.is_set() else status, "".join(output), time.monotonic() - began

    def build(self, rooms):
        """Has all mutants of the rooms in it, but for those that do not compile so. Returns the numbers of the others."""
        numbers = {mutant: number for number, mutant in enumerate(mutants(rooms), 1)}
        paths = sorted({mutant.path for mutant in numbers})
        library = f"{SOURCE}/lib.rs"
        self.write(library, (ROOT / library).read_bytes() + SELECT.encode())
        while True:
            for path in paths:
                switched = [
                    (mutant.mutation, f"crate::__mutant({number})")
                    for mutant, number in numbers.items() if mutant.path == path
                ]
                self.write(path, written((ROOT / path).read_text(), switched).encode())
            status, output, _ = self.test(["--lib", "--no-run", "--message-format", "short"])
            if status == 0:
                return numbers
            at_fault = re.findall(r"^(\S+\.rs):(\d+):\d+: error", output, re.M)
            bad = {mutant for path, line in at_fault for mutant in culprits(numbers, path, int(line))}
            if not bad:
                sys.exit(f"{output}\nthe library does not compile, and not for a mutant")
            for mutant in bad:
                del numbers[mutant]


def culprits(mutants, path, line):
    """Those with an end on that line, or the steps near to it: it may be that a value is moved, or set, no more."""
    here = [mutant for mutant in mutants if mutant.path == path]
    on_line = [mutant for mutant in here if line in ends(mutant)]
    steps = [mutant for mutant in here if mutant.how.startswith("no ") and abs(mutant.line - line) < 10]
    return on_line or steps


def ends(mutant):
    text = (ROOT / mutant.path).read_text()
    return [text.count("\n", 0, at) + 1 for at in mutant.mutation[:2]]


def killer(output):
    """The test that failed, as far as the output says."""
    found = re.search(r"^test (\S+) \.\.\. FAILED", output, re.M)
    if found:
        return found[1]
    found = re.search(r"error: test failed, to rerun pass `-p tenure (.*?)`", output)
    return f"{found[1]}, which was ended by a signal" if found else "a test without a name"


def judge(tree, mutant, number, limits):
    """What became of the mutant: killed, unbuildable or survived; by which test; in how many seconds."""
    took = 0
    if not number:
        # Of the others in the file, none.
        alone = written((ROOT / mutant.path).read_text(), [(mutant.mutation, "true")])
        before = (tree.root / mutant.path).read_bytes()
        tree.write(mutant.path, alone.encode())
    try:
        for arguments, limit in zip(ROOMS[mutant.room].tests, limits):
            status, output, seconds = tree.test(arguments, limit + (0 if number else BUILD), number)
            took += seconds
            if status is None:
                return "killed", f"out of time: {' '.join(arguments)}"[:100], took
            if "could not compile" in output:
                return "unbuildable", "", took
            if status != 0:
                return "killed", killer(output), took
        return "survived", "", took
    finally:
        if not number:
            tree.write(mutant.path, before)


class Results:
    """What is known of mutants, in a file, so that a run that was cut short goes on. Survivors are tried again."""

    def __init__(self, where, fresh):
        self.file, self.lock = where / "results.json", threading.Lock()
        known = self.file.is_file() and not fresh
        self.known = json.loads(self.file.read_text()) if known else {}

    @staticmethod
    def key(mutant):
        return f"{mutant.digest} {mutant.mutation.start} {mutant.how}"

    def get(self, mutant):
        found = self.known.get(self.key(mutant))
        return found if found and found[0] != "survived" else None

    def put(self, mutant, result):
        with self.lock:
            self.known[self.key(mutant)] = result
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(self.known, indent=0))
            new.replace(self.file)


def limits_of(tree, room, chosen):
    """The tests pass without a mutant, and how long they may take with one."""
    limits = []
    for arguments in ROOMS[room].tests[: 1 if chosen.quick else None]:
        tree.test([*arguments[: (arguments + ["--"]).index("--")], "--no-run"])
        status, output, seconds = tree.test(arguments)
        if status != 0:
            sys.exit(f"{output}\n{room}: the tests fail without a mutant: cargo test -p tenure {' '.join(arguments)}")
        limits.append(chosen.limit or 20 + 4 * seconds)
    return limits


def run(todo, tree, chosen, results):
    said, done = threading.Lock(), []
    rooms = list(dict.fromkeys(mutant.room for mutant in todo))
    numbers = tree.build(rooms)

    def judge_and_say(mutant, number, limits):
        result = what, by, seconds = judge(tree, mutant, number, limits)
        results.put(mutant, result)
        with said:
            done.append(mutant)
            of = f"{len(done)}/{len(todo)}"
            print(f"{of} {seconds:.0f} s {mutant.path}:{mutant.line} {mutant.how}: {what} {by}".rstrip(), flush=True)

    for room in rooms:
        limits = limits_of(tree, room, chosen)
        here = [mutant for mutant in todo if mutant.room == room]
        work, failed = queue.Queue(), []
        for mutant in here:
            if mutant in numbers:
                work.put(mutant)

        def worker():
            try:
                while not failed:
                    mutant = work.get_nowait()
                    judge_and_say(mutant, numbers[mutant], limits)
            except queue.Empty:
                pass
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=worker, daemon=True) for _ in range(max(1, chosen.jobs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        for mutant in here:
            if mutant not in numbers:
                judge_and_say(mutant, 0, limits)


def weaken(rooms):
    """Has the models weaken the orderings of these rooms."""
    without = [room for room in rooms if not ROOMS[room].orderings]
    if without:
        print(f"{', '.join(without)}: no orderings but Relaxed", flush=True)
    modules = {ROOMS[room].orderings for room in rooms or ROOMS} - {None}
    if not modules:
        return 0
    names = [f"{module}::orderings::each" for module in sorted(modules)]
    return subprocess.call(["cargo", "test", "-p", "tenure", "--test", "models", "--", "--ignored", "--nocapture", *names], cwd=ROOT)


def main():
    parser = argparse.ArgumentParser(
        prog="ci/mutants.sh", description="Weaken each ordering and drop each check; say which tests notice.",
        epilog=f"Rooms: {', '.join(ROOMS)}. Exit status: 1 if a mutant survives that ci/{EXCEPTIONS.name} does not argue.",
    )
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="mutate these rooms only")
    parser.add_argument("--orderings", action="store_true", help="weaken orderings in the models instead: nothing to build")
    parser.add_argument("--list", action="store_true", help="list the mutants, and run nothing")
    parser.add_argument("--only", metavar="REGEX", help="take the mutants whose path, line or mutation matches")
    parser.add_argument("--quick", action="store_true", help="run the fastest tests of a room only: some that survive are killed by others")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run N mutants at a time")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="end each test command after so long")
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", metavar="DIR", help="keep the copy and the results here")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    chosen = parser.parse_args()
    unknown = [room for room in chosen.rooms if room not in ROOMS]
    if unknown:
        parser.error(f"no such room: {unknown[0]}; there are {', '.join(ROOMS)}")

    # What runs is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    check_rooms()
    if chosen.orderings:
        return weaken(chosen.rooms)
    argued = exceptions()
    every = list(mutants(chosen.rooms or ROOMS))
    found = [m for m in every if not chosen.only or re.search(chosen.only, f"{m.path}:{m.line} {m}")]
    if chosen.list:
        for mutant in found:
            print(f"{mutant.path}:{mutant.line}: {mutant.how}{SEPARATOR}{mutant.source}")
        print(f"{len(found)} mutants")
        return 0

    chosen.work.mkdir(parents=True, exist_ok=True)
    results = Results(chosen.work, chosen.fresh)
    todo = [mutant for mutant in found if not results.get(mutant)]
    print(f"{len(found)} mutants, {len(found) - len(todo)} of them known from earlier runs", flush=True)
    if todo:
        try:
            run(todo, Tree(chosen.work), chosen, results)
        finally:
            end_what_runs()

    survivors = [mutant for mutant in found if results.known[results.key(mutant)][0] == "survived"]
    killed = [mutant for mutant in found if results.known[results.key(mutant)][0] == "killed"]
    print("\nkilled, by:")
    for mutant in killed:
        print(f"  {mutant.path}:{mutant.line} {mutant.how}: {results.known[results.key(mutant)][1]}")
    missed = [mutant for mutant in survivors if str(mutant) not in argued]
    if len(missed) < len(survivors):
        print("\nsurvived, as argued:")
        for mutant in survivors:
            if str(mutant) in argued:
                print(f"  {mutant}\n    {argued[str(mutant)]}")
    there = {str(mutant) for mutant in mutants(ROOMS)}
    stale = [entry for entry in argued if entry not in there]
    needless = [str(mutant) for mutant in killed if str(mutant) in argued]
    for entry in stale:
        print(f"\nci/{EXCEPTIONS.name}: nothing is like this any more: {entry}")
    for entry in needless:
        print(f"\nci/{EXCEPTIONS.name}: a test kills this by now: {entry}")
    if missed:
        print("\nsurvived:")
        for mutant in missed:
            print(f"  {mutant.path}:{mutant.line}: {mutant.how}{SEPARATOR}{mutant.source}")
    print(f"\n{len(killed)} killed, {len(survivors) - len(missed)} survived as argued, {len(missed)} survived, "
          f"{len(found) - len(killed) - len(survivors)} do not compile")
    return 1 if missed or stale or needless else 0


if __name__ == "__main__":
    sys.exit(main())
