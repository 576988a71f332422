import os
import pathlib
import re
import subprocess

from parts import crates, debian
from parts.edit import Source
from parts.shell import JOBS, TENURE, call, digest, fail, free_port, need, running

HERE = pathlib.Path(__file__).parent
TESTS = ["unit/type/string", "unit/type/incr", "unit/info", "unit/pause"]


def make(folder, *under):
    need("gcc", "make")
    programs = ["redis-server", "redis-cli", "redis-benchmark"]
    call(*under, "make", JOBS, "MALLOC=libc", "BUILD_TLS=no", *programs, cwd=folder / "src")


def server(program, port):
    return [program, "--port", port, "--save", "", "--io-threads", "2", "--io-threads-do-reads", "yes"]


class Redis:
    about = "Redis 7.0 (C), with two I/O threads: what threads write, on lines of its own, as layout --suggest has it; its redis-benchmark"
    work = crates.WORK / "redis"

    def build(self):
        def edit(folder):
            source = Source(folder)
            source.sed(HERE / "edit.sed", "src/server.h", "src/zmalloc.c")
            (self.work / "counts").write_text(" ".join(map(str, source.counts())))

        key = digest(__file__)
        plain = debian.built("redis", self.work / "plain", make, key=key, version="7.0.15")
        fixed = debian.built("redis", self.work / "tenure", make, edit, digest(__file__, HERE / "edit.sed"), "7.0.15")
        self.counts = [int(it) for it in (self.work / "counts").read_text().split()]
        self.folders = {"plain": plain / "src", "tenure": fixed / "src"}

    def client(self, port, requests, test):
        return [self.folders["plain"] / "redis-benchmark", "-p", port, "-t", test, "-n", requests, "-c", "50", "-P", "16", "--threads", "2", "--csv"]

    def records(self):
        """The server ends by itself after the load: `tenure run` runs a shell that has both."""
        recorded = lambda folder: make(folder, TENURE, "run", "--cc", "--")
        folder = debian.built("redis", self.work / "recorded", recorded, key=digest(__file__, TENURE), version="7.0.15") / "src"
        port = free_port()
        words = lambda command: " ".join(f"'{it}'" for it in command)
        script = f"{words(server(folder / 'redis-server', port))} & sleep 1; {words(self.client(port, 200000, 'get,set'))} >/dev/null; kill $!; wait $!"
        return {"gets-and-sets": (["sh", "-c", script], ["redisServer|used_memory|stat_"], None)}

    def case(self, _):
        return next(iter(self.benchmarks()))

    def test(self, way):
        """Its own tests of strings, and of what it counts; in Tcl."""
        need("tcl", "procps")
        units = [it for unit in TESTS for it in ("--single", unit)]
        extra = ["--config", "io-threads", "2", "--config", "io-threads-do-reads", "yes", "--clients", "2"]
        done = subprocess.run(["./runtest", *units, *extra], cwd=self.folders[way].parent, capture_output=True, text=True, errors="replace")
        output = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
        passed, failed = (len(re.findall(pattern, output)) for pattern in (r"\[ok\]", r"\[err\]|\[exception\]"))
        if passed + failed == 0:
            fail(f"no test of {self.folders[way].parent} ran:\n{output[-2000:]}")
        return f"{passed} passed, {failed} failed in {len(TESTS)} files"

    def benchmarks(self):
        def cpu_seconds(pid):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        def requests(way, test, count):
            def run():
                port = free_port()
                with running(*server(self.folders[way] / "redis-server", port), port=port) as pid:
                    call(*self.client(port, count // 10, "set"))
                    before = cpu_seconds(pid)
                    call(*self.client(port, count, test))
                    return count / (cpu_seconds(pid) - before)

            return run

        return {f"its own redis-benchmark, {test}s, 50 clients, 16 in a row, answers by CPU second": {
            way: requests(way, test, 1000000) for way in self.folders} for test in ("get", "set")}


proof = Redis()
