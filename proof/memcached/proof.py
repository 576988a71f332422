import pathlib

from parts import crates, debian
from parts.edit import Source
from parts.shell import TENURE, digest, free_port, load, load_program, running

HERE = pathlib.Path(__file__).parent
SECONDS = 2


class Memcached:
    about = "memcached 1.6 (C): item and list locks of 40 bytes in arrays; a line each, by alignment alone"
    work = crates.WORK / "memcached"

    def build(self):
        def edit(folder):
            source = Source(folder)
            source.sed(HERE / "edit.sed", "crawler.c", "items.c", "items.h", "thread.c")
            (self.work / "counts").write_text(" ".join(map(str, source.counts())))

        plain = debian.built("memcached", self.work / "plain", debian.make_memcached, version="1.6.18")
        fixed = debian.built("memcached", self.work / "tenure", debian.make_memcached, edit, digest(HERE / "edit.sed"), "1.6.18")
        self.counts = [int(it) for it in (self.work / "counts").read_text().split()]
        self.programs = {"plain": plain / "memcached", "tenure": fixed / "memcached"}

    def records(self):
        """The server ends by itself after the load: `tenure run` runs a shell that has both."""
        make = lambda folder: debian.make_memcached(folder, TENURE, "run", "--cc", "--")
        program = debian.built("memcached", self.work / "recorded", make, key=digest(TENURE), version="1.6.18") / "memcached"
        port = free_port()
        load = f"{load_program()} memcached 127.0.0.1:{port} --ratio 1:9 --seconds 3"
        script = f"{program} -u root -l 127.0.0.1 -p {port} -t 4 & sleep 1; {load} >/dev/null; kill -TERM $!; wait $!"
        return {"sets-and-gets": (["sh", "-c", script], ["false_sharing", "item_lock"], None)}

    def case(self, _):
        return next(iter(self.benchmarks()))

    def test(self, way):
        """Its own tests of the text protocol's commands, in Perl."""
        return debian.test_memcached(self.programs[way].parent)

    def benchmarks(self):
        def answers(way):
            """By second of the server's processor time, which other programs disturb less than the rate."""
            port = free_port()
            words = ["-u", "root", "-l", "127.0.0.1", "-p", port, "-t", "4"]
            with running(self.programs[way], *words, port=port) as pid:
                return load("memcached", port, "--ratio", "1:9", "--seconds", SECONDS, "--pid", pid)

        return {"sets and gets 1:9 over 50 connections, 4 threads, answers by CPU second": {
            way: lambda way=way: answers(way) for way in self.programs}}


proof = Memcached()
