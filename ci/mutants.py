"""Mutation tests of the rooms in which a lost ordering or check is a bug that tests seldom see.

A mutant is the source with one thing wrong:

- in memory/native, which is not modelled: an ordering that is weaker (Acquire, Release and SeqCst become Relaxed, AcqRel
  becomes each half of itself), and a fence that is gone. Elsewhere the models weaken orderings by themselves:
  `ci/mutants.sh --orderings`;
- a check that is gone: the condition of an `if` or `while` that never holds or (for `if`) always does, and each operand of
  `&&` and `||` in one.

For each the tests of its room run, up to the first that fails. A mutant that survives them all is either a missing test,
or not a bug: then it is in the list of exceptions with the reason, by file and source line, so that the entry
survives when lines move. Which rooms there are, and which tests cover them: ROOMS, below.
"""

import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "crates/tenure/src"
EXCEPTIONS = Path(__file__).with_name("mutants.txt")
SEPARATOR = " :: "


def tests(*names):
    return [argument for name in names for argument in ("--test", name)]


def models(*names):
    # `orderings` weakens orderings by itself, and compares its list with the source: it would notice every mutant.
    return ["--test", "models", "--", *names, "--skip", "orderings"]


# A room: its files (in crates/tenure/src), and the arguments of `cargo test -p tenure` that cover it, the fastest first.
ROOMS = {
    "count": (
        ["count/*.rs", "count/ticket/*.rs"],
        [
            ["--lib", *tests("count")],
            models("counts::", "ticket::"),
        ],
    ),
    "arc": (
        ["arc/*.rs"],
        [
            ["--lib", *tests("arc")],
            models("arc::"),
        ],
    ),
    "pool/list": (
        ["pool/list/*.rs", "pool/list/magazines/*.rs"],
        [
            ["--lib", *tests("pool", "pool_fork")],
            models("pool::"),
        ],
    ),
    "lazy": (
        ["lazy/*.rs", "lazy/shootdown/*.rs"],
        [
            ["--lib", *tests("lazy", "lazy_fences")],
            models("lazy::"),
            tests("lazy_fork"),
        ],
    ),
    "registry": (
        ["registry/*.rs"],
        [
            ["--lib", *tests("registry")],
            models("registry::"),
            ["--test", "stress", "--", "registry"],
        ],
    ),
    "memory": (
        ["memory/numbers.rs", "memory/native/**/*.rs"],
        [
            ["--lib", *tests("lazy", "pool", "lazy_fences")],
            tests("sandbox_entered_late", "lazy_fork", "pool_fork", "thread_numbers"),
            models("numbers::"),
        ],
    ),
}


class Mutant(NamedTuple):
    room: str
    path: str
    # Of the file.
    digest: str
    line: int
    start: int
    end: int
    new: str
    how: str
    source: str

    def __str__(self):
        return SEPARATOR.join([self.path, self.source, self.how])


# --- mutants ---


