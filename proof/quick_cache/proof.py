import pathlib

from parts.rust import CrateProof

proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="quick_cache 0.6.24: one hot key whose value is an Arc; Shared values",
    crate="quick_cache", version="0.6.24", edit=(2, 1),
    dependencies='quick_cache = { path = "PATH" }\ntenure = { path = "ROOT/crates/tenure" }',
    cases={
        "2 threads get the hot key, gets/s": ["WAY", "2", "got"],
        "8 threads": ["WAY", "8", "got"],
        "2 threads clone and drop a value that they have": ["WAY", "2", "kept"],
        "1 thread gets": ["WAY", "1", "got"],
    },
    record={"hot-key": (["WAY", "2", "got"], [r"Arc<.*\bstrong|strong"], "revocable")},
    tests=[],
)
