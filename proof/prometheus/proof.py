import pathlib

from parts.rust import CrateProof, criterion


def edit(source):
    source.depend()
    source.add(pathlib.Path(__file__).parent / "cells.rs", "src/cells.rs")
    source.after("src/lib.rs", "^mod atomic64;", "mod cells;\n")
    source.substitute("src/counter.rs", r"^use crate::atomic64::\{Atomic, AtomicF64, AtomicU64, Number\};",
                      "use crate::atomic64::{Atomic, Number};\nuse crate::cells::{AtomicF64, AtomicU64};")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="prometheus 0.14.0: counters that all threads add to; Counter in place of an atomic word",
    crate="prometheus", version="0.14.0", edit=edit,
    dependencies='prometheus = { path = "PATH", default-features = false }',
    own={
        "its own int_counter_no_labels_concurrent_write: one thread measured, four others add": criterion(
            "counter", "^int_counter_no_labels_concurrent_write$"),
        "its own counter_no_labels_concurrent_write, floating point": criterion(
            "counter", "^counter_no_labels_concurrent_write$"),
        "its own int_counter_no_labels: one thread": criterion("counter", "^int_counter_no_labels$"),
        "its own counter_no_labels: one thread": criterion("counter", "^counter_no_labels$"),
    },
    cases={
        "ours: IntCounter, 2 threads, additions/s": ["2", "int", "0"],
        "ours: Counter, 2 threads": ["2", "float", "0"],
        "ours: IntCounter, 2 threads, half a microsecond of work between": ["2", "int", "100"],
    },
    record={"int": (["2", "int", "0"], ["Value"], "cells"), "int-work": (["2", "int", "100"], ["Value"], "cells")},
    tests=["--lib"],
)
