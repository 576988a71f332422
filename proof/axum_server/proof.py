import json
import pathlib
import shutil
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from parts.edit import Source
from parts.recorded import OWN
from parts.rust import CrateProof
from parts.shell import fail, free_port, load, running

HERE = pathlib.Path(__file__).parent
SECONDS = 2
ROUTER = ["WAY", "router", "2"]


def edit():
    """Lines added to and removed from the server as it is, in a file of its own."""
    source = Source(HERE)
    source.before["fixed.rs"] = (HERE / "plain.rs").read_text()
    return source.counts()


class Server(CrateProof):
    """One program has all ways."""

    def build(self):
        super().build()
        self.programs["locks"] = self.programs["plain"]

    def driver(self, number, version):
        to = self.work / f"{number}/driver/src"
        to.mkdir(parents=True, exist_ok=True)
        for name in ("plain.rs", "locks.rs", "fixed.rs"):
            # With its time, by which cargo knows what to compile.
            shutil.copy2(HERE / name, to / name)
        return super().driver(number, version)

    def case(self, record):
        """Of its findings the first of `plain` stands for all, beside the case."""
        return super().case(record) if record == "state" else record

    def test(self, way):
        """Of the server: axum is as it was."""
        port = free_port()

        def ask(cookie):
            try:
                with urlopen(Request(f"http://127.0.0.1:{port}/", headers={"cookie": cookie})) as answer:
                    page = json.load(answer)
                    return page["user"], page["pages"], len(page["cart"])
            except HTTPError as error:
                return error.code

        with running(self.programs[way], way, "serve", f"127.0.0.1:{port}", port=port):
            answers = {cookie: ask(cookie) for cookie in ("session=7", "session=8", "session=64", "")} | {"again": ask("session=7")}
        expected = {"session=7": ("user 7", 1, 8), "session=8": ("user 8", 1, 8), "session=64": 401, "": 401, "again": ("user 7", 2, 8)}
        if answers != expected:
            fail(f"{way} answers {answers}, not {expected}")
        return f"{len(answers)} answers as they should be"

    def benchmarks(self):
        title = "over sockets: 2 workers, 64 connections, answers by the server's CPU second"
        return super().benchmarks() | {title: {way: lambda way=way: self.answers(way) for way in self.programs}}

    def answers(self, way):
        """Which other programs disturb less than the rate."""
        port = free_port()
        with running(self.programs[way], way, "serve", f"127.0.0.1:{port}", port=port) as pid:
            return load("http", port, "--connections", 64, "--seconds", SECONDS, "--pid", pid)


proof = Server(
    HERE,
    about="a server on axum 0.8.9 and hyper: state in a Shared, sessions in a Registry, buffers in a BufferPool",
    crate="axum", version="0.8.9", edit=edit(),
    dependencies="""axum = { path = "PATH", default-features = false, features = ["http1", "tokio"] }
crossbeam-queue = "0.3"
dashmap = "6"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
tenure = { path = "ROOT/crates/tenure", features = ["bytes", "registry"] }
tokio = { version = "1", features = ["rt-multi-thread", "net", "time"] }
tower = { version = "0.5", features = ["util"] }""",
    cases={
        "2 threads, requests through the router, requests/s": ROUTER,
        "8 threads": ["WAY", "router", "8"],
        "1 thread": ["WAY", "router", "1"],
        "2 threads, all for one user": ["WAY", "one", "2"],
    },
    record={
        "state": (ROUTER, ["Arc<App>", r"\nstrong\n"], "revocable"),
        "buffers": (ROUTER, [r"data\.buffers\.tail"], OWN),
        "sessions": (ROUTER, ["RawRwLock"], OWN),
        "locks": (["locks", *ROUTER[1:]], [r"logins\.inner\.state"], OWN),
    },
    tests=[],
)
