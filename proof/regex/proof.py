import pathlib

from parts.recorded import OWN
from parts.rust import CrateProof


def edit(source):
    pool = "src/util/pool.rs"
    source.depend()
    # Their module for std, of two that are called `inner`, to its end.
    source.substitute(pool, r'^#\[cfg\(feature = "std"\)\]\nmod inner \{(?:.*\n)*?^\}\n',
                      '#[cfg(feature = "std")]\n#[path = "tenure.rs"]\nmod inner;\n')
    source.substitute(pool, r"^impl<T, F> Pool<T, F>", "impl<T: Send + 'static, F> Pool<T, F>")
    source.add(pathlib.Path(__file__).parent / "pool.rs", "src/util/tenure.rs")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="regex-automata 0.3.7: one Regex that all threads use; SlotPool in place of its Mutex<Vec> of caches",
    crate="regex-automata", version="0.3.7", edit=edit, theirs=("0.3.8", "0.3.8"),
    dependencies='regex-automata = { path = "PATH" }',
    cases={
        "2 threads, 16 bytes, searches/s": ["2", "16"],
        "2 threads, 1,000 bytes": ["2", "1000"],
        "8 threads, 16 bytes": ["8", "16"],
        "1 thread, not the pool's owner, 16 bytes": ["1", "16"],
        "1 thread, the owner, 16 bytes": ["1", "16", "owner"],
    },
    record={"shared": (["2", "16"], ["Pool"], OWN)},
    tests=["--lib"],
)