def blanked(text):
    """The text with comments, strings and characters replaced by spaces, and without unit tests."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\'\\])\'', re.S
    )
    text = token.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    unit_tests = re.search(r"#\[cfg\([^]]*\btest\b[^]]*\)\]\s*mod \w+ \{", text)
    return text[: unit_tests.start()] if unit_tests else text


def matching(code, start, closes):
    """Where the brackets that are open at `start` are closed, or `closes` is found outside of any."""
    depth = 0
    for at in range(start, len(code)):
        if depth == 0 and code[at] in closes:
            return at
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
    return len(code)


def operands(condition):
    """The operands of `&&` or `||` at the top of a condition: the operator, and where each of them is."""
    for operator in ("||", "&&"):
        ends, at, depth = [], 0, 0
        while at < len(condition):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(condition[at], 0)
            if depth == 0 and condition.startswith(operator, at):
                ends.append(at)
                at += 1
            at += 1
        if ends:
            return operator, list(zip([0] + [end + 2 for end in ends], ends + [len(condition)]))
    return None, []


def of_orderings(code):
    for found in re.finditer(r"\bOrdering::(Acquire|Release|AcqRel|SeqCst)\b", code):
        statement = re.search(r"\b(?:compiler_)?fence\(\s*$", code[: found.start()])
        if statement:
            end = matching(code, found.end(), ")") + 1
            yield statement.start(), end, "()", "no fence"
        elif found[1] == "AcqRel":
            for half in ("Acquire", "Release"):
                yield *found.span(1), half, f"AcqRel to {half}"
        elif not re.search(r"(?:=>|\|)\s*$", code[: found.start()]):
            yield *found.span(1), "Relaxed", f"{found[1]} to Relaxed"


def of_checks(code):
    for found in re.finditer(r"\b(if|while)\s+(?!let\b)", code):
        start, end = found.end(), matching(code, found.end(), "{")
        # What the match arm's arrow comes after is a guard, whose body may have no brackets.
        arrow = code.find("=>", start, end)
        end = arrow if arrow >= 0 else end
        condition = code[start:end].rstrip()
        end = start + len(condition)
        if not condition or "let " in condition:
            continue
        yield start, end, f"({condition}) && false", "never"
        if found[1] == "if":
            yield start, end, f"({condition}) || true", "always"
        operator, parts = operands(condition)
        for number, (first, last) in enumerate(parts, 1):
            neutral = "true" if operator == "&&" else "false"
            yield start + first, start + last, f" {neutral} ", f"without operand {number}"


def mutants(rooms):
    for room in rooms:
        paths = {path for glob in ROOMS[room][0] for path in (ROOT / SOURCE).glob(glob)}
        for path in sorted(path for path in paths if path.name != "tests.rs"):
            text = path.read_text()
            code, lines, seen = blanked(text), text.splitlines(), {}
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            weaker = of_orderings(code) if "native" in path.parts else ()
            for start, end, new, how in sorted([*weaker, *of_checks(code)]):
                line = text.count("\n", 0, start) + 1
                source = lines[line - 1].strip()
                if re.fullmatch(r"Ordering::\w+,", source):
                    # An argument by itself says little: the line that opens the call.
                    opens = (above for above in reversed(lines[: line - 1]) if above.endswith("("))
                    source = next(opens).strip()
                number = seen[source, how] = seen.get((source, how), 0) + 1
                unique = f"{how}, number {number}" if number > 1 else how
                yield Mutant(room, str(path.relative_to(ROOT)), digest, line, start, end, new, unique, source)


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

    def test(self, arguments, limit):
        """Runs the tests up to the first that fails. Returns the status (None: out of time), the output, the seconds."""
        environment = dict(os.environ, CARGO_TARGET_DIR=str(self.target), CARGO_TERM_COLOR="never")
        environment.setdefault("CARGO_PROFILE_DEV_DEBUG", "0")
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


def killer(output):
    """The test that failed, as far as the output says."""
    found = re.search(r"^test (\S+) \.\.\. FAILED", output, re.M)
    if found:
        return found[1]
    found = re.search(r"error: test failed, to rerun pass `-p tenure (.*?)`", output)
    return f"{found[1]}, which was ended by a signal" if found else "a test without a name"


def judge(tree, mutant, limits):
    """What became of the mutant: killed, hung, unbuildable or survived; by which test; in how many seconds."""
    # The copy's, of which nothing has changed since it was made.
    text = (tree.root / mutant.path).read_text()
    mutated = text[: mutant.start] + mutant.new + text[mutant.end :]
    tree.write(mutant.path, mutated.encode())
    took = 0
    try:
        for arguments, limit in zip(ROOMS[mutant.room][1], limits):
            status, output, seconds = tree.test(arguments, limit)
            took += seconds
            if status is None:
                return "killed", f"out of time: {' '.join(arguments)}"[:100], took
            if "could not compile" in output:
                return "unbuildable", "", took
            if status != 0:
                return "killed", killer(output), took
        return "survived", "", took
    finally:
        tree.write(mutant.path, text.encode())


class Results:
    """What is known of mutants, in a file, so that a run that was cut short goes on. Survivors are tried again."""

    def __init__(self, where, fresh):
        self.file, self.lock = where / "results.json", threading.Lock()
        known = self.file.is_file() and not fresh
        self.known = json.loads(self.file.read_text()) if known else {}

    @staticmethod
    def key(mutant):
        return f"{mutant.digest} {mutant.start} {mutant.how}"

    def get(self, mutant):
        found = self.known.get(self.key(mutant))
        return found if found and found[0] != "survived" else None

    def put(self, mutant, result):
        with self.lock:
            self.known[self.key(mutant)] = result
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(self.known, indent=0))
            new.replace(self.file)


def limits_of(tree, room, limit):
    """The tests pass without a mutant, and how long they may take with one."""
    limits = []
    for arguments in ROOMS[room][1]:
        status, output, _ = tree.test(arguments, None)
        if status != 0:
            sys.exit(f"{output}\n{room}: the tests fail without a mutant: cargo test -p tenure {' '.join(arguments)}")
        # Again, without what had to be built before.
        _, _, seconds = tree.test(arguments, None)
        limits.append(limit or 120 + 4 * seconds)
    return limits


def run(todo, where, jobs, limit, results):
    work, said, failed = queue.Queue(), threading.Lock(), []
    for mutant in todo:
        work.put(mutant)

    def worker(number):
        tree, limits = Tree(where / str(number)), {}
        while not failed:
            try:
                mutant = work.get_nowait()
            except queue.Empty:
                return
            if mutant.room not in limits:
                limits[mutant.room] = limits_of(tree, mutant.room, limit)
            result = judge(tree, mutant, limits[mutant.room])
            results.put(mutant, result)
            with said:
                what, by, seconds = result
                of = f"{len(todo) - work.qsize()}/{len(todo)}"
                print(f"{of} {seconds:.0f} s {mutant.path}:{mutant.line} {mutant.how}: {what} {by}".rstrip(), flush=True)

    def guarded(number):
        try:
            worker(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        end_what_runs()
    if failed:
        raise failed[0]


def main():
    parser = argparse.ArgumentParser(
        prog="ci/mutants.sh", description="Weaken each ordering and drop each check; say which tests notice.",
        epilog=f"Rooms: {', '.join(ROOMS)}. Exit status: 1 if a mutant survives that ci/{EXCEPTIONS.name} does not argue.",
    )
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="mutate these rooms only")
    parser.add_argument("--list", action="store_true", help="list the mutants, and run nothing")
    parser.add_argument("--only", metavar="REGEX", help="take the mutants whose path, line or mutation matches")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run N mutants at a time, in N copies")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="end each test command after so long")
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", metavar="DIR", help="keep copies and results here")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    chosen = parser.parse_args()
    unknown = [room for room in chosen.rooms if room not in ROOMS]
    if unknown:
        parser.error(f"no such room: {unknown[0]}; there are {', '.join(ROOMS)}")

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
        run(todo, chosen.work, max(1, chosen.jobs), chosen.limit, results)

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
