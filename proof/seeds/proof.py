import contextlib
import pathlib
import re
import shutil
import socket

from parts import crates, outputs
from parts.shell import ROOT, call, fail, free_port, load, need, processor_seconds, running

HERE = pathlib.Path(__file__).parent
SECONDS = 2
HELD = "1000"
DEPENDENCIES = f"""bytes = "1"
http-body-util = "0.1"
hyper = {{ version = "1", features = ["http1", "server"] }}
hyper-util = {{ version = "0.1", features = ["tokio"] }}
tenure = {{ path = "{ROOT}/crates/tenure", features = ["bytes", "registry"] }}
tokio = {{ version = "1", features = ["io-util", "net", "rt-multi-thread", "time"] }}"""

# By program, the forms by their ways.
FORMS = {
    "cache": {"plain": "beside-cas", "a line of its own": "apart-cas", "one addition": "beside-rcuref", "tenure": "apart-rcuref"},
    "web": {"plain": "walk", "tagged stack": "stack", "tenure": "pool"},
}


def memtier(port):
    """Answers a second, by memtier."""
    words = ["-s", "127.0.0.1", "-p", port, "-P", "memcache_text", "--ratio", "1:100", "-t", "1", "-c", "50", "-d", "100"]
    output = call("memtier_benchmark", *words, "--test-time", SECONDS, "--key-maximum", "10000", "--hide-histogram")
    return float(outputs.first_match(r"Totals +([\d.]+)")(output)[0])


class Seeds:
    about = "two servers of ours with the kernel's faults: a count beside read fields, and buffers that are found by a walk"
    work = crates.WORK / "seeds"
    # A form is two names.
    counts = (2, 2)

    def build(self):
        self.programs = {name: self.program(name) for name in FORMS}

    def program(self, name, instrumented=False):
        folder = self.work / name
        crates.program(folder, f"seed-{name}", HERE / f"{name}.rs", DEPENDENCIES)
        return crates.build(folder, f"seed-{name}", instrumented=instrumented)

    def records(self):
        cache, web = (self.program(name, instrumented=True) for name in FORMS)
        return {
            "peer": ([cache, "beside-cas", "memory", "2"], ["Peer", "count"], "apart"),
            "buffers": ([web, "walk", "memory", "2", HELD], [r"idle\.lock"], None),
        }

    def case(self, record):
        cache, web, *_ = self.benchmarks()
        return {"peer": cache, "buffers": web}[record]

    def test(self, way):
        """What clients are answered, in this way's forms."""
        with self.served("cache", way) as (port, _):
            asked = b"set a 1 0 3\r\nabc\r\nget a b\r\ndelete a\r\ndelete a\r\nget a\r\nset b 0 0 1 noreply\r\nx\r\nget b\r\nquit\r\n"
            told = b"STORED\r\nVALUE a 1 3\r\nabc\r\nEND\r\nDELETED\r\nNOT_FOUND\r\nEND\r\nVALUE b 0 1\r\nx\r\nEND\r\n"
            self.expect("cache", port, asked, re.escape(told))
        with self.served("web", way) as (port, _):
            asked = b"GET / HTTP/1.1\r\nhost: here\r\n\r\nGET /else HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n"
            self.expect("web", port, asked, rb"HTTP/1.1 200 .*short answers\..*HTTP/1.1 404 .*")
        return "10 answers as they should be"

    def expect(self, name, port, asked, told):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(asked)
            answers = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        if not re.fullmatch(told, answers, re.DOTALL):
            fail(f"{name} answers {answers!r}")

    @contextlib.contextmanager
    def served(self, name, way):
        """A server in a way's form, until the block ends: its port and process."""
        port = free_port()
        held = [HELD] if name == "web" else []
        with running(self.programs[name], FORMS[name][way], "serve", f"127.0.0.1:{port}", *held, port=port) as pid:
            yield port, pid

    def benchmarks(self):
        def in_memory(name, *words):
            program = self.programs[name]
            rate = lambda form: lambda: outputs.last_number(call(program, form, "memory", *words))
            return {way: rate(form) for way, form in FORMS[name].items()}

        def over_sockets(name, answers):
            def rate(way):
                """By second of the server's processor time, which other programs disturb less than the rate."""
                with self.served(name, way) as (port, pid):
                    return answers(port, pid)

            return {way: lambda way=way: rate(way) for way in FORMS[name]}

        return {
            "cache, 2 threads, requests without sockets": in_memory("cache", "2"),
            f"web, 2 threads, answers without sockets, {HELD} buffers in use": in_memory("web", "2", HELD),
            "cache, 1 thread": in_memory("cache", "1"),
            "cache, 8 threads": in_memory("cache", "8"),
            "web, 2 threads, no other buffer in use": in_memory("web", "2", "0"),
            f"web, 1 thread, {HELD} buffers in use": in_memory("web", "1", HELD),
            "cache over sockets: 2 workers, 50 connections, answers by CPU second": over_sockets("cache", self.ask),
            f"web over sockets: 2 workers, short connections, {HELD} buffers in use, answers by CPU second": over_sockets("web", self.wrk),
        }

    def ask(self, port, pid):
        if not shutil.which("memtier_benchmark"):
            return load("memcached", port, "--ratio", "1:100", "--seconds", SECONDS, "--pid", pid)
        # Has the keys set first, as `load` does by itself.
        load("memcached", port, "--seconds", 0)
        began = processor_seconds(pid)
        return memtier(port) * SECONDS / (processor_seconds(pid) - began)

    def wrk(self, port, pid):
        need("wrk")
        began = processor_seconds(pid)
        output = call("wrk", "-t1", "-c50", f"-d{SECONDS}s", "-H", "Connection: close", f"http://127.0.0.1:{port}/")
        return float(outputs.first_match(r"Requests/sec: +([\d.]+)")(output)[0]) * SECONDS / (processor_seconds(pid) - began)


proof = Seeds()
