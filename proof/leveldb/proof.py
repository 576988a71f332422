import pathlib

from parts import crates, debian
from parts.edit import Source
from parts.outputs import first_match
from parts.shell import TENURE, call, digest

HERE = pathlib.Path(__file__).parent
MICROS = first_match(r"readrandom *: *([0-9.]+) micros/op")


class LevelDb:
    about = "LevelDB 1.23 (C++): two threads that read; MemTable.refs_ on a line of its own, by alignas alone"
    work = crates.WORK / "leveldb"

    def build(self):
        plain = debian.built("leveldb", self.work / "plain", debian.make_leveldb, version="1.23")

        def edit(folder):
            source = Source(folder)
            source.sed(HERE / "edit.sed", "db/memtable.h")
            (self.work / "counts").write_text(" ".join(map(str, source.counts())))

        fixed = debian.built("leveldb", self.work / "tenure", debian.make_leveldb, edit, digest(HERE / "edit.sed"), "1.23")
        self.counts = [int(it) for it in (self.work / "counts").read_text().split()]
        self.programs = {"plain": plain / "db_bench", "tenure": fixed / "db_bench"}

    def words(self, keys, reads):
        options = ["--benchmarks=fillseq,readrandom", "--threads=2", "--write_buffer_size=268435456"]
        return [*options, f"--db={self.work / 'db'}", f"--num={keys}", f"--reads={reads}"]

    def records(self):
        make = lambda folder: debian.make_leveldb(folder, TENURE, "run", "--cc", "--")
        program = debian.built("leveldb", self.work / "recorded", make, key=digest(TENURE), version="1.23") / "db_bench"
        return {"readrandom": ([program, *self.words(100, 100000)], ["MemTable", "refs_"], "apart")}

    def case(self, _):
        return next(iter(self.benchmarks()))

    def test(self, way):
        return debian.test_leveldb(self.programs[way].parent)

    def benchmarks(self):
        def gets(way, keys, reads):
            # db_bench adds up the time of its threads: two do twice as much in it.
            return lambda: 2e6 / float(MICROS(call(self.programs[way], *self.words(keys, reads)))[0])

        cases = {"its own db_bench, readrandom, two threads, 100 keys, gets/s": (100, 1000000),
                 "the same, 100,000 keys": (100000, 200000)}
        return {what: {way: gets(way, *case) for way in self.programs} for what, case in cases.items()}


proof = LevelDb()
