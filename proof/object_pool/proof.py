import pathlib

from parts.recorded import OWN
from parts.rust import CrateProof, criterion


def edit(source):
    source.depend()
    source.add(pathlib.Path(__file__).parent / "pool.rs", "src/tenure.rs")
    source.substitute("src/lib.rs", r"^mod linear_object_pool;\nmod linear_owned_reusable;\nmod linear_page;\nmod linear_reusable;",
                      '#[path = "tenure.rs"]\nmod linear_object_pool;')
    source.substitute("src/lib.rs", r"^mod page;\n", "")
    source.remove(*(f"src/{it}.rs" for it in ("linear_object_pool", "linear_owned_reusable", "linear_page", "linear_reusable", "page")))
    source.substitute("src/lib.rs", r"^pub use linear_object_pool::LinearObjectPool;\npub use linear_owned_reusable::\w+;\npub use linear_reusable::\w+;",
                      "pub use linear_object_pool::{LinearObjectPool, LinearOwnedReusable, LinearReusable};")


def forward(readers_and_writers):
    return criterion("bench", rf"^forward msg from pull .nb_writter:{readers_and_writers} nb_readder:{readers_and_writers}./linear object poll$")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="lockfree-object-pool 0.1.6: a pool that searches bits of a list of pages; SlotPool in its place",
    crate="lockfree-object-pool", version="0.1.6", edit=edit,
    dependencies='lockfree-object-pool = { path = "PATH" }',
    own={
        "its own `forward msg from pull`, 1 writer, 1 reader, linear pool": forward(1),
        "its own `forward msg from pull`, 5 writers, 5 readers": forward(5),
    },
    cases={
        "ours: 2 threads take and give back, none other in use, operations/s": ["2", "0"],
        "ours: the same, 200 others in use": ["2", "200"],
        "ours: 1 thread": ["1", "0"],
    },
    record={"taken": (["2", "0"], ["Page|page"], OWN)},
    tests=["--test", "test_linear"],
)
