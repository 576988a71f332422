"""A proof about a crate: it is used by a driver of ours, or by its own benchmark."""

import re
import subprocess

from parts import crates, outputs
from parts.shell import ROOT, digest, fail, own_sources

SECONDS = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1}


def criterion(bench, pattern):
    """One benchmark of a crate that uses criterion, for a second: its file, arguments, and how to read operations per second."""
    def read(output):
        time, unit = outputs.first_match(r"time: +\[\S+ \S+ (\S+) (\S+)")(output)
        return 1 / (float(time) * SECONDS[unit])

    return bench, ["--bench", pattern, "--warm-up-time", "0.3", "--measurement-time", "1", "--noplot", "--discard-baseline"], read


def named(words, way):
    return [way if word == "WAY" else word for word in words]


class CrateProof:
    """Subclasses, or the caller, say what is special; see proof/regex/proof.py."""

    def __init__(self, here, about, crate, version, edit, dependencies, cases, record, tests, theirs=None, own=(), features=(),
                 also=None):
        """
        about         what is proved, in a line
        crate         its name and version as released
        edit          a function of a Source; or, if the driver alone differs, the lines that it adds and removes. One program has
                      both ways then, and takes them by name, for the argument WAY
        dependencies  lines of the driver's Cargo.toml, where PATH is the crate's folder, VERSION its version and ROOT our checkout
        cases         by title, arguments of the driver, which prints a rate at last
        record        by name, arguments of the driver, patterns of the finding, and the repair that the edit is
        tests         arguments of `cargo test`
        theirs        (title, version): a release of the crate with their own repair
        also          (title, edit): a smaller edit beside
        own           by title, a benchmark of the crate: its file, arguments, and how its output is read
        features      of the crate that these benchmarks need
        """
        self.here, self.about, self.crate, self.version = here, about, crate, version
        self.edit, self.dependencies, self.cases, self.record = edit, dependencies, cases, record
        self.tests, self.theirs, self.own, self.features, self.also = tests, theirs, dict(own), features, also
        self.name = here.name
        self.work = crates.WORK / self.name
        self.programs, self.benches = {}, {}

    def build(self):
        if not callable(self.edit):
            return self.build_driver_alone()
        ways = {"plain": (self.version, None), "tenure": (self.version, self.edit)}
        if self.also:
            ways[self.also[0]] = (self.version, self.also[1])
        if self.theirs:
            ways[self.theirs[0]] = (self.theirs[1], None)
        for number, (way, (version, edit)) in enumerate(ways.items()):
            folder = self.work / f"{number}"
            key = digest(*own_sources(self.here)) if edit else ""
            counts = crates.copied(self.crate, version, folder / self.crate, edit, key)
            if way == "tenure":
                self.counts = counts
            self.programs[way] = self.driver(number, version)
            for bench in dict.fromkeys(it[0] for it in self.own.values()):
                self.benches[way, bench] = crates.bench(folder / self.crate, bench, self.features)

    def build_driver_alone(self):
        crates.copied(self.crate, self.version, self.work / "0" / self.crate)
        self.counts = self.edit
        self.programs = dict.fromkeys(["plain", "tenure"], self.driver(0, self.version))

    def driver(self, number, version):
        folder, name = self.work / f"{number}", f"{self.name}-{number}"
        dependencies = self.dependencies
        for token, text in {"PATH": folder / self.crate, "VERSION": version, "ROOT": ROOT}.items():
            dependencies = dependencies.replace(token, str(text))
        crates.program(folder / "driver", name, self.here / "driver.rs", dependencies)
        return crates.build(folder / "driver", name)

    def records(self):
        program = crates.build(self.work / "0/driver", f"{self.name}-0", instrumented=True)
        return {name: ([program, *named(words, "plain")], patterns, repair)
                for name, (words, patterns, repair) in self.record.items()}

    def case(self, record):
        """The title of the case that was recorded."""
        return next(what for what, words in self.cases.items() if words == self.record[record][0])

    def test(self, way):
        if not callable(self.edit):
            return "the crate is as it was"
        folder = self.work / ("0" if way == "plain" else "1") / self.crate
        words = ["cargo", "test", "--quiet", "--target-dir", str(crates.WORK / "target"), *self.tests]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
        passed, failed = (sum(map(int, re.findall(rf"(\d+) {word}", done.stdout))) for word in ("passed", "failed"))
        if done.returncode != 0 and not failed:
            fail(f"{' '.join(words)} in {folder}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
        return f"{passed} passed, {failed} failed"

    def benchmarks(self):
        runner = lambda program, words, read: lambda: self.rate(program, words, read)
        table = {}
        for what, (bench, words, read) in self.own.items():
            table[what] = {way: runner(self.benches[way, bench], words, read) for way in self.programs}
        for what, words in self.cases.items():
            table[what] = {way: runner(program, named(words, way), outputs.last_number) for way, program in self.programs.items()}
        return table

    def rate(self, program, words, read):
        done = subprocess.run([program, *words], cwd=self.work, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            fail(f"{program} {' '.join(words)}\n{done.stderr[-2000:]}")
        return read(done.stdout)
