import pathlib
import re
import subprocess

from parts import crates, debian
from parts.edit import Source
from parts.outputs import first_match
from parts.shell import JOBS, TENURE, call, digest, need

HERE = pathlib.Path(__file__).parent
RATE = first_match(r"mean throughput: (\d+) \[msg/s\]")
TESTS = ["hwm", "inproc_connect", "iov", "msg_flags", "pair_inproc", "probe_router", "reqrep_inproc", "spec_pushpull", "sockopt_hwm"]
# C++17 has the `new` that aligns what is declared so. In builds/gyp is its configuration for Linux without a configure script.
FLAGS = ["-std=gnu++17", "-O2", "-g", "-pthread", "-Ibuilds/gyp", "-Iinclude", "-Isrc", "-Iexternal/unity", "-D_GNU_SOURCE", "-DHAVE_STRNLEN",
         "-DZMQ_CUSTOM_PLATFORM_HPP", "-DZMQ_GYP_BUILD", "-DZMQ_HAVE_LINUX", "-DZMQ_CACHELINE_SIZE=64", "-DZMQ_USE_CV_IMPL_STL11", "-DZMQ_IOTHREAD_POLLER_USE_EPOLL",
         "-DZMQ_POLL_BASED_ON_POLL"]


def make(folder, *under):
    """The library without websockets, and its benchmark."""
    need("g++", "make")
    sources = [path for path in sorted((folder / "src").glob("*.cpp")) if not re.match(r"wss?_|precompiled", path.name)]
    sources = [path.relative_to(folder) for path in sources] + ["perf/inproc_thr.cpp"]
    objects = [f"{pathlib.Path(path).stem}.o" for path in sources]
    rules = "".join(f"{one}: {path}\n\tg++ {' '.join(FLAGS)} -c -o $@ $<\n" for one, path in zip(objects, sources))
    rules += "tweetnacl.o: src/tweetnacl.c\n\tgcc -O2 -g -DZMQ_GYP_BUILD -DZMQ_HAVE_LINUX -Ibuilds/gyp -Isrc -c -o $@ $<\n"
    (folder / "bench.mk").write_text(f"inproc_thr: {' '.join(objects)} tweetnacl.o\n\tg++ -pthread -o $@ $^\n{rules}")
    call(*under, "make", JOBS, "-f", "bench.mk", cwd=folder)


class ZeroMq:
    about = "ZeroMQ 4.3 (C++): a pipe between two threads; what each end keeps on lines of its own, by alignas alone; its own inproc_thr"
    work = crates.WORK / "zeromq"

    def build(self):
        def edit(script):
            def run(folder):
                source = Source(folder)
                source.sed(HERE / script, "src/yqueue.hpp", "src/ypipe.hpp")
                (self.work / f"{script}.counts").write_text(" ".join(map(str, source.counts())))

            return run

        built = lambda way, edit, *files: debian.built("zeromq3", self.work / way, make, edit, digest(__file__, *files), "4.3.4") / "inproc_thr"
        edited = lambda way, script: built(way, edit(script), HERE / script)
        self.programs = {"plain": built("plain", None), "tenure": edited("tenure", "edit.sed"), "layout": edited("layout", "layout.sed")}
        self.counts = [int(it) for it in (self.work / "edit.sed.counts").read_text().split()]

    def records(self):
        recorded = lambda folder: make(folder, TENURE, "run", "--cc", "--")
        program = debian.built("zeromq3", self.work / "recorded", recorded, key=digest(__file__, TENURE), version="4.3.4") / "inproc_thr"
        return {"pipe": ([program, "1", "1000000"], ["ypipe|yqueue|_begin_pos|_back_pos"], "apart")}

    def case(self, _):
        return next(iter(self.benchmarks()))

    def test(self, way):
        """Its own tests of what goes through pipes."""
        folder = self.programs[way].parent
        objects = [it.name for it in sorted(folder.glob("*.o")) if it.name != "inproc_thr.o"]
        passed = 0
        for test in TESTS:
            program = folder / f"test_{test}"
            if not program.exists():
                sources = [f"tests/test_{test}.cpp", "tests/testutil.cpp", "tests/testutil_unity.cpp", "external/unity/unity.c"]
                # The framework of the tests is C, and would not do as C++.
                call("g++", *FLAGS, "-O0", "-fpermissive", "-w", "-o", program, *sources, *objects, cwd=folder)
            passed += subprocess.run([program], cwd=folder, capture_output=True).returncode == 0
        return f"{passed} of {len(TESTS)} test programs pass"

    def benchmarks(self):
        def messages(way, size, count, *under):
            return lambda: float(RATE(call(*under, self.programs[way], size, count))[0])

        # On a busy machine two threads take turns on one CPU, and contend for nothing. Real-time threads have a CPU each.
        apart = ["chrt", "-r", "1"]
        cases = {"its own inproc_thr: a thread sends, another receives, messages of 1 byte, messages/s": (1, 4000000, *apart),
                 "the same, both threads on one CPU": (1, 8000000, "taskset", "-c", "0"),
                 "the same, on two, of 1,000 bytes": (1000, 2000000, *apart)}
        return {what: {way: messages(way, *case) for way in self.programs} for what, case in cases.items()}


proof = ZeroMq()
