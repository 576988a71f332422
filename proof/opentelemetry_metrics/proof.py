import pathlib

from parts.rust import CrateProof, criterion

MAP, SUM = (f"src/metrics/internal/{it}.rs" for it in ("mod", "sum"))


def counted(source):
    """Sums, and whether there is something to collect, are counted by thread. The lock stays."""
    source.depend()
    source.add(pathlib.Path(__file__).parent / "cells.rs", "src/metrics/internal/cells.rs")
    source.after(MAP, "^mod aggregate;", "mod cells;\n")
    source.substitute(MAP, r"AtomicBool, AtomicUsize", "AtomicUsize")
    source.substitute(MAP, r"has_been_updated: AtomicBool,", "has_been_updated: cells::Updated,")
    source.substitute(MAP, r"AtomicBool::new\(false\)", "cells::Updated::default()")
    source.after(MAP, r"^    \+ AtomicallyUpdate<Self>", "    + cells::Summed\n")
    source.substitute(SUM, r"^use super::\{AtomicallyUpdate, ValueMap\};", "use super::{cells::Summed, ValueMap};")
    source.substitute(SUM, r"^    T: AtomicallyUpdate<T>,", "    T: Summed,")
    source.substitute(SUM, r"T::AtomicTracker", "T::Sum")
    source.substitute(SUM, r"T::new_atomic_tracker", "T::new_sum", count=2)


def edit(source):
    """Besides, a thread looks for attributes in a copy of the map before it takes the lock."""
    counted(source)
    source.substitute(MAP, r"^(    trackers: RwLock<TrackerMap<A>>,\n)", "\\1    seen: cells::Seen<A>,\n")
    source.after(MAP, r"^            trackers: RwLock::new\(", "            seen: cells::Seen::new(),\n")
    source.substitute(MAP, r"^        let Ok\(trackers\) = self\.trackers\.read\(\) else \{\n            return;\n        \};\n(?=\n        // Try)", """\
        if let Some(tracker) = self.seen.read().get(attributes) {
            tracker.aggregator.update(value);
            tracker.has_been_updated.store(true, Ordering::Release);
            return;
        }

\\g<0>        self.seen.miss(&trackers);
""")
    source.after(MAP, r"^            if let Ok\(mut trackers\) = self\.trackers\.write\(\) \{", "                self.seen.forget();\n")
    source.substitute(MAP, r"^(?=            self\.count\.store\(0, )", "            self.seen.forget();\n")


def bound(name, threads=None):
    return criterion("bound_instruments", f"^BoundInstruments/{name}{f'/{threads}' if threads else ''}$")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="opentelemetry_sdk 0.33.1: counters that all threads add to, found under a lock; Counter and RcuCell, or Counter alone",
    crate="opentelemetry_sdk", version="0.33.1", edit=edit, also=("Counter alone", counted),
    dependencies='opentelemetry_sdk = { path = "PATH", features = ["testing"] }\nopentelemetry = "=VERSION"',
    own={
        "its own Counter_Bound_Multithread/2: 2 threads start, add 100 times and end": bound("Counter_Bound_Multithread", 2),
        "its own Counter_Bound_Multithread/8": bound("Counter_Bound_Multithread", 8),
        "its own Counter_Bound_Delta, 1 thread": bound("Counter_Bound_Delta"),
        "its own Counter_Unbound_Delta, 1 thread, 3 attributes": bound("Counter_Unbound_Delta"),
        "its own Counter_Add_Sorted, 1 thread, 1,600 attribute sets": criterion("metrics_counter", "^Counter_Add_Sorted$"),
        "its own Counter_Overflow, 1 thread, sets beyond the limit": criterion("metrics_counter", "^Counter_Overflow$"),
    },
    features=["metrics", "experimental_metrics_custom_reader", "experimental_metrics_bound_instruments", "spec_unstable_metrics_views"],
    cases={
        "ours: 2 threads, 3 attributes, additions/s": ["2", "3", "cumulative"],
        "ours: 8 threads, 3 attributes": ["8", "3", "cumulative"],
        "ours: 1 thread, 3 attributes": ["1", "3", "cumulative"],
        "ours: 2 threads, no attributes": ["2", "0", "cumulative"],
        "ours: 1 thread, no attributes": ["1", "0", "cumulative"],
        "ours: 2 threads, 3 attributes, collected every 10 ms": ["2", "3", "delta"],
    },
    record={
        "attributes": (["2", "3", "cumulative"], ["lock", "ValueMap::measure"], "read_unlocked"),
        "none": (["2", "0", "cumulative"], ["AtomicU64::add"], "cells"),
    },
    tests=["--lib", "--features", "testing,rt-tokio,experimental_metrics_bound_instruments,spec_unstable_metrics_views", "metrics::"],
)
