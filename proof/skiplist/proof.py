import pathlib

from parts.rust import CrateProof

BASE = "src/base.rs"


def edit(source):
    source.depend()
    # The length: both ways, by eleven lines that keep their form.
    source.substitute(BASE, r"^    len: AtomicUsize,", "    len: tenure::counter::Gauge,")
    source.substitute(BASE, r"len: AtomicUsize::new\(0\)", "len: tenure::counter::Gauge::new()")
    source.substitute(BASE, r"hot_data\.len\.load\(Ordering::Relaxed\);", "hot_data.len.sum() as usize;")
    source.substitute(BASE, r"hot_data\.len\.fetch_add\(1, Ordering::Relaxed\);", "hot_data.len.add(1);")
    source.substitute(BASE, r"hot_data\.len\.fetch_sub\(1, Ordering::Relaxed\);", "hot_data.len.add(-1);", count=7)
    # The seed of random heights: each thread its own.
    source.substitute(BASE, r"let mut num = self\.hot_data\.seed\.load\(Ordering::Relaxed\);", "let mut num = SEED.get();")
    source.substitute(BASE, r"self\.hot_data\.seed\.store\(num, Ordering::Relaxed\);", "SEED.set(num);")
    source.substitute(BASE, r"^    ///? The seed for random height generation\.\n    seed: AtomicUsize,\n\n", "")
    source.substitute(BASE, r"^ +seed: AtomicUsize::new\(1\),\n", "")
    source.substitute(BASE, r"^(?=/// Frequently modified data)", """\
std::thread_local! {
    static SEED: core::cell::Cell<usize> = const { core::cell::Cell::new(1) };
}

""")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="crossbeam-skiplist 0.1.3: a list's length and seed, which every insert writes; Gauge, and a seed for each thread",
    crate="crossbeam-skiplist", version="0.1.3", edit=edit,
    dependencies='crossbeam-skiplist = { path = "PATH" }',
    cases={
        "2 threads insert and remove, operations/s": ["2", "write"],
        "1 thread inserts and removes, the other looks up": ["2", "read"],
        "1 thread inserts and removes": ["1", "write"],
    },
    record={"write": (["2", "write"], ["SkipList|HotData|hot_data"], "own")},
    tests=[],
)
